//! Questions: what each looks for, and what finding it means.

use std::borrow::Cow;

use fencepost_program::program::{Condition, Program, Question};
use fencepost_report::verdict::Verdict;
use fencepost_syntax::litmus::QuestionKind;

/// What a question looks for: its condition, for `forall` and `assert` its negation, the filter included so that both are
/// judged on one final state.
pub fn looked_for<'a>(program: &Program, question: &'a Question) -> Cow<'a, Condition> {
    match &program.filter {
        Some(filter) => Cow::Owned(Condition::And([filter.node.clone(), looked_for_in_crash(question)].into())),
        None if is_negated(question) => Cow::Owned(looked_for_in_crash(question)),
        None => Cow::Borrowed(&question.condition),
    }
}

/// Whether the negation of the condition is looked for.
fn is_negated(question: &Question) -> bool {
    matches!(question.kind, QuestionKind::Forall | QuestionKind::Assert)
}

/// The same for a question about crashes, to which the filter does not apply.
pub fn looked_for_in_crash(question: &Question) -> Condition {
    match is_negated(question) {
        true => Condition::Not(Box::new(question.condition.clone())),
        false => question.condition.clone(),
    }
}

/// The verdict of a question, given whether what it looks for is reachable.
pub fn verdict_of(kind: QuestionKind, reachable: bool) -> Verdict {
    let wanted = matches!(kind, QuestionKind::Exists | QuestionKind::Permit | QuestionKind::Check);
    if reachable == wanted { Verdict::Holds } else { Verdict::Violated }
}
