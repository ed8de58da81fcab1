//! What a thread has started and not yet waited for (PTX ISA 9.7.10.28.3, 9.7.17.6, 9.7.18.6.2.1): groups per family, and
//! the `tcgen05` operations that a wait or a commit speaks for.

use fencepost_syntax::Span;

use crate::ids::{AddressId, EventId};
use crate::program::BarrierKind;
use crate::program::asynchronous::{Covered, Family, TensorKind, Told};
use crate::unfold::strand::allocation::Collective;
use crate::unfold::strand::register::RegisterUse;
use crate::unfolding::{Event, HazardKind};

#[derive(Clone, Default)]
pub(crate) struct Outstanding {
    copies: Groups,
    bulk: Groups,
    products: Groups,
    /// Every access of a `cp.async` so far: an asynchronous arrive speaks for all, waited for or not.
    pub(crate) copied: Vec<EventId>,
    loads: Vec<EventId>,
    stores: Vec<EventId>,
    /// Accesses of `tcgen05.{mma,cp,shift}` so far, with their `.cta_group`.
    tracked: Vec<(u8, EventId)>,
    /// Of those, the reads of left factors in shared memory.
    lefts: Vec<(u8, EventId)>,
    pub(crate) registers: RegisterUse,
    /// The last operation on the barrier of the cluster.
    pub(crate) cluster: Option<(BarrierKind, Span)>,
    pub(crate) hazards: Vec<(HazardKind, Span, Span)>,
    pub(crate) allocated: Vec<(AddressId, Span)>,
    pub(crate) deallocated: Vec<AddressId>,
    pub(crate) relinquished: Option<Span>,
    /// What the thread did together with the peer CTA.
    pub(crate) collective: Vec<(Collective, Span)>,
}

#[derive(Clone, Default)]
struct Groups {
    open: Vec<EventId>,
    /// Newest last.
    committed: Vec<Vec<EventId>>,
}

impl Outstanding {
    fn groups(&mut self, family: Family) -> Option<&mut Groups> {
        match family {
            Family::CpAsync => Some(&mut self.copies),
            Family::Bulk => Some(&mut self.bulk),
            Family::Wgmma => Some(&mut self.products),
            Family::Tcgen05 => None,
        }
    }

    /// Adds accesses to the open group.
    pub(crate) fn add(&mut self, family: Family, events: &[EventId]) {
        if family == Family::CpAsync {
            self.copied.extend(events);
        }
        if let Some(groups) = self.groups(family) {
            groups.open.extend(events);
        }
    }

    pub(crate) fn commit(&mut self, family: Family) {
        if let Some(groups) = self.groups(family) {
            let group = std::mem::take(&mut groups.open);
            groups.committed.push(group);
        }
    }

    /// The accesses a wait finds complete: those of all groups but the newest. What it finds wholly complete is
    /// forgotten, since a later wait comes after this one.
    pub(crate) fn wait(
        &mut self,
        family: Family,
        newest: usize,
        covered: Covered,
        event: impl Fn(EventId) -> Event,
    ) -> Vec<EventId> {
        let Some(groups) = self.groups(family) else { return Vec::new() };
        let count = groups.committed.len().saturating_sub(newest);
        match covered {
            Covered::Everything => groups.committed.drain(..count).flatten().collect(),
            Covered::Reads => {
                // The reading half of a reduction is part of writing its destination.
                let is_source = |id: &EventId| {
                    let event = event(*id);
                    event.is_read() && event.rmw_partner.is_none()
                };
                groups.committed.iter().take(count).flatten().copied().filter(is_source).collect()
            }
        }
    }

    /// Everything of the family, committed or not.
    pub(crate) fn wait_all(&mut self, family: Family) -> Vec<EventId> {
        let Some(groups) = self.groups(family) else { return Vec::new() };
        let committed = groups.committed.drain(..).flatten();
        committed.chain(std::mem::take(&mut groups.open)).collect()
    }

    pub(crate) fn track(&mut self, kind: TensorKind, group: u8, events: &[EventId]) {
        match kind {
            TensorKind::Ld => self.loads.extend(events),
            TensorKind::St => self.stores.extend(events),
            TensorKind::Mma | TensorKind::Cp { .. } | TensorKind::Shift => {
                self.tracked.extend(events.iter().map(|event| (group, *event)));
            }
        }
    }

    /// `tcgen05.wait::ld` and `::st`.
    pub(crate) fn wait_tensor(&mut self, kind: TensorKind) -> Vec<EventId> {
        match kind {
            TensorKind::Ld => std::mem::take(&mut self.loads),
            TensorKind::St => std::mem::take(&mut self.stores),
            TensorKind::Mma | TensorKind::Cp { .. } | TensorKind::Shift => Vec::new(),
        }
    }

    pub(crate) fn read_left(&mut self, group: u8, events: &[EventId]) {
        self.lefts.extend(events.iter().map(|event| (group, *event)));
    }

    /// What a `tcgen05.commit` of this `.cta_group` speaks for.
    pub(crate) fn committed(&self, group: u8, told: Told) -> Vec<EventId> {
        let spoken_for = match told {
            Told::Everything => &self.tracked,
            Told::LeftFactorsRead => &self.lefts,
        };
        spoken_for.iter().filter(|(own, _)| *own == group).map(|(_, event)| *event).collect()
    }
}
