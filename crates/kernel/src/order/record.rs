//! Accesses that have happened: one record per instruction of a warp or per asynchronous operation, not per byte.

use super::clock::{Object, Time, Warp};
use super::views::{Cta, Times, Views};
use crate::code::op::{Atomic, Pc, Scope};
use crate::code::ty::Ty;
use std::rc::Rc;

pub type RecordId = u32;
pub type StrandId = u32;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Read,
    Write,
    /// Reads and writes, not to be torn.
    Atomic,
    /// A compare-and-swap that failed in this run: it has read (9.7.15.5). In another execution it might swap.
    Attempt,
    /// `mbarrier.init` and `.inval`.
    Initialise,
    /// Any other operation on an mbarrier: they count whatever their scopes say.
    Mbarrier,
    /// `tcgen05.alloc` and `.dealloc`.
    Allocate,
    Deallocate,
}

impl Kind {
    /// It writes in this run.
    pub fn writes(self) -> bool {
        !matches!(self, Kind::Read | Kind::Attempt)
    }

    /// It writes in this run, or might in another.
    pub fn may_write(self) -> bool {
        self != Kind::Read
    }
}

/// Read-modify-writes that leave the same value in whatever order they come: of one operation, one type, and one bound where
/// the operation wraps.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Commutes {
    pub operation: Atomic,
    pub ty: Ty,
    pub bound: u64,
}

/// The way to memory (8.6), and whether the thread itself goes it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Path {
    Generic,
    /// `cp.async`: through the generic proxy, but not in program order.
    GenericStrand(StrandId),
    Async(StrandId),
    /// What `ld.global.nc` and `ld.const` read does not change while the kernel runs (9.7.10.9).
    ReadOnly,
    Tensormap(StrandId),
    TensorMemory(StrandId),
    /// Allocation of tensor memory.
    TensorThread,
}

impl Path {
    pub fn strand(self) -> Option<StrandId> {
        match self {
            Path::GenericStrand(strand)
            | Path::Async(strand)
            | Path::Tensormap(strand)
            | Path::TensorMemory(strand) => Some(strand),
            Path::Generic | Path::ReadOnly | Path::TensorThread => None,
        }
    }

    /// The proxy's name in messages.
    pub fn proxy(self) -> &'static str {
        match self {
            Path::Generic | Path::GenericStrand(_) => "generic",
            Path::Async(_) => "async",
            Path::ReadOnly => "read-only",
            Path::Tensormap(_) => "tensormap",
            Path::TensorMemory(_) | Path::TensorThread => "tensor memory",
        }
    }
}

#[derive(Copy, Clone, Debug)]
pub struct Record {
    pub pc: Pc,
    pub cta: Cta,
    pub warp: Warp,
    pub time: Time,
    pub kind: Kind,
    pub path: Path,
    /// None: weak.
    pub strong: Option<Scope>,
    /// Bytes of an element.
    pub size: u8,
    /// None: what it leaves depends on what came before it, or came behind.
    pub commutes: Option<Commutes>,
    /// Its thread gets what it has read.
    pub returns: bool,
}

/// How one learns that an asynchronous operation is complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Handle {
    /// A wait for its group, by the lanes that started it, each for its own.
    Lanes { warp: Warp, lanes: u32, time: Time, each: bool },
    /// The completion of a phase of an mbarrier, for what these lanes started.
    Phase { object: Object, phase: u32, lanes: u32 },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StrandKind {
    CopyAsync,
    Bulk,
    StoreAsync,
    Wgmma,
    Tcgen05(Tensor),
}

/// What decides whether two tcgen05 operations form a pipeline (9.7.18.6.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Tensor {
    Mma {
        accumulator: u32,
        shape: (u32, u32),
        group: u8,
    },
    /// From 9.4 on, a copy of one thread follows its products.
    Copy {
        is_4x256b: bool,
        group: u8,
        follows_mma: bool,
    },
    Shift {
        group: u8,
    },
    Load,
    Store,
}

/// An asynchronous operation: what was known when it was issued, and how its end is told.
#[derive(Debug)]
pub struct Strand {
    pub kind: StrandKind,
    pub cta: Cta,
    pub warp: Warp,
    pub lanes: u32,
    pub time: Time,
    pub views: Rc<Views>,
    /// A collective operation: all lanes start it together.
    pub collective: bool,
    pub done: Vec<Handle>,
    /// `cp.async.bulk.wait_group.read`: only what it reads.
    pub reads_done: Vec<Handle>,
}

impl Strand {
    pub fn times(&self) -> &Times {
        &self.views.times
    }

    /// Whether its completion carries a fence between the generic and the async proxy (9.7.10.28.2, 9.7.17).
    pub fn fenced_at_completion(&self, tcgen05: bool) -> bool {
        match self.kind {
            StrandKind::Bulk | StrandKind::StoreAsync | StrandKind::Wgmma => true,
            StrandKind::CopyAsync => false,
            StrandKind::Tcgen05(_) => tcgen05,
        }
    }
}

/// Whether the second, issued after the first, does not start before the first is done.
pub fn pipelined(first: Tensor, second: Tensor, same_thread: bool) -> bool {
    match (first, second) {
        (Tensor::Mma { .. }, Tensor::Mma { .. }) => first == second,
        (Tensor::Copy { group: a, .. } | Tensor::Shift { group: a }, Tensor::Mma { group: b, .. })
        | (Tensor::Mma { group: a, .. }, Tensor::Shift { group: b }) => a == b,
        (Tensor::Shift { group: a }, Tensor::Copy { is_4x256b, group: b, .. }) => is_4x256b && a == b,
        (Tensor::Mma { group: a, .. }, Tensor::Copy { follows_mma, group: b, .. }) => {
            follows_mma && same_thread && a == b
        }
        _ => false,
    }
}

/// Whether anything ever waits for such an operation in a pipeline.
pub fn may_begin_pipeline(first: Tensor) -> bool {
    matches!(first, Tensor::Mma { .. } | Tensor::Copy { .. } | Tensor::Shift { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs of 9.7.18.6.2, and what each of them asks for.
    #[test]
    fn pairs_of_tensor_operations_are_pipelined() {
        let mma = |accumulator: u32, n: u32| Tensor::Mma { accumulator, shape: (64, n), group: 1 };
        let copy = |is_4x256b: bool, follows_mma: bool| Tensor::Copy { is_4x256b, group: 1, follows_mma };
        let shift = Tensor::Shift { group: 1 };
        for same_thread in [false, true] {
            assert!(pipelined(mma(0, 8), mma(0, 8), same_thread));
            assert!(!pipelined(mma(0, 8), mma(0, 16), same_thread) && !pipelined(mma(0, 8), mma(32, 8), same_thread));
            assert!(pipelined(copy(false, true), mma(0, 8), same_thread) && pipelined(shift, mma(0, 8), same_thread));
            assert!(pipelined(mma(0, 8), shift, same_thread));
            assert!(pipelined(shift, copy(true, true), same_thread));
            assert!(!pipelined(shift, copy(false, true), same_thread));
            // From 9.4 on, and in one thread.
            assert_eq!(pipelined(mma(0, 8), copy(true, true), same_thread), same_thread);
            assert!(!pipelined(mma(0, 8), copy(true, false), same_thread));
            assert!(!pipelined(copy(true, true), shift, same_thread) && !pipelined(Tensor::Load, shift, same_thread));
        }
        // One kernel has one group, and what breaks that is no pipeline.
        let of_pair = |operation: Tensor| match operation {
            Tensor::Mma { accumulator, shape, .. } => Tensor::Mma { accumulator, shape, group: 2 },
            Tensor::Copy { is_4x256b, follows_mma, .. } => Tensor::Copy { is_4x256b, group: 2, follows_mma },
            Tensor::Shift { .. } => Tensor::Shift { group: 2 },
            other => other,
        };
        for (first, second) in [
            (mma(0, 8), mma(0, 8)),
            (shift, mma(0, 8)),
            (mma(0, 8), shift),
            (shift, copy(true, true)),
            (mma(0, 8), copy(true, true)),
        ] {
            assert!(pipelined(first, second, true) && !pipelined(first, of_pair(second), true), "{first:?} {second:?}");
        }
    }
}
