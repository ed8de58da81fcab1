//! The graph under construction: equal expressions share one node, and trivial ones are simplified away.
//!
//! Sharing is by structure, so `let` costs nothing and a macro that is expanded twice is evaluated once. The few
//! simplifications matter to the analysis: herd's library writes external coherence as `co \ (co & int)`, in which
//! `co` would seem to occur negatively; `co \ int` is the same relation and says what is meant.

use fencepost_syntax::Span;

use crate::hash;
use crate::model::ir::{BaseSet, FileId, NodeId, NodeKind, Operator};

/// Where an expression stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Place {
    pub(crate) file: FileId,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct DraftNode {
    pub(crate) operator: Operator,
    pub(crate) kind: NodeKind,
    pub(crate) name: Option<Naming>,
    pub(crate) place: Place,
}

/// The name a `let` gave, and how much it deserves to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    pub(crate) name: String,
    pub(crate) origin: Origin,
}

/// A later origin overrides an earlier one: the model's words before the library's.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    Library,
    Local,
    TopLevel,
}

/// A recursive definition: each variable, with the body it is the least fixed point of.
#[derive(Clone, Debug)]
pub(crate) struct DraftGroup {
    pub(crate) variables: Vec<(NodeId, NodeId)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<DraftNode>,
    pub(crate) groups: Vec<DraftGroup>,
    shared: hash::Map<Operator, NodeId>,
}

impl Graph {
    pub(crate) fn node(&self, id: NodeId) -> &DraftNode {
        &self.nodes[id.index()]
    }

    pub(crate) fn operator(&self, id: NodeId) -> &Operator {
        &self.node(id).operator
    }

    pub(crate) fn kind(&self, id: NodeId) -> NodeKind {
        self.node(id).kind
    }

    /// A fresh variable of a recursive definition: never shared.
    pub(crate) fn variable(&mut self, kind: NodeKind, name: &str, place: Place) -> NodeId {
        let naming = Naming { name: name.to_owned(), origin: Origin::Local };
        self.push(DraftNode { operator: Operator::Variable, kind, name: Some(naming), place })
    }

    fn push(&mut self, node: DraftNode) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    /// The node of this operator, simplified, new or shared.
    pub(crate) fn add(&mut self, operator: Operator, place: Place) -> NodeId {
        let operator = match self.simplify(operator) {
            Simplified::Node(id) => return id,
            Simplified::Operator(operator) => operator,
        };
        if let Some(&id) = self.shared.get(&operator) {
            return id;
        }
        let kind = kind_of(&operator);
        let id = self.push(DraftNode { operator: operator.clone(), kind, name: None, place });
        self.shared.insert(operator, id);
        id
    }

    /// Records a `let` name for explanations. Base sets and relations keep their own.
    pub(crate) fn name(&mut self, id: NodeId, name: &str, origin: Origin) {
        let node = &mut self.nodes[id.index()];
        if matches!(node.operator, Operator::Base(_) | Operator::BaseRelation(_)) {
            return;
        }
        if node.name.as_ref().is_none_or(|old| old.origin < origin) {
            node.name = Some(Naming { name: name.to_owned(), origin });
        }
    }

    /// Takes back everything after a mark: used to try a recursive definition with another typing.
    pub(crate) fn truncate(&mut self, nodes: usize, groups: usize) {
        self.nodes.truncate(nodes);
        self.groups.truncate(groups);
        self.shared.retain(|_, id| id.index() < nodes);
    }

    fn is_empty(&self, id: NodeId) -> bool {
        matches!(self.operator(id), Operator::EmptySet | Operator::EmptyRelation)
    }

    fn simplify(&self, operator: Operator) -> Simplified {
        use Operator::*;
        let node = |id| Simplified::Node(id);
        match operator {
            SetUnion(a, b) | Union(a, b) if a == b || self.is_empty(b) => node(a),
            SetUnion(a, b) | Union(a, b) if self.is_empty(a) => node(b),
            SetIntersection(a, b) | Intersection(a, b) if a == b || self.is_empty(a) => node(a),
            SetIntersection(_, b) | Intersection(_, b) if self.is_empty(b) => node(b),
            SetDifference(a, b) | Difference(a, b) if self.is_empty(a) || self.is_empty(b) => node(a),
            SetDifference(a, b) if a == b => Simplified::Operator(EmptySet),
            Difference(a, b) if a == b => Simplified::Operator(EmptyRelation),
            SetDifference(a, b) => Simplified::Operator(SetDifference(a, self.relative(a, b))),
            Difference(a, b) => Simplified::Operator(Difference(a, self.relative(a, b))),
            Sequence(a, b) if self.is_empty(a) || self.is_empty(b) => Simplified::Operator(EmptyRelation),
            Product(a, b) if self.is_empty(a) || self.is_empty(b) => Simplified::Operator(EmptyRelation),
            Identity(a) if self.is_empty(a) => Simplified::Operator(EmptyRelation),
            Identity(a) if *self.operator(a) == Base(BaseSet::Universe) => {
                Simplified::Operator(BaseRelation(crate::model::ir::BaseRelation::Id))
            }
            Domain(a) | Range(a) if self.is_empty(a) => Simplified::Operator(EmptySet),
            Plus(a) | Inverse(a) if self.is_empty(a) => node(a),
            Star(a) | Optional(a) if self.is_empty(a) => {
                Simplified::Operator(BaseRelation(crate::model::ir::BaseRelation::Id))
            }
            Plus(a) if matches!(self.operator(a), Plus(_) | Star(_)) => node(a),
            _ => self.simplify_double(operator),
        }
    }

    /// `(e^-1)^-1` and `~~e`; `id`, `loc` and the like are their own inverses.
    fn simplify_double(&self, operator: Operator) -> Simplified {
        use Operator::*;
        let inner = match operator {
            Inverse(a) => match *self.operator(a) {
                Inverse(inner) => Some(inner),
                BaseRelation(relation) if relation.is_symmetric() => Some(a),
                _ => None,
            },
            Complement(a) => match *self.operator(a) {
                Complement(inner) => Some(inner),
                _ => None,
            },
            SetComplement(a) => match *self.operator(a) {
                SetComplement(inner) => Some(inner),
                _ => None,
            },
            _ => None,
        };
        inner.map_or(Simplified::Operator(operator), Simplified::Node)
    }

    /// `b` of `a \ b`, without what only repeats `a`: `a \ (a & x)` is `a \ x`.
    fn relative(&self, a: NodeId, b: NodeId) -> NodeId {
        match *self.operator(b) {
            Operator::Intersection(x, y) | Operator::SetIntersection(x, y) if x == a => y,
            Operator::Intersection(x, y) | Operator::SetIntersection(x, y) if y == a => x,
            _ => b,
        }
    }
}

enum Simplified {
    Node(NodeId),
    Operator(Operator),
}

fn kind_of(operator: &Operator) -> NodeKind {
    use Operator::*;
    match operator {
        Base(_) | EmptySet | SetUnion(..) | SetIntersection(..) | SetDifference(..) | SetComplement(_) | Domain(_)
        | Range(_) => NodeKind::Set,
        _ => NodeKind::Relation,
    }
}

/// The operands of an operator, in order.
pub(crate) fn operands(operator: &Operator) -> impl Iterator<Item = NodeId> + use<> {
    use Operator::*;
    let (first, second) = match *operator {
        Base(_) | EmptySet | BaseRelation(_) | EmptyRelation | Variable => (None, None),
        SetComplement(a) | Domain(a) | Range(a) | Complement(a) | Inverse(a) | Plus(a) | Star(a) | Optional(a)
        | Identity(a) => (Some(a), None),
        SetUnion(a, b)
        | SetIntersection(a, b)
        | SetDifference(a, b)
        | Union(a, b)
        | Intersection(a, b)
        | Difference(a, b)
        | Sequence(a, b)
        | Product(a, b) => (Some(a), Some(b)),
    };
    first.into_iter().chain(second)
}

/// The same operator over other operands.
pub(crate) fn with_operands(operator: &Operator, mut new: impl FnMut(NodeId) -> NodeId) -> Operator {
    use Operator::*;
    match *operator {
        Base(set) => Base(set),
        EmptySet => EmptySet,
        SetUnion(a, b) => SetUnion(new(a), new(b)),
        SetIntersection(a, b) => SetIntersection(new(a), new(b)),
        SetDifference(a, b) => SetDifference(new(a), new(b)),
        SetComplement(a) => SetComplement(new(a)),
        Domain(a) => Domain(new(a)),
        Range(a) => Range(new(a)),
        BaseRelation(relation) => BaseRelation(relation),
        EmptyRelation => EmptyRelation,
        Union(a, b) => Union(new(a), new(b)),
        Intersection(a, b) => Intersection(new(a), new(b)),
        Difference(a, b) => Difference(new(a), new(b)),
        Complement(a) => Complement(new(a)),
        Sequence(a, b) => Sequence(new(a), new(b)),
        Inverse(a) => Inverse(new(a)),
        Plus(a) => Plus(new(a)),
        Star(a) => Star(new(a)),
        Optional(a) => Optional(new(a)),
        Identity(a) => Identity(new(a)),
        Product(a, b) => Product(new(a), new(b)),
        Variable => Variable,
    }
}
