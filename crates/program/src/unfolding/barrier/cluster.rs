//! Phases of `barrier.cluster` (PTX ISA 9.7.15.3). Each thread arrives once per phase and then waits for it, so that its
//! nth arrive belongs to the nth phase and a wait is for the phase of the arrive before it. A phase is complete when every
//! thread of the cluster has arrived in it or exited; no order of arrivals makes a difference.

use crate::program::{BarrierKind, BarrierLevel, Place, Scope};
use crate::unfolding::BarrierEvent;
use crate::unfolding::access::includes;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Phase {
    /// Any thread of the cluster; the same one for all its phases.
    cluster: Place,
    /// None: a wait without an arrive before it, which the ISA does not define, and which no one completes.
    number: Option<u32>,
}

impl Phase {
    pub(super) fn includes(self, place: Place) -> bool {
        includes(Scope::Cluster, self.cluster, place)
    }
}

/// The phase of an operation, after so many arrives of its thread.
pub(super) fn phase(barrier: &BarrierEvent, place: Place, arrivals: &mut u32) -> Option<Phase> {
    if barrier.level != BarrierLevel::Cluster {
        return None;
    }
    *arrivals += u32::from(barrier.kind == BarrierKind::Arrive);
    let cluster = match place {
        Place::Gpu { gpu, cluster, .. } => Place::Gpu { gpu, cluster, cta: 0 },
        Place::Host => Place::Host,
    };
    Some(Phase { cluster, number: arrivals.checked_sub(1) })
}
