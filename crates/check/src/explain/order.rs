//! An order in which to tell an execution. Where one interleaving explains every value, it is that one. Where none does,
//! communication (reads-from, coherence, from-read, fences, barriers) is told in order and an event that had to happen
//! before something earlier in its program is marked: that is where the execution is weak.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_axiom::base::narrowest_common;
use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};

use super::Context;
use super::words::Family;

pub(super) struct Moment {
    pub(super) event: EventId,
    /// Events earlier in its program that are told later.
    pub(super) ahead_of: Vec<EventId>,
    /// It communicates in a circle with events told later: no order at all explains it.
    pub(super) circular: bool,
}

/// The read's write is overwritten by these, directly or not.
pub(super) fn overwriting(execution: &Execution, read: EventId) -> Vec<EventId> {
    let source = execution.rf.iter().find(|(_, to)| *to == read).map(|(from, _)| *from);
    let later = execution.co.iter().filter(|(from, _)| Some(*from) == source).map(|(_, to)| *to);
    later.collect()
}

pub(super) fn moments(context: &Context<'_>, execution: &Execution) -> Vec<Moment> {
    let threads = threads(context, execution);
    let before = communication(context, execution, &threads);
    let mut done: BTreeSet<EventId> =
        execution.events.iter().copied().filter(|event| context.is_init(*event)).collect();
    let mut told: Vec<Moment> = Vec::new();
    let total: usize = threads.values().map(Vec::len).sum();
    let mut last_thread = None;
    while told.len() < total {
        let pending = |event: EventId| -> Vec<EventId> {
            let own = context.event(event).and_then(|event| event.thread);
            let thread = own.and_then(|thread| threads.get(&thread)).map_or(&[][..], Vec::as_slice);
            thread.iter().copied().filter(|other| *other < event && !done.contains(other)).collect()
        };
        let satisfied =
            |event: EventId| before.get(&event).is_none_or(|needed| needed.iter().all(|other| done.contains(other)));
        let open = threads.values().flatten().copied().filter(|event| !done.contains(event));
        let best = open.min_by_key(|event| {
            let ahead = pending(*event);
            let cost: u32 = ahead.iter().map(|other| unlikely(context, *other, *event)).sum();
            let moved = context.event(*event).and_then(|event| event.thread) != last_thread;
            (!satisfied(*event), cost, ahead.len(), moved, *event)
        });
        let Some(event) = best else { break };
        told.push(Moment { event, ahead_of: pending(event), circular: !satisfied(event) });
        done.insert(event);
        last_thread = context.event(event).and_then(|event| event.thread);
    }
    told
}

type Threads = BTreeMap<fencepost_program::ThreadId, Vec<EventId>>;

fn threads(context: &Context<'_>, execution: &Execution) -> Threads {
    let mut threads = Threads::new();
    for event in &execution.events {
        if let Some(thread) = context.event(*event).and_then(|event| event.thread) {
            threads.entry(thread).or_default().push(*event);
        }
    }
    threads
}

/// What must have happened before each event, program order left aside.
fn communication(
    context: &Context<'_>,
    execution: &Execution,
    threads: &Threads,
) -> BTreeMap<EventId, BTreeSet<EventId>> {
    let mut before: BTreeMap<EventId, BTreeSet<EventId>> = BTreeMap::new();
    let mut add = |from: EventId, to: EventId| {
        if from != to {
            before.entry(to).or_default().insert(from);
        }
    };
    let orders = [&execution.rf, &execution.co, &execution.sync_fence];
    orders.into_iter().flatten().for_each(|(from, to)| add(*from, *to));
    for (_, read) in &execution.rf {
        let own = context.event(*read).and_then(|event| event.rmw_partner);
        overwriting(execution, *read)
            .into_iter()
            .filter(|write| Some(*write) != own)
            .for_each(|write| add(*read, write));
    }
    // What follows a barrier waits for those it met.
    for (from, to) in &execution.barriers.synchronises {
        let thread = context.event(*to).and_then(|event| event.thread).and_then(|thread| threads.get(&thread));
        thread.into_iter().flatten().filter(|event| *event > to).for_each(|event| add(*from, *event));
    }
    before
}

/// How odd it would be to tell that `event` happens before `other`, which is earlier in program order: past fences,
/// acquires and the like only if there is no other way.
fn unlikely(context: &Context<'_>, other: EventId, event: EventId) -> u32 {
    let (Some(first), Some(second)) = (context.event(other), context.event(event)) else { return 0 };
    if context.family() == Family::Other {
        let buffered = matches!(first.kind, EventKind::Write { .. }) && matches!(second.kind, EventKind::Read { .. });
        return if buffered { 1 } else { 10 };
    }
    let fenced = matches!(first.kind, EventKind::Fence | EventKind::Barrier(_))
        || matches!(second.kind, EventKind::Fence | EventKind::Barrier(_));
    let orders = |event: &Event, tag: Tag| match event.tags.has(tag) {
        // A scope that leaves a thread out is where such an execution is weak.
        true if reaches_all(context, event) => 10,
        true => 5,
        false => 1,
    };
    if fenced { 10 } else { orders(first, Tag::Acquire).max(orders(second, Tag::Release)) }
}

fn reaches_all(context: &Context<'_>, event: &Event) -> bool {
    let threads = &context.unfolding.threads;
    let Some(own) = event.thread.and_then(|thread| threads.get(thread.index())) else { return true };
    threads.iter().all(|other| {
        let needed = if other.name == own.name { Scope::Cta } else { narrowest_common(own.place, other.place) };
        event.scope.is_some_and(|scope| scope >= needed)
    })
}
