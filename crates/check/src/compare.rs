//! Two models against each other: which final states each reaches, whatever kind of model it is.
//!
//! Axioms and machines answer with the same [`Outcomes`], so that "operational within axiomatic" and "this version within
//! that one" are one comparison. An outcome is a value for every register and every location, not only for those a test
//! asks about. Where either side does not know all its outcomes, nothing is concluded and the test is counted as skipped,
//! with the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use fencepost_machine::explore::Aim;
use fencepost_machine::model::Wanted as WantedTrace;
use fencepost_machine::setup::Setup;
use fencepost_program::program::{Condition, Crash, Question, Term};
use fencepost_program::unfold::{UnfoldOptions, Unmodelled, unfold};
use fencepost_program::value::Value;
use fencepost_report::why::{Undecided, Why};
use fencepost_report::{Assignment, Number, RaceAnswer, Report, WhyUnknown};
use fencepost_syntax::litmus::{Comparison, QuestionKind};
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::judge::found::Checked;
use crate::look::outcome::{Observed, observed_terms};
use crate::model::load::LoadedModel;
use crate::model::readings::Settings;
use crate::operational::{self, Exploring, Trace};
use crate::options::{Options, Outcomes as Counted, Wanted};
use crate::phrase::{self, Notation};
use crate::test::Test;

/// A model of either kind.
#[derive(Clone, Debug)]
pub enum Side {
    Axioms(Arc<LoadedModel>, Settings),
    Machine(Setup),
}

impl Side {
    pub fn name(&self) -> String {
        match self {
            Side::Axioms(model, settings) if settings.is_empty() => model.name.clone(),
            Side::Axioms(model, settings) => {
                let chosen: Vec<String> = settings.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{}:{}", model.name, chosen.join(":"))
            }
            Side::Machine(setup) => setup.to_string(),
        }
    }
}

/// The final states that a model reaches, each with how often it was met: executions, or states of a machine. What crashes leave
/// on a machine is not counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcomes {
    pub states: BTreeMap<Assignment, u64>,
    pub behaviour: Behaviour,
}

/// Whether the outcomes of a test are those that its executions have.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Behaviour {
    #[default]
    Defined,
    /// Every outcome is possible, also those that no execution of the model has ([`fencepost_report::Undefined`]).
    Undefined,
}

/// How the outcomes of the left side lie to those of the right.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    Equal,
    /// The left is within the right, and smaller.
    Within,
    Contains,
    Incomparable,
}

impl Relation {
    pub fn of(only_left: bool, only_right: bool) -> Relation {
        match (only_left, only_right) {
            (false, false) => Relation::Equal,
            (false, true) => Relation::Within,
            (true, false) => Relation::Contains,
            (true, true) => Relation::Incomparable,
        }
    }

    /// What holds of both tests.
    pub fn and(self, other: Relation) -> Relation {
        let more = |it: Relation| matches!(it, Relation::Contains | Relation::Incomparable);
        let fewer = |it: Relation| matches!(it, Relation::Within | Relation::Incomparable);
        Relation::of(more(self) || more(other), fewer(self) || fewer(other))
    }

    pub fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "=",
            Relation::Within => "⊂",
            Relation::Contains => "⊃",
            Relation::Incomparable => "≠",
        }
    }
}

/// One test under both.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Row {
    pub test: String,
    pub file: String,
    pub row: Option<u32>,
    #[serde(flatten)]
    pub result: Result,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Result {
    Compared {
        relation: Relation,
        /// The sides under which the behaviour is undefined, so that every outcome is possible.
        undefined: Vec<Which>,
        /// How many outcomes each side has; those that executions have, where the behaviour is undefined.
        left: usize,
        right: usize,
        only_left: Vec<Apart>,
        only_right: Vec<Apart>,
    },
    Skipped {
        /// Which side does not know, by its name.
        side: String,
        why: WhyUnknown,
        /// It might know with more time or memory, or a larger bound.
        limit: bool,
    },
}

/// Left or right.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Which {
    Left,
    Right,
}

/// An outcome that one side has alone.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Apart {
    pub outcome: Assignment,
    /// How the side that has it gets there: a trace, or an execution as a story. Of the first outcome only, and where it was
    /// asked for.
    pub witness: Option<String>,
}

/// Tells how a checked test gets to what it asks for.
pub type Teller = fn(&Test, &LoadedModel, &Checked) -> String;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Comparing {
    pub observed: Observed,
    /// Of the first outcome that one side has alone, a witness is told.
    pub witness: Option<Teller>,
    /// For axioms; of machines, the limits and the bound.
    pub axioms: Options,
    pub machine: Exploring,
}

impl Outcomes {
    fn is_undefined(&self) -> bool {
        self.behaviour == Behaviour::Undefined
    }

    fn has(&self, state: &Assignment) -> bool {
        self.is_undefined() || self.states.contains_key(state)
    }
}

/// Compares two models on one test.
pub fn compare(test: &Test, left: &Side, right: &Side, comparing: &Comparing) -> Row {
    let (name, file, row) = (test.program.name.clone(), test.source.name.clone(), test.row);
    let terms = modelled(test, observed_terms(&test.program, comparing.observed), comparing.axioms.bound);
    let skipped = |side: &Side, why: &Why| {
        let limit = !matches!(why, Why::Unsupported { .. } | Why::MixedSize { .. } | Why::ThinAir);
        Result::Skipped { side: side.name(), why: WhyUnknown::new(why, &test.source), limit }
    };
    let lefts = match outcomes(test, left, &terms, comparing) {
        Ok(outcomes) => outcomes,
        Err(why) => return Row { test: name, file, row, result: skipped(left, &why) },
    };
    let rights = match outcomes(test, right, &terms, comparing) {
        Ok(outcomes) => outcomes,
        Err(why) => return Row { test: name, file, row, result: skipped(right, &why) },
    };
    let varying = varying(&lefts.states, &rights.states);
    let only = |own: &Outcomes, other: &Outcomes, side: &Side| -> Vec<Apart> {
        let missing = own.states.keys().filter(|state| !other.has(state));
        let apart = |(at, state): (usize, &Assignment)| Apart {
            outcome: Assignment(state.0.iter().filter(|(name, _)| varying.contains(name)).cloned().collect()),
            witness: (comparing.witness.filter(|_| at == 0))
                .and_then(|tell| witness(test, side, &terms, state, (comparing, tell))),
        };
        missing.enumerate().map(apart).collect()
    };
    let (only_left, only_right) = (only(&lefts, &rights, left), only(&rights, &lefts, right));
    let (any_left, any_right) = (lefts.is_undefined(), rights.is_undefined());
    // Executions are examples where the behaviour is undefined: it is not only they that the other side lacks.
    let relation =
        Relation::of(!only_left.is_empty() || any_left && !any_right, !only_right.is_empty() || any_right && !any_left);
    let sides = [(any_left, Which::Left), (any_right, Which::Right)];
    let undefined = sides.into_iter().filter(|(any, _)| *any).map(|(_, which)| which).collect();
    let (left, right) = (lefts.states.len(), rights.states.len());
    let result = Result::Compared { relation, undefined, left, right, only_left, only_right };
    Row { test: name, file, row, result }
}

/// Values without a model (floating-point arithmetic) are not compared: the two sides know them by names of their own.
fn modelled(test: &Test, mut terms: Vec<Term>, bound: u32) -> Vec<Term> {
    let asked = asking(test, &terms, &[Condition::True]);
    let limits = UnfoldOptions { bound, unmodelled: Unmodelled::Noted, ..UnfoldOptions::default() };
    if let Some(found) = unfold(&asked.program, &limits).ok().and_then(|unfolding| unfolding.unmodelled) {
        terms.retain(|term| !found.terms.contains(term));
    }
    terms
}

/// The terms that do not have one value throughout; the others only make outcomes long.
fn varying(left: &BTreeMap<Assignment, u64>, right: &BTreeMap<Assignment, u64>) -> SortedSet<Arc<str>> {
    // The first value of each, and whether another one is there too.
    let mut values: SortedMap<&Arc<str>, (&Number, bool)> = SortedMap::new();
    for (name, value) in left.keys().chain(right.keys()).flat_map(|state| &state.0) {
        let (first, varies) = values.entry(name).or_insert((value, false));
        *varies |= *first != value;
    }
    values.into_iter().filter(|(_, (_, varies))| *varies).map(|(name, _)| name.clone()).collect()
}

/// Every outcome of a test, or why they are not all known.
pub fn outcomes(test: &Test, side: &Side, terms: &[Term], comparing: &Comparing) -> std::result::Result<Outcomes, Why> {
    match side {
        _ if comparing.observed == Observed::Crash && terms.is_empty() => {
            let what = "a test without persistent memory: no location is declared `nvm`".to_owned();
            Err(Why::Unsupported { span: test.litmus.span(), what })
        }
        Side::Axioms(model, settings) if comparing.observed == Observed::Crash => {
            crash_states(test, model, settings, &comparing.axioms)
        }
        Side::Axioms(model, settings) => axiomatic(test, model, settings, terms, &comparing.axioms),
        Side::Machine(setup) => machine(test, setup, terms, comparing),
    }
}

/// What persistent memory may hold after a crash. Counted is in how many executions a crash may leave it.
fn crash_states(
    test: &Test,
    model: &Arc<LoadedModel>,
    settings: &Settings,
    options: &Options,
) -> std::result::Result<Outcomes, Why> {
    let mut program = asking(test, &[], &[]).program;
    program.crash = Crash { questions: vec![crash_question(test, Condition::False)], recovery: None };
    let options = Options { outcomes: Counted::All, races: Wanted::No, readings: settings.clone(), ..options.clone() };
    let report = crate::check(&test.with_program(program), model, &options).report;
    let Some(crashes) = report.crashes else { return Err(Why::Internal("no crashes were looked at".to_owned())) };
    // Whether `false` holds after some crash takes every execution.
    if let Some(crate::Verdict::Unknown(why)) = crashes.questions.first().map(|answer| &answer.verdict) {
        return Err(why.clone());
    }
    let states = crashes.states.into_iter().map(|state| (state.values, state.executions)).collect();
    Ok(Outcomes { states, behaviour: Behaviour::Defined })
}

fn crash_question(test: &Test, condition: Condition) -> Question {
    Question { kind: QuestionKind::Exists, name: None, condition, span: test.litmus.span() }
}

fn axiomatic(
    test: &Test,
    model: &Arc<LoadedModel>,
    settings: &Settings,
    terms: &[Term],
    options: &Options,
) -> std::result::Result<Outcomes, Why> {
    let asked = asking(test, terms, &[Condition::True, Condition::False]);
    let options = Options {
        outcomes: Counted::All,
        races: Wanted::No,
        termination: Wanted::No,
        readings: settings.clone(),
        ..options.clone()
    };
    let report = crate::check(&asked, model, &options).report;
    // One race is enough, whatever else is not known.
    let behaviour = if report.undefined.is_some() { Behaviour::Undefined } else { Behaviour::Defined };
    if behaviour == Behaviour::Defined {
        known(&report, model)?;
    }
    let wanted: SortedSet<Arc<str>> = terms.iter().map(|term| named(test, term).into()).collect();
    let mut states: BTreeMap<Assignment, u64> = BTreeMap::new();
    for outcome in report.outcomes {
        let values = outcome.values.0.into_iter().filter(|(name, _)| wanted.contains(name)).collect();
        *states.entry(Assignment(values)).or_default() += outcome.executions;
    }
    Ok(Outcomes { states, behaviour })
}

/// Why a report has not all outcomes, if it has not. One of the questions must be whether `false` is reached: the answer
/// takes every execution, so that it has the cause where some were not seen.
pub fn unseen(report: &Report) -> Option<Why> {
    let unknown = report.questions.iter().find_map(|answer| match &answer.verdict {
        crate::Verdict::Unknown(why) => Some(why.clone()),
        _ => None,
    });
    let is_complete = report.executions.is_some_and(|count| count.complete);
    unknown.or_else(|| (!is_complete).then_some(Why::Size(Undecided::Executions)))
}

/// Whether a report has all outcomes. Where a race would make the behaviour undefined, it must be known that there is none.
fn known(report: &Report, model: &LoadedModel) -> std::result::Result<(), Why> {
    if let Some(why) = unseen(report) {
        return Err(why);
    }
    if model.flags().undefine() && report.races.answer == RaceAnswer::Unknown {
        return Err(report.races.why.clone().unwrap_or(Why::Size(Undecided::Races)));
    }
    Ok(())
}

fn machine(test: &Test, setup: &Setup, terms: &[Term], comparing: &Comparing) -> std::result::Result<Outcomes, Why> {
    let requests = operational::requests(test, setup, comparing.axioms.bound)?;
    let Exploring { states, workers } = comparing.machine;
    let limits = comparing.axioms.budget.exploring(states, workers);
    let mut states: BTreeMap<Assignment, u64> = BTreeMap::new();
    if comparing.observed == Observed::Crash {
        let found = setup.model.images(&requests, terms, &limits).map_err(operational::refused)?;
        if let Some(why) = operational::stopped(found.extent) {
            return Err(why);
        }
        states.extend(found.images.iter().map(|left| (operational::left_by_crash(test, terms, left), 1)));
        return Ok(Outcomes { states, behaviour: Behaviour::Defined });
    }
    let explored = setup.model.explore(&requests, &Aim::Everything, WantedTrace::Nothing, &limits);
    let explored = explored.map_err(operational::refused)?;
    if let Some(why) = operational::stopped(explored.extent) {
        return Err(why);
    }
    for (state, count) in operational::filtered(test, &explored) {
        *states.entry(operational::assignment_of(test, terms, state)).or_default() += count;
    }
    Ok(Outcomes { states, behaviour: Behaviour::Defined })
}

fn named(test: &Test, term: &Term) -> String {
    phrase::term(&test.program, term, Notation::Named)
}

/// The test asked whether final states with these terms satisfy conditions.
pub fn asking(test: &Test, terms: &[Term], conditions: &[Condition]) -> Test {
    let mut program = test.program.clone();
    let span = test.litmus.span();
    let question = |condition: &Condition| {
        let condition = condition.clone();
        Question { kind: QuestionKind::Exists, name: None, condition, span }
    };
    program.questions = conditions.iter().map(question).collect();
    program.shown = terms.to_vec();
    test.with_program(program)
}

/// How a side gets to an outcome.
fn witness(
    test: &Test,
    side: &Side,
    terms: &[Term],
    state: &Assignment,
    (comparing, tell): (&Comparing, Teller),
) -> Option<String> {
    let equal = |term: &Term| {
        let name = named(test, term);
        let value = state.0.iter().find(|(it, _)| **it == *name).map(|(_, value)| value)?;
        let Number::Known(value) = value else { return None };
        Some(Condition::Compare { op: Comparison::Equal, left: *term, right: Term::Constant(Value(*value)) })
    };
    let condition = Condition::And(terms.iter().map(equal).collect::<Option<_>>()?);
    let asked = match comparing.observed {
        Observed::Crash => {
            let mut program = asking(test, &[], &[]).program;
            program.crash = Crash { questions: vec![crash_question(test, condition)], recovery: None };
            test.with_program(program)
        }
        _ => asking(test, &[], &[condition]),
    };
    match side {
        Side::Axioms(model, settings) => {
            let options = Options { outcomes: Counted::Skip, readings: settings.clone(), ..comparing.axioms.clone() };
            let checked = crate::check(&asked, model, &options);
            let read = checked.model.clone().unwrap_or_else(|| Arc::clone(model));
            Some(tell(&asked, &read, &checked))
        }
        Side::Machine(setup) => {
            let options = operational::Options {
                outcomes: operational::Outcomes::Skip,
                trace: Trace::Shortest,
                bound: comparing.axioms.bound,
                budget: comparing.axioms.budget.clone(),
                exploring: comparing.machine,
            };
            let report = operational::run(&asked, setup, &options);
            let of_crashes = report.crashes.into_iter().flat_map(|crashes| crashes.questions);
            let trace = report.questions.into_iter().chain(of_crashes).next()?.trace?;
            let line = |(at, step): (usize, &String)| format!("  {:>3}  {step}\n", at + 1);
            Some(trace.iter().enumerate().map(line).collect())
        }
    }
}
