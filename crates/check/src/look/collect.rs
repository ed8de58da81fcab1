//! What a complete exploration gathers: the histogram, the counts, the first execution for each question, and the races.

use std::ops::ControlFlow;

use fencepost_axiom::execution::Execution;
use fencepost_program::program::Term;
use fencepost_program::unfolding::Unfolding;

use crate::look::histogram::Histogram;
use crate::look::outcome::{Reader, Scratch, holds};
use crate::look::protocol::ProtocolSet;
use crate::look::race::RaceSet;

/// One thing somebody looks for among the executions: an index into the questions, and the condition that a final state
/// must satisfy (filter included).
pub(crate) struct Target<'a> {
    pub(crate) condition: &'a fencepost_program::program::Condition,
}

#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) executions: u64,
    /// There are more than the number can say.
    pub(crate) overflowed: bool,
    pub(crate) outcomes: Histogram,
    /// Per target, the first execution with a final state that satisfies it.
    pub(crate) found: Vec<Option<Execution>>,
    pub(crate) races: RaceSet,
    pub(crate) protocol: ProtocolSet,
    /// Bytes held, roughly.
    held: u64,
    scratch: Scratch,
    /// An execution without a final state, which is a defect.
    pub(crate) stateless: Option<Execution>,
    pub(crate) out_of_memory: bool,
    /// As many executions were counted as were wanted.
    pub(crate) capped: bool,
}

pub(crate) struct Collector<'a> {
    pub(crate) unfolding: &'a Unfolding,
    pub(crate) terms: &'a [Term],
    pub(crate) filter: Option<&'a fencepost_program::program::Condition>,
    pub(crate) targets: &'a [Target<'a>],
    pub(crate) memory: Option<u64>,
    /// How many executions are enough.
    pub(crate) most: Option<u64>,
}

impl Collector<'_> {
    pub(crate) fn add(&self, totals: &mut Totals, execution: &Execution) -> ControlFlow<()> {
        let Totals { outcomes, found, held, scratch, .. } = totals;
        found.resize(self.targets.len(), None);
        let mut is_stateless = true;
        Reader::new(self.unfolding, execution).each_state(self.terms, scratch, |state| {
            if self.filter.is_some_and(|filter| !holds(filter, self.terms, state)) {
                return;
            }
            is_stateless = false;
            // A state that was met before was judged then.
            if !outcomes.add(state, execution.weight) {
                return;
            }
            *held += state.len() as u64 * 16 + 64;
            for (target, found) in self.targets.iter().zip(&mut *found) {
                if found.is_none() && holds(target.condition, self.terms, state) {
                    *found = Some(execution.clone());
                }
            }
        });
        if is_stateless {
            totals.stateless = Some(execution.clone());
            return ControlFlow::Break(());
        }
        match totals.executions.checked_add(execution.weight) {
            Some(executions) => totals.executions = executions,
            None => totals.overflowed = true,
        }
        match self.memory {
            Some(limit) if totals.held > limit => {
                totals.out_of_memory = true;
                ControlFlow::Break(())
            }
            _ if self.most.is_some_and(|most| totals.executions >= most) => {
                totals.capped = true;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
