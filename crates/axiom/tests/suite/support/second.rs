//! A second way from a program to its outcomes. The engines, the oracle and the replay of witnesses all start from one
//! unfolding, so that a mistake of it is seen by none of them; this shares nothing with it.
//!
//! Values are guessed: each thread is run by itself, one instruction at a time, with numbers in its registers, and what a
//! read returns is any value that some write may have put there. A run is then a list of events with values. For each choice
//! of one run per thread whose reads can all be answered, an engine is asked for reads-from and the orders of the model,
//! with nothing left to compute. Loops are walked round, each time with new events; a thread spins where it is back in a
//! state of all its registers without having written.
//!
//! Dependencies are found in two ways ([`Means`]): by what each register was computed from, and by running again with
//! another value of the read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::model::Model;
use fencepost_axiom::replay::final_states;
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::program::Program;
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{
    Event, EventKind, FinalState, LocationInfo, ThreadUnfolding, Trace, TraceEnd, Unfolding,
};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::Span;
use fencepost_syntax::few::Few;

use super::second_run::{Access, Answers, End, Happened, Run, run};

/// More runs of one thread, or choices of runs, than this are not looked at.
const MOST_RUNS: usize = 600;
const MOST_CHOICES: usize = 3_000;
/// Values of one location.
const MOST_VALUES: usize = 12;
/// Tried besides those that occur.
const STRANGE: [i128; 3] = [5, 77, -3];

/// How dependencies are found.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Means {
    /// What a register was computed from, whatever it is.
    Taint,
    /// What is no longer done, or otherwise, if the read returns another value.
    Rerun,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Outcomes {
    pub(crate) terminating: BTreeSet<FinalState>,
    pub(crate) stuck: BTreeSet<FinalState>,
    /// Whether a run was not followed to its end: there may be more.
    pub(crate) is_cut: bool,
}

type Values = BTreeMap<LocationId, BTreeSet<i128>>;

/// None if there is too much to guess.
pub(crate) fn outcomes(program: &Program, model: &Model, means: Means) -> Option<Outcomes> {
    let (values, runs) = all_runs(program)?;
    let mut found = Outcomes::default();
    let mut choices = 0;
    let mut chosen: Vec<&Run> = Vec::new();
    let mut all: Vec<Vec<Run>> = runs;
    for (thread, runs) in all.iter_mut().enumerate() {
        found.is_cut |= runs.iter().any(|run| run.end == End::Cut);
        runs.retain(|run| run.end != End::Cut);
        if means == Means::Rerun {
            for run in runs.iter_mut() {
                rerun(program, thread, &values, run);
            }
        }
    }
    let _ = choose(program, &all, &mut chosen, &mut |chosen| {
        choices += 1;
        if choices > MOST_CHOICES {
            return ControlFlow::Break(());
        }
        let unfolding = unfolding(program, chosen);
        let is_stuck = chosen.iter().any(|run| matches!(run.end, End::Spin(_)));
        let ends = if is_stuck { Ends::Stuck } else { Ends::Terminating };
        let set = if is_stuck { &mut found.stuck } else { &mut found.terminating };
        let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
        let end = Enumerate.explore(&unfolding, model, &Goal::new(ends), &limits, &mut |execution| {
            set.extend(final_states(&unfolding, execution));
            ControlFlow::Continue(())
        });
        assert_eq!(end, Exploration::Complete, "everything has a value");
        ControlFlow::Continue(())
    });
    (choices <= MOST_CHOICES).then_some(found)
}

/// All runs of all threads, with what memory may hold. A value is passed on at most once by each write of an execution.
fn all_runs(program: &Program) -> Option<(Values, Vec<Vec<Run>>)> {
    let initial = |(index, location): (usize, &fencepost_program::program::Location)| {
        (LocationId::new(index), BTreeSet::from([location.ty.wrap(location.initial).0]))
    };
    let mut values: Values = program.locations.iter().enumerate().map(initial).collect();
    let mut rounds = 0;
    loop {
        let threads = 0..program.threads.len();
        let runs: Option<Vec<Vec<Run>>> = threads.map(|thread| runs_of(program, thread, &values)).collect();
        let runs = runs?;
        let before = values.clone();
        for access in runs.iter().flatten().flat_map(|run| &run.events).filter_map(Happened::write) {
            values.entry(access.location).or_default().insert(access.value);
        }
        if values.values().any(|values| values.len() > MOST_VALUES) {
            return None;
        }
        let writes = |run: &Run| run.events.iter().filter(|event| event.write().is_some()).count();
        let most: usize = runs.iter().map(|runs| runs.iter().map(writes).max().unwrap_or(0)).sum();
        rounds += 1;
        if values == before || rounds > most + 1 {
            return Some((values, runs));
        }
    }
}

fn runs_of(program: &Program, thread: usize, values: &Values) -> Option<Vec<Run>> {
    let mut found = Vec::new();
    let mut work = vec![Vec::new()];
    while let Some(answers) = work.pop() {
        for run in run(program, thread, &mut Answers::Given(&answers)) {
            match run.end {
                End::Asks(location) => {
                    let more = values.get(&location).into_iter().flatten();
                    work.extend(more.map(|value| answers.iter().copied().chain([*value]).collect::<Vec<i128>>()));
                }
                _ => found.push(run),
            }
        }
        if found.len() + work.len() > MOST_RUNS {
            return None;
        }
    }
    Some(found)
}

/// One run per thread, of those whose reads can be answered by what the others write.
fn choose<'r>(
    program: &Program,
    all: &'r [Vec<Run>],
    chosen: &mut Vec<&'r Run>,
    visit: &mut dyn FnMut(&[&Run]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if let Some(runs) = all.get(chosen.len()) {
        for run in runs {
            chosen.push(run);
            let end = choose(program, all, chosen, visit);
            chosen.pop();
            end?;
        }
        return ControlFlow::Continue(());
    }
    let events = || chosen.iter().flat_map(|run| &run.events);
    let is_there = |read: &Access| {
        let location = &program.locations[read.location.index()];
        location.ty.wrap(location.initial).0 == read.value
            || events()
                .filter_map(Happened::write)
                .any(|write| (write.location, write.value) == (read.location, read.value))
    };
    if events().filter_map(Happened::read).all(is_there) { visit(chosen) } else { ControlFlow::Continue(()) }
}

/// Replaces the dependencies of a run by those that running again shows: an event depends on a read if with another value
/// of it, all others being the same, it does not happen any more, as often as before.
fn rerun(program: &Program, thread: usize, values: &Values, original: &mut Run) {
    let count = original.events.len();
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    for (at, read) in original.events.iter().enumerate().filter_map(|(at, event)| Some((at, event.read()?))) {
        let others = values[&read.location].iter().copied().chain(STRANGE);
        let ty = program.locations[read.location.index()].ty;
        for other in others.map(|value| ty.wrap(Value(value)).0).filter(|value| *value != read.value) {
            let mut answers = original.answers.clone();
            answers.insert(original.events[at].place, other);
            let fallback = |location: LocationId| values[&location].iter().next().copied().unwrap_or(0);
            let again = run(program, thread, &mut Answers::By(&answers, &fallback));
            // What was not followed to its end shows nothing.
            let Some(again) = again.into_iter().last().filter(|run| run.end != End::Cut) else { continue };
            for (event, reads) in found.iter_mut().enumerate().skip(at + 1) {
                if nth(original, event) > times(&again, &original.events[event]) {
                    reads.insert(at);
                }
            }
        }
    }
    for (event, reads) in original.events.iter_mut().zip(found) {
        event.dependencies = reads;
    }
}

/// Which one of those that do the same it is.
fn nth(run: &Run, event: usize) -> usize {
    run.events[..=event].iter().filter(|other| other.does_as(&run.events[event])).count()
}

fn times(run: &Run, event: &Happened) -> usize {
    run.events.iter().filter(|other| other.does_as(event)).count()
}

/// The chosen runs as events with constant values.
fn unfolding(program: &Program, chosen: &[&Run]) -> Unfolding {
    let mut made = Unfolding { barrier_rule: program.barrier_rule, kernel_order: Vec::new(), ..Unfolding::default() };
    for (index, location) in program.locations.iter().enumerate() {
        let id = LocationId::new(index);
        let of = |address: &fencepost_program::program::Address| address.location == id;
        let address = AddressId::new(program.addresses.iter().position(of).expect("an address"));
        let generic = program.addresses[address.index()].generic;
        let value = Expression::Constant(location.ty.wrap(location.initial));
        made.events.push(Event {
            kind: EventKind::Write { address, generic, location: id, value, ty: location.ty },
            tags: Tags::from_iter([Tag::Write, Tag::Init]),
            ..Event::default()
        });
        made.locations.push(LocationInfo {
            name: location.name.clone(),
            initial: location.initial,
            ty: location.ty,
            init: EventId::new(index),
            space: location.space,
            owner: location.owner,
            thread: location.thread,
            role: location.role,
            is_untouched: false,
        });
    }
    for (index, run) in chosen.iter().enumerate() {
        let thread = &program.threads[index];
        made.threads.push(ThreadUnfolding {
            name: thread.name.clone(),
            place: thread.place,
            kernel: None,
            traces: Few::filled(TraceId::new(index), 1),
        });
        add(program, &mut made, ThreadId::new(index), run);
    }
    made
}

fn add(program: &Program, made: &mut Unfolding, thread: ThreadId, run: &Run) {
    let first = made.events.len();
    let id = |event: usize| EventId::new(first + event);
    let mut constraints = Vec::new();
    for (at, event) in run.events.iter().enumerate() {
        let kind = |access: &Access| {
            let (location, address) = (access.location, access.address);
            (address, program.addresses[address.index()].generic, location, program.locations[location.index()].ty)
        };
        let kind = match (event.read(), event.write()) {
            (Some(access), _) => {
                let value = Expression::Constant(Value(access.value));
                let read = Expression::Read(id(at));
                let equal = Expression::Binary(BinaryOperator::Equal, Type::UNTYPED, Box::new(read), Box::new(value));
                constraints.push(equal);
                let (address, generic, location, ty) = kind(access);
                EventKind::Read { address, generic, location, ty }
            }
            (None, Some(access)) => {
                let (address, generic, location, ty) = kind(access);
                EventKind::Write { address, generic, location, value: Expression::constant(access.value), ty }
            }
            (None, None) => EventKind::Fence,
        };
        made.events.push(Event {
            thread: Some(thread),
            kind,
            tags: event.tags,
            scope: event.scope,
            parent: at.checked_sub(1).map(id),
            rmw_partner: event.partner.map(id),
            data_deps: event.dependencies.iter().map(|read| id(*read)).collect(),
            cover: event.cover.clone(),
            ..Event::default()
        });
    }
    let end = match &run.end {
        End::Spin(reads) => {
            TraceEnd::Spin { reads: reads.iter().map(|read| id(*read)).collect(), span: Span::default() }
        }
        _ => TraceEnd::Exit,
    };
    made.traces.push(Trace {
        thread,
        events: (0..run.events.len()).map(id).collect(),
        constraints,
        assumptions: Vec::new(),
        end,
        registers: run.registers.iter().map(|value| Expression::constant(*value)).collect(),
    });
}
