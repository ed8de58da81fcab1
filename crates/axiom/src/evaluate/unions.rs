//! Unions of unions, computed at once.
//!
//! Models are written as alternatives of alternatives, and most of them are used once: `po-loc | (rf | (co | fr))` is one
//! operation with four operands, not three that each write down and compare a relation. Only unions that are computed equally
//! often are joined: one that a choice of an order leaves as it is stays by itself.

use super::plan::{LISTS, Operation, Plan, Slot, Step};
use crate::model::Model;

/// Joins each union with the unions that only it looks at.
pub(super) fn join(plan: &mut Plan, model: &Model) {
    let uses = uses(plan, model);
    for number in 0..LISTS {
        // By slot: the operands of a union of this list that one step alone looks at.
        let mut inner: Vec<(Slot, Vec<Slot>)> = Vec::new();
        let mut steps = std::mem::take(plan.list_mut(number));
        for step in &mut steps {
            let Step::Compute(slot, Operation::Union(a, b)) = *step else { continue };
            let mut operands = Vec::new();
            for operand in [a, b] {
                match inner.iter().position(|(own, _)| *own == operand) {
                    Some(at) => operands.extend(inner.swap_remove(at).1),
                    None => operands.push(operand),
                }
            }
            if operands.len() > 2 {
                *step = Step::Compute(slot, plan.unite(&operands));
            }
            if uses[slot.index()] == 1 {
                inner.push((slot, operands));
            }
        }
        // Those that were not taken stay: something else than a union looks at them, or a union of another list.
        let is_joined = |slot: Slot| uses[slot.index()] == 1 && !inner.iter().any(|(own, _)| *own == slot);
        let is_union = |operation| matches!(operation, Operation::Union(..) | Operation::Unions(_));
        steps.retain(|step| !matches!(*step, Step::Compute(slot, operation) if is_union(operation) && is_joined(slot)));
        *plan.list_mut(number) = steps;
    }
}

/// By slot: by how many steps it is looked at; many, where by somebody else.
fn uses(plan: &Plan, model: &Model) -> Vec<u32> {
    const MANY: u32 = 2;
    let mut uses = vec![0; plan.kinds().count()];
    let mut add = |slot: Slot, times: u32| uses[slot.index()] += times;
    for step in (0..LISTS).flat_map(|number| plan.list(number)) {
        match *step {
            Step::Compute(_, operation) => operation.operands(&plan.united).for_each(|slot| add(slot, 1)),
            Step::Check { check, .. } => add(plan.slot(model.checks[check.index()].node), MANY),
            Step::Group(_) => {}
        }
    }
    plan.groups.iter().flat_map(|group| &group.inputs).for_each(|slot| add(*slot, MANY));
    plan.asked.iter().for_each(|slot| add(*slot, MANY));
    uses
}
