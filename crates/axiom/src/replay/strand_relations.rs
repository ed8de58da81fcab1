//! Base relations about events beside program order, from the words of the ISA and the fields of the events. Nothing
//! here asks `fencepost_program::access`, which the engines do.

use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::program::{Cover, HostCall, Place, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, OmittedWrite, Readers, Unfolding};
use fencepost_program::{EventId, KernelId, LocationId};

use super::event::{has, location, place, target};

/// How a relation is told.
pub(super) enum Definition {
    /// An event names those that are related to it.
    Named(fn(&Event) -> &[EventId]),
    /// A test of two events. Of most relations few events can be the first or the second: `from` and `to` say which can,
    /// for the others need not be asked.
    Test { from: Side, to: Side, holds: Holds },
}

/// Whether an event can stand on one side of a relation.
type Side = fn(&Unfolding, &Event) -> bool;
/// Whether a relation holds of a pair.
type Holds = fn(&Unfolding, (EventId, &Event), (EventId, &Event)) -> bool;

/// The relations of this file; None for other names.
pub(super) fn definition(name: &str) -> Option<Definition> {
    use Definition::{Named, Test};
    Some(match name {
        "issue" => Named(|b| b.strand.as_ref().map_or(&[], |strand| std::slice::from_ref(&strand.issue))),
        "so" => Named(|b| b.strand.as_ref().map_or(&[], |strand| &strand.after)),
        "done" => Named(|b| &b.completes),
        "decides" => Named(|b| match &b.kind {
            EventKind::Omitted(write) => &write.decided_by,
            _ => &[],
        }),
        "contributed" => Named(|b| match &b.kind {
            EventKind::Barrier(barrier) => &barrier.contributed,
            _ => &[],
        }),
        "pipelined" => Test { from: is_tensor, to: is_tensor, holds: |_, (_, a), (_, b)| pipelined(a, b) },
        "covers" => Test {
            from: |_, a| matches!(a.kind, EventKind::Fence),
            to: |_, b| target(b).is_some(),
            holds: |unfolding, (_, a), (_, b)| target(b).is_some_and(|at| covers(unfolding, a, at)),
        },
        "told" => Test {
            from: |_, a| matches!(&a.kind, EventKind::Omitted(write) if write.through.is_some()),
            to: |_, b| location(b).is_some(),
            holds: |_, (x, a), (y, b)| match &a.kind {
                EventKind::Omitted(write) => a.thread == b.thread && x < y && location(b) == write.through,
                _ => false,
            },
        },
        "misses" => Test {
            from: |_, a| matches!(a.kind, EventKind::Omitted(_)),
            to: |_, b| has(b, Tag::Read),
            holds: |_, (_, a), (_, b)| matches!(&a.kind, EventKind::Omitted(write) if misses(a, write, b)),
        },
        "launch" => {
            Test { from: is_of_a_grid, to: is_of_a_grid, holds: |unfolding, (_, a), (_, b)| launch(unfolding, a, b) }
        }
        "gridwait" => Test {
            from: |_, _| true,
            to: |_, b| has(b, Tag::GridWait),
            holds: |unfolding, (_, a), (_, b)| is_dependent(unfolding, a, b),
        },
        "gridstart" => Test {
            from: |_, a| matches!(a.call, Some(HostCall::Missed(_))) || has(a, Tag::Trigger) || has(a, Tag::Exit),
            to: |_, _| true,
            holds: |unfolding, (_, a), (_, b)| match a.call {
                Some(HostCall::Missed(kernel)) => b.call == Some(HostCall::Launch(kernel)),
                _ => is_dependent(unfolding, a, b),
            },
        },
        "home" => Test {
            from: |unfolding, a| owner(unfolding, a).is_some(),
            to: |_, b| b.strand.is_none(),
            holds: |unfolding, (_, a), (_, b)| place(unfolding, b) == owner(unfolding, a),
        },
        _ => return None,
    })
}

fn is_tensor(_: &Unfolding, event: &Event) -> bool {
    event.strand.as_ref().is_some_and(|strand| strand.tensor.is_some())
}

/// Where the memory lies that an event accesses, if it is a CTA's own.
fn owner(unfolding: &Unfolding, event: &Event) -> Option<Place> {
    unfolding.locations[location(event)?.index()].owner
}

/// Whether a read is one of those that a write is not made for.
fn misses(a: &Event, write: &OmittedWrite, b: &Event) -> bool {
    let is_whose = match write.readers {
        Readers::All => true,
        Readers::Own => a.thread == b.thread,
        Readers::Others => a.thread != b.thread,
    };
    location(b) == Some(write.location) && is_whose
}

/// Belongs to a kernel, or is a host's call about one.
fn is_of_a_grid(unfolding: &Unfolding, event: &Event) -> bool {
    event.call.is_some() || kernel(unfolding, event).is_some()
}

/// Whether the kernel of the second may start before the kernel of the first has ended.
fn is_dependent(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    kernels(unfolding, a, b).is_some_and(|pair| unfolding.dependent_launches.contains(&pair))
}

/// Stream order, and what a host launches or waits for.
fn launch(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    let is_behind = |kernel: KernelId, other: KernelId| unfolding.kernel_order.contains(&(kernel, other));
    if let (Some(HostCall::Launch(launched)), Some(other)) = (a.call, kernel(unfolding, b)) {
        return launched == other || follows(unfolding, launched, other);
    }
    if let (Some(other), Some(HostCall::Sync(awaited))) = (kernel(unfolding, a), b.call) {
        return awaited == other || is_behind(other, awaited);
    }
    kernels(unfolding, a, b).is_some_and(|(kernel, other)| is_behind(kernel, other))
}

/// Whether a chain of launches, of either kind, leads from one kernel to the other.
fn follows(unfolding: &Unfolding, kernel: KernelId, other: KernelId) -> bool {
    let edges = unfolding.kernel_order.iter().chain(&unfolding.dependent_launches);
    // Launches have no cycles: `lower::launches` refuses those.
    edges.filter(|(_, to)| *to == other).any(|(from, _)| *from == kernel || follows(unfolding, kernel, *from))
}

/// PTX ISA 9.7.18.6.2: the pairs of the list, each with equal `.cta_group`.
fn pipelined(a: &Event, b: &Event) -> bool {
    let tensor = |event: &Event| event.strand.as_ref().and_then(|strand| strand.tensor);
    let (Some(first), Some(second)) = (tensor(a), tensor(b)) else { return false };
    if first.group != second.group {
        return false;
    }
    match first.kind {
        // Into a `mma` with the same accumulator and shape, and into a shift.
        TensorKind::Mma => match second.kind {
            TensorKind::Mma => {
                first.accumulator.is_some() && (first.accumulator, first.shape) == (second.accumulator, second.shape)
            }
            TensorKind::Shift => true,
            TensorKind::Cp { follows_mma, .. } => follows_mma && a.thread == b.thread,
            TensorKind::Ld | TensorKind::St => false,
        },
        TensorKind::Cp { .. } => second.kind == TensorKind::Mma,
        TensorKind::Shift => matches!(second.kind, TensorKind::Mma | TensorKind::Cp { is_4x256b: true, .. }),
        TensorKind::Ld | TensorKind::St => false,
    }
}

/// PTX ISA 9.7.15.4: by state space and owner of the object, or by the object itself.
fn covers(unfolding: &Unfolding, fence: &Event, at: LocationId) -> bool {
    let object = &unfolding.locations[at.index()];
    let is_shared = object.space == Some(Space::Shared);
    match &fence.cover {
        Cover::Everything => true,
        Cover::Global => object.space.is_none_or(|space| space == Space::Global),
        Cover::SharedCta => {
            is_shared && object.owner.is_none_or(|owner| place(unfolding, fence).is_none_or(|own| own == owner))
        }
        Cover::SharedCluster => {
            let near = |owner: Place| place(unfolding, fence).is_none_or(|own| in_one_cluster(own, owner));
            is_shared && object.owner.is_none_or(near)
        }
        Cover::Locations(locations) => locations.contains(&at),
    }
}

pub(super) fn in_one_cluster(a: Place, b: Place) -> bool {
    match (a, b) {
        (Place::Gpu { gpu, cluster, .. }, Place::Gpu { gpu: gpu2, cluster: cluster2, .. }) => {
            gpu == gpu2 && cluster == cluster2
        }
        _ => false,
    }
}

fn kernel(unfolding: &Unfolding, event: &Event) -> Option<KernelId> {
    unfolding.threads[event.thread?.index()].kernel
}

fn kernels(unfolding: &Unfolding, a: &Event, b: &Event) -> Option<(KernelId, KernelId)> {
    Some((kernel(unfolding, a)?, kernel(unfolding, b)?))
}
