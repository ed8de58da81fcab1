//! The steps of a plan without those that can only give nothing.
//!
//! A test without proxies has empty sets of them, and most of a large model is about such sets: intersections with and
//! sequences through what is empty are empty. Which bases of a candidate are empty says which steps that leaves. Tests that
//! are alike leave the same ones, and so do the changed tests that a repair is looked for among: each selection is made once.

use std::sync::{Arc, Mutex, PoisonError};

use super::plan::{LISTS, Operation, Plan, Slot, Step};

/// The steps that are left of each list.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    lists: [Vec<Step>; LISTS],
    /// What they compute, in their order.
    pub(super) computed: Vec<Slot>,
}

/// Which bases can hold something: bits, in the order of the plan.
pub(super) type Holding = Vec<u64>;

/// The selections of one plan.
#[derive(Debug, Default)]
pub(super) struct Reductions(Mutex<Vec<(Holding, Arc<Reduced>)>>);

/// More than the tests of a folder have; beyond, selections are not kept.
const MOST: usize = 64;

impl Reduced {
    pub(super) fn list(&self, number: usize) -> &[Step] {
        self.lists.get(number).map_or(&[], Vec::as_slice)
    }

    fn new(plan: &Plan, holding: &[u64]) -> Reduced {
        let mut holds = vec![false; plan.slot_count()];
        for (at, (slot, _)) in plan.static_bases.iter().chain(&plan.chosen_bases).enumerate() {
            holds[slot.index()] |= holding.get(at / 64).is_none_or(|word| word >> (at % 64) & 1 == 1);
        }
        let mut reduced = Reduced { computed: Vec::with_capacity(plan.slot_count()), ..Reduced::default() };
        for (number, list) in reduced.lists.iter_mut().enumerate() {
            list.reserve_exact(plan.list(number).len());
            for step in plan.list(number) {
                let is_left = match *step {
                    Step::Compute(slot, operation) => {
                        holds[slot.index()] = can_hold(plan, operation, &holds);
                        holds[slot.index()]
                    }
                    Step::Group(group) => settle(plan, group as usize, &mut holds),
                    Step::Check { .. } => true,
                };
                if is_left {
                    list.push(*step);
                    match *step {
                        Step::Compute(slot, _) => reduced.computed.push(slot),
                        Step::Group(group) => reduced.computed.extend(plan.groups[group as usize].slots()),
                        Step::Check { .. } => {}
                    }
                }
            }
        }
        reduced
    }
}

impl Reductions {
    pub(super) fn get(&self, plan: &Plan, holding: &[u64]) -> Arc<Reduced> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reduced)) = known.iter().find(|(of, _)| **of == *holding) {
            return Arc::clone(reduced);
        }
        let reduced = Arc::new(Reduced::new(plan, holding));
        if known.len() < MOST {
            known.push((holding.into(), Arc::clone(&reduced)));
        }
        reduced
    }
}

/// Whether an operation can have something in it, where these slots can.
fn can_hold(plan: &Plan, operation: Operation, holds: &[bool]) -> bool {
    let holds = |slot: Slot| holds[slot.index()];
    match operation {
        Operation::Intersection(a, b)
        | Operation::Sequence(a, b)
        | Operation::From(a, b)
        | Operation::Into(a, b)
        | Operation::Product(a, b) => holds(a) && holds(b),
        Operation::Difference(a, _) => holds(a),
        Operation::Complement(_) | Operation::Star(_) | Operation::Optional(_) => true,
        Operation::Empty
        | Operation::Union(..)
        | Operation::Unions(_)
        | Operation::Domain(_)
        | Operation::Range(_)
        | Operation::Inverse(_)
        | Operation::Plus(_)
        | Operation::Identity(_) => operation.any_operand(&plan.united, holds),
    }
}

/// The same of all members of a recursive group; whether some can.
fn settle(plan: &Plan, group: usize, holds: &mut [bool]) -> bool {
    let group = &plan.groups[group];
    loop {
        for (slot, operation) in &group.steps {
            holds[slot.index()] |= can_hold(plan, *operation, holds);
        }
        let mut changed = false;
        for (variable, body) in &group.variables {
            changed |= holds[body.index()] && !holds[variable.index()];
            holds[variable.index()] |= holds[body.index()];
        }
        if !changed {
            return group.steps.iter().any(|(slot, _)| holds[slot.index()]);
        }
    }
}
