//! What a complete exploration gathers: the histogram, the counts, the first execution for each question, and the races.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fencepost_axiom::execution::Execution;
use fencepost_program::program::Term;
use fencepost_program::unfolding::Unfolding;

use crate::outcome::{Reader, State, holds};
use crate::protocol::ProtocolSet;
use crate::race::RaceSet;

/// One thing somebody looks for among the executions: an index into the questions, and the condition that a final state
/// must satisfy (filter included).
pub(crate) struct Target<'a> {
    pub(crate) condition: &'a fencepost_program::program::Condition,
}

#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) executions: u64,
    pub(crate) outcomes: BTreeMap<State, u64>,
    /// Per target, the first execution with a final state that satisfies it.
    pub(crate) found: Vec<Option<Execution>>,
    pub(crate) races: RaceSet,
    pub(crate) protocol: ProtocolSet,
    /// Bytes held, roughly.
    held: u64,
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
        let mut states = Reader::new(self.unfolding, execution).states(self.terms);
        if let Some(filter) = self.filter {
            states.retain(|state| holds(filter, self.terms, state));
        }
        if states.is_empty() {
            totals.stateless = Some(execution.clone());
            return ControlFlow::Break(());
        }
        totals.executions = totals.executions.saturating_add(execution.weight);
        totals.found.resize(self.targets.len(), None);
        for (target, found) in self.targets.iter().zip(&mut totals.found) {
            if found.is_none() && states.iter().any(|state| holds(target.condition, self.terms, state)) {
                *found = Some(execution.clone());
            }
        }
        for state in states {
            let size = state.len() as u64 * 16 + 64;
            let count = totals.outcomes.entry(state).or_insert_with(|| {
                totals.held += size;
                0
            });
            *count = count.saturating_add(execution.weight);
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
