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
    // By slot: whether it is a union of the current list that one step alone looks at and no union was joined with yet. Its
    // operands are then those that its step has.
    let mut is_open = vec![false; uses.len()];
    // By slot: whether it is a union that was joined with another, and is computed no more.
    let mut is_joined = vec![false; uses.len()];
    // Where the steps of open unions stand.
    let mut open: Vec<(Slot, usize)> = Vec::new();
    let mut operands = Vec::new();
    for number in 0..LISTS {
        let mut steps = std::mem::take(plan.list_mut(number));
        for at in 0..steps.len() {
            let Step::Compute(slot, Operation::Union(a, b)) = steps[at] else { continue };
            operands.clear();
            for operand in [a, b] {
                match take(&mut open, &mut is_open, operand) {
                    Some(inner) => {
                        is_joined[operand.index()] = true;
                        operands.extend(operands_of(steps[inner], plan));
                    }
                    None => operands.push(operand),
                }
            }
            if operands.len() > 2 {
                steps[at] = Step::Compute(slot, plan.unite(&operands));
            }
            if uses[slot.index()] == 1 {
                is_open[slot.index()] = true;
                open.push((slot, at));
            }
        }
        // Those that were not taken stay: something else than a union looks at them, or a union of another list.
        open.drain(..).for_each(|(slot, _)| is_open[slot.index()] = false);
        steps.retain(|step| !matches!(step, Step::Compute(slot, _) if is_joined[slot.index()]));
        *plan.list_mut(number) = steps;
    }
}

/// Where the step of an open union stands, which is then open no more.
fn take(open: &mut Vec<(Slot, usize)>, is_open: &mut [bool], slot: Slot) -> Option<usize> {
    if !std::mem::take(&mut is_open[slot.index()]) {
        return None;
    }
    let at = open.iter().position(|(own, _)| *own == slot)?;
    Some(open.swap_remove(at).1)
}

fn operands_of(step: Step, plan: &Plan) -> impl Iterator<Item = Slot> + '_ {
    let operation = match step {
        Step::Compute(_, operation) => operation,
        Step::Group(_) | Step::Check { .. } => Operation::Empty,
    };
    operation.operands(&plan.united)
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
