//! Judging the final states of an execution, and handing it out.

use fencepost_program::program::Term;
use fencepost_program::unfolding::BarrierMatching;
use fencepost_program::value::Value;
use std::ops::ControlFlow;

use super::Search;
use super::budget::{End, Flow};
use crate::bits::Relation;
use crate::engine::Stop;
use crate::execution::Execution;

/// Of what the execution that was last handed out was made.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// It was one of the present choice of traces.
    pub(super) is_current: bool,
    co: Relation,
    fences: Relation,
}

pub(super) fn empty() -> Execution {
    Execution {
        traces: Vec::new(),
        events: Vec::new(),
        rf: Vec::new(),
        co: Vec::new(),
        sync_fence: Vec::new(),
        barriers: BarrierMatching::default(),
        values: Vec::new(),
        weight: 1,
    }
}

impl Search<'_, '_> {
    /// Everything is chosen and the model accepts it.
    pub(super) fn consistent(&mut self, co: &Relation, fences: &Relation) -> Flow {
        if !self.goal_reachable(co, 0, &mut Vec::new()) {
            return Flow::Continue(());
        }
        if !self.work.values.all_known(self.unfolding, &self.work.candidate) {
            self.note_gap(Stop::ThinAir);
            return Flow::Continue(());
        }
        // Not by a model that was evaluated in part.
        self.budget.ended()?;
        self.fill(co, fences);
        self.weigh()?;
        self.reported += 1;
        self.budget.tick(1)?;
        match (self.visit)(&self.work.execution) {
            ControlFlow::Continue(()) => Flow::Continue(()),
            ControlFlow::Break(()) => Flow::Break(End::Stopped),
        }
    }

    /// Whether some choice of one co-maximal write per location satisfies all parts of the condition and the filter.
    fn goal_reachable(&self, co: &Relation, at: usize, chosen: &mut Vec<Option<Value>>) -> bool {
        let Some(location) = self.question.memory.get(at) else {
            return self.goal_holds(chosen);
        };
        self.work.orders.writes(location.index()).iter().filter(|write| !co.has_successor(**write)).any(|write| {
            chosen.push(self.work.values.of(*write));
            let reachable = self.goal_reachable(co, at + 1, chosen);
            chosen.pop();
            reachable
        })
    }

    fn goal_holds(&self, memory: &[Option<Value>]) -> bool {
        self.question.conjuncts.iter().all(|conjunct| {
            let holds = conjunct.holds(&mut |term| match term {
                Term::Memory(location) => {
                    let at = self.question.memory.binary_search(location).ok()?;
                    memory[at]
                }
                other => self.work.values.term(self.unfolding, &self.work.candidate, other),
            });
            holds != Some(false)
        })
    }

    /// What is as it was in the last execution stays: two often differ in what is read alone.
    fn fill(&mut self, co: &Relation, fences: &Relation) {
        let events = &self.work.candidate.events;
        let named = |(from, to): (usize, usize)| (events[from], events[to]);
        let execution = &mut self.work.execution;
        let filled = &mut self.work.filled;
        if !filled.is_current {
            execution.traces.clone_from(&self.work.candidate.traces);
            execution.events.clone_from(events);
        }
        if !filled.is_current || filled.co != *co {
            execution.co.clear();
            co.for_each(|from, to| execution.co.push(named((from, to))));
            filled.co.assign(co);
        }
        if !filled.is_current || filled.fences != *fences {
            execution.sync_fence.clear();
            fences.for_each(|from, to| execution.sync_fence.push(named((from, to))));
            filled.fences.assign(fences);
        }
        if !filled.is_current || self.work.orders.has_barriers {
            execution.barriers.clone_from(&self.work.orders.matching);
        }
        filled.is_current = true;
        execution.rf.clear();
        execution.rf.extend(self.work.reads.all.iter().map(|&read| named((self.work.reads.source[read], read))));
        execution.values.clear();
        execution.values.extend_from_slice(self.work.values.all());
        execution.weight = self.work.orders.weight;
    }
}
