//! Drops events that no trace has: those of runs that another trace stands for.

use crate::ids::EventId;
use crate::unfolding::{EventKind, TraceEnd, Unfolding};
use crate::value::expression::Expression;

pub(crate) fn compact(unfolding: &mut Unfolding) {
    let mut used: Vec<bool> = unfolding.events.iter().map(|event| event.thread.is_none()).collect();
    for event in unfolding.traces.iter().flat_map(|trace| &trace.events) {
        used[event.index()] = true;
    }
    if used.iter().all(|used| *used) {
        return;
    }
    let mut next = 0;
    let renamed: Vec<EventId> = (used.iter())
        .map(|used| {
            let id = EventId(next);
            next += u32::from(*used);
            id
        })
        .collect();
    let rename = |event: &mut EventId| *event = renamed[event.index()];
    let mut keep = used.iter();
    unfolding.events.retain(|_| keep.next().copied().unwrap_or(false));
    renumber(unfolding, &rename);
}

/// Gives every event that something names its new number. The events themselves are where they belong already.
pub(crate) fn renumber(unfolding: &mut Unfolding, rename: &dyn Fn(&mut EventId)) {
    for event in &mut unfolding.events {
        event.parent.iter_mut().chain(&mut event.rmw_partner).chain(&mut event.group).for_each(rename);
        event.address_deps.iter_mut().chain(&mut event.data_deps).chain(&mut event.control_deps).for_each(rename);
        event.completes.iter_mut().for_each(rename);
        if let Some(strand) = &mut event.strand {
            rename(&mut strand.issue);
            strand.after.iter_mut().for_each(rename);
        }
        if let Some(extent) = &mut event.extent {
            rename(&mut extent.operation);
        }
        match &mut event.kind {
            EventKind::Write { value, .. } => rename_expression(value, rename),
            EventKind::Barrier(barrier) => {
                let operands = [&mut barrier.instance, &mut barrier.id, &mut barrier.count].into_iter().flatten();
                let predicate = barrier.reduction.as_mut().map(|(_, predicate)| predicate);
                operands.chain(predicate).for_each(|operand| rename_expression(operand, rename));
                barrier.contributed.iter_mut().for_each(rename);
            }
            EventKind::Omitted(write) => write.decided_by.iter_mut().for_each(rename),
            EventKind::Read { .. } | EventKind::Fence | EventKind::Issue => {}
        }
    }
    unfolding.failing.iter_mut().flat_map(|iteration| &mut iteration.events).for_each(rename);
    unfolding.exits.iter_mut().flat_map(|(_, reads)| reads).for_each(rename);
    for trace in &mut unfolding.traces {
        trace.events.iter_mut().for_each(rename);
        let expressions = trace.constraints.iter_mut().chain(&mut trace.assumptions).chain(&mut trace.registers);
        expressions.for_each(|expression| rename_expression(expression, rename));
        match &mut trace.end {
            TraceEnd::Spin { reads, .. } => reads.iter_mut().for_each(rename),
            TraceEnd::Blocked { barrier } => rename(barrier),
            TraceEnd::Bound { rests_on, .. } | TraceEnd::Wild { rests_on, .. } => rests_on.iter_mut().for_each(rename),
            TraceEnd::Exit | TraceEnd::NotStarted => {}
        }
    }
}

fn rename_expression(expression: &mut Expression, rename: &dyn Fn(&mut EventId)) {
    match expression {
        Expression::Constant(_) => {}
        Expression::Read(event) | Expression::BarrierResult(event) => rename(event),
        Expression::Unary(_, _, operand) => rename_expression(operand, rename),
        Expression::Binary(_, _, left, right) => {
            rename_expression(left, rename);
            rename_expression(right, rename);
        }
        Expression::Select(condition, then, otherwise) => {
            for part in [condition, then, otherwise] {
                rename_expression(part, rename);
            }
        }
    }
}
