//! Checks a changed test for races, under the same model and readings and with a bounded effort that no clock decides.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::EnumerateUpTo;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::lower::lower;
use fencepost_program::program::Program;
use fencepost_program::unfold::{UnfoldOptions, unfold, unfold_accesses};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::{Litmus, print};

use crate::accesses;
use crate::models::LoadedModel;
use crate::options::Options;
use crate::race::{Flags, RaceSet};
use crate::report::{Termination, TerminationAnswer};
use crate::test::Test;

use super::edit::Edit;

/// Work for one changed test, in the engine's units.
const WORK: u64 = 100_000;
/// Changed tests that are checked for one report.
const MOST: u32 = 96;

/// Two places of the source, in order: what a race is known by.
pub(super) type Places = (u32, u32);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// This race is gone and no other came.
    Gone,
    Stays,
    Unknown,
}

pub(super) struct Verifier<'a> {
    test: &'a Test,
    model: &'a LoadedModel,
    options: &'a Options<'a>,
    flags: Flags,
    /// The races of the test as it is.
    known: Vec<Places>,
    may_hang: bool,
    /// What a changed test has, by its text: several races have one cure.
    done: RefCell<BTreeMap<String, Option<Vec<Places>>>>,
    left: RefCell<u32>,
}

pub(super) fn places(unfolding: &Unfolding, pair: (EventId, EventId)) -> Places {
    let start = |id: EventId| unfolding.events.get(id.index()).map_or(0, |event| event.span.start);
    let (a, b) = (start(pair.0), start(pair.1));
    (a.min(b), a.max(b))
}

impl<'a> Verifier<'a> {
    pub(super) fn new(
        test: &'a Test,
        model: &'a LoadedModel,
        options: &'a Options<'a>,
        known: Vec<Places>,
        termination: &Termination,
    ) -> Verifier<'a> {
        let may_hang = termination.answer != TerminationAnswer::Terminates;
        let flags = Flags::new(&model.model);
        let (done, left) = (RefCell::default(), RefCell::new(MOST));
        Verifier { test, model, options, flags, known, may_hang, done, left }
    }

    pub(super) fn check(&self, edits: &[&Edit], pair: (EventId, EventId), unfolding: &Unfolding) -> Found {
        let Some(changed) = Edit::apply_all(edits, &self.test.litmus) else { return Found::Unknown };
        let Some(races) = self.races(&changed) else { return Found::Unknown };
        let race = places(unfolding, pair);
        let gone = !races.contains(&race) && races.iter().all(|race| self.known.contains(race));
        if gone { Found::Gone } else { Found::Stays }
    }

    /// The races of a changed test; None if they were not decided, or if it cannot run.
    fn races(&self, changed: &Litmus) -> Option<Vec<Places>> {
        let text = print(changed);
        if let Some(known) = self.done.borrow().get(&text) {
            return known.clone();
        }
        let mut left = self.left.borrow_mut();
        *left = left.checked_sub(1)?;
        let (program, diagnostics) = lower(changed);
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != fencepost_syntax::Severity::Error);
        let program = program.filter(|program| sound && program.unsupported.is_empty());
        let races = program.and_then(|program| self.explored(&program));
        self.done.borrow_mut().insert(text, races.clone());
        races
    }

    fn explored(&self, program: &Program) -> Option<Vec<Places>> {
        let limits = UnfoldOptions { bound: self.options.bound, ..UnfoldOptions::default() };
        let plain = unfold(program, &limits).ok()?;
        let unfolding = if accesses::can_wait(&plain) { unfold_accesses(program, &limits).ok()? } else { plain };
        let mut races = RaceSet::default();
        let filter = program.filter.as_ref().map(|filter| &filter.node);
        let ending = Goal { filter, ..Goal::new(Ends::Terminating) };
        if self.explore(&unfolding, &ending, &mut races)? == 0 {
            return None;
        }
        if filter.is_none() {
            let stuck = self.explore(&unfolding, &Goal::new(Ends::Stuck), &mut races)?;
            if stuck > 0 && !self.may_hang {
                return None;
            }
        }
        Some(races.races.values().map(|example| places(&unfolding, example.pair)).collect())
    }

    /// How many executions there are; None if they are too many.
    fn explore(&self, unfolding: &Unfolding, goal: &Goal<'_>, races: &mut RaceSet) -> Option<u64> {
        let mut evaluators = self.flags.evaluators();
        let mut count = 0;
        let mut visit = |execution: &Execution| {
            evaluators.iter_mut().for_each(|evaluator| evaluator.add(unfolding, execution, races));
            count += 1;
            ControlFlow::Continue(())
        };
        let limits = Limits { deadline: None, memory: self.options.memory_limit, cancelled: self.options.cancelled };
        let engine = EnumerateUpTo { work: WORK };
        let exploration = engine.explore(unfolding, &self.model.model, goal, &limits, &mut visit);
        (exploration == Exploration::Complete).then_some(count)
    }
}
