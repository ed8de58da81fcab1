//! How many answers this thread has looked at a second time. A test compares the numbers with recorded ones, so that nothing
//! becomes faster by leaving a second check out.

use std::cell::Cell;

/// Second checks that came to their end.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct SecondChecks {
    /// Executions that the independent evaluator judged.
    pub replays: u64,
    /// Searches by the engine that did not answer.
    pub confirmations: u64,
}

thread_local! {
    static DONE: Cell<SecondChecks> = const { Cell::new(SecondChecks { replays: 0, confirmations: 0 }) };
}

impl SecondChecks {
    /// Since the thread began.
    pub fn so_far() -> SecondChecks {
        DONE.get()
    }

    pub(crate) fn count_replay() {
        let done = DONE.get();
        DONE.set(SecondChecks { replays: done.replays + 1, ..done });
    }

    pub(crate) fn count_confirmation() {
        let done = DONE.get();
        DONE.set(SecondChecks { confirmations: done.confirmations + 1, ..done });
    }
}
