//! Checks a changed test for races, under the same model and readings and with a bounded effort that no clock decides,
//! unless the user set a time limit.

pub(crate) mod observe;
pub(crate) mod rounds;

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Raised};
use fencepost_axiom::execution::Execution;
use fencepost_check::judge::question::looked_for;
use fencepost_check::look::failing_waits::{self, Part};
use fencepost_check::look::race::{Flags, RaceKey, RaceSet};
use fencepost_check::look::search::{Searcher, is_large, longest};
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::session::Session;
use fencepost_check::test::Test;
use fencepost_program::EventId;
use fencepost_program::lower::lower;
use fencepost_program::program::{LocationRole, Program};
use fencepost_program::unfolding::Unfolding;
use fencepost_report::{Count, ProtocolAnswer, Report, TerminationAnswer};
use fencepost_syntax::litmus::{Litmus, QuestionKind, print};
use fencepost_syntax::sorted::SortedMap;

use crate::edit::Edit;
use crate::verify::observe::{End, Manners, Places, Until, Visit, places};

/// Work for one changed test, in the engine's units.
const WORK: u64 = 100_000;
/// Changed tests that are checked for one report.
const MOST: u32 = 400;
/// Guesses of one forgotten or mistaken line that are checked for one report, and the events of an execution above which none
/// is.
const GUESSES: u32 = 160;
const LARGEST: usize = 240;
/// How many times as many for an outcome, about which there is no other way to know anything.
const OF_OUTCOME: u32 = 4;
/// Executions that are looked at for guesses.
const GUESSED: u64 = 24_000;
/// Executions of changed tests, of all together, behind which no more guesses are made.
const TIRED: u64 = 2_000;
/// And behind which nothing more is checked.
const EXHAUSTED: u64 = 8_000;
/// How many executions the first of a changed test counts as.
const FIRST: u64 = 8;
/// What a check that was too much counts as.
const IN_VAIN: u64 = 1_000;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Found {
    /// No race is left, and every question has the answer it should.
    Clean,
    /// This race is gone, no other came, and every question has the answer it should.
    Right,
    /// This race is gone and no other came.
    Gone,
    /// And then no execution has the outcome that is asked for, where some had it: the question may be wrong, or the change.
    Against,
    /// Or another came, the test does not run any more, may not end where it did, or breaks a rule of mbarriers or a question
    /// that it did not break: the change is no cure.
    Stays,
    /// Not decided with the effort that there is.
    Unknown,
}

impl Found {
    pub(crate) fn is_cure(self) -> bool {
        self <= Found::Gone
    }
}

/// What was found of a changed test.
#[derive(Clone)]
enum Decided {
    Races(Races),
    /// It cannot be read, or has what the test does not: another race, an execution that never ends, a broken rule.
    Worse,
    Undecided,
}

/// What a changed test has.
#[derive(Clone)]
struct Races {
    /// Of a search that ended early: only those before.
    pairs: Vec<Places>,
    is_complete: bool,
    /// Some execution breaks a `forall` or reaches what must not be.
    broken: bool,
    hangs: bool,
    /// No execution answers every question as it should be answered, where one did.
    against: bool,
}

/// A search over a changed test.
struct Seen {
    unfolding: Arc<Unfolding>,
    races: RaceSet,
    manners: Manners,
    /// It has found what it was to find, and left the rest.
    stopped: bool,
}

pub(crate) struct Verifier<'a> {
    test: &'a Test,
    model: &'a LoadedModel,
    options: &'a Options,
    flags: &'a Flags,
    /// The races of the test as it is.
    known: Vec<Places>,
    /// Not a race is to go but an outcome that must not be: a cure is what leaves nothing wrong.
    of_outcome: bool,
    /// Of the test as it is.
    before: OnceCell<Option<Manners>>,
    /// What a changed test has, by its text: several races have one cure.
    done: RefCell<SortedMap<String, Decided>>,
    /// Whether a changed test is as good with more rounds.
    lasting: RefCell<SortedMap<(String, Places), bool>>,
    /// Whether a changed test has nothing wrong any more, or with the races that it has ends.
    mended: RefCell<SortedMap<(String, bool), bool>>,
    /// Whether nothing is wrong with a changed test in the rounds that it has.
    right: RefCell<SortedMap<String, bool>>,
    /// Guesses that may still be checked, and the effort that they took.
    guesses: Cell<u32>,
    guessed: Cell<u64>,
    left: RefCell<u32>,
    /// The effort so far: executions that were looked at, each by its weight.
    visited: Cell<u64>,
    weight: u64,
    /// The test has so many executions, or such large ones, that a changed one would not be looked through either.
    is_hopeless: bool,
    /// A guess is checked that is likely to leave few executions.
    is_hopeful: Cell<bool>,
    /// Changes that leave less wrong than there was, or nothing, and those that were too much to check.
    cures: RefCell<Vec<Vec<Edit>>>,
}

/// A test as it is, with an example of each of its races.
pub(crate) struct AsItIs<'a> {
    pub(crate) verifier: Verifier<'a>,
    pub(crate) unfolding: Arc<Unfolding>,
    pub(crate) races: RaceSet,
}

/// Whether a test is small enough to be checked again and again: with other lines, and under other readings.
pub(crate) fn is_checked_again(unfolding: &Unfolding) -> bool {
    longest(unfolding) <= LARGEST
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(
        test: &'a Test,
        model: &'a LoadedModel,
        options: &'a Options,
        known: Vec<Places>,
        (unfolding, executions): (&Unfolding, Option<Count>),
    ) -> Verifier<'a> {
        let events = longest(unfolding) as u64;
        // Relations are matrices of events.
        let weight = 1 + events * events / 1000;
        // A cure is believed when all executions of the changed test were seen, and those are as many and as large.
        let is_hopeless = FIRST * weight > EXHAUSTED
            || executions.is_some_and(|found| found.count.saturating_mul(weight) > 2 * EXHAUSTED);
        let flags = model.flags();
        let (done, left, before, visited) = (RefCell::default(), RefCell::new(MOST), OnceCell::new(), Cell::new(0));
        Verifier {
            test,
            model,
            options,
            flags,
            known,
            of_outcome: false,
            before,
            done,
            lasting: RefCell::default(),
            mended: RefCell::default(),
            right: RefCell::default(),
            guessed: Cell::new(0),
            guesses: Cell::new(if is_checked_again(unfolding) { GUESSES } else { 0 }),
            left,
            visited,
            weight,
            is_hopeless,
            is_hopeful: Cell::new(false),
            cures: RefCell::default(),
        }
    }

    /// For a test of which nothing is known yet: its executions are looked at, once for its races and for what changed tests
    /// are compared with. None where they are too many, where it does more that is wrong than to race, and where a value may
    /// be torn: of values in one byte none is.
    pub(crate) fn of_test(test: &'a Test, model: &'a LoadedModel, options: &'a Options) -> Option<AsItIs<'a>> {
        let unfolding = Arc::clone(Session::new(&test.program, model, options).accesses().ok()?);
        let verifier = Verifier::new(test, model, options, Vec::new(), (&unfolding, None));
        if verifier.is_hopeless || !is_checked_again(&unfolding) || is_large(&unfolding) {
            return None;
        }
        let Seen { races, manners, .. } = verifier.seen(&test.program, Until::Never)?;
        if races.has_more() || manners.is_wide || !manners.stuck.is_empty() || !manners.rules.is_empty() {
            return None;
        }
        let pairs = races.races.iter().filter(|(key, _)| key.is_pair());
        let known = pairs.map(|(_, example)| places(&unfolding, example.pair)).collect();
        let verifier = Verifier { known, before: OnceCell::from(Some(manners)), ..verifier };
        Some(AsItIs { verifier, unfolding, races })
    }

    /// With what the report says of the test as it is, where that is all that changed tests are compared with: every execution
    /// ends, no rule of mbarriers is broken, and no question says what must not be. Else its executions are looked at again.
    pub(crate) fn knowing(self, report: &Report) -> Verifier<'a> {
        let Test { program, .. } = self.test;
        let is_promise = |kind| matches!(kind, QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists);
        let has_mbarriers = program.locations.iter().any(|location| location.role == LocationRole::Mbarrier);
        let keeps_rules = !has_mbarriers || report.protocol.answer == ProtocolAnswer::None;
        let ends = report.termination.answer == TerminationAnswer::Terminates;
        let runs = report.executions.is_some_and(|found| found.count > 0);
        if ends && runs && keeps_rules && !program.questions.iter().any(|question| is_promise(question.kind)) {
            let manners = Manners { kept: true, ..Manners::default() };
            return Verifier { before: OnceCell::from(Some(manners)), ..self };
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn is_compared_by_report(&self) -> bool {
        self.before.get().is_some()
    }

    /// The changes that cure something, or were too much to check, in the order in which they were tried.
    pub(crate) fn into_cures(self) -> Vec<Vec<Edit>> {
        self.cures.into_inner()
    }

    fn note(&self, edits: &[&Edit]) {
        let edits: Vec<Edit> = edits.iter().map(|edit| (*edit).clone()).collect();
        let mut cures = self.cures.borrow_mut();
        if !cures.contains(&edits) {
            cures.push(edits);
        }
    }

    /// Whether the test has this race and no other.
    pub(crate) fn is_of_one_race(&self) -> bool {
        self.known.first().is_some_and(|first| self.known.iter().all(|race| race == first))
    }

    /// For a test that has no race and breaks a promise.
    pub(crate) fn of_outcome(self) -> Verifier<'a> {
        let guesses = Cell::new(self.guesses.get() * OF_OUTCOME);
        Verifier { of_outcome: true, guesses, ..self }
    }

    fn work(&self, effort: u64) {
        // Guesses leave the others their effort.
        let spent = if self.is_hopeful.get() { &self.guessed } else { &self.visited };
        spent.set(spent.get() + effort);
    }

    /// Whether nothing more is checked. Hundreds of changed tests take seconds to write down and to lower alone, so that the
    /// time is asked before.
    fn is_too_much(&self) -> bool {
        self.is_late() || !self.is_hopeful.get() && (self.is_hopeless || self.visited.get() > EXHAUSTED)
    }

    /// Whether so much was looked at that only what is likely is tried any more.
    pub(crate) fn is_tired(&self) -> bool {
        self.visited.get() > TIRED
    }

    pub(crate) fn check(&self, edits: &[&Edit], pair: (EventId, EventId), unfolding: &Unfolding) -> Found {
        let found = self.found(edits, pair, unfolding);
        if found.is_cure() || found == Found::Unknown {
            self.note(edits);
        }
        found
    }

    fn found(&self, edits: &[&Edit], pair: (EventId, EventId), unfolding: &Unfolding) -> Found {
        let Some(changed) = Edit::apply_all(edits, &self.test.litmus) else { return Found::Stays };
        if self.of_outcome {
            return self.kept(&changed);
        }
        let race = places(unfolding, pair);
        let races = match self.races(&changed, unfolding, race) {
            Decided::Races(races) => races,
            Decided::Worse => return Found::Stays,
            Decided::Undecided => return Found::Unknown,
        };
        if races.pairs.contains(&race) {
            return Found::Stays;
        }
        match (races.pairs.is_empty() && !races.hangs, races.broken) {
            _ if races.against => Found::Against,
            (true, false) => Found::Clean,
            (false, false) => Found::Right,
            (_, true) => Found::Gone,
        }
    }

    /// Whether nothing is wrong with a changed test.
    fn kept(&self, changed: &Litmus) -> Found {
        let text = print(changed);
        if let Some(known) = self.right.borrow().get(&text) {
            return if *known { Found::Clean } else { Found::Stays };
        }
        let rest = self.left.borrow().checked_sub(1).filter(|_| !self.is_too_much());
        let Some(rest) = rest else { return Found::Unknown };
        self.left.replace(rest);
        self.work(FIRST * self.weight);
        let Some(right) = self.is_right(changed, Until::WrongOrBroken) else { return Found::Unknown };
        self.right.borrow_mut().insert(text, right);
        if right { Found::Clean } else { Found::Stays }
    }

    /// Whether a change leaves nothing wrong: no race, nobody who waits for good, no broken rule, and every question with the
    /// answer that it should have; the first three with fewer and with more rounds of the loops too. Fewer come first: a wrong
    /// guess is refuted there at little cost, by the first thing that is wrong.
    pub(crate) fn mends(&self, edits: &[&Edit], stages: i128) -> bool {
        self.guess(edits, stages, (Until::Wrong, Until::WrongOrBroken))
    }

    /// Whether a change leaves nobody who waits for good, and brings no race and no broken rule that the test does not have.
    pub(crate) fn ends(&self, edits: &[&Edit], stages: i128) -> bool {
        let until = Until::Stuck { known: &self.known };
        self.guess(edits, stages, (until, until))
    }

    fn guess(&self, edits: &[&Edit], stages: i128, (rounds, own): (Until<'_>, Until<'_>)) -> bool {
        let Some(changed) = Edit::apply_all(edits, &self.test.litmus) else { return false };
        let text = (print(&changed), matches!(own, Until::Stuck { .. }));
        if let Some(known) = self.mended.borrow().get(&text) {
            return *known;
        }
        let may_guess = self.guessed.get() <= GUESSED && !self.is_late();
        let rest = self.guesses.get().checked_sub(1).filter(|_| may_guess);
        let Some(rest) = rest else { return false };
        self.guesses.set(rest);
        self.is_hopeful.set(true);
        // What cannot be said of more rounds counts as right there.
        let shown = |litmus: Option<Litmus>| litmus.and_then(|litmus| self.is_right(&litmus, rounds));
        let mends = shown(rounds::shorter(&changed, stages)) != Some(false)
            && self.is_right(&changed, own) == Some(true)
            && shown(rounds::longer(&changed, stages)) != Some(false);
        self.is_hopeful.set(false);
        if mends {
            self.note(edits);
        }
        self.mended.borrow_mut().insert(text, mends);
        mends
    }

    /// None where it is too much to say.
    fn is_right(&self, litmus: &Litmus, until: Until<'_>) -> Option<bool> {
        let (program, diagnostics) = lower(litmus);
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != fencepost_syntax::Severity::Error);
        let program = program.filter(|program| sound && program.unsupported.is_empty());
        let Some(program) = program else { return Some(false) };
        let Some(seen) = self.seen(&program, until) else {
            self.work(3 * IN_VAIN);
            return None;
        };
        let is_known = match until {
            Until::Stuck { .. } => self.manners().is_some_and(|before| seen.manners.rules.is_subset(&before.rules)),
            _ => !seen.races.has_more() && !seen.races.races.keys().any(RaceKey::is_pair),
        };
        Some(!seen.stopped && is_known && seen.manners.stuck.is_empty() && seen.manners.ended > 0)
    }

    /// Whether a cure is one with more rounds of the test's loops too. What cannot be said of more rounds counts as that.
    pub(crate) fn lasts(&self, edits: &[&Edit], race: Places, stages: i128) -> bool {
        if self.is_late() {
            return true;
        }
        let changed = Edit::apply_all(edits, &self.test.litmus);
        let Some(longer) = changed.as_ref().and_then(|changed| rounds::longer(changed, stages)) else { return true };
        if self.of_outcome {
            return self.is_right(&longer, Until::Wrong) != Some(false);
        }
        let text = print(&longer);
        if let Some(known) = self.lasting.borrow().get(&(text.clone(), race)) {
            return *known;
        }
        let seen = lower(&longer).0.and_then(|program| self.seen(&program, self.until(race)));
        let before = self.manners();
        let lasts = seen.is_none_or(|seen| {
            !seen.stopped
                && (seen.manners.stuck.is_empty() || before.is_some_and(|it| seen.manners.stuck.is_subset(&it.stuck)))
                && (seen.manners.rules.is_empty() || before.is_some_and(|it| seen.manners.rules.is_subset(&it.rules)))
        });
        self.lasting.borrow_mut().insert((text, race), lasts);
        lasts
    }

    /// Of the test as it is.
    fn manners(&self) -> Option<&Manners> {
        if self.is_hopeless {
            return None;
        }
        let seen = || {
            let program = lower(&self.test.litmus).0?;
            self.seen(&program, Until::Never).map(|seen| seen.manners)
        };
        self.before.get_or_init(seen).as_ref()
    }

    /// An execution of a changed test that answers this question as it should not be answered; None where there is none, or
    /// where it is too much to say.
    pub(crate) fn shown(&self, edits: &[Edit], question: usize) -> Option<Shown> {
        if self.is_late() {
            return None;
        }
        let changed = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &self.test.litmus)?;
        let program = lower(&changed).0?;
        let session = Session::new(&program, self.model, self.options);
        let unfolding = Arc::clone(session.unfolding().ok()?);
        let question = program.questions.get(question)?;
        if unfolding.is_unmodelled(&question.condition) {
            return None;
        }
        let condition = looked_for(&program, question);
        let goal =
            Goal { condition: Some(&condition), multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
        let mut found = None;
        self.explore(&unfolding, &goal, |execution| {
            found = Some(execution.clone());
            ControlFlow::Break(())
        })?;
        found.map(|execution| Shown { unfolding, execution })
    }

    /// The races of a changed test, which is about as large as the test is. Whether it has this one is known for sure.
    fn races(&self, changed: &Litmus, unfolding: &Unfolding, race: Places) -> Decided {
        let text = print(changed);
        match self.done.borrow().get(&text) {
            Some(Decided::Races(known)) if !known.is_complete && !known.pairs.contains(&race) => {}
            Some(known) => return known.clone(),
            None => {}
        }
        let mut left = self.left.borrow_mut();
        // Of a large test one takes seconds, and most are more than the work for one.
        let too_much = is_large(unfolding) || self.is_too_much();
        let Some(rest) = left.checked_sub(1).filter(|_| !too_much) else { return Decided::Undecided };
        *left = rest;
        self.work(FIRST * self.weight);
        let (program, diagnostics) = lower(changed);
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != fencepost_syntax::Severity::Error);
        let program = program.filter(|program| sound && program.unsupported.is_empty());
        let races = program.map_or(Decided::Worse, |program| self.explored(&program, race));
        self.done.borrow_mut().insert(text, races.clone());
        races
    }

    fn until(&self, race: Places) -> Until<'_> {
        Until::Race { race, known: &self.known }
    }

    fn explored(&self, program: &Program, race: Places) -> Decided {
        let Some(seen) = self.seen(program, self.until(race)) else {
            self.work(IN_VAIN);
            return Decided::Undecided;
        };
        if seen.races.has_more() {
            return Decided::Undecided;
        }
        let found = seen.races.races.iter().filter(|(key, _)| key.is_pair());
        let pairs: Vec<Places> = found.map(|(_, example)| places(&seen.unfolding, example.pair)).collect();
        if pairs.iter().any(|pair| !self.known.contains(pair)) {
            return Decided::Worse;
        }
        let hangs = !seen.manners.stuck.is_empty();
        let races = Races { pairs, is_complete: !seen.stopped, broken: seen.manners.broken, hangs, against: false };
        if seen.stopped {
            return Decided::Races(races);
        }
        self.compared(races, &seen.manners)
    }

    /// A change that cures a race is none if the test then does what it did not do.
    fn compared(&self, races: Races, manners: &Manners) -> Decided {
        // Without a comparison, a test that hangs or breaks a rule is no better than the one that races.
        let nothing = Manners { broken: true, ..Manners::default() };
        let before = self.manners().unwrap_or(&nothing);
        let worse = !manners.stuck.is_subset(&before.stuck)
            || !manners.rules.is_subset(&before.rules)
            || manners.broken && !before.broken
            || manners.ended == 0 && !manners.stuck.is_empty();
        match worse {
            true => Decided::Worse,
            // Of no execution nothing is said.
            false if manners.ended == 0 => Decided::Undecided,
            false => Decided::Races(Races { against: !manners.kept && before.kept, ..races }),
        }
    }

    /// Whether the user's time limit was reached.
    pub(crate) fn is_late(&self) -> bool {
        self.options.budget.is_late()
    }

    /// With an example of each race, until enough is known; None where the effort ends.
    fn seen(&self, program: &Program, until: Until<'_>) -> Option<Seen> {
        if self.is_late() {
            return None;
        }
        let session = Session::new(program, self.model, self.options);
        let unfolding = Arc::clone(session.accesses().ok()?);
        let mut visit = Visit::new(program, &unfolding, self.flags, until);
        let filter = program.filter.as_ref().map(|filter| &filter.node);
        let mut stopped = false;
        for part in failing_waits::parts(&unfolding) {
            let ends = [(Ends::Terminating, End::Reached), (Ends::Stuck, End::Never)];
            // An execution that never ends has no final state to pass a filter with.
            for (ends, end) in ends.into_iter().filter(|(ends, _)| *ends == Ends::Terminating || filter.is_none()) {
                let goal = Goal { filter: filter.filter(|_| ends == Ends::Terminating), ..Goal::new(ends) };
                if !stopped && (visit.objects_race() || !self.is_clear(&part, &goal)) {
                    stopped = self.explore(&part.unfolding, &goal, |execution| visit.add(execution, end))?;
                }
            }
        }
        let (races, manners) = visit.finish();
        Some(Seen { unfolding, races, manners, stopped })
    }

    /// Whether a part that is about waits which answer no has nothing flagged that touches one ([`fencepost_check::look::failing_waits`]).
    fn is_clear(&self, part: &Part<'_>, goal: &Goal<'_>) -> bool {
        if part.about.is_empty() {
            return false;
        }
        let beyond = part.left_out();
        failing_waits::asked(self.flags, &self.model.model).iter().all(|flag| {
            let raised = Some(Raised { flag: flag.check, beyond: &beyond });
            let goal = Goal { raised, multiplicity: Multiplicity::First, ..goal.clone() };
            let searched = self.explore(&part.unfolding, &goal, |_| ControlFlow::Break(()));
            searched == Some(false)
        })
    }

    /// Whether the visitor has seen enough; None if the executions are too many.
    fn explore(
        &self,
        unfolding: &Unfolding,
        goal: &Goal<'_>,
        mut visit: impl FnMut(&Execution) -> ControlFlow<()>,
    ) -> Option<bool> {
        let visit = |(): &mut (), execution: &Execution| {
            self.work(self.weight);
            visit(execution)
        };
        match Searcher::new(unfolding, self.model, self.options).run_bounded(goal, WORK, || (), visit).exploration {
            Exploration::Complete => Some(false),
            Exploration::Stopped => Some(true),
            Exploration::Incomplete(_) => None,
        }
    }
}

/// An execution of a changed test that answers the question as it should not be answered.
pub(crate) struct Shown {
    pub(crate) unfolding: Arc<Unfolding>,
    pub(crate) execution: Execution,
}
