//! Base relations about events beside program order, from the words of the ISA and the fields of the events. Nothing
//! here asks `fencepost_program::access`, which the engines do.

use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::program::{Cover, HostCall, Place, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, Readers, Unfolding};
use fencepost_program::{EventId, KernelId, LocationId};

use super::event::{has, location, place, target};

/// Whether a relation holds of a pair.
type Holds = fn(&Unfolding, (EventId, &Event), (EventId, &Event)) -> bool;

/// The relations of this file; None for other names.
pub(super) fn relation(name: &str) -> Option<Holds> {
    Some(match name {
        "issue" => |_, (x, _), (_, b)| b.strand.as_ref().is_some_and(|strand| strand.issue == x),
        "so" => |_, (x, _), (_, b)| b.strand.as_ref().is_some_and(|strand| strand.after.contains(&x)),
        "done" => |_, (x, _), (_, b)| b.completes.contains(&x),
        "pipelined" => |_, (_, a), (_, b)| pipelined(a, b),
        "covers" => |unfolding, (_, a), (_, b)| {
            matches!(a.kind, EventKind::Fence) && target(b).is_some_and(|at| covers(unfolding, a, at))
        },
        "scluster" => |unfolding, (_, a), (_, b)| same_cluster(unfolding, a, b),
        "sgpu" => |unfolding, (_, a), (_, b)| match (place(unfolding, a), place(unfolding, b)) {
            (Some(Place::Gpu { gpu, .. }), Some(Place::Gpu { gpu: other, .. })) => gpu == other,
            _ => false,
        },
        "complete" => |_, (_, a), (_, b)| bytes(a).is_some() && bytes(a) == bytes(b),
        "sameop" => |_, (x, a), (y, b)| {
            let operation = |id: EventId, event: &Event| match event.extent {
                Some(extent) => extent.operation,
                None => id,
            };
            location(a).is_some() && location(b).is_some() && operation(x, a) == operation(y, b)
        },
        "decides" => |_, (x, _), (_, b)| match &b.kind {
            EventKind::Omitted(write) => write.decided_by.contains(&x),
            _ => false,
        },
        "told" => |_, (x, a), (y, b)| match &a.kind {
            EventKind::Omitted(write) => match write.through {
                Some(mbarrier) => a.thread == b.thread && x < y && location(b) == Some(mbarrier),
                None => false,
            },
            _ => false,
        },
        "misses" => |_, (_, a), (_, b)| match &a.kind {
            EventKind::Omitted(write) => {
                let is_whose = match write.readers {
                    Readers::All => true,
                    Readers::Own => a.thread == b.thread,
                    Readers::Others => a.thread != b.thread,
                };
                has(b, Tag::Read) && location(b) == Some(write.location) && is_whose
            }
            _ => false,
        },
        "launch" => |unfolding, (_, a), (_, b)| launch(unfolding, a, b),
        "gridwait" => |unfolding, (_, a), (_, b)| {
            has(b, Tag::GridWait)
                && kernels(unfolding, a, b).is_some_and(|pair| unfolding.dependent_launches.contains(&pair))
        },
        "gridstart" => |unfolding, (_, a), (_, b)| match a.call {
            Some(HostCall::Missed(kernel)) => b.call == Some(HostCall::Launch(kernel)),
            _ => {
                (has(a, Tag::Trigger) || has(a, Tag::Exit))
                    && kernels(unfolding, a, b).is_some_and(|pair| unfolding.dependent_launches.contains(&pair))
            }
        },
        "contributed" => |_, (x, _), (_, b)| match &b.kind {
            EventKind::Barrier(barrier) => barrier.contributed.contains(&x),
            _ => false,
        },
        "home" => |unfolding, (_, a), (_, b)| {
            let owner = location(a).and_then(|at| unfolding.locations[at.index()].owner);
            owner.is_some() && b.strand.is_none() && place(unfolding, b) == owner
        },
        _ => return None,
    })
}

/// Stream order, and what a host launches or waits for.
fn launch(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    let of = |event: &Event| event.thread.and_then(|thread| unfolding.threads[thread.index()].kernel);
    let is_behind = |kernel: KernelId, other: KernelId| unfolding.kernel_order.contains(&(kernel, other));
    if let (Some(HostCall::Launch(kernel)), Some(other)) = (a.call, of(b)) {
        return kernel == other || follows(unfolding, kernel, other);
    }
    if let (Some(other), Some(HostCall::Sync(kernel))) = (of(a), b.call) {
        return kernel == other || is_behind(other, kernel);
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

fn in_one_cluster(a: Place, b: Place) -> bool {
    match (a, b) {
        (Place::Gpu { gpu, cluster, .. }, Place::Gpu { gpu: gpu2, cluster: cluster2, .. }) => {
            gpu == gpu2 && cluster == cluster2
        }
        _ => false,
    }
}

fn same_cluster(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    matches!((place(unfolding, a), place(unfolding, b)), (Some(a), Some(b)) if in_one_cluster(a, b))
}

/// The locations an operation spans, as first and number.
fn bytes(event: &Event) -> Option<(LocationId, u32)> {
    let own = target(event)?;
    Some(match event.extent {
        Some(extent) => (extent.first, extent.count),
        None => (own, 1),
    })
}

fn kernels(unfolding: &Unfolding, a: &Event, b: &Event) -> Option<(KernelId, KernelId)> {
    let kernel = |event: &Event| unfolding.threads[event.thread?.index()].kernel;
    Some((kernel(a)?, kernel(b)?))
}
