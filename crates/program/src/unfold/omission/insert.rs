//! Puts the writes that traces leave out among their events.
//!
//! Numbers of events ascend along a trace, so all are numbered anew. A write that nobody could miss is left out for good.

use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, LocationId, ThreadId, TraceId};
use crate::reduce::compact;
use crate::tag::{Tag, Tags};
use crate::unfolding::{Event, EventKind, OmittedWrite, Readers, Unfolding};

/// A write that a trace leaves out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Omission {
    pub(crate) trace: TraceId,
    /// The last event of the trace before its place.
    pub(crate) after: EventId,
    pub(crate) through: Option<LocationId>,
    pub(crate) readers: Readers,
    /// The write in a trace that makes it.
    pub(crate) write: EventId,
    /// The reads that decide that it is not made.
    pub(crate) reads: Vec<EventId>,
}

/// What a write is beside what the instruction says of it, and what it does not do if it is not made.
const NOT_KEPT: [Tag; 6] = [Tag::Write, Tag::Completion, Tag::Stray, Tag::Opaque, Tag::InFlight, Tag::Unfenced];

pub(crate) fn insert(unfolding: &mut Unfolding, mut omissions: Vec<Omission>) {
    let read = readers(unfolding);
    omissions.retain(|omission| is_missed(unfolding, &read, omission));
    omissions.shared_sort();
    omissions.dedup();
    if omissions.is_empty() {
        return;
    }
    let mut behind = SortedMap::<EventId, Vec<(TraceId, Event)>>::new();
    for omission in &omissions {
        behind.entry(omission.after).or_default().push((omission.trace, event(unfolding, omission)));
    }
    let (mut events, mut renamed) = (Vec::new(), Vec::new());
    let mut inserted = SortedMap::<(TraceId, EventId), Vec<EventId>>::new();
    for (index, own) in std::mem::take(&mut unfolding.events).into_iter().enumerate() {
        renamed.push(EventId::new(events.len()));
        events.push(own);
        let after = EventId::new(index);
        for (trace, omitted) in behind.remove(&after).unwrap_or_default() {
            inserted.entry((trace, after)).or_default().push(EventId::new(events.len()));
            events.push(omitted);
        }
    }
    unfolding.events = events;
    compact::renumber(unfolding, &|event| *event = renamed[event.index()]);
    for ((trace, after), omitted) in inserted {
        let events = &mut unfolding.traces[trace.index()].events;
        let after = renamed[after.index()];
        let at = events.iter().position(|event| *event == after).map_or(events.len(), |at| at + 1);
        events.splice(at..at, omitted);
    }
}

/// By location, who reads it.
fn readers(unfolding: &Unfolding) -> SortedMap<LocationId, SortedSet<Option<ThreadId>>> {
    let mut found = SortedMap::<_, SortedSet<_>>::new();
    for event in unfolding.events.iter().filter(|event| event.is_read()) {
        if let Some(location) = event.location() {
            found.entry(location).or_default().insert(event.thread);
        }
    }
    found
}

/// Whether some read could miss it. Columns of tensor memory are given and returned, not written, by main events.
fn is_missed(
    unfolding: &Unfolding,
    read: &SortedMap<LocationId, SortedSet<Option<ThreadId>>>,
    omission: &Omission,
) -> bool {
    let thread = unfolding.traces[omission.trace.index()].thread;
    let write = &unfolding.events[omission.write.index()];
    let is_life = write.has(Tag::TensorMemory) && write.is_main();
    let mut readers = write.location().and_then(|location| read.get(&location)).into_iter().flatten();
    !is_life && readers.any(|reader| omission.readers.have(thread, *reader))
}

fn event(unfolding: &Unfolding, omission: &Omission) -> Event {
    let write = &unfolding.events[omission.write.index()];
    let kept = Tag::ALL.iter().copied().filter(|tag| write.has(*tag) && !NOT_KEPT.contains(tag));
    let is_main = |event: &EventId| unfolding.events[event.index()].is_main();
    let back = std::iter::successors(Some(omission.after), |id| unfolding.events[id.index()].parent);
    let (location, generic) = (write.location().unwrap_or_default(), write.generic().unwrap_or_default());
    Event {
        thread: write.thread,
        kind: EventKind::Omitted(OmittedWrite {
            generic,
            location,
            decided_by: omission.reads.clone(),
            through: omission.through,
            readers: omission.readers,
        }),
        tags: Tags::from_iter(kept.chain([Tag::Omitted])),
        scope: write.scope,
        parent: back.into_iter().find(is_main),
        span: write.span,
        iteration: write.iteration,
        extent: write.extent,
        ..Event::default()
    }
}
