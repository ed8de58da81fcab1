//! Whether an answer is that of two engines. `auto` lets the engines take turns, so what it answers may come from enumeration, from
//! SAT, or from one run that decides for all executions. An answer that SAT repeats is confirmed by another engine only if SAT was
//! not the one that gave it. So each engine is asked alone, and both must answer.

use fencepost_report::why::Why;

/// Why no second engine confirms what neither finds wrong: from why SAT alone and enumeration alone do not answer. None where one
/// does.
pub(crate) fn second(sat: Option<Why>, enumerated: Option<Why>, is_one_run: impl Fn() -> bool) -> Option<Why> {
    match (sat, enumerated) {
        (None, None) => None,
        // Neither engine was asked for the answer, so either confirms it.
        (Some(_), None) | (None, Some(_)) if is_one_run() => None,
        (sat, enumerated) => sat.or(enumerated),
    }
}

#[cfg(test)]
mod tests {
    use fencepost_report::why::{Undecided, Why};

    use super::second;

    #[test]
    fn what_one_engine_alone_answers_is_not_confirmed_by_another() {
        let cut = || Some(Why::Size(Undecided::Search));
        assert_eq!(second(None, None, || false), None);
        assert_eq!(second(cut(), None, || false), cut(), "SAT does not answer");
        assert_eq!(second(None, cut(), || false), cut(), "enumeration does not, so the answer was SAT's already");
        assert_eq!(second(Some(Why::Time), cut(), || true), Some(Why::Time), "nobody answers but one run");
    }

    #[test]
    fn one_run_that_decides_is_confirmed_by_either_engine() {
        let cut = || Some(Why::Size(Undecided::Search));
        assert_eq!(second(None, cut(), || true), None);
        assert_eq!(second(cut(), None, || true), None);
    }
}
