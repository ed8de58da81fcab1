//! The explanation of a whole report: one part per question, then races and what never ends.

use std::time::{Duration, Instant};

use fencepost_axiom::engine::{Ends, Goal, Limits};
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Question};
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::Value;
use fencepost_syntax::litmus::QuestionKind;

use super::forbidden::{Search, forbidden};
use super::{Context, Example, Explanation, Rejected, allowed, race, stuck};
use crate::check::Checked;
use crate::models::LoadedModel;
use crate::report::{Access, Race};
use crate::test::Test;
use crate::verdict::Verdict;

/// Candidates looked at for an unreachable outcome: enough for a test of litmus size, soon done for a large one.
const CANDIDATES: u64 = 512;
const SHOWN: u32 = 3;
/// A safety net only: the number of candidates is what limits the search, so that the text does not depend on the machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// The text under a report for `--explain`.
pub fn explain(test: &Test, model: &LoadedModel, checked: &Checked) -> String {
    let Some(unfolding) = &checked.evidence.unfolding else { return String::new() };
    let text = |span| test.instruction_text(span);
    let context = context(test, model, unfolding, &text);
    let mut parts: Vec<String> = Vec::new();
    for (index, question) in test.program.questions.iter().enumerate() {
        parts.extend(explain_question(&context, checked, index, question).map(|explanation| explanation.to_text()));
    }
    parts.extend(checked.report.races.pairs.iter().filter_map(|race| Some(explain_race(&context, race)?.to_text())));
    parts.extend(checked.evidence.stuck.iter().map(|execution| stuck(&context, execution).to_text()));
    parts.join("\n")
}

/// The candidate with the shortest reason against it, of the first question that has one.
pub(crate) fn closest(test: &Test, model: &LoadedModel, checked: &Checked) -> Option<Rejected> {
    let unfolding = checked.evidence.unfolding.as_ref()?;
    let text = |span| test.instruction_text(span);
    let context = context(test, model, unfolding, &text);
    let questions = test.program.questions.iter().enumerate();
    questions
        .filter_map(|(index, question)| explain_question(&context, checked, index, question))
        .find_map(|explanation| explanation.rejected.into_iter().next())
}

fn context<'a>(
    test: &'a Test,
    model: &'a LoadedModel,
    unfolding: &'a Unfolding,
    text: &'a dyn Fn(fencepost_syntax::Span) -> String,
) -> Context<'a> {
    Context { unfolding, program: &test.program, model: &model.model, source: &test.source, text }
}

fn explain_question(
    context: &Context<'_>,
    checked: &Checked,
    index: usize,
    question: &Question,
) -> Option<Explanation> {
    let condition = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Condition::Not(Box::new(question.condition.clone())),
        _ => question.condition.clone(),
    };
    if let Some(execution) = checked.evidence.witnesses.get(index)?.as_ref() {
        return Some(allowed(context, execution, Some(&condition)));
    }
    let answer = checked.report.questions.get(index)?;
    if !matches!(answer.verdict, Verdict::Holds | Verdict::Violated) {
        return None;
    }
    let filter = context.program.filter.as_ref().map(|filter| &filter.node);
    let goal = Goal { filter, condition: Some(&condition), ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: Instant::now().checked_add(PATIENCE), memory: None, cancelled: None };
    Some(forbidden(context, &goal, &Search { limits, candidates: CANDIDATES, shown: SHOWN }))
}

fn explain_race(context: &Context<'_>, found: &Race) -> Option<Explanation> {
    let example = &found.example;
    let find = |access: &Access| {
        let event = example.events.iter().find(|event| {
            event.thread.as_deref() == Some(access.thread.as_str())
                && event.line == Some(access.line)
                && event.text == access.text
                && event.location.is_some()
        })?;
        Some(EventId(event.id))
    };
    let pair = (find(&found.first)?, find(&found.second)?);
    let events: Vec<EventId> = example.events.iter().map(|event| EventId(event.id)).collect();
    let values = example.events.iter().map(|event| event.value.map(|value| Value(value.0))).collect();
    let rf = example.rf.iter().map(|(from, to)| (EventId(*from), EventId(*to))).collect();
    Some(race(context, &Example { events, values, rf, pair }))
}
