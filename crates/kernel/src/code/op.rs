//! Decoded instructions: operands are numbers of registers, modifiers are enums, addresses have their state space.

use super::ty::Ty;

pub type Register = u32;
pub type Pc = u32;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    Register(Register),
    Constant(u64),
    /// A place in the shared memory of the thread's CTA: its address has the rank of the CTA in it.
    Shared(u32),
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// Who may take part in a strong operation, and whether it is one (8.4).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Order {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease | Order::SequentiallyConsistent)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent)
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Space {
    Generic,
    Global,
    /// `.shared` and `.shared::cta`.
    Shared,
    SharedCluster,
    Local,
    Param,
    Const,
}

/// `[base+offset]`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub space: Space,
    pub base: Source,
    pub offset: i64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Comparisons of floats that hold for NaN.
    Unordered(OrderedCompare),
    Number,
    NotANumber,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum OrderedCompare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// Functions of up to three numbers, of one type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Function {
    Move,
    Add,
    Subtract,
    MultiplyLow,
    MultiplyHigh,
    MultiplyWide,
    MultiplyAddLow,
    MultiplyAddHigh,
    MultiplyAddWide,
    Multiply24,
    MultiplyAdd24,
    Divide,
    Remainder,
    Minimum,
    Maximum,
    Absolute,
    Negate,
    And,
    Or,
    Xor,
    Not,
    IsZero,
    ShiftLeft,
    ShiftRight,
    FunnelLeft {
        wrap: bool,
    },
    FunnelRight {
        wrap: bool,
    },
    Select,
    SelectBySign,
    PopulationCount,
    LeadingZeros,
    Reverse,
    FindHighest {
        shift_amount: bool,
    },
    ExtractField,
    Mask {
        wrap: bool,
    },
    Permute,
    Difference,
    /// `fma`, `mad` of floats.
    FusedMultiplyAdd,
    Multiply,
    Logic3(u8),
    FindNth,
    SignExtend {
        wrap: bool,
        signed: bool,
    },
    DotProduct4 {
        left_signed: bool,
        right_signed: bool,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Atomic {
    Add,
    Exchange,
    CompareAndSwap,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reduction {
    None,
    And,
    Or,
    PopulationCount,
}

/// Which shared or global objects a proxy fence is about (9.7.15.4).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Cover {
    Everything,
    Global,
    SharedCta,
    SharedCluster,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ReplaceField {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    Elemtype,
    InterleaveLayout,
    SwizzleMode,
    FillMode,
}

/// Instructions that all lanes of a warp execute together, or none.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aligned {
    Barrier,
    Cluster,
    Wgmma,
    TensorMemory,
    Matrix,
    Tensormap,
    Registers,
}

/// How a bulk operation tells that it is complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Completion {
    Mbarrier(Place),
    /// `.cta_group::2`: in each pair of CTAs, the mbarrier of the one that has the parity of this one's.
    MbarrierOfPair(Place),
    BulkGroup,
}

/// A tensor map, coordinates and how they are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub map: Source,
    pub coordinates: Vec<Source>,
    pub offsets: Vec<Source>,
    pub mode: TensorMode,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TensorMode {
    Tile,
    Gather4,
    Im2col,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    Compute {
        function: Function,
        ty: Ty,
        to: Register,
        from: [Source; 3],
    },
    /// A value of which only the place matters, or that cannot be known: what it depends on is kept.
    /// `commutes`: the first two may change places.
    Opaque {
        to: Vec<Register>,
        from: Vec<Source>,
        why: Unknown,
        commutes: bool,
    },
    Convert {
        to: Register,
        from: Source,
        to_ty: Ty,
        from_ty: Ty,
        saturate: bool,
        round: Round,
    },
    SetPredicate {
        compare: Compare,
        ty: Ty,
        combine: Combine,
        to: Option<Register>,
        complement: Option<Register>,
        left: Source,
        right: Source,
        with: Source,
        with_negated: bool,
    },
    /// `set.lt.u32.s32`: the comparison as a number.
    Set {
        compare: Compare,
        ty: Ty,
        to_ty: Ty,
        to: Register,
        left: Source,
        right: Source,
    },
    InsertField {
        ty: Ty,
        to: Register,
        from: [Source; 4],
    },
    AddCarry {
        function: Carry,
        ty: Ty,
        to: Register,
        from: [Source; 3],
        takes: bool,
        gives: bool,
    },
    Pack {
        to: Register,
        from: Vec<Source>,
        bits: u8,
    },
    Unpack {
        to: Vec<Option<Register>>,
        from: Source,
        bits: u8,
    },
    /// `mov.b128`: both halves.
    MoveHalves {
        to: [Option<Register>; 2],
        from: [Source; 2],
    },
    ToGeneric {
        to: Register,
        from: Source,
        space: Space,
    },
    FromGeneric {
        to: Register,
        from: Source,
        space: Space,
        bits: u8,
    },
    IsSpace {
        to: Register,
        from: Source,
        space: Space,
    },
    MapAddress {
        to: Register,
        from: Source,
        rank: Source,
        space: Space,
    },
    CtaRank {
        to: Register,
        from: Source,
        space: Space,
    },
    Load(Access, Vec<Option<Register>>),
    Store(Access, Vec<Source>),
    Atomic {
        access: Access,
        operation: Atomic,
        to: Option<Register>,
        from: [Source; 2],
    },
    /// Each element is an atomic of its own (9.7.15.5).
    AtomicVector {
        access: Access,
        operation: Atomic,
        to: Vec<Option<Register>>,
        from: Vec<Source>,
    },
    /// Zeros over a range.
    StoreBulk {
        to: Place,
        bytes: Source,
    },
    Fence {
        order: Order,
        scope: Scope,
    },
    FenceProxyAsync(Cover),
    FenceProxyTensormapRelease {
        scope: Scope,
    },
    FenceProxyTensormapAcquire {
        scope: Scope,
        map: Place,
    },
    FenceProxyAlias,
    FenceMbarrierInit,
    Branch {
        to: Pc,
    },
    BranchIndexed {
        index: Source,
        to: Vec<Pc>,
    },
    /// A function without a body here; `results` are places in local memory, each with its bytes.
    Call {
        name: String,
        results: Vec<(u64, u32)>,
    },
    Exit,
    Trap,
    Nothing,
    /// `setmaxnreg`.
    SetMaxRegisters {
        count: u64,
        increases: bool,
    },
    SyncWarp {
        mask: Source,
    },
    Shuffle {
        how: Shuffle,
        to: Register,
        valid: Option<Register>,
        from: Source,
        lane: Source,
        clamp: Source,
        mask: Source,
    },
    Vote {
        how: Vote,
        to: Register,
        from: Source,
        negated: bool,
        mask: Source,
    },
    Match {
        all: bool,
        bits: u8,
        to: Register,
        same: Option<Register>,
        from: Source,
        mask: Source,
    },
    ReduceWarp {
        operation: Atomic,
        ty: Ty,
        to: Register,
        from: Source,
        mask: Source,
    },
    Elect {
        to: Option<Register>,
        elected: Register,
        mask: Source,
    },
    ActiveMask {
        to: Register,
    },
    Clock {
        to: Register,
    },
    Barrier {
        id: Source,
        threads: Option<Source>,
        arrive_only: bool,
        reduction: Reduction,
        to: Option<Register>,
        from: Source,
        negated: bool,
    },
    ClusterArrive {
        order: Order,
    },
    ClusterWait {
        order: Order,
    },
    MbarrierInit {
        at: Place,
        count: Source,
    },
    MbarrierInvalidate {
        at: Place,
    },
    MbarrierArrive {
        at: Place,
        count: Source,
        expect: Option<Source>,
        drop: bool,
        no_complete: bool,
        order: Order,
        scope: Scope,
        token: Option<Register>,
    },
    MbarrierExpect {
        at: Place,
        bytes: Source,
        scope: Scope,
    },
    MbarrierComplete {
        at: Place,
        bytes: Source,
        scope: Scope,
    },
    /// With `parity`, `state` is 0 or 1; else it is a token.
    MbarrierWait {
        at: Place,
        to: Register,
        state: Source,
        parity: bool,
        order: Order,
        scope: Scope,
    },
    MbarrierPending {
        to: Register,
        token: Source,
    },
    CopyAsync {
        to: Place,
        from: Place,
        bytes: u32,
        source_bytes: Option<Source>,
        ignore: Option<Source>,
    },
    CopyAsyncCommit,
    CopyAsyncWait {
        pending: Option<u32>,
    },
    CopyAsyncArrive {
        at: Place,
        no_increment: bool,
    },
    BulkLoad {
        to: Place,
        from: Place,
        bytes: Source,
        completion: Completion,
        multicast: Option<Source>,
    },
    BulkStore {
        to: Place,
        from: Place,
        bytes: Source,
        completion: Completion,
        /// Of a reduction: the bytes of an element.
        reduce: Option<u8>,
    },
    BulkPrefetch,
    TensorLoad {
        to: Place,
        tensor: Tensor,
        completion: Completion,
        multicast: Option<Source>,
    },
    /// `cp.async.bulk.prefetch.tensor`.
    TensorPrefetch {
        tensor: Tensor,
    },
    TensorStore {
        tensor: Tensor,
        from: Place,
        reduce: bool,
    },
    /// `all`: the answer goes to every CTA of the cluster.
    TryCancel {
        to: Place,
        mbarrier: Place,
        all: bool,
    },
    IsCancelled {
        to: Register,
        answer: [Source; 2],
    },
    FirstCta {
        to: Vec<Option<Register>>,
        axes: Vec<u8>,
        answer: [Source; 2],
    },
    BulkCommit,
    BulkWait {
        pending: u32,
        reads_only: bool,
    },
    StoreAsync {
        to: Place,
        ty: Ty,
        from: Vec<Source>,
        mbarrier: Place,
        reduce: bool,
    },
    TensormapReplace {
        at: Place,
        field: ReplaceField,
        index: Source,
        value: Source,
    },
    TensormapCopyFence {
        to: Place,
        from: Place,
        scope: Scope,
    },
    LoadMatrix {
        at: Place,
        shape: String,
        count: u32,
        transposed: bool,
        to: Vec<Register>,
    },
    StoreMatrix {
        at: Place,
        shape: String,
        count: u32,
        transposed: bool,
        from: Vec<Source>,
    },
    WmmaLoad {
        at: Place,
        stride: Option<Source>,
        modifiers: Vec<String>,
        to: Vec<Register>,
    },
    WmmaStore {
        at: Place,
        stride: Option<Source>,
        modifiers: Vec<String>,
        from: Vec<Source>,
    },
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
    Wgmma {
        shape: String,
        types: Vec<String>,
        accumulators: Vec<Register>,
        a: WgmmaOperand,
        b: Source,
        transposes: Vec<Source>,
    },
    Tcgen05Alloc {
        to: Place,
        columns: Source,
        group: u8,
    },
    Tcgen05Dealloc {
        at: Source,
        columns: Source,
        group: u8,
    },
    Tcgen05Relinquish {
        group: u8,
    },
    Tcgen05Load {
        at: Source,
        offset: i64,
        shape: String,
        repeat: u32,
        to: Vec<Register>,
        half_split: Option<Source>,
    },
    Tcgen05Store {
        at: Source,
        offset: i64,
        shape: String,
        repeat: u32,
        from: Vec<Source>,
        half_split: Option<Source>,
    },
    Tcgen05WaitLoad,
    Tcgen05WaitStore,
    Tcgen05Copy {
        at: Source,
        offset: i64,
        descriptor: Source,
        shape: String,
        multicast: String,
        group: u8,
    },
    Tcgen05Shift {
        at: Source,
        group: u8,
    },
    Tcgen05Mma {
        accumulator: Source,
        offset: i64,
        a: TensorOperand,
        b: Source,
        instruction: Source,
        kind: String,
        group: u8,
        accumulate: Option<Source>,
        scales: Vec<Source>,
        modifiers: Vec<String>,
    },
    Tcgen05Commit {
        at: Place,
        group: u8,
        multicast: Option<Source>,
    },
    Tcgen05Before,
    Tcgen05After,
    GridWait,
    GridLaunchDependents,
    /// An instruction without a model: whoever executes it makes the answer Unknown.
    Unmodelled {
        text: String,
        to: Vec<Register>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WgmmaOperand {
    Descriptor(Source),
    Registers(Vec<Source>),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TensorOperand {
    Descriptor(Source),
    TensorMemory(Source, i64),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Carry {
    Add,
    Subtract,
    MultiplyAddLow,
    MultiplyAddHigh,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Round {
    /// To the nearest, or no rounding at all.
    Nearest,
    Zero,
    Down,
    Up,
    /// `.rni`, `.rzi`, …: to an integer.
    NearestInteger,
    ZeroInteger,
    DownInteger,
    UpInteger,
}

/// Why a value is not computed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unknown {
    /// The result of an approximate function, a packed or small float, a matrix product.
    Float,
    /// A hint, a policy, a random or environment register.
    Environment,
}

/// What loads, stores and atomics have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    pub place: Place,
    pub ty: Ty,
    pub order: Order,
    pub scope: Scope,
    /// `ld.global.nc`, `ld.const`: through a path on which the kernel's own writes are not seen.
    pub read_only: bool,
}

impl Op {
    /// The registers that a computation writes; None if the instruction does anything else.
    pub fn computed(&self) -> Option<Vec<Register>> {
        Some(match self {
            Op::Compute { to, .. }
            | Op::Convert { to, .. }
            | Op::Set { to, .. }
            | Op::InsertField { to, .. }
            | Op::AddCarry { to, .. }
            | Op::Pack { to, .. }
            | Op::ToGeneric { to, .. }
            | Op::FromGeneric { to, .. } => vec![*to],
            Op::Opaque { to, .. } => to.clone(),
            Op::MoveHalves { to, .. } => to.iter().flatten().copied().collect(),
            Op::SetPredicate { to, complement, .. } => [*to, *complement].into_iter().flatten().collect(),
            Op::Unpack { to, .. } => to.iter().flatten().copied().collect(),
            Op::Nothing => Vec::new(),
            _ => return None,
        })
    }
}
