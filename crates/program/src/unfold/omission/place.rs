//! Where on the way that was taken a write of the other way would have come.
//!
//! Another thread gets to know of what a thread did by what it does at a flag, at an mbarrier or at a barrier. On the other way
//! the thread may do the same there (a *counterpart*), behind the write and as a release: then who gets to know of it on the way
//! taken would have had to see the write, and it is behind the place. If it does that before the write too, or in a form that
//! releases nothing, one could have got to know of it and have read the old value, and it is before the place. So the place is
//! behind the last of the latter, and just before the first of the former that follows; for the thread itself it is the ways'
//! meeting. What has no counterpart decides nothing. So it is with a write that both make behind the meeting, if something on the way
//! taken has its counterpart behind that: then it is left out there for a while.
//!
//! What is written asynchronously is there when it is complete: behind the wait of its thread for it, or for who learns of
//! it from its mbarrier.

use std::cell::OnceCell;

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, LocationId, ThreadId, TraceId};
use crate::program::Scope;
use crate::tag::Tag;
use crate::unfold::omission::insert::Omission;
use crate::unfold::omission::way::Way;
use crate::unfolding::{Event, EventKind, Readers, Trace, Unfolding};
use crate::value::Value;
use crate::value::expression::{Expression, Leaf};

/// Where a write is left out.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The write where it is made.
    pub(crate) write: EventId,
    pub(crate) after: Option<EventId>,
    pub(crate) through: Option<LocationId>,
    pub(crate) readers: Readers,
}

impl Place {
    pub(crate) fn omission(self, trace: TraceId, reads: Vec<EventId>) -> Option<Omission> {
        let Place { write, after, through, readers } = self;
        Some(Omission { trace, after: after?, through, readers, write, reads })
    }
}

/// Who wrote, and what if that is known.
type Stored = (Option<ThreadId>, Option<Value>);

/// By location, who writes there and what, if that is known.
pub(crate) struct Written(SortedMap<LocationId, SortedSet<Stored>>);

impl Written {
    /// Nothing of it if it is not asked for.
    pub(crate) fn new(unfolding: &Unfolding, is_wanted: bool) -> Written {
        let mut found = SortedMap::<_, SortedSet<_>>::new();
        for event in unfolding.events.iter().filter(|event| is_wanted && event.is_write()) {
            found.entry(event.location()).or_default().insert((event.thread, constant(event)));
        }
        Written(found.into_iter().filter_map(|(location, written)| Some((location?, written))).collect())
    }

    /// Whether all that others write there, and what is there at first, is this.
    fn is_always(&self, location: LocationId, value: Value, own: ThreadId) -> bool {
        let mut written = self.0.get(&location).into_iter().flatten();
        written.all(|(thread, written)| *thread == Some(own) || *written == Some(value))
    }
}

fn constant(event: &Event) -> Option<Value> {
    match event.kind {
        EventKind::Write { value: Expression::Constant(value), .. } => Some(value),
        _ => None,
    }
}

/// A way that was not taken.
pub(crate) struct Other<'a> {
    unfolding: &'a Unfolding,
    way: Way<'a>,
    /// Where in its trace it writes each location, its releasing fences, and its barriers from the branch on.
    writes: SortedMap<LocationId, Vec<usize>>,
    fences: Vec<usize>,
    barriers: Vec<usize>,
    /// Where it waits for what it writes asynchronously, from the branch on.
    awaited: OnceCell<SortedMap<usize, usize>>,
}

impl<'a> Other<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding, way: Way<'a>) -> Other<'a> {
        let (writes, fences, barriers) = (SortedMap::new(), Vec::new(), Vec::new());
        let mut other = Other { unfolding, way, writes, fences, barriers, awaited: OnceCell::new() };
        for (at, id) in way.trace.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            match &event.kind {
                EventKind::Write { location, .. } => other.writes.entry(*location).or_default().push(at),
                EventKind::Fence if is_releasing(event) => other.fences.push(at),
                EventKind::Barrier(_) if at >= way.from => other.barriers.push(at),
                _ => {}
            }
        }
        other
    }

    pub(crate) fn id(&self) -> TraceId {
        self.way.id
    }

    fn event(&self, id: EventId) -> &'a Event {
        &self.unfolding.events[id.index()]
    }

    fn at(&self, at: usize) -> &'a Event {
        self.event(self.way.trace.events[at])
    }

    /// The location that it writes there, if an instruction does and not the end of one.
    fn written_at(&self, at: usize) -> Option<LocationId> {
        let event = self.at(at);
        event.location().filter(|_| event.is_write() && !event.has(Tag::Completion))
    }

    /// Where what it writes there is written: at once, or where the thread waits for it.
    fn there(&self, at: usize) -> Option<usize> {
        if self.at(at).is_main() {
            return Some(at);
        }
        let awaited = self.awaited.get_or_init(|| {
            // The writes of an operation that the same mbarriers tell of are waited for together.
            let mut known = SortedMap::new();
            let writes = (self.way.from..self.way.trace.events.len()).filter_map(|at| {
                let issue = self.at(at).strand.as_ref().filter(|_| self.written_at(at).is_some())?.issue;
                let access = self.way.trace.events[at];
                let key = (issue, signals(self.unfolding, self.way.trace, access));
                let waited = || waited_for(self.unfolding, self.way.trace, access);
                Some((at, (*known.entry(key).or_insert_with(waited))?))
            });
            writes.collect()
        });
        awaited.get(&at).copied()
    }

    /// What a trace on the way taken leaves out of what this one does on its way, or puts off of what both do behind.
    pub(crate) fn left_out_by(&self, taken: &Other<'a>, written: &Written) -> SortedSet<Place> {
        let (own, told) = (&taken.way, Told::new(self, taken));
        let (mut found, mut counts) = (SortedSet::new(), SortedMap::<LocationId, usize>::new());
        for index in self.way.from..self.way.to {
            let Some(location) = self.written_at(index) else { continue };
            let count = *counts.entry(location).and_modify(|count| *count += 1).or_insert(1);
            let made = self.way.trace.events[index];
            let write = Write { location, count, end: self.way.to };
            if let Some((at, place)) = self.there(index).and_then(|at| Some((at, self.own_place(own, location, at)?))) {
                let others =
                    told.place(location, at).map_or_else(|behind| behind.max(place), |told| told.at_least(place));
                let places = [(place, Readers::Own), (others, Readers::Others)];
                found.extend(
                    places.into_iter().filter(|(place, _)| !self.is_made(taken, *place, write, written)).map(
                        |(place, readers)| Place { write: made, after: own.before(place), through: None, readers },
                    ),
                );
            }
            if !self.at(index).is_main() && !self.is_made(taken, own.from, write, written) {
                let (after, readers) = (own.before(own.from), Readers::All);
                let told = signals(self.unfolding, self.way.trace, self.way.trace.events[index]).into_iter();
                found.extend(told.map(|through| Place { write: made, after, through: Some(through), readers }));
            }
        }
        let (end, mut seen) = (self.way.trace.events.len(), SortedSet::new());
        let behind = if told.is_on_way() { self.way.to..end } else { 0..0 };
        for index in behind {
            let is_both = |location: &LocationId| seen.insert(*location) && self.same_behind(own, index).is_some();
            let Some(location) = self.written_at(index).filter(is_both) else { continue };
            let write = Write { location, count: counts.get(&location).map_or(1, |count| count + 1), end };
            let made = self.way.trace.events[index];
            let place = self.there(index).and_then(|at| Some(told.place(location, at).ok()?.last));
            let place = place.filter(|place| !self.is_made(taken, *place, write, written));
            let readers = Readers::Others;
            found.extend(place.map(|place| Place { write: made, after: own.before(place), through: None, readers }));
        }
        found
    }

    /// The place for the thread's own reads: the meeting, or a read that both ways have, or the wait for what is written.
    fn own_place(&self, own: &Way<'_>, location: LocationId, at: usize) -> Option<usize> {
        if at >= self.way.to {
            return self.same_behind(own, at);
        }
        let ways = own.events().iter().zip(self.way.events());
        let both = ways.take_while(|(one, other)| is_same(self.event(**one), self.event(**other))).count();
        let before = both.min(at.saturating_sub(self.way.from));
        let is_read = |event: &Event| event.is_main() && event.is_read() && event.location() == Some(location);
        let is_read_behind = (at..self.way.to).any(|behind| is_read(self.at(behind)));
        let read = own.events()[before..].iter().position(|id| is_read_behind && is_read(self.event(*id)));
        Some(read.map_or(own.to, |read| own.from + before + read))
    }

    /// Whether at that place the way taken has made this write too, or there is what the other leaves there, whoever wrote it.
    fn is_made(&self, taken: &Other<'a>, place: usize, write: Write, written: &Written) -> bool {
        let (own, Write { location, count, end }) = (&taken.way, write);
        let writes = |trace: &Other<'a>, from: usize, to: usize, there: Option<usize>| -> Vec<&'a Event> {
            let writes = trace.writes.get(&location).into_iter().flatten().filter(|at| (from..to).contains(*at));
            let is_there = |at: &&usize| there.is_none_or(|by| trace.there(**at).is_some_and(|at| at < by));
            writes.filter(is_there).map(|at| trace.at(*at)).collect()
        };
        let made = writes(taken, own.from, place, Some(place));
        let others = writes(self, self.way.from, end, None);
        if made.len() >= count {
            return true;
        }
        let Some(value) = others.last().and_then(|last| constant(last)) else { return false };
        let is_value = |event: &&Event| constant(event) == Some(value);
        // Asynchronous ones come in any order.
        let is_last = others.iter().all(|event| event.is_main()) || others.iter().all(is_value);
        let is_left = match made.last() {
            Some(last) => is_value(last),
            None => {
                let is_always = written.is_always(location, value, own.trace.thread);
                is_always && writes(taken, 0, own.from, None).iter().all(is_value)
            }
        };
        is_last && is_left
    }

    /// Behind the same instruction as that, after the meeting.
    fn same_behind(&self, own: &Way<'_>, at: usize) -> Option<usize> {
        let event = self.at(at);
        let is_same = |id: &EventId| {
            let its = self.event(*id);
            its.is_main() == event.is_main()
                && (its.span.start, its.iteration) == (event.span.start, event.iteration)
                && its.location() == event.location()
        };
        own.trace.events[own.to..].iter().position(is_same).map(|behind| own.to + behind + 1)
    }

    /// The widest scope at which an event of this trace releases what is done before it and not before that place; None if it
    /// releases nothing of that.
    fn release(&self, before: usize, its: usize) -> Option<Option<Scope>> {
        let event = self.at(its);
        let start = event.strand.as_ref().map(|strand| strand.issue);
        let start = start.and_then(|issue| self.way.trace.events.iter().position(|id| *id == issue)).unwrap_or(its);
        if start < before || event.has(Tag::Weak) {
            return None;
        }
        let scope = |at: &usize| self.at(*at).scope;
        let fences = self.fences.iter().filter(|fence| (before..start).contains(*fence)).map(scope).max();
        let own = match &event.kind {
            // All that meet there are told.
            EventKind::Barrier(_) if !event.has(Tag::Relaxed) => Some(Some(Scope::Sys)),
            // A release of the location tells by what follows it there, too (8.8).
            EventKind::Write { location, .. } => {
                let is_release = |at: &&usize| (before..=start).contains(*at) && self.at(**at).has(Tag::Release);
                self.writes[location].iter().chain([&its]).filter(is_release).map(scope).max()
            }
            _ => None,
        };
        own.max(fences)
    }
}

/// A write of a way that was not taken: so many to its location were made then, and of what is there at the end the last
/// counts.
#[derive(Copy, Clone)]
struct Write {
    location: LocationId,
    count: usize,
    end: usize,
}

/// Where the place may be: behind what tells nothing of the write, and not behind what tells of it.
struct Between {
    behind: usize,
    last: usize,
}

impl Between {
    /// As early as may be, but not before it is written on the other way: fences between that and what tells are behind it there.
    fn at_least(&self, written: usize) -> usize {
        self.last.min(self.behind.max(written))
    }
}

/// What a trace does from the branch on that tells other threads of what it did before, where that is, and where the other way
/// does the same.
struct Told<'a> {
    own: &'a Way<'a>,
    other: &'a Other<'a>,
    done: Vec<Done>,
}

struct Done {
    at: usize,
    /// Where the other way does it.
    its: Vec<usize>,
    release: Option<Scope>,
}

impl<'a> Told<'a> {
    fn new(other: &'a Other<'a>, taken: &'a Other<'a>) -> Told<'a> {
        let own = &taken.way;
        let (mut done, mut arrivals, mut barriers) = (Vec::new(), SortedMap::<LocationId, usize>::new(), 0);
        for (at, id) in own.trace.events.iter().enumerate().skip(own.from) {
            let event = other.event(*id);
            let its: Vec<usize> = match &event.kind {
                EventKind::Write { location, .. } if event.has(Tag::Mbarrier) => {
                    let is_one = |at: &&usize| **at >= other.way.from && other.at(**at).is_main();
                    let there = other.writes.get(location).into_iter().flatten().filter(is_one);
                    let count = arrivals.entry(*location).or_default();
                    *count += usize::from(event.is_main());
                    there.skip(count.saturating_sub(1)).take(usize::from(event.is_main())).copied().collect()
                }
                EventKind::Write { location, .. } if !event.has(Tag::Weak) => {
                    let there = other.writes.get(location).into_iter().flatten();
                    there.filter(|its| may_equal(event, other.at(**its))).copied().collect()
                }
                EventKind::Barrier(_) => {
                    barriers += 1;
                    other.barriers.get(barriers - 1).into_iter().copied().collect()
                }
                EventKind::Issue if event.has(Tag::Trigger) || event.has(Tag::LaunchDependents) => {
                    let is_its = |id: &EventId| other.event(*id).tags == event.tags;
                    other.way.trace.events.iter().position(is_its).into_iter().collect()
                }
                _ => Vec::new(),
            };
            if let Some(release) = taken.release(own.from, at).filter(|_| !its.is_empty()) {
                done.push(Done { at, its, release });
            }
        }
        Told { own, other, done }
    }

    fn is_on_way(&self) -> bool {
        self.done.first().is_some_and(|done| done.at < self.own.to)
    }

    /// The place, for other threads, of what the other way has written there; an error, the last before it, where nothing tells
    /// of it. See the head of the file.
    fn place(&self, location: LocationId, at: usize) -> Result<Between, usize> {
        let event = |own: usize| self.other.event(self.own.trace.events[own]);
        let tells = |done: &&Done| {
            done.its.iter().all(|its| self.other.release(at + 1, *its).is_some_and(|release| release >= done.release))
        };
        // Its own writes there tell nobody of the other way.
        let done = || self.done.iter().filter(|done| event(done.at).location() != Some(location));
        let behind = done().rfind(|done| !tells(done)).map_or(self.own.from, |done| done.at + 1);
        let first = done().map(|done| done.at).find(|own| *own >= behind).ok_or(behind)?;
        let issue = event(first).strand.as_ref().map(|strand| strand.issue);
        let issue = issue.and_then(|issue| self.own.trace.events.iter().position(|id| *id == issue));
        let from = issue.map_or(first, |issue| issue.max(behind));
        // A fence releases what is before it.
        let is_fence = |id: &EventId| is_releasing(self.other.event(*id));
        let fence = self.own.trace.events[behind..from].iter().rposition(is_fence);
        Ok(Between { behind, last: fence.map_or(from, |fence| behind + fence) })
    }
}

fn is_releasing(event: &Event) -> bool {
    let is_fence = matches!(event.kind, EventKind::Fence) && !event.has(Tag::ProxyFence);
    is_fence && [Tag::Release, Tag::AcqRel, Tag::Sc].into_iter().any(|tag| event.has(tag))
}

fn may_equal(one: &Event, other: &Event) -> bool {
    constant(one).zip(constant(other)).is_none_or(|(one, other)| one == other)
}

/// Whether two ways do the same there.
fn is_same(one: &Event, other: &Event) -> bool {
    let is_kind = std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind);
    let is_form = one.tags == other.tags && one.scope == other.scope && one.is_main() == other.is_main();
    is_kind && is_form && one.location() == other.location() && may_equal(one, other)
}

/// Where in its trace the thread waits for an asynchronous access: for its group, or at the mbarrier that tells of its end.
pub(crate) fn waited_for(unfolding: &Unfolding, trace: &Trace, access: EventId) -> Option<usize> {
    let group = trace.events.iter().position(|id| unfolding.events[id.index()].completes.contains(&access));
    group.or_else(|| {
        let told = signals(unfolding, trace, access).into_iter();
        told.filter_map(|mbarrier| waited_at(unfolding, trace, access, mbarrier)).min()
    })
}

/// The first wait of the thread there that would not be over without the access. That is known of an mbarrier which no other
/// thread uses but to initialise it and to wait.
fn waited_at(unfolding: &Unfolding, trace: &Trace, access: EventId, mbarrier: LocationId) -> Option<usize> {
    let mut state = unfolding.locations[mbarrier.index()].initial;
    let written = unfolding.events.iter().filter(|event| event.is_write() && event.location() == Some(mbarrier));
    for event in written.filter(|event| event.thread.is_some_and(|thread| thread != trace.thread)) {
        state = constant(event).filter(|_| event.has(Tag::MbarrierInit))?;
    }
    let mut known = SortedMap::<EventId, Value>::new();
    for (at, id) in trace.events.iter().enumerate() {
        let event = &unfolding.events[id.index()];
        let value_of = |expression: &Expression, known: &SortedMap<EventId, Value>| {
            expression.evaluate(&mut |leaf| match leaf {
                Leaf::Read(read) => known.get(&read).copied(),
                Leaf::BarrierResult(_) => None,
            })
        };
        match &event.kind {
            EventKind::Read { location, .. } if *location == mbarrier => {
                known.insert(*id, state);
                let asks = |constraint: &&Expression| {
                    let mut leaves = Vec::new();
                    constraint.leaves(&mut leaves);
                    leaves.contains(&Leaf::Read(*id))
                };
                let mut asked = trace.constraints.iter().filter(asks);
                let is_open = asked.any(|constraint| value_of(constraint, &known) == Some(Value(0)));
                if event.has(Tag::MbarrierWait) && is_open {
                    return trace.events[..at].contains(&access).then_some(at);
                }
            }
            EventKind::Write { location, value, .. } if *location == mbarrier => {
                let is_its = event.strand.as_ref().is_some_and(|strand| strand.after.contains(&access));
                state = if is_its { state } else { value_of(value, &known)? };
            }
            _ => {}
        }
    }
    None
}

/// The mbarriers that tell of its end.
pub(crate) fn signals(unfolding: &Unfolding, trace: &Trace, access: EventId) -> SortedSet<LocationId> {
    let events = trace.events.iter().map(|id| &unfolding.events[id.index()]);
    let tells = |event: &&Event| event.strand.as_ref().is_some_and(|strand| strand.after.contains(&access));
    let ends = events.filter(|event| event.has(Tag::Completion) && event.is_write());
    ends.filter(tells).filter_map(Event::location).collect()
}
