//! Whether a changed test is right: every want, no race, nobody who waits for good, no broken rule of mbarriers.
//!
//! Contested points are read at their weakest: what no execution does there none does under a stronger reading. That what must
//! stay possible does under all readings is asked once, of the repair itself.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use fencepost_check::judge::deepen;
use fencepost_check::judge::found::{Answers, Aspect};
use fencepost_check::judge::readings::{self, Runs};
use fencepost_check::look::executions::EngineName;
use fencepost_check::look::race::{Meaning, RaceKey};
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{CrossCheck, EngineChoice, Options, Outcomes, Wanted};
use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::program::Program;
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::limits;
use fencepost_syntax::sorted::SortedSet;

use super::counterexamples::Counterexamples;
use super::effort::{self, Effort};
use super::space::changed_program;
use super::want::Want;
use crate::edit::Edit;
use crate::engines;

/// What is wrong with a changed test.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Judged {
    Right,
    /// Something that must not be is possible.
    Wrong,
    /// Something that must be possible is not, the change has no meaning, or what it leads to is undefined otherwise.
    Lost,
    Open(Why),
}

/// What is made of an access to the memory of a CTA that may have exited, or may not have started.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Lifetimes {
    /// One that the test has may stay.
    MayStay,
    AreWrong,
}

/// What came of a repair that is looked at again.
struct Again {
    judged: Judged,
    /// How often loops were unrolled for it.
    bound: u32,
    /// One run decides for all executions.
    is_one_run: bool,
}

pub(super) struct Oracle<'o> {
    pub(super) test: &'o Test,
    pub(super) model: &'o LoadedModel,
    pub(super) options: &'o Options,
    /// With the time that is kept for what confirms a repair.
    whole: &'o Options,
    pub(super) wants: &'o [Want],
    /// What is looked at first: what was wrong last.
    first: Cell<Stage>,
    known: RefCell<BTreeMap<Vec<usize>, Judged>>,
    counterexamples: RefCell<Counterexamples>,
    /// How many changed tests were looked at, and how many may be.
    pub(super) asked: Cell<u64>,
    most: Cell<u64>,
    pub(super) effort: Effort,
    /// Findings of the test itself that are no races.
    noted: OnceCell<SortedSet<String>>,
    lifetimes: Lifetimes,
    /// Such accesses in what was looked at last.
    left: RefCell<SortedSet<RaceKey>>,
    /// Repairs that were looked at again as the test itself is, and whether one run decided.
    decided: RefCell<Vec<(Vec<Edit>, bool)>>,
}

/// How much is asked at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    /// Whether a question finds what it must not: that is soon known.
    Questions,
    All,
}

impl<'o> Oracle<'o> {
    pub(super) fn new(
        test: &'o Test,
        model: &'o LoadedModel,
        (options, whole): (&'o Options, &'o Options),
        wants: &'o [Want],
    ) -> Oracle<'o> {
        let (known, counterexamples, asked) = (RefCell::default(), RefCell::default(), Cell::new(0));
        let first = Cell::new(Stage::Questions);
        let (most, effort, noted) = (Cell::new(u64::MAX), Effort::unlimited(), OnceCell::new());
        let (lifetimes, left, decided) = (Lifetimes::MayStay, RefCell::default(), RefCell::default());
        Oracle {
            test,
            model,
            options,
            whole,
            wants,
            first,
            known,
            counterexamples,
            asked,
            most,
            effort,
            noted,
            lifetimes,
            left,
            decided,
        }
    }

    pub(super) fn taking(self, lifetimes: Lifetimes) -> Oracle<'o> {
        Oracle { lifetimes, ..self }
    }

    /// Accesses to memory that may not be there, in the test or the repair that was looked at last.
    pub(super) fn left(&self) -> Vec<RaceKey> {
        self.left.borrow().iter().cloned().collect()
    }

    /// Takes no more than so much work.
    pub(super) fn within(self, effort: Effort) -> Oracle<'o> {
        Oracle { effort, ..self }
    }

    /// Looks at so many changed tests only.
    pub(super) fn at_most(self, most: u64) -> Oracle<'o> {
        self.most.set(most);
        self
    }

    /// Looks at as many more as the work allows that `check` has for changes of paths.
    pub(super) fn begin_advice(&self) {
        self.most.set(u64::MAX);
        self.effort.begin_advice();
    }

    /// Whether a limit was reached.
    pub(super) fn is_over(&self) -> bool {
        self.asked.get() >= self.most.get() || self.effort.is_over() || self.options.budget.is_over()
    }

    /// Why the search ends, where it is over.
    pub(super) fn why_over(&self) -> Why {
        match self.options.budget {
            ref budget if budget.is_cancelled() => Why::Cancelled,
            ref budget if budget.is_late() => Why::Time,
            _ => Why::Size(Undecided::Search),
        }
    }

    /// The test with these changes, which are known by their numbers.
    pub(super) fn judge(&self, name: &[usize], edits: &[&Edit]) -> Judged {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let judged = match self.limited(|| self.look(edits)) {
            // A change to something that no model here knows, of a test that is known.
            Judged::Open(Why::Unsupported { .. }) if !edits.is_empty() => Judged::Lost,
            judged => judged,
        };
        if !matches!(judged, Judged::Open(_)) {
            self.known.borrow_mut().insert(name.to_vec(), judged.clone());
        }
        judged
    }

    /// What was shown stands; of what a limit has cut short nothing else does.
    fn limited(&self, look: impl FnOnce() -> Judged) -> Judged {
        let _entered = self.effort.question();
        match look() {
            Judged::Wrong => Judged::Wrong,
            judged => limits::ended().map_or(judged, |ended| Judged::Open(ended.into())),
        }
    }

    /// Whether a bad execution that is known is one of the changed test too.
    pub(super) fn is_shown_wrong(&self, name: &[usize], edits: &[&Edit]) -> bool {
        if let Some(known) = self.known.borrow().get(name) {
            return *known == Judged::Wrong;
        }
        let _entered = self.effort.question();
        let Some((_, program)) = changed_program(&self.test.litmus, edits) else { return false };
        self.asked.set(self.asked.get() + 1);
        let is_wrong = self.has_counterexample(&program);
        if is_wrong {
            self.known.borrow_mut().insert(name.to_vec(), Judged::Wrong);
        }
        is_wrong
    }

    /// Whether a known bad execution races.
    pub(super) fn races(&self) -> bool {
        self.counterexamples.borrow().race()
    }

    /// How many known bad executions are about other threads only.
    pub(super) fn left_alone(&self, threads: &[ThreadId]) -> usize {
        self.counterexamples.borrow().left_alone(threads)
    }

    fn look(&self, edits: &[&Edit]) -> Judged {
        let Some((_, program)) = changed_program(&self.test.litmus, edits) else { return Judged::Lost };
        self.asked.set(self.asked.get() + 1);
        if self.has_counterexample(&program) {
            return Judged::Wrong;
        }
        let test = self.test.with_program(program);
        // Where what was wrong last was no question, they are not asked by themselves.
        if self.first.get() == Stage::Questions
            && !self.wants.is_empty()
            && let (wrong @ (Judged::Wrong | Judged::Lost), _) = self.stage(&test, Stage::Questions)
        {
            return wrong;
        }
        if self.is_over() {
            return Judged::Open(self.why_over());
        }
        let (judged, noted) = self.stage(&test, Stage::All);
        if judged == Judged::Wrong {
            self.first.set(Stage::All);
        }
        // What is undefined for another reason than a race, and was not before: an access to the memory of a CTA that may have
        // exited, say.
        if judged == Judged::Right && !noted.is_empty() && !noted.is_subset(&self.noted_before()) {
            return Judged::Lost;
        }
        judged
    }

    /// Those of the test itself. What a limit has cut short is not kept: it may have found less.
    fn noted_before(&self) -> SortedSet<String> {
        if let Some(noted) = self.noted.get() {
            return noted.clone();
        }
        let (_, noted) = self.stage(self.test, Stage::All);
        match limits::ended() {
            None => self.noted.get_or_init(|| noted).clone(),
            Some(_) => noted,
        }
    }

    fn has_counterexample(&self, program: &Program) -> bool {
        let mut known = self.counterexamples.borrow_mut();
        match self.model.under(&self.options.readings, self.test.program.version) {
            Ok(None) => known.survive(program, self.model, self.options),
            Ok(Some(model)) => known.survive(program, &model, self.options),
            Err(_) => false,
        }
    }

    /// What is wrong, and the names of findings that are no races.
    fn stage(&self, test: &Test, stage: Stage) -> (Judged, SortedSet<String>) {
        let is_all = stage == Stage::All;
        let wanted = if is_all { Wanted::Yes } else { Wanted::No };
        let options = Options {
            // Races are looked for in what is counted.
            outcomes: if is_all { Outcomes::Capped } else { Outcomes::Skip },
            races: wanted,
            termination: wanted,
            cross_check: CrossCheck::Off,
            advice: Wanted::No,
            fingerprint: Wanted::No,
            ..self.options.clone()
        };
        let run = |options: &Options| Runs::new(test, self.model, options).at_weakest();
        let (answers, _) = deepen::check(test, &options, run);
        if let Some(why) = &answers.refused {
            return (Judged::Open(why.clone()), SortedSet::new());
        }
        answers.unfolding.iter().for_each(|unfolding| effort::searched(unfolding));
        self.counterexamples.borrow_mut().learn(&answers, self.wants, options.bound);
        let mut judged = self.of_wants(&answers);
        for found in [&answers.race, &answers.protocol, &answers.hang.plain()] {
            judged = match found {
                Answer::Yes(()) => Judged::Wrong,
                Answer::Unknown(why) if judged == Judged::Right => Judged::Open(why.clone()),
                _ => judged,
            };
        }
        if is_all {
            self.left.borrow_mut().clear();
            judged = self.of_lifetimes(&answers, judged);
        }
        let found = answers.flagged().filter(|key| key.meaning == Meaning::Noted);
        (judged, found.map(|key| key.flag.clone()).collect())
    }

    fn of_lifetimes(&self, answers: &Answers, judged: Judged) -> Judged {
        let mut left = self.left.borrow_mut();
        left.extend(answers.flagged().filter(|key| key.kind.is_of_lifetime()).cloned());
        if left.is_empty() || self.lifetimes == Lifetimes::MayStay { judged } else { Judged::Wrong }
    }

    fn of_wants(&self, answers: &Answers) -> Judged {
        let mut judged = Judged::Right;
        for want in self.wants {
            match (answers.answer(want.aspect), want.possible) {
                (Answer::Yes(()) | Answer::Depends(_), false) => return Judged::Wrong,
                (Answer::No | Answer::Depends(_), true) => judged = Judged::Lost,
                (Answer::Unknown(why), _) if judged == Judged::Right => judged = Judged::Open(why),
                _ => {}
            }
        }
        judged
    }

    /// The same for a repair: under every reading, with more rounds of its loops, and with this engine.
    pub(super) fn confirm(&self, edits: &[&Edit], engine: EngineChoice, rounds: u32) -> Judged {
        self.left.borrow_mut().clear();
        let again = self.confirmed(edits, engine, self.whole.bound + rounds);
        if engine == EngineChoice::Auto && rounds == 0 {
            let edits = edits.iter().map(|edit| (*edit).clone()).collect();
            self.decided.borrow_mut().push((edits, again.is_one_run));
        }
        again.judged
    }

    /// The same by each engine alone, and how often loops were unrolled for that.
    pub(super) fn confirm_by_both(&self, edits: &[&Edit]) -> (Judged, u32) {
        self.left.borrow_mut().clear();
        let by = |engine| self.confirmed(edits, engine, self.whole.bound);
        let (sat, enumerated) = (by(EngineChoice::Sat), by(EngineChoice::Enumerate));
        let bound = sat.bound.max(enumerated.bound);
        let open = |judged| match judged {
            Judged::Right => Ok(None),
            Judged::Open(why) => Ok(Some(why)),
            wrong @ (Judged::Wrong | Judged::Lost) => Err(wrong),
        };
        let judged = match (open(sat.judged), open(enumerated.judged)) {
            (Err(wrong), _) | (_, Err(wrong)) => wrong,
            (Ok(sat), Ok(enumerated)) => {
                let known =
                    self.decided.borrow().iter().find(|(of, _)| of.iter().eq(edits.iter().copied())).map(|it| it.1);
                let is_one_run = || known.unwrap_or_else(|| by(EngineChoice::Auto).is_one_run);
                engines::second(sat, enumerated, is_one_run).map_or(Judged::Right, Judged::Open)
            }
        };
        (judged, bound)
    }

    /// Whether it is one with loops unrolled so often.
    pub(super) fn confirm_unrolled(&self, edits: &[&Edit], bound: u32) -> Judged {
        self.confirmed(edits, EngineChoice::Auto, bound).judged
    }

    fn confirmed(&self, edits: &[&Edit], engine: EngineChoice, bound: u32) -> Again {
        let _entered = self.effort.confirming(engine);
        let again = self.again(edits, engine, bound);
        let judged = match again.judged {
            Judged::Wrong => Judged::Wrong,
            judged => limits::ended().map_or(judged, |ended| Judged::Open(ended.into())),
        };
        Again { judged, ..again }
    }

    fn again(&self, edits: &[&Edit], engine: EngineChoice, bound: u32) -> Again {
        let again = |judged| Again { judged, bound, is_one_run: false };
        let Some((_, program)) = changed_program(&self.test.litmus, edits) else { return again(Judged::Lost) };
        let test = self.test.with_program(program);
        let options = Options {
            engine,
            bound,
            outcomes: Outcomes::Capped,
            advice: Wanted::No,
            fingerprint: Wanted::No,
            ..self.whole.clone()
        };
        let answers = readings::answers(&test, self.model, &options);
        if let Some(why) = &answers.refused {
            return again(Judged::Open(why.clone()));
        }
        let mut judged = self.of_wants(&answers);
        for aspect in [Aspect::Races, Aspect::Protocol, Aspect::Termination] {
            judged = match answers.answer(aspect) {
                Answer::Yes(()) | Answer::Depends(_) => Judged::Wrong,
                Answer::Unknown(why) if judged == Judged::Right => Judged::Open(why),
                _ => judged,
            };
        }
        let judged = self.of_lifetimes(&answers, judged);
        let is_one_run = answers.engine == Some(EngineName::OneRun);
        Again { judged, bound: answers.deepened.unwrap_or(bound), is_one_run }
    }
}
