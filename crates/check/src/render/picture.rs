//! Which execution of a checked test the picture shows: a witness of the first question that has one, an execution that
//! never ends, or for an unreachable outcome the candidate that comes closest.

use fencepost_axiom::execution::Execution;

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::test::Test;

use super::Options;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    Svg,
    Dot,
}

/// The picture of the first execution behind a report; None if there is none.
pub fn picture(test: &Test, model: &LoadedModel, checked: &Checked, format: Format) -> Option<String> {
    let unfolding = checked.evidence.unfolding.as_ref()?;
    let (execution, options) = chosen(test, model, checked)?;
    let text = |span| test.instruction_text(span);
    Some(match format {
        Format::Svg => super::svg(unfolding, &text, &execution, &options),
        Format::Dot => super::dot(unfolding, &text, &execution, &options),
    })
}

fn chosen(test: &Test, model: &LoadedModel, checked: &Checked) -> Option<(Execution, Options)> {
    let title = format!("{} under {}", test.program.name, model.name);
    let answers = checked.report.questions.iter().zip(&checked.evidence.witnesses);
    for (answer, witness) in answers {
        if let Some(execution) = witness {
            let caption = vec![format!("{} {}: {}", answer.kind, answer.condition, answer.verdict.word())];
            return Some((execution.clone(), Options { title, caption, ..Options::default() }));
        }
    }
    if let Some(execution) = checked.evidence.stuck.clone() {
        let caption = vec!["A fair execution that never ends".to_owned()];
        return Some((execution, Options { title, caption, ..Options::default() }));
    }
    let rejected = crate::explain::closest(test, model, checked)?;
    let mut caption = vec![format!("Forbidden by {}", rejected.title())];
    caption.extend(rejected.lines.last().map(|line| line.text.clone()));
    Some((rejected.execution, Options { title, caption, highlight: rejected.highlight, ..Options::default() }))
}
