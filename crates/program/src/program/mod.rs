//! A litmus test after name resolution: what each thread does, where it runs, what memory there is, what is asked.
//! Lowering from trees fills it (one instruction table per architecture); unfolding consumes it.

pub mod asynchronous;
pub(crate) mod def_use;
pub mod lint;

use std::sync::Arc;

use fencepost_syntax::litmus::{Arch, Comparison, QuestionKind};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Span, Spanned};

use crate::ids::{AddressId, KernelId, LocationId, RegisterId, ThreadId};
use crate::program::asynchronous::Async;
use crate::program::lint::Lint;
use crate::tag::{Tag, Tags};
use crate::value::mbarrier;
use crate::value::{Type, Value};

#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub arch: Arch,
    pub barrier_rule: BarrierRule,
    pub locations: Vec<Location>,
    pub addresses: Vec<Address>,
    pub threads: Vec<Thread>,
    pub filter: Option<Spanned<Condition>>,
    /// About final states.
    pub questions: Vec<Question>,
    pub crash: Crash,
    /// What the histogram shows besides the terms of the condition.
    pub shown: Vec<Term>,
    /// Instruction forms that parsed but have no meaning yet: the test is `Unknown(unsupported)`.
    pub unsupported: Vec<Unsupported>,
    /// Features of the program a model may not know (`.cluster` under ptx-6.0): see [`Feature`].
    pub features: Vec<Spanned<Feature>>,
    /// The `.version` the text names, else the newest.
    pub version: Version,
    /// See [`crate::unfolding::Unfolding::kernel_order`].
    pub kernel_order: Vec<(KernelId, KernelId)>,
    /// See [`crate::unfolding::Unfolding::dependent_launches`].
    pub dependent_launches: Vec<(KernelId, KernelId)>,
    /// What looks wrong without any exploration.
    pub lints: Vec<Lint>,
    /// Values that stand for unknown initial ones, with their names; see [`crate::unfolding::initial`].
    pub unknown_values: Vec<(Value, String)>,
}

/// What a test asks about crashes. Nothing, where no memory is persistent.
#[derive(Clone, Debug, Default)]
pub struct Crash {
    /// About what persistent memory holds after a crash: [`Term::Memory`] is that.
    pub questions: Vec<Question>,
    pub recovery: Option<Recovery>,
}

/// What runs after a crash.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Its locations are those of the program that crashed, with their initial values: whoever runs it puts into the persistent
    /// ones what they held after the crash. Its questions are about the states in which it ends.
    pub program: Box<Program>,
    /// Where it stands.
    pub span: Span,
}

impl Program {
    /// The conditions of all questions about this program's runs, and of the filter.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let questions = self.questions.iter().chain(&self.crash.questions).map(|question| &question.condition);
        questions.chain(self.filter.iter().map(|filter| &filter.node))
    }

    /// Whether anything about crashes is to be answered: what is asked, or, where nothing is, what persistent memory may hold.
    pub fn asks_of_crashes(&self) -> bool {
        let asks = !self.crash.questions.is_empty() || self.crash.recovery.is_some();
        asks || self.questions.is_empty() && self.persistent().next().is_some()
    }

    /// The locations that survive a crash.
    pub fn persistent(&self) -> impl Iterator<Item = LocationId> + '_ {
        let persistent = self.locations.iter().enumerate().filter(|(_, location)| location.is_persistent);
        persistent.map(|(index, _)| LocationId::new(index))
    }
}

/// A version of the PTX ISA. Rules that changed between versions are keyed on it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    pub major: u8,
    pub minor: u8,
}

impl Default for Version {
    fn default() -> Version {
        Version::NEWEST
    }
}

impl Version {
    pub const NEWEST: Version = Version { major: 9, minor: 4 };
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// `.cluster` scope or a cluster in a placement (PTX 7.8).
    Cluster,
    /// A non-generic proxy or a virtual alias (PTX 7.5).
    Proxy,
    /// Asynchronous operations, mbarriers, tensor memory, and proxy fences in halves (PTX 7.0 and later).
    Async,
    /// Several kernels, or programmatic dependent launch.
    Launch,
    /// An operation that spans several locations: vectors, and accesses of different sizes.
    Span,
    /// Threads of different architectures.
    Mixed,
    /// Operations on all replicas of a location (PTX 8.1).
    Multimem,
    /// Memory that survives a crash, and the operations that order what is written there.
    Persistence,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    pub span: Span,
    /// What is not modelled, in words: "`wgmma.mma_async`", "mixed-size accesses to `x`".
    pub what: String,
}

/// Which barrier rule the dialect has; see the Dartagnan dialect's notes and PTX ISA 9.7.15.1.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum BarrierRule {
    /// `bar.cta.sync instance[, id[, quorum]]`: the author numbers dynamic instances; threads without a barrier are not waited for.
    Dartagnan,
    /// `bar.sync a{, b}`: waits for all threads of the CTA, or for `b` threads; generations follow program order.
    #[default]
    Ptx,
}

#[derive(Clone, Debug, Default)]
pub struct Location {
    pub name: ShortText,
    pub initial: Value,
    /// `x = ?`: `initial` is one of the values it may have (see [`crate::unfolding::initial`]).
    pub is_unknown: bool,
    /// Whether the test gives it a value. Of shared memory that is a state that threads of the CTA have made: PTX has no
    /// initial values there (PTX ISA 5.4.4).
    pub is_given: bool,
    /// What it holds survives a crash.
    pub is_persistent: bool,
    /// `y = x` of an unknown `x`: it starts with the same value as that location.
    pub copy_of: Option<LocationId>,
    /// The type of its accesses, [`Type::UNTYPED`] where the dialect has none.
    pub ty: Type,
    /// How many bytes it is; 0 where the dialect has no sizes.
    pub bytes: u32,
    /// None where nothing says it.
    pub space: Option<Space>,
    /// The CTA whose shared or tensor memory it lies in; None for global memory and where nothing says it.
    pub owner: Option<Place>,
    /// The thread whose local memory it lies in.
    pub thread: Option<ThreadId>,
    pub role: LocationRole,
    pub content: Content,
    /// The lengths of the dimensions of its array after the first.
    pub shape: Vec<u32>,
    /// How far apart the elements of its array are: bytes, or columns.
    pub element: u32,
    /// Whether a tile of its array, what one index of the first dimension selects, ends with it.
    pub ends_tile: bool,
}

/// PTX ISA 5.1, and tensor memory (9.7.18.1).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    Global,
    Shared,
    Local,
    Const,
    Param,
    TensorMemory,
}

impl Space {
    /// For sentences: "global memory".
    pub fn memory(self) -> &'static str {
        match self {
            Space::Global => "global memory",
            Space::Shared => "shared memory",
            Space::Local => "local memory",
            Space::Const => "constant memory",
            Space::Param => "parameter memory",
            Space::TensorMemory => "tensor memory",
        }
    }
}

/// What the values of a location are, as far as its declaration says it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Content {
    #[default]
    Integer,
    /// Bits of floating-point numbers, with which nothing computes.
    Float,
}

/// What a location is used as.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum LocationRole {
    #[default]
    Data,
    /// Its value is the packed state of an mbarrier object (see `crate::value::mbarrier`).
    Mbarrier,
    /// A tensor map; its value is the address of the tensor it describes.
    TensorMap,
}

/// A virtual address.
#[derive(Clone, Debug)]
pub struct Address {
    pub name: ShortText,
    pub location: LocationId,
    /// The generic virtual address this name stands for: itself for ordinary names and physical aliases, the target for
    /// texture, surface and constant names. Two accesses are `vloc` iff these are equal.
    pub generic: AddressId,
    /// The number a register holds when it holds this address. Elements of an array lie next to each other.
    pub value: Value,
    /// The address that stands for its location: itself, but for names of a place in a variable that accesses cut anew.
    /// The canonical addresses of a variable follow each other as its locations do.
    pub canonical: AddressId,
    /// How far into its location it is, in bytes: 0 but for an address that no access uses.
    pub within: i128,
    /// The proxy that its name is one of: `TEX`, `SUR`, `CON`; None for ordinary names.
    pub proxy: Option<Tag>,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub name: ShortText,
    /// What its code is written in.
    pub arch: Arch,
    pub place: Place,
    pub kernel: Option<KernelId>,
    pub registers: Vec<Register>,
    pub code: Vec<Instruction>,
    /// The text of its instructions, by where they stand.
    pub wordings: SortedMap<Span, Wording>,
}

/// What the text of an instruction says besides what its operations do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wording {
    /// The opcode with its modifiers: `ld.shared.u32`.
    pub spelling: ShortText,
    /// The state space in which it says that the address in a register lies.
    pub spaces: Vec<(RegisterId, Space)>,
}

#[derive(Clone, Debug)]
pub struct Register {
    pub name: ShortText,
    pub ty: Type,
    pub initial: Initial,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Initial {
    Value(Value),
    Address(AddressId),
}

/// Where a thread runs. A host thread lies outside every GPU.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Place {
    #[default]
    Host,
    Gpu {
        gpu: u32,
        cluster: u32,
        cta: u32,
    },
}

/// PTX ISA 8.5.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// One operation with the place it came from.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub operation: Operation,
    pub span: Span,
    /// `@p` / `@!p`: executed only if the register is (not) zero.
    pub guard: Option<(RegisterId, Polarity)>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Polarity {
    NonZero,
    Zero,
}

/// What an instruction does, the ISA's spelling gone. Tags are final: the events get exactly these (plus `R`/`W`/…).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    Load {
        destination: Option<RegisterId>,
        address: AddressOperand,
        ty: Type,
        tags: Tags,
        scope: Option<Scope>,
        assume: Option<Value>,
    },
    Store {
        address: AddressOperand,
        value: Operand,
        ty: Type,
        tags: Tags,
        scope: Option<Scope>,
    },
    /// `ld.v4`: one scalar operation per element, in no order (PTX ISA 8.2.4).
    VectorLoad {
        destinations: Vec<Option<RegisterId>>,
        address: AddressOperand,
        ty: Type,
        tags: Tags,
        scope: Option<Scope>,
    },
    /// `st.v4`.
    VectorStore {
        address: AddressOperand,
        values: Vec<Operand>,
        ty: Type,
        tags: Tags,
        scope: Option<Scope>,
    },
    /// `atom.v2`, `red.v4`: one read-modify-write per element, each atomic by itself, in no order (PTX ISA 8.2.4, 9.7.15.5).
    VectorUpdate(Box<VectorUpdate>),
    /// `multimem.*`: one scalar operation per replica, in no order (PTX ISA 8.2.3).
    Multimem(Box<Multimem>),
    /// Atomic read-modify-write. Read and write halves have their own tags (acquire on the read, release on the write).
    ReadModifyWrite {
        destination: Option<RegisterId>,
        address: AddressOperand,
        update: Update,
        ty: Type,
        read_tags: Tags,
        write_tags: Tags,
        scope: Option<Scope>,
        assume: Option<Value>,
    },
    Fence {
        tags: Tags,
        scope: Option<Scope>,
        cover: FenceCover,
    },
    MbarrierWait(MbarrierWait),
    /// An event without access: `griddepcontrol`, and what a host thread does with kernels.
    Mark {
        tags: Tags,
        call: Option<HostCall>,
    },
    /// Weak writes of zeros to the bytes from an address on: `st.bulk`; and `discard`, whose values mean nothing and which
    /// ends with the variable.
    Fill {
        address: AddressOperand,
        bytes: Operand,
        tags: Tags,
    },
    Barrier(Barrier),
    Async(Box<Async>),
    /// Register arithmetic: no event.
    Local {
        destination: RegisterId,
        ty: Type,
        value: LocalValue,
    },
    Branch {
        target: CodeIndex,
    },
    /// Branch if the comparison holds.
    BranchIf {
        comparison: Comparison,
        ty: Type,
        left: Operand,
        right: Operand,
        target: CodeIndex,
    },
    Exit,
    /// `trap`: the kernel is aborted, and nothing is known of what it leaves.
    Trap,
    Nothing,
}

/// Read-modify-writes of the elements of a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorUpdate {
    /// What each element was, of an `atom`; empty for a `red`.
    pub destinations: Vec<Option<RegisterId>>,
    pub address: AddressOperand,
    pub operator: crate::value::expression::BinaryOperator,
    pub values: Vec<Operand>,
    /// Of an element.
    pub ty: Type,
    pub read_tags: Tags,
    pub write_tags: Tags,
    pub scope: Option<Scope>,
}

/// An operation on all replicas of a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multimem {
    /// Its virtual address at each.
    pub replicas: Vec<AddressOperand>,
    pub action: MultimemAction,
    /// Of an element.
    pub ty: Type,
    pub read_tags: Tags,
    pub write_tags: Tags,
    pub scope: Option<Scope>,
}

/// One value or register per element of the vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MultimemAction {
    /// Returns what the operator makes of the replicas.
    LoadReduce {
        destinations: Vec<Option<RegisterId>>,
        operator: crate::value::expression::BinaryOperator,
    },
    Store {
        values: Vec<Operand>,
    },
    /// A `red` at each.
    Reduce {
        values: Vec<Operand>,
        operator: crate::value::expression::BinaryOperator,
    },
}

impl Multimem {
    /// How many elements its vector has.
    pub fn elements(&self) -> usize {
        match &self.action {
            MultimemAction::LoadReduce { destinations, .. } => destinations.len(),
            MultimemAction::Store { values } | MultimemAction::Reduce { values, .. } => values.len(),
        }
    }
}

/// What a host thread does with a kernel.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HostCall {
    /// `launch N`: the kernel starts after it.
    Launch(KernelId),
    /// `sync N`: waits until the kernel has ended.
    Sync(KernelId),
    /// A `sync N` that comes before another host thread's `launch N`, and so waits for nothing. Only of executions.
    Missed(KernelId),
}

/// What a fence is about (see [`Cover`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FenceCover {
    Fixed(Cover),
    /// The 128 bytes of the tensor map at this address.
    TensorMap(AddressOperand),
}

impl FenceCover {
    pub const EVERYTHING: FenceCover = FenceCover::Fixed(Cover::Everything);
}

/// `mbarrier.test_wait` and `mbarrier.try_wait`: a read whose tags depend on its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MbarrierWait {
    /// Gets the answer, 1 or 0.
    pub destination: Option<RegisterId>,
    pub address: AddressOperand,
    /// What is asked of the state, and its operand: a parity or a token.
    pub question: (mbarrier::Operator, Operand),
    pub answered_yes: Tags,
    pub answered_no: Tags,
    pub scope: Option<Scope>,
    pub patience: Patience,
}

/// When a wait answers no.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Exactly if the phase is not over (`test_wait`).
    None,
    /// Also when its time is up (`try_wait`).
    TimeLimit,
}

/// An index into [`Thread::code`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CodeIndex(pub u32);

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddressOperand {
    Static(AddressId),
    /// The address is in a register: the unfolding forks over the addresses it may hold.
    Register(RegisterId),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    Register(RegisterId),
    Constant(Value),
    Address(AddressId),
}

/// How an RMW computes what it writes (PTX ISA 9.7.15.5 `atom`, x86 locked operations).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Update {
    Exchange(Operand),
    Apply(crate::value::expression::BinaryOperator, Operand),
    /// `atom.inc`: old >= b ? 0 : old + 1.
    Increment(Operand),
    /// `atom.dec`: old == 0 || old > b ? b : old - 1.
    Decrement(Operand),
    /// Writes only on success, unless the dialect says a failing CAS writes the old value back (Dartagnan).
    CompareAndSwap {
        expected: Operand,
        new: Operand,
        on_failure: FailedCas,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FailedCas {
    NoWrite,
    WritesOldValue,
    /// C11 7.17.7.4: the read of a failing one has an order of its own. With a register it is the weak one, which may also
    /// fail though the values are equal: the register then gets 1, as where they differ, and 0 where it succeeds.
    Ordered {
        tags: Tags,
        failed: Option<RegisterId>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocalValue {
    Operand(Operand),
    Unary(crate::value::expression::UnaryOperator, Operand),
    Binary(crate::value::expression::BinaryOperator, Operand, Operand),
    Select { condition: Operand, then: Operand, otherwise: Operand },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barrier {
    pub kind: BarrierKind,
    pub level: BarrierLevel,
    /// Besides those of its kind and level.
    pub tags: Tags,
    /// Dartagnan's dynamic instance number; None in PTX.
    pub instance: Option<Operand>,
    /// The barrier resource. None in Dartagnan's unnamed form.
    pub id: Option<Operand>,
    /// Thread count (PTX) or quorum (Dartagnan).
    pub count: Option<Operand>,
    /// `bar.red`: the destination and the contributed predicate.
    pub reduction: Option<Reduction>,
}

/// Who meets at a barrier.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum BarrierLevel {
    /// `bar.sync` and the like.
    #[default]
    Cta,
    /// `barrier.cluster`: an arrive and a later wait ([`BarrierKind::Sync`]), which does not arrive.
    Cluster,
    /// `bar.warp.sync`; its identity is the mask.
    Warp,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BarrierKind {
    /// Arrives and waits; at cluster level, waits.
    Sync,
    Arrive,
    Red,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    pub destination: RegisterId,
    pub operation: ReductionOperation,
    pub predicate: Operand,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ReductionOperation {
    PopCount,
    And,
    Or,
}

#[derive(Clone, Debug)]
pub struct Question {
    pub kind: QuestionKind,
    pub name: Option<String>,
    pub condition: Condition,
    pub span: Span,
}

/// A condition over a final state, names resolved. Its lists are shared: conditions of hundreds of parts are negated, joined
/// with a filter and kept beside a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    True,
    False,
    Compare { op: Comparison, left: Term, right: Term },
    Not(Box<Condition>),
    And(Arc<[Condition]>),
    Or(Arc<[Condition]>),
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Term {
    Constant(Value),
    Register(ThreadId, RegisterId),
    /// The final value of a location: that of any co-maximal write.
    Memory(LocationId),
}

/// What a fence is about. Which kind of fence it is (a proxy, a half, a memory fence) is in its tags.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Cover {
    #[default]
    Everything,
    Global,
    /// Objects in the shared memory of the fence's own CTA (`.shared::cta`).
    SharedCta,
    /// Objects in the shared memory of the fence's cluster (`.shared::cluster`).
    SharedCluster,
    /// These locations only (`fence.proxy.tensormap::generic.acquire [map], 128`).
    Locations(Vec<LocationId>),
}
