//! Programs as machines run them: each thread a tree of requests, with its architecture and its place.
//!
//! A request is an event of an [`Unfolding`](fencepost_program::unfolding::Unfolding), under the same id, so that the
//! expressions of the unfolding are the expressions here: what a thread computes, which way it goes and what its registers
//! hold in the end follow from the values of its reads. A machine walks the tree of each thread from its root; where the
//! tree forks, the guard says which values lead which way.
//!
//! The unfolding and not the program is the right level: branches, dynamic addresses and compare-and-swaps are resolved
//! there once for all engines, side-effect-free spin loops are folded (earlier, failing iterations are left out: they only
//! add requests that stall others), and other loops are unrolled to a bound whose overstepping a machine notices exactly.

mod convert;
mod scopes;
mod so_far;
mod straight;
mod tree;
mod walk;

use std::fmt;

use fencepost_program::expression::Expression;
use fencepost_program::program::{Place, Scope};
use fencepost_program::unfolding::TraceEnd;
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::Span;

pub use convert::Placement;
pub use scopes::{GpuScope, Level, ScopeTree, ThreadScope, ThreadSet};
pub use straight::{Instruction, Straight};
pub use walk::{Sources, Walk};

/// The most requests that can be active in one run: rows of order constraints are one machine word.
pub const MOST_REQUESTS: u32 = 64;

/// Whose instructions a thread executes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Architecture {
    Sc,
    X86,
    Ptx,
    /// Scoped XC: the GPU of the gem5 study (section 7 of the paper).
    Xc,
    Arm,
}

impl Architecture {
    pub const ALL: [Architecture; 5] =
        [Architecture::Sc, Architecture::X86, Architecture::Ptx, Architecture::Xc, Architecture::Arm];

    pub fn name(self) -> &'static str {
        match self {
            Architecture::Sc => "sc",
            Architecture::X86 => "x86",
            Architecture::Ptx => "ptx",
            Architecture::Xc => "xc",
            Architecture::Arm => "arm",
        }
    }
}

/// The strength of a request. x86 accesses, and those of SC, are `Relaxed`; an MFENCE is `Sc`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Semantics {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
}

impl Semantics {
    pub fn at_least_acquire(self) -> bool {
        matches!(self, Semantics::Acquire | Semantics::AcqRel | Semantics::Sc)
    }

    pub fn at_least_release(self) -> bool {
        matches!(self, Semantics::Release | Semantics::AcqRel | Semantics::Sc)
    }

    pub fn name(self) -> &'static str {
        match self {
            Semantics::Weak => "weak",
            Semantics::Relaxed => "rlx",
            Semantics::Acquire => "acq",
            Semantics::Release => "rel",
            Semantics::AcqRel => "acqrel",
            Semantics::Sc => "sc",
        }
    }
}

/// A place in a run that a request takes: the init write of a location, or the nth request of a thread. Requests of
/// different branches of one thread may share a slot; they never occur together.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u8);

impl Slot {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn bit(self) -> u64 {
        1 << self.0
    }
}

#[derive(Clone, Debug)]
pub struct Requests {
    pub threads: Vec<RequestThread>,
    pub locations: Vec<RequestLocation>,
    /// By event id; the init writes first, one per location, in order.
    pub requests: Vec<Request>,
    pub traces: Vec<RequestTrace>,
    pub scopes: ScopeTree,
    /// How many slots there are.
    pub slots: u32,
}

#[derive(Clone, Debug)]
pub struct RequestLocation {
    pub name: String,
    pub initial: Value,
    /// What it holds survives a crash.
    pub is_persistent: bool,
}

#[derive(Clone, Debug)]
pub struct RequestThread {
    pub name: String,
    pub architecture: Architecture,
    pub place: Place,
    /// The slot of its first request.
    pub first: Slot,
    /// The longest of its traces.
    pub length: u32,
    pub root: Fork,
}

/// What may come next.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    pub branches: Vec<Branch>,
    /// Traces that end here.
    pub ends: Vec<TraceId>,
}

#[derive(Clone, Debug)]
pub struct Branch {
    pub to: EventId,
    /// All must be non-zero for this branch to be the one taken; their reads come before the fork.
    pub guard: Vec<Expression>,
}

#[derive(Clone, Debug)]
pub struct Request {
    /// None for init writes.
    pub thread: Option<ThreadId>,
    pub slot: Slot,
    pub kind: RequestKind,
    pub semantics: Semantics,
    pub scope: Scope,
    /// Half of an atomic read-modify-write.
    pub atomic: Option<AtomicHalf>,
    /// What it does about memory that survives a crash.
    pub persist: Option<PersistOperation>,
    /// Reads that must have their value before the request is accepted: address, data and control dependencies.
    pub needs: Vec<EventId>,
    pub next: Fork,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestKind {
    Read { location: LocationId },
    Write { location: LocationId, value: Expression },
    Fence,
}

/// An operation of a persistency model.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PersistOperation {
    /// `ofence`.
    Order,
    /// `dfence`.
    Durability,
    /// `pacq`, a read.
    Acquire,
    /// `prel`, a write.
    Release,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AtomicHalf {
    Read,
    /// The write half, and its read.
    Write(EventId),
}

#[derive(Clone, Debug)]
pub struct RequestTrace {
    pub constraints: Vec<Expression>,
    pub assumptions: Vec<Expression>,
    pub end: TraceEnd,
    /// Final register values.
    pub registers: Vec<Expression>,
}

impl Request {
    pub fn is_read(&self) -> bool {
        matches!(self.kind, RequestKind::Read { .. })
    }

    pub fn is_write(&self) -> bool {
        matches!(self.kind, RequestKind::Write { .. })
    }

    pub fn is_fence(&self) -> bool {
        self.kind == RequestKind::Fence
    }

    pub fn location(&self) -> Option<LocationId> {
        match self.kind {
            RequestKind::Read { location } | RequestKind::Write { location, .. } => Some(location),
            RequestKind::Fence => None,
        }
    }
}

impl Requests {
    pub fn request(&self, id: EventId) -> &Request {
        &self.requests[id.index()]
    }

    /// Where the first request of a thread stands; nowhere, if it has none.
    pub(crate) fn start(&self, thread: ThreadId) -> Span {
        let first = self.requests.iter().find(|request| request.thread == Some(thread));
        first.map_or_else(Span::default, |request| request.span)
    }

    /// Per event: the one that comes before it in its thread.
    pub(crate) fn parents(&self) -> Vec<Option<EventId>> {
        let mut parents = vec![None; self.requests.len()];
        for (index, request) in self.requests.iter().enumerate() {
            request.next.branches.iter().for_each(|branch| parents[branch.to.index()] = Some(EventId::new(index)));
        }
        parents
    }

    /// The thread a request belongs to for ordering purposes. Init writes are thread 0's (Lean: accepted there first).
    pub(crate) fn owner(&self, id: EventId) -> usize {
        self.request(id).thread.map_or(0, ThreadId::index)
    }

    /// Everything that runs on a thread is of its architecture; init writes are of thread 0's.
    pub(crate) fn architecture(&self, id: EventId) -> Architecture {
        self.threads.get(self.owner(id)).map_or(Architecture::Sc, |thread| thread.architecture)
    }

    /// The request as people write it: `W.rel.gpu x=1`. A write that computes its value has one when that is `known`.
    pub fn text(&self, id: EventId, known: Option<Value>) -> String {
        Text { requests: self, id, known }.to_string()
    }
}

struct Text<'a> {
    requests: &'a Requests,
    id: EventId,
    known: Option<Value>,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.requests.request(self.id);
        let name = |location: LocationId| &self.requests.locations[location.index()].name;
        let architecture = self.requests.architecture(self.id);
        let mark = match (architecture, request.semantics, request.scope) {
            (Architecture::Sc | Architecture::X86, ..) => String::new(),
            (Architecture::Arm, Semantics::Relaxed, _) => String::new(),
            (Architecture::Arm, semantics, _) => format!(".{}", semantics.name()),
            (_, Semantics::Relaxed, Scope::Sys) if !request.is_fence() => String::new(),
            (_, Semantics::Weak, _) => ".weak".to_owned(),
            (_, semantics, scope) => format!(".{}.{}", semantics.name(), scope_name(scope)),
        };
        if let Some(operation) = request.persist {
            return self.persist(f, operation);
        }
        let half = if request.atomic.is_some() { "*" } else { "" };
        match &request.kind {
            RequestKind::Read { location } => write!(f, "R{half}{mark} {}", name(*location)),
            RequestKind::Write { location, value } => match (value, &self.known) {
                (Expression::Constant(value), _) | (_, Some(value)) => {
                    write!(f, "W{half}{mark} {}={value}", name(*location))
                }
                _ => write!(f, "W{half}{mark} {}", name(*location)),
            },
            RequestKind::Fence if architecture == Architecture::X86 => write!(f, "MFENCE"),
            RequestKind::Fence => write!(f, "F{mark}"),
        }
    }
}

impl Text<'_> {
    /// As it stands in a program: `ofence`, `pacq.gpu f`, `prel.cta f=1`.
    fn persist(&self, f: &mut fmt::Formatter<'_>, operation: PersistOperation) -> fmt::Result {
        let request = self.requests.request(self.id);
        let location = request.location().map_or("", |location| &self.requests.locations[location.index()].name);
        let scope = scope_name(request.scope);
        let value = match (&request.kind, &self.known) {
            (RequestKind::Write { value: Expression::Constant(value), .. }, _) | (_, Some(value)) => {
                format!("={value}")
            }
            _ => String::new(),
        };
        match operation {
            PersistOperation::Order => write!(f, "ofence"),
            PersistOperation::Durability => write!(f, "dfence"),
            PersistOperation::Acquire => write!(f, "pacq.{scope} {location}"),
            PersistOperation::Release => write!(f, "prel.{scope} {location}{value}"),
        }
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}
