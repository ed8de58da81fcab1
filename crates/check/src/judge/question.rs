//! Questions: what each looks for, and what finding it means.

use fencepost_program::program::{Condition, Program, Question};
use fencepost_report::verdict::Verdict;
use fencepost_syntax::litmus::QuestionKind;

/// What a question looks for: its condition, for `forall` and `assert` its negation, the filter included so that both are
/// judged on one final state.
pub fn looked_for(program: &Program, question: &Question) -> Condition {
    let condition = looked_for_in_crash(question);
    match &program.filter {
        Some(filter) => Condition::And(vec![filter.node.clone(), condition]),
        None => condition,
    }
}

/// The same for a question about crashes, to which the filter does not apply.
pub fn looked_for_in_crash(question: &Question) -> Condition {
    match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Condition::Not(Box::new(question.condition.clone())),
        _ => question.condition.clone(),
    }
}

/// The verdict of a question, given whether what it looks for is reachable.
pub fn verdict_of(kind: QuestionKind, reachable: bool) -> Verdict {
    let wanted = matches!(kind, QuestionKind::Exists | QuestionKind::Permit | QuestionKind::Check);
    if reachable == wanted { Verdict::Holds } else { Verdict::Violated }
}
