//! An order in which to tell an execution that no interleaving explains, and what does not fit it: that is where the
//! execution is weak.
//!
//! What the model calls happened before ([`Happened`]) is told first, and a read that misses a write before it is told as a
//! stale read: so it is where a proxy, not time, keeps the write from the read. Communication (reads-from, coherence,
//! from-read, fences, barriers) is told in order as far as it has one. Only plain accesses are told out of program order
//! for it; an issue, an arrival, a barrier or a wait stays where it stands.

pub(crate) mod happened;
pub(crate) mod interleave;

use fencepost_axiom::base::narrowest_common;
use fencepost_axiom::execution::Execution;
use fencepost_program::access::{awaited_by, launched_after};
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::explain::Context;
use crate::explain::order::happened::Happened;
use crate::explain::vocabulary::Family;

/// Whether Fence-SC order is part of what must come first.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fences {
    Ordered,
    Free,
}

pub(crate) struct Moment {
    pub(crate) event: EventId,
    /// Events earlier in its program that are told later.
    pub(crate) ahead_of: Vec<EventId>,
    pub(crate) odd: Option<Odd>,
}

/// What does not fit the order of the telling, program order left aside.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Odd {
    /// A read returns another write than this, the latest that was told.
    Older(EventId),
    /// A read returns a write that is told later.
    Early(EventId),
    /// A write is told after this one, which follows it in coherence order.
    Late(EventId),
    /// The write half of a read-modify-write is told after this, which came between the halves.
    Split(EventId),
}

/// The events in this order, with what does not fit it.
pub(crate) fn told(context: &Context<'_>, execution: &Execution, order: &[EventId]) -> Vec<Moment> {
    let position: SortedMap<EventId, usize> = order.iter().enumerate().map(|(at, event)| (*event, at)).collect();
    let threads = threads(context, execution);
    let mut memory: SortedMap<LocationId, EventId> = SortedMap::new();
    let mut moments = Vec::new();
    for (at, &event) in order.iter().enumerate() {
        let later = |other: &EventId| position.get(other).is_some_and(|other| *other > at);
        let own = lane(context, event).and_then(|lane| threads.get(&lane));
        // The parts of an asynchronous operation are in no program order.
        let own = own.filter(|_| context.issue(event).is_none());
        let ahead_of = own.into_iter().flatten().copied().filter(|other| *other < event && later(other)).collect();
        let odd = if context.is_read(event) {
            let source = execution.rf.iter().find(|(_, to)| *to == event).map(|(from, _)| *from);
            let latest = context.location_of(event).and_then(|location| memory.get(&location).copied());
            match (source, latest) {
                (Some(source), _) if later(&source) => Some(Odd::Early(source)),
                (source, Some(latest)) if source != Some(latest) => Some(Odd::Older(latest)),
                _ => None,
            }
        } else {
            let late =
                execution.co.iter().find(|(from, to)| *from == event && position.get(to).is_some_and(|to| *to < at));
            let partner = context.event(event).and_then(|event| event.rmw_partner);
            let before = at.checked_sub(1).and_then(|before| order.get(before)).copied();
            match (late, partner, before) {
                (Some((_, later)), ..) => Some(Odd::Late(*later)),
                (None, Some(partner), Some(before)) if before != partner => Some(Odd::Split(before)),
                _ => None,
            }
        };
        if let Some(location) = context.location_of(event).filter(|_| context.is_write(event)) {
            memory.insert(location, event);
        }
        moments.push(Moment { event, ahead_of, odd });
    }
    moments
}

/// The read's write is overwritten by these, directly or not.
pub(crate) fn overwriting(execution: &Execution, read: EventId) -> Vec<EventId> {
    let source = execution.rf.iter().find(|(_, to)| *to == read).map(|(from, _)| *from);
    let later = execution.co.iter().filter(|(from, _)| Some(*from) == source).map(|(_, to)| *to);
    later.collect()
}

/// What it costs to tell an event although another, which should come first, is not told yet. Prices of program order
/// are those of [`unlikely`].
struct Prices {
    /// The model's order.
    must: u32,
    /// Reads-from and coherence.
    communication: u32,
    /// Its write is told before a read that misses it.
    stale: u32,
}

impl Prices {
    /// In PTX a read that misses a write is told as what it is, rather than past fences and acquires. x86 and C have no such
    /// reads: what is early there is the read.
    fn of(context: &Context<'_>) -> Prices {
        match context.family() {
            Family::Ptx => Prices { must: 1000, communication: 50, stale: 4 },
            Family::X86 | Family::C | Family::Compound => Prices { must: 1000, communication: 1000, stale: 1000 },
        }
    }
}

/// An order in which communication is told in order as far as it has one.
pub(crate) fn by_communication(context: &Context<'_>, execution: &Execution, happened: &Happened) -> Vec<EventId> {
    let threads = threads(context, execution);
    let before = communication(context, execution, &threads, Fences::Ordered, happened).not_against(happened);
    let prices = Prices::of(context);
    let mut done: SortedSet<EventId> =
        execution.events.iter().copied().filter(|event| context.is_init(*event)).collect();
    let mut told: Vec<EventId> = Vec::new();
    let total: usize = threads.values().map(Vec::len).sum();
    let mut last_lane = None;
    while told.len() < total {
        let pending = |event: EventId| -> Vec<EventId> {
            let own = lane(context, event);
            let thread = own.and_then(|lane| threads.get(&lane)).map_or(&[][..], Vec::as_slice);
            thread.iter().copied().filter(|other| *other < event && !done.contains(other)).collect()
        };
        let open = threads.values().flatten().copied().filter(|event| !done.contains(event));
        let best = open.min_by_key(|event| {
            let ahead = pending(*event);
            let early: u32 = ahead.iter().map(|other| unlikely(context, *other, *event)).sum();
            let missing = |needs: &Needs| needs.get(event).map_or(0, |needed| needed.difference(&done).count() as u32);
            let must = missing(&before.must) * prices.must;
            let communication = missing(&before.communication) * prices.communication;
            let stale = missing(&before.from_read) * prices.stale;
            let moved = lane(context, *event) != last_lane;
            (must + communication + stale + early, ahead.len(), moved, *event)
        });
        let Some(event) = best else { break };
        told.push(event);
        done.insert(event);
        last_lane = lane(context, event);
    }
    told
}

/// What happens in an order of its own: a thread's main events, and beside them each asynchronous operation, named by its
/// issue.
pub(crate) type Lane = (fencepost_program::ThreadId, Option<EventId>);

pub(crate) type Threads = SortedMap<Lane, Vec<EventId>>;

/// None of init writes, and of writes that are not made: nothing happens there.
pub(crate) fn lane(context: &Context<'_>, id: EventId) -> Option<Lane> {
    let event = context.event(id).filter(|event| event.omitted().is_none())?;
    Some((event.thread?, context.issue(id)))
}

pub(crate) fn threads(context: &Context<'_>, execution: &Execution) -> Threads {
    let mut threads = Threads::new();
    for event in &execution.events {
        if let Some(lane) = lane(context, *event) {
            threads.entry(lane).or_default().push(*event);
        }
    }
    threads
}

/// What should come before each event.
pub(crate) type Needs = SortedMap<EventId, SortedSet<EventId>>;

/// What should come before each event, program order left aside.
#[derive(Default)]
pub(crate) struct Before {
    /// An operation behind its issue, a kernel behind its launch, what the model orders.
    pub(crate) must: Needs,
    /// The write before the read that returns it and before the write that overwrites it.
    pub(crate) communication: Needs,
    /// A read before the writes that it does not see.
    pub(crate) from_read: Needs,
}

impl Before {
    /// All together.
    pub(crate) fn all(self) -> Needs {
        let mut all = self.must;
        for (event, needed) in self.communication.into_iter().chain(self.from_read) {
            all.entry(event).or_default().extend(needed);
        }
        all
    }

    /// Less what the model orders the other way round.
    fn not_against(mut self, happened: &Happened) -> Before {
        for needs in [&mut self.must, &mut self.communication, &mut self.from_read] {
            for (event, needed) in needs.iter_mut() {
                needed.retain(|other| !happened.before(*event, *other));
            }
        }
        self
    }
}

fn add(needs: &mut Needs, from: EventId, to: EventId) {
    if from != to {
        needs.entry(to).or_default().insert(from);
    }
}

pub(crate) fn communication(
    context: &Context<'_>,
    execution: &Execution,
    threads: &Threads,
    fences: Fences,
    happened: &Happened,
) -> Before {
    let mut before = Before::default();
    let must = &mut before.must;
    let fences = Some(&execution.sync_fence).filter(|_| fences == Fences::Ordered);
    fences.into_iter().flatten().for_each(|(from, to)| add(must, *from, *to));
    // What follows a barrier waits for those it met.
    for (from, to) in &execution.barriers.synchronises {
        let thread = lane(context, *to).and_then(|lane| threads.get(&lane));
        thread.into_iter().flatten().filter(|event| *event > to).for_each(|event| add(must, *from, *event));
    }
    // An operation follows its issue, and a wait what it waits for.
    for id in &execution.events {
        let Some(event) = context.event(*id) else { continue };
        for earlier in event.strand.iter().flat_map(|strand| strand.after.iter().chain([&strand.issue])) {
            add(must, *earlier, *id);
        }
        event.completes.iter().filter(|done| execution.events.contains(done)).for_each(|done| add(must, *done, *id));
    }
    // A kernel follows its launch and those it starts after, and a wait for a kernel follows its end.
    if context.unfolding.threads.iter().any(|thread| thread.kernel.is_some()) {
        for to in &execution.events {
            let earlier = execution.events.iter().filter(|from| {
                launched_after(context.unfolding, **from, *to) || awaited_by(context.unfolding, **from, *to)
            });
            earlier.for_each(|from| add(must, *from, *to));
        }
    }
    // What the model orders, between what has no order of its own.
    for to in &execution.events {
        let is_made = |from: &EventId| context.event(*from).is_some_and(|event| event.omitted().is_none());
        let others = |from: &EventId| lane(context, *from) != lane(context, *to);
        let earlier = happened.all_before(*to).filter(is_made).filter(others);
        earlier.for_each(|from| add(must, from, *to));
    }
    let told = execution.rf.iter().chain(&execution.co);
    told.for_each(|(from, to)| add(&mut before.communication, *from, *to));
    for (_, read) in &execution.rf {
        let own = context.event(*read).and_then(|event| event.rmw_partner);
        let missed = overwriting(execution, *read).into_iter().filter(|write| Some(*write) != own);
        missed.for_each(|write| add(&mut before.from_read, *read, write));
    }
    before
}

/// How odd it would be to tell that `event` happens before `other`, which is earlier in program order: past fences,
/// acquires and the like only if there is no other way.
fn unlikely(context: &Context<'_>, other: EventId, event: EventId) -> u32 {
    let (Some(first), Some(second)) = (context.event(other), context.event(event)) else { return 0 };
    if first.rmw_partner == Some(event) {
        return 20;
    }
    // x86 puts a store off past a later load, and nothing else.
    if context.is_x86(event) {
        let buffered = matches!(first.kind, EventKind::Write { .. }) && matches!(second.kind, EventKind::Read { .. });
        return if buffered { 1 } else { 10 };
    }
    if is_fixed(context, other) || is_fixed(context, event) {
        return 100;
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

/// Whether it happens where it stands in its thread: no weak memory moves an issue, an arrival, a barrier or a wait.
fn is_fixed(context: &Context<'_>, id: EventId) -> bool {
    let Some(event) = context.event(id) else { return false };
    let tags = [Tag::Trigger, Tag::LaunchDependents, Tag::GridWait, Tag::Exit, Tag::ProxyFence];
    matches!(event.kind, EventKind::Issue | EventKind::Barrier(_))
        || event.call.is_some()
        || !event.completes.is_empty()
        || tags.into_iter().any(|tag| event.tags.has(tag))
        || context.is_mbarrier(id)
}

fn reaches_all(context: &Context<'_>, event: &Event) -> bool {
    let threads = &context.unfolding.threads;
    let Some(own) = event.thread.and_then(|thread| threads.get(thread.index())) else { return true };
    threads.iter().all(|other| {
        let needed = if other.name == own.name { Scope::Cta } else { narrowest_common(own.place, other.place) };
        event.scope.is_some_and(|scope| scope >= needed)
    })
}
