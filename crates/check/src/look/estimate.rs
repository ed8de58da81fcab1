//! How large a search could be, from the unfolding alone: two to the power of [`Estimate::bits`] candidates. Only a
//! guide for choosing an engine and for what is counted by default; no answer depends on it.

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, TraceEnd, Unfolding};
use fencepost_syntax::few::Few;

#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Traces, reads-from and orders together.
    pub bits: f64,
    /// Whether some thread can fail to end: in a spin loop, at a barrier, or cut by the unrolling bound.
    pub may_not_exit: bool,
}

impl Estimate {
    pub fn new(unfolding: &Unfolding) -> Estimate {
        let traces: f64 = unfolding.threads.iter().map(|thread| log2(thread.traces.len())).sum();
        // By location: writes and reads.
        let mut accesses: Few<(usize, usize), 8> = Few::filled((0, 0), unfolding.locations.len());
        let mut fences = 0;
        for event in &unfolding.events {
            match event.kind {
                EventKind::Write { location, .. } => accesses[location.index()].0 += 1,
                EventKind::Read { location, .. } => accesses[location.index()].1 += 1,
                EventKind::Fence if event.tags.has(Tag::Sc) => fences += 1,
                EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => {}
            }
        }
        let reads_from: f64 = accesses.iter().map(|&(writes, reads)| reads as f64 * log2(writes)).sum();
        // The init write comes first: n writes have (n - 1)! orders.
        let orders: f64 = accesses.iter().map(|&(writes, _)| (2..writes).map(log2).sum::<f64>()).sum();
        let fence_orders: f64 = (2..=fences).map(log2).sum();
        let may_not_exit = unfolding.traces.iter().any(|trace| trace.end != TraceEnd::Exit);
        Estimate { bits: traces + reads_from + orders + fence_orders, may_not_exit }
    }
}

/// Logarithms of small numbers, which most are.
const SMALL: [f64; 12] = {
    let mut table = [0.0; 12];
    let mut number = 1;
    while number < table.len() {
        table[number] = computed(number);
        number += 1;
    }
    table
};

fn log2(number: usize) -> f64 {
    SMALL.get(number).copied().unwrap_or_else(|| computed(number))
}

/// To seven digits, bit by bit: squaring a number doubles its logarithm. The system's `log2` is in a library of its
/// own, which takes longer to load than the checker to answer some tests. That of 0 is not asked for.
const fn computed(number: usize) -> f64 {
    let whole = number.ilog2();
    if number.is_power_of_two() {
        return whole as f64;
    }
    let mut rest = number as f64 / (1_u64 << whole) as f64;
    let mut bits = whole as f64;
    let mut bit = 1.0;
    let mut digits = 0;
    while digits < 24 {
        rest *= rest;
        bit /= 2.0;
        if rest >= 2.0 {
            rest /= 2.0;
            bits += bit;
        }
        digits += 1;
    }
    bits
}
