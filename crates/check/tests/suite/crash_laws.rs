//! What must hold of the crash states of every program, whatever the model: stronger programs leave nothing more, nothing may
//! have happened yet, everything may have happened and be durable, and a thread that waits leaves what one leaves that gives up.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeSet;

use fencepost_check::check;

use super::crash_compare::{Subject, images, loaded, options, reported, state};
use super::crash_literal::State;
use super::crash_programs::{Operation, Order, Program, SCOPES, Step, Term};
use super::crash_shrink::shrink;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Law {
    /// An `ofence` or a `dfence` anywhere adds no state.
    Fence,
    /// A wider scope of a `prel` and of a `pacq` of the same location adds no state.
    Scope,
    /// Before anything has happened, memory is as it was and no register has a value.
    Start,
    /// When everything has happened and is durable, memory and registers are as at the end of a run.
    End,
    /// A thread that waits has happened as far as one that looks once and gives up.
    Wait,
}

pub const LAWS: [Law; 5] = [Law::Fence, Law::Scope, Law::Start, Law::End, Law::Wait];

/// How often a law said something.
#[derive(Copy, Clone, Default, Debug)]
pub struct Asked {
    pub programs: u64,
    /// Comparisons of two programs, or final states.
    pub compared: u64,
    /// Of those, programs that the change takes states from.
    pub fewer: u64,
}

impl Law {
    /// What breaks the law, in words. Of the changes that it speaks of, one of so many is tried.
    pub fn broken(self, program: &Program, subject: &Subject, one_of: usize, asked: &mut Asked) -> Option<String> {
        let before = reported(&program.text(), subject)?.states;
        asked.programs += 1;
        let some = |changed: Vec<Program>| changed.into_iter().skip(program.fresh() % one_of).step_by(one_of);
        match self {
            Law::Fence => compare(some(with_fences(program)), &before, subject, asked),
            // Where scopes must be equal, a third operation of the old scope is left alone.
            Law::Scope if subject.readings.get("scope-match") == Some("equal") => None,
            Law::Scope => compare(some(with_wider_scopes(program)), &before, subject, asked),
            Law::Start => {
                asked.compared += 1;
                let initial = |term: Term| match term {
                    Term::Memory(place) => Some((term.name(), i128::from(program.initial[place]))),
                    Term::Register(..) => None,
                };
                let start: State = program.terms().into_iter().filter_map(initial).collect();
                (!before.contains(&start)).then(|| "the initial state is not there".to_owned())
            }
            Law::End => {
                let ends = ends(program, subject)?;
                asked.compared += ends.len() as u64;
                let missing = ends.difference(&before).next();
                missing.map(|missing| format!("a run may end in {missing:?}"))
            }
            Law::Wait => {
                // Who exits is not waited for at a barrier.
                let has_barrier = program.operations().any(|operation| operation == Operation::Barrier);
                let tries = trying(program).filter(|_| !has_barrier)?;
                let (waits, tries) = (images(program, subject)?, images(&tries, subject)?);
                asked.compared += 1;
                let (less, more) = (tries.difference(&waits).next(), waits.difference(&tries).next());
                (waits != tries).then(|| format!("only with one try: {less:?}; only with a loop: {more:?}"))
            }
        }
    }

    /// A smallest program that breaks it, with how.
    pub fn shrunk(self, program: &Program, subject: &Subject) -> String {
        let broken = |program: &Program| self.broken(program, subject, 1, &mut Asked::default());
        let small = shrink(program, &|program| broken(program).map(|_| ()));
        format!("{self:?} under {}\n{}{}", subject.words(), small.text(), broken(&small).unwrap_or_default())
    }
}

fn compare(
    changed: impl Iterator<Item = Program>,
    before: &BTreeSet<State>,
    subject: &Subject,
    asked: &mut Asked,
) -> Option<String> {
    for changed in changed {
        let after = reported(&changed.text(), subject)?.states;
        asked.compared += 1;
        asked.fewer += u64::from(after != *before);
        if let Some(more) = after.difference(before).next() {
            return Some(format!("{more:?} is new in\n{}", changed.text()));
        }
    }
    None
}

/// The program with one fence more, at every place.
fn with_fences(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for thread in 0..program.threads.len() {
        for at in 0..=program.threads[thread].steps.len() {
            for operation in [Operation::OrderFence, Operation::DurabilityFence] {
                let mut changed = program.clone();
                changed.threads[thread].steps.insert(at, Step { number: program.fresh(), operation });
                found.push(changed);
            }
        }
    }
    found
}

/// The scope of an operation that synchronises persists, and its location.
fn persist_scope(operation: &mut Operation) -> Option<(usize, &mut super::crash_programs::Scope, bool)> {
    match operation {
        Operation::Store { to, order: Order::Persist(scope), .. } => Some((*to, scope, true)),
        Operation::Load { from, order: Order::Persist(scope) }
        | Operation::Wait { from, order: Order::Persist(scope), .. } => Some((*from, scope, false)),
        _ => None,
    }
}

/// The program with the scopes of one `prel` and of one `pacq` of its location wider.
fn with_wider_scopes(program: &Program) -> Vec<Program> {
    let places: Vec<(usize, usize)> = program
        .threads
        .iter()
        .enumerate()
        .flat_map(|(thread, own)| (0..own.steps.len()).map(move |at| (thread, at)))
        .collect();
    let scope = |(thread, at): (usize, usize)| {
        let mut operation = program.threads[thread].steps[at].operation;
        persist_scope(&mut operation).map(|(place, scope, is_release)| (place, *scope, is_release))
    };
    let mut found = Vec::new();
    for release in &places {
        for acquire in &places {
            let (Some((to, first, true)), Some((from, second, false))) = (scope(*release), scope(*acquire)) else {
                continue;
            };
            if to != from {
                continue;
            }
            for wider in SCOPES.into_iter().filter(|wider| *wider >= first && *wider >= second) {
                let mut changed = program.clone();
                for (thread, at) in [*release, *acquire] {
                    if let Some((_, scope, _)) = persist_scope(&mut changed.threads[thread].steps[at].operation) {
                        *scope = wider;
                    }
                }
                found.push(changed);
            }
        }
    }
    found.retain(|changed| changed != program);
    found
}

/// The states in which runs end, as questions about those show them.
fn ends(program: &Program, subject: &Subject) -> Option<BTreeSet<State>> {
    let mentioned: Vec<String> = program.terms().into_iter().map(|term| format!("{} = 0", term.name())).collect();
    let text = format!("{}exists ({})\n", program.body(), mentioned.join(" \\/ "));
    let report = check(&loaded(&text), subject.model(), &options(subject)).report;
    report.executions.filter(|executions| executions.complete)?;
    Some(report.outcomes.iter().map(|outcome| state(&outcome.values)).collect())
}

/// With every loop replaced by a look, if there is one.
fn trying(program: &Program) -> Option<Program> {
    let mut changed = program.clone();
    for step in changed.threads.iter_mut().flat_map(|thread| &mut thread.steps) {
        if let Operation::Wait { from, value, order } = step.operation {
            step.operation = Operation::Try { from, value, order };
        }
    }
    (changed != *program).then_some(changed)
}
