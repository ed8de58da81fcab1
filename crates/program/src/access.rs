//! Questions about the events of an unfolding that every engine asks.

use crate::ids::{AddressId, EventId, LocationId, TraceId};
use crate::program::{Place, Scope};
use crate::tag::Tag;
use crate::unfolding::{Event, EventKind, Unfolding};

impl Event {
    pub fn is_read(&self) -> bool {
        matches!(self.kind, EventKind::Read { .. })
    }

    pub fn is_write(&self) -> bool {
        matches!(self.kind, EventKind::Write { .. })
    }

    pub fn is_init(&self) -> bool {
        self.thread.is_none()
    }

    pub fn is_barrier(&self) -> bool {
        matches!(self.kind, EventKind::Barrier(_))
    }

    pub fn has(&self, tag: Tag) -> bool {
        self.tags.has(tag)
    }

    /// The physical location of an access.
    pub fn location(&self) -> Option<LocationId> {
        match self.kind {
            EventKind::Read { location, .. } | EventKind::Write { location, .. } => Some(location),
            EventKind::Fence | EventKind::Barrier(_) => None,
        }
    }

    /// The generic virtual address of an access: equal for `vloc` accesses.
    pub fn generic(&self) -> Option<AddressId> {
        match self.kind {
            EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
            EventKind::Fence | EventKind::Barrier(_) => None,
        }
    }
}

impl Unfolding {
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// The events before this one in program order, nearest first.
    pub fn po_before(&self, id: EventId) -> impl Iterator<Item = EventId> {
        std::iter::successors(self.event(id).parent, |before| self.event(*before).parent)
    }

    /// Whether `before` precedes `after` in program order, on any trace that has both.
    pub fn is_po(&self, before: EventId, after: EventId) -> bool {
        // Parents have smaller ids: the walk can stop at the id looked for.
        self.po_before(after).take_while(|event| *event >= before).any(|event| event == before)
    }

    /// Where the event's thread runs; None for init writes.
    pub fn place(&self, id: EventId) -> Option<Place> {
        self.event(id).thread.map(|thread| self.threads[thread.index()].place)
    }

    /// The events of a choice of one trace per thread, init writes included, ascending.
    pub fn events_of(&self, traces: &[TraceId]) -> Vec<EventId> {
        let init = self.locations.iter().map(|location| location.init);
        let chosen = traces.iter().flat_map(|trace| self.traces[trace.index()].events.iter().copied());
        let mut events: Vec<EventId> = init.chain(chosen).collect();
        events.sort();
        events
    }
}

/// Whether a scope around a thread at `from` includes a thread at `to`. Only `.sys` includes or is included by the host.
pub fn includes(scope: Scope, from: Place, to: Place) -> bool {
    match (from, to) {
        (Place::Gpu { gpu, cluster, cta }, Place::Gpu { gpu: other_gpu, cluster: other_cluster, cta: other_cta }) => {
            match scope {
                Scope::Sys => true,
                Scope::Gpu => gpu == other_gpu,
                Scope::Cluster => gpu == other_gpu && cluster == other_cluster,
                Scope::Cta => gpu == other_gpu && cluster == other_cluster && cta == other_cta,
            }
        }
        _ => scope == Scope::Sys,
    }
}

/// Both events have a scope and each scope includes the other's thread (PTX ISA 8.7; Dartagnan's `sr`).
pub fn same_scope(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    let of = |id: EventId| Some((unfolding.event(id).scope?, unfolding.place(id)?));
    match (of(a), of(b)) {
        (Some((scope_a, place_a)), Some((scope_b, place_b))) => {
            includes(scope_a, place_a, place_b) && includes(scope_b, place_b, place_a)
        }
        _ => false,
    }
}

/// Both run in one CTA (Dartagnan's `scta`). Host threads are in none.
pub fn same_cta(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    match (unfolding.place(a), unfolding.place(b)) {
        (Some(a @ Place::Gpu { .. }), Some(b)) => a == b,
        _ => false,
    }
}
