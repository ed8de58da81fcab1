//! Why something is missing: one variant per reason, with the places and numbers that it is about. `tell::words` makes the
//! sentences. The groups follow the mechanisms of the ISA; in JSON a reason is an object with a `kind`.

use crate::site::{AccessSite, Memory, Proxy, Scope, Site, ThreadName};

/// Declares groups of reasons.
macro_rules! reasons {
    ($($(#[$about:meta])* $group:ident { $($(#[$said:meta])* $variant:ident $({ $($field:ident : $type:ty),* $(,)? })?),* $(,)? })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
            #[serde(tag = "kind", rename_all = "kebab-case")]
            pub enum $group { $($(#[$said])* $variant $({ $($field: $type),* })?),* }

            impl From<$group> for Reason {
                fn from(reason: $group) -> Reason {
                    Reason::$group(reason)
                }
            }
        )*

        /// Why something is missing.
        #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(untagged)]
        pub enum Reason { $($(#[$about])* $group($group)),* }
    };
}

reasons! {
    /// An instruction that is not strong enough (PTX ISA 8.8, 8.9.3).
    Strength {
        Relaxed { at: Site },
        /// A barrier of a cluster that orders no memory.
        RelaxedBarrier { at: Site },
        Weak { at: Site },
        /// It may happen while the other access does.
        WeakMeanwhile { at: Site },
        OnlyVolatile { at: Site },
        AcquiresNothing { at: Site },
        ReleasesNothing { at: Site },
        /// A `red`.
        ReturnsNothing { at: Site },
        OrdersNothing { at: Site },
        NotSequentiallyConsistent { at: Site },
        /// A load through the read-only path.
        ReadOnly { at: Site },
        /// A fence between a write and a later read.
        WritesThenReads { at: Site },
        NothingKeeps { first: Site, second: Site },
        NoFenceScBetween { first: Site, second: Site },
    }
    /// A scope that leaves a thread out (PTX ISA 8.5).
    Scoping {
        /// What the instruction says, and what the two threads share.
        ScopeTooNarrow { at: Site, scope: Option<Scope>, shared: Scope },
        ScopeNarrow { at: Site },
    }
    /// Fences between proxies, and of `tcgen05` (PTX ISA 8.6, 9.7.15.4, 9.7.18.6.4).
    Fencing {
        NoProxyFence { from: Site, from_proxy: Proxy, to: Site, to_proxy: Proxy, remark: Option<FenceRemark> },
        FenceOfAliases { fence: Site },
        FenceOfOtherMemory { fence: Site, memory: Memory },
        FenceOfOtherProxy { fence: Site },
        HalfFence { fence: Site, lacking: ThreadName },
        AsyncProxiesOfTwoCtas,
        TwoVirtualAddresses,
        FenceInCtaToo { other: ThreadName, access: ThreadName },
        CopiesArriveUnfenced { arrival: Site },
        NotOrderedBeforeSynchronisation { thread: ThreadName },
        NotOrderedAfterSynchronisation { thread: ThreadName },
    }
    /// Waits for asynchronous operations and for kernels (PTX ISA 9.7.10.28.1, 9.7.17.7, 9.7.18.6.4).
    Waiting {
        NothingWaitsFor { operation: Site },
        WaitsUntilRead { wait: Site, operation: Site },
        LeavesInFlight { wait: Site, groups: i64, operation: Site },
        LeavesGroups { wait: Site, groups: i64 },
        WaitsForReads { wait: Site },
        Uncommitted { copy: Site },
        CopiesNotAwaited { before: Site },
        ArrivesWithout { arrival: Site, operation: Site },
        WaitsForNoStores { wait: Site },
        WaitsForNoLoads { wait: Site },
        TellsOfReadsOnly { commit: Site },
        CommitsOwnOperations { commit: Site, operation: Site },
        DeallocatesTooEarly { deallocation: Site },
        KernelMayStartEarly { dependent: ThreadName, before: ThreadName },
        KernelExitOrdersNothing { dependent: ThreadName, before: ThreadName },
        KernelsUnordered { kernel: ThreadName, before: ThreadName },
        NoWaitForKernel { thread: ThreadName },
    }
    /// Arrivals on mbarriers and waits for them (PTX ISA 9.7.15.16).
    Arriving {
        NoWaitForArrival { waiter: ThreadName, arrival: Site, mbarrier: String },
        NoWaitForCompletion { waiter: ThreadName, operation: Site, mbarrier: String },
        NoWaitForCommit { commit: Site, mbarrier: String },
        NoWaitInLoop { thread: ThreadName, mbarrier: String },
        NobodyWaits { arrival: Site, mbarrier: String },
        NeverArrives { waiter: ThreadName, user: ThreadName, mbarrier: String },
        TooFewArrive { waiter: ThreadName, mbarrier: String },
        CountTooLarge { mbarrier: String },
        PhaseOverWithoutArrival { threads: Vec<ThreadName>, mbarrier: String },
        ArrivesBeforeCopies { arrival: Site },
        NothingTells { operation: Site, waiter: ThreadName, mbarrier: String },
        TokenWithoutArrival { wait: Site, token: String },
        NeverInitialised { waiter: ThreadName, mbarrier: String },
        WrongMbarrier { at: Site, uses: MbarrierUse, mbarrier: String, meant: String },
        AskedOnce { at: Site, uses: MbarrierUse, mbarrier: String },
    }
    /// Bytes that an mbarrier is told of (PTX ISA 9.7.15.16).
    Announcing {
        AnnouncesOther { at: Site, announced: i64, copied: i64 },
        AnnouncesNone { at: Site, copied: i64 },
        AnnouncesMore { at: Site, announced: i64, come: i64 },
        OverBeforeAnnounced { at: Site, mbarrier: String },
        Unannounced { copy: Site, bytes: i64, mbarrier: String },
        MulticastLeavesOut { copy: Site, cta: u32, waiter: ThreadName },
    }
    /// Parities of waits, and loops that count (PTX ISA 9.7.15.16).
    Parity {
        OneParity { wait: Site, mbarrier: String },
        ParityNeverChanges { wait: Site, mbarrier: String, register: String },
        WrongFirstParity { wait: Site, mbarrier: String, register: String },
        ParityOfRound { wait: Site, mbarrier: String, stages: i64 },
        ParityOfOtherRounds { wait: Site, mbarrier: String, changes: i64, used: i64 },
        AsksForRoundBefore { wait: Site, mbarrier: String },
        AsksForPhaseBefore { wait: Site },
        FreshPhase { wait: Site },
        PhaseNeverComes { wait: Site },
        LoopsCountApart { counts: Site, number: i64, other: ThreadName, its: i64 },
    }
    /// Instructions that stand too early or too late.
    Position {
        TellsBeforeBytes { at: Site, other: Site },
        TellsTooEarly { at: Site, other: Site },
        AnnouncesTooLate { at: Site, other: Site },
        CoversTooEarly { at: Site, other: Site },
        TooLate { at: Site, other: Site },
        MessageTooEarly { at: Site },
        LineTooEarly { at: Site },
        BeforeWait { access: Site, wait: Site },
    }
    /// Barriers and flags (PTX ISA 8.8, 9.7.15.1, 9.7.15.3).
    Meeting {
        /// With the other threads, where none is named; after a place of the first, where one is known.
        NotSynchronised { thread: ThreadName, with: Option<ThreadName>, after: Option<Site> },
        NotBeforeNextRound { thread: ThreadName, with: ThreadName },
        OnlyArrives { at: Site },
        BarrierLeftOut { thread: ThreadName, barrier: Site },
        FlagNotRead { reader: ThreadName, flag: String, write: Site },
        FlagReadOnce { read: Site },
        LockTriedOnce { attempt: Site },
        ResultNotCompared { read: Site, register: String, write: Site },
        FlagNeverSet { read: Site, flag: String },
        GoesRoundForGood { branch: Site, register: String },
    }
    /// What is said of two accesses beside, or instead of, what a piece is for (PTX ISA 8.9.5).
    Ordering {
        /// In base causality order, but: the reasons that follow.
        ComesFirst { first: Site, proxy: Proxy },
        NotThroughBothProxies { first: Site },
        NothingOrders { first: Site, second: Site },
        /// The time limit left no time to look for what would.
        NothingOrdersInTime { first: Site, second: Site },
        LaunchMissed { wait: Site },
        AtomicsOfTwoProxies { first: Site, first_proxy: Proxy, second: Site, second_proxy: Proxy },
        TensorOperationNotAwaited { operation: Site },
        NotAwaitedBeforeOther { operation: Site },
        NothingOrdersTheTwo,
        NoSynchronisation { first: ThreadName, second: ThreadName },
        NoBarrierOrMessage { first: ThreadName, second: ThreadName },
        NoMessageInScope { first: ThreadName, second: ThreadName },
        OverlapInPart { first: AccessSite, second: AccessSite },
        /// In this order no execution has the outcome that the test asks for.
        OutcomeRuledOut,
        /// A question is answered wrongly then too.
        AnswerStillWrong,
        /// `bar.warp.sync` at these lines, and the reading that it depends on.
        WarpBarrier { lines: Vec<u32>, reading: String, section: String },
    }
    /// Memory and registers outside their life (PTX ISA 9.7.15.3, 9.7.17.5.2, 9.7.18.7.1).
    Lifetime {
        OwnCtaMayExit { access: AccessSite },
        CtaMayExit { access: AccessSite, cta: u32 },
        CtaMayNotHaveStarted { access: AccessSite, cta: u32 },
        NoAllocation { access: Site, origin: Option<AddressOrigin> },
        ArrivesTwice { at: Site },
        WaitsAlone { at: Site },
        OperandMisplaced { at: Site, rule: OperandRule, section: String },
        OutsideOwnWindow { at: Site, location: String },
        AsksAfterRefusal { asks: Site, saw: Site },
        DeallocatedTwice,
        BothDeallocate { first: Site, second: Site },
        UsedAfterDeallocation { at: Site },
        ProductInFlight { product: Site, section: String },
        NoFenceBeforeFirstProduct { product: Site, section: String },
        NoFenceBeforeProduct { earlier: Site, product: Site, section: String },
    }
    /// How an outcome comes about that must not be.
    Outcome {
        Misses { read: Site, write: Site },
        /// The communication of a critical cycle.
        CriticalCycle { steps: Vec<CycleStep> },
        NothingRulesOut,
        MayComeBefore { first: Site, second: Site },
        OverBefore { read: Site, write: Site },
        /// Runs in which the threads take turns end so too.
        EndsSoInTurns,
        NothingMakesItWait,
        TornVector { read: Site, write: Site },
        SeveralAccesses { at: Site },
        OnlyLooks { at: Site },
        TwoAccesses { first: Site, second: Site },
    }
}

/// What is the matter with a fence that is there, or said of one that is not.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FenceRemark {
    OfAliases {
        fence: Site,
    },
    OfOtherMemory {
        fence: Site,
        memory: Memory,
    },
    AfterSynchronisation {
        fence: Site,
        thread: ThreadName,
        line: u32,
    },
    OfOtherThread {
        fence: Site,
        thread: ThreadName,
    },
    BeforeAccess {
        fence: Site,
    },
    /// The mixed-proxy model has one, the ISA has not.
    OfMixedProxyModel,
    /// The ISA has none, and the program is written in its instructions.
    KernelEndOnly,
}

/// What an instruction does with an mbarrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MbarrierUse {
    Wait,
    Arrive,
    Complete,
}

/// Where a wrong address of tensor memory came from.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AddressOrigin {
    BeforeAllocation,
    BeyondColumns { allocation: Site },
    Written { write: Site },
}

/// The rule that an operand of an asynchronous operation breaks (`program::placement`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperandRule {
    Alone,
    NotOwn,
    Own,
    Apart,
    NoPair,
    NotOfPair,
    Unsaid,
}

/// A step of a critical cycle that communicates.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct CycleStep {
    pub step: Communication,
    pub from: NamedSite,
    pub to: NamedSite,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Communication {
    /// The first reads what the second has overwritten.
    Misses,
    /// The second comes behind the first in coherence order.
    Overwritten,
    /// The second reads the first.
    Seen,
}

/// A place, and how it is told from others of its line.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct NamedSite {
    pub at: Site,
    pub by: NamedBy,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedBy {
    Line,
    Text,
}
