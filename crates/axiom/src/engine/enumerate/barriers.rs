//! Which barriers meet, and when that is known.
//!
//! What meets depends on the traces and on the operands of the barriers. Mostly the operands are constants, and the traces
//! alone decide it, in one way: then it is decided before any read is chosen. Every check of a partial choice has the
//! synchronisation of barriers from the start, and traces whose barriers cannot meet are never searched. That is sound
//! because the same function of the same traces and operands would be asked at the end: what is known early is what every
//! execution of these traces has, and checks of partial choices may use any part of what all completions have.
//!
//! Where several matchings are possible, or an operand rests on a read, it is decided when all reads are chosen. They are
//! taken one at a time as they are found, because threads that take turns at a counted barrier can meet in more ways than
//! any limit allows to list.

use fencepost_program::EventId;
use fencepost_program::barrier::Matchings;
use fencepost_program::expression::Expression;
use fencepost_program::unfolding::{BarrierMatching, EventKind};

use std::ops::ControlFlow;

use super::Search;
use super::budget::{End, Flow};
use super::values::Consistent;
use crate::engine::Stop;

/// What takes more steps of the search for ways to meet is not known early.
const EARLY_STEPS: u32 = 4096;

impl Search<'_, '_> {
    /// Decides what meets, if the traces do; false if nothing can.
    pub(super) fn match_early(&mut self) -> bool {
        if !self.work.orders.has_barriers {
            return true;
        }
        let (values, candidate) = (&self.work.values, &self.work.candidate);
        // Dartagnan's rule also asks for operands of barriers that are not reached.
        let mut is_known = true;
        let mut value = |expression: &Expression| {
            let value = values.evaluate(candidate, expression);
            is_known &= value.is_some();
            value
        };
        let order = self.model.generation_order();
        let mut matchings = Matchings::new(self.unfolding, &candidate.traces, order, &mut value);
        if !is_known {
            return true;
        }
        let mut steps = 0;
        let mut go_on = |_| {
            steps += 1;
            steps < EARLY_STEPS
        };
        let first = matchings.next_while(&mut go_on);
        let second = matchings.next_while(&mut go_on);
        match (first, second) {
            _ if steps >= EARLY_STEPS => {}
            (None, _) => return false,
            (Some(matching), None) => {
                self.set_barriers(matching);
                self.work.orders.met.assign(&self.work.orders.syncbar);
                self.work.orders.left.assign(&self.work.orders.exitbar);
                self.work.orders.succeeded.assign(&self.work.orders.generations);
                self.work.orders.is_matched = true;
            }
            (Some(_), Some(_)) => {}
        }
        true
    }

    fn set_barriers(&mut self, matching: BarrierMatching) {
        let shape = self.work.candidate.shape;
        let related = [
            (&mut self.work.orders.syncbar, &matching.synchronises),
            (&mut self.work.orders.exitbar, &matching.exits),
            (&mut self.work.orders.generations, &matching.generations),
        ];
        for (relation, pairs) in related {
            relation.reset(shape);
            for (from, to) in pairs {
                if let (Some(from), Some(to)) = (self.work.candidate.local(*from), self.work.candidate.local(*to)) {
                    relation.insert(from, to);
                }
            }
        }
        self.work.orders.matching = matching;
    }

    /// Barriers meet so: what they return, then the orders.
    fn meet(&mut self, matching: BarrierMatching) -> Flow {
        let mark = self.work.values.mark();
        let consistent = self.work.values.meet(self.unfolding, &self.work.candidate, &self.question, &matching);
        self.set_barriers(matching);
        let flow = match consistent {
            Consistent::Yes => self.choose_orders(),
            Consistent::No => Flow::Continue(()),
        };
        self.work.values.undo(mark);
        flow
    }

    /// All reads have a write: the barriers that meet, if there are any, then the orders.
    pub(super) fn reads_chosen(&mut self) -> Flow {
        if !self.work.orders.has_barriers {
            return self.choose_orders();
        }
        if self.work.orders.is_matched {
            let matching = std::mem::take(&mut self.work.orders.matching);
            return self.meet(matching);
        }
        if let Some(barrier) = self.barrier_of_unknown_operand() {
            if !self.ruled_out() {
                self.note_gap(self.why_unknown(barrier));
            }
            return Flow::Continue(());
        }
        let (values, candidate) = (&self.work.values, &self.work.candidate);
        let mut value = |expression: &Expression| values.evaluate(candidate, expression);
        let order = self.model.generation_order();
        let mut matchings = Matchings::new(self.unfolding, &candidate.traces, order, &mut value);
        while let Some(matching) = self.next_matching(&mut matchings)? {
            self.meet(matching)?;
        }
        Flow::Continue(())
    }

    fn next_matching(&mut self, matchings: &mut Matchings<'_>) -> ControlFlow<End, Option<BarrierMatching>> {
        let mut flow = Flow::Continue(());
        let found = matchings.next_while(&mut |bytes| {
            flow = self.budget.tick(1);
            if flow.is_continue() {
                flow = self.budget.enter(bytes);
                self.budget.leave(bytes);
            }
            flow.is_continue()
        });
        flow?;
        ControlFlow::Continue(found)
    }

    /// Which barriers meet depends on their operands, never on what a reduction contributes.
    fn barrier_of_unknown_operand(&self) -> Option<EventId> {
        let unknown = |id: &&EventId| {
            let EventKind::Barrier(barrier) = &self.unfolding.events[id.index()].kind else { return false };
            let operands = [&barrier.instance, &barrier.id, &barrier.count];
            operands
                .into_iter()
                .flatten()
                .any(|operand| self.work.values.evaluate(&self.work.candidate, operand).is_none())
        };
        self.work.candidate.events.iter().find(unknown).copied()
    }

    /// An operand may need what an earlier `bar.red` returns, which is known only once the barriers are matched; without
    /// reductions it can only depend on itself.
    fn why_unknown(&self, barrier: EventId) -> Stop {
        let reduces = |id: &EventId| {
            let kind = &self.unfolding.events[id.index()].kind;
            matches!(kind, EventKind::Barrier(barrier) if barrier.reduction.is_some())
        };
        if self.work.candidate.events.iter().any(reduces) {
            let span = self.unfolding.events[barrier.index()].span;
            Stop::Unsupported { span, what: "a barrier operand that rests on what `bar.red` returned".to_owned() }
        } else {
            Stop::ThinAir
        }
    }
}
