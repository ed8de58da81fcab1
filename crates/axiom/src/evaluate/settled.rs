//! What the traces of a candidate settle of a model, once and for all choices.
//!
//! `rmw & (fre ; coe)` is empty in every execution of a test without read-modify-writes, and then nobody needs `fre ; coe`
//! either. Most of a large model is like that in one test: its sets of proxies, scopes and barriers are empty. So when a
//! candidate begins, a value that no choice can change is computed once, and of the others only those are computed for
//! every choice that a check or a demand can still look at.

use std::sync::Arc;

use fencepost_program::unfolding::{EventKind, Unfolding};

use super::plan::{Base, LAST, Operation, Slot, Step};
use super::reduced::Reduced;
use super::{Evaluator, Stage};
use crate::base::{Candidate, is_in_sync_order};
use crate::bits::kernel;
use crate::model::BaseRelation;

impl Evaluator<'_> {
    /// The steps that can give something for this candidate, whose bases are there; and which chosen bases can hold something.
    pub(super) fn reduced(&mut self, unfolding: &Unfolding, candidate: &Candidate) -> Arc<Reduced> {
        let plan = Arc::clone(&self.plan);
        let mut holding = std::mem::take(&mut self.holding);
        holding.clear();
        holding.resize((plan.static_bases.len() + plan.chosen_bases.len()).div_ceil(64), 0);
        for (at, &(slot, _)) in plan.static_bases.iter().enumerate() {
            let holds = !kernel::is_empty(&self.data[self.range(slot)]);
            holding[at / 64] |= u64::from(holds) << (at % 64);
        }
        for (at, &(slot, base)) in (plan.static_bases.len()..).zip(&plan.chosen_bases) {
            let holds = can_hold(unfolding, candidate, base);
            self.varies[slot.index()] = holds;
            holding[at / 64] |= u64::from(holds) << (at % 64);
        }
        let reduced = self.reductions.get(&plan, &holding);
        self.holding = holding;
        reduced
    }

    /// Chooses the steps of every later evaluation of this candidate; what the traces fix is computed.
    pub(super) fn settle(&mut self, reduced: &Reduced) {
        let plan = Arc::clone(&self.plan);
        for list in Stage::ReadsFrom as usize..=LAST {
            for step in reduced.list(list) {
                if self.gives_up() {
                    return;
                }
                match *step {
                    Step::Compute(slot, operation) if self.can_vary(operation) => self.varies[slot.index()] = true,
                    Step::Compute(slot, operation) => self.compute(slot, operation),
                    Step::Group(group) => {
                        plan.groups[group as usize].slots().for_each(|slot| self.varies[slot.index()] = true);
                    }
                    Step::Check { .. } => {}
                }
            }
        }
        let mut needed = std::mem::take(&mut self.needed);
        needed.clear();
        needed.resize(self.slots.len(), false);
        plan.asked.iter().for_each(|slot| needed[slot.index()] = true);
        for list in (Stage::ReadsFrom as usize..=LAST).rev() {
            self.live[list].reserve(reduced.list(list).len());
            for &step in reduced.list(list).iter().rev() {
                if self.keep(step, &mut needed) {
                    self.live[list].push(step);
                }
            }
            self.live[list].reverse();
        }
        self.needed = needed;
    }

    /// Whether an operation has another value for some choice, as far as its operands tell.
    fn can_vary(&self, operation: Operation) -> bool {
        let varies = |slot: Slot| self.varies[slot.index()];
        let stays_empty = |slot: Slot| !varies(slot) && kernel::is_empty(&self.data[self.range(slot)]);
        if !operation.any_operand(&self.plan.united, varies) {
            return false;
        }
        let absorbed = match operation {
            Operation::Intersection(a, b)
            | Operation::Sequence(a, b)
            | Operation::From(a, b)
            | Operation::Into(a, b)
            | Operation::Product(a, b) => stays_empty(a) || stays_empty(b),
            Operation::Difference(a, _) => stays_empty(a),
            _ => false,
        };
        !absorbed
    }

    /// Whether a step is to be done for every choice; then what it reads is needed too.
    fn keep(&mut self, step: Step, needed: &mut [bool]) -> bool {
        match step {
            Step::Compute(slot, operation) => {
                let kept = needed[slot.index()] && self.varies[slot.index()];
                if kept {
                    operation.any_operand(&self.plan.united, |slot| {
                        needed[slot.index()] = true;
                        false
                    });
                }
                kept
            }
            Step::Group(group) => {
                let plan = &self.plan.groups[group as usize];
                let kept = plan.slots().any(|slot| needed[slot.index()]);
                plan.inputs.iter().filter(|_| kept).for_each(|slot| needed[slot.index()] = true);
                kept
            }
            Step::Check { check, .. } => {
                let slot = self.plan.slot(self.model.checks[check.index()].node);
                needed[slot.index()] = true;
                // One that holds whatever is chosen is not judged again.
                self.varies[slot.index()] || self.violates(check)
            }
        }
    }
}

/// Whether some choice puts something into a chosen relation.
fn can_hold(unfolding: &Unfolding, candidate: &Candidate, base: Base) -> bool {
    let mut events = candidate.events.iter().map(|event| &unfolding.events[event.index()]);
    match base {
        Base::Relation(BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations) => {
            events.any(|event| matches!(event.kind, EventKind::Barrier(_)))
        }
        Base::Relation(BaseRelation::SyncFence) => events.any(is_in_sync_order),
        Base::Relation(_) | Base::Set(_) => true,
    }
}
