//! Computes a compiled model over one candidate.
//!
//! The nodes are sorted into stages by what they depend on ([`Stage`]): those the traces fix are computed once per
//! candidate, those that need reads-from once per choice of it, and only the rest for every choice of an order. Within a
//! stage a check follows its node at once, so that a violation ends the evaluation early. All values lie in one
//! allocation; `[S] ; r` and `r ; [S]` are masks, not compositions.

mod plan;

use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::CheckKind;

use crate::base::Candidate;
use crate::bits::{Shape, kernel};
use crate::model::{BaseRelation, BaseSet, CheckId, Model, NodeId};

pub use plan::{Occurrence, Plan, Pruning};

use plan::{Operation, Slot, Step};

/// What a node depends on at most: each stage includes those before it. The order is that of the search.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    Static,
    ReadsFrom,
    Barriers,
    Fences,
    Coherence,
}

impl Stage {
    pub const ALL: [Stage; 5] = [Stage::Static, Stage::ReadsFrom, Stage::Barriers, Stage::Fences, Stage::Coherence];
}

/// How much of the candidate is chosen, which says which checks may rule it out already.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Chosen {
    /// All dynamic relations are subsets of what they will be.
    Partly,
    /// Reads-from and barriers are final; the orders are subsets of what they will be.
    ReadsFrom,
}

/// The values of all nodes of a model over one candidate.
#[derive(Debug)]
pub struct Evaluator<'m> {
    model: &'m Model,
    plan: Plan,
    shape: Shape,
    data: Vec<u64>,
    /// Where each slot starts in `data`.
    offsets: Vec<usize>,
    scratch: Vec<u64>,
}

impl<'m> Evaluator<'m> {
    pub fn new(model: &'m Model) -> Evaluator<'m> {
        Evaluator {
            model,
            plan: Plan::new(model),
            shape: Shape::default(),
            data: Vec::new(),
            offsets: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Bytes held for the current candidate.
    pub fn memory(&self) -> u64 {
        (self.data.capacity() * 8 + self.offsets.capacity() * 8) as u64
    }

    /// Bytes needed for a candidate of this shape.
    pub fn memory_for(&self, shape: Shape) -> u64 {
        self.plan.kinds().map(|kind| size(shape, kind) as u64 * 8).sum()
    }

    /// Starts a new candidate: computes what its traces fix, with the chosen relations empty. The violated check, if
    /// the traces alone violate one.
    pub fn begin(&mut self, unfolding: &Unfolding, candidate: &Candidate) -> Option<CheckId> {
        self.shape = candidate.shape;
        self.offsets.clear();
        let mut at = 0;
        for kind in self.plan.kinds() {
            self.offsets.push(at);
            at += size(self.shape, kind);
        }
        self.offsets.push(at);
        self.data.clear();
        self.data.resize(at, 0);
        self.scratch.clear();
        self.scratch.resize(self.shape.words(), 0);
        for index in 0..self.plan.static_bases.len() {
            let (slot, base) = self.plan.static_bases[index];
            let range = self.range(slot);
            match base {
                plan::Base::Set(set) => candidate.fill_set(unfolding, set, &mut self.data[range]),
                plan::Base::Relation(relation) => candidate.fill_relation(unfolding, relation, &mut self.data[range]),
            }
        }
        self.run(Stage::Static, Stage::Static, Chosen::Partly)
    }

    /// Replaces a chosen relation; coherence must be transitively closed. Nothing is recomputed until
    /// [`Evaluator::run`].
    pub fn set(&mut self, relation: BaseRelation, bits: &[u64]) {
        for index in 0..self.plan.chosen_bases.len() {
            let (slot, base) = self.plan.chosen_bases[index];
            if base == plan::Base::Relation(relation) {
                let range = self.range(slot);
                self.data[range].copy_from_slice(bits);
            }
        }
        if relation == BaseRelation::Co {
            self.set_final_writes(bits);
        }
    }

    /// `FW`: writes without a coherence successor.
    fn set_final_writes(&mut self, co: &[u64]) {
        for index in 0..self.plan.chosen_bases.len() {
            let (slot, base) = self.plan.chosen_bases[index];
            if base == plan::Base::Set(BaseSet::FinalWrites) {
                let writes = self.range(self.plan.writes.unwrap_or(slot));
                let range = self.range(slot);
                let mut set = self.data[writes].to_vec();
                for event in 0..self.shape.events() {
                    if !kernel::is_empty(kernel::row(self.shape, co, event)) {
                        set[event / 64] &= !(1 << (event % 64));
                    }
                }
                self.data[range].copy_from_slice(&set);
            }
        }
    }

    /// Recomputes the nodes of these stages; the first violated check that counts for what is chosen, if any (the nodes
    /// after it are then stale).
    pub fn run(&mut self, from: Stage, to: Stage, chosen: Chosen) -> Option<CheckId> {
        for stage in from as usize..=to as usize {
            for index in 0..self.plan.steps[stage].len() {
                let step = self.plan.steps[stage][index];
                match step {
                    Step::Compute(slot, operation) => self.compute(slot, operation),
                    Step::Group(group) => self.fixpoint(group as usize),
                    Step::Check { check, needs } => {
                        if chosen >= needs && self.violates(check) {
                            return Some(check);
                        }
                    }
                }
            }
        }
        None
    }

    /// The checks that only count once everything is chosen, and the nodes that only they need.
    pub fn run_final(&mut self) -> Option<CheckId> {
        for index in 0..self.plan.last.len() {
            match self.plan.last[index] {
                Step::Compute(slot, operation) => self.compute(slot, operation),
                Step::Group(group) => self.fixpoint(group as usize),
                Step::Check { check, .. } => {
                    if self.violates(check) {
                        return Some(check);
                    }
                }
            }
        }
        None
    }

    /// The value of a relation node that the plan keeps (checks, demands and what they need).
    pub fn relation(&self, node: NodeId) -> &[u64] {
        &self.data[self.range(self.plan.slot(node))]
    }

    pub fn contains(&self, node: NodeId, from: usize, to: usize) -> bool {
        kernel::contains(self.shape, self.relation(node), from, to)
    }

    fn range(&self, slot: Slot) -> std::ops::Range<usize> {
        self.offsets[slot.index()]..self.offsets[slot.index() + 1]
    }

    fn violates(&mut self, check: CheckId) -> bool {
        let check = &self.model.checks[check.index()];
        let range = self.range(self.plan.slot(check.node));
        let value = &self.data[range];
        let holds = match check.kind {
            CheckKind::Empty => kernel::is_empty(value),
            CheckKind::Irreflexive => !kernel::has_reflexive(self.shape, value),
            CheckKind::Acyclic => kernel::is_acyclic(self.shape, value, &mut self.scratch),
        };
        holds == check.negated
    }

    fn fixpoint(&mut self, group: usize) {
        for index in 0..self.plan.groups[group].variables.len() {
            let range = self.range(self.plan.groups[group].variables[index].0);
            self.data[range].fill(0);
        }
        // A monotone body settles after at most one round per pair and variable; the bound is for bodies that are not.
        let rounds = self.shape.events() * self.shape.events() * self.plan.groups[group].variables.len() + 2;
        for _ in 0..rounds {
            for index in 0..self.plan.groups[group].steps.len() {
                let (slot, operation) = self.plan.groups[group].steps[index];
                self.compute(slot, operation);
            }
            let mut changed = false;
            for index in 0..self.plan.groups[group].variables.len() {
                let (variable, body) = self.plan.groups[group].variables[index];
                let (variable, body) = (self.range(variable), self.range(body));
                if self.data[variable.clone()] != self.data[body.clone()] {
                    changed = true;
                    self.data.copy_within(body, variable.start);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn compute(&mut self, slot: Slot, operation: Operation) {
        let shape = self.shape;
        let own = self.range(slot);
        let length = own.len();
        let offsets = &self.offsets;
        let (before, rest) = self.data.split_at_mut(own.start);
        let out = &mut rest[..length];
        let value = |slot: Slot| &before[offsets[slot.index()]..offsets[slot.index() + 1]];
        match operation {
            Operation::Empty => out.fill(0),
            Operation::Union(a, b) => kernel::union(out, value(a), value(b)),
            Operation::Intersection(a, b) => kernel::intersection(out, value(a), value(b)),
            Operation::Difference(a, b) => kernel::difference(out, value(a), value(b)),
            Operation::Complement(a) => kernel::complement(shape, out, value(a)),
            Operation::Domain(a) => kernel::domain(shape, out, value(a)),
            Operation::Range(a) => kernel::range(shape, out, value(a)),
            Operation::Sequence(a, b) => kernel::sequence(shape, out, value(a), value(b)),
            Operation::From(set, a) => restrict_domain(shape, out, value(set), value(a)),
            Operation::Into(a, set) => restrict_range(shape, out, value(a), value(set)),
            Operation::Inverse(a) => kernel::inverse(shape, out, value(a)),
            Operation::Plus(a) => {
                out.copy_from_slice(value(a));
                kernel::close(shape, out);
            }
            Operation::Star(a) => {
                out.copy_from_slice(value(a));
                kernel::close(shape, out);
                kernel::add_identity(shape, out);
            }
            Operation::Optional(a) => {
                out.copy_from_slice(value(a));
                kernel::add_identity(shape, out);
            }
            Operation::Identity(set) => kernel::identity(shape, out, value(set)),
            Operation::Product(a, b) => kernel::product(shape, out, value(a), value(b)),
        }
    }
}

fn size(shape: Shape, kind: crate::model::NodeKind) -> usize {
    match kind {
        crate::model::NodeKind::Set => shape.words(),
        crate::model::NodeKind::Relation => shape.matrix(),
    }
}

/// `[set] ; relation`.
fn restrict_domain(shape: Shape, out: &mut [u64], set: &[u64], relation: &[u64]) {
    if shape.words() == 1 {
        for (event, (out, row)) in out.iter_mut().zip(relation).enumerate() {
            *out = row & (set[0] >> event & 1).wrapping_neg();
        }
        return;
    }
    out.fill(0);
    for event in crate::bits::ones(set) {
        let range = event * shape.words()..(event + 1) * shape.words();
        out[range.clone()].copy_from_slice(&relation[range]);
    }
}

/// `relation ; [set]`.
fn restrict_range(shape: Shape, out: &mut [u64], relation: &[u64], set: &[u64]) {
    if shape.words() == 0 {
        return;
    }
    for (out, row) in out.chunks_exact_mut(shape.words()).zip(relation.chunks_exact(shape.words())) {
        kernel::intersection(out, row, set);
    }
}
