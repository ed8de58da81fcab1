//! When two threads, or two of their events, look the same to every static relation of a model: the part that concerns
//! strands, covers, extents and kernels. Both ways of breaking symmetry ask this.

use fencepost_program::program::Cover;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_program::{EventId, ThreadId};

/// Whether launches relate both threads to everything else in the same way. Threads of different kernels never are.
pub(super) fn same_kernel(unfolding: &Unfolding, a: ThreadId, b: ThreadId) -> bool {
    unfolding.threads[a.index()].kernel == unfolding.threads[b.index()].kernel
}

/// Whether the two events, of different threads, have the same place in the same asynchronous operation, cover the same
/// accesses and belong to the same shape of operation. `rename` leads from events of the first thread to those of the
/// second.
pub(super) fn same_beside(
    unfolding: &Unfolding,
    a: &Event,
    b: &Event,
    rename: &dyn Fn(EventId) -> Option<EventId>,
) -> bool {
    let all = |left: &[EventId], right: &[EventId]| {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| rename(*a) == Some(*b))
    };
    let strand = match (&a.strand, &b.strand) {
        (None, None) => true,
        (Some(left), Some(right)) => {
            rename(left.issue) == Some(right.issue) && all(&left.after, &right.after) && left.tensor == right.tensor
        }
        _ => false,
    };
    let extent = match (a.extent, b.extent) {
        (None, None) => true,
        (Some(left), Some(right)) => {
            rename(left.operation) == Some(right.operation) && (left.first, left.count) == (right.first, right.count)
        }
        _ => false,
    };
    let group = match (a.group, b.group) {
        (None, None) => true,
        (Some(left), Some(right)) => rename(left) == Some(right),
        _ => false,
    };
    strand
        && extent
        && group
        && a.call == b.call
        && all(&a.completes, &b.completes)
        && a.cover == b.cover
        && covers_alike(unfolding, a, b)
}

/// What a fence about shared memory covers depends on where its thread runs.
fn covers_alike(unfolding: &Unfolding, a: &Event, b: &Event) -> bool {
    match a.cover {
        Cover::Everything | Cover::Global | Cover::Locations(_) => true,
        Cover::SharedCta | Cover::SharedCluster => {
            let place = |event: &Event| event.thread.map(|thread| unfolding.threads[thread.index()].place);
            place(a) == place(b)
        }
    }
}
