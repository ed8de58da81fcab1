//! Base relations about events beside program order: asynchronous operations and what completes them, what fences are
//! about, operations that span locations, kernels. Each is read off the events (see `model::ir` for the definitions).

use fencepost_program::EventId;
use fencepost_program::access;
use fencepost_program::unfolding::{Event, EventKind, Unfolding};

use super::Candidate;
use crate::bits::kernel;
use crate::model::BaseRelation;

impl Candidate {
    /// The relations of this file; the others give the empty one.
    pub(super) fn fill_beside(&self, unfolding: &Unfolding, which: BaseRelation, out: &mut [u64]) {
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
            BaseRelation::Covers => self.fill_ids(unfolding, out, is_access_or_fence, |unfolding, fence, access| {
                matches!(unfolding.event(fence).kind, EventKind::Fence) && access::covers(unfolding, fence, access)
            }),
            BaseRelation::Scluster => self.fill_ids(unfolding, out, |_| true, access::same_cluster),
            BaseRelation::Sgpu => self.fill_ids(unfolding, out, |_| true, access::same_gpu),
            BaseRelation::Complete => self.fill_ids(unfolding, out, is_access, access::overlap_completely),
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
            BaseRelation::Omission
            | BaseRelation::BeforeOmission
            | BaseRelation::AfterOmission
            | BaseRelation::ToldOmission => self.fill_omissions(unfolding, which, out),
            _ => {}
        }
    }

    /// About writes that are not made, to the reads of their locations.
    fn fill_omissions(&self, unfolding: &Unfolding, which: BaseRelation, out: &mut [u64]) {
        for (thread, trace) in self.traces.iter().enumerate() {
            for omission in unfolding.omissions_of(*trace) {
                let is_behind = |id: EventId| omission.after.is_none_or(|after| id > after);
                let own = |at: &usize| unfolding.event(self.events[*at]);
                let all = self.thread_events(thread);
                let from: Vec<usize> = match (which, omission.through) {
                    (BaseRelation::Omission, _) => omission.reads.iter().filter_map(|read| self.local(*read)).collect(),
                    (BaseRelation::BeforeOmission, _) => {
                        all.filter(|at| own(at).is_main() && !is_behind(self.events[*at])).collect()
                    }
                    (BaseRelation::AfterOmission, None) => {
                        all.filter(|at| own(at).is_main() && is_behind(self.events[*at])).collect()
                    }
                    (BaseRelation::ToldOmission, Some(through)) => {
                        let is_there = |at: &usize| own(at).location() == Some(through);
                        all.filter(|at| is_there(at) && is_behind(self.events[*at])).collect()
                    }
                    _ => continue,
                };
                for (to, id) in self.events.iter().enumerate() {
                    let event = unfolding.event(*id);
                    let is_about = omission.readers.have(unfolding.traces[trace.index()].thread, event.thread);
                    if is_about && event.is_read() && event.location() == Some(omission.location) {
                        from.iter().for_each(|from| kernel::relate(self.shape, out, *from, to));
                    }
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

fn is_access_or_fence(event: &Event) -> bool {
    matches!(event.kind, EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Fence)
}
