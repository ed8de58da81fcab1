//! How large a search could be, from the unfolding alone: two to the power of [`Estimate::bits`] candidates. Only a
//! guide for choosing an engine and for what is counted by default; no answer depends on it.

use std::collections::BTreeMap;

use fencepost_program::LocationId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, TraceEnd, Unfolding};

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Traces, reads-from and orders together.
    pub(crate) bits: f64,
    /// Whether some thread can fail to end: in a spin loop, at a barrier, or cut by the unrolling bound.
    pub(crate) may_not_exit: bool,
}

impl Estimate {
    pub(crate) fn new(unfolding: &Unfolding) -> Estimate {
        let traces: f64 = unfolding.threads.iter().map(|thread| log2(thread.traces.len())).sum();
        let mut writes: BTreeMap<LocationId, usize> = BTreeMap::new();
        let mut reads: BTreeMap<LocationId, usize> = BTreeMap::new();
        let mut fences = 0;
        for event in &unfolding.events {
            match event.kind {
                EventKind::Write { location, .. } => *writes.entry(location).or_default() += 1,
                EventKind::Read { location, .. } => *reads.entry(location).or_default() += 1,
                EventKind::Fence if event.tags.has(Tag::Sc) => fences += 1,
                EventKind::Fence | EventKind::Barrier(_) => {}
            }
        }
        let reads_from: f64 = reads
            .iter()
            .map(|(location, &count)| count as f64 * log2(writes.get(location).copied().unwrap_or(1)))
            .sum();
        // The init write comes first: n writes have (n - 1)! orders.
        let orders: f64 = writes.values().map(|&count| (2..count).map(log2).sum::<f64>()).sum();
        let fence_orders: f64 = (2..=fences).map(log2).sum();
        let may_not_exit = unfolding.traces.iter().any(|trace| trace.end != TraceEnd::Exit);
        Estimate { bits: traces + reads_from + orders + fence_orders, may_not_exit }
    }
}

fn log2(number: usize) -> f64 {
    (number.max(1) as f64).log2()
}
