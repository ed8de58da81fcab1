//! The attributes of an event that a cat model can name as a set.
//!
//! One table has, for each tag, its cat name, the group it is listed in and what it means. `docs/cat.md` is written from it,
//! so a tag without a meaning does not compile.

/// A set of tags.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tags(pub u128);

impl Tags {
    pub const NONE: Tags = Tags(0);

    pub fn with(self, tag: Tag) -> Tags {
        Tags(self.0 | 1 << tag as u32)
    }

    pub fn has(self, tag: Tag) -> bool {
        self.0 & 1 << tag as u32 != 0
    }
}

impl FromIterator<Tag> for Tags {
    fn from_iter<I: IntoIterator<Item = Tag>>(tags: I) -> Tags {
        tags.into_iter().fold(Tags::NONE, Tags::with)
    }
}

/// The groups in which the page about cat lists the tags.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TagGroup {
    Kind,
    Strength,
    Scope,
    Proxy,
    Memory,
    Mbarrier,
    Async,
    Tensor,
    Barrier,
    Launch,
    Persistence,
    Other,
}

impl TagGroup {
    pub const ALL: &'static [TagGroup] = &[
        TagGroup::Kind,
        TagGroup::Strength,
        TagGroup::Scope,
        TagGroup::Proxy,
        TagGroup::Memory,
        TagGroup::Mbarrier,
        TagGroup::Async,
        TagGroup::Tensor,
        TagGroup::Barrier,
        TagGroup::Launch,
        TagGroup::Persistence,
        TagGroup::Other,
    ];

    pub fn title(self) -> &'static str {
        match self {
            TagGroup::Kind => "Kinds of event",
            TagGroup::Strength => "Strength and atomicity",
            TagGroup::Scope => "Scopes",
            TagGroup::Proxy => "Proxies",
            TagGroup::Memory => "Where the memory is",
            TagGroup::Mbarrier => "Mbarriers",
            TagGroup::Async => "Asynchronous operations",
            TagGroup::Tensor => "Tensor memory",
            TagGroup::Barrier => "Barriers",
            TagGroup::Launch => "Launches and exits",
            TagGroup::Persistence => "Persistent memory",
            TagGroup::Other => "C and x86",
        }
    }
}

macro_rules! tags {
    ($($name:ident = $cat:literal in $group:ident: $meaning:literal,)*) => {
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Tag {
            $(#[doc = $meaning] $name,)*
        }

        impl Tag {
            pub const ALL: &'static [Tag] = &[$(Tag::$name,)*];

            /// The name by which a cat model knows the set of events with this tag.
            pub const fn cat_name(self) -> &'static str {
                match self {
                    $(Tag::$name => $cat,)*
                }
            }

            /// The tag that a cat model knows by this name.
            pub fn named(name: &str) -> Option<Tag> {
                match name {
                    $($cat => Some(Tag::$name),)*
                    _ => None,
                }
            }

            pub fn group(self) -> TagGroup {
                match self {
                    $(Tag::$name => TagGroup::$group,)*
                }
            }

            /// Which events have it, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Tag::$name => $meaning,)*
                }
            }
        }
    };
}

// The order is that of the bits and of the compiled models: a new tag goes last.
tags! {
    Read = "R" in Kind: "A read of memory.",
    Write = "W" in Kind: "A write to memory, initial writes included.",
    Fence = "F" in Kind: "A memory fence or a proxy fence.",
    Barrier = "B" in Kind: "An operation on a barrier of a CTA, a cluster or a warp.",
    Init = "IW" in Kind: "The initial write of a location; no thread makes it.",
    Atomic = "A" in Strength:
        "Both halves of a read-modify-write: PTX `atom` and `red`, locked instructions of x86, atomic updates \
         of C.",
    NoReturn = "NORET" in Strength:
        "Both halves of a `red`, or of another update that returns nothing and so is no read operation (PTX \
         ISA Table 20).",
    Weak = "WEAK" in Strength: "A weak access.",
    Relaxed = "RLX" in Strength: "A `.relaxed` access or barrier arrival.",
    Acquire = "ACQ" in Strength: "An `.acquire` access, or a fence that only acquires.",
    Release = "REL" in Strength: "A `.release` access, or a fence that only releases.",
    AcqRel = "ACQ_REL" in Strength: "A `fence.acq_rel`, or a fence of C with this order.",
    Sc = "SC" in Strength:
        "A `fence.sc`, which is not in `ACQ_REL`, or an access or fence of C with the order `seq_cst`.",
    Volatile = "VOLATILE" in Strength: "A `.volatile` access.",
    Mmio = "MMIO" in Strength: "An `.mmio` access.",
    ScopeCta = "CTA" in Scope: "An operation of `.cta` scope.",
    ScopeCluster = "CLUSTER" in Scope: "An operation of `.cluster` scope.",
    ScopeGpu = "GPU" in Scope: "An operation of `.gpu` scope.",
    ScopeSys = "SYS" in Scope: "An operation of `.sys` scope.",
    Generic = "GEN" in Proxy: "An access through the generic proxy, or a memory fence.",
    Surface = "SUR" in Proxy: "An access through the surface proxy, or a fence for it.",
    Texture = "TEX" in Proxy: "An access through the texture proxy, or a fence for it.",
    Constant = "CON" in Proxy: "An access through the constant proxy, or a fence for it.",
    Alias = "ALIAS" in Proxy: "A `fence.proxy.alias`, or an access through a multimem address.",
    ProxyFence = "PROXY" in Proxy:
        "A proxy fence of any kind (`fence.proxy.*`); it is in `F` too, but is no memory fence.",
    Async = "ASYNC" in Proxy:
        "An access of a bulk copy, `wgmma` or `tcgen05` operation to global or shared memory through the \
         async proxy, or a `fence.proxy.async`.",
    TensorMap = "TMAP" in Proxy: "The read of a tensor map by a tensor copy, or a `fence.proxy.tensormap`.",
    TensorMemory = "TMEM" in Tensor: "An access to tensor memory.",
    Deallocation = "DEALLOC" in Tensor: "A `tcgen05.dealloc`, after which the columns belong to nobody.",
    Relinquish = "RELINQUISH" in Tensor: "A `tcgen05.relinquish_alloc_permit`.",
    Stray = "STRAY" in Memory:
        "An access to tensor memory through an address that no allocation gave, or the issue of an operation \
         whose destination or mbarrier lies in a CTA where it must not.",
    Opaque = "OPAQUE" in Kind: "A write of a value that is not modelled.",
    Shared = "SHARED" in Memory: "An access to shared memory, or a fence about shared memory only.",
    Remote = "REMOTE" in Memory: "An access to the shared memory of another CTA than the thread's own.",
    Unprepared = "UNPREPARED" in Memory:
        "A `REMOTE` access to a CTA in whose memory the initial state has nothing, so that nothing says that \
         the CTA has started.",
    Mbarrier = "MBAR" in Mbarrier: "Any operation on an mbarrier object, including waits, `init` and `inval`.",
    MbarrierInit = "MBAR_INIT" in Mbarrier: "The write of an `mbarrier.init`.",
    MbarrierWait = "MBAR_WAIT" in Mbarrier: "A wait on an mbarrier that returned true.",
    Issue = "ISSUE" in Async: "The start of an asynchronous operation, in program order.",
    Completion = "COMPLETION" in Async:
        "The event of a strand that tells of its end through an mbarrier (`complete_tx`, an asynchronous \
         arrive).",
    CpAsync = "CP_ASYNC" in Async: "The issue and the events of a `cp.async` that is not bulk.",
    Bulk = "BULK" in Async:
        "The issue and the events of a bulk or tensor copy, of a bulk reduction, and of what else completes \
         like them.",
    Wgmma = "WGMMA" in Async: "The issue and the events of a `wgmma.mma_async`.",
    InFlight = "IN_FLIGHT" in Async:
        "A use of a register of a `wgmma.mma_async` before a wait covers it; `data` leads here from the issue \
         of the product.",
    Unfenced = "UNFENCED" in Async:
        "An access to a register that no `wgmma.fence` separates from the `wgmma.mma_async` whose issue \
         `data` leads from, or that product itself if it is the first.",
    Tcgen05 = "TCGEN05" in Tensor: "The issue and the events of an asynchronous `tcgen05` operation.",
    BeforeThreadSync = "T5_BEFORE" in Tensor:
        "A `tcgen05.fence::before_thread_sync`, or the one that a `tcgen05.commit` implies.",
    AfterThreadSync = "T5_AFTER" in Tensor: "A `tcgen05.fence::after_thread_sync`.",
    Restricted = "RESTRICTED" in Async:
        "A fence whose effect is limited to some memory (`.sync_restrict`), or a `tcgen05.commit` that tells \
         only that factors have been read.",
    MbarrierInitFence = "MBAR_INIT_FENCE" in Mbarrier: "A `fence.mbarrier_init`.",
    ReadsOnly = "READS_ONLY" in Proxy:
        "A proxy fence about earlier reads only, a load of memory that is only read (`ld.global.nc`), or the \
         read of a tensor map in such memory.",
    BarrierCluster = "BAR_CLUSTER" in Barrier: "An operation on the barrier of a cluster (`barrier.cluster`).",
    BarrierWarp = "BAR_WARP" in Barrier: "A `bar.warp.sync`.",
    LaunchDependents = "LAUNCH_DEPENDENTS" in Launch: "A `griddepcontrol.launch_dependents`.",
    Trigger = "TRIGGER" in Launch:
        "The `griddepcontrol.launch_dependents` that counts, which is the first of its CTA.",
    GridWait = "GRID_WAIT" in Launch: "A `griddepcontrol.wait`.",
    Exit = "EXIT" in Launch:
        "The end of a thread, in programs that launch kernels or whose shared memory may be in use then.",
    BarrierSync = "BAR_SYNC" in Barrier: "A barrier operation that waits (`bar.sync`, `barrier.cluster.wait`).",
    BarrierArrive = "BAR_ARRIVE" in Barrier:
        "A barrier operation that arrives and does not wait (`bar.arrive`, `barrier.cluster.arrive`).",
    BarrierRed = "BAR_RED" in Barrier: "A barrier operation that waits and reduces (`bar.red`).",
    NonAtomic = "NA" in Other: "A plain access of C, which is not atomic.",
    X86 = "X86" in Other: "Any event of an x86 thread.",
    Mfence = "MFENCE" in Other: "An x86 `mfence`.",
    Sfence = "SFENCE" in Other: "An x86 `sfence`.",
    Lfence = "LFENCE" in Other: "An x86 `lfence`.",
    Cancel = "CLC" in Launch: "The issue of a `clusterlaunchcontrol.try_cancel`.",
    Refused = "CLC_REFUSED" in Launch: "The write of an answer to a `try_cancel` that nothing was cancelled.",
    Looked = "CLC_LOOKED" in Launch:
        "A `clusterlaunchcontrol.query_cancel.is_canceled`, by which a thread looks at an answer that it has \
         read.",
    OwnWindow = "OWN_WINDOW" in Memory:
        "An access whose instruction says that the address lies in the window of the thread's own CTA \
         (`.shared`, `.shared::cta`).",
    Omitted = "OMITTED" in Kind:
        "A write that is not made and would be if its thread had read other values; it is in neither `W` nor \
         `M`.",
    Persistent = "NVM" in Persistence: "An access to memory that survives a crash, initial writes included.",
    OrderFence = "OFENCE" in Persistence: "An `ofence`, which orders persists and is no memory fence.",
    DurabilityFence = "DFENCE" in Persistence: "A `dfence`, which waits until persists are durable and is no memory fence.",
    PersistAcquire = "PACQ" in Persistence: "A `pacq`, a relaxed read that acquires persists.",
    PersistRelease = "PREL" in Persistence: "A `prel`, a relaxed write that releases persists.",
}
