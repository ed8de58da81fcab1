//! Whether executions end: all, some, or none. That none does makes everything true of all executions, which an answer
//! must not hide.

use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Observed};
use fencepost_program::program::Condition;
use fencepost_report::Count;
use fencepost_report::answer::Answer;
use fencepost_report::why::Why;

use super::Job;
use crate::judge::found::Answers;
use crate::look::race_search;
use crate::look::search::why_open;

impl Job<'_> {
    /// What no execution breaks may hold because there is none. Where they were not counted, one is looked for.
    pub(super) fn vacuity(&self, answers: &mut Answers) {
        let is_known = answers.executions.is_some_and(|counted| counted.complete || counted.count > 0);
        let is_asked = answers.findings.iter().any(Answer::is_no);
        if is_known || !is_asked || !self.may_have_none() {
            return;
        }
        if self.find(&Condition::And([].into()), &mut None).is_no() {
            answers.executions = Some(Count { count: 0, complete: true });
        }
    }

    /// Whether the program may have no execution that ends: a thread may stay, something is assumed, or kernels may wait
    /// for each other.
    fn may_have_none(&self) -> bool {
        let launches = self.unfolding.threads.iter().any(|thread| thread.kernel.is_some());
        self.searcher.estimate.may_not_exit || launches || !self.is_unassuming()
    }

    /// Whether neither a filter nor the program keeps executions out.
    pub(super) fn is_unassuming(&self) -> bool {
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        !race_search::is_assuming(self.unfolding, filter)
    }

    /// Whether some fair execution never ends.
    pub(super) fn termination(&self, answers: &mut Answers) {
        let none_ends = answers.executions == Some(Count { count: 0, complete: true });
        if !(self.searcher.estimate.may_not_exit || none_ends && self.is_unassuming()) {
            answers.hang = Answer::No;
            return;
        }
        // A filter speaks of final states, which an execution that never ends does not have.
        let goal = Goal { multiplicity: Multiplicity::First, observed: Observed::Terms(&[]), ..Goal::new(Ends::Stuck) };
        let found = self.searcher.first_of(&goal);
        answers.engine.get_or_insert(found.engine);
        answers.hang = match (found.results, found.exploration) {
            (Some(execution), _) => match self.confirmed(&execution, &goal) {
                Ok(()) => Answer::Yes(self.shown(execution)),
                Err(why) => Answer::Unknown(why),
            },
            // No execution ends and none was found that never does: what the threads wait for cannot come (a kernel that
            // starts after this one), which is no spinning on a final value.
            (None, Exploration::Complete) if none_ends && self.is_unassuming() => {
                let what = "no execution ends: a thread waits for what cannot come before it has ended".to_owned();
                Answer::Unknown(Why::Unsupported { span: self.test.litmus.span(), what })
            }
            (None, Exploration::Complete) => Answer::No,
            (None, Exploration::Incomplete(stop)) => Answer::Unknown(why_open(stop)),
            (None, Exploration::Stopped) => Answer::Unknown(Why::Internal("a search stopped by itself".to_owned())),
        };
    }
}
