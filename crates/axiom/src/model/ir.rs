//! The compiled form of a cat model. Nodes are in evaluation order: operands come before their users, except that the
//! nodes of a recursive group may use the group's variables.

use std::sync::Arc;

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::GenerationOrder;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Source, Span};

use crate::evaluate::Plans;
pub use crate::model::vocabulary::base_relation::{BaseRelation, RelationGroup};

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
    /// Shared with the models made of it: those with one flag each have the same nodes.
    pub nodes: Arc<[Node]>,
    /// Recursive groups, in node order, not nested.
    pub groups: Vec<RecursiveGroup>,
    pub checks: Vec<Check>,
    /// `show`n relations: name and node, for pictures.
    pub shown: Vec<(String, NodeId)>,
    /// Whether coherence is a total order per location, or partial and closed by the model's own checks.
    pub coherence: Coherence,
    /// What the axioms require of coherence and Fence-SC order, taken apart for engines that search for the edges.
    pub demands: Vec<Demand>,
    /// Axioms over partial coherence that are no [`Demand`] and not monotone: an engine that keeps coherence partial
    /// must answer `Unsupported` with these words. The compiler refuses such a model, at the place.
    pub unrecognised: Vec<Unrecognised>,
    /// What the model has rules for beyond the common events (`proxy`), from its `// features:` line.
    pub features: Vec<String>,
    /// The readings the model can be compiled with, from its `// readings:` line.
    pub readings: Vec<Reading>,
    /// The texts that spans point into: the model, its includes, the built-in library. [`FileId`] is an index.
    pub files: Vec<Source>,
    /// The plans of evaluation made so far.
    pub(crate) plans: Plans,
}

/// An index into [`Model::files`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileId(pub u32);

impl FileId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A contested point of a model. The reading in force when none of `values` is chosen is the default, which the text need
/// not name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    pub name: String,
    /// What the text asks for with `if "name=value"`, sorted.
    pub values: Vec<String>,
}

/// An index into [`Model::checks`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckId(pub u32);

impl CheckId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The axiom `check` holds only if each pair of `wanted` is an edge of `relation`, in this direction or in either.
/// An axiom may give several demands; together they say the same as the axiom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    pub check: CheckId,
    /// Does not depend on `co`. (It may depend on `sync_fence`, also where that is the relation demanded.)
    pub wanted: NodeId,
    pub direction: Direction,
    pub relation: DemandedRelation,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    EitherWay,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum DemandedRelation {
    /// Transitively closed coherence.
    Co,
    SyncFence,
}

/// A construct whose meaning over partial coherence the engines have no method for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unrecognised {
    pub file: FileId,
    pub span: Span,
    pub message: String,
}

/// Derived from the text, never assumed: a model that generates coherence (`with co from …`) or whose first word names
/// an architecture with a total order has that; of the others, one whose axioms subtract `co`, so that edges can satisfy
/// them, has partial coherence, and any other a total order per location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coherence {
    Total,
    Partial,
}

/// Whether Fence-SC order is part of an execution: only where a check or a flag looks at `sync_fence`. Orders that
/// nothing looks at would multiply the executions of other models (`sc`, `x86-tso`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum FenceOrder {
    #[default]
    Unordered,
    /// One orientation of every pair of `fence.sc` in mutual scope.
    Ordered,
}

impl Model {
    /// Whether the order of a barrier's generations is part of an execution: only where the model looks at it.
    pub fn generation_order(&self) -> GenerationOrder {
        let looks = |node: &Node| matches!(node.operator, Operator::BaseRelation(BaseRelation::Generations));
        if self.nodes.iter().any(looks) { GenerationOrder::Ordered } else { GenerationOrder::Unordered }
    }

    pub fn fence_order(&self) -> FenceOrder {
        let looks = |check: &Check| self.nodes.get(check.node.index()).is_some_and(|node| node.depends.sync_fence);
        if self.checks.iter().any(looks) { FenceOrder::Ordered } else { FenceOrder::Unordered }
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub operator: Operator,
    pub kind: NodeKind,
    /// The name a `let` gave it, for explanations.
    pub name: Option<ShortText>,
    pub file: FileId,
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
    /// Reads that decided that their thread exits.
    Deciding,
    Tagged(Tag),
}

#[derive(Clone, Debug)]
pub struct Check {
    pub role: fencepost_syntax::cat::CheckRole,
    pub negated: bool,
    pub kind: fencepost_syntax::cat::CheckKind,
    pub node: NodeId,
    /// As the model names it, or `axiom N` (`flag N`), counted from 1.
    pub name: String,
    pub file: FileId,
    pub span: Span,
}
