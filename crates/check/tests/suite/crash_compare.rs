//! What a check reports of the crashes of a random program, and whether that is what the definition gives
//! ([`super::crash_literal`]): the states, the number of executions, and the answer to the question.

#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fencepost_axiom::engine::Ends;
use fencepost_check::model::readings::Settings;
use fencepost_check::options::{CrossCheck, Outcomes, Wanted};
use fencepost_check::{LoadedModel, Models, Options, Test, check, load};
use fencepost_report::crash::Crashes;
use fencepost_report::{Assignment, Number};
use fencepost_syntax::{Diagnostic, Source};

use super::crash_literal::{Executions, State, TooLarge};
use super::crash_programs::{Asked, Claim, Program, Random};
use super::crash_shrink::shrink;

pub const MODELS: [&str; 5] = ["sbrp", "epoch", "epoch-buffered", "gpm", "strict"];

/// A model with its readings chosen.
#[derive(Clone)]
pub struct Subject {
    pub name: &'static str,
    pub readings: Settings,
    model: Arc<LoadedModel>,
}

impl Subject {
    /// With the readings that it has by default, said aloud: so none is tried the other way.
    pub fn shipped(name: &'static str) -> Subject {
        let model = Arc::new(Models::shipped(name).expect("a shipped model"));
        Subject { name, readings: Subject::defaults(&model), model }
    }

    /// A model that is not shipped.
    pub fn of_text(name: &'static str, text: &str) -> Subject {
        let model = Models::from_source(name, Source::new(format!("{name}.cat"), text), &mut |_| None);
        let model = Arc::new(model.unwrap_or_else(|errors| panic!("{name}: {:?}", errors.first())));
        Subject { name, readings: Subject::defaults(&model), model }
    }

    fn defaults(model: &LoadedModel) -> Settings {
        model.points.iter().fold(Settings::default(), |all, point| all.with(&point.name, &point.default))
    }

    #[must_use]
    pub fn with(&self, reading: &str, value: &str) -> Subject {
        Subject { readings: self.readings.with(reading, value), ..self.clone() }
    }

    /// Each reading of the model's own at random.
    #[must_use]
    pub fn with_random_readings(&self, random: &mut Random) -> Subject {
        let own = self.model.points.iter().filter(|point| point.id.is_none());
        let readings = own.fold(self.readings.clone(), |all, point| {
            all.with(&point.name, &point.values[random.below(point.values.len())])
        });
        Subject { readings, ..self.clone() }
    }

    pub fn model(&self) -> &LoadedModel {
        &self.model
    }

    /// The model as it is read.
    fn read(&self, test: &Test) -> Arc<LoadedModel> {
        let under = self.model.under(&self.readings, test.program.version).expect("readings that compile");
        under.unwrap_or_else(|| Arc::clone(&self.model))
    }

    /// The readings that are not the defaults.
    pub fn words(&self) -> String {
        let defaults = Subject::defaults(&self.model);
        let other = self.readings.0.iter().filter(|(name, value)| defaults.get(name) != Some(value.as_str()));
        let other: Vec<String> = other.map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{}{}", self.name, other.concat())
    }
}

pub fn options(subject: &Subject) -> Options {
    Options {
        readings: subject.readings.clone(),
        outcomes: Outcomes::All,
        races: Wanted::No,
        termination: Wanted::No,
        cross_check: CrossCheck::Off,
        ..Options::default()
    }
}

pub fn loaded(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("random.litmus", text));
    let wrong: Vec<&Diagnostic> = diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(wrong.is_empty() && tests.len() == 1, "{text}\n{wrong:?}");
    tests.remove(0)
}

/// Values by name.
pub fn state(values: &Assignment) -> State {
    let known = values.0.iter().map(|(name, number)| match number {
        Number::Known(value) => (name.to_string(), *value),
        Number::Unknown(value) => panic!("a random program has no unknown value {value}"),
    });
    known.collect()
}

/// What a report says.
pub struct Reported {
    pub states: BTreeSet<State>,
    pub executions: u64,
    /// Of the question: `Holds` or `Violated`.
    pub verdict: String,
}

/// None if the report is not complete.
pub fn reported(text: &str, subject: &Subject) -> Option<Reported> {
    let report = check(&loaded(text), &subject.model, &options(subject)).report;
    let crashes: Crashes = report.crashes?;
    let executions = crashes.executions.filter(|executions| executions.complete)?.count;
    let states = crashes.states.iter().map(|left| state(&left.values)).collect();
    let verdict = crashes.questions.first().map_or(String::new(), |answer| answer.verdict.word().to_owned());
    Some(Reported { states, executions, verdict })
}

/// What persistent memory may hold, after a crash.
pub fn images(program: &Program, subject: &Subject) -> Option<BTreeSet<State>> {
    let asking_nothing = Program { claims: Vec::new(), ..program.clone() };
    // Of a program without persistent memory, which may not ask about crashes, nothing is left.
    if asking_nothing.terms().is_empty() {
        return Some([State::new()].into());
    }
    reported(&asking_nothing.text(), subject).map(|reported| reported.states)
}

/// Whether the question is answered so by the states.
fn expected(program: &Program, states: &BTreeSet<State>) -> &'static str {
    let holds = |claim: &Claim, state: &State| state.get(&claim.term.name()) == Some(&i128::from(claim.value));
    let satisfies = |state: &State| program.claims.iter().all(|claim| holds(claim, state));
    let is_so = match program.asked {
        Asked::Exists => states.iter().any(satisfies),
        Asked::NotExists => !states.iter().any(satisfies),
        Asked::ForAll => states.iter().all(satisfies),
    };
    if is_so { "Holds" } else { "Violated" }
}

/// How the two differ. A smaller program must differ in the same way.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Difference {
    /// The definition gives a state that the report does not have.
    Missing,
    /// The other way round.
    TooMany,
    Executions,
    Verdict,
    /// The two definitions themselves.
    Definitions,
}

/// What was compared.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    pub compared: u64,
    pub executions: u64,
    /// Executions that never end.
    pub stuck: u64,
    pub states: u64,
    /// Questions that hold.
    pub held: u64,
    /// Programs small enough for the definition of the library too.
    pub twice: u64,
    pub too_large: BTreeMap<String, u64>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { compared, executions, stuck, states, held, twice, too_large } = self;
        write!(f, "{compared} compared ({twice} with both definitions), {executions} executions ({stuck} never end)")?;
        write!(f, ", {states} states, {held} questions hold, too large {too_large:?}")
    }
}

/// Those of a program under a model, by brute force.
pub fn executions(program: &Program, subject: &Subject) -> Result<Executions, TooLarge> {
    let test = loaded(&program.text());
    Executions::new(&test, &subject.read(&test), &options(subject))
}

/// What differs, if something does; `Err` if the definition has too much to go through.
pub fn difference(program: &Program, subject: &Subject, tally: &mut Tally) -> Result<Option<Difference>, TooLarge> {
    let text = program.text();
    let test = loaded(&text);
    let executions = executions(program, subject)?;
    let states = executions.states(program, None)?;
    let Some(reported) = reported(&text, subject) else { return Ok(Some(Difference::Executions)) };
    tally.compared += 1;
    tally.executions += executions.found.len() as u64;
    tally.stuck += executions.found.iter().filter(|(ends, ..)| *ends == Ends::Stuck).count() as u64;
    tally.states += states.len() as u64;
    tally.held += u64::from(reported.verdict == "Holds");
    let by_sets = executions.states_by_sets(&test);
    tally.twice += u64::from(by_sets.is_ok());
    Ok(match () {
        () if by_sets.is_ok_and(|by_sets| by_sets != states) => Some(Difference::Definitions),
        () if !states.is_subset(&reported.states) => Some(Difference::Missing),
        () if states != reported.states => Some(Difference::TooMany),
        () if executions.found.len() as u64 != reported.executions => Some(Difference::Executions),
        () if expected(program, &states) != reported.verdict => Some(Difference::Verdict),
        () => None,
    })
}

/// Compares one program under a model; the error is the smallest program that differs in the same way.
pub fn compare(program: &Program, subject: &Subject, tally: &mut Tally) -> Result<(), String> {
    let found = match difference(program, subject, tally) {
        Ok(found) => found,
        Err(why) => {
            *tally.too_large.entry(format!("{why:?}")).or_default() += 1;
            None
        }
    };
    let Some(found) = found else { return Ok(()) };
    let again = |program: &Program| difference(program, subject, &mut Tally::default()).ok().flatten();
    let small = shrink(program, &again);
    Err(format!(
        "{} under {}\n{}{}",
        format_args!("{found:?}"),
        subject.words(),
        small.text(),
        details(&small, subject)
    ))
}

/// The states that only one of the two has.
fn details(program: &Program, subject: &Subject) -> String {
    let Ok(executions) = executions(program, subject) else { return String::new() };
    let states = executions.states(program, None).unwrap_or_default();
    let Some(reported) = reported(&program.text(), subject) else { return "the report is not complete".to_owned() };
    let missing: Vec<&State> = states.difference(&reported.states).collect();
    let too_many: Vec<&State> = reported.states.difference(&states).collect();
    format!(
        "not reported: {missing:?}\nnot by the definition: {too_many:?}\n{} executions reported, {} by brute force\n",
        reported.executions,
        executions.found.len()
    )
}
