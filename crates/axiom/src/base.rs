//! The static part of a candidate: which events occur for one choice of traces, and the base sets and relations they
//! fix. See `model::ir` for the definitions; the scope rule is PTX ISA 8.5.

mod strands;

use fencepost_program::program::{Place, Scope};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{Event, EventKind, Unfolding};
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::few::Few;

use crate::bits::{Shape, kernel};
use crate::model::{BaseRelation, BaseSet};

/// The events of one choice of traces, numbered 0..n in ascending order: all init writes first, then thread by thread.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub traces: Vec<TraceId>,
    pub events: Vec<EventId>,
    /// Local number of each event of the unfolding, `u32::MAX` for those that do not occur.
    local: Vec<u32>,
    /// `bounds[t]..bounds[t + 1]` are the events of thread t; `0..bounds[0]` the init writes.
    bounds: Vec<usize>,
    /// All tags of the events: most sets of a large model have nothing in a small test.
    tags: Tags,
    pub shape: Shape,
}

impl Candidate {
    /// Replaces the choice of traces (one per thread, in thread order).
    pub fn choose(&mut self, unfolding: &Unfolding, traces: &[TraceId]) {
        self.traces.clear();
        self.traces.extend_from_slice(traces);
        self.events.clear();
        self.events.extend(unfolding.inits());
        self.bounds.clear();
        self.bounds.push(self.events.len());
        for trace in traces {
            self.events.extend_from_slice(&unfolding.traces[trace.index()].events);
            self.bounds.push(self.events.len());
        }
        self.local.clear();
        self.local.resize(unfolding.events.len(), u32::MAX);
        for (index, event) in self.events.iter().enumerate() {
            self.local[event.index()] = index as u32;
        }
        let tags = self.events.iter().map(|event| tags_of(&unfolding.events[event.index()]).0);
        self.tags = Tags(tags.fold(0, |all, tags| all | tags));
        self.shape = Shape::new(self.events.len());
    }

    /// The local number of an event, if it occurs.
    pub fn local(&self, event: EventId) -> Option<usize> {
        let index = *self.local.get(event.index())?;
        (index != u32::MAX).then_some(index as usize)
    }

    pub fn thread_events(&self, thread: usize) -> std::ops::Range<usize> {
        self.bounds[thread]..self.bounds[thread + 1]
    }

    /// The thread of a local event; None for init writes.
    pub fn thread_of(&self, event: usize) -> Option<usize> {
        let after = self.bounds.partition_point(|&bound| bound <= event);
        after.checked_sub(1)
    }

    pub fn threads(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    pub fn inits(&self) -> usize {
        self.bounds.first().copied().unwrap_or(0)
    }

    /// Computes a set that the traces fix. `FinalWrites` is not one and gives the empty set.
    pub fn fill_set(&self, unfolding: &Unfolding, which: BaseSet, out: &mut [u64]) {
        out.fill(0);
        if let BaseSet::Tagged(tag) = which
            && !self.tags.has(tag)
        {
            return;
        }
        if which == BaseSet::Deciding {
            let reads = self.traces.iter().flat_map(|trace| unfolding.deciding_reads(*trace));
            reads.filter_map(|read| self.local(*read)).for_each(|read| kernel::insert(out, read));
            return;
        }
        for (index, id) in self.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            let member = match which {
                BaseSet::Universe => true,
                BaseSet::Memory => location_of(event).is_some(),
                BaseSet::FinalWrites | BaseSet::Deciding => false,
                BaseSet::Tagged(tag) => has_tag(event, tag),
            };
            if member {
                kernel::insert(out, index);
            }
        }
    }

    /// Computes a relation that the traces fix; the relations an engine chooses give the empty one.
    pub fn fill_relation(&self, unfolding: &Unfolding, which: BaseRelation, out: &mut [u64]) {
        out.fill(0);
        match which {
            BaseRelation::Id => kernel::add_identity(self.shape, out),
            BaseRelation::Po => self.fill_po(unfolding, out),
            BaseRelation::Int => self.fill_int(out),
            BaseRelation::Ext => self.fill_ext(out),
            BaseRelation::Loc => self.fill_equal(unfolding, out, |_, event| event.target()),
            BaseRelation::Vloc => self.fill_equal(unfolding, out, |_, event| event.generic()),
            BaseRelation::Rmw | BaseRelation::Amo => self.fill_rmw(unfolding, out),
            BaseRelation::Addr => self.fill_dependency(unfolding, out, |event| &event.address_deps),
            BaseRelation::Data => self.fill_dependency(unfolding, out, |event| &event.data_deps),
            BaseRelation::Ctrl => self.fill_dependency(unfolding, out, |event| &event.control_deps),
            BaseRelation::Sr => self.fill_scopes(unfolding, out),
            BaseRelation::Scta => self.fill_equal(unfolding, out, |_, event| cta_of(unfolding, event)),
            BaseRelation::Rf | BaseRelation::Co | BaseRelation::SyncFence => {}
            BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations => {}
            other => self.fill_other(unfolding, other, out),
        }
    }

    /// Main events by their place in the trace. Strands run beside, and the parts of one operation have no order.
    fn fill_po(&self, unfolding: &Unfolding, out: &mut [u64]) {
        let event = |index: usize| &unfolding.events[self.events[index].index()];
        // By thread from its end: the main events behind the one that is looked at.
        let mut behind: Few<u64, 4> = Few::filled(0, self.shape.words());
        for thread in 0..self.threads() {
            behind.fill(0);
            for from in self.thread_events(thread).rev().filter(|from| event(*from).is_main()) {
                kernel::row_mut(self.shape, out, from).copy_from_slice(&behind);
                kernel::insert(&mut behind, from);
                if event(from).group.is_some() {
                    let parts = (from + 1..self.bounds[thread + 1])
                        .filter(|to| unfolding.are_parts(self.events[from], self.events[*to]));
                    parts.for_each(|to| kernel::unrelate(self.shape, out, from, to));
                }
            }
        }
    }

    fn fill_int(&self, out: &mut [u64]) {
        for thread in 0..self.threads() {
            for from in self.thread_events(thread) {
                kernel::insert_all(kernel::row_mut(self.shape, out, from), self.thread_events(thread));
            }
        }
    }

    fn fill_ext(&self, out: &mut [u64]) {
        let count = self.shape.events();
        for from in 0..count {
            let own = self.thread_of(from).map_or(0..self.inits(), |thread| self.thread_events(thread));
            let row = kernel::row_mut(self.shape, out, from);
            kernel::insert_all(row, 0..own.start);
            kernel::insert_all(row, own.end..count);
        }
    }

    /// The pairs of events that have the same key.
    fn fill_equal<K: Ord>(&self, unfolding: &Unfolding, out: &mut [u64], key: impl Fn(EventId, &Event) -> Option<K>) {
        let keyed = |(local, id): (usize, &EventId)| Some((key(*id, unfolding.event(*id))?, local));
        let mut members: Vec<(K, usize)> = Vec::with_capacity(self.events.len());
        members.extend(self.events.iter().enumerate().filter_map(keyed));
        members.sort_unstable();
        for class in members.chunk_by(|a, b| a.0 == b.0) {
            self.fill_rows(out, &class[..1], class);
            self.repeat_row(out, class);
        }
    }

    /// `sr`. Two kinds of events are asked once for both ways.
    fn fill_scopes(&self, unfolding: &Unfolding, out: &mut [u64]) {
        let reach = |(local, id): (usize, &EventId)| Some((Reach::of(unfolding, unfolding.event(*id))?, local));
        let mut members: Vec<(Reach, usize)> = Vec::with_capacity(self.events.len());
        members.extend(self.events.iter().enumerate().filter_map(reach));
        members.sort_unstable();
        let classes: Vec<&[(Reach, usize)]> = members.chunk_by(|a, b| a.0 == b.0).collect();
        for (at, class) in classes.iter().enumerate() {
            for other in &classes[at..] {
                if class[0].0.meets(&other[0].0) {
                    self.fill_rows(out, &class[..1], other);
                    self.fill_rows(out, &other[..1], class);
                }
            }
        }
        classes.iter().for_each(|class| self.repeat_row(out, class));
    }

    /// Relates every event of the first class to every one of the second.
    fn fill_rows<K>(&self, out: &mut [u64], class: &[(K, usize)], to: &[(K, usize)]) {
        for (_, from) in class {
            let row = kernel::row_mut(self.shape, out, *from);
            to.iter().for_each(|(_, to)| kernel::insert(row, *to));
        }
    }

    /// The pairs for which this holds, among the events that have a key. Whether it does is a matter of the two keys, so that
    /// it is asked once for any two of them: thousands of events have few.
    fn fill_classes<K: Ord>(
        &self,
        unfolding: &Unfolding,
        out: &mut [u64],
        key: impl Fn(&Event) -> Option<K>,
        holds: impl Fn(EventId, EventId) -> bool,
    ) {
        let keyed = |(local, id): (usize, &EventId)| Some((key(unfolding.event(*id))?, local));
        let mut members: Vec<(K, usize)> = Vec::with_capacity(self.events.len());
        members.extend(self.events.iter().enumerate().filter_map(keyed));
        members.sort_unstable();
        let classes: Vec<&[(K, usize)]> = members.chunk_by(|a, b| a.0 == b.0).collect();
        for class in &classes {
            let (_, first) = class[0];
            for other in &classes {
                if holds(self.events[first], self.events[other[0].1]) {
                    self.fill_rows(out, &class[..1], other);
                }
            }
            self.repeat_row(out, class);
        }
    }

    /// The events of a class have one row, which the first of them has already.
    fn repeat_row<K>(&self, out: &mut [u64], class: &[(K, usize)]) {
        let words = self.shape.words();
        let row = class[0].1 * words;
        class[1..].iter().for_each(|(_, from)| out.copy_within(row..row + words, from * words));
    }

    fn fill_rmw(&self, unfolding: &Unfolding, out: &mut [u64]) {
        for (index, id) in self.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            let write = event.rmw_partner.and_then(|partner| self.local(partner));
            if let (EventKind::Read { .. }, Some(write)) = (&event.kind, write) {
                kernel::relate(self.shape, out, index, write);
            }
        }
    }

    fn fill_dependency(&self, unfolding: &Unfolding, out: &mut [u64], reads: impl Fn(&Event) -> &[EventId]) {
        for (index, id) in self.events.iter().enumerate() {
            for read in reads(&unfolding.events[id.index()]) {
                if let Some(read) = self.local(*read) {
                    kernel::relate(self.shape, out, read, index);
                }
            }
        }
    }
}

/// Reads, writes and init writes are what they are, whatever their tags say.
fn tags_of(event: &Event) -> Tags {
    let tags = match event.kind {
        EventKind::Read { .. } => event.tags.with(Tag::Read),
        EventKind::Write { .. } => event.tags.with(Tag::Write),
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => event.tags,
    };
    if event.thread.is_none() { tags.with(Tag::Init) } else { tags }
}

pub(crate) fn has_tag(event: &Event, tag: Tag) -> bool {
    tags_of(event).has(tag)
}

pub fn location_of(event: &Event) -> Option<LocationId> {
    match &event.kind {
        EventKind::Read { location, .. } | EventKind::Write { location, .. } => Some(*location),
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
    }
}

/// Whether the events' scopes include each other's threads; false if either has none.
pub fn mutually_in_scope(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    matches!((Reach::of(unfolding, a), Reach::of(unfolding, b)), (Some(a), Some(b)) if a.meets(&b))
}

/// What [`mutually_in_scope`] looks at of an event.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Reach {
    place: Place,
    /// The thread, if it is none of a GPU: two threads of one CTA are as near as a thread is to itself.
    host: Option<ThreadId>,
    scope: Scope,
}

impl Reach {
    /// None of an event without a thread or a scope.
    fn of(unfolding: &Unfolding, event: &Event) -> Option<Reach> {
        let (thread, scope) = event.thread.zip(event.scope)?;
        let place = unfolding.threads[thread.index()].place;
        let host = if matches!(place, Place::Gpu { .. }) { None } else { Some(thread) };
        Some(Reach { place, host, scope })
    }

    fn meets(&self, other: &Reach) -> bool {
        let is_own = self.host.is_some() && self.host == other.host;
        let distance = if is_own { Scope::Cta } else { narrowest_common(self.place, other.place) };
        self.scope >= distance && other.scope >= distance
    }
}

/// Whether an event takes part in Fence-SC order: `fence.sc`, and in compound programs x86's `mfence` and reads.
pub(crate) fn is_in_sync_order(event: &Event) -> bool {
    match event.kind {
        EventKind::Fence => event.tags.has(Tag::Fence) && (event.tags.has(Tag::Sc) || event.tags.has(Tag::Mfence)),
        EventKind::Read { .. } => event.tags.has(Tag::X86),
        EventKind::Write { .. } | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => false,
    }
}

/// Whether Fence-SC order orders two that take part in it: their scopes include each other, and they are not two reads.
pub(crate) fn sync_orders(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    let is_fence = |event: &Event| matches!(event.kind, EventKind::Fence);
    (is_fence(a) || is_fence(b)) && mutually_in_scope(unfolding, a, b)
}

/// The narrowest scope that includes threads at both places. A host thread shares only the system with others.
pub fn narrowest_common(a: Place, b: Place) -> Scope {
    match (a, b) {
        (Place::Gpu { gpu, cluster, cta }, Place::Gpu { gpu: gpu_b, cluster: cluster_b, cta: cta_b })
            if gpu == gpu_b =>
        {
            match (cluster == cluster_b, cta == cta_b) {
                (true, true) => Scope::Cta,
                (true, false) => Scope::Cluster,
                (false, _) => Scope::Gpu,
            }
        }
        _ => Scope::Sys,
    }
}

/// The CTA of an event: its place on a GPU.
fn cta_of(unfolding: &Unfolding, event: &Event) -> Option<Place> {
    let place = unfolding.threads[event.thread?.index()].place;
    matches!(place, Place::Gpu { .. }).then_some(place)
}
