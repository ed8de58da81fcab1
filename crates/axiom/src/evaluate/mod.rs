//! Computes a compiled model over one candidate.
//!
//! The nodes are sorted into stages by what they depend on ([`Stage`]): those the traces fix are computed once per
//! candidate, those that need reads-from once per choice of it, and only the rest for every choice of an order. Within a
//! stage a check follows its node at once, so that a violation ends the evaluation early. All values lie in one
//! allocation; `[S] ; r` and `r ; [S]` are masks, not compositions.
//!
//! A node is computed again only if the value of an operand has changed since, and of a small candidate only in the rows that
//! can differ ([`update`]): between two candidates that differ by an edge most of a large model stays as it was. What no
//! choice can change is not looked at again at all ([`settled`]), and what must be empty is not computed ([`reduced`]).

mod adjoint;
mod dependencies;
mod memory;
mod plan;
mod plans;
mod polarity;
mod reduced;
mod settled;
mod unions;
mod update;

use std::sync::Arc;

use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::CheckKind;

use crate::base::Candidate;
use crate::bits::{Shape, Swap, kernel, ones};
use crate::model::{BaseRelation, BaseSet, CheckId, Model, NodeId};
use crate::watch::Watch;

pub use adjoint::Adjoint;
pub use plan::{Occurrence, Plan, Pruning};
pub(crate) use plans::Plans;

use memory::{Memory, zeros};
use plan::{Operation, Slot, Step};
use plans::Planned;
use reduced::Reductions;
use update::Held;

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
    plan: Arc<Plan>,
    reductions: Arc<Reductions>,
    shape: Shape,
    /// The values, where the slots say; zeros beside those that were written.
    data: Vec<u64>,
    /// How much of it the current candidate has.
    used: usize,
    slots: Vec<Held>,
    scratch: Vec<u64>,
    /// Where a value is computed before it is compared with the one it replaces.
    fresh: Vec<u64>,
    /// How many candidates were begun.
    candidates: u64,
    clock: u64,
    /// By group: when it was last computed; 0 is never.
    settled: Vec<u64>,
    /// By check: the time of the value it was last judged on, and whether that violates it.
    judged: Vec<(u64, bool)>,
    /// By slot: whether its value depends on what is chosen, and the steps that are left to do for every choice.
    varies: Vec<bool>,
    live: [Vec<Step>; plan::LISTS],
    /// Scratch for the beginning of a candidate: by slot, and by base as bits.
    needed: Vec<bool>,
    holding: Vec<u64>,
    /// What may end an evaluation in the middle. The values are then not to be believed.
    watch: Watch<'m>,
}

/// Over rows of more words than this, an evaluation takes long enough to be interrupted.
const WIDE: usize = 4;

impl<'m> Evaluator<'m> {
    pub fn new(model: &'m Model) -> Evaluator<'m> {
        Evaluator::with_roots(model, &[])
    }

    /// Also keeps the values of these nodes, which no axiom may need.
    pub fn with_roots(model: &'m Model, roots: &[NodeId]) -> Evaluator<'m> {
        let Planned { plan, reductions } = model.plans.get(model, roots);
        let Memory { data, slots, scratch, fresh, settled, judged, varies, live, needed, holding } = Memory::take();
        Evaluator {
            model,
            plan,
            reductions,
            shape: Shape::default(),
            data,
            used: 0,
            slots,
            scratch,
            fresh,
            candidates: 0,
            clock: 0,
            settled,
            judged,
            varies,
            live,
            needed,
            holding,
            watch: Watch::default(),
        }
    }

    /// Gives up in the middle of a long evaluation when the watch says so.
    pub fn watched(mut self, watch: Watch<'m>) -> Evaluator<'m> {
        self.watch = watch;
        self
    }

    /// Whether to leave an evaluation unfinished. Small ones are never.
    fn gives_up(&self) -> bool {
        self.shape.words() > WIDE && self.watch.is_over()
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Bytes held for the current candidate.
    pub fn memory(&self) -> u64 {
        (self.used * 8 + self.slots.capacity() * size_of::<Held>()) as u64
    }

    /// Bytes needed for a candidate of this shape.
    pub fn memory_for(&self, shape: Shape) -> u64 {
        self.plan.kinds().map(|kind| size(shape, kind) as u64 * 8).sum()
    }

    /// Starts a new candidate: computes what its traces fix, with the chosen relations empty. The violated check, if
    /// the traces alone violate one.
    pub fn begin(&mut self, unfolding: &Unfolding, candidate: &Candidate) -> Option<CheckId> {
        self.shape = candidate.shape;
        self.candidates += 1;
        let shape = self.shape;
        memory::clear(&mut self.data, &self.slots);
        self.slots.clear();
        self.slots.extend(self.plan.kinds().map(|kind| Held::new(0, size(shape, kind))));
        // What can hold nothing for this candidate, most of a large model, lies where nothing is ever written.
        let nothing = shape.matrix().max(shape.words());
        let bases = self.plan.static_bases.iter().chain(&self.plan.chosen_bases);
        let end = bases.fold(nothing, |start, (slot, _)| self.slots[slot.index()].place(start));
        self.data = zeros(std::mem::take(&mut self.data), end, 0);
        self.scratch.clear();
        self.scratch.resize(self.shape.words(), 0);
        self.fresh.clear();
        self.fresh.resize(self.shape.matrix().max(self.shape.words()), 0);
        self.clock = update::FIRST;
        self.settled.clear();
        self.settled.resize(self.plan.groups.len(), 0);
        self.judged.clear();
        self.judged.resize(self.model.checks.len(), (0, false));
        self.varies.clear();
        self.varies.resize(self.slots.len(), false);
        self.live.iter_mut().for_each(Vec::clear);
        for index in 0..self.plan.static_bases.len() {
            let (slot, base) = self.plan.static_bases[index];
            let range = self.range(slot);
            self.slots[slot.index()].write();
            if self.gives_up() {
                return None;
            }
            match base {
                plan::Base::Set(set) => candidate.fill_set(unfolding, set, &mut self.data[range]),
                plan::Base::Relation(relation) => candidate.fill_relation(unfolding, relation, &mut self.data[range]),
            }
        }
        let reduced = self.reduced(unfolding, candidate);
        self.used = reduced.computed.iter().fold(end, |start, slot| self.slots[slot.index()].place(start));
        self.data = zeros(std::mem::take(&mut self.data), self.used, end);
        let violated = self.steps(reduced.list(Stage::Static as usize), Chosen::Partly);
        if violated.is_none() {
            self.settle(&reduced);
        }
        violated
    }

    /// Replaces a chosen relation; coherence must be transitively closed. Nothing is recomputed until
    /// [`Evaluator::run`].
    pub fn set(&mut self, relation: BaseRelation, bits: &[u64]) {
        for index in 0..self.plan.chosen_bases.len() {
            let (slot, base) = self.plan.chosen_bases[index];
            if base == plan::Base::Relation(relation) {
                self.replace(slot, bits);
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
                debug_assert_eq!(range.len(), set.len());
                self.replace(slot, &set);
            }
        }
    }

    fn replace(&mut self, slot: Slot, bits: &[u64]) {
        let range = self.range(slot);
        debug_assert!(
            self.varies[slot.index()] || kernel::is_empty(bits),
            "a relation holds what no choice puts into it"
        );
        if self.data[range.clone()] != *bits {
            let rows = update::overwrite(self.shape, &mut self.data[range], bits);
            self.note(slot, rows);
        }
    }

    /// Recomputes the nodes of these stages; the first violated check that counts for what is chosen, if any (the nodes
    /// after it are then stale). After a watch ended it, no check is violated.
    pub fn run(&mut self, from: Stage, to: Stage, chosen: Chosen) -> Option<CheckId> {
        (from as usize..=to as usize).find_map(|stage| self.run_list(stage, chosen))
    }

    /// The checks that only count once everything is chosen, and the nodes that only they need.
    pub fn run_final(&mut self) -> Option<CheckId> {
        self.run_list(plan::LAST, Chosen::ReadsFrom)
    }

    /// Computes every node anew, whatever the checks say of it.
    pub fn recompute(&mut self) {
        for list in Stage::ReadsFrom as usize..plan::LISTS {
            let steps = std::mem::take(&mut self.live[list]);
            for step in steps.iter().filter(|step| !matches!(step, Step::Check { .. })) {
                self.steps(std::slice::from_ref(step), Chosen::Partly);
            }
            self.live[list] = steps;
        }
    }

    fn run_list(&mut self, list: usize, chosen: Chosen) -> Option<CheckId> {
        let steps = std::mem::take(&mut self.live[list]);
        let violated = self.steps(&steps, chosen);
        self.live[list] = steps;
        violated
    }

    fn steps(&mut self, steps: &[Step], chosen: Chosen) -> Option<CheckId> {
        for step in steps {
            if self.gives_up() {
                return None;
            }
            match *step {
                Step::Compute(slot, operation) => self.compute(slot, operation),
                Step::Group(group) => self.fixpoint(group as usize),
                Step::Check { check, needs } => {
                    if chosen >= needs && self.violates(check) {
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

    /// Whether everything that the traces fix stays as it is when events are exchanged.
    pub fn static_is_kept_by(&self, swap: &Swap) -> bool {
        self.plan.static_bases.iter().all(|(slot, base)| {
            let value = &self.data[self.range(*slot)];
            match base {
                plan::Base::Set(_) => ones(value).all(|event| kernel::has(value, swap.event(event))),
                plan::Base::Relation(_) => kernel::is_kept_by(self.shape, value, swap),
            }
        })
    }

    fn range(&self, slot: Slot) -> std::ops::Range<usize> {
        self.slots[slot.index()].range()
    }

    fn violates(&mut self, id: CheckId) -> bool {
        let check = &self.model.checks[id.index()];
        let slot = self.plan.slot(check.node);
        let (then, answer) = self.judged[id.index()];
        let changed = self.slots[slot.index()].changed;
        if then == changed {
            return answer;
        }
        let range = self.range(slot);
        let value = &self.data[range];
        let holds = match check.kind {
            CheckKind::Empty => kernel::is_empty(value),
            CheckKind::Irreflexive => !kernel::has_reflexive(self.shape, value),
            CheckKind::Acyclic => kernel::is_acyclic(self.shape, value, &mut self.scratch),
        };
        let violated = holds == check.negated;
        self.judged[id.index()] = (changed, violated);
        violated
    }

    fn fixpoint(&mut self, group: usize) {
        let plan = &self.plan.groups[group];
        let then = self.settled[group];
        if then > 0 && plan.inputs.iter().all(|input| self.slots[input.index()].changed <= then) {
            return;
        }
        // What the members were, one after the other; the first time there is nothing to compare with.
        let mut before: Vec<u64> = Vec::new();
        for (slot, _) in plan.steps.iter().filter(|_| then > 0) {
            before.extend_from_slice(&self.data[self.range(*slot)]);
        }
        plan.slots().for_each(|slot| self.slots[slot.index()].write());
        for index in 0..self.plan.groups[group].variables.len() {
            let range = self.range(self.plan.groups[group].variables[index].0);
            self.data[range].fill(0);
        }
        // A monotone body settles after at most one round per pair and variable; the bound is for bodies that are not.
        let rounds = self.shape.events() * self.shape.events() * self.plan.groups[group].variables.len() + 2;
        for _ in 0..rounds {
            for index in 0..self.plan.groups[group].steps.len() {
                if self.gives_up() {
                    return;
                }
                let (slot, operation) = self.plan.groups[group].steps[index];
                self.evaluate(slot, operation);
                let own = self.range(slot);
                self.data[own.clone()].copy_from_slice(&self.fresh[..own.len()]);
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
                break;
            }
        }
        self.settled[group] = self.clock;
        let mut before = before.as_slice();
        for index in 0..self.plan.groups[group].steps.len() {
            let (slot, _) = self.plan.groups[group].steps[index];
            let value = &self.data[self.range(slot)];
            let same = before.split_at_checked(value.len()).filter(|_| then > 0);
            let is_same = same.is_some_and(|(old, _)| old == value);
            before = same.map_or(before, |(_, rest)| rest);
            if !is_same {
                self.note(slot, update::ALL);
            }
        }
        // A variable has the value of its body.
        for index in 0..self.plan.groups[group].variables.len() {
            let (variable, body) = self.plan.groups[group].variables[index];
            if self.slots[body.index()].changed > self.settled[group] {
                self.note(variable, update::ALL);
            }
        }
    }

    /// The value of an operation, into `fresh`.
    fn evaluate(&mut self, slot: Slot, operation: Operation) {
        let shape = self.shape;
        let length = self.range(slot).len();
        let out = &mut self.fresh[..length];
        let value = |slot: Slot| &self.data[self.slots[slot.index()].range()];
        let watch = &self.watch;
        let go_on = &mut || !watch.is_over();
        match operation {
            Operation::Empty => out.fill(0),
            Operation::Union(a, b) => kernel::union(out, value(a), value(b)),
            Operation::Unions(part) => {
                out.fill(0);
                part.of(&self.plan.united).iter().for_each(|&slot| kernel::add(out, value(slot)));
            }
            Operation::Intersection(a, b) => kernel::intersection(out, value(a), value(b)),
            Operation::Difference(a, b) => kernel::difference(out, value(a), value(b)),
            Operation::Complement(a) => kernel::complement(shape, out, value(a)),
            Operation::Domain(a) => kernel::domain(shape, out, value(a)),
            Operation::Range(a) => kernel::range(shape, out, value(a)),
            Operation::Sequence(a, b) => kernel::sequence_while(shape, out, value(a), value(b), go_on),
            Operation::From(set, a) => restrict_domain(shape, out, value(set), value(a)),
            Operation::Into(a, set) => restrict_range(shape, out, value(a), value(set)),
            Operation::Inverse(a) => kernel::inverse(shape, out, value(a)),
            Operation::Plus(a) => {
                out.copy_from_slice(value(a));
                kernel::close_while(shape, out, go_on);
            }
            Operation::Star(a) => {
                out.copy_from_slice(value(a));
                kernel::close_while(shape, out, go_on);
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
    for event in ones(set) {
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
