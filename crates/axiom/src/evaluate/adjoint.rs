//! Which single edges cannot be added to what is chosen: the derivative of the model's checks, computed backwards.
//!
//! Of each node, the pairs are kept that would violate a monotone check if they were added to it, everything else as it
//! is: of a check these are all pairs (`empty`), the identity (`irreflexive`) or the converse of the closure (`acyclic`);
//! from a node they pass to its operands through the other operand's value (for `a ; b`: to `a` through the converse of
//! `b`). At the chosen relations the result is the edges that are ruled out. One pass costs as much as an evaluation and
//! answers for every edge what trying it would; only violations that use the new edge twice are not seen.

use std::ops::Range;

use fencepost_syntax::cat::CheckKind;

use super::memory::zeros;
use super::plan::{Base, Operation, Slot, Step};
use super::{Chosen, Evaluator, Stage};
use crate::bits::{Relation, Shape, kernel};
use crate::model::{BaseRelation, CheckId, NodeId};

/// Buffers of the computation; sized by [`Adjoint::run`].
#[derive(Debug, Default)]
pub struct Adjoint {
    shape: Shape,
    /// By slot, where the evaluator has its value: the pairs (or events) that may not be added.
    bad: Vec<u64>,
    /// Whether the slot has any.
    any: Vec<bool>,
    /// Where `bad` was written since it was all zeros.
    written: Vec<Range<usize>>,
    /// The converses of values, where the values are, and by slot when the value was last changed whose converse that is: most
    /// values are the same in one run and in the next.
    converses: Vec<u64>,
    turned: Vec<u64>,
    /// Of which candidate of the evaluator they are.
    candidate: u64,
    scratch: [Vec<u64>; 3],
}

impl Adjoint {
    /// From the values the evaluator holds, which must be those of a complete run without a violation.
    pub fn run(&mut self, evaluator: &Evaluator<'_>, chosen: Chosen) {
        self.run_from(evaluator, chosen, &[]);
    }

    /// The same where these nodes may not have these pairs either; what is chosen can only add to them.
    pub fn run_from(&mut self, evaluator: &Evaluator<'_>, chosen: Chosen, barred: &[(NodeId, &Relation)]) {
        self.clear(evaluator);
        for scratch in &mut self.scratch {
            scratch.resize(self.shape.matrix().max(self.shape.words()), 0);
        }
        for (node, pairs) in barred {
            let slot = evaluator.plan.slot(*node);
            if evaluator.varies[slot.index()] && evaluator.range(slot).len() == pairs.bits().len() {
                self.scratch[0][..pairs.bits().len()].copy_from_slice(pairs.bits());
                self.add(evaluator, slot);
            }
        }
        for stage in (Stage::ReadsFrom as usize..=Stage::Coherence as usize).rev() {
            for step in evaluator.live[stage].iter().rev() {
                if evaluator.gives_up() {
                    return;
                }
                match *step {
                    Step::Check { check, needs } if needs <= chosen => self.seed(evaluator, check),
                    Step::Check { .. } => {}
                    Step::Compute(slot, operation) => {
                        self.pass(evaluator, slot, operation);
                    }
                    Step::Group(group) => self.group(evaluator, group as usize),
                }
            }
        }
    }

    /// Only what the last run left is taken away.
    fn clear(&mut self, evaluator: &Evaluator<'_>) {
        self.shape = evaluator.shape;
        for range in self.written.drain(..) {
            self.bad[range].fill(0);
        }
        if self.candidate != evaluator.candidates {
            self.candidate = evaluator.candidates;
            self.bad = zeros(std::mem::take(&mut self.bad), evaluator.used, 0);
            self.converses = zeros(std::mem::take(&mut self.converses), evaluator.used, 0);
            self.turned.clear();
            self.turned.resize(evaluator.slots.len(), 0);
        }
        self.any.clear();
        self.any.resize(evaluator.slots.len(), false);
    }

    /// What is left of it for the next search, whose candidates are others.
    pub(crate) fn forget(&mut self) {
        self.candidate = 0;
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        (self.bad.capacity() + self.converses.capacity()) * size_of::<u64>()
    }

    /// Computes the converse of a slot's value, unless it is known.
    fn turn(&mut self, evaluator: &Evaluator<'_>, slot: Slot) {
        let held = &evaluator.slots[slot.index()];
        if self.turned[slot.index()] != held.changed {
            kernel::inverse(self.shape, &mut self.converses[held.range()], &evaluator.data[held.range()]);
            self.turned[slot.index()] = held.changed;
        }
    }

    /// The edges that cannot be added to a chosen relation; None if the model does not look at it.
    pub fn ruled_out(&self, evaluator: &Evaluator<'_>, relation: BaseRelation) -> Option<&[u64]> {
        let bases = &evaluator.plan.chosen_bases;
        let (slot, _) = bases.iter().find(|(_, base)| *base == Base::Relation(relation))?;
        Some(&self.bad[evaluator.range(*slot)])
    }

    fn seed(&mut self, evaluator: &Evaluator<'_>, check: CheckId) {
        let check = &evaluator.model.checks[check.index()];
        let slot = evaluator.plan.slot(check.node);
        let range = evaluator.range(slot);
        if check.negated || !evaluator.varies[slot.index()] {
            return;
        }
        let shape = self.shape;
        let [seed, closure, _] = &mut self.scratch;
        let seed = &mut seed[..range.len()];
        match check.kind {
            CheckKind::Empty if range.len() == shape.words() => kernel::universe(shape, seed),
            CheckKind::Empty => {
                seed.fill(0);
                kernel::complement(shape, &mut closure[..range.len()], seed);
                seed.copy_from_slice(&closure[..range.len()]);
            }
            CheckKind::Irreflexive => {
                seed.fill(0);
                kernel::add_identity(shape, seed);
            }
            CheckKind::Acyclic => {
                let closure = &mut closure[..range.len()];
                closure.copy_from_slice(&evaluator.data[range.clone()]);
                kernel::close_while(shape, closure, &mut || !evaluator.watch.is_over());
                kernel::inverse(shape, seed, closure);
                kernel::add_identity(shape, seed);
            }
        }
        self.add(evaluator, slot);
    }

    /// Adds the first scratch buffer to what is bad at a slot; whether that is more.
    fn add(&mut self, evaluator: &Evaluator<'_>, slot: Slot) -> bool {
        let range = evaluator.range(slot);
        let length = range.len();
        let mut more = 0;
        for (bad, new) in self.bad[range.clone()].iter_mut().zip(&self.scratch[0][..length]) {
            more |= new & !*bad;
            *bad |= new;
        }
        if more != 0 && !self.any[slot.index()] {
            self.any[slot.index()] = true;
            self.written.push(range);
        }
        more != 0
    }

    /// The variables of a group stand for their bodies: repeated until nothing new is bad.
    fn group(&mut self, evaluator: &Evaluator<'_>, group: usize) {
        let plan = &evaluator.plan.groups[group];
        loop {
            let mut more = false;
            for (variable, body) in &plan.variables {
                if self.any[variable.index()] {
                    let range = evaluator.range(*variable);
                    self.scratch[0][..range.len()].copy_from_slice(&self.bad[range]);
                    more |= self.add(evaluator, *body);
                }
            }
            for (slot, operation) in plan.steps.iter().rev() {
                more |= self.pass(evaluator, *slot, *operation);
            }
            if !more {
                return;
            }
        }
    }

    /// From a node to its operands; whether that is more.
    fn pass(&mut self, evaluator: &Evaluator<'_>, slot: Slot, operation: Operation) -> bool {
        if !self.any[slot.index()] {
            return false;
        }
        let mut more = false;
        for (position, operand) in operation.operands(&evaluator.plan.united).enumerate() {
            if evaluator.varies[operand.index()] {
                self.backwards(evaluator, slot, operation, position);
                more |= self.add(evaluator, operand);
            }
        }
        more
    }

    /// What is bad at an operand because of what is bad at the node, into the first scratch buffer. Of a closure, the
    /// node's own value is what leads from one edge to the other.
    fn backwards(&mut self, evaluator: &Evaluator<'_>, slot: Slot, operation: Operation, position: usize) {
        match (operation, position) {
            (Operation::Sequence(_, other), 0) | (Operation::Sequence(other, _), _) => self.turn(evaluator, other),
            (Operation::Plus(_) | Operation::Star(_), _) => self.turn(evaluator, slot),
            _ => {}
        }
        let shape = self.shape;
        let converse = |slot: Slot| &self.converses[evaluator.range(slot)];
        let value = |slot: Slot| &evaluator.data[evaluator.range(slot)];
        let bad = &self.bad[evaluator.range(slot)];
        let [out, left, right] = &mut self.scratch;
        match (operation, position) {
            (Operation::Union(..) | Operation::Unions(_) | Operation::Optional(_), _) => {
                out[..bad.len()].copy_from_slice(bad)
            }
            (Operation::Intersection(_, other), 0) | (Operation::Intersection(other, _), _) => {
                kernel::intersection(&mut out[..bad.len()], bad, value(other));
            }
            (Operation::Difference(_, other), 0) => kernel::difference(&mut out[..bad.len()], bad, value(other)),
            (Operation::Sequence(_, other), 0) => kernel::sequence(shape, out, bad, converse(other)),
            (Operation::Sequence(other, _), _) => kernel::sequence(shape, out, converse(other), bad),
            (Operation::From(_, other), 0) => {
                kernel::intersection(left, bad, value(other));
                kernel::domain(shape, &mut out[..shape.words()], left);
            }
            (Operation::From(set, _), _) => super::restrict_domain(shape, out, value(set), bad),
            (Operation::Into(_, set), 0) => super::restrict_range(shape, out, bad, value(set)),
            (Operation::Into(other, _), _) => {
                kernel::intersection(left, bad, value(other));
                kernel::range(shape, &mut out[..shape.words()], left);
            }
            (Operation::Inverse(_), _) => kernel::inverse(shape, out, bad),
            (Operation::Plus(_) | Operation::Star(_), _) => {
                left[..bad.len()].copy_from_slice(converse(slot));
                kernel::add_identity(shape, left);
                kernel::sequence(shape, right, left, bad);
                kernel::sequence(shape, out, right, left);
            }
            (Operation::Identity(_), _) => {
                out[..shape.words()].fill(0);
                let is_bad = |event: &usize| kernel::contains(shape, bad, *event, *event);
                (0..shape.events()).filter(is_bad).for_each(|event| kernel::insert(out, event));
            }
            (Operation::Product(_, other), 0) => {
                super::restrict_range(shape, left, bad, value(other));
                kernel::domain(shape, &mut out[..shape.words()], left);
            }
            (Operation::Product(other, _), _) => {
                super::restrict_domain(shape, left, value(other), bad);
                kernel::range(shape, &mut out[..shape.words()], left);
            }
            (Operation::Domain(_), _) => {
                kernel::universe(shape, &mut left[..shape.words()]);
                kernel::product(shape, out, bad, &left[..shape.words()]);
            }
            (Operation::Range(_), _) => every_row(shape, out, bad),
            // A monotone check has nothing that is chosen under a complement or on the right of a difference.
            (Operation::Difference(..) | Operation::Complement(_) | Operation::Empty, _) => out.fill(0),
        }
    }
}

/// The relation from every event to this set.
fn every_row(shape: Shape, out: &mut [u64], set: &[u64]) {
    for event in 0..shape.events() {
        out[event * shape.words()..(event + 1) * shape.words()].copy_from_slice(set);
    }
}
