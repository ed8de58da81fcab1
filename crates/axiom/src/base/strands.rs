//! Base relations about events beside program order: asynchronous operations and what completes them, what fences are
//! about, operations that span locations, kernels. Each is read off the events (see `model::ir` for the definitions).

use fencepost_program::EventId;
use fencepost_program::access;
use fencepost_program::unfolding::{Event, EventKind, OmittedWrite, Unfolding};

use super::Candidate;
use crate::bits::kernel;
use crate::model::BaseRelation;

/// A write that is not made, and its event.
type Omitted<'a> = (EventId, &'a OmittedWrite);

impl Candidate {
    /// The relations of this file; those of [`Candidate::fill_relation`] give the empty one.
    pub(super) fn fill_other(&self, unfolding: &Unfolding, which: BaseRelation, out: &mut [u64]) {
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
                self.fill_ids(unfolding, out, |event| event.strand.is_some(), access::pipelined);
            }
            BaseRelation::Covers => self.fill_ids(unfolding, out, is_memory_or_fence, |unfolding, fence, access| {
                matches!(unfolding.event(fence).kind, EventKind::Fence) && access::covers(unfolding, fence, access)
            }),
            BaseRelation::Scluster => self.fill_ids(unfolding, out, |_| true, access::same_cluster),
            BaseRelation::Sgpu => self.fill_ids(unfolding, out, |_| true, access::same_gpu),
            BaseRelation::Complete => self.fill_ids(unfolding, out, is_about_memory, access::overlap_completely),
            BaseRelation::Sameop => self.fill_ids(unfolding, out, is_access, access::same_operation),
            BaseRelation::Launch => {
                self.fill_ids(unfolding, out, |_| true, access::launched_after);
            }
            BaseRelation::Gridwait => self.fill_ids(unfolding, out, |_| true, access::awaited_by),
            BaseRelation::Gridstart => self.fill_ids(unfolding, out, |_| true, access::lets_start),
            BaseRelation::Home => self.fill_ids(unfolding, out, |_| true, access::at_home),
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

    /// The pairs that hold, among the events that can be in one.
    fn fill_ids(
        &self,
        unfolding: &Unfolding,
        out: &mut [u64],
        eligible: impl Fn(&Event) -> bool,
        holds: impl Fn(&Unfolding, EventId, EventId) -> bool,
    ) {
        let eligible: Vec<(usize, EventId)> =
            self.events.iter().copied().enumerate().filter(|(_, id)| eligible(unfolding.event(*id))).collect();
        for &(from, a) in &eligible {
            for &(to, b) in &eligible {
                if holds(unfolding, a, b) {
                    kernel::relate(self.shape, out, from, to);
                }
            }
        }
    }
}

fn is_access(event: &Event) -> bool {
    event.location().is_some()
}

/// An access, or a write that is not made.
fn is_about_memory(event: &Event) -> bool {
    event.target().is_some()
}

fn is_memory_or_fence(event: &Event) -> bool {
    is_about_memory(event) || matches!(event.kind, EventKind::Fence)
}
