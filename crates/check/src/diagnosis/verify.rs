//! Checks a changed test for races, under the same model and readings and with a bounded effort that no clock decides,
//! unless the user set a time limit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::lower::lower;
use fencepost_program::program::{Program, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfold::{unfold, unfold_accesses};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::{Litmus, QuestionKind, print};

use crate::accesses;
use crate::models::LoadedModel;
use crate::options::Options;
use crate::outcome::{self, Reader};
use crate::race::{EXIT, Flags, IN_FLIGHT, NO_FENCE, RaceSet};
use crate::report::{Termination, TerminationAnswer};
use crate::search::is_large;
use crate::test::Test;

use super::edit::Edit;

/// Work for one changed test, in the engine's units.
const WORK: u64 = 100_000;
/// Changed tests that are checked for one report.
const MOST: u32 = 96;

/// The flags that are about races.
const FLAGS: &[&str] = &["data-race", "mixed-size-race", EXIT, IN_FLIGHT, NO_FENCE];

/// Two places of the source, in order: what a race is known by.
pub(super) type Places = (u32, u32);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// This race is gone, no other came, and every question has the answer it should.
    Right,
    /// This race is gone and no other came.
    Gone,
    /// Or another came, or the test does not run any more: the change is no cure.
    Stays,
    /// Not decided with the effort that there is.
    Unknown,
}

/// A race that is left: where, and an example.
pub(super) struct Left {
    pub(super) unfolding: Unfolding,
    pub(super) execution: Execution,
    pub(super) pair: (EventId, EventId),
}

/// What was found of a changed test.
#[derive(Clone)]
enum Decided {
    Races(Races),
    /// It cannot be read, or hangs where the test does not.
    Unsound,
    Undecided,
}

/// What a changed test has.
#[derive(Clone)]
struct Races {
    pairs: Vec<Places>,
    /// Some execution breaks a `forall` or reaches what must not be.
    broken: bool,
}

pub(super) struct Verifier<'a> {
    test: &'a Test,
    model: &'a LoadedModel,
    options: &'a Options<'a>,
    flags: &'a Flags,
    /// The races of the test as it is.
    known: Vec<Places>,
    may_hang: bool,
    /// What a changed test has, by its text: several races have one cure.
    done: RefCell<BTreeMap<String, Decided>>,
    left: RefCell<u32>,
    /// The end of the user's time limit.
    deadline: Option<Instant>,
}

pub(super) fn places(unfolding: &Unfolding, pair: (EventId, EventId)) -> Places {
    let start = |id: EventId| unfolding.events.get(id.index()).map_or(0, |event| event.span.start);
    let exits = |id: EventId| unfolding.events.get(id.index()).is_some_and(|event| event.has(Tag::Exit));
    // An exit stands nowhere in the text.
    let start = |id: EventId| if exits(id) { u32::MAX } else { start(id) };
    let (a, b) = (start(pair.0), start(pair.1));
    (a.min(b), a.max(b))
}

/// Whether a final state of the execution answers a question as it should not be answered.
fn breaks(program: &Program, terms: &[Term], unfolding: &Unfolding, execution: &Execution) -> bool {
    let states = Reader::new(unfolding, execution).states(terms);
    let filter = program.filter.as_ref().map(|filter| &filter.node);
    let passes = |state: &&outcome::State| filter.is_none_or(|filter| outcome::holds(filter, terms, state));
    let wrong = |state: &outcome::State| {
        program.questions.iter().any(|question| {
            let holds = outcome::holds(&question.condition, terms, state);
            match question.kind {
                QuestionKind::Forall | QuestionKind::Assert => !holds,
                QuestionKind::NotExists => holds,
                QuestionKind::Exists | QuestionKind::Permit | QuestionKind::Check => false,
            }
        })
    };
    states.iter().filter(passes).any(wrong)
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
        let flags = model.flags();
        let (done, left) = (RefCell::default(), RefCell::new(MOST));
        let deadline = options.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Verifier { test, model, options, flags, known, may_hang, done, left, deadline }
    }

    pub(super) fn check(&self, edits: &[&Edit], pair: (EventId, EventId), unfolding: &Unfolding) -> Found {
        let Some(changed) = Edit::apply_all(edits, &self.test.litmus) else { return Found::Stays };
        let races = match self.races(&changed, unfolding) {
            Decided::Races(races) => races,
            Decided::Unsound => return Found::Stays,
            Decided::Undecided => return Found::Unknown,
        };
        let race = places(unfolding, pair);
        let gone = !races.pairs.contains(&race) && races.pairs.iter().all(|race| self.known.contains(race));
        match (gone, races.broken) {
            (true, false) => Found::Right,
            (true, true) => Found::Gone,
            (false, _) => Found::Stays,
        }
    }

    /// An example of the race in a changed test that still has it.
    pub(super) fn example(&self, changed: &Litmus, race: Places) -> Option<Left> {
        let program = lower(changed).0?;
        let (unfolding, races, _) = self.found(&program).ok()?;
        let mut left = races.races.into_values().filter(|example| places(&unfolding, example.pair) == race);
        let example = left.next()?;
        Some(Left { pair: example.pair, execution: (*example.execution).clone(), unfolding })
    }

    /// The races of a changed test, which is about as large as the test is.
    fn races(&self, changed: &Litmus, unfolding: &Unfolding) -> Decided {
        let text = print(changed);
        if let Some(known) = self.done.borrow().get(&text) {
            return known.clone();
        }
        let mut left = self.left.borrow_mut();
        // Of a large test one takes seconds, and most are more than the work for one.
        let Some(rest) = left.checked_sub(1).filter(|_| !is_large(unfolding)) else { return Decided::Undecided };
        *left = rest;
        let (program, diagnostics) = lower(changed);
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != fencepost_syntax::Severity::Error);
        let program = program.filter(|program| sound && program.unsupported.is_empty());
        let races = program.map_or(Decided::Unsound, |program| self.explored(&program));
        self.done.borrow_mut().insert(text, races.clone());
        races
    }

    fn explored(&self, program: &Program) -> Decided {
        let (unfolding, races, broken) = match self.found(program) {
            Ok(found) => found,
            Err(none) => return none,
        };
        if races.has_more() {
            return Decided::Undecided;
        }
        let found = races.races.iter().filter(|(key, _)| FLAGS.contains(&key.flag.as_str()));
        let pairs = found.map(|(_, example)| places(&unfolding, example.pair)).collect();
        Decided::Races(Races { pairs, broken })
    }

    /// With an example of each race, and whether a question is answered as it should not be.
    fn found(&self, program: &Program) -> Result<(Unfolding, RaceSet, bool), Decided> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Decided::Undecided);
        }
        let undecided = |_| Decided::Undecided;
        let limits = self.model.unfolding(self.options.bound);
        let plain = unfold(program, &limits).map_err(undecided)?;
        let waits = accesses::can_wait(&plain);
        let unfolding = if waits { unfold_accesses(program, &limits).map_err(undecided)? } else { plain };
        let mut races = RaceSet::default();
        let filter = program.filter.as_ref().map(|filter| &filter.node);
        let ending = Goal { filter, ..Goal::new(Ends::Terminating) };
        let mut broken = false;
        let judged = Some((program, &mut broken));
        let ended = self.explore(&unfolding, &ending, &mut races, judged).ok_or(Decided::Undecided)?;
        // Of no execution nothing is said.
        if ended == 0 {
            return Err(Decided::Undecided);
        }
        if filter.is_none() {
            let stuck = self.explore(&unfolding, &Goal::new(Ends::Stuck), &mut races, None);
            if stuck.ok_or(Decided::Undecided)? > 0 && !self.may_hang {
                return Err(Decided::Unsound);
            }
        }
        Ok((unfolding, races, broken))
    }

    /// How many executions there are; None if they are too many.
    fn explore(
        &self,
        unfolding: &Unfolding,
        goal: &Goal<'_>,
        races: &mut RaceSet,
        mut judged: Option<(&Program, &mut bool)>,
    ) -> Option<u64> {
        let terms = judged.as_ref().map(|(program, _)| outcome::terms(program)).unwrap_or_default();
        let mut evaluator = self.flags.evaluator();
        let mut count = 0;
        let mut visit = |execution: &Execution| {
            evaluator.add(unfolding, execution, races);
            count += 1;
            if let Some((program, broken)) = &mut judged {
                **broken = **broken || breaks(program, &terms, unfolding, execution);
            }
            ControlFlow::Continue(())
        };
        let limits = Limits {
            deadline: self.deadline,
            memory: self.options.memory_limit,
            cancelled: self.options.cancelled,
            work: Some(WORK),
        };
        let exploration = Enumerate.explore(unfolding, &self.model.model, goal, &limits, &mut visit);
        (exploration == Exploration::Complete).then_some(count)
    }
}
