//! What came out of a launch: plain data.

use crate::code::op::{Aligned, Pc};
use crate::memory::Fault;
use crate::order::{Cap, Race};

/// The answer for one launch.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// Why the launch is not proved though nothing was found.
    pub doubts: Vec<Doubt>,
    /// Where the warps stood when a limit ended the run.
    pub stopped_at: Vec<Stuck>,
    pub assumptions: Vec<&'static str>,
    pub schedules: u32,
    /// What reads have seen in these schedules counts, though in another they may see something else.
    pub observed: bool,
    pub covered: Covered,
    /// The answer if the slices are decided.
    pub sliced: Option<Box<Sliced>>,
    /// Orders in which threads take turns, each of which was run; none where nobody does.
    pub orders: u32,
}

/// An answer that holds if every slice is free of races and ends.
#[derive(Clone, Debug)]
pub struct Sliced {
    pub slices: Vec<Slice>,
    pub report: Report,
}

/// Two threads that take a lock, as a litmus test.
#[derive(Clone, Debug)]
pub struct Slice {
    pub name: String,
    pub text: String,
    pub threads: u32,
    /// Lines of the text, counted from 1, with the instruction of the kernel.
    pub lines: Vec<(u32, Pc)>,
}

#[derive(Clone, Debug, Default)]
pub struct Covered {
    pub ctas: u32,
    pub warps: u32,
    pub lanes: u32,
    pub warp_instructions: u64,
    pub lane_instructions: u64,
    pub cells: u64,
    pub strands: u64,
    pub phases: u64,
    pub barriers: u64,
}

impl Covered {
    /// What the run has cost, whatever the machine and its load: a checked cell is as much work as ten lane instructions.
    pub fn cost(&self) -> u64 {
        self.lane_instructions.saturating_add(self.cells.saturating_mul(10))
    }
}

#[derive(Clone, Debug)]
pub enum Finding {
    /// With the readings under which it is one; empty: under all.
    Race {
        race: Race,
        only: Vec<&'static str>,
    },
    OutOfBounds {
        pc: Pc,
        thread: u32,
        fault: Fault,
    },
    Misaligned {
        pc: Pc,
        thread: u32,
        address: u64,
        bytes: u32,
    },
    Hang {
        stuck: Vec<Stuck>,
    },
    Protocol {
        pc: Pc,
        thread: u32,
        what: Protocol,
    },
    Trap {
        pc: Pc,
        thread: u32,
    },
    Assertion {
        pc: Pc,
        thread: u32,
        name: String,
    },
    BadOperand {
        pc: Pc,
        thread: u32,
        why: String,
    },
}

/// Some lanes of a warp that wait for ever, or where they stood when a limit ended the run.
#[derive(Clone, Debug)]
pub struct Stuck {
    pub cta: u32,
    pub warp: u32,
    pub lanes: u32,
    pub pc: Pc,
    pub why: Waiting,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    Barrier {
        id: u32,
        arrived: u32,
        expected: u32,
    },
    Cluster,
    Lanes {
        missing: u32,
    },
    Mbarrier {
        cta: u32,
        at: u64,
        phase: u32,
        pending: i64,
        bytes: i64,
    },
    /// The other warps of its warpgroup.
    Products,
    /// A warp of the other CTA of its pair.
    Peer,
    /// So many free columns of tensor memory.
    Columns {
        count: u32,
    },
    Memory,
    /// All meet at barriers, round after round, and nothing changes.
    Round,
    /// For a write that ends a loop which else goes on for ever.
    Loop,
    /// It can go on.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Protocol {
    /// An operation on memory that is no mbarrier.
    NotAnMbarrier,
    /// `mbarrier.init` where an mbarrier is in use.
    InitialisedTwice,
    /// A plain access or a copy where an mbarrier is in use.
    AccessedAsData,
    /// More arrivals than the phase has pending.
    TooManyArrivals,
    /// `mbarrier.arrive_drop` of the last arrival that later phases expect.
    DropToZero,
    /// The tx-count leaves its range.
    TooManyBytes,
    CountOutOfRange(u64),
    /// A parity that is neither 0 nor 1, before version 9.4.
    NoParity(u64),
    /// `.noComplete` completed the phase.
    Completed,
    BarrierCount {
        id: u32,
        given: u32,
        expected: u32,
    },
    BarrierNumber(u32),
    /// `.red` and other forms at one barrier, in one generation.
    BarrierMixed {
        id: u32,
    },
    /// Lanes of the warp that do not come to an `.aligned` instruction.
    Diverged {
        missing: u32,
        of: Aligned,
    },
    /// Lanes of the warp that have ended before an `.aligned` instruction that takes all of them.
    Ended {
        lanes: u32,
        of: Aligned,
    },
    /// A `setmaxnreg` that so many warps of the warpgroup do not execute.
    RegistersOfPart {
        missing: u32,
    },
    /// A `setmaxnreg` by a warp that need not come after the last one of the others in its warpgroup.
    RegistersUnsynchronised,
    /// Columns of tensor memory that nobody frees.
    ColumnsKept {
        column: u32,
        count: u32,
    },
    /// A `wgmma` of which a warp of the warpgroup has no part.
    Warpgroup {
        missing: u32,
    },
    /// A `wgmma` whose warps give different descriptors.
    DifferentDescriptors,
    /// A wait for something that is no state of this mbarrier, or of a phase that is long over.
    NotAState,
    ClusterTwice,
    ClusterAlone,
    TensorMemory(String),
    /// The CTA may not have started when its shared memory is accessed from another.
    /// `clusterlaunchcontrol.try_cancel` by a CTA that has looked at a refusal.
    CancelAfterRefusal,
    AccessBeforeStart {
        owner: u32,
    },
    /// A register of a `wgmma` that nobody has waited for.
    RegisterInFlight {
        name: String,
    },
    /// No `wgmma.fence` between an access to a register and a product that uses it; without a name, none at all.
    NoWgmmaFence {
        name: Option<String>,
    },
    /// An arrival in a phase before which nobody has waited for the phase before.
    MissingWait,
    /// Bytes that come and that nobody expects, at the end.
    ExcessBytes {
        at: u64,
        bytes: i64,
    },
    /// Bytes that are expected and never come, at the end or where the mbarrier is invalidated.
    MissingBytes {
        at: u64,
        bytes: i64,
    },
    /// The CTA may have ended when its shared memory is accessed from another.
    ExitBeforeAccess {
        owner: u32,
    },
}

/// Why there is no proof.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Doubt {
    /// An instruction without a model was executed.
    Unmodelled {
        pc: Pc,
        text: String,
    },
    /// A function that is not there, and is taken to do nothing.
    Stub {
        pc: Pc,
        name: String,
    },
    /// A value that is not determined decides a branch, an address or a synchronisation.
    Decided {
        pc: Pc,
        by: Cause,
    },
    /// The matching of a barrier or an mbarrier depends on the schedule.
    Matching {
        pc: Pc,
        rule: Rule,
    },
    /// A strong read of a vector, with which writes are not ordered, decides this: its elements are accesses of their own
    /// and need not come from one write (8.2.4).
    Torn {
        pc: Pc,
        decides: Pc,
    },
    /// A wait that counts its rounds, or looks at a clock, while nobody else can go on: it may give up.
    Polls {
        pc: Pc,
    },
    /// An access out of bounds would have ended the kernel, or one to what is no mbarrier is undefined: it was not followed much
    /// further.
    Fault,
    /// A compare-and-swap that failed in this run: in another execution it may swap, and then races with the other instruction.
    MaySwap {
        pc: Pc,
        with: Pc,
    },
    /// Two accesses that an observation may order, and more of those than are kept.
    Unobserved {
        pc: Pc,
        with: Pc,
        cap: Cap,
    },
    /// Accesses were forgotten.
    Crowded,
    Steps,
    Time,
    Memory,
    /// A limit was reached before the readings of the ISA were compared.
    Readings,
    /// The user asked to stop.
    Cancelled,
    /// A launch before this one is not proved, so that what it leaves in memory is not determined.
    Before,
    /// A launch that runs at the same time synchronises with this one through memory.
    Beside,
    /// A launch that runs at the same time races with this one.
    Disturbed,
    /// Threads synchronise through memory in a way that one run does not decide.
    Flags {
        pc: Pc,
    },
    Footprint {
        pc: Pc,
        why: String,
    },
}

impl Doubt {
    /// Whether a run was ended that could have gone on.
    pub fn ends_a_run(&self) -> bool {
        matches!(self, Doubt::Fault | Doubt::Steps | Doubt::Time | Doubt::Memory | Doubt::Cancelled)
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    Float,
    Environment,
    Atomic,
    Clock,
    Stub,
    Wait,
    Unknown,
    Read,
    /// A register that was never written.
    Uninitialised,
    /// The state that an arrival returns.
    Token,
    /// Which columns of tensor memory an allocation gets.
    Columns,
}

/// The conditions under which one run decides the launch (docs/kernels.md).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// An arrival at a barrier whose last generation the thread does not know to be over.
    BarrierGeneration,
    /// An operation on a phase by one who does not know that the phase before is over.
    PhaseUnknown,
    /// A wait that may see the phase after the one it waits for.
    PhaseOvertaken,
    /// Bytes that are expected and not completed, or the other way round.
    PhaseBytes,
    NoComplete,
    /// Lanes that leave out an `.aligned` barrier, and need not have ended when the others of their warp come to it.
    LanesEnd,
    /// An allocation of tensor memory that may have to wait, or not, for others that are not ordered with it.
    Columns,
    /// An access to the shared memory of another CTA that is over in this run before that CTA ends, and need not be in others.
    OwnerEnds,
}
