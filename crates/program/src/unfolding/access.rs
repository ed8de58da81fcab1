//! Questions about the events of an unfolding that every engine asks.

use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{AddressId, EventId, KernelId, LocationId, TraceId};
use crate::program::asynchronous::TensorKind;
use crate::program::{Cover, HostCall, Place, Scope, Space};
use crate::tag::Tag;
use crate::unfolding::launch::starts_after;
use crate::unfolding::{Event, EventKind, OmittedWrite, Unfolding};

impl Event {
    pub fn is_read(&self) -> bool {
        matches!(self.kind, EventKind::Read { .. })
    }

    pub fn is_write(&self) -> bool {
        matches!(self.kind, EventKind::Write { .. })
    }

    /// In program order, as opposed to part of an asynchronous operation.
    pub fn is_main(&self) -> bool {
        self.strand.is_none() && self.omitted().is_none_or(|write| write.through.is_none())
    }

    /// The write that it stands for, if it is one that is not made.
    pub fn omitted(&self) -> Option<&OmittedWrite> {
        match &self.kind {
            EventKind::Omitted(write) => Some(write),
            _ => None,
        }
    }

    /// The physical location of an access, or of a write that is not made.
    pub fn target(&self) -> Option<LocationId> {
        self.location().or_else(|| self.omitted().map(|write| write.location))
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
            EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
        }
    }

    /// The generic virtual address of an access or of a write that is not made: equal for `vloc` accesses.
    pub fn generic(&self) -> Option<AddressId> {
        match &self.kind {
            EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(*generic),
            EventKind::Omitted(write) => Some(write.generic),
            EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue => None,
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

    /// Whether `before` precedes `after` in program order, on any trace that has both. Strands are not in program order.
    pub fn is_po(&self, before: EventId, after: EventId) -> bool {
        if self.event(before).strand.is_some() || self.event(after).strand.is_some() {
            return false;
        }
        if self.are_parts(before, after) {
            return false;
        }
        // Parents have smaller ids: the walk can stop at the id looked for.
        self.po_before(after).take_while(|event| *event >= before).any(|event| event == before)
    }

    /// Whether the two are parts of one operation in no order among each other (PTX ISA 8.2.3, 8.2.4): of one group, or the
    /// read of one element or replica and the write of another.
    pub fn are_parts(&self, before: EventId, after: EventId) -> bool {
        let (first, second) = (self.event(before), self.event(after));
        if first.group.is_none() || second.group.is_none() {
            return false;
        }
        let written = first.rmw_partner.filter(|write| self.event(*write).group == second.group);
        first.group == second.group || written.is_some_and(|write| !same_operation(self, write, after))
    }

    /// Where the event's thread runs; None for init writes.
    pub fn place(&self, id: EventId) -> Option<Place> {
        self.event(id).thread.map(|thread| self.threads[thread.index()].place)
    }

    /// The init writes of the locations that something touches.
    pub fn inits(&self) -> impl Iterator<Item = EventId> {
        self.locations.iter().filter(|location| !location.is_untouched).map(|location| location.init)
    }

    /// The events of a choice of one trace per thread, init writes included, ascending.
    pub fn events_of(&self, traces: &[TraceId]) -> Vec<EventId> {
        let chosen = traces.iter().flat_map(|trace| self.traces[trace.index()].events.iter().copied());
        let mut events: Vec<EventId> = self.inits().chain(chosen).collect();
        events.shared_sort();
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

/// Both run on one GPU.
pub fn same_gpu(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    match (unfolding.place(a), unfolding.place(b)) {
        (Some(a), Some(b)) => includes(Scope::Gpu, a, b),
        _ => false,
    }
}

/// Both run in one cluster.
pub fn same_cluster(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    match (unfolding.place(a), unfolding.place(b)) {
        (Some(a), Some(b @ Place::Gpu { .. })) => includes(Scope::Cluster, a, b) && a != Place::Host,
        _ => false,
    }
}

/// Whether the fence is about this access (PTX ISA 9.7.15.4): the object's state space, whose it is, or which it is.
pub fn covers(unfolding: &Unfolding, fence: EventId, access: EventId) -> bool {
    let Some(location) = unfolding.event(access).target() else { return false };
    let info = &unfolding.locations[location.index()];
    let place = unfolding.place(fence);
    let is_shared = info.space == Some(Space::Shared);
    let within = |scope| match (place, info.owner) {
        (Some(place), Some(owner)) => includes(scope, place, owner),
        // Shared memory that nothing places lies in the one CTA there is.
        _ => true,
    };
    match &unfolding.event(fence).cover {
        Cover::Everything => true,
        Cover::Global => matches!(info.space, None | Some(Space::Global)),
        Cover::SharedCta => is_shared && within(Scope::Cta),
        Cover::SharedCluster => is_shared && within(Scope::Cluster),
        Cover::Locations(locations) => locations.contains(&location),
    }
}

/// Whether two memory operations access exactly the same bytes (PTX ISA 8.2.1: complete overlap).
pub fn overlap_completely(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    let bytes = bytes_of(unfolding, a);
    bytes.is_some() && bytes == bytes_of(unfolding, b)
}

/// The bytes that a memory operation accesses: the first location, and how many.
pub fn bytes_of(unfolding: &Unfolding, id: EventId) -> Option<(LocationId, u32)> {
    let event = unfolding.event(id);
    let location = event.target()?;
    Some(event.extent.map_or((location, 1), |extent| (extent.first, extent.count)))
}

/// Whether the two events belong to one scalar operation.
pub fn same_operation(unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
    let of = |id: EventId| unfolding.event(id).extent.map_or(id, |extent| extent.operation);
    of(a) == of(b)
}

/// Whether the `tcgen05` operations of these two strand events form a pipeline when issued in this order
/// (PTX ISA 9.7.18.6.2). A thread of a test is alone in its warp.
pub fn pipelined(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    let of = |id: EventId| unfolding.event(id).strand.as_ref().and_then(|strand| strand.tensor);
    let (Some(a), Some(b)) = (of(first), of(second)) else { return false };
    let kinds = match (a.kind, b.kind) {
        (TensorKind::Mma, TensorKind::Mma) => {
            a.accumulator.is_some() && a.accumulator == b.accumulator && a.shape == b.shape
        }
        (TensorKind::Cp { .. } | TensorKind::Shift, TensorKind::Mma) | (TensorKind::Mma, TensorKind::Shift) => true,
        (TensorKind::Shift, TensorKind::Cp { is_4x256b, .. }) => is_4x256b,
        (TensorKind::Mma, TensorKind::Cp { follows_mma, .. }) => {
            follows_mma && unfolding.event(first).thread == unfolding.event(second).thread
        }
        _ => false,
    };
    kinds && a.group == b.group
}

fn kernel_of(unfolding: &Unfolding, id: EventId) -> Option<KernelId> {
    unfolding.event(id).thread.and_then(|thread| unfolding.threads[thread.index()].kernel)
}

/// What launches order, the cat relation `launch`. Strands count as events of their kernel: a kernel has ended when they
/// have.
/// - An event of a kernel, and one of a kernel that starts after its end.
/// - A host's launch, and an event of that kernel or of one that starts after it.
/// - An event of a kernel, or of one before it, and a host's wait for that kernel.
///
/// What the host does before a launch or after a wait follows through program order.
pub fn launched_after(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    let ends_before = |a: KernelId, b: KernelId| unfolding.kernel_order.contains(&(a, b));
    let (from, to) = (kernel_of(unfolding, first), kernel_of(unfolding, second));
    match (unfolding.event(first).call, unfolding.event(second).call) {
        (Some(HostCall::Launch(launched)), _) => {
            to.is_some_and(|to| to == launched || starts_after(unfolding, launched, to))
        }
        (_, Some(HostCall::Sync(awaited))) => from.is_some_and(|from| from == awaited || ends_before(from, awaited)),
        _ => from.zip(to).is_some_and(|(from, to)| ends_before(from, to)),
    }
}

/// Whether the second event is a `griddepcontrol.wait` for the first event's kernel, the cat relation `gridwait`: that
/// kernel has ended, its strands too, before the wait is over (PTX ISA 9.7.15.14). It holds for the waiting thread and
/// what is behind its wait in program order; other threads of the grid need a wait of their own, or to be told.
pub fn awaited_by(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    unfolding.event(second).has(Tag::GridWait) && is_dependent(unfolding, first, second)
}

/// Whether the first event is the `griddepcontrol.launch_dependents` of its CTA that counts, or the end of a thread, and
/// the second one of a kernel that it lets start, the cat relation `gridstart`. By itself it publishes nothing: PTX 9.4
/// says that a release fence before it in program order synchronises with the start of the dependent grid. The relation
/// also leads from a host's wait that came too early to the launch that it missed.
pub fn lets_start(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    let event = unfolding.event(first);
    if let (Some(HostCall::Missed(missed)), Some(HostCall::Launch(launched))) =
        (event.call, unfolding.event(second).call)
    {
        return missed == launched;
    }
    (event.has(Tag::Trigger) || event.has(Tag::Exit)) && is_dependent(unfolding, first, second)
}

/// Whether the second event is one of a thread in whose CTA's memory the first is an access, the cat relation `home`:
/// that memory is there until the last thread of the CTA exits.
pub fn at_home(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    let Some(location) = unfolding.event(first).location() else { return false };
    let owner = unfolding.locations[location.index()].owner;
    owner.is_some() && unfolding.event(second).is_main() && unfolding.place(second) == owner
}

fn is_dependent(unfolding: &Unfolding, first: EventId, second: EventId) -> bool {
    let pair = kernel_of(unfolding, first).zip(kernel_of(unfolding, second));
    pair.is_some_and(|pair| unfolding.dependent_launches.contains(&pair))
}
