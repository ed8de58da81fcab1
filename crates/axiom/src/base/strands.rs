//! Base relations about events beside program order: asynchronous operations and what completes them, what fences are
//! about, operations that span locations, kernels. Each is read off the events (see `model::ir` for the definitions).

use fencepost_program::EventId;
use fencepost_program::access;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, OmittedWrite, Unfolding};

use super::Candidate;
use crate::bits::kernel;
use crate::model::BaseRelation;

/// A write that is not made, and its event.
type Omitted<'a> = (EventId, &'a OmittedWrite);

impl Candidate {
    /// The relations of this file; those of [`Candidate::fill_relation`] give the empty one.
    pub(super) fn fill_other(&self, unfolding: &Unfolding, which: BaseRelation, out: &mut [u64]) {
        let asked = |holds: fn(&Unfolding, EventId, EventId) -> bool| move |a, b| holds(unfolding, a, b);
        match which {
            BaseRelation::Issue => self.fill_sources(unfolding, out, |event| match &event.strand {
                Some(strand) => std::slice::from_ref(&strand.issue),
                None => &[],
            }),
            BaseRelation::So => self.fill_sources(unfolding, out, |event| match &event.strand {
                Some(strand) => &strand.after,
                None => &[],
            }),
            BaseRelation::Done => self.fill_sources(unfolding, out, |event| &event.completes),
            BaseRelation::Pipelined => {
                let is_tensor = |event: &Event| event.strand.as_ref().is_some_and(|strand| strand.tensor.is_some());
                self.fill_ids(unfolding, out, (is_tensor, is_tensor), access::pipelined);
            }
            BaseRelation::Covers => {
                let is_fence = |event: &Event| matches!(event.kind, EventKind::Fence);
                self.fill_ids(unfolding, out, (is_fence, is_about_memory), access::covers);
            }
            BaseRelation::Scluster => {
                self.fill_classes(unfolding, out, |event| event.thread, asked(access::same_cluster))
            }
            BaseRelation::Sgpu => self.fill_classes(unfolding, out, |event| event.thread, asked(access::same_gpu)),
            BaseRelation::Complete => self.fill_equal(unfolding, out, |id, _| access::bytes_of(unfolding, id)),
            BaseRelation::Sameop => self.fill_equal(unfolding, out, |id, event| {
                event.location().map(|_| event.extent.map_or(id, |extent| extent.operation))
            }),
            BaseRelation::Launch => {
                let key = |event: &Event| Some((event.thread?, event.call));
                self.fill_classes(unfolding, out, key, asked(access::launched_after));
            }
            BaseRelation::Gridwait => {
                let key = |event: &Event| Some((event.thread?, event.has(Tag::GridWait)));
                self.fill_classes(unfolding, out, key, asked(access::awaited_by));
            }
            BaseRelation::Gridstart => {
                let lets = |event: &Event| event.has(Tag::Trigger) || event.has(Tag::Exit);
                let key = |event: &Event| Some((event.thread?, event.call, lets(event)));
                self.fill_classes(unfolding, out, key, asked(access::lets_start));
            }
            BaseRelation::Home => {
                let owner = |event: &Event| event.location().map(|it| unfolding.locations[it.index()].owner);
                let key = |event: &Event| Some((owner(event), event.thread, event.is_main()));
                self.fill_classes(unfolding, out, key, asked(access::at_home));
            }
            BaseRelation::Contributed => self.fill_sources(unfolding, out, |event| match &event.kind {
                EventKind::Barrier(barrier) => &barrier.contributed,
                _ => &[],
            }),
            BaseRelation::Decides => {
                self.fill_sources(unfolding, out, |event| event.omitted().map_or(&[], |write| &write.decided_by));
            }
            BaseRelation::Told => self.fill_omitted(unfolding, out, |unfolding, (omitted, write), (id, event)| {
                let is_own = unfolding.event(omitted).thread == event.thread;
                write.through.is_some() && is_own && id > omitted && event.location() == write.through
            }),
            BaseRelation::Misses => self.fill_omitted(unfolding, out, |unfolding, (omitted, write), (_, event)| {
                let is_about = |thread| write.readers.have(thread, event.thread);
                let is_read = event.is_read() && event.location() == Some(write.location);
                is_read && unfolding.event(omitted).thread.is_some_and(is_about)
            }),
            BaseRelation::Id | BaseRelation::Po | BaseRelation::Int | BaseRelation::Ext => {}
            BaseRelation::Loc | BaseRelation::Vloc | BaseRelation::Rmw | BaseRelation::Amo => {}
            BaseRelation::Addr | BaseRelation::Data | BaseRelation::Ctrl => {}
            BaseRelation::Sr | BaseRelation::Scta => {}
            BaseRelation::Rf | BaseRelation::Co | BaseRelation::SyncFence => {}
            BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations => {}
        }
    }

    /// From writes that are not made to the events for which this holds.
    fn fill_omitted(
        &self,
        unfolding: &Unfolding,
        out: &mut [u64],
        holds: impl Fn(&Unfolding, Omitted<'_>, (EventId, &Event)) -> bool,
    ) {
        for (from, id) in self.events.iter().enumerate() {
            let Some(write) = unfolding.event(*id).omitted() else { continue };
            for (to, other) in self.events.iter().enumerate() {
                if holds(unfolding, (*id, write), (*other, unfolding.event(*other))) {
                    kernel::relate(self.shape, out, from, to);
                }
            }
        }
    }

    /// Each event lists those before it.
    fn fill_sources(&self, unfolding: &Unfolding, out: &mut [u64], before: impl Fn(&Event) -> &[EventId]) {
        for (to, id) in self.events.iter().enumerate() {
            for from in before(unfolding.event(*id)).iter().filter_map(|from| self.local(*from)) {
                kernel::relate(self.shape, out, from, to);
            }
        }
    }

    /// The pairs that hold, of the events that can be the first of one and those that can be the second.
    fn fill_ids(
        &self,
        unfolding: &Unfolding,
        out: &mut [u64],
        (first, second): (impl Fn(&Event) -> bool, impl Fn(&Event) -> bool),
        holds: impl Fn(&Unfolding, EventId, EventId) -> bool,
    ) {
        let events = || self.events.iter().copied().enumerate();
        let seconds: Vec<(usize, EventId)> = events().filter(|(_, id)| second(unfolding.event(*id))).collect();
        for (from, a) in events().filter(|(_, id)| first(unfolding.event(*id))) {
            for &(to, b) in &seconds {
                if holds(unfolding, a, b) {
                    kernel::relate(self.shape, out, from, to);
                }
            }
        }
    }
}

/// An access, or a write that is not made.
fn is_about_memory(event: &Event) -> bool {
    event.target().is_some()
}
