//! One test under one model: the answer to every question, the histogram, the races, and whether it always ends.
//!
//! A small test is explored completely once, and everything is read off that. In a large one each question is searched
//! for first, and executions are then counted as far as that is cheap (with `--all`, as far as the limits allow: that some
//! were not counted takes nothing from an answer). Either way a witness is replayed before it is believed, and an absence on a small
//! test is confirmed by the other engine.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Observed, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::replay::Judgement;
use fencepost_program::program::{Condition, Question, Term};
use fencepost_program::unfolding::{Hazard, Unfolding};
use fencepost_report::Count;
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};

use crate::judge::crash;
use crate::judge::found::{Answers, Broken, Finding, Raced, Reached, Shown};
use crate::judge::mixed_size;
use crate::judge::question::looked_for;
use crate::judge::recovery;
use crate::judge::refusal::{not_unfolded, refusal, refused};
use crate::judge::undefined;
use crate::look::classes::Classes;
use crate::look::collect::{Collector, Target, Totals};
use crate::look::executions::EngineName;
use crate::look::failing_waits;
use crate::look::histogram::Histogram;
use crate::look::outcome::{self, holds};
use crate::look::protocol::{Examiner, ProtocolSet};
use crate::look::race::{Flags, hazard_kind};
use crate::look::race_search::{self, Effort, Met, RaceSearch, SearchedPart};
use crate::look::replayer::{NotConfirmed, Replayer};
use crate::look::search::{Searcher, why_open};
use crate::model::load::LoadedModel;
use crate::options::{CROSS_CHECK_BITS, CrossCheck, Options, Outcomes, SMALL_BITS};
use crate::session::Session;
use crate::test::Test;

mod classes;
mod ends;
mod witnesses;

use classes::Alike;

/// With the initial values that the program has.
pub fn check_known(test: &Test, model: &LoadedModel, options: &Options) -> Answers {
    if let Some(why) = refusal(test, model) {
        return refused(test, model, options, why);
    }
    let session = Session::new(&test.program, model, options);
    let unfolding = match session.unfolding() {
        Ok(unfolding) => Arc::clone(unfolding),
        Err(error) => return refused(test, model, options, not_unfolded(test, &error)),
    };
    let searcher = Searcher::new(&unfolding, model, options);
    let (terms, replayer) = (OnceCell::new(), OnceCell::new());
    let apart = match undefined::asks_races(model, &unfolding, options).then(|| session.accesses()) {
        Some(Ok(accesses)) if !Arc::ptr_eq(accesses, &unfolding) => Apart::In(Arc::clone(accesses)),
        Some(Err(_)) => Apart::TooLarge,
        Some(Ok(_)) | None => Apart::Same,
    };
    let job = Job { test, model, options, terms, unfolding: &unfolding, apart: &apart, searcher, replayer };
    let mut answers = job.run();
    answers.crash = crash::answers(&session, &unfolding);
    if let (Some(found), Some(program)) = (&mut answers.crash, &test.program.crash.recovery) {
        found.recovery = Some(recovery::answers(test, &session, found, program, &check_known));
    }
    Answers { unfolding: Some(unfolding), ..answers }
}

const UNMODELLED: &str = "a condition that rests on a value without a model";

/// Where races are looked for: with failing iterations of spin loops.
enum Apart {
    /// There are none that matter.
    Same,
    In(Arc<Unfolding>),
    /// Which leaves the races unknown.
    TooLarge,
}

struct Job<'a> {
    test: &'a Test,
    model: &'a LoadedModel,
    options: &'a Options,
    /// What is observed, once it is asked for.
    terms: OnceCell<Vec<Term>>,
    unfolding: &'a Arc<Unfolding>,
    apart: &'a Apart,
    searcher: Searcher<'a>,
    replayer: OnceCell<Result<Replayer<'a>, NotConfirmed>>,
}

impl Job<'_> {
    fn run(&self) -> Answers {
        let conditions = self.conditions();
        let targets: Vec<Target<'_>> = conditions.iter().map(|condition| Target { condition }).collect();
        let mut answers = Answers::new(Vec::new());
        let flags = self.model.flags();
        let examiner = Examiner::new(self.unfolding);
        if undefined::asks_races(self.model, self.unfolding, self.options) {
            let open = || Answer::Unknown(Why::Size(Undecided::Races));
            answers.race = if flags.is_empty() { Answer::NotDefined } else { open() };
            if !examiner.is_idle() {
                answers.protocol = open();
            }
        }
        if self.options.questions.is_yes() {
            let capped = self.options.outcomes == Outcomes::Capped;
            let small = self.searcher.estimate.bits <= SMALL_BITS || capped && self.searcher.has_strands;
            let effort = match self.options.outcomes {
                Outcomes::All => Some(Effort::Complete),
                Outcomes::Capped => Some(Effort::Capped),
                Outcomes::Skip => None,
            };
            if let Some(effort) = effort.filter(|_| small) {
                self.count(&targets, flags, effort, &mut answers);
            }
            self.find_missing(&targets, &mut answers);
            if let Some(effort) = effort.filter(|_| !small) {
                self.count(&targets, flags, effort, &mut answers);
            }
            self.cross_check(&targets, &mut answers);
            self.vacuity(&mut answers);
        }
        if self.options.termination.is_yes() {
            self.termination(&mut answers);
            let why = answers.hang.why().filter(|why| why.is_limit()).cloned();
            answers.stopped = answers.stopped.take().or(why);
        }
        if self.options.questions.is_yes() {
            self.races(flags, &mut answers);
        }
        self.leave_unmodelled(&mut answers);
        self.examine_witnesses(&examiner, &mut answers);
        self.count_witnesses(&mut answers);
        mixed_size::apply((self.test, self.model, self.options), self.unfolding, &check_known, &mut answers);
        undefined::apply(self.test, self.model, self.unfolding, &mut answers);
        self.complete(&mut answers);
        answers
    }

    /// What is told beside the answers.
    fn complete(&self, answers: &mut Answers) {
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        let flags = self.model.flags();
        answers.counts = self.counts(answers);
        answers.races_assume = race_search::is_assuming(self.unfolding, undefined::race_filter(self.test, self.model));
        // Executions that a filter or an assumption keeps out are not counted, and may end.
        let none_ends = answers.executions == Some(Count { count: 0, complete: true });
        answers.never_ends = none_ends && answers.hang.is_yes() && !race_search::is_assuming(self.unfolding, filter);
        // What was shown, or shown not to happen, needs no warning.
        let is_decided = answers.race.is_yes() || answers.race.is_no();
        let is_told = |hazard: &&Hazard| is_decided && hazard_kind(hazard.kind).is_some_and(|kind| flags.knows(kind));
        answers.hazards = self.unfolding.hazards.iter().filter(|hazard| !is_told(hazard)).cloned().collect();
        // Its flags may be about anything.
        if (answers.race.is_no() || answers.race.is_unknown()) && !flags.declare_races() {
            answers.race = Answer::NotDefined;
        }
    }

    /// Per question: how many (execution, final state) pairs satisfy the condition, and how many do not; None if that is
    /// more than can be said.
    fn counts(&self, answers: &Answers) -> Vec<Option<(u64, u64)>> {
        let one = |(question, finding): (&Question, &Finding)| {
            // Of values without a model there is nothing to count.
            if answers.executions.is_none() || matches!(finding, Answer::Unknown(Why::Unsupported { .. })) {
                return None;
            }
            let mut counts = (0u64, 0u64);
            let classes = answers.classes.iter().flat_map(Classes::executions);
            for (state, count) in answers.outcomes.unsorted().chain(classes) {
                let is_side = holds(&question.condition, self.terms(), state);
                let side = if is_side { &mut counts.0 } else { &mut counts.1 };
                *side = side.checked_add(count)?;
            }
            Some(counts)
        };
        self.test.program.questions.iter().zip(&answers.findings).map(one).collect()
    }

    fn shown(&self, execution: Execution) -> Shown {
        Shown { execution: Arc::new(execution), of: Arc::clone(self.unfolding) }
    }

    /// The executions that are counted do not show all races, or would show them only in part.
    fn searches_races_apart(&self) -> bool {
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        !matches!(self.apart, Apart::Same) || filter != undefined::race_filter(self.test, self.model)
    }

    /// What was not found among the executions that were explored may be in those that are reported.
    fn examine_witnesses(&self, examiner: &Examiner<'_>, answers: &mut Answers) {
        if !answers.protocol.is_unknown() {
            return;
        }
        let witnesses = (0..answers.findings.len()).filter_map(|at| answers.witness(at));
        let mut set = ProtocolSet::default();
        witnesses.chain(answers.hang.yes()).for_each(|shown| examiner.add(&shown.execution, &mut set));
        if set.has_error() {
            answers.protocol = Answer::Yes(());
            answers.broken = vec![Broken { set, of: Arc::clone(self.unfolding) }];
        }
    }

    fn conditions(&self) -> Vec<Cow<'_, Condition>> {
        let mut conditions = Vec::with_capacity(self.test.program.questions.len());
        for question in &self.test.program.questions {
            conditions.push(match self.is_unmodelled(question) {
                true => Cow::Owned(Condition::False),
                false => looked_for(&self.test.program, question),
            });
        }
        conditions
    }

    /// Whether a question rests on a value without a model.
    fn is_unmodelled(&self, question: &Question) -> bool {
        self.unfolding.is_unmodelled(&question.condition)
    }

    /// Such questions are not answered, whatever was found of the rest.
    fn leave_unmodelled(&self, answers: &mut Answers) {
        let Some(unmodelled) = &self.unfolding.unmodelled else { return };
        let why = Why::Unsupported { span: unmodelled.span, what: UNMODELLED.to_owned() };
        for (question, finding) in self.test.program.questions.iter().zip(&mut answers.findings) {
            if self.is_unmodelled(question) {
                *finding = Answer::Unknown(why.clone());
            }
        }
    }

    fn goal<'g>(&'g self, condition: Option<&'g Condition>, multiplicity: Multiplicity) -> Goal<'g> {
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        // Of the first execution nobody observes more than its condition, where nothing else is asked for.
        let is_all = multiplicity == Multiplicity::First && condition.is_some() && self.asks_one_question();
        let observed = if is_all { Observed::Everything } else { Observed::Terms(self.terms()) };
        Goal { filter, condition, multiplicity, observed, ..Goal::new(Ends::Terminating) }
    }

    fn asks_one_question(&self) -> bool {
        let program = &self.test.program;
        program.questions.len() == 1 && program.shown.is_empty()
    }

    fn terms(&self) -> &[Term] {
        self.terms.get_or_init(|| outcome::modelled(&self.test.program, self.unfolding))
    }

    /// Counts executions and reads off them what they answer. Answers that are there already stay.
    fn count(&self, targets: &[Target<'_>], flags: &Flags, effort: Effort, answers: &mut Answers) {
        let asks_races = !flags.is_empty() && undefined::asks_races(self.model, self.unfolding, self.options);
        let wants_races = asks_races && !self.searches_races_apart();
        let mut goal = self.goal(None, Multiplicity::All);
        if wants_races {
            // Which accesses race is no final value: executions must be kept apart.
            goal.observed = Observed::Everything;
        }
        let collector = Collector {
            unfolding: self.unfolding,
            terms: self.terms(),
            filter: goal.filter,
            targets,
            memory: self.options.budget.memory(),
            most: (effort == Effort::Capped).then(|| self.searcher.most_counted()),
        };
        // Where others are to be looked at for races, those of these are kept for the case that a limit leaves no more.
        let mut evaluator = asks_races.then(|| flags.evaluator());
        let examiner = wants_races.then(|| Examiner::new(self.unfolding));
        let mut visit = |totals: &mut Totals, execution: &Execution| {
            if let Some(evaluator) = &mut evaluator {
                evaluator.add(self.unfolding, execution, &mut totals.races);
            }
            if let Some(examiner) = &examiner {
                examiner.add(execution, &mut totals.protocol);
            }
            collector.add(totals, execution)
        };
        let (found, alike) = match effort {
            Effort::Complete => self.listed(&goal, &mut visit),
            Effort::Capped => (self.searcher.run_capped(&goal, Totals::default, visit), None),
        };
        answers.engine.get_or_insert(found.engine);
        let (totals, why) = (found.results, found.exploration);
        let why = match why {
            _ if totals.stateless.is_some() => Some(Why::Internal("an execution has no final state".to_owned())),
            _ if totals.out_of_memory => Some(Why::Memory),
            _ if totals.capped => Some(why_open(Stop::Work)),
            Exploration::Complete => None,
            Exploration::Stopped => Some(Why::Internal("a search stopped by itself".to_owned())),
            Exploration::Incomplete(stop) => Some(why_open(stop)),
        };
        answers.stopped = why.clone().filter(Why::is_limit);
        self.read_off(targets, totals, why.as_ref(), answers);
        let Some(alike) = alike else { return };
        let (outcomes, classes, count) = match alike {
            Alike::Classes(classes) => {
                let count = classes.all_executions;
                (Histogram::default(), Some(classes), count)
            }
            Alike::Each(outcomes, count) => (outcomes, None, count),
        };
        (answers.outcomes, answers.classes) = (outcomes, classes);
        answers.executions = Some(Count { count, complete: true });
        // Of those that were listed a filter may have let none pass.
        answers.met.executions.count = answers.met.executions.count.max(count);
    }

    /// The answers of the executions that were counted; `why` they are not all, if they are not.
    fn read_off(&self, targets: &[Target<'_>], mut totals: Totals, why: Option<&Why>, answers: &mut Answers) {
        totals.found.resize(targets.len(), None);
        let counted = Count { count: totals.executions, complete: why.is_none() };
        answers.executions = Some(Count { complete: counted.complete && !totals.overflowed, ..counted });
        answers.outcomes = std::mem::take(&mut totals.outcomes);
        if answers.findings.is_empty() {
            let cut = why == Some(&why_open(Stop::Work));
            let answer = |(target, found): (&Target<'_>, Option<Execution>)| match (found, why) {
                (Some(execution), _) => self.replayed(execution, target.condition),
                (None, None) => Answer::No,
                (None, Some(_)) if cut => Answer::NotAsked,
                (None, Some(why)) => Answer::Unknown(why.clone()),
            };
            answers.findings = targets.iter().zip(totals.found).map(answer).collect();
        } else {
            self.settle(targets, totals.found, counted, &mut answers.findings);
        }
        let complete = counted.complete;
        let (races, protocol, why) = (totals.races, totals.protocol, why.cloned());
        answers.met = Met { races, complete, protocol, executions: counted, why };
    }

    /// What a search left open may be among the executions that were counted, or they may be all.
    fn settle(&self, targets: &[Target<'_>], found: Vec<Option<Execution>>, counted: Count, findings: &mut [Finding]) {
        for ((target, found), finding) in targets.iter().zip(found).zip(findings) {
            if !matches!(finding, Answer::Unknown(Why::Time | Why::Memory)) {
                continue;
            }
            match found {
                Some(execution) => *finding = self.replayed(execution, target.condition),
                None if counted.complete => *finding = Answer::No,
                None => {}
            }
        }
    }

    /// Searches for what counting has not answered.
    fn find_missing(&self, targets: &[Target<'_>], answers: &mut Answers) {
        answers.findings.resize_with(targets.len(), || Answer::NotAsked);
        for (target, finding) in targets.iter().zip(&mut answers.findings) {
            if matches!(finding, Answer::NotAsked) {
                *finding = self.find(target.condition, &mut answers.engine);
            }
        }
    }

    /// Races, and broken rules about mbarriers: those of the counted executions, and what those did not show.
    fn races(&self, flags: &Flags, answers: &mut Answers) {
        let effort = match undefined::race_outcomes(self.model, self.unfolding, self.options) {
            Outcomes::All => Effort::Complete,
            Outcomes::Capped => Effort::Capped,
            Outcomes::Skip => return,
        };
        if !answers.race.is_unknown() {
            return;
        }
        let own = OnceCell::new();
        let (unfolding, replayer) = match self.apart {
            Apart::TooLarge => {
                let counted = std::mem::replace(&mut answers.met, Met::nothing());
                return if counted.races.has_race() {
                    self.races_of_counted(counted, None, answers)
                };
            }
            Apart::Same => (self.unfolding, &self.replayer),
            Apart::In(accesses) => (accesses, &own),
        };
        let filter = undefined::race_filter(self.test, self.model);
        let searcher = self.searcher.within(unfolding);
        let parts = failing_waits::parts(unfolding);
        let parts = SearchedPart::all(&parts, &searcher);
        let search = RaceSearch { unfolding, model: self.model, filter, searcher, parts, replayer };
        // An execution that never ends has no final state to pass a filter with.
        let always_ends = answers.hang.is_no() || filter.is_some();
        let may_hang = !always_ends && race_search::can_wait(unfolding);
        let ends: &[Ends] = if may_hang { &[Ends::Terminating, Ends::Stuck] } else { &[Ends::Terminating] };
        let mut met = std::mem::replace(&mut answers.met, Met::nothing());
        let mut counted = None;
        if self.searches_races_apart() {
            counted = Some(std::mem::replace(&mut met, Met::nothing()));
            search.look(flags, Ends::Terminating, effort, &mut met);
        }
        if may_hang {
            search.look(flags, Ends::Stuck, effort, &mut met);
        }
        if !met.complete {
            met.complete = search.hunt(flags, ends, effort, &mut met.races);
        }
        let limit = self.limit(&met);
        answers.stopped = answers.stopped.take().or_else(|| limit.clone());
        if limit.is_some()
            && !met.races.has_race()
            && !met.protocol.has_error()
            && let Some(counted) = counted.filter(|counted| counted.races.has_race())
        {
            return self.races_of_counted(counted, limit, answers);
        }
        if !search.is_confirmed(&met) {
            return;
        }
        answers.race_rest = limit.filter(|_| met.races.has_race());
        self.answer_races(met, unfolding, answers);
    }

    /// What was met is the answer.
    fn answer_races(&self, mut met: Met, unfolding: &Arc<Unfolding>, answers: &mut Answers) {
        let decided = self.decided(met.executions, met.complete);
        answers.race = race_search::answer(met.races.has_race(), decided, met.why.clone());
        if answers.protocol.is_unknown() {
            answers.protocol = race_search::answer(met.protocol.has_error(), met.executions, met.why);
        }
        met.races.settle(unfolding);
        answers.races = vec![Raced { set: met.races, of: Arc::clone(unfolding) }];
        answers.broken = vec![Broken { set: met.protocol, of: Arc::clone(unfolding) }];
    }

    /// The user's limit that kept races from being found, if one may have.
    fn limit(&self, met: &Met) -> Option<Why> {
        match &met.why {
            _ if met.complete => None,
            Some(why @ (Why::Time | Why::Memory | Why::Cancelled)) => Some(why.clone()),
            _ => self.searcher.is_late().then_some(Why::Time),
        }
    }

    /// A limit left no effort for the executions that show all races. One that an execution of any kind shows is definite.
    fn races_of_counted(&self, mut counted: Met, limit: Option<Why>, answers: &mut Answers) {
        let (filter, parts) = (undefined::race_filter(self.test, self.model), failing_waits::parts(self.unfolding));
        let (searcher, replayer) = (self.searcher.within(self.unfolding), &self.replayer);
        let (unfolding, model) = (self.unfolding, self.model);
        let parts = SearchedPart::all(&parts, &searcher);
        let search = RaceSearch { unfolding, model, filter, searcher, parts, replayer };
        counted.protocol = ProtocolSet::default();
        if !search.is_confirmed(&counted) {
            return;
        }
        answers.race = Answer::Yes(());
        answers.race_rest = limit;
        counted.races.settle(unfolding);
        answers.races = vec![Raced { set: counted.races, of: Arc::clone(unfolding) }];
    }

    /// What is known of so many executions, where it may be known of those that were not counted too. Every program has an
    /// execution, unless something is assumed of it.
    fn decided(&self, counted: Count, complete: bool) -> Count {
        let assuming = race_search::is_assuming(self.unfolding, undefined::race_filter(self.test, self.model));
        let least = u64::from(!counted.complete && !assuming);
        Count { count: counted.count.max(least), complete }
    }

    /// The first execution with a final state that satisfies the condition.
    fn find(&self, condition: &Condition, engine: &mut Option<EngineName>) -> Finding {
        let goal = self.goal(Some(condition), Multiplicity::First);
        let found = self.searcher.first_of(&goal);
        *engine = Some(found.engine);
        match (found.results, found.exploration) {
            (Some(execution), _) => self.replayed(execution, condition),
            (None, Exploration::Complete) => Answer::No,
            (None, Exploration::Incomplete(stop)) => Answer::Unknown(why_open(stop)),
            (None, Exploration::Stopped) => Answer::Unknown(Why::Internal("a search stopped by itself".to_owned())),
        }
    }

    fn replayed(&self, execution: Execution, condition: &Condition) -> Finding {
        let goal = self.goal(Some(condition), Multiplicity::First);
        let states = outcome::Reader::new(self.unfolding, &execution).states(self.terms());
        if !states.iter().any(|state| holds(condition, self.terms(), state)) {
            return Answer::Unknown(Why::Internal("a witness does not satisfy the condition".to_owned()));
        }
        match self.confirmed(&execution, &goal) {
            Ok(()) => Answer::Yes(Reached::Shown(self.shown(execution))),
            Err(why) => Answer::Unknown(why),
        }
    }

    /// Judges an execution with the independent evaluator, which is made ready once.
    fn replay(&self, execution: &Execution, goal: &Goal<'_>) -> Result<Judgement, NotConfirmed> {
        let replayer = self.replayer.get_or_init(|| {
            let replayer = Replayer::new(self.model, self.unfolding);
            replayer.map(|replayer| replayer.watched(|| self.searcher.watch()))
        });
        replayer.as_ref().map_err(Clone::clone)?.judge(execution, goal)
    }

    fn confirmed(&self, execution: &Execution, goal: &Goal<'_>) -> Result<(), Why> {
        match self.replay(execution, goal) {
            Ok(judgement) if judgement.violated.is_empty() => Ok(()),
            Ok(judgement) => {
                Err(Why::Internal(format!("a witness violates {} when replayed", judgement.violated.join(", "))))
            }
            Err(not_confirmed) => Err(not_confirmed.why()),
        }
    }

    /// Asks the other engine about everything that was not found, where that is cheap.
    fn cross_check(&self, targets: &[Target<'_>], answers: &mut Answers) {
        let asked =
            self.options.cross_check == CrossCheck::WhenSmall && self.searcher.estimate.bits <= CROSS_CHECK_BITS;
        let Some(engine) = answers.engine.filter(|_| asked) else { return };
        let mut complete = true;
        for (target, finding) in targets.iter().zip(&mut answers.findings) {
            if !finding.is_no() {
                continue;
            }
            let goal = self.goal(Some(target.condition), Multiplicity::First);
            let mut witness = None;
            let exploration = self.searcher.cross_check(engine, &goal, |execution| {
                witness = Some(execution.clone());
                ControlFlow::Break(())
            });
            match (witness, exploration) {
                (None, Exploration::Complete) => {}
                (None, _) => complete = false,
                (Some(_), _) => {
                    let (first, second) = (engine.name(), engine.other().name());
                    let message = format!("the engine {first} finds nothing, the engine {second} finds an execution");
                    *finding = Answer::Unknown(Why::Internal(message));
                }
            }
        }
        answers.cross_checked = complete;
    }
}
