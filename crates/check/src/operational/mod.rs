//! One test on one machine: the answer to every question, the reachable outcomes, a way to the one that was asked for.
//!
//! The counterpart of [`crate::judge::answers`] for operational models. A verdict means the same; what is counted are the states of
//! the machine and not executions.

mod crash;

use std::collections::BTreeMap;

use fencepost_machine::explore::{Aim, Extent, Limits, Stop};
use fencepost_machine::machine::{Cut, Stuck};
use fencepost_machine::model::{self, Wanted};
use fencepost_machine::requests::{Placement, Requests};
use fencepost_machine::setup::Setup;
use fencepost_program::program::{Condition, Feature, Question, Term, Unsupported};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::FinalState;
use fencepost_program::value::Value;
use fencepost_report::verdict::{Verdict, Why};
use fencepost_report::{Assignment, Number, WhyUnknown};
use fencepost_syntax::limits;
use fencepost_syntax::litmus::QuestionKind;

use crate::budget::Budget;
use crate::judge::question;
use crate::judge::refusal::{not_unfolded, without_meaning};
use crate::look::outcome::{Observed, observed_terms};
use crate::phrase::{self, Notation};
use crate::test::Test;

/// The version of the schema (`docs/schema/machine.schema.json`).
pub const SCHEMA: u32 = 1;

/// What is wanted of a machine.
#[derive(Clone, Debug)]
pub struct Options {
    pub outcomes: Outcomes,
    pub trace: Trace,
    /// How often a loop body is unrolled; spin loops need no unrolling.
    pub bound: u32,
    /// For each exploration.
    pub budget: Budget,
    pub exploring: Exploring,
}

/// How much of a machine is explored, and by how many threads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Exploring {
    /// The most states to be seen.
    pub states: u64,
    pub workers: u32,
}

impl Default for Exploring {
    fn default() -> Exploring {
        let Limits { states, workers, .. } = Limits::default();
        Exploring { states, workers }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Outcomes {
    /// The questions only: a search ends at the first state that decides it.
    #[default]
    Skip,
    /// Every reachable outcome.
    All,
}

/// Whether the way to what a question looks for is told.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Trace {
    #[default]
    None,
    /// A shortest one.
    Shortest,
}

/// The answers to one test on one machine.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Report {
    pub schema: u32,
    pub test: String,
    pub file: String,
    pub row: Option<u32>,
    /// With its options.
    pub machine: String,
    /// As in a report of `check`.
    #[serde(serialize_with = "fencepost_report::verdict_word")]
    pub verdict: Verdict,
    pub why: Option<WhyUnknown>,
    pub questions: Vec<Answer>,
    /// Whether some answer is vacuous.
    pub vacuous: bool,
    /// How many states were seen; of several searches, by the largest.
    pub states: u64,
    pub transitions: u64,
    /// All reachable outcomes; those that were met, where not every state was seen; None where nobody asked for them and
    /// the test asks something else.
    pub outcomes: Option<Vec<Outcome>>,
    /// What crashes leave; None where no memory survives them, or nobody asks.
    pub crashes: Option<Crashes>,
    /// Why the outcomes, and the states that crashes leave, are not all.
    pub incomplete: Option<WhyUnknown>,
    /// States that end a run without an outcome. None where nobody looked: known where the outcomes are, and where no run ends.
    pub stuck: Option<Vec<StuckStates>>,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Answer {
    /// `exists`, `~exists`, `forall`, `permit`, `assert`, `check`.
    pub kind: String,
    pub name: Option<String>,
    pub condition: String,
    #[serde(serialize_with = "fencepost_report::verdict_word")]
    pub verdict: Verdict,
    pub why: Option<WhyUnknown>,
    /// Whether a final state, or what a crash leaves, satisfies the condition (`forall`, `assert`: breaks it); None where that is
    /// not known.
    pub reached: Option<bool>,
    /// It holds only because no run has an outcome (that passes the filter).
    pub vacuous: bool,
    pub trace: Option<Vec<String>>,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Outcome {
    pub values: Assignment,
    /// How many final states of the machine have these values; of what a crash leaves, in how many states it leaves them.
    pub states: u64,
}

/// The answers about crashes.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Crashes {
    pub questions: Vec<Answer>,
    /// What a crash may leave, in any state that was seen: persistent memory, and the registers that are asked for. A register
    /// that had no value yet is left out. None where nobody asked for it.
    pub states: Option<Vec<Outcome>>,
    /// Why the recovery program was not run; None if the test has none.
    pub recovery: Option<WhyUnknown>,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct StuckStates {
    #[serde(skip)]
    pub reason: Stuck,
    /// The reason in words, which `tell` fills in.
    pub why: String,
    pub states: u64,
}

/// What a machine runs, or why it does not.
pub fn requests(test: &Test, setup: &Setup, bound: u32) -> Result<Requests, Why> {
    if let Some(why) = without_meaning(&test.program) {
        return Err(why);
    }
    let persists = test.program.features.iter().find(|feature| feature.node == Feature::Persistence);
    if let Some(persists) = persists.filter(|_| !setup.model.survives_crashes()) {
        let what = format!("persistent memory on the machine {setup}");
        return Err(Why::Unsupported { span: persists.span, what });
    }
    if setup.model.survives_crashes() && test.program.persistent().next().is_none() {
        let what = format!("a test without persistent memory on the machine {setup}: no location is declared `nvm`");
        return Err(Why::Unsupported { span: test.litmus.span(), what });
    }
    let limits = UnfoldOptions { bound, ..UnfoldOptions::default() };
    let unfolding = unfold(&test.program, &limits).map_err(|error| not_unfolded(test, &error))?;
    let placement = Placement::of(&test.program).map(|placement| setup.place(placement, test.architecture));
    placement.and_then(|placement| Requests::of(&unfolding, &placement)).map_err(refused)
}

pub(crate) fn refused(unsupported: Unsupported) -> Why {
    Why::Unsupported { span: unsupported.span, what: unsupported.what }
}

/// Asks a machine.
pub fn run(test: &Test, setup: &Setup, options: &Options) -> Report {
    let mut report = Report {
        schema: SCHEMA,
        test: test.program.name.clone(),
        file: test.source.name.clone(),
        row: test.row,
        machine: setup.to_string(),
        verdict: Verdict::Holds,
        why: None,
        questions: Vec::new(),
        vacuous: false,
        states: 0,
        transitions: 0,
        outcomes: None,
        crashes: None,
        incomplete: None,
        stuck: None,
    };
    let run = Run { test, setup, options };
    let entered = limits::enter(options.budget.limits().deadline, None);
    let requests = requests(test, setup, options.bound);
    drop(entered);
    let asked = requests.and_then(|requests| run.ask(&requests, &mut report));
    if let Err(why) = asked {
        let open = |question: &Question| run.answer(question, Found::Unknown(why.clone()));
        report.questions = test.program.questions.iter().map(open).collect();
        if crash::is_asked(&test.program) {
            let questions = test.program.crash.questions.iter().map(open).collect();
            let states = report.crashes.take().and_then(|crashes| crashes.states);
            report.crashes = Some(Crashes { questions, states, recovery: run.recovery() });
        }
        report.verdict = Verdict::Unknown(why);
    } else {
        let enforced = test.program.questions.iter().zip(&report.questions);
        let enforced = enforced.filter(|(question, _)| question.kind != QuestionKind::Check);
        let of_crashes = report.crashes.iter().flat_map(|crashes| &crashes.questions);
        let recovery = crash::refused_recovery(test, setup).map(Verdict::Unknown);
        let answers = enforced.map(|(_, answer)| answer).chain(of_crashes).map(|answer| &answer.verdict);
        report.verdict = Verdict::worst(answers.chain(&recovery));
        report.vacuous = report.questions.iter().any(|answer| answer.vacuous);
    }
    if let Verdict::Unknown(why) = &report.verdict {
        report.why = Some(WhyUnknown::new(why, &test.source));
    }
    report
}

/// Whether a state that is looked for was found.
enum Found {
    /// And the way there, if it was wanted.
    Reached(Option<Vec<String>>),
    Nowhere,
    Unknown(Why),
}

struct Run<'a> {
    test: &'a Test,
    setup: &'a Setup,
    options: &'a Options,
}

impl Run<'_> {
    fn ask(&self, requests: &Requests, report: &mut Report) -> Result<(), Why> {
        let program = &self.test.program;
        let asks_nothing = program.questions.is_empty() && !crash::is_asked(program);
        let terms = crash::settled(program, requests);
        let aim = if self.setup.model.survives_crashes() { Aim::Crashes(&terms) } else { Aim::Everything };
        let all = match self.options.outcomes {
            Outcomes::Skip if !asks_nothing => None,
            _ => Some(self.explore(requests, &aim, Wanted::Nothing, report)?),
        };
        if let Some(all) = &all {
            report.outcomes = Some(self.outcomes(all));
            if self.setup.model.survives_crashes() {
                let states = Some(crash::states(self.test, &terms, all));
                report.crashes = Some(Crashes { states, ..Crashes::default() });
            }
            let stopped = stopped(all.extent);
            report.incomplete = stopped.as_ref().map(|why| WhyUnknown::new(why, &self.test.source));
            report.stuck = Some(stuck(all));
            // Then the outcomes are what the test is run for.
            if let Some(why) = stopped.filter(|_| asks_nothing) {
                return Err(why);
            }
        }
        for question in &program.questions {
            let condition = question::looked_for(&self.test.program, question);
            let found = match (&all, self.options.trace) {
                (Some(all), Trace::None) => among(all, &condition),
                _ => self.search(requests, &condition, report)?,
            };
            report.questions.push(self.answer(question, found));
        }
        if crash::is_asked(program) {
            let mut questions = Vec::with_capacity(program.crash.questions.len());
            for question in &program.crash.questions {
                let found = self.crash(requests, question, (&terms, all.as_ref()), report)?;
                questions.push(self.answer(question, found));
            }
            let crashes = report.crashes.get_or_insert_default();
            (crashes.questions, crashes.recovery) = (questions, self.recovery());
        }
        let of_all = |answer: &Answer| {
            matches!(answer.kind.as_str(), "forall" | "assert" | "~exists") && answer.verdict == Verdict::Holds
        };
        if report.questions.iter().any(of_all) && self.has_no_outcome(requests, all.as_ref(), report)? {
            report.questions.iter_mut().filter(|answer| of_all(answer)).for_each(|answer| answer.vacuous = true);
        }
        Ok(())
    }

    /// Whether no run has an outcome that passes the filter, so that what is said of all outcomes says nothing. Depth first
    /// one is found at once, if there is any.
    fn has_no_outcome(
        &self,
        requests: &Requests,
        all: Option<&model::Outcomes>,
        report: &mut Report,
    ) -> Result<bool, Why> {
        if let Some(all) = all {
            return Ok(stopped(all.extent).is_none() && filtered(self.test, all).next().is_none());
        }
        let filter = self.test.program.filter.as_ref().map(|filter| filter.node.clone());
        let is_filtered = filter.is_some();
        let aim = filter.unwrap_or(Condition::True);
        let explored =
            self.setup.model.explore(requests, &Aim::Decide(&aim), Wanted::Nothing, &self.limits()).map_err(refused)?;
        let is_none = explored.extent == Extent::Complete;
        // The filter prunes the search, so that other runs may end elsewhere.
        if is_none && !is_filtered {
            report.stuck = Some(stuck(&explored));
        }
        Ok(is_none)
    }

    fn limits(&self) -> Limits<'_> {
        let Exploring { states, workers } = self.options.exploring;
        self.options.budget.exploring(states, workers)
    }

    fn explore(
        &self,
        requests: &Requests,
        aim: &Aim<'_>,
        wanted: Wanted<'_>,
        report: &mut Report,
    ) -> Result<model::Outcomes, Why> {
        let explored = self.setup.model.explore(requests, aim, wanted, &self.limits()).map_err(refused)?;
        report.states = report.states.max(explored.states);
        report.transitions = report.transitions.max(explored.transitions);
        Ok(explored)
    }

    /// Several workers go breadth first; one alone finds something sooner depth first.
    fn search(&self, requests: &Requests, condition: &Condition, report: &mut Report) -> Result<Found, Why> {
        let (aim, wanted) = match self.options.trace {
            Trace::Shortest => (Aim::Reach(condition), Wanted::Trace(condition)),
            Trace::None if self.options.exploring.workers > 1 => (Aim::Reach(condition), Wanted::Nothing),
            Trace::None => (Aim::Decide(condition), Wanted::Nothing),
        };
        let explored = self.explore(requests, &aim, wanted, report)?;
        Ok(match (explored.extent, stopped(explored.extent)) {
            (Extent::Found, _) => Found::Reached(explored.trace),
            (_, Some(why)) => Found::Unknown(why),
            _ => Found::Nowhere,
        })
    }

    fn answer(&self, question: &Question, found: Found) -> Answer {
        let (verdict, reached, trace) = match found {
            Found::Reached(trace) => (question::verdict_of(question.kind, true), Some(true), trace),
            Found::Nowhere => (question::verdict_of(question.kind, false), Some(false), None),
            Found::Unknown(why) => (Verdict::Unknown(why), None, None),
        };
        let why = match &verdict {
            Verdict::Unknown(why) => Some(WhyUnknown::new(why, &self.test.source)),
            _ => None,
        };
        Answer {
            kind: phrase::question_kind(question.kind).to_owned(),
            name: question.name.clone(),
            condition: phrase::condition(&self.test.program, &question.condition, Notation::Named),
            verdict,
            why,
            reached,
            vacuous: false,
            trace,
        }
    }

    /// The states that pass the filter, seen through the terms of the test; through all terms, if it has none.
    fn outcomes(&self, all: &model::Outcomes) -> Vec<Outcome> {
        let terms = observed_terms(&self.test.program, Observed::Test);
        let mut found: BTreeMap<Assignment, u64> = BTreeMap::new();
        for (state, states) in filtered(self.test, all) {
            *found.entry(assignment_of(self.test, &terms, state)).or_default() += states;
        }
        found.into_iter().map(|(values, states)| Outcome { values, states }).collect()
    }
}

fn stuck(explored: &model::Outcomes) -> Vec<StuckStates> {
    let one = |(why, states): (&Stuck, &u64)| StuckStates { reason: *why, why: String::new(), states: *states };
    explored.stuck.iter().map(one).collect()
}

/// The final states that pass the filter of the test.
pub(crate) fn filtered<'a>(
    test: &'a Test,
    all: &'a model::Outcomes,
) -> impl Iterator<Item = (&'a FinalState, u64)> + 'a {
    let filter = test.program.filter.as_ref().map(|filter| &filter.node);
    let passes = move |state: &FinalState| filter.is_none_or(|filter| holds(filter, state));
    all.outcomes.iter().filter(move |(state, _)| passes(state)).map(|(state, states)| (state, *states))
}

/// A final state as reports show it: the terms of the test; all terms, if it has none.
pub fn assignment(test: &Test, state: &FinalState) -> Assignment {
    assignment_of(test, &observed_terms(&test.program, Observed::Test), state)
}

pub(crate) use crash::assignment as left_by_crash;

/// The same of other terms.
pub(crate) fn assignment_of(test: &Test, terms: &[Term], state: &FinalState) -> Assignment {
    let named = |term: &Term| {
        let name = phrase::term(&test.program, term, Notation::Named);
        value(term, state).map(|value| (name.into(), Number::Known(value.0)))
    };
    Assignment(terms.iter().filter_map(named).collect())
}

fn value(term: &Term, state: &FinalState) -> Option<Value> {
    match term {
        Term::Constant(value) => Some(*value),
        Term::Register(thread, register) => state.registers.get(thread.index())?.get(register.index()).copied(),
        Term::Memory(location) => state.memory.get(location.index()).copied(),
    }
}

fn holds(condition: &Condition, state: &FinalState) -> bool {
    condition.evaluate(&mut |term| value(term, state)).unwrap_or(false)
}

/// Whether a condition holds in one of all outcomes.
fn among(all: &model::Outcomes, condition: &Condition) -> Found {
    match stopped(all.extent) {
        _ if all.outcomes.keys().any(|state| holds(condition, state)) => Found::Reached(None),
        Some(why) => Found::Unknown(why),
        None => Found::Nowhere,
    }
}

/// Why an exploration is not complete.
pub(crate) fn stopped(extent: Extent) -> Option<Why> {
    match extent {
        Extent::Complete | Extent::Found => None,
        Extent::Incomplete(stop) => Some(match stop {
            Stop::States => Why::States,
            Stop::Time => Why::Time,
            Stop::Memory => Why::Memory,
            Stop::Cancelled => Why::Cancelled,
            Stop::Cut(Cut::Bound(span)) => Why::Bound(span),
            Stop::Cut(Cut::Wild(span)) => Why::Unsupported {
                span,
                what: "a `trap`, or an access outside every location or its state space".to_owned(),
            },
        }),
    }
}
