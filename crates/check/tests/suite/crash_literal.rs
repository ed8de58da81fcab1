//! What crashes may leave, by the definition: the executions are those of the brute-force oracle, the relations those of the
//! replay evaluator, and every set of events that have happened is taken with every set of durable persists. It shares nothing with
//! [`fencepost_axiom::crash`] and [`fencepost_check::look::crash`], which is what it is compared with: sets are words of bits,
//! and which read a register has its value from is known from the text of the program.
//!
//! Each rule of the definition can be left out, so that tests can show that it matters.

#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::crash::literal::{self, Pairs};
use fencepost_axiom::engine::brute::Brute;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_check::look::crash::{left_by, terms};
use fencepost_check::look::replayer::Replayer;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::{Options, Session, Test, phrase};
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_syntax::sorted::SortedSet;

use super::crash_programs::{NAMES, Program, Term};

/// By the name of a term, its value; a register without a value is not there.
pub type State = BTreeMap<String, i128>;

/// How many candidates the oracle may look at.
const CANDIDATES: u64 = 30_000;
/// How many sets of an execution are tried.
const MOST_SETS: u64 = 60_000;
/// The same where sets are ordered sets of events.
const MOST_SLOW_SETS: u64 = 2_000;
/// How many executions are gone through, of a program under a model.
const MOST_EXECUTIONS: usize = 400;

/// A part of the definition.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// What comes before a durable persist is durable.
    PersistsBefore,
    /// What a fence of the prefix has waited for is durable.
    DurableAt,
    /// What has happened is closed.
    Prefix,
    /// Only what has happened is durable.
    Happened,
    /// A location holds the value of a last durable write.
    Last,
    /// A register has its value when it has been read.
    Register,
    /// A crash may come in an execution that never ends.
    Stuck,
}

pub const RULES: [Rule; 7] =
    [Rule::PersistsBefore, Rule::DurableAt, Rule::Prefix, Rule::Happened, Rule::Last, Rule::Register, Rule::Stuck];

/// Why there is nothing to compare with.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TooLarge {
    Candidates,
    Executions,
    Sets,
}

/// The executions of a program under a model, with what a crash looks at.
pub struct Executions {
    unfolding: Arc<Unfolding>,
    pub found: Vec<(Ends, Execution, Pairs)>,
}

impl Executions {
    /// Those that end and those that never do, one by one.
    pub fn new(test: &Test, model: &LoadedModel, options: &Options) -> Result<Executions, TooLarge> {
        let session = Session::new(&test.program, model, options);
        let unfolding = Arc::clone(session.unfolding().expect("a small program unfolds"));
        let includes = &model.includes;
        let brute = Brute { cat: model.tree(), includes, variants: model.variants(), candidates: CANDIDATES };
        let replayer = Replayer::new(model, &unfolding).expect("a model that can be replayed");
        let mut found = Vec::new();
        for ends in [Ends::Terminating, Ends::Stuck] {
            let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
            let mut visit = |execution: &Execution| {
                let pairs = replayer.crash(execution).expect("a small execution").expect("a model of crashes");
                found.push((ends, execution.clone(), pairs));
                if found.len() > MOST_EXECUTIONS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match brute.explore(&unfolding, &model.model, &Goal::new(ends), &limits, &mut visit) {
                Exploration::Complete => {}
                Exploration::Stopped => return Err(TooLarge::Executions),
                Exploration::Incomplete(_) => return Err(TooLarge::Candidates),
            }
        }
        drop(replayer);
        Ok(Executions { unfolding, found })
    }

    /// The states that crashes leave, by the definition without one of its rules.
    pub fn states(&self, program: &Program, without: Option<Rule>) -> Result<BTreeSet<State>, TooLarge> {
        let mut states = BTreeSet::new();
        for (ends, execution, pairs) in &self.found {
            if *ends == Ends::Stuck && without == Some(Rule::Stuck) {
                continue;
            }
            let view = View::new(program, &self.unfolding, execution, pairs);
            view.states(without, &mut states)?;
        }
        Ok(states)
    }

    /// The same by the definition that checks compare with when they are small, in [`fencepost_axiom::crash::literal`].
    pub fn states_by_sets(&self, test: &Test) -> Result<BTreeSet<State>, TooLarge> {
        let (terms, mut states) = (terms(&test.program), BTreeSet::new());
        let names: Vec<String> =
            terms.iter().map(|term| phrase::term(&test.program, term, phrase::Notation::Named)).collect();
        for (_, execution, pairs) in &self.found {
            let is_own = |event: &&EventId| self.unfolding.events[event.index()].thread.is_some();
            let own: Vec<EventId> = execution.events.iter().filter(is_own).copied().collect();
            let persists = own.iter().copied().filter(|event| is_persist(&self.unfolding, *event)).collect();
            let crashes = literal::crashes(pairs, &own, &persists, MOST_SLOW_SETS).ok_or(TooLarge::Sets)?;
            for crash in crashes {
                let left = left_by(&self.unfolding, execution, &terms, pairs, &crash).expect("every term has a value");
                let named = |state: &Vec<Option<Value>>| {
                    let known = names.iter().zip(state).filter_map(|(name, value)| Some((name.clone(), (*value)?.0)));
                    known.collect::<State>()
                };
                states.extend(left.iter().map(named));
            }
        }
        Ok(states)
    }
}

fn is_persist(unfolding: &Unfolding, event: EventId) -> bool {
    let event = &unfolding.events[event.index()];
    event.thread.is_some() && event.has(Tag::Write) && event.has(Tag::Persistent)
}

/// A set of events of an execution.
type Bits = u64;

/// One execution. Events are numbered without the initial writes, which have happened before everything.
struct View {
    /// By event: the events that must have happened with it.
    needs: Vec<Bits>,
    /// By persist: those that are durable with it.
    before: Vec<Bits>,
    /// By event: the persists that are durable when it has happened.
    waits_for: Vec<Bits>,
    persists: Bits,
    terms: Vec<(String, Told)>,
}

/// How a term gets its value.
enum Told {
    /// The persists of a location: each with its value, and the later ones.
    Memory { initial: i128, persists: Vec<(usize, i128, Bits)> },
    /// The read of a register, if the thread gets there, and what it returns.
    Register { read: Option<(usize, i128)> },
}

impl View {
    fn new(program: &Program, unfolding: &Unfolding, execution: &Execution, pairs: &Pairs) -> View {
        let is_own = |event: &&EventId| unfolding.events[event.index()].thread.is_some();
        let own: Vec<EventId> = execution.events.iter().filter(is_own).copied().collect();
        assert!(own.len() <= 64, "a small program has few events");
        let place = |event: EventId| own.iter().position(|other| *other == event);
        let value = |event: EventId| {
            let at = execution.events.iter().position(|other| *other == event);
            at.and_then(|at| execution.values[at]).expect("an access has a value").0
        };
        // By the second of each pair, the first ones.
        let earlier = |pairs: &SortedSet<(EventId, EventId)>| {
            let mut by_second = vec![0; own.len()];
            for (first, second) in pairs {
                if let (Some(first), Some(second)) = (place(*first), place(*second)) {
                    by_second[second] |= 1 << first;
                }
            }
            by_second
        };
        let memory = |at: usize| {
            let is_here = |event: &EventId| match unfolding.events[event.index()].kind {
                EventKind::Write { location, .. } => test_name(unfolding, location.index()) == NAMES[at],
                _ => false,
            };
            let later = |event: EventId| {
                let pairs = pairs.co.iter().filter(|(first, _)| *first == event);
                pairs.filter_map(|(_, second)| place(*second)).fold(0, |bits, later| bits | 1 << later)
            };
            let writes = own.iter().copied().filter(is_here);
            let persists = writes.map(|event| (place(event).unwrap_or(0), value(event), later(event))).collect();
            Told::Memory { initial: i128::from(program.initial[at]), persists }
        };
        let register = |thread: usize, number: usize| {
            let mut reading = program.threads[thread].steps.iter().filter(|step| step.operation.reads().is_some());
            let turn = reading.position(|step| step.number == number).expect("a step that reads");
            let trace = &unfolding.traces[execution.traces[thread].index()];
            let is_read = |event: &&EventId| unfolding.events[event.index()].has(Tag::Read);
            let read = trace.events.iter().filter(is_read).nth(turn);
            Told::Register { read: read.map(|event| (place(*event).unwrap_or(0), value(*event))) }
        };
        let told = |term: Term| match term {
            Term::Memory(at) => memory(at),
            Term::Register(thread, number) => register(thread, number),
        };
        let persists = own.iter().enumerate().filter(|(_, event)| is_persist(unfolding, **event));
        View {
            needs: earlier(&pairs.prefix),
            before: earlier(&pairs.persists),
            waits_for: earlier(&pairs.durable),
            persists: persists.fold(0, |bits, (at, _)| bits | 1 << at),
            terms: program.terms().into_iter().map(|term| (term.name(), told(term))).collect(),
        }
    }

    fn states(&self, without: Option<Rule>, states: &mut BTreeSet<State>) -> Result<(), TooLarge> {
        let is_closed = |set: Bits, needs: &[Bits]| {
            let mut members = (0..self.needs.len()).filter(|at| set >> at & 1 != 0);
            members.all(|at| needs[at] & !set == 0)
        };
        // Crashes that differ in nothing that is told.
        let (mut left, mut seen, read) = (MOST_SETS, BTreeSet::new(), self.read());
        for happened in self.prefixes(without)? {
            let possible = if without == Some(Rule::Happened) { self.persists } else { self.persists & happened };
            let mut members = (0..self.needs.len()).filter(|at| happened >> at & 1 != 0);
            let obliged = members.try_fold(0, |bits, at| Some(bits | self.waits_for[at])).unwrap_or(0);
            let mut durable = possible;
            loop {
                left = left.checked_sub(1).ok_or(TooLarge::Sets)?;
                let is_ordered = without == Some(Rule::PersistsBefore) || is_closed(durable, &self.before);
                let is_kept = without == Some(Rule::DurableAt) || obliged & !durable == 0;
                if is_ordered && is_kept && seen.insert((durable, happened & read)) {
                    self.add(happened, durable, without, states);
                }
                if durable == 0 {
                    break;
                }
                // The next smaller subset.
                durable = (durable - 1) & possible;
            }
        }
        Ok(())
    }

    /// The reads that registers have their values from.
    fn read(&self) -> Bits {
        self.terms.iter().fold(0, |bits, (_, told)| match told {
            Told::Register { read: Some((at, _)) } => bits | 1 << at,
            _ => bits,
        })
    }

    /// Every set of events that may have happened, by growing smaller ones.
    fn prefixes(&self, without: Option<Rule>) -> Result<BTreeSet<Bits>, TooLarge> {
        let mut found = BTreeSet::from([0]);
        let mut waiting: Vec<Bits> = vec![0];
        while let Some(prefix) = waiting.pop() {
            for event in 0..self.needs.len() {
                let mut grown = prefix | 1 << event;
                while without != Some(Rule::Prefix) {
                    let members = (0..self.needs.len()).filter(|at| grown >> at & 1 != 0);
                    let larger = members.fold(grown, |bits, at| bits | self.needs[at]);
                    if larger == grown {
                        break;
                    }
                    grown = larger;
                }
                if found.insert(grown) {
                    waiting.push(grown);
                }
            }
            if found.len() as u64 > MOST_SETS {
                return Err(TooLarge::Sets);
            }
        }
        Ok(found)
    }

    /// The states that one crash leaves: several where a location has several last writes.
    fn add(&self, happened: Bits, durable: Bits, without: Option<Rule>, states: &mut BTreeSet<State>) {
        let mut found = vec![State::new()];
        for (name, told) in &self.terms {
            let values: Vec<Option<i128>> = match told {
                Told::Memory { initial, persists } => {
                    let is_durable = |(at, ..): &&(usize, i128, Bits)| durable >> at & 1 != 0;
                    let is_last =
                        |(_, _, later): &&(usize, i128, Bits)| without == Some(Rule::Last) || later & durable == 0;
                    let last = persists.iter().filter(is_durable).filter(is_last).map(|(_, value, _)| Some(*value));
                    let last: Vec<Option<i128>> = last.collect();
                    if last.is_empty() { vec![Some(*initial)] } else { last }
                }
                Told::Register { read: Some((at, value)) } => {
                    let has_happened = happened >> at & 1 != 0 || without == Some(Rule::Register);
                    vec![has_happened.then_some(*value)]
                }
                Told::Register { read: None } => vec![None],
            };
            let with = |state: &State, value: &Option<i128>| {
                let mut state = state.clone();
                state.extend(value.map(|value| (name.clone(), value)));
                state
            };
            found = found
                .iter()
                .flat_map(|state| values.iter().map(|value| with(state, value)).collect::<Vec<_>>())
                .collect();
        }
        states.extend(found);
    }
}

fn test_name(unfolding: &Unfolding, location: usize) -> &str {
    &unfolding.locations[location].name
}
