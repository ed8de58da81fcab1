//! Which barrier operations meet: Dartagnan's instances and PTX's generations.
//!
//! Both rules are run as what they are, arrivals that complete barriers in some order: crossed barriers (`bar 0; bar 1`
//! beside `bar 1; bar 0`) then block, where a rule that only looks at which barriers are reached would let them justify
//! each other.

mod cluster;
mod dartagnan;
mod ptx;

pub(crate) use ptx::participants;

use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{EventId, TraceId};
use crate::program::{BarrierKind, BarrierRule, ReductionOperation};
use crate::unfolding::{BarrierEvent, BarrierMatching, EventKind, GenerationOrder, TraceEnd, Unfolding};
use crate::value::Value;
use crate::value::expression::Expression;

/// What an expression comes to in the execution at hand.
pub type Evaluate<'a> = &'a mut dyn FnMut(&Expression) -> Option<Value>;

/// Asked before each step of a search, with the bytes it holds: whether it may go on.
pub type GoOn<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Every way the barrier operations of some traces (one per thread) can meet such that each trace that runs past a waiting
/// barrier had it completed, each `TraceEnd::Blocked` trace waits for good, and the completions can happen in some order
/// (crossed barriers cannot). None if there is no way. There may be more of them than anybody can wait for or hold, so
/// they are found one at a time.
pub struct Matchings<'u>(Search<'u>);

enum Search<'u> {
    /// Nothing meets.
    Without(Option<BarrierMatching>),
    Dartagnan(dartagnan::Matchings<'u>),
    Ptx(ptx::Matchings<'u>),
}

impl<'u> Matchings<'u> {
    /// `value` gives operands; all are known.
    pub fn new(
        unfolding: &'u Unfolding,
        traces: &[TraceId],
        order: GenerationOrder,
        value: Evaluate<'_>,
    ) -> Matchings<'u> {
        let is_barrier = |event: &EventId| matches!(unfolding.events[event.index()].kind, EventKind::Barrier(_));
        if traces.iter().all(|trace| !unfolding.traces[trace.index()].events.iter().any(is_barrier)) {
            return Matchings(Search::Without(Some(BarrierMatching::default())));
        }
        Matchings(match unfolding.barrier_rule {
            BarrierRule::Dartagnan => Search::Dartagnan(dartagnan::Matchings::new(unfolding, traces, value)),
            BarrierRule::Ptx => Search::Ptx(ptx::Matchings::new(unfolding, traces, order, value)),
        })
    }

    /// The next one. None after the last, and as soon as `go_on` says no: whoever said so knows.
    pub fn next_while(&mut self, go_on: GoOn<'_>) -> Option<BarrierMatching> {
        match &mut self.0 {
            Search::Without(matching) => matching.take(),
            Search::Dartagnan(matchings) => matchings.next_while(go_on),
            Search::Ptx(matchings) => matchings.next_while(go_on),
        }
    }

    /// Whether this is one of them: the search leaves out all that cannot lead to it.
    pub fn has(mut self, matching: &BarrierMatching, go_on: GoOn<'_>) -> bool {
        match &mut self.0 {
            Search::Without(_) => {}
            Search::Dartagnan(matchings) => matchings.lead_to(matching),
            Search::Ptx(matchings) => matchings.lead_to(matching),
        }
        while let Some(found) = self.next_while(go_on) {
            if found == *matching {
                return true;
            }
        }
        false
    }
}

impl Iterator for Matchings<'_> {
    type Item = BarrierMatching;

    fn next(&mut self) -> Option<BarrierMatching> {
        self.next_while(&mut |_| true)
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
    group.shared_sort();
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
    matching.groups.shared_sort();
    matching.synchronises.shared_sort();
    matching.exits.shared_sort();
    matching.exits.dedup();
    matching.generations.shared_sort();
    matching
}

/// About the bytes that a list of pairs and groups takes.
fn bytes(matching: &BarrierMatching) -> u64 {
    let pairs = matching.synchronises.len() + matching.exits.len() + matching.generations.len();
    let members: usize = matching.groups.iter().map(|group| group.len() + 6).sum();
    (size_of::<BarrierMatching>() + pairs * size_of::<(EventId, EventId)>() + members * size_of::<EventId>()) as u64
}
