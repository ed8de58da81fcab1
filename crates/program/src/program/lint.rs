//! Rules of the ISA that a text breaks, or is likely to: found without any exploration. The sentences are made by those who
//! tell of them.

use fencepost_syntax::Span;

use super::{Space, Version};

/// A rule of the ISA that the text breaks, or is likely to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lint {
    pub span: Span,
    pub what: LintKind,
    /// Of the PTX ISA: "9.7.15.16".
    pub section: &'static str,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LintKind {
    /// Barriers of one CTA that do not meet: what is refused there.
    BarriersDiffer {
        what: String,
    },
    /// An `.aligned` instruction that only some lanes of a warp come to.
    Divergent {
        form: String,
    },
    /// A wait for groups of a thread that has started nothing.
    NothingStarted(GroupKind),
    /// A wait for groups that nothing was committed to.
    NothingCommitted(GroupKind),
    /// A wait that leaves as many groups in flight as there are.
    AllLeftInFlight {
        committed: usize,
        left: u32,
    },
    /// An operation that no commit follows.
    Uncommitted(GroupKind),
    /// `wait_group.read`, and then a release to the GPU.
    ReadWaitPublishes,
    /// A form that came with a newer version than the text states.
    Newer {
        form: String,
        since: Version,
        stated: Version,
    },
    /// More columns of tensor memory than were allocated before.
    GrowingAllocation {
        count: u32,
        before: u32,
    },
    /// A form that the stated target lacks.
    TargetLacks {
        form: String,
        needed: String,
        target: String,
    },
    /// An arrive on the mbarrier of another CTA with scope `.cta`.
    RemoteArriveScope,
    /// A wait with scope `.cta` for an arrive of another CTA.
    RemoteWaitScope,
    /// A tensor map that is acquired and is not in global memory.
    MapNotGlobal,
    /// A proxy fence about a state space in which the test has nothing.
    FenceOfNothing {
        space: Space,
    },
    /// A kernel that is let start early, and does not wait.
    Unawaited {
        kernel: u32,
    },
    /// A relaxed wait, and accesses behind it without an acquire fence.
    RelaxedWait,
    MisalignedMbarrier {
        address: String,
    },
    MisalignedCopy {
        address: String,
        wanted: i128,
    },
    /// A kernel that waits for an event before it is recorded.
    Unrecorded {
        event: String,
        recorded_behind: u32,
        waits: u32,
    },
    /// An address of another quarter of the lanes than the warp reaches.
    OtherQuarter {
        warp: i128,
        quarter: u8,
    },
    /// Addresses of two quarters in one thread.
    TwoQuarters {
        thread: String,
        quarter: u8,
        other: u8,
    },
    TensorMapSize {
        bytes: i128,
    },
    ColumnCount,
}

/// What is counted in groups of its own (PTX ISA 9.7.10.28.3, 9.7.10.28.6, 9.7.17.7).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum GroupKind {
    CpAsync,
    Bulk,
    Wgmma,
}

impl LintKind {
    /// Stable: expectations name it.
    pub fn name(&self) -> &'static str {
        match self {
            LintKind::BarriersDiffer { .. } => "barrier-count",
            LintKind::Divergent { .. } => "divergent-aligned",
            LintKind::NothingStarted(_) | LintKind::AllLeftInFlight { .. } => "wait-of-nothing",
            LintKind::NothingCommitted(_) | LintKind::Uncommitted(_) => "missing-commit",
            LintKind::ReadWaitPublishes => "read-wait-publishes",
            LintKind::Newer { .. } => "newer-version",
            LintKind::GrowingAllocation { .. } => "growing-allocation",
            LintKind::TargetLacks { .. } => "missing-target",
            LintKind::RemoteArriveScope => "remote-arrive-scope",
            LintKind::RemoteWaitScope => "remote-wait-scope",
            LintKind::MapNotGlobal => "map-not-global",
            LintKind::FenceOfNothing { .. } => "fence-of-nothing",
            LintKind::Unawaited { .. } => "unawaited-launch",
            LintKind::RelaxedWait => "relaxed-wait",
            LintKind::MisalignedMbarrier { .. } | LintKind::MisalignedCopy { .. } => "misaligned",
            LintKind::Unrecorded { .. } => "unrecorded-event",
            LintKind::OtherQuarter { .. } | LintKind::TwoQuarters { .. } => "lane-quarter",
            LintKind::TensorMapSize { .. } => "tensormap-size",
            LintKind::ColumnCount => "column-count",
        }
    }
}
