//! What an architecture says: which pairs of requests it orders, at which scope, and what stalls whom.
//!
//! By the LOST principle this is all there is to an architecture: two requests of one thread (or a predecessor and a
//! request of the thread) are ordered or not, and a fence-like request stalls others of its thread until certain earlier
//! ones have propagated. A pair of requests of different architectures is judged by the GPU's rules, with an x86 access
//! as a relaxed one of system scope and an MFENCE as an `sc` fence of system scope, which is how requests are encoded.

use fencepost_program::LocationId;
use fencepost_program::program::Scope;

use crate::lostpop::rules::{Difference, Rules};
use crate::requests::{Architecture, AtomicHalf, Request, ScopeTree, Semantics, ThreadSet};

/// What a fence-like request makes later requests wait for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Kinds = Kinds(0);
    /// Reads wait for earlier reads and predecessors.
    pub(super) const READ_READ_PRED: Kinds = Kinds(1);
    /// Reads wait for earlier reads.
    pub(super) const READ_READ: Kinds = Kinds(2);
    /// Writes wait for earlier reads and predecessors.
    pub(super) const READ_WRITE_PRED: Kinds = Kinds(4);
    /// Writes wait for earlier reads.
    pub(super) const READ_WRITE: Kinds = Kinds(8);
    /// Reads wait for earlier writes.
    pub(super) const WRITE_READ: Kinds = Kinds(16);
    /// Writes wait for earlier writes.
    pub(super) const WRITE_WRITE: Kinds = Kinds(32);

    const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(super) fn has(self, kind: Kinds) -> bool {
        self.0 & kind.0 != 0
    }
}

const RELEASE: Kinds = Kinds::READ_WRITE_PRED.and(Kinds::WRITE_WRITE);
const TSO: Kinds = RELEASE.and(Kinds::READ_READ_PRED);
const FULL: Kinds = TSO.and(Kinds::WRITE_READ);

/// A request as the rules see it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Face {
    pub(super) architecture: Architecture,
    pub(super) thread: usize,
    pub(super) shape: Shape,
    pub(super) location: Option<LocationId>,
    pub(super) semantics: Semantics,
    /// The threads in its scope.
    pub(super) scope: ThreadSet,
    pub(super) kinds: Kinds,
    pub(super) atomic: Option<AtomicHalf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Read,
    Write,
    Fence,
}

impl Face {
    pub(super) fn new(
        request: &Request,
        owner: usize,
        architecture: Architecture,
        rules: Rules,
        tree: &ScopeTree,
    ) -> Face {
        let shape = match (request.is_read(), request.is_write()) {
            (true, _) => Shape::Read,
            (_, true) => Shape::Write,
            _ => Shape::Fence,
        };
        let own_thread = request.semantics == Semantics::Weak && !rules.lean(Difference::WeakScope);
        let scope = match architecture {
            Architecture::Ptx if own_thread => ThreadSet(1 << owner),
            Architecture::Ptx | Architecture::Xc => tree.named(owner, request.scope),
            Architecture::Sc | Architecture::X86 | Architecture::Arm => tree.named(owner, Scope::Sys),
        };
        let mut face = Face {
            architecture,
            thread: owner,
            shape,
            location: request.location(),
            semantics: request.semantics,
            scope,
            kinds: Kinds::NONE,
            atomic: request.atomic,
        };
        face.kinds = face.kinds(rules);
        face
    }

    pub(super) fn is_memory(&self) -> bool {
        self.shape != Shape::Fence
    }

    pub(super) fn is_read(&self) -> bool {
        self.shape == Shape::Read
    }

    pub(super) fn is_write(&self) -> bool {
        self.shape == Shape::Write
    }

    /// Two memory operations on one location, one of them a write: whoever sees both orders them.
    pub(super) fn conflicts(&self, other: &Face) -> bool {
        self.location.is_some() && self.location == other.location && (self.is_write() || other.is_write())
    }

    fn kinds(&self, rules: Rules) -> Kinds {
        let is_fence = self.shape == Shape::Fence;
        match self.architecture {
            Architecture::Sc => FULL,
            // Locked instructions are our extension: x86-TSO makes each a fence towards its thread.
            Architecture::X86 if self.atomic.is_some() => FULL,
            Architecture::X86 if !is_fence => TSO,
            Architecture::X86 if self.semantics != Semantics::Sc => Kinds::NONE,
            Architecture::X86 if rules.lean(Difference::MfenceKinds) => FULL,
            Architecture::X86 => TSO,
            Architecture::Ptx | Architecture::Xc => match self.semantics {
                Semantics::Weak | Semantics::Relaxed => Kinds::NONE,
                Semantics::Acquire => Kinds::READ_READ.and(Kinds::READ_WRITE),
                Semantics::Release => RELEASE,
                Semantics::AcqRel => RELEASE.and(Kinds::READ_READ),
                Semantics::Sc => FULL,
            },
            Architecture::Arm if is_fence => FULL,
            Architecture::Arm => match self.semantics {
                Semantics::Acquire => Kinds::READ_READ_PRED.and(Kinds::READ_WRITE_PRED),
                Semantics::Release => RELEASE,
                _ => Kinds::NONE,
            },
        }
    }
}

/// Which architecture's rules judge a pair.
fn judge(old: &Face, new: &Face) -> Architecture {
    let either = |architecture| old.architecture == architecture || new.architecture == architecture;
    if old.architecture == new.architecture {
        old.architecture
    } else if either(Architecture::Ptx) {
        Architecture::Ptx
    } else if either(Architecture::Xc) {
        Architecture::Xc
    } else {
        old.architecture
    }
}

/// Whether a machine with threads of these two architectures is defined.
pub(super) fn compose(a: Architecture, b: Architecture) -> bool {
    let is_gpu = |architecture| matches!(architecture, Architecture::Ptx | Architecture::Xc);
    a == b || (a == Architecture::X86 && is_gpu(b)) || (b == Architecture::X86 && is_gpu(a))
}

fn meet(a: ThreadSet, b: ThreadSet, tree: &ScopeTree) -> ThreadSet {
    // Two sets of a tree are nested or disjoint. Lean turns the empty meet into the system; it cannot arise for the
    // pairs that are asked about, since both scopes contain the newer request's thread.
    let both = ThreadSet(a.0 & b.0);
    if both.0 == 0 { tree.system() } else { both }
}

/// The scope at which an order between the two is kept (`scopeIntersection`).
pub(super) fn scope_of(old: &Face, new: &Face, tree: &ScopeTree) -> ThreadSet {
    match judge(old, new) {
        Architecture::Sc | Architecture::X86 | Architecture::Arm => tree.system(),
        Architecture::Ptx if new.semantics.at_least_release() => new.scope,
        Architecture::Ptx if old.semantics.at_least_acquire() => old.scope,
        Architecture::Ptx | Architecture::Xc => meet(old.scope, new.scope, tree),
    }
}

fn scopes_match(old: &Face, new: &Face, tree: &ScopeTree) -> bool {
    let scope = scope_of(old, new, tree);
    scope.has(old.thread as u32) && scope.has(new.thread as u32)
}

/// Whether `old`, a request of `new`'s thread or a predecessor there, is ordered before `new` (`orderCondition`).
pub(super) fn is_ordered(old: &Face, new: &Face, rules: Rules, tree: &ScopeTree) -> bool {
    let same_thread = old.thread == new.thread;
    let is_fence = old.shape == Shape::Fence || new.shape == Shape::Fence;
    match judge(old, new) {
        Architecture::Sc => same_thread,
        Architecture::X86 => {
            let locked = old.atomic.is_some() || new.atomic.is_some();
            same_thread && (locked || !(old.is_write() && new.is_read()))
        }
        Architecture::Ptx => {
            let o1 = old.semantics.at_least_acquire() && same_thread;
            let o2 = new.semantics.at_least_release();
            let o3 = new.semantics.at_least_acquire() && old.is_read() && same_thread;
            let o4 = old.semantics.at_least_release() && new.is_write() && same_thread;
            let o5 = old.is_read() && new.is_read() && old.location == new.location && same_thread;
            let o6 = is_fence && same_thread && !rules.lean(Difference::FenceOrder);
            (o1 || o2 || o3 || o4 || o5 || o6) && scopes_match(old, new, tree)
        }
        Architecture::Xc => {
            let read_write = same_thread && old.is_read() && new.is_write();
            (read_write || is_fence) && scopes_match(old, new, tree)
        }
        Architecture::Arm => {
            let release = new.is_write() && new.semantics == Semantics::Release;
            let acquire = old.is_read() && old.semantics == Semantics::Acquire && same_thread;
            let both = old.is_write() && old.semantics == Semantics::Release;
            let both = both && new.is_read() && new.semantics == Semantics::Acquire && same_thread;
            let same_address = old.location.is_some() && old.location == new.location;
            release || acquire || both || is_fence || same_address
        }
    }
}

/// Whether two memory operations are in each other's scope, weak ones being in nobody's. A write that a read sees becomes a
/// predecessor at the read's thread if they are (`predecessorConstraints`), and only such a write parts a
/// read-modify-write.
pub(super) fn is_mutual(one: &Face, other: &Face) -> bool {
    let inclusive = one.scope.has(other.thread as u32) && other.scope.has(one.thread as u32);
    match judge(one, other) {
        Architecture::Sc | Architecture::X86 | Architecture::Arm => true,
        Architecture::Ptx => one.semantics != Semantics::Weak && other.semantics != Semantics::Weak && inclusive,
        Architecture::Xc => inclusive,
    }
}
