//! Where names lie in the address space: numbers that fit 32-bit registers.
//!
//! Shared memory is laid out as hardware does it, so that address arithmetic of kernels works: each CTA of a cluster has a
//! window of 2^24 bytes, numbered by its rank, and one offset means the same variable in each. `mapa` then replaces the
//! rank, and clearing bit 24 names the even CTA of a pair. The generic address of shared memory is the same number
//! (`cvta` changes nothing).

use fencepost_syntax::sorted::SortedSet;

use crate::program::{Place, Space};

const FIRST_ADDRESS: i128 = 0x1000_0000;
const TENSOR_MEMORY: i128 = 0x2000_0000;
const SHARED: i128 = 0x4000_0000;
const LAST_ADDRESS: i128 = 0xffff_ffff;
pub(crate) const ALIGNMENT: i128 = 256;

/// Bits of a shared-memory address below the CTA's rank.
pub(crate) const RANK_SHIFT: i128 = 24;
/// The rank's bits, shifted down.
pub(crate) const RANK_MASK: i128 = 0xf;
const CLUSTER_BYTES: i128 = (RANK_MASK + 1) << RANK_SHIFT;
/// Tensor memory has 512 columns; the bits above 16 of an address count lanes.
pub(crate) const TENSOR_WINDOW: i128 = 0x0100_0000;
/// The bits of an address in tensor memory that count lanes.
pub(crate) const LANES: i128 = 0x00ff_0000;
const LANE_SHIFT: i128 = 16;
/// Where the number of a half of a quarter, 16 lanes, stands in an address.
pub(crate) const HALF_SHIFT: i128 = 20;

pub(crate) struct Layout {
    /// The CTAs that have threads, ascending.
    ctas: SortedSet<Place>,
    /// The clusters they are in, ascending.
    clusters: SortedSet<(u32, u32)>,
    next: i128,
    next_shared: i128,
    next_column: i128,
}

impl Layout {
    pub(crate) fn new(places: &[Place]) -> Layout {
        let ctas: SortedSet<Place> = places.iter().copied().filter(|place| *place != Place::Host).collect();
        let clusters = ctas.iter().filter_map(|place| cluster(*place)).collect();
        Layout { ctas, clusters, next: FIRST_ADDRESS, next_shared: 0, next_column: 0 }
    }

    pub(crate) fn ctas(&self) -> impl Iterator<Item = Place> {
        self.ctas.iter().copied()
    }

    pub(crate) fn only_cta(&self) -> Option<Place> {
        self.ctas.first().copied().filter(|_| self.ctas.len() == 1)
    }

    /// The CTAs of the cluster this one is in, by rank.
    pub(crate) fn cluster(&self, of: Place) -> impl Iterator<Item = Place> {
        self.ctas().filter(move |other| cluster(*other) == cluster(of))
    }

    /// The index of the CTA among those of its cluster.
    pub(crate) fn rank(&self, place: Place) -> i128 {
        self.cluster(place).position(|other| other == place).map_or(0, |rank| rank as i128)
    }

    /// The clusters of a GPU.
    pub(crate) fn clusters_on(&self, gpu: u32) -> impl Iterator<Item = (u32, u32)> {
        self.clusters.iter().copied().filter(move |(other, _)| *other == gpu)
    }

    /// Where the memory of a CTA begins, if it has room in 32 bits.
    pub(crate) fn window(&self, space: Space, place: Place) -> Option<i128> {
        if space == Space::TensorMemory {
            let index = self.ctas.iter().position(|other| *other == place)? as i128;
            let base = TENSOR_MEMORY + index * TENSOR_WINDOW;
            return (base + TENSOR_WINDOW <= SHARED).then_some(base);
        }
        let cluster = self.clusters.iter().position(|other| Some(*other) == cluster(place))? as i128;
        let rank = self.rank(place);
        let base = SHARED + cluster * CLUSTER_BYTES + (rank << RANK_SHIFT);
        (rank <= RANK_MASK && base <= LAST_ADDRESS).then_some(base)
    }

    /// The shared memory of a CTA that a matrix descriptor describes: bits 0 to 13 are its address without the last four
    /// bits (PTX ISA 9.7.17.5.1.2, 9.7.18.4.1).
    pub(crate) fn described(&self, place: Place, descriptor: i128) -> Option<i128> {
        Some(self.window(Space::Shared, place)? + described_offset(descriptor))
    }

    /// Room for so many bytes in memory that all threads share.
    pub(crate) fn reserve(&mut self, bytes: i128) -> i128 {
        bump(&mut self.next, bytes)
    }

    /// Room in each window of the space; None where it has none.
    pub(crate) fn reserve_in_window(&mut self, space: Space, bytes: i128) -> Option<i128> {
        match space {
            Space::Shared => Some(bump(&mut self.next_shared, bytes)),
            Space::TensorMemory => Some(bump(&mut self.next_column, bytes)),
            Space::Global | Space::Local | Space::Const | Space::Param => None,
        }
    }
}

/// The lane that an address in tensor memory is of, 0 to 127.
pub(crate) fn lane(address: i128) -> u8 {
    ((address >> LANE_SHIFT) & 0x7f) as u8
}

/// The 32 lanes that an address in tensor memory is of, 0 to 3.
pub(crate) fn quarter(address: i128) -> u8 {
    lane(address) / 32
}

/// Whether an address is of shared memory.
pub(crate) const FIRST_SHARED: i128 = SHARED;

/// The offset into a CTA's shared memory that a matrix descriptor holds.
pub(crate) fn described_offset(descriptor: i128) -> i128 {
    (descriptor & 0x3fff) << 4
}

fn bump(next: &mut i128, bytes: i128) -> i128 {
    let at = *next;
    *next += (bytes / ALIGNMENT + 1) * ALIGNMENT;
    at
}

fn cluster(place: Place) -> Option<(u32, u32)> {
    match place {
        Place::Gpu { gpu, cluster, .. } => Some((gpu, cluster)),
        Place::Host => None,
    }
}
