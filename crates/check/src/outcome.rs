//! The final states of an execution, seen through the terms somebody asked about.
//!
//! Written apart from the engines on purpose: a witness is judged with this code, not with the code that found it.
//! The final value of a location is that of any co-maximal write, so one execution may have several final states.

use fencepost_axiom::execution::Execution;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Program, Term};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, RegisterId, ThreadId};

use crate::compare;
use crate::test::Test;

/// The values of some terms, in their order.
pub(crate) type State = Vec<Value>;

/// Longer outcomes are not read.
const MOST_LISTED: usize = 24;

/// The terms the histogram shows: those of the questions, the filter and `locations`, ascending.
pub(crate) fn terms(program: &Program) -> Vec<Term> {
    let mut terms: Vec<Term> = program.shown.clone();
    terms.extend(program.questions.iter().flat_map(|question| question.condition.terms()));
    terms.extend(program.filter.iter().flat_map(|filter| filter.node.terms()));
    terms.retain(|term| !matches!(term, Term::Constant(_)));
    terms.sort();
    terms.dedup();
    terms
}

/// A test that mentions nothing shows its registers, where they are few enough to be read. None for the others.
pub(crate) fn showing_registers(test: &Test) -> Option<Test> {
    let program = &test.program;
    if !program.questions.is_empty() || !terms(program).is_empty() {
        return None;
    }
    let shown = compare::terms(program, compare::Observed::Registers);
    let is_readable = (1..=MOST_LISTED).contains(&shown.len());
    is_readable.then(|| test.with_program(Program { shown, ..program.clone() }))
}

/// Judges a condition on a state; a term the state does not have makes it false, which cannot happen for terms of
/// [`terms`].
pub(crate) fn holds(condition: &Condition, terms: &[Term], state: &State) -> bool {
    let mut value = |term: &Term| terms.binary_search(term).ok().and_then(|at| state.get(at).copied());
    condition.evaluate(&mut value).unwrap_or(false)
}

/// Reads an execution's values.
pub(crate) struct Reader<'a> {
    unfolding: &'a Unfolding,
    execution: &'a Execution,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding, execution: &'a Execution) -> Reader<'a> {
        Reader { unfolding, execution }
    }

    pub(crate) fn value(&self, event: EventId) -> Option<Value> {
        let at = self.execution.events.binary_search(&event).ok()?;
        self.execution.values.get(at).copied().flatten()
    }

    pub(crate) fn evaluate(&self, expression: &Expression) -> Option<Value> {
        expression.evaluate(&mut |leaf| match leaf {
            Leaf::Read(event) => self.value(event),
            Leaf::BarrierResult(event) => self.reduction(event),
        })
    }

    /// What a `bar.red` returns: the reduction over the predicates of its group (PTX ISA 9.7.15.1).
    fn reduction(&self, event: EventId) -> Option<Value> {
        let group = self.execution.barriers.groups.iter().find(|group| group.contains(&event))?;
        let contribution = |member: &EventId| match &self.unfolding.events.get(member.index())?.kind {
            EventKind::Barrier(barrier) => barrier.reduction.as_ref(),
            _ => None,
        };
        let (operation, _) = contribution(&event)?;
        let mut set = 0;
        let mut members = 0;
        for (_, predicate) in group.iter().filter_map(contribution) {
            members += 1;
            set += i128::from(self.evaluate(predicate)? != Value(0));
        }
        Some(operation.combine(members, set))
    }

    /// The values a location may end with, ascending, each once.
    fn finals(&self, location: LocationId) -> Vec<Value> {
        let is_write = |event: &EventId| {
            matches!(self.unfolding.events.get(event.index()).map(|event| &event.kind),
                Some(EventKind::Write { location: written, .. }) if *written == location)
        };
        let events = &self.execution.events;
        let mut last: Vec<bool> = events.iter().map(is_write).collect();
        for (before, _) in self.execution.co.iter().filter(|(_, after)| is_write(after)) {
            if let Ok(at) = events.binary_search(before) {
                last[at] = false;
            }
        }
        let values = self.execution.values.iter().zip(last).filter(|(_, last)| *last);
        let mut values: Vec<Value> = values.filter_map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn register(&self, thread: ThreadId, register: RegisterId) -> Option<Value> {
        let trace = self.unfolding.traces.get(self.execution.traces.get(thread.index())?.index())?;
        self.evaluate(trace.registers.get(register.index())?)
    }

    /// Every final state, projected to the terms, ascending and each once. Empty if a term has no value, which is a
    /// defect of the execution.
    pub(crate) fn states(&self, terms: &[Term]) -> Vec<State> {
        let mut states: Vec<State> = vec![Vec::with_capacity(terms.len())];
        for term in terms {
            let only = match term {
                Term::Constant(value) => Some(*value),
                Term::Register(thread, register) => self.register(*thread, *register),
                Term::Memory(location) => {
                    states = self.with_finals(states, *location);
                    continue;
                }
            };
            let Some(only) = only else { return Vec::new() };
            states.iter_mut().for_each(|state| state.push(only));
        }
        states
    }

    /// Each of the states with each value the location may end with.
    fn with_finals(&self, mut states: Vec<State>, location: LocationId) -> Vec<State> {
        let choices = self.finals(location);
        if let [only] = choices[..] {
            states.iter_mut().for_each(|state| state.push(only));
            return states;
        }
        let extend = |state: &State| {
            let grow = |value: &Value| state.iter().copied().chain([*value]).collect::<State>();
            choices.iter().map(grow).collect::<Vec<State>>()
        };
        states.iter().flat_map(extend).collect()
    }
}
