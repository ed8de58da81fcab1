//! Every node of a model over one candidate, all at once. The search engines stop at the first violated check; an
//! explanation needs the rest too, so this evaluator never stops early. What the traces fix is kept between choices.

use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::CheckRole;

use crate::base::Candidate;
use crate::bits::{Relation, Shape, kernel, ones};
use crate::model::{BaseRelation, BaseSet, Dynamic, Model, NodeId, NodeKind, Operator};
use crate::watch::Watch;

use super::valuation::Valuation;

/// The relations an engine chooses, over the candidate's local event numbers.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    pub rf: Relation,
    /// Transitively closed, init writes first.
    pub co: Relation,
    pub sync_fence: Relation,
    pub syncbar: Relation,
    pub exitbar: Relation,
    pub generations: Relation,
}

impl Chosen {
    pub fn empty(shape: Shape) -> Chosen {
        let none = Relation::empty(shape);
        Chosen {
            rf: none.clone(),
            co: none.clone(),
            sync_fence: none.clone(),
            syncbar: none.clone(),
            exitbar: none.clone(),
            generations: none,
        }
    }
}

#[derive(Debug)]
pub struct Matrices<'m> {
    model: &'m Model,
    /// Nodes that checks or demands need.
    live: Vec<bool>,
    shape: Shape,
    bits: Vec<Vec<u64>>,
    /// What may end an evaluation in the middle. The values are then not to be believed.
    watch: Watch<'m>,
}

/// Over rows of more words than this, an evaluation takes long enough to be interrupted.
const WIDE: usize = 4;

impl<'m> Matrices<'m> {
    pub fn new(model: &'m Model) -> Matrices<'m> {
        Matrices::with_roots(model, &[])
    }

    /// Also computes these nodes, which no axiom may need.
    pub fn with_roots(model: &'m Model, roots: &[NodeId]) -> Matrices<'m> {
        let mut live = vec![false; model.nodes.len()];
        let axioms = model.checks.iter().filter(|check| check.role == CheckRole::Axiom).map(|check| check.node);
        let roots = axioms.chain(model.demands.iter().map(|demand| demand.wanted)).chain(roots.iter().copied());
        let mut todo: Vec<NodeId> = roots.collect();
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut live[node.index()], true) {
                continue;
            }
            todo.extend(operands(&model.nodes[node.index()].operator));
            for group in model.groups.iter().filter(|group| group.first <= node && node <= group.last) {
                todo.extend(group.variables.iter().flat_map(|(variable, body)| [*variable, *body]));
            }
        }
        let bits = vec![Vec::new(); model.nodes.len()];
        Matrices { model, live, shape: Shape::default(), bits, watch: Watch::default() }
    }

    /// Gives up in the middle of a long evaluation when the watch says so.
    pub fn watched(self, watch: Watch<'m>) -> Matrices<'m> {
        Matrices { watch, ..self }
    }

    pub fn watch(&self) -> &Watch<'m> {
        &self.watch
    }

    /// Bytes needed for a candidate of this shape.
    pub fn memory_for(&self, shape: Shape) -> u64 {
        let live = self.model.nodes.iter().zip(&self.live).filter(|(_, live)| **live);
        let words = live.map(|(node, _)| if node.kind == NodeKind::Set { shape.words() } else { shape.matrix() });
        words.map(|words| words as u64 * 8).sum()
    }

    fn gives_up(&self) -> bool {
        self.shape.words() > WIDE && self.watch.is_over()
    }

    /// Computes what the traces fix. In the range of a group that depends on choices, static nodes do not depend on the
    /// group's variables and are computed like any other.
    pub fn begin(&mut self, unfolding: &Unfolding, candidate: &Candidate) {
        self.shape = candidate.shape;
        for index in (0..self.model.nodes.len()).filter(|index| self.live[*index]) {
            self.bits[index] = blank(self.model.nodes[index].kind, self.shape);
        }
        for index in 0..self.model.nodes.len() {
            if self.gives_up() {
                return;
            }
            if self.live[index] && self.is_static(NodeId(index as u32)) {
                let mut out = std::mem::take(&mut self.bits[index]);
                match &self.model.nodes[index].operator {
                    Operator::Base(set) => candidate.fill_set(unfolding, *set, &mut out),
                    Operator::BaseRelation(relation) => candidate.fill_relation(unfolding, *relation, &mut out),
                    operator => self.operate(operator, &mut out),
                }
                self.bits[index] = out;
            }
            let ending = self.model.groups.iter().position(|group| group.last.index() == index);
            if let Some(group) = ending.filter(|group| self.is_static_group(*group)) {
                self.fixpoint(group);
            }
        }
    }

    fn is_static_group(&self, group: usize) -> bool {
        let variables = &self.model.groups[group].variables;
        variables.iter().all(|(variable, body)| self.is_static(*body) && self.live[variable.index()])
    }

    /// Computes what depends on the choices.
    pub fn choose(&mut self, chosen: &Chosen) {
        let mut index = 0;
        while index < self.model.nodes.len() && !self.gives_up() {
            if let Some(group) = self.group_of(index) {
                let last = self.model.groups[group].last.index();
                let inside = index..=last;
                if inside.clone().any(|node| self.live[node] && !self.is_static(NodeId(node as u32))) {
                    inside.for_each(|node| self.assign(node, chosen));
                    self.fixpoint(group);
                }
                index = last + 1;
                continue;
            }
            if self.live[index] && !self.is_static(NodeId(index as u32)) {
                self.assign(index, chosen);
                if !operands(&self.model.nodes[index].operator).is_empty() {
                    self.recompute(index);
                }
            }
            index += 1;
        }
    }

    fn is_static(&self, node: NodeId) -> bool {
        self.model.nodes[node.index()].depends == Dynamic::default()
    }

    fn group_of(&self, index: usize) -> Option<usize> {
        self.model.groups.iter().position(|group| group.first.index() <= index && index <= group.last.index())
    }

    /// The value of a chosen base relation.
    fn assign(&mut self, index: usize, chosen: &Chosen) {
        let relation = match &self.model.nodes[index].operator {
            Operator::BaseRelation(BaseRelation::Rf) => &chosen.rf,
            Operator::BaseRelation(BaseRelation::Co) => &chosen.co,
            Operator::BaseRelation(BaseRelation::SyncFence) => &chosen.sync_fence,
            Operator::BaseRelation(BaseRelation::Syncbar) => &chosen.syncbar,
            Operator::BaseRelation(BaseRelation::Exitbar) => &chosen.exitbar,
            Operator::BaseRelation(BaseRelation::Generations) => &chosen.generations,
            Operator::Base(BaseSet::FinalWrites) => {
                // Only writes have coherence predecessors or successors, and init writes precede all others.
                let maximal = (0..self.shape.events()).filter(|event| {
                    !chosen.co.has_successor(*event)
                        && (0..self.shape.events()).any(|other| chosen.co.contains(other, *event))
                });
                let mut set = vec![0; self.shape.words()];
                maximal.for_each(|event| kernel::insert(&mut set, event));
                self.bits[index] = set;
                return;
            }
            _ => return,
        };
        if self.live[index] {
            self.bits[index].copy_from_slice(relation.bits());
        }
    }

    fn fixpoint(&mut self, group: usize) {
        let group = &self.model.groups[group];
        for (variable, _) in &group.variables {
            self.bits[variable.index()].fill(0);
        }
        loop {
            for index in group.first.index()..=group.last.index() {
                if self.gives_up() {
                    return;
                }
                if self.live[index] && !operands(&self.model.nodes[index].operator).is_empty() {
                    self.recompute(index);
                }
            }
            let mut changed = false;
            for (variable, body) in &group.variables {
                if self.bits[variable.index()] != self.bits[body.index()] {
                    self.bits[variable.index()] = self.bits[body.index()].clone();
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn recompute(&mut self, index: usize) {
        let mut out = std::mem::take(&mut self.bits[index]);
        self.operate(&self.model.nodes[index].operator, &mut out);
        self.bits[index] = out;
    }

    fn operate(&self, operator: &Operator, out: &mut [u64]) {
        operate((self.shape, &self.watch), self.model, operator, &self.bits, out);
    }
}

impl Valuation for Matrices<'_> {
    fn size(&self) -> usize {
        self.shape.events()
    }

    fn member(&self, node: NodeId, event: usize) -> bool {
        self.live[node.index()] && kernel::has(&self.bits[node.index()], event)
    }

    fn pair(&self, node: NodeId, from: usize, to: usize) -> bool {
        self.live[node.index()] && kernel::contains(self.shape, &self.bits[node.index()], from, to)
    }

    fn row(&self, node: NodeId, from: usize) -> Vec<usize> {
        if !self.live[node.index()] {
            return Vec::new();
        }
        ones(kernel::row(self.shape, &self.bits[node.index()], from)).collect()
    }
}

pub(super) fn blank(kind: NodeKind, shape: Shape) -> Vec<u64> {
    vec![0; if kind == NodeKind::Set { shape.words() } else { shape.matrix() }]
}

/// The set under `[S]`, if the node is one.
fn under_identity(model: &Model, node: NodeId) -> Option<NodeId> {
    match model.nodes[node.index()].operator {
        Operator::Identity(set) => Some(set),
        _ => None,
    }
}

/// Applies an operator to the bits of its operands. Base relations and variables are left as they are.
pub(super) fn operate(
    (shape, watch): (Shape, &Watch<'_>),
    model: &Model,
    operator: &Operator,
    bits: &[Vec<u64>],
    out: &mut [u64],
) {
    let go_on = &mut || !watch.is_over();
    let of = |node: &NodeId| bits[node.index()].as_slice();
    match operator {
        Operator::SetUnion(a, b) | Operator::Union(a, b) => kernel::union(out, of(a), of(b)),
        Operator::SetIntersection(a, b) | Operator::Intersection(a, b) => kernel::intersection(out, of(a), of(b)),
        Operator::SetDifference(a, b) | Operator::Difference(a, b) => kernel::difference(out, of(a), of(b)),
        Operator::SetComplement(a) | Operator::Complement(a) => kernel::complement(shape, out, of(a)),
        Operator::Domain(a) => kernel::domain(shape, out, of(a)),
        Operator::Range(a) => kernel::range(shape, out, of(a)),
        Operator::Sequence(a, b) => match (under_identity(model, *a), under_identity(model, *b)) {
            (Some(set), _) => restrict(shape, out, of(b), of(&set)),
            (None, Some(set)) => {
                let rows = out.chunks_exact_mut(shape.words().max(1)).zip(of(a).chunks_exact(shape.words().max(1)));
                rows.for_each(|(out, row)| kernel::intersection(out, row, of(&set)));
            }
            (None, None) => kernel::sequence_while(shape, out, of(a), of(b), go_on),
        },
        Operator::Inverse(a) => kernel::inverse(shape, out, of(a)),
        Operator::Plus(a) | Operator::Star(a) | Operator::Optional(a) => {
            out.copy_from_slice(of(a));
            if !matches!(operator, Operator::Optional(_)) {
                kernel::close_while(shape, out, go_on);
            }
            if !matches!(operator, Operator::Plus(_)) {
                kernel::add_identity(shape, out);
            }
        }
        Operator::Identity(a) => kernel::identity(shape, out, of(a)),
        Operator::Product(a, b) => kernel::product(shape, out, of(a), of(b)),
        Operator::Base(_)
        | Operator::BaseRelation(_)
        | Operator::EmptySet
        | Operator::EmptyRelation
        | Operator::Variable => {}
    }
}

/// `[set] ; relation`.
fn restrict(shape: Shape, out: &mut [u64], relation: &[u64], set: &[u64]) {
    out.fill(0);
    for event in ones(set) {
        let range = event * shape.words()..(event + 1) * shape.words();
        out[range.clone()].copy_from_slice(&relation[range]);
    }
}

/// The operands of an operator, in order.
pub(super) fn operands(operator: &Operator) -> Vec<NodeId> {
    match *operator {
        Operator::Base(_)
        | Operator::BaseRelation(_)
        | Operator::EmptySet
        | Operator::EmptyRelation
        | Operator::Variable => Vec::new(),
        Operator::SetUnion(a, b)
        | Operator::SetIntersection(a, b)
        | Operator::SetDifference(a, b)
        | Operator::Union(a, b)
        | Operator::Intersection(a, b)
        | Operator::Difference(a, b)
        | Operator::Sequence(a, b)
        | Operator::Product(a, b) => vec![a, b],
        Operator::SetComplement(a)
        | Operator::Domain(a)
        | Operator::Range(a)
        | Operator::Complement(a)
        | Operator::Inverse(a)
        | Operator::Plus(a)
        | Operator::Star(a)
        | Operator::Optional(a)
        | Operator::Identity(a) => vec![a],
    }
}
