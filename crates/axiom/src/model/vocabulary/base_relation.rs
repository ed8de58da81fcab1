//! The relations that every model finds defined, with their cat names and meanings.
//!
//! One table, as for the tags in `fencepost_program::tag`: `docs/cat.md` is written from it, so a relation without a meaning
//! does not compile. How each is computed is in `crate::base`, and once more, with no code in common, in `crate::replay`.

/// The groups in which the page about cat lists the relations.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RelationGroup {
    Order,
    Communication,
    Dependency,
    Place,
    Scope,
    Strand,
    Barrier,
    Launch,
    Omitted,
}

impl RelationGroup {
    pub const ALL: &'static [RelationGroup] = &[
        RelationGroup::Order,
        RelationGroup::Communication,
        RelationGroup::Dependency,
        RelationGroup::Place,
        RelationGroup::Scope,
        RelationGroup::Strand,
        RelationGroup::Barrier,
        RelationGroup::Launch,
        RelationGroup::Omitted,
    ];

    pub fn title(self) -> &'static str {
        match self {
            RelationGroup::Order => "Program order",
            RelationGroup::Communication => "Communication",
            RelationGroup::Dependency => "Dependencies",
            RelationGroup::Place => "Locations, operations and threads",
            RelationGroup::Scope => "Scopes",
            RelationGroup::Strand => "Asynchronous operations",
            RelationGroup::Barrier => "Barriers",
            RelationGroup::Launch => "Launches",
            RelationGroup::Omitted => "Writes that are not made",
        }
    }
}

/// What the compiler of models and the engines ask of a relation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Mark {
    /// It is its own inverse.
    Symmetric,
    /// An execution chooses it; the others follow from the events.
    Chosen,
}

macro_rules! base_relations {
    ($($name:ident = $cat:literal in $group:ident $([$mark:ident])?: $meaning:literal,)*) => {
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub enum BaseRelation {
            $(#[doc = $meaning] $name,)*
        }

        impl BaseRelation {
            pub const ALL: &'static [BaseRelation] = &[$(BaseRelation::$name,)*];

            /// The name by which a cat model knows it.
            pub fn cat_name(self) -> &'static str {
                match self {
                    $(BaseRelation::$name => $cat,)*
                }
            }

            pub fn group(self) -> RelationGroup {
                match self {
                    $(BaseRelation::$name => RelationGroup::$group,)*
                }
            }

            fn mark(self) -> Option<Mark> {
                match self {
                    $(BaseRelation::$name => [$(Mark::$mark)?].first().copied(),)*
                }
            }

            /// What it relates, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(BaseRelation::$name => $meaning,)*
                }
            }
        }
    };
}

impl BaseRelation {
    /// Whether it is its own inverse.
    pub fn is_symmetric(self) -> bool {
        self.mark() == Some(Mark::Symmetric)
    }

    /// Whether an execution chooses it. The others follow from the events.
    pub fn is_chosen(self) -> bool {
        self.mark() == Some(Mark::Chosen)
    }
}

// The order is that of the compiled models: a new relation goes last.
base_relations! {
    Id = "id" in Order [Symmetric]: "Every event to itself.",
    Po = "po" in Order:
        "Program order: main events of one thread, without an order among the elements of one vector access; \
         events of strands are not in it.",
    Loc = "loc" in Place [Symmetric]: "Events on the same physical location (accesses, and writes that are not made); reflexive.",
    Vloc = "vloc" in Place [Symmetric]:
        "Events on the same generic virtual address, so that two aliases of a location are not related; \
         reflexive.",
    Int = "int" in Place [Symmetric]: "Events of one thread, strands included; initial writes are related to none.",
    Ext = "ext" in Place [Symmetric]: "Events of different threads; initial writes are related to the events of every thread.",
    Rf = "rf" in Communication [Chosen]: "A write to each read that returns its value.",
    Co = "co" in Communication [Chosen]:
        "Coherence order: writes to one location, as a total order or as a partial one that the axioms ask \
         for.",
    Rmw = "rmw" in Communication: "The read half of a read-modify-write to its write half.",
    Amo = "amo" in Communication: "The same as `rmw`; herd's name for read-modify-writes of a single instruction.",
    Addr = "addr" in Dependency: "A read to the event whose address depends on its value.",
    Data = "data" in Dependency:
        "A read to the event whose value depends on its value, and the issue of a `wgmma.mma_async` to the \
         uses of its registers.",
    Ctrl = "ctrl" in Dependency: "A read to the events that come after a branch on its value.",
    Sr = "sr" in Scope [Symmetric]:
        "Events of two threads (or of one) that both have a scope, each of which includes the other's thread.",
    Scta = "scta" in Scope [Symmetric]: "Events of threads in the same CTA of the same GPU.",
    Scluster = "scluster" in Scope [Symmetric]: "Events of threads in the same cluster of the same GPU.",
    Sgpu = "sgpu" in Scope [Symmetric]: "Events of threads on the same GPU.",
    Issue = "issue" in Strand: "The start of an asynchronous operation to each event of its strand.",
    So = "so" in Strand:
        "Strand order: an event of a strand to those that come after it, also in another strand that tells of \
         its end.",
    Done = "done" in Strand:
        "An event of a strand to the main event that waits for it (`wait_group`, `tcgen05.wait`).",
    Pipelined = "pipelined" in Strand:
        "Events of two `tcgen05` operations that form a pipeline if they are issued in this order, whoever \
         issues them.",
    Covers = "covers" in Place: "A fence to the accesses that it is about.",
    Complete = "complete" in Place [Symmetric]: "Accesses of operations that access exactly the same bytes; reflexive.",
    Sameop = "sameop" in Place [Symmetric]: "Accesses that are parts of one scalar operation; reflexive.",
    Launch = "launch" in Launch: "Events of a kernel to those of a kernel that starts after its end.",
    Gridwait = "gridwait" in Launch:
        "Events of a kernel to each `griddepcontrol.wait` of a kernel that depends on it.",
    Gridstart = "gridstart" in Launch:
        "A `griddepcontrol.launch_dependents`, or the end of a thread, to the events of a kernel that depends \
         on its kernel; also a host's wait that missed a launch to that launch.",
    Home = "home" in Place: "An access to the shared memory of a CTA to the main events of that CTA's threads.",
    Syncbar = "syncbar" in Barrier [Chosen]: "Barrier operations that met, each to those of them that wait.",
    Exitbar = "exitbar" in Barrier [Chosen]:
        "Events of a thread that has exited to the waits at barriers that completed without it.",
    SyncFence = "sync_fence" in Communication [Chosen]:
        "Fence-SC order: one orientation of each pair of `fence.sc` in `sr`, and in compound programs of \
         x86's `mfence` and reads; acyclic.",
    Generations = "generations" in Barrier [Chosen]:
        "The operations of one generation of a barrier to those of later generations, where their order is a \
         choice.",
    Decides = "decides" in Omitted:
        "A read that decides that a write is not made to the `OMITTED` event for that write.",
    Told = "told" in Omitted:
        "A write that is not made, and of whose end an mbarrier would tell, to the events of its thread at \
         that mbarrier behind its place.",
    Misses = "misses" in Omitted: "A write that is not made to the reads of its location that it is about.",
    Contributed = "contributed" in Dependency:
        "A read that decides what a thread gives to a `bar.red` to the event of that `bar.red`.",
}
