//! The program as events: loops unrolled, branches, dynamic addresses and compare-and-swap outcomes resolved by forking.
//!
//! Each thread is a tree of events; a root-to-leaf path is a *trace*. A trace carries the constraints under which it is
//! the one taken (over the values of its own reads) and how it ends. An engine picks one trace per thread, then
//! reads-from and the orders of the model. Events of different traces of one thread never occur together.

pub mod access;
pub mod barrier;
pub mod condition;
pub mod initial;
pub mod launch;
pub mod placement;

use fencepost_syntax::Span;
use fencepost_syntax::few::Few;
use fencepost_syntax::short::ShortText;

use crate::ids::{AddressId, EventId, KernelId, LocationId, ThreadId, TraceId};
use crate::program::asynchronous::TensorKind;
use crate::program::{
    BarrierKind, BarrierLevel, BarrierRule, Condition, Cover, HostCall, LocationRole, Place, ReductionOperation, Scope,
    Space, Term, Version,
};
use crate::tag::Tags;
use crate::value::expression::Expression;
use crate::value::{Type, Value};

#[derive(Clone, Debug, Default)]
pub struct Unfolding {
    pub barrier_rule: BarrierRule,
    /// Of the ISA: some rules changed.
    pub version: Version,
    /// Init writes first (one per location, in location order), then thread by thread, parents before children.
    pub events: Vec<Event>,
    pub threads: Vec<ThreadUnfolding>,
    pub traces: Vec<Trace>,
    pub locations: Vec<LocationInfo>,
    /// Every thread of the first kernel ends before any thread of the second starts; transitively closed.
    pub kernel_order: Vec<(KernelId, KernelId)>,
    /// Programmatic dependent launches: the second kernel may start before the first has ended, and waits for it only
    /// where it says so (`griddepcontrol.wait`). Such a pair is not in `kernel_order`.
    pub dependent_launches: Vec<(KernelId, KernelId)>,
    /// Rules broken within one thread, whatever memory does.
    pub hazards: Vec<Hazard>,
    /// Traces that stand beside the same trace without an iteration of a spin loop (`unfold_accesses`).
    pub failing: Vec<FailingIteration>,
    /// What the exit of a thread depends on, by trace, ascending: the reads that decided a branch on one way of which the thread
    /// need not exit, or takes part in other barriers first. Nothing else that happens or not before an exit decides it.
    pub exits: Vec<(TraceId, Vec<EventId>)>,
    /// Traces that end after an iteration which all threads of a CTA go through together ([`crate::unfold::Joint`]).
    pub joint: Vec<TraceId>,
    /// Terms that are asked for and may have values without a model ([`crate::unfold::Unmodelled::Noted`]).
    pub unmodelled: Option<UnmodelledTerms>,
}

/// Terms of questions whose values are not known: no question that has one is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnmodelledTerms {
    /// Where the first such value comes from.
    pub span: Span,
    /// Ascending.
    pub terms: Vec<Term>,
}

impl Unfolding {
    /// Whether a condition rests on a value without a model.
    pub fn is_unmodelled(&self, condition: &Condition) -> bool {
        let terms = self.unmodelled.as_ref().map_or(&[][..], |found| found.terms.as_slice());
        !terms.is_empty() && condition.terms().iter().any(|term| terms.contains(term))
    }

    /// Whether it ends with its CTA's going round for ever without asking for anything itself.
    pub fn goes_round(&self, trace: TraceId) -> bool {
        let end = self.traces.get(trace.index()).map(|trace| &trace.end);
        matches!(end, Some(TraceEnd::Spin { reads, .. }) if reads.is_empty()) && self.joint.contains(&trace)
    }

    /// The reads that decided that the thread of this trace exits.
    pub fn deciding_reads(&self, trace: TraceId) -> &[EventId] {
        let at = self.exits.binary_search_by_key(&trace, |(exits, _)| *exits);
        at.map_or(&[], |at| self.exits[at].1.as_slice())
    }
}

/// Other threads learn of what a thread did where it lets them know; so the place of a write that is not made may be another
/// for them than for the thread itself.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Readers {
    All,
    Own,
    Others,
}

impl Readers {
    /// Whether a write that the one thread leaves out is about reads of the other.
    pub fn have(self, thread: ThreadId, reader: Option<ThreadId>) -> bool {
        match self {
            Readers::All => true,
            Readers::Own => reader == Some(thread),
            Readers::Others => reader != Some(thread),
        }
    }
}

/// An iteration of a spin loop that a trace has for its accesses only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingIteration {
    pub trace: TraceId,
    /// In program order.
    pub events: Vec<EventId>,
}

/// A rule of the ISA that a run breaks on its own: no other thread and no order of memory matters.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Hazard {
    pub kind: HazardKind,
    /// The two places it is about; the same one twice if there is only one.
    pub first: Span,
    pub second: Span,
    /// A run that does it.
    pub trace: TraceId,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HazardKind {
    /// A register of a `wgmma.mma_async` is touched before a `wgmma.wait_group` that covers it (PTX ISA 9.7.17.5.2).
    RegisterInFlight,
    /// No `wgmma.fence` before the first `wgmma.mma_async`, or between a register access and one that uses the register.
    NoRegisterFence,
    /// `barrier.cluster.arrive` again, without a wait since the last one (PTX ISA 9.7.15.3).
    ClusterArriveTwice,
    /// `barrier.cluster.wait` without an arrive since the last one.
    ClusterWaitAlone,
    /// The destination or the mbarrier of an asynchronous operation lies in a CTA where the ISA does not allow it
    /// ([`crate::unfolding::placement`]).
    Misplaced,
    /// An access through `.shared::cta` to the memory of another CTA.
    OutsideWindow,
    /// The mbarrier of a bulk copy lies in another CTA than its destination, of which the ISA says nothing.
    MbarrierElsewhere,
    /// A `tcgen05.alloc`, `dealloc` or `relinquish_alloc_permit` of `.cta_group::2` that the peer CTA does not perform (PTX ISA
    /// 9.7.18.5).
    UnpairedCollective,
    /// `tcgen05.alloc` after `tcgen05.relinquish_alloc_permit` (PTX ISA 9.7.18.7.1).
    AllocAfterRelinquish,
    /// `tcgen05.dealloc` of another number of columns than were allocated (PTX ISA 9.7.18.7.1).
    DeallocatedCount,
    /// Tensor memory that is allocated and that no thread of the CTA deallocates.
    NeverDeallocated,
    /// Two values of `.cta_group` in one kernel (PTX ISA 9.7.18.5).
    MixedCtaGroup,
    /// A computed address of a copy that is no multiple of what the copy wants (PTX ISA 9.7.10.28).
    Misaligned { address: AddressId, wanted: u32 },
}

#[derive(Clone, Debug, Default)]
pub struct LocationInfo {
    pub name: ShortText,
    pub initial: Value,
    pub ty: Type,
    /// Its init write.
    pub init: EventId,
    pub space: Option<Space>,
    /// The CTA whose shared or tensor memory it lies in.
    pub owner: Option<Place>,
    /// The thread whose local memory it lies in.
    pub thread: Option<ThreadId>,
    pub role: LocationRole,
    /// No event of a thread is about it, and no condition: no execution has its init write.
    pub is_untouched: bool,
}

/// The ways that a thread may take, or some of them: mostly one.
pub type Traces = Few<TraceId, 4>;

#[derive(Clone, Debug, Default)]
pub struct ThreadUnfolding {
    pub name: ShortText,
    pub place: Place,
    /// The kernel the thread belongs to, in tests with launches.
    pub kernel: Option<KernelId>,
    pub traces: Traces,
}

#[derive(Clone, Debug, Default)]
pub struct Event {
    /// None for init writes.
    pub thread: Option<ThreadId>,
    pub kind: EventKind,
    pub tags: Tags,
    pub scope: Option<Scope>,
    /// The event before it in program order, on every trace that has it. None at a thread's start and for init writes.
    pub parent: Option<EventId>,
    /// The other half of a read-modify-write.
    pub rmw_partner: Option<EventId>,
    /// Reads this event's address depends on.
    pub address_deps: Vec<EventId>,
    /// Reads this event's written value depends on.
    pub data_deps: Vec<EventId>,
    /// Reads that decided a branch on the way here.
    pub control_deps: Vec<EventId>,
    /// Where in the source.
    pub span: Span,
    /// Which iteration of unrolled loops this is, for display: 0 outside loops.
    pub iteration: u32,
    /// The asynchronous operation it is part of. None for events in program order (*main* events).
    pub strand: Option<Strand>,
    /// Of a main event: events of strands that are complete once it is (`wait_group`, `tcgen05.wait`).
    pub completes: Vec<EventId>,
    /// Of a host thread's event that launches a kernel or waits for one.
    pub call: Option<HostCall>,
    /// Of a fence: the accesses it is about.
    pub cover: Cover,
    /// Of an access that is one of several events of one scalar operation (one that spans several locations).
    pub extent: Option<Extent>,
    /// The events of one vector access, and those of one operation that spans several locations, are a group, named by its
    /// first event. Program order does not relate events of one group (PTX ISA 8.2.4: in no specified order), though the
    /// parent of one may be another. The reads and the writes of a read-modify-write are two groups, and program order relates
    /// the read of an element with the write of that element only.
    pub group: Option<EventId>,
}

/// An asynchronous operation contributes an issue event to program order and a strand beside it: its accesses and its
/// completion, ordered after the issue only as far as the model says (PTX ISA 8.9.1.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strand {
    /// The main event that started it ([`EventKind::Issue`]); also the strand's name.
    pub issue: EventId,
    /// Events of the same strand that come before this one, transitively closed: the read of an element before its write,
    /// all accesses before the completion. For a completion that speaks for several strands (`cp.async.mbarrier.arrive`,
    /// `tcgen05.commit`) also the accesses of those.
    pub after: Vec<EventId>,
    /// Of `tcgen05` operations: what decides whether two of them are pipelined.
    pub tensor: Option<TensorOperation>,
}

/// PTX ISA 9.7.18.6.2.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TensorOperation {
    pub kind: TensorKind,
    /// The N of `.cta_group::N`; 0 where the instruction has none (`ld`, `st`).
    pub group: u8,
    /// First column location of the accumulator of an `mma`.
    pub accumulator: Option<LocationId>,
    /// Equal for `mma`s of equal shape and kind.
    pub shape: u64,
}

/// A scalar operation that spans several locations is one event per location.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The first event of the operation; also its name.
    pub operation: EventId,
    /// The locations it spans, `first` and the `count - 1` after it.
    pub first: LocationId,
    pub count: u32,
}

/// The type is the location's, whatever the access calls it (`ld.b32` of an `.s32`): memory has one value for the same
/// bits, and conversions to and from the access's type are in the expressions.
#[derive(Clone, Debug, Default)]
pub enum EventKind {
    Read {
        address: AddressId,
        generic: AddressId,
        location: LocationId,
        ty: Type,
    },
    Write {
        address: AddressId,
        generic: AddressId,
        location: LocationId,
        value: Expression,
        ty: Type,
    },
    #[default]
    Fence,
    Barrier(BarrierEvent),
    /// An asynchronous operation starts, or a main event that only waits for some (`wait_group`): no access of its own.
    Issue,
    /// A write that the thread does not make here and would make had it read other values: no access, and yet whoever
    /// would have read it depends on why it is not made (docs/models/omission.md). The tags are those of the write, but
    /// for `Write`. Only of an unfolding with real dependencies.
    Omitted(OmittedWrite),
}

/// See [`EventKind::Omitted`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OmittedWrite {
    pub generic: AddressId,
    pub location: LocationId,
    /// The reads that decide that it is not made.
    pub decided_by: Vec<EventId>,
    /// Of an asynchronous write: the mbarrier that would tell of its end, if only who learns of it there would have seen
    /// it. Such an event is not in program order.
    pub through: Option<LocationId>,
    /// Whose reads it is about.
    pub readers: Readers,
}

#[derive(Clone, Debug)]
pub struct BarrierEvent {
    pub kind: BarrierKind,
    pub level: BarrierLevel,
    pub instance: Option<Expression>,
    pub id: Option<Expression>,
    pub count: Option<Expression>,
    /// `bar.red`: what this thread contributes; the result is [`Expression::BarrierResult`].
    pub reduction: Option<(ReductionOperation, Expression)>,
    /// The reads that the contribution depends on. Results depend on it, and nothing else behind the barrier does.
    pub contributed: Vec<EventId>,
}

#[derive(Clone, Debug)]
pub struct Trace {
    pub thread: ThreadId,
    /// In program order.
    pub events: Vec<EventId>,
    /// All must be non-zero (`Zero` polarity is expressed by an `Equal` to 0) for this trace to be the one taken.
    pub constraints: Vec<Expression>,
    /// Reads an NVLitmus author assumes to return a value; like constraints, but of the question rather than the code.
    pub assumptions: Vec<Expression>,
    pub end: TraceEnd,
    /// Final register values, by register index.
    pub registers: Vec<Expression>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceEnd {
    /// The thread ran to its end.
    Exit,
    /// It sits in a side-effect-free spin loop at `span`; stuck for good iff each of `reads` reads a co-maximal write.
    Spin { reads: Vec<EventId>, span: Span },
    /// It waits at its last event, a barrier or a wait for kernels, for good.
    Blocked { barrier: EventId },
    /// Its kernel never starts; it has no events (see [`crate::unfolding::launch`]).
    NotStarted,
    /// The unrolling bound cut it: nothing may be concluded from its absence. Whatever lies past the cut depends on the
    /// reads in `rests_on`, those that decided a branch on the way here.
    Bound { span: Span, rests_on: Vec<EventId> },
    /// It accesses an address that no location has, or that lies in another state space than the instruction says, or it
    /// traps: `what` says it in words. `rests_on` as for `Bound`, and the reads the address depends on.
    Wild { span: Span, what: String, rests_on: Vec<EventId> },
}

impl TraceEnd {
    /// Whether the thread was not followed to where it ends or waits.
    pub fn is_cut(&self) -> bool {
        matches!(self, TraceEnd::Bound { .. } | TraceEnd::Wild { .. })
    }
}

/// Which barrier operations met. Part of an execution: two matchings are two executions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct BarrierMatching {
    /// One group per completed barrier (generation), members in event order.
    pub groups: Vec<Vec<EventId>>,
    /// Pairs `(x, y)`: barrier operation x synchronises with y (y is not an arrive), PTX ISA 8.9.4.
    pub synchronises: Vec<(EventId, EventId)>,
    /// Pairs `(x, y)`: y waited at a barrier that a thread was missing from because it had exited, and x is an event of that
    /// thread, in program order.
    pub exits: Vec<(EventId, EventId)>,
    /// Pairs `(x, y)` of operations on one barrier: that of x completed before y arrived, in a later generation. Only of barriers
    /// where the order is a choice, and only if it is asked for.
    pub generations: Vec<(EventId, EventId)>,
}

/// Whether the order of a barrier's generations is part of a matching. Most models do not look at it, and it would multiply
/// their executions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum GenerationOrder {
    #[default]
    Unordered,
    Ordered,
}

/// A value for every register of every thread, and every location: what a condition is judged on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FinalState {
    pub registers: Vec<Vec<Value>>,
    pub memory: Vec<Value>,
}
