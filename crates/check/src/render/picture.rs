//! Which execution of a checked test the picture shows: a witness of the first question that has one, an execution that
//! never ends, or for an unreachable outcome the candidate that comes closest.

use std::collections::BTreeSet;

use fencepost_axiom::execution::Execution;
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::{EventId, LocationId};

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::report::Assignment;
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

/// "In the end P1:r1 = 2, x = 1".
fn final_state(state: &Assignment) -> Option<String> {
    let values: Vec<String> = state.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!values.is_empty()).then(|| format!("In the end {}", values.join(", ")))
}

/// Racing writes have no arrow between them: that is said, because a missing arrow is easily taken for a forgotten one.
fn unordered(unfolding: &Unfolding, execution: &Execution) -> Option<String> {
    let location = |event: &EventId| match unfolding.events.get(event.index()).map(|event| &event.kind) {
        Some(EventKind::Write { location, .. }) => Some(*location),
        _ => None,
    };
    let related = |a: EventId, b: EventId| execution.co.contains(&(a, b)) || execution.co.contains(&(b, a));
    let writes: Vec<(EventId, LocationId)> =
        execution.events.iter().filter_map(|event| Some((*event, location(event)?))).collect();
    let mut open = BTreeSet::new();
    for (at, (first, place)) in writes.iter().enumerate() {
        let others = writes.iter().skip(at + 1).filter(|(_, other)| other == place);
        if others.into_iter().any(|(second, _)| !related(*first, *second)) {
            open.insert(unfolding.locations.get(place.index())?.name.as_str());
        }
    }
    let names: Vec<&str> = open.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("Coherence order leaves writes of {} unordered: any last one may be final", names.join(", ")))
}

fn chosen(test: &Test, model: &LoadedModel, checked: &Checked) -> Option<(Execution, Options)> {
    let title = format!("{} under {}", test.program.name, model.name);
    let answers = checked.report.questions.iter().zip(&checked.evidence.witnesses);
    for (answer, witness) in answers {
        if let Some(execution) = witness {
            let mut caption = vec![format!("{} {}: {}", answer.kind, answer.condition, answer.verdict.word())];
            caption.extend(answer.witness.as_ref().and_then(|witness| final_state(&witness.state)));
            caption.extend(unordered(checked.evidence.unfolding.as_ref()?, execution));
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
