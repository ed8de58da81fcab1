//! Executions that go the ways of another one: with these traces, in which these reads read from these writes. What is left to
//! choose is little, so that one is found, or known not to be there, in about the time of one evaluation of the model.

use fencepost_program::unfolding::Unfolding;
use fencepost_program::{EventId, TraceId};

use super::budget::Budget;
use super::{Among, FINDING, explore};
use crate::engine::{Exploration, Goal, Limits, Visitor};
use crate::model::Model;

/// The traces and the reads-from of executions that are looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ways {
    /// One per thread.
    pub traces: Vec<TraceId>,
    /// `(read, write)`, ascending; reads that are not in it read from where they may.
    pub sources: Vec<(EventId, EventId)>,
}

impl Ways {
    /// Whether a read may read from a write.
    pub(super) fn admit(&self, write: EventId, read: EventId) -> bool {
        let found = self.sources.binary_search_by_key(&read, |(read, _)| *read);
        found.is_ok_and(|at| self.sources[at].1 == write) || found.is_err()
    }
}

/// Visits the executions that the goal asks for and that go these ways. That none does says nothing of other ways.
pub fn explore_ways(
    unfolding: &Unfolding,
    model: &Model,
    goal: &Goal<'_>,
    ways: &Ways,
    limits: &Limits<'_>,
    visit: &mut Visitor<'_>,
) -> Exploration {
    explore(unfolding, model, goal, (Budget::new(limits), FINDING, Among::Ways(ways)), visit)
}
