//! The final states of an execution, seen through the terms somebody asked about.
//!
//! Written apart from the engines on purpose: a witness is judged with this code, not with the code that found it.
//! The final value of a location is that of any co-maximal write, so one execution may have several final states.

use fencepost_axiom::execution::Execution;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Program, Register, Term};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::sorted::SharedSort as _;

use crate::test::Test;

/// The values of some terms, in their order.
pub type State = Vec<Value>;

/// Longer outcomes are not read.
const MOST_LISTED: usize = 24;

/// The terms the histogram shows: those of the questions, the filter and `locations`, ascending.
pub fn terms(program: &Program) -> Vec<Term> {
    let mut terms: Vec<Term> = program.shown.clone();
    program.questions.iter().for_each(|question| question.condition.add_terms(&mut terms));
    program.filter.iter().for_each(|filter| filter.node.add_terms(&mut terms));
    terms.retain(|term| !matches!(term, Term::Constant(_)));
    terms.shared_sort();
    terms.dedup();
    terms
}

/// The same without those that rest on a value without a model.
pub fn modelled(program: &Program, unfolding: &Unfolding) -> Vec<Term> {
    let mut terms = terms(program);
    if let Some(unmodelled) = &unfolding.unmodelled {
        terms.retain(|term| !unmodelled.terms.contains(term));
    }
    terms
}

/// What of a final state counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Observed {
    /// Every register and every location.
    #[default]
    Everything,
    /// Every register: what a program can see.
    Registers,
    /// What the test's condition, filter and `locations` mention; everything, if they mention nothing.
    Test,
    /// What a crash may leave: persistent memory.
    Crash,
}

/// What is observed. A test that mentions nothing is not equal under all models for that.
pub fn observed_terms(program: &Program, observed: Observed) -> Vec<Term> {
    if observed == Observed::Crash {
        return program.persistent().map(Term::Memory).collect();
    }
    let mentioned = terms(program);
    if observed == Observed::Test && !mentioned.is_empty() {
        return mentioned;
    }
    let registers = program.threads.iter().enumerate().flat_map(|(thread, it)| {
        // Names with # are of values between the parts of one instruction.
        let is_named = |(_, register): &(usize, &Register)| !register.name.starts_with("#");
        let one = move |(register, _)| Term::Register(ThreadId::new(thread), RegisterId::new(register));
        it.registers.iter().enumerate().filter(is_named).map(one)
    });
    let locations = (0..program.locations.len()).map(|location| Term::Memory(LocationId::new(location)));
    let mut terms: Vec<Term> = registers.collect();
    if observed != Observed::Registers {
        terms.extend(locations);
    }
    // As reports have them.
    terms.shared_sort();
    terms
}

/// A test that mentions nothing shows its registers, where they are few enough to be read. None for the others.
pub fn showing_registers(test: &Test) -> Option<Test> {
    let program = &test.program;
    if !program.questions.is_empty() || !terms(program).is_empty() {
        return None;
    }
    let shown = observed_terms(program, Observed::Registers);
    let is_readable = (1..=MOST_LISTED).contains(&shown.len());
    is_readable.then(|| test.with_program(Program { shown, ..program.clone() }))
}

/// Judges a condition on a state; a term the state does not have makes it false, which cannot happen for terms of
/// [`terms`].
pub fn holds(condition: &Condition, terms: &[Term], state: &[Value]) -> bool {
    let mut last = [0; 2];
    let mut value = |term: &Term| {
        // Conditions mostly name the terms in their order, or one of them with each of the others in their order.
        let likely = [last[1] + 1, last[0], last[0] + 1].into_iter().find(|at| terms.get(*at) == Some(term));
        let at = likely.or_else(|| terms.binary_search(term).ok())?;
        last = [last[1], at];
        state.get(at).copied()
    };
    condition.evaluate(&mut value).unwrap_or(false)
}

/// Whether a final state of an execution satisfies the condition.
pub fn satisfies(unfolding: &Unfolding, execution: &Execution, condition: &Condition) -> bool {
    let terms = condition.terms();
    let states = Reader::new(unfolding, execution).states(&terms);
    states.iter().any(|state| holds(condition, &terms, state))
}

/// Reads an execution's values.
pub struct Reader<'a> {
    unfolding: &'a Unfolding,
    execution: &'a Execution,
}

impl<'a> Reader<'a> {
    pub fn new(unfolding: &'a Unfolding, execution: &'a Execution) -> Reader<'a> {
        Reader { unfolding, execution }
    }

    pub fn value(&self, event: EventId) -> Option<Value> {
        self.execution.values.get(self.place(event)?).copied().flatten()
    }

    /// Where an event stands among those of the execution: at its own number, where no other trace lies before it.
    fn place(&self, event: EventId) -> Option<usize> {
        let events = &self.execution.events;
        match events.get(event.index()) {
            Some(own) if *own == event => Some(event.index()),
            _ => events.binary_search(&event).ok(),
        }
    }

    pub fn evaluate(&self, expression: &Expression) -> Option<Value> {
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

    /// What a register is at the end.
    fn expression(&self, thread: ThreadId, register: RegisterId) -> Option<&'a Expression> {
        let trace = self.unfolding.traces.get(self.execution.traces.get(thread.index())?.index())?;
        trace.registers.get(register.index())
    }

    fn register(&self, thread: ThreadId, register: RegisterId) -> Option<Value> {
        self.evaluate(self.expression(thread, register)?)
    }

    /// Every final state, projected to the terms, ascending and each once. Empty if a term has no value, which is a
    /// defect of the execution.
    pub fn states(&self, terms: &[Term]) -> Vec<State> {
        let mut states = Vec::new();
        self.each_state(terms, &mut Scratch::default(), |state| states.push(state.to_vec()));
        states
    }

    /// The same, one after the other, in buffers that serve the next execution too: thousands are read.
    pub fn each_state(&self, terms: &[Term], scratch: &mut Scratch, mut visit: impl FnMut(&[Value])) {
        scratch.find(terms, self);
        let Scratch { overwritten, finals, choices, state, places, .. } = scratch;
        if terms.iter().any(|term| matches!(term, Term::Memory(_))) {
            self.finals(overwritten, finals);
        }
        choices.clear();
        state.clear();
        for (term, place) in terms.iter().zip(places) {
            let only = match (term, place) {
                (Term::Constant(value), _) => Some(*value),
                (Term::Register(..), Some(place)) => self.execution.values.get(*place).copied().flatten(),
                (Term::Register(thread, register), None) => self.register(*thread, *register),
                (Term::Memory(location), _) => {
                    let from = finals.partition_point(|(own, _)| own < location);
                    let own = finals[from..].iter().take_while(|(own, _)| own == location).count();
                    if own > 1 {
                        choices.push(Choice { term: state.len(), at: from, from, to: from + own });
                    }
                    let written = finals.get(from).filter(|_| own > 0).map(|(_, value)| *value);
                    let untouched = || self.unfolding.locations.get(location.index()).filter(|info| info.is_untouched);
                    written.or_else(|| untouched().map(|info| info.initial))
                }
            };
            let Some(only) = only else { return };
            state.push(only);
        }
        loop {
            visit(state);
            // The next state: the last choice that has another value takes it, and those after it start again.
            let Some(last) = choices.iter().rposition(|choice| choice.at + 1 < choice.to) else { return };
            choices[last].at += 1;
            choices[last + 1..].iter_mut().for_each(|choice| choice.at = choice.from);
            for choice in &choices[last..] {
                state[choice.term] = finals[choice.at].1;
            }
        }
    }

    /// The values each location may end with: those of its writes that no other write of it comes after, ascending, each
    /// once.
    fn finals(&self, overwritten: &mut Vec<bool>, finals: &mut Vec<(LocationId, Value)>) {
        let location = |event: EventId| match self.unfolding.events.get(event.index())?.kind {
            EventKind::Write { location, .. } => Some(location),
            _ => None,
        };
        overwritten.clear();
        overwritten.resize(self.execution.events.len(), false);
        for &(before, after) in &self.execution.co {
            if let Some(at) = self.place(before)
                && !overwritten[at]
            {
                overwritten[at] = location(before) == location(after);
            }
        }
        finals.clear();
        let events = self.execution.events.iter().zip(&self.execution.values).zip(overwritten);
        for ((&event, value), _) in events.filter(|(_, overwritten)| !**overwritten) {
            if let (Some(location), Some(value)) = (location(event), *value) {
                finals.push((location, value));
            }
        }
        finals.shared_sort();
        finals.dedup();
    }
}

/// What reading the final states of one execution needs.
#[derive(Default)]
pub struct Scratch {
    /// By event of the execution: a write of its location comes after it.
    overwritten: Vec<bool>,
    finals: Vec<(LocationId, Value)>,
    choices: Vec<Choice>,
    state: State,
    /// By term: where its value stands in every execution of these traces, if it is what one event read.
    places: Vec<Option<usize>>,
    traces: Vec<TraceId>,
}

impl Scratch {
    /// Where the terms stand, if the last execution was of other traces. The events of an execution are those of its traces.
    fn find(&mut self, terms: &[Term], reader: &Reader<'_>) {
        if self.places.len() == terms.len() && self.traces == reader.execution.traces {
            return;
        }
        let place = |term: &Term| match term {
            Term::Register(thread, register) => match reader.expression(*thread, *register)? {
                Expression::Read(event) => reader.place(*event),
                _ => None,
            },
            Term::Constant(_) | Term::Memory(_) => None,
        };
        self.places.clear();
        self.places.extend(terms.iter().map(place));
        self.traces.clone_from(&reader.execution.traces);
    }
}

/// A term with several values, by their places among the final ones: from the first, to before the last, at the present one.
struct Choice {
    term: usize,
    at: usize,
    from: usize,
    to: usize,
}
