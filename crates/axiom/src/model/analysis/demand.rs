//! Axioms that require edges, taken apart: `empty E \ co` wants each pair of `E` ordered forward, and
//! `empty E \ (co | co^-1)` in one direction or the other.
//!
//! With partial coherence (PTX) such axioms are where the edges come from: an engine adds the forward ones, branches
//! on the others, and needs no further coherence because every other check is monotone. Seen through: names, unions of
//! differences, `& loc` inside or outside, `[W]; … ; [W]` around, transitive closure, inversion, and terms without the
//! relation on the right of the difference.

use crate::model::compile::graph::{Graph, Place};
use crate::model::ir::{BaseRelation, DemandedRelation, Direction, NodeId, NodeKind, Operator};

/// A demand whose `wanted` is still in the graph under construction.
pub(crate) struct DraftDemand {
    pub(crate) wanted: NodeId,
    pub(crate) direction: Direction,
}

/// What is subtracted from the wanted pairs.
#[derive(Clone, Default)]
struct Allowed {
    forward: bool,
    backward: bool,
    /// Terms that do not use the relation: pairs in them are not wanted.
    others: Vec<NodeId>,
}

pub(crate) struct Reader<'a> {
    pub(crate) graph: &'a mut Graph,
    pub(crate) relation: DemandedRelation,
    pub(crate) place: Place,
    /// Whether the node of this index uses the relation at all; nodes made by the reader do not count.
    pub(crate) uses: &'a [bool],
}

/// Shapes nest a few levels; a deeper one is no demand that a person wrote.
const MAX_NESTING: u32 = 64;

impl Reader<'_> {
    /// The demands that together say `empty node`; None if the shape is another.
    pub(crate) fn demands(&mut self, node: NodeId) -> Option<Vec<DraftDemand>> {
        if self.graph.kind(node) != NodeKind::Relation {
            return None;
        }
        let terms = self.terms(node, 0)?;
        terms.into_iter().map(|(wanted, allowed)| self.demand(wanted, &allowed)).collect()
    }

    fn demand(&mut self, mut wanted: NodeId, allowed: &Allowed) -> Option<DraftDemand> {
        for &other in &allowed.others {
            wanted = self.graph.add(Operator::Difference(wanted, other), self.place);
        }
        let direction = match (allowed.forward, allowed.backward) {
            (true, true) => Direction::EitherWay,
            (true, false) => Direction::Forward,
            (false, true) => {
                wanted = self.graph.add(Operator::Inverse(wanted), self.place);
                Direction::Forward
            }
            (false, false) => return None,
        };
        Some(DraftDemand { wanted, direction })
    }

    fn uses(&self, node: NodeId) -> bool {
        self.uses.get(node.index()).copied().unwrap_or(false)
    }

    /// The expression as a union of differences.
    fn terms(&mut self, node: NodeId, nesting: u32) -> Option<Vec<(NodeId, Allowed)>> {
        if nesting > MAX_NESTING {
            return None;
        }
        match *self.graph.operator(node) {
            _ if !self.uses(node) => Some(vec![(node, Allowed::default())]),
            Operator::Union(a, b) => {
                let mut terms = self.terms(a, nesting + 1)?;
                terms.extend(self.terms(b, nesting + 1)?);
                Some(terms)
            }
            Operator::Difference(a, b) => {
                let removed = self.allowed(b, nesting + 1)?;
                let mut terms = self.terms(a, nesting + 1)?;
                for (_, allowed) in &mut terms {
                    allowed.forward |= removed.forward;
                    allowed.backward |= removed.backward;
                    allowed.others.extend(&removed.others);
                }
                Some(terms)
            }
            Operator::Intersection(a, b) if !self.uses(b) => {
                self.within(a, nesting, |wanted| Operator::Intersection(wanted, b))
            }
            Operator::Intersection(a, b) if !self.uses(a) => {
                self.within(b, nesting, |wanted| Operator::Intersection(a, wanted))
            }
            Operator::Sequence(a, b) if matches!(self.graph.operator(a), Operator::Identity(_)) && !self.uses(a) => {
                self.within(b, nesting, |wanted| Operator::Sequence(a, wanted))
            }
            Operator::Sequence(a, b) if matches!(self.graph.operator(b), Operator::Identity(_)) && !self.uses(b) => {
                self.within(a, nesting, |wanted| Operator::Sequence(wanted, b))
            }
            _ => None,
        }
    }

    /// The terms of an inner expression, each restricted: restriction commutes with difference.
    fn within(
        &mut self,
        inner: NodeId,
        nesting: u32,
        restrict: impl Fn(NodeId) -> Operator,
    ) -> Option<Vec<(NodeId, Allowed)>> {
        let terms = self.terms(inner, nesting + 1)?;
        let place = self.place;
        let restricted = terms.into_iter().map(|(wanted, allowed)| {
            let wanted = self.graph.add(restrict(wanted), place);
            (wanted, allowed)
        });
        Some(restricted.collect())
    }

    /// The right side of a difference.
    fn allowed(&mut self, node: NodeId, nesting: u32) -> Option<Allowed> {
        if nesting > MAX_NESTING {
            return None;
        }
        if !self.uses(node) {
            return Some(Allowed { others: vec![node], ..Allowed::default() });
        }
        match *self.graph.operator(node) {
            Operator::BaseRelation(_) => Some(Allowed { forward: true, ..Allowed::default() }),
            Operator::Union(a, b) => {
                let (a, b) = (self.allowed(a, nesting + 1)?, self.allowed(b, nesting + 1)?);
                let others = a.others.into_iter().chain(b.others).collect();
                Some(Allowed { forward: a.forward || b.forward, backward: a.backward || b.backward, others })
            }
            Operator::Inverse(a) => {
                let Allowed { forward, backward, others } = self.allowed(a, nesting + 1)?;
                let place = self.place;
                let others = others.into_iter().map(|other| self.graph.add(Operator::Inverse(other), place)).collect();
                Some(Allowed { forward: backward, backward: forward, others })
            }
            // Both relations are transitive where this is read: coherence always, Fence-SC only as it stands.
            Operator::Plus(a) if self.relation == DemandedRelation::Co => self.one_way(a, nesting),
            Operator::Star(a) if self.relation == DemandedRelation::Co => self.reflexive(a, nesting),
            Operator::Optional(a) => self.reflexive(a, nesting),
            Operator::Intersection(a, b) if self.is_location(b) => self.one_way(a, nesting),
            Operator::Intersection(a, b) if self.is_location(a) => self.one_way(b, nesting),
            _ => None,
        }
    }

    /// Coherence in one direction and nothing else: then closure and `& loc` change nothing.
    fn one_way(&mut self, node: NodeId, nesting: u32) -> Option<Allowed> {
        let inner = self.allowed(node, nesting + 1)?;
        (inner.others.is_empty() && inner.forward != inner.backward).then_some(inner)
    }

    fn reflexive(&mut self, node: NodeId, nesting: u32) -> Option<Allowed> {
        let mut inner = self.one_way(node, nesting)?;
        inner.others.push(self.graph.add(Operator::BaseRelation(BaseRelation::Id), self.place));
        Some(inner)
    }

    fn is_location(&self, node: NodeId) -> bool {
        self.relation == DemandedRelation::Co && *self.graph.operator(node) == Operator::BaseRelation(BaseRelation::Loc)
    }
}
