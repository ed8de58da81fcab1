//! Every node of a model over one candidate, all at once. The search engines stop at the first violated check; an
//! explanation needs the rest too, so this evaluator never stops early. What the traces fix is kept between choices.

use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::few::Few;

use crate::base::Candidate;
use crate::bits::{Relation, Shape, kernel, ones};
use crate::model::{BaseRelation, BaseSet, Check, Dynamic, Model, NodeId, NodeKind, Operator};
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
    /// By node: the first group that it lies in, or [`NO_GROUP`].
    groups: Vec<u32>,
    shape: Shape,
    bits: Bits,
    /// By node: whether there is a bit in it. Most of a large model is about what a small test has not.
    filled: Vec<bool>,
    /// What may end an evaluation in the middle. The values are then not to be believed.
    watch: Watch<'m>,
}

/// The bits of every node, one after the other: operands lie before their users.
#[derive(Debug, Default)]
struct Bits {
    data: Vec<u64>,
    /// Where the bits of each node begin, and where the last end. A node that is not live has none.
    starts: Vec<usize>,
}

impl Bits {
    fn range(&self, node: usize) -> std::ops::Range<usize> {
        match self.starts.get(node..node + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    fn get(&self, node: usize) -> &[u64] {
        &self.data[self.range(node)]
    }

    fn get_mut(&mut self, node: usize) -> &mut [u64] {
        let range = self.range(node);
        &mut self.data[range]
    }

    /// The bits of a node, and those of all nodes before it.
    fn split<'s>(&'s mut self, node: usize) -> (impl Fn(NodeId) -> &'s [u64], &'s mut [u64]) {
        let Bits { data, starts } = self;
        let place = |node: usize| match starts.get(node..node + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        };
        let own = place(node);
        let (before, rest) = data.split_at_mut(own.start);
        let before: &[u64] = before;
        (move |operand: NodeId| &before[place(operand.index())], &mut rest[..own.len()])
    }
}

/// Over rows of more words than this, an evaluation takes long enough to be interrupted.
const WIDE: usize = 4;

const NO_GROUP: u32 = u32::MAX;

/// Most nodes of a model lie in no group: those of each are looked up once, and not for every node.
fn groups(model: &Model) -> Vec<u32> {
    let mut groups = vec![NO_GROUP; model.nodes.len()];
    for (number, group) in model.groups.iter().enumerate().rev() {
        if let Some(inside) = groups.get_mut(group.first.index()..=group.last.index()) {
            inside.fill(number as u32);
        }
    }
    groups
}

/// Adds what live nodes need: their operands, which come before them, and the variables and bodies of the groups that they lie
/// in. Whether those of a group were added, so that more is needed.
fn mark(model: &Model, live: &mut [bool]) -> bool {
    for index in (0..live.len()).rev() {
        if live[index] {
            operands(&model.nodes[index].operator).for_each(|operand| live[operand.index()] = true);
        }
    }
    let mut is_more = false;
    for group in &model.groups {
        if live[group.first.index()..=group.last.index()].contains(&true) {
            for node in group.variables.iter().flat_map(|(variable, body)| [variable, body]) {
                is_more |= !std::mem::replace(&mut live[node.index()], true);
            }
        }
    }
    is_more
}

impl<'m> Matrices<'m> {
    pub fn new(model: &'m Model) -> Matrices<'m> {
        Matrices::with_roots(model, &[])
    }

    /// Also computes these nodes, which no axiom may need.
    pub fn with_roots(model: &'m Model, roots: &[NodeId]) -> Matrices<'m> {
        let axioms = model.checks.iter().filter(|check| check.role == CheckRole::Axiom).map(|check| check.node);
        Matrices::of(model, axioms.chain(model.demands.iter().map(|demand| demand.wanted)).chain(roots.iter().copied()))
    }

    /// Computes these nodes and what they are made of.
    pub fn of(model: &'m Model, roots: impl Iterator<Item = NodeId>) -> Matrices<'m> {
        let mut live = vec![false; model.nodes.len()];
        roots.for_each(|node| live[node.index()] = true);
        while mark(model, &mut live) {}
        let (shape, bits, watch) = (Shape::default(), Bits::default(), Watch::default());
        let filled = vec![false; model.nodes.len()];
        Matrices { model, live, groups: groups(model), shape, bits, filled, watch }
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
        live.map(|(node, _)| words(node.kind, shape) as u64 * 8).sum()
    }

    fn gives_up(&self) -> bool {
        self.shape.words() > WIDE && self.watch.is_over()
    }

    /// Computes what the traces fix. In the range of a group that depends on choices, static nodes do not depend on the
    /// group's variables and are computed like any other.
    pub fn begin(&mut self, unfolding: &Unfolding, candidate: &Candidate) {
        self.shape = candidate.shape;
        let mut end = 0;
        self.bits.starts.clear();
        self.bits.starts.reserve(self.live.len() + 1);
        self.bits.starts.push(0);
        for (node, live) in self.model.nodes.iter().zip(&self.live) {
            end += if *live { words(node.kind, self.shape) } else { 0 };
            self.bits.starts.push(end);
        }
        // Zeros that the system gives one page at a time, when they are first looked at.
        self.bits.data = vec![0; end];
        self.filled.fill(false);
        for index in 0..self.model.nodes.len() {
            if self.gives_up() {
                return;
            }
            if self.live[index] && self.is_static(NodeId(index as u32)) {
                match &self.model.nodes[index].operator {
                    Operator::Base(set) => {
                        candidate.fill_set(unfolding, *set, self.bits.get_mut(index));
                        self.look_at(index);
                    }
                    Operator::BaseRelation(relation) => {
                        candidate.fill_relation(unfolding, *relation, self.bits.get_mut(index));
                        self.look_at(index);
                    }
                    _ => self.recompute(index),
                }
            }
            if self.groups[index] == NO_GROUP {
                continue;
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
                if is_computed(&self.model.nodes[index].operator) {
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
        Some(self.groups[index]).filter(|group| *group != NO_GROUP).map(|group| group as usize)
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
                if self.live[index] {
                    self.bits.get_mut(index).copy_from_slice(&set);
                    self.look_at(index);
                }
                return;
            }
            _ => return,
        };
        if self.live[index] {
            self.bits.get_mut(index).copy_from_slice(relation.bits());
            self.look_at(index);
        }
    }

    fn look_at(&mut self, index: usize) {
        self.filled[index] = !kernel::is_empty(self.bits.get(index));
    }

    fn fixpoint(&mut self, group: usize) {
        let group = &self.model.groups[group];
        for (variable, _) in &group.variables {
            self.bits.get_mut(variable.index()).fill(0);
            self.filled[variable.index()] = false;
        }
        loop {
            for index in group.first.index()..=group.last.index() {
                if self.gives_up() {
                    return;
                }
                if self.live[index] && is_computed(&self.model.nodes[index].operator) {
                    self.recompute(index);
                }
            }
            let mut changed = false;
            for (variable, body) in &group.variables {
                let (from, to) = (self.bits.range(body.index()), self.bits.range(variable.index()));
                if self.bits.data[to.clone()] != self.bits.data[from.clone()] {
                    self.bits.data.copy_within(from, to.start);
                    self.filled[variable.index()] = self.filled[body.index()];
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn recompute(&mut self, index: usize) {
        let operator = &self.model.nodes[index].operator;
        if !may_hold(operator, |node| self.filled[node.index()]) {
            if std::mem::take(&mut self.filled[index]) {
                self.bits.get_mut(index).fill(0);
            }
            return;
        }
        let (of, out) = self.bits.split(index);
        operate((self.shape, &self.watch), self.model, operator, of, out);
        self.look_at(index);
    }
}

impl Valuation for Matrices<'_> {
    fn size(&self) -> usize {
        self.shape.events()
    }

    fn member(&self, node: NodeId, event: usize) -> bool {
        self.live[node.index()] && kernel::has(self.bits.get(node.index()), event)
    }

    fn pair(&self, node: NodeId, from: usize, to: usize) -> bool {
        self.live[node.index()] && kernel::contains(self.shape, self.bits.get(node.index()), from, to)
    }

    fn row(&self, node: NodeId, from: usize) -> Vec<usize> {
        if !self.live[node.index()] {
            return Vec::new();
        }
        ones(kernel::row(self.shape, self.bits.get(node.index()), from)).collect()
    }

    fn violates(&self, check: &Check) -> bool {
        let bits = self.bits.get(check.node.index());
        let holds = match check.kind {
            CheckKind::Empty => kernel::is_empty(bits),
            CheckKind::Irreflexive => !kernel::has_reflexive(self.shape, bits),
            CheckKind::Acyclic => kernel::is_acyclic(self.shape, bits, &mut vec![0; self.shape.words()]),
        };
        holds == check.negated
    }

    fn leads_to(&self, node: NodeId, from: usize) -> Few<usize, 8> {
        if !self.live[node.index()] {
            return Few::new();
        }
        ones(kernel::row(self.shape, self.bits.get(node.index()), from)).collect()
    }
}

pub(super) fn blank(kind: NodeKind, shape: Shape) -> Vec<u64> {
    vec![0; words(kind, shape)]
}

fn words(kind: NodeKind, shape: Shape) -> usize {
    if kind == NodeKind::Set { shape.words() } else { shape.matrix() }
}

/// The set under `[S]`, if the node is one.
fn under_identity(model: &Model, node: NodeId) -> Option<NodeId> {
    match model.nodes[node.index()].operator {
        Operator::Identity(set) => Some(set),
        _ => None,
    }
}

/// Applies an operator to the bits of its operands. Base relations and variables are left as they are.
pub(super) fn operate<'b>(
    (shape, watch): (Shape, &Watch<'_>),
    model: &Model,
    operator: &Operator,
    bits: impl Fn(NodeId) -> &'b [u64],
    out: &mut [u64],
) {
    let go_on = &mut || !watch.is_over();
    let of = |node: &NodeId| bits(*node);
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

/// Whether an operator may give something, by whether its operands hold something.
fn may_hold(operator: &Operator, filled: impl Fn(NodeId) -> bool) -> bool {
    match *operator {
        Operator::SetUnion(a, b) | Operator::Union(a, b) => filled(a) || filled(b),
        Operator::SetIntersection(a, b)
        | Operator::Intersection(a, b)
        | Operator::Sequence(a, b)
        | Operator::Product(a, b) => filled(a) && filled(b),
        Operator::SetDifference(a, _)
        | Operator::Difference(a, _)
        | Operator::Domain(a)
        | Operator::Range(a)
        | Operator::Inverse(a)
        | Operator::Plus(a)
        | Operator::Identity(a) => filled(a),
        Operator::SetComplement(_) | Operator::Complement(_) | Operator::Star(_) | Operator::Optional(_) => true,
        // These are not computed from others, and are left as they are.
        Operator::Base(_)
        | Operator::BaseRelation(_)
        | Operator::EmptySet
        | Operator::EmptyRelation
        | Operator::Variable => true,
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
pub(super) fn operands(operator: &Operator) -> impl Iterator<Item = NodeId> {
    let (first, second) = match *operator {
        Operator::Base(_)
        | Operator::BaseRelation(_)
        | Operator::EmptySet
        | Operator::EmptyRelation
        | Operator::Variable => (None, None),
        Operator::SetUnion(a, b)
        | Operator::SetIntersection(a, b)
        | Operator::SetDifference(a, b)
        | Operator::Union(a, b)
        | Operator::Intersection(a, b)
        | Operator::Difference(a, b)
        | Operator::Sequence(a, b)
        | Operator::Product(a, b) => (Some(a), Some(b)),
        Operator::SetComplement(a)
        | Operator::Domain(a)
        | Operator::Range(a)
        | Operator::Complement(a)
        | Operator::Inverse(a)
        | Operator::Plus(a)
        | Operator::Star(a)
        | Operator::Optional(a)
        | Operator::Identity(a) => (Some(a), None),
    };
    first.into_iter().chain(second)
}

/// Whether an operator has operands.
pub(super) fn is_computed(operator: &Operator) -> bool {
    operands(operator).next().is_some()
}
