//! The attributes of an event that a cat model can name as a set. One table: the cat name of each tag.

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

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $cat:literal,)*) => {
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Tag {
            $($(#[$doc])* $name,)*
        }

        impl Tag {
            pub const ALL: &'static [Tag] = &[$(Tag::$name,)*];

            /// The name by which a cat model knows the set of events with this tag.
            pub fn cat_name(self) -> &'static str {
                match self {
                    $(Tag::$name => $cat,)*
                }
            }
        }
    };
}

tags! {
    Read = "R",
    Write = "W",
    /// A memory fence or a proxy fence.
    Fence = "F",
    /// A CTA barrier.
    Barrier = "B",
    /// An initial write.
    Init = "IW",
    /// Both halves of a read-modify-write (PTX `atom`/`red`, x86 locked operations).
    Atomic = "A",
    /// Both halves of a PTX `red`: it returns nothing, and is no "read operation" (PTX ISA Table 20).
    NoReturn = "NORET",
    Weak = "WEAK",
    Relaxed = "RLX",
    Acquire = "ACQ",
    Release = "REL",
    AcqRel = "ACQ_REL",
    /// On fences only. A `fence.sc` has this tag and not `ACQ_REL`: whether it is also an acq_rel fence is the model's to say.
    Sc = "SC",
    Volatile = "VOLATILE",
    Mmio = "MMIO",
    ScopeCta = "CTA",
    ScopeCluster = "CLUSTER",
    ScopeGpu = "GPU",
    ScopeSys = "SYS",
    /// Generic proxy: ordinary accesses, and memory fences.
    Generic = "GEN",
    Surface = "SUR",
    Texture = "TEX",
    Constant = "CON",
    /// `fence.proxy.alias`, and accesses through a multimem address.
    Alias = "ALIAS",
    /// Any proxy fence (`fence.proxy.*`); it is an `F` too, but no memory fence.
    ProxyFence = "PROXY",
    /// The async proxy: accesses of bulk copies, `wgmma` and `tcgen05` to global and shared memory; `fence.proxy.async`.
    Async = "ASYNC",
    /// The tensormap proxy: what a tensor copy reads of its map; `fence.proxy.tensormap`.
    TensorMap = "TMAP",
    /// Accesses to tensor memory.
    TensorMemory = "TMEM",
    /// `tcgen05.dealloc`: the columns are nobody's from here on.
    Deallocation = "DEALLOC",
    /// `tcgen05.relinquish_alloc_permit`.
    Relinquish = "RELINQUISH",
    /// An access to tensor memory through an address that no allocation gave; the issue of an operation whose destination
    /// or mbarrier lies in a CTA where it must not.
    Stray = "STRAY",
    /// A write of a value that is not modelled.
    Opaque = "OPAQUE",
    /// The location is in shared memory.
    Shared = "SHARED",
    /// The location is in the shared memory of another CTA than the accessing thread's.
    Remote = "REMOTE",
    /// The same, where the initial state has nothing in that memory: nothing says that the CTA has started.
    Unprepared = "UNPREPARED",
    /// Any operation on an mbarrier object, including waits, `init` and `inval`.
    Mbarrier = "MBAR",
    /// `mbarrier.init`.
    MbarrierInit = "MBAR_INIT",
    /// A wait on an mbarrier that returned true.
    MbarrierWait = "MBAR_WAIT",
    /// The start of an asynchronous operation, in program order.
    Issue = "ISSUE",
    /// The event that tells of a strand's end through an mbarrier (`complete_tx`, an asynchronous arrive).
    Completion = "COMPLETION",
    CpAsync = "CP_ASYNC",
    /// Bulk and tensor copies, reductions, and what else completes like them.
    Bulk = "BULK",
    Wgmma = "WGMMA",
    /// A register of a `wgmma.mma_async` is used before a wait covers the product, on whose issue this depends.
    InFlight = "IN_FLIGHT",
    /// An access to a register that no `wgmma.fence` separates from the `wgmma.mma_async` on whose issue this depends; or
    /// that product, if it is the first and none came before.
    Unfenced = "UNFENCED",
    /// Asynchronous `tcgen05` operations: all events of their strands, and their issue.
    Tcgen05 = "TCGEN05",
    /// `tcgen05.fence::before_thread_sync`, and the one implied by `tcgen05.commit`.
    BeforeThreadSync = "T5_BEFORE",
    /// `tcgen05.fence::after_thread_sync`.
    AfterThreadSync = "T5_AFTER",
    /// A fence whose effect is limited to some memory (`.sync_restrict`).
    Restricted = "RESTRICTED",
    /// `fence.mbarrier_init`.
    MbarrierInitFence = "MBAR_INIT_FENCE",
    /// A proxy fence about earlier reads only; a load of memory that is only read (`ld.global.nc`), which no proxy fence is
    /// about; what a tensor copy reads of a map in memory that kernels only read.
    ReadsOnly = "READS_ONLY",
    BarrierCluster = "BAR_CLUSTER",
    BarrierWarp = "BAR_WARP",
    /// `griddepcontrol.launch_dependents`.
    LaunchDependents = "LAUNCH_DEPENDENTS",
    /// The `griddepcontrol.launch_dependents` that counts: the first of its CTA.
    Trigger = "TRIGGER",
    /// `griddepcontrol.wait`.
    GridWait = "GRID_WAIT",
    /// The end of a thread, in programs whose shared memory may be in use then, and in those that launch kernels.
    Exit = "EXIT",
    BarrierSync = "BAR_SYNC",
    BarrierArrive = "BAR_ARRIVE",
    BarrierRed = "BAR_RED",
    /// A plain access of C, which is not atomic.
    NonAtomic = "NA",
    /// Any event of an x86 thread.
    X86 = "X86",
    Mfence = "MFENCE",
    Sfence = "SFENCE",
    Lfence = "LFENCE",
    /// The issue of `clusterlaunchcontrol.try_cancel`.
    Cancel = "CLC",
    /// An answer to it that nothing was cancelled.
    Refused = "CLC_REFUSED",
    /// `clusterlaunchcontrol.query_cancel.is_canceled`: the thread looks at an answer that it has read.
    Looked = "CLC_LOOKED",
    /// The instruction says that the address lies in the window of the thread's own CTA (`.shared`, `.shared::cta`).
    OwnWindow = "OWN_WINDOW",
    /// A write that is not made and would be had its thread read other values. It is in neither `W` nor `M`.
    Omitted = "OMITTED",
}
