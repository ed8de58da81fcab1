//! What a warning is about: a rule of the ISA that a program breaks whatever memory does, or is likely to break. One variant
//! per rule, with what it is about; `tell::words` makes the sentences. JSON has the sentences and the names of the rules.

use crate::finding::FindingKind;
use crate::site::{Memory, ThreadName};
use crate::why::Why;

/// What is wrong, or probably is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warned {
    /// The text alone shows it.
    Text(TextRule),
    /// A run of the threads shows it.
    Run(RunRule),
    /// A flag of the model that is no race.
    Flag {
        flag: String,
        kind: FindingKind,
    },
    /// Bytes in a phase of an mbarrier that nobody uses.
    BytesUnexpected {
        mbarrier: String,
        phase: u32,
        bytes: u32,
    },
    Torn(Torn),
}

/// What the text alone shows (`program::lint`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextRule {
    /// Barriers of one CTA that do not meet: what is refused there.
    BarriersDiffer {
        what: String,
    },
    /// An `.aligned` instruction that only some lanes of a warp come to.
    Divergent {
        form: String,
    },
    NothingStarted(GroupKind),
    NothingCommitted(GroupKind),
    AllLeftInFlight {
        committed: u64,
        left: u32,
    },
    Uncommitted(GroupKind),
    ReadWaitPublishes,
    Newer {
        form: String,
        since: Version,
        stated: Version,
    },
    GrowingAllocation {
        count: u32,
        before: u32,
    },
    TargetLacks {
        form: String,
        needed: String,
        target: String,
    },
    RemoteArriveScope,
    RemoteWaitScope,
    MapNotGlobal,
    FenceOfNothing {
        memory: Memory,
    },
    Unawaited {
        kernel: u32,
    },
    RelaxedWait,
    MisalignedMbarrier {
        address: String,
    },
    MisalignedCopy {
        address: String,
        wanted: i128,
    },
    Unrecorded {
        event: String,
        recorded_behind: u32,
        waits: u32,
    },
    OtherQuarter {
        warp: i128,
        quarter: u8,
    },
    TwoQuarters {
        thread: ThreadName,
        quarter: u8,
        other: u8,
    },
    TensorMapSize {
        bytes: i128,
    },
    ColumnCount,
}

/// What is counted in groups of its own.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum GroupKind {
    CpAsync,
    Bulk,
    Wgmma,
}

/// Of the PTX ISA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Version {
    pub major: u8,
    pub minor: u8,
}

/// What a run of the threads shows (`program::unfolding::HazardKind`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunRule {
    RegisterInFlight,
    NoRegisterFence,
    ClusterArriveTwice,
    ClusterWaitAlone,
    Misplaced,
    OutsideWindow,
    MbarrierElsewhere,
    UnpairedCollective,
    AllocAfterRelinquish,
    DeallocatedCount,
    NeverDeallocated,
    MixedCtaGroup,
}

/// Only a morally strong read is promised a whole value (PTX ISA 8.10.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Torn {
    /// Mixtures of the bytes of several values were not searched.
    NotSearched { location: String, race: Racing, why: NotCut },
    /// An outcome needs a read that mixes the bytes of several writes.
    Read { by: ThreadName, text: String, parts: Vec<TakenBytes> },
    /// An outcome needs a final value put together of several writes.
    Final { location: String },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Racing {
    Shown,
    Possible,
}

/// Why memory cannot be cut into the bytes that vary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotCut {
    NoBytes {
        location: String,
    },
    TensorMemory {
        location: String,
    },
    UnknownInitialValues,
    HoldsAddress {
        location: String,
    },
    Asynchronous {
        location: String,
    },
    ValuesUnknown {
        location: String,
    },
    NoAddress {
        location: String,
    },
    /// The program was changed since it was read.
    NotOfText,
    PartsDiffer,
    /// The text with the cuts has something that is not modelled.
    Unsupported {
        what: String,
    },
    /// A condition that is no comparison with a constant.
    NotConstant {
        condition: String,
    },
    SignedOrder,
    /// Nothing was looked at after the cut.
    Refused(Option<Box<Why>>),
}

/// Bytes of a read, and who wrote them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenBytes {
    pub start: u32,
    pub end: u32,
    /// None for the initial value.
    pub from: Option<WriteLine>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteLine {
    pub thread: ThreadName,
    pub line: u32,
}
