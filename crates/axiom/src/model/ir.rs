//! The compiled form of a cat model. Nodes are in evaluation order: operands come before their users, except that the
//! nodes of a recursive group may use the group's variables.

use fencepost_program::tag::Tag;
use fencepost_syntax::Span;

/// An index into [`Model::nodes`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug)]
pub struct Model {
    pub name: String,
    pub nodes: Vec<Node>,
    /// Recursive groups, in node order, not nested.
    pub groups: Vec<RecursiveGroup>,
    pub checks: Vec<Check>,
    /// `show`n relations: name and node, for pictures.
    pub shown: Vec<(String, NodeId)>,
    /// Whether coherence is a total order per location, or partial and closed by the model's own checks.
    pub coherence: Coherence,
}

/// Derived from the text, never assumed: a model that demands coherence edges (`co` under a difference in an `empty`
/// check) has partial coherence; any other has a total order per location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coherence {
    Total,
    Partial,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub operator: Operator,
    pub kind: NodeKind,
    /// The name a `let` gave it, for explanations.
    pub name: Option<String>,
    pub span: Span,
    /// Which base relations the engine chooses it depends on; none means it is fixed by the traces.
    pub depends: Dynamic,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NodeKind {
    Set,
    Relation,
}

/// The base relations that vary between executions of the same traces.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Dynamic {
    pub rf: bool,
    pub co: bool,
    pub sync_fence: bool,
    pub syncbar: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    // Sets.
    Base(BaseSet),
    EmptySet,
    SetUnion(NodeId, NodeId),
    SetIntersection(NodeId, NodeId),
    SetDifference(NodeId, NodeId),
    /// Within the events of the candidate.
    SetComplement(NodeId),
    Domain(NodeId),
    Range(NodeId),
    // Relations.
    BaseRelation(BaseRelation),
    EmptyRelation,
    Union(NodeId, NodeId),
    Intersection(NodeId, NodeId),
    Difference(NodeId, NodeId),
    Complement(NodeId),
    Sequence(NodeId, NodeId),
    Inverse(NodeId),
    /// Transitive closure.
    Plus(NodeId),
    /// Reflexive transitive closure, over all events of the candidate.
    Star(NodeId),
    /// Reflexive closure, over all events of the candidate.
    Optional(NodeId),
    /// `[S]`.
    Identity(NodeId),
    /// `S * T`.
    Product(NodeId, NodeId),
    /// A variable of a recursive group: starts empty, grows to the least fixed point.
    Variable,
}

/// `nodes[first..=last]` are evaluated again and again, from empty variables, until each variable equals its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecursiveGroup {
    pub first: NodeId,
    pub last: NodeId,
    /// `(variable, body)`.
    pub variables: Vec<(NodeId, NodeId)>,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BaseSet {
    /// `_`: every event of the candidate.
    Universe,
    /// `M`: reads and writes.
    Memory,
    /// `FW`: final writes (co-maximal); only herd's `co0` uses it.
    FinalWrites,
    Tagged(Tag),
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BaseRelation {
    Id,
    Po,
    /// Same physical location, memory events only.
    Loc,
    /// Same generic virtual address, memory events only.
    Vloc,
    /// Same thread; init writes are related to none.
    Int,
    /// Different threads; init writes are external to every thread.
    Ext,
    Rf,
    Co,
    /// Read half to write half.
    Rmw,
    /// herd's `amo`: read-modify-writes of a single instruction, the same as `rmw` here.
    Amo,
    Addr,
    Data,
    Ctrl,
    /// Scopes include each other's thread; both have a scope.
    Sr,
    /// Same CTA (of the same GPU).
    Scta,
    /// Barrier operations that met, into those that wait.
    Syncbar,
    /// One orientation of every pair of `fence.sc` in `sr`; acyclic.
    SyncFence,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub role: fencepost_syntax::cat::CheckRole,
    pub negated: bool,
    pub kind: fencepost_syntax::cat::CheckKind,
    pub node: NodeId,
    /// As the model names it, or `axiom N`.
    pub name: String,
    pub span: Span,
}
