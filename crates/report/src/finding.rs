//! What a flag of a model means. A model's `// findings:` line gives its flags these words (docs/cat.md); what is told of a
//! finding, and how it is mended, follows the word and not the flag's name.

/// The words, in the order of `docs/findings.md`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Two accesses that conflict and that nothing orders.
    DataRace,
    /// The same of two atomics, one of them with too narrow a scope.
    ScopedRace,
    /// A race of accesses that overlap in part (PTX ISA 8.7.2).
    MixedSizeRace,
    /// Another race that the model declares.
    Race,
    /// An access that the memory may not outlive. It is no data race, and it is undefined.
    ExitBeforeAccess,
    /// An access to the shared memory of a CTA that may not have started. It is no data race, and it is undefined. Both events of
    /// the pair are the access.
    AccessBeforeStart,
    /// A register of a `wgmma` that is used before it is there (PTX ISA 9.7.17.5.2).
    WgmmaRegisterInFlight,
    /// A register of a `wgmma` without a `wgmma.fence` between it and another access (PTX ISA 9.7.17.7.1).
    WgmmaNoFence,
    /// A thread that arrives at the barrier of its cluster again before it has waited (PTX ISA 9.7.15.3).
    ClusterArriveTwice,
    /// One that waits there without having arrived.
    ClusterWaitAlone,
    /// An asynchronous operation whose destination or mbarrier lies in a CTA where it must not (PTX ISA 9.7.10.12, 9.7.15.7,
    /// 9.7.10.28.4.1, 9.7.10.28.5.3).
    MisplacedOperand,
    /// An access that says `.shared::cta` and goes to the memory of another CTA (PTX ISA 5.1.7).
    OutsideWindow,
    /// Tensor memory that is accessed through something that is no address of it (PTX ISA 9.7.18.7.1). What such an access hits
    /// is not known; the model's executions have it hit the columns that the CTA has.
    UnallocatedAccessRace,
    /// Tensor memory that is deallocated twice (PTX ISA 9.7.18.7.1).
    DeallocatedTwiceRace,
    /// A request to cancel a launch behind a refusal (PTX ISA 9.7.15.18).
    CancelAfterRefusal,
    /// An allocation of tensor memory after another thread gave up the right to it (PTX ISA 9.7.18.7.1).
    AllocAfterRelinquish,
    /// Something to warn of, of which only the model knows what it means.
    Noted,
}

impl FindingKind {
    pub const ALL: [FindingKind; 17] = [
        FindingKind::DataRace,
        FindingKind::ScopedRace,
        FindingKind::MixedSizeRace,
        FindingKind::Race,
        FindingKind::ExitBeforeAccess,
        FindingKind::AccessBeforeStart,
        FindingKind::WgmmaRegisterInFlight,
        FindingKind::WgmmaNoFence,
        FindingKind::ClusterArriveTwice,
        FindingKind::ClusterWaitAlone,
        FindingKind::MisplacedOperand,
        FindingKind::OutsideWindow,
        FindingKind::UnallocatedAccessRace,
        FindingKind::DeallocatedTwiceRace,
        FindingKind::CancelAfterRefusal,
        FindingKind::AllocAfterRelinquish,
        FindingKind::Noted,
    ];

    /// As models and reports write it.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::DataRace => "data-race",
            FindingKind::ScopedRace => "scoped-race",
            FindingKind::MixedSizeRace => "mixed-size-race",
            FindingKind::Race => "race",
            FindingKind::ExitBeforeAccess => "exit-before-access",
            FindingKind::AccessBeforeStart => "access-before-start",
            FindingKind::WgmmaRegisterInFlight => "wgmma-register-in-flight",
            FindingKind::WgmmaNoFence => "wgmma-no-fence",
            FindingKind::ClusterArriveTwice => "cluster-arrive-twice",
            FindingKind::ClusterWaitAlone => "cluster-wait-alone",
            FindingKind::MisplacedOperand => "misplaced-operand",
            FindingKind::OutsideWindow => "outside-window",
            FindingKind::UnallocatedAccessRace => "unallocated-access-race",
            FindingKind::DeallocatedTwiceRace => "deallocated-twice-race",
            FindingKind::CancelAfterRefusal => "cancel-after-refusal",
            FindingKind::AllocAfterRelinquish => "alloc-after-relinquish",
            FindingKind::Noted => "noted",
        }
    }

    pub fn from_word(word: &str) -> Option<FindingKind> {
        FindingKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether it is about two accesses that nothing orders.
    pub fn is_race(self) -> bool {
        matches!(self, FindingKind::DataRace | FindingKind::ScopedRace | FindingKind::MixedSizeRace | FindingKind::Race)
    }

    /// Whether it is about registers of a `wgmma`.
    pub fn is_of_registers(self) -> bool {
        matches!(self, FindingKind::WgmmaRegisterInFlight | FindingKind::WgmmaNoFence)
    }

    /// Whether it is about the barrier of a cluster, where a thread has to arrive and wait in turn.
    pub fn is_of_cluster_barrier(self) -> bool {
        matches!(self, FindingKind::ClusterArriveTwice | FindingKind::ClusterWaitAlone)
    }

    /// Whether it is about the use of tensor memory.
    pub fn is_of_tensor_memory(self) -> bool {
        matches!(self, FindingKind::UnallocatedAccessRace | FindingKind::DeallocatedTwiceRace)
    }

    /// Whether it is about memory that is not there at the time of an access.
    pub fn is_of_lifetime(self) -> bool {
        matches!(self, FindingKind::ExitBeforeAccess | FindingKind::AccessBeforeStart)
    }

    /// Whether it is about what one thread does, which makes the behaviour undefined.
    pub fn is_of_one_thread(self) -> bool {
        self.is_of_registers()
            || self.is_of_cluster_barrier()
            || self.is_of_tensor_memory()
            || matches!(
                self,
                FindingKind::MisplacedOperand | FindingKind::OutsideWindow | FindingKind::CancelAfterRefusal
            )
    }

    /// Whether both events of a pair may be one, which is told once.
    pub fn may_be_alone(self) -> bool {
        self.is_of_one_thread() || self == FindingKind::AccessBeforeStart
    }
}
