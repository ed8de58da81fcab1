//! Witnesses among the counts. Where executions are counted up to a limit, a question is often answered by a search of its
//! own: its witness is an execution all the same, and "reachable, at least 0 executions" would be none.

use fencepost_report::Count;

use super::Job;
use crate::judge::found::{Answers, Shown};
use crate::look::outcome::{self, holds};

impl Job<'_> {
    /// A witness that is not among the executions that were counted is one more.
    pub(super) fn count_witnesses(&self, answers: &mut Answers) {
        let Some(mut executions) = answers.executions.filter(|executions| !executions.complete) else { return };
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        let found: Vec<Shown> = (0..answers.findings.len()).filter_map(|at| answers.witness(at).cloned()).collect();
        for Shown { execution, of } in &found {
            let states = outcome::Reader::new(of, execution).states(self.terms());
            let states = states.iter().filter(|state| filter.is_none_or(|filter| holds(filter, self.terms(), state)));
            let states: Vec<_> = states.filter(|state| !answers.outcomes.contains(state)).collect();
            if !states.is_empty() {
                executions = executions.plus(Count { count: 1, complete: false });
            }
            for state in states {
                answers.outcomes.add(state, 1);
            }
        }
        answers.executions = Some(executions);
    }
}
