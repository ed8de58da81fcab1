//! Values within one choice of traces: propagated from writes to their readers and through expressions as soon as they
//! are known, in any order of events (load buffering is allowed: program order does not order them), undone on
//! backtracking. A value that depends on itself stays unknown; nothing is guessed.

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::Term;
use fencepost_program::unfolding::{BarrierMatching, EventKind, Unfolding};
use fencepost_program::value::{Type, Value};
use fencepost_program::{EventId, TraceId};

use super::question::Question;
use super::traces::register;
use crate::base::Candidate;

/// What became known: the value of an event, the result of a barrier.
#[derive(Copy, Clone, Debug)]
enum Known {
    Event(u32),
    Barrier(u32),
}

/// What is undone on backtracking.
#[derive(Copy, Clone, Debug)]
enum Change {
    Learnt(Known),
    /// A conjunct was found to hold.
    Holds(u32),
}

/// A point to return to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark(usize);

/// Whether what is known contradicts a constraint or the condition.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Consistent {
    Yes,
    No,
}

#[derive(Debug, Default)]
pub(super) struct Values {
    /// By local event: what it reads or writes.
    values: Vec<Option<Value>>,
    /// By local event: what a `bar.red` returns.
    results: Vec<Option<Value>>,
    types: Vec<Type>,
    /// By local event that is a leaf of something: the writes, constraints and conjuncts to look at when it is known.
    write_users: Vec<Vec<u32>>,
    constraint_users: Vec<Vec<u32>>,
    conjunct_users: Vec<Vec<u32>>,
    constraints: Vec<Constraint>,
    /// By local write: its readers, as they are assigned.
    readers: Vec<Vec<u32>>,
    /// The conjuncts that hold, whatever else becomes known.
    holding: Vec<bool>,
    trail: Vec<Change>,
    queue: Vec<Known>,
    /// Of the expression that is looked at.
    leaves: Vec<Leaf>,
}

/// A constraint of a trace, or one of its assumptions, by number.
#[derive(Copy, Clone, Debug)]
struct Constraint {
    trace: TraceId,
    index: usize,
}

impl Values {
    /// For another choice of traces: nothing is known.
    pub(super) fn begin(&mut self, unfolding: &Unfolding, candidate: &Candidate, question: &Question<'_>) {
        let count = candidate.events.len();
        for values in [&mut self.values, &mut self.results] {
            values.clear();
            values.resize(count, None);
        }
        for users in [&mut self.write_users, &mut self.constraint_users, &mut self.conjunct_users, &mut self.readers] {
            users.iter_mut().for_each(Vec::clear);
            if users.len() < count {
                users.resize_with(count, Vec::new);
            }
        }
        self.holding.clear();
        self.holding.resize(question.conjuncts.len(), false);
        self.types.clear();
        self.constraints.clear();
        self.trail.clear();
        self.queue.clear();
        let mut leaves = std::mem::take(&mut self.leaves);
        for (index, id) in candidate.events.iter().enumerate() {
            let ty = match &unfolding.events[id.index()].kind {
                EventKind::Write { value, ty, .. } => {
                    leaves.clear();
                    value.leaves(&mut leaves);
                    watch(candidate, &leaves, &mut self.write_users, index);
                    *ty
                }
                EventKind::Read { ty, .. } => *ty,
                EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => Type::UNTYPED,
            };
            self.types.push(ty);
        }
        for &id in &candidate.traces {
            let trace = &unfolding.traces[id.index()];
            for (index, expression) in trace.constraints.iter().chain(&trace.assumptions).enumerate() {
                leaves.clear();
                expression.leaves(&mut leaves);
                watch(candidate, &leaves, &mut self.constraint_users, self.constraints.len());
                self.constraints.push(Constraint { trace: id, index });
            }
        }
        for index in 0..question.conjuncts.len() {
            leaves.clear();
            let terms = question.terms(index).iter();
            terms
                .filter_map(|term| register(unfolding, &candidate.traces, term))
                .for_each(|expression| expression.leaves(&mut leaves));
            watch(candidate, &leaves, &mut self.conjunct_users, index);
        }
        self.leaves = leaves;
    }

    /// What is known without any choice: constants. Also judges what depends on nothing else.
    pub(super) fn start(
        &mut self,
        unfolding: &Unfolding,
        candidate: &Candidate,
        question: &Question<'_>,
    ) -> Consistent {
        for index in 0..candidate.events.len() {
            if self.values[index].is_none()
                && let Some(value) = self.written(unfolding, candidate, index)
            {
                self.learn(Known::Event(index as u32), value);
            }
        }
        let constraints = 0..self.constraints.len();
        let conjuncts = 0..question.conjuncts.len();
        let holds = constraints.into_iter().all(|index| self.constraint(unfolding, candidate, index) != Some(false))
            && conjuncts.into_iter().all(|index| self.may_hold(unfolding, candidate, question, index));
        if holds { self.settle(unfolding, candidate, question) } else { Consistent::No }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    pub(super) fn undo(&mut self, mark: Mark) {
        self.queue.clear();
        for change in self.trail.drain(mark.0..) {
            match change {
                Change::Learnt(Known::Event(event)) => self.values[event as usize] = None,
                Change::Learnt(Known::Barrier(event)) => self.results[event as usize] = None,
                Change::Holds(conjunct) => self.holding[conjunct as usize] = false,
            }
        }
    }

    /// Records that the read reads from the write, and what follows. Undone by [`Values::unassign`] and `undo`.
    pub(super) fn assign(
        &mut self,
        unfolding: &Unfolding,
        candidate: &Candidate,
        question: &Question<'_>,
        write: usize,
        read: usize,
    ) -> Consistent {
        self.readers[write].push(read as u32);
        match self.values[write] {
            Some(value) => {
                self.learn(Known::Event(read as u32), self.types[read].wrap(value));
                self.settle(unfolding, candidate, question)
            }
            None => Consistent::Yes,
        }
    }

    pub(super) fn unassign(&mut self, write: usize) {
        self.readers[write].pop();
    }

    pub(super) fn is_read(&self, write: usize) -> bool {
        !self.readers[write].is_empty()
    }

    /// The results of `bar.red` under a matching, as far as the contributions are known (PTX ISA 9.7.15.1).
    pub(super) fn meet(
        &mut self,
        unfolding: &Unfolding,
        candidate: &Candidate,
        question: &Question<'_>,
        matching: &BarrierMatching,
    ) -> Consistent {
        loop {
            let before = self.trail.len();
            for group in &matching.groups {
                self.reduce(unfolding, candidate, group);
            }
            if self.settle(unfolding, candidate, question) == Consistent::No {
                return Consistent::No;
            }
            if self.trail.len() == before {
                return Consistent::Yes;
            }
        }
    }

    /// Each member gets what its own operation makes of all contributions.
    fn reduce(&mut self, unfolding: &Unfolding, candidate: &Candidate, group: &[EventId]) {
        let reduction = |event: &EventId| match &unfolding.events[event.index()].kind {
            EventKind::Barrier(barrier) => barrier.reduction.as_ref(),
            _ => None,
        };
        let (mut contributions, mut truths) = (0, 0);
        for (_, predicate) in group.iter().filter_map(reduction) {
            let Some(value) = self.evaluate(candidate, predicate) else { return };
            contributions += 1;
            truths += i128::from(value != Value(0));
        }
        for event in group {
            if let Some((operation, _)) = reduction(event)
                && let Some(local) = candidate.local(*event)
            {
                self.learn(Known::Barrier(local as u32), operation.combine(contributions, truths));
            }
        }
    }

    fn learn(&mut self, known: Known, value: Value) {
        let slot = match known {
            Known::Event(event) => &mut self.values[event as usize],
            Known::Barrier(event) => &mut self.results[event as usize],
        };
        if slot.is_none() {
            *slot = Some(value);
            self.trail.push(Change::Learnt(known));
            self.queue.push(known);
        }
    }

    /// Propagates until nothing new is known.
    fn settle(&mut self, unfolding: &Unfolding, candidate: &Candidate, question: &Question<'_>) -> Consistent {
        while let Some(known) = self.queue.pop() {
            let (Known::Event(event) | Known::Barrier(event)) = known;
            let event = event as usize;
            for at in 0..self.constraint_users[event].len() {
                let index = self.constraint_users[event][at] as usize;
                if self.constraint(unfolding, candidate, index) == Some(false) {
                    self.queue.clear();
                    return Consistent::No;
                }
            }
            for at in 0..self.conjunct_users[event].len() {
                let index = self.conjunct_users[event][at] as usize;
                if !self.may_hold(unfolding, candidate, question, index) {
                    self.queue.clear();
                    return Consistent::No;
                }
            }
            for at in 0..self.write_users[event].len() {
                let write = self.write_users[event][at] as usize;
                if self.values[write].is_none()
                    && let Some(value) = self.written(unfolding, candidate, write)
                {
                    self.learn(Known::Event(write as u32), value);
                }
            }
            if let (Known::Event(_), Some(value)) = (known, self.values[event]) {
                for at in 0..self.readers[event].len() {
                    let read = self.readers[event][at];
                    self.learn(Known::Event(read), self.types[read as usize].wrap(value));
                }
            }
        }
        Consistent::Yes
    }

    /// What a local event writes, if that is known; None if it is no write.
    fn written(&self, unfolding: &Unfolding, candidate: &Candidate, write: usize) -> Option<Value> {
        let EventKind::Write { value, ty, .. } = &unfolding.events[candidate.events[write].index()].kind else {
            return None;
        };
        self.evaluate(candidate, value).map(|value| ty.wrap(value))
    }

    fn constraint(&self, unfolding: &Unfolding, candidate: &Candidate, index: usize) -> Option<bool> {
        self.evaluate(candidate, self.constraints[index].of(unfolding)).map(|value| value != Value(0))
    }

    /// Whether a part of the condition may hold, with final memory unknown. What is found to hold is not judged again until
    /// that is undone: more values do not change a judgement in Kleene logic.
    fn may_hold(
        &mut self,
        unfolding: &Unfolding,
        candidate: &Candidate,
        question: &Question<'_>,
        index: usize,
    ) -> bool {
        if self.holding[index] || !question.conjuncts[index].can_fail_early {
            return true;
        }
        let holds = question.conjuncts[index].holds(&mut |term| self.term(unfolding, candidate, term));
        if holds == Some(true) {
            self.holding[index] = true;
            self.trail.push(Change::Holds(index as u32));
        }
        holds != Some(false)
    }

    /// Whether a constraint or a part of the condition depends on the event.
    pub(super) fn decides(&self, event: usize) -> bool {
        !self.constraint_users[event].is_empty() || !self.conjunct_users[event].is_empty()
    }

    /// Whether a read may have a value: no constraint and no part of the condition says no to it, with the others as far
    /// as they are known.
    pub(super) fn passes(
        &self,
        unfolding: &Unfolding,
        candidate: &Candidate,
        question: &Question<'_>,
        read: usize,
        value: Value,
    ) -> bool {
        let value = self.types[read].wrap(value);
        let evaluate = |expression: &Expression| {
            expression.evaluate(&mut |leaf| match leaf {
                Leaf::Read(event) if candidate.local(event) == Some(read) => Some(value),
                Leaf::Read(event) => self.values[candidate.local(event)?],
                Leaf::BarrierResult(event) => self.results[candidate.local(event)?],
            })
        };
        let constraints =
            self.constraint_users[read].iter().map(|index| self.constraints[*index as usize].of(unfolding));
        let conjuncts = self.conjunct_users[read].iter().map(|index| &question.conjuncts[*index as usize]);
        let mut conjuncts = conjuncts.filter(|conjunct| conjunct.can_fail_early);
        constraints.into_iter().all(|constraint| evaluate(constraint) != Some(Value(0)))
            && conjuncts.all(|conjunct| {
                let term = &mut |term: &Term| evaluate(register(unfolding, &candidate.traces, term)?);
                conjunct.holds(term) != Some(false)
            })
    }

    /// The final value of a register, if known.
    pub(super) fn term(&self, unfolding: &Unfolding, candidate: &Candidate, term: &Term) -> Option<Value> {
        match register(unfolding, &candidate.traces, term)? {
            // Most are what a read returned.
            Expression::Read(event) => self.values[candidate.local(*event)?],
            computed => self.evaluate(candidate, computed),
        }
    }

    pub(super) fn evaluate(&self, candidate: &Candidate, expression: &Expression) -> Option<Value> {
        expression.evaluate(&mut |leaf| match leaf {
            Leaf::Read(event) => self.values[candidate.local(event)?],
            Leaf::BarrierResult(event) => self.results[candidate.local(event)?],
        })
    }

    /// What a local event reads or writes, if known.
    pub(super) fn of(&self, event: usize) -> Option<Value> {
        self.values[event]
    }

    /// The same of every local event.
    pub(super) fn all(&self) -> &[Option<Value>] {
        &self.values
    }

    /// Whether every read, write and constraint has a value: if all is chosen and it has not, the value depends on
    /// itself.
    pub(super) fn all_known(&self, unfolding: &Unfolding, candidate: &Candidate) -> bool {
        let has_value = |id: &EventId| {
            let event = unfolding.event(*id);
            event.is_read() || event.is_write()
        };
        candidate.events.iter().zip(&self.values).all(|(id, value)| value.is_some() || !has_value(id))
            && (0..self.constraints.len()).all(|index| self.constraint(unfolding, candidate, index).is_some())
    }
}

impl Constraint {
    fn of(self, unfolding: &Unfolding) -> &Expression {
        let trace = &unfolding.traces[self.trace.index()];
        match self.index.checked_sub(trace.constraints.len()) {
            None => &trace.constraints[self.index],
            Some(assumption) => &trace.assumptions[assumption],
        }
    }
}

/// Registers a user with each of its leaves once.
fn watch(candidate: &Candidate, leaves: &[Leaf], users: &mut [Vec<u32>], user: usize) {
    for leaf in leaves {
        let (Leaf::Read(event) | Leaf::BarrierResult(event)) = leaf;
        if let Some(local) = candidate.local(*event)
            && users[local].last() != Some(&(user as u32))
        {
            users[local].push(user as u32);
        }
    }
}
