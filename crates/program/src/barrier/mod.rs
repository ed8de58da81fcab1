//! Which barrier operations meet: Dartagnan's instances and PTX's generations.
//!
//! Both rules are run as what they are, arrivals that complete barriers in some order: crossed barriers (`bar 0; bar 1`
//! beside `bar 1; bar 0`) then block, where a rule that only looks at which barriers are reached would let them justify
//! each other.

mod cluster;
mod dartagnan;
mod ptx;

pub(crate) use ptx::participants;

use crate::expression::Expression;
use crate::ids::{EventId, TraceId};
use crate::program::{BarrierKind, BarrierRule, ReductionOperation};
use crate::unfolding::{BarrierEvent, BarrierMatching, EventKind, GenerationOrder, TraceEnd, Unfolding};
use crate::value::Value;

/// What an expression comes to in the execution at hand.
pub type Evaluate<'a> = &'a mut dyn FnMut(&Expression) -> Option<Value>;

/// Every way the barrier operations of these traces (one per thread) can meet such that each trace that runs past a
/// waiting barrier had it completed, each `TraceEnd::Blocked` trace waits for good, and the completions can happen in
/// some order (crossed barriers cannot). Empty if there is none. `value` gives operands; all are known.
pub fn matchings(
    unfolding: &Unfolding,
    traces: &[TraceId],
    order: GenerationOrder,
    value: Evaluate<'_>,
) -> Vec<BarrierMatching> {
    let is_barrier = |event: &EventId| matches!(unfolding.events[event.index()].kind, EventKind::Barrier(_));
    let without = traces.iter().all(|trace| !unfolding.traces[trace.index()].events.iter().any(is_barrier));
    if without {
        return vec![BarrierMatching::default()];
    }
    match unfolding.barrier_rule {
        BarrierRule::Dartagnan => dartagnan::matchings(unfolding, traces, value),
        BarrierRule::Ptx => ptx::matchings(unfolding, traces, order, value),
    }
}

/// What `bar.red` returns to a thread: a function of what the threads of its group contributed. None if the event has no
/// reduction, met no one, or a contribution is unknown.
pub fn reduction(
    unfolding: &Unfolding,
    matching: &BarrierMatching,
    event: EventId,
    value: Evaluate<'_>,
) -> Option<Value> {
    let (operation, _) = barrier(unfolding, event)?.reduction.as_ref()?;
    let group = matching.groups.iter().find(|group| group.contains(&event))?;
    let mut count = 0;
    let mut contributions = 0;
    for member in group {
        if let Some((_, predicate)) = barrier(unfolding, *member)?.reduction.as_ref() {
            contributions += 1;
            count += i128::from(value(predicate)? != Value(0));
        }
    }
    Some(operation.combine(contributions, count))
}

impl ReductionOperation {
    /// The result of so many contributions, so many of them true (PTX ISA 9.7.15.1).
    pub fn combine(self, contributions: i128, truths: i128) -> Value {
        Value(match self {
            ReductionOperation::PopCount => truths,
            ReductionOperation::And => i128::from(truths == contributions),
            ReductionOperation::Or => i128::from(truths > 0),
        })
    }
}

fn barrier(unfolding: &Unfolding, event: EventId) -> Option<&BarrierEvent> {
    match &unfolding.events[event.index()].kind {
        EventKind::Barrier(barrier) => Some(barrier),
        _ => None,
    }
}

/// The barrier operations of a trace, in program order.
fn operations(unfolding: &Unfolding, trace: TraceId) -> impl Iterator<Item = (EventId, &BarrierEvent)> {
    let events = unfolding.traces[trace.index()].events.iter();
    events.filter_map(|&event| Some((event, barrier(unfolding, event)?)))
}

/// Whether the trace ends waiting at this event.
fn blocks_at(unfolding: &Unfolding, trace: TraceId, event: EventId) -> bool {
    unfolding.traces[trace.index()].end == TraceEnd::Blocked { barrier: event }
}

/// A completed group: its members synchronise with everyone of `released` that waited (PTX ISA 8.9.4).
fn complete(unfolding: &Unfolding, matching: &mut BarrierMatching, mut group: Vec<EventId>, released: &[EventId]) {
    group.sort();
    for &from in &group {
        for &to in released {
            let waits = barrier(unfolding, to).is_some_and(|barrier| barrier.kind != BarrierKind::Arrive);
            if from != to && waits {
                matching.synchronises.push((from, to));
            }
        }
    }
    matching.groups.push(group);
}

/// One order for equal matchings.
fn normalise(mut matching: BarrierMatching) -> BarrierMatching {
    matching.groups.sort();
    matching.synchronises.sort();
    matching.exits.sort();
    matching.exits.dedup();
    matching.generations.sort();
    matching
}
