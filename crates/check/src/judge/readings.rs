//! One test under one model, with the readings of the specification that matter to it.
//!
//! Every contested point that the program touches and nobody decided is read at its weakest, then all of them at their
//! strongest. Where both give the same answer, the points do not matter to it: what lies between the ends promises no less
//! than the one and no more than the other, though two values between them need not be comparable. Where they do not, the
//! answer is `Depends`, and the smallest set of points that changes it is looked for: with the others at their weakest and
//! the members at their strongest, sets of one point first. The answer is then told under each combination of all values.
//! Questions, races, termination and protocols are told apart, because they depend on different points.

use std::collections::BTreeMap;

use fencepost_axiom::engine::{Ends, Goal};
use fencepost_program::unfolding::TraceEnd;
use fencepost_report::verdict::{Case, Dependence, Verdict, Why};
use fencepost_report::{ProtocolAnswer, Race, RaceAnswer, Reason, Report, TerminationAnswer, UsedReading};
use fencepost_syntax::limits;
use fencepost_syntax::litmus::QuestionKind;

use crate::judge::deepen;
use crate::judge::found::{Checked, Evidence};
use crate::judge::known::refused;
use crate::judge::layers::check_as_read;
use crate::look::outcome;
use crate::model::load::LoadedModel;
use crate::model::readings::{Point, Settings};
use crate::options::Options;
use crate::test::Test;
use crate::write::race_order;

/// Every answer of a test is unknown, for the reason that it was not looked at or not to the end.
pub fn undecided(test: &Test, model: &LoadedModel, options: &Options, why: Why) -> Checked {
    refused(test, model, options, &outcome::terms(&test.program), why)
}

/// Answers one test under one model.
pub fn check(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let options = &options.begun();
    let _entered = enter(options);
    let shown = outcome::showing_registers(test);
    let test = shown.as_ref().unwrap_or(test);
    let (mut checked, _) = answer(test, model, options);
    race_order::leave_out_told(&mut checked);
    race_order::put_causes_first(test, &mut checked);
    checked.report.list_outcomes(options.most_outcomes);
    checked
}

/// Enters the limits of a check, for what asks them by itself.
pub fn enter(options: &Options) -> limits::Entered {
    limits::enter(options.budget.hard_end(), None)
}

/// The answers, races in the order of the text, and how often loops were unrolled for them.
pub fn answer(test: &Test, model: &LoadedModel, options: &Options) -> (Checked, u32) {
    deepen::check(options, |options| check_readings(test, model, options))
}

fn check_readings(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let mut runs = Runs::new(test, model, options);
    let mut checked = runs.check(&options.readings);
    let touched = |point: &&Point| {
        let unfolding = checked.evidence.unfolding.as_ref();
        point.is_contested()
            && options.readings.get(&point.name).is_none()
            && unfolding.is_some_and(|unfolding| point.is_touched(unfolding))
    };
    let points: Vec<&Point> = model.points.iter().filter(touched).collect();
    checked.report.readings = used(model, &options.readings, &points);
    if points.is_empty() {
        return checked;
    }
    let weakest = Outline::new(&checked.report);
    if weakest.is_clean() && points.iter().all(|point| point.id.is_some()) {
        return checked;
    }
    runs.done.insert(options.readings.clone(), weakest.clone());
    let is_filtered = test.program.filter.is_some();
    runs.known = (!is_filtered).then(|| checked.evidence.clone());
    let strongest = runs.outline(&set(&options.readings, &points));
    mark_contested(&mut checked.report, &strongest);
    for (aspect, answer) in &weakest.answers {
        let other = strongest.answers.get(aspect);
        if other == Some(answer) {
            continue;
        }
        let is_open = |answer: Option<&String>| answer.is_none_or(|answer| is_unknown(answer));
        if !is_open(Some(answer)) && is_open(other) && runs.stands(*aspect, &set(&options.readings, &points)) {
            continue;
        }
        if is_open(Some(answer)) || is_open(other) {
            leave_open(&mut checked.report, *aspect, strongest.why.as_ref());
            continue;
        }
        let dependence = runs.dependence(*aspect, answer, &points);
        depend(&mut checked.report, *aspect, dependence);
    }
    conclude(test, &mut checked.report);
    checked
}

/// A thing that is answered.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Aspect {
    Question(usize),
    Races,
    Protocol,
    Termination,
}

/// What a run answered, in words.
#[derive(Clone, Debug)]
struct Outline {
    answers: BTreeMap<Aspect, String>,
    /// Of races.
    pairs: Vec<Places>,
    /// Those are not all.
    more: bool,
    /// No question has a witness, nothing races, no rule is broken, everything ends.
    is_absent: bool,
    /// Why something is not known, if something is not.
    why: Option<Reason>,
}

impl Outline {
    fn new(report: &Report) -> Outline {
        let mut answers = BTreeMap::new();
        for (at, answer) in report.questions.iter().enumerate() {
            answers.insert(Aspect::Question(at), answer.verdict.word().to_owned());
        }
        answers.insert(Aspect::Races, race_word(report.races.answer).to_owned());
        answers.insert(Aspect::Protocol, protocol_word(report.protocol.answer).to_owned());
        answers.insert(Aspect::Termination, end_word(report.termination.answer).to_owned());
        let why = report.questions.iter().find_map(|answer| answer.why.clone());
        let why = why.or_else(|| report.why.clone()).or_else(|| report.termination.why.clone());
        let is_absent = report.questions.iter().all(|answer| answer.witness.is_none())
            && !matches!(report.races.answer, RaceAnswer::Found)
            && !matches!(report.protocol.answer, ProtocolAnswer::Found)
            && !matches!(report.termination.answer, TerminationAnswer::MayHang);
        let pairs = report.races.pairs.iter().map(places).collect();
        Outline { answers, pairs, more: report.races.more, is_absent, why }
    }
}

impl Outline {
    /// Nothing was found, and everything was looked at. A stronger reading of the ISA takes executions and races away and
    /// never adds any: that is what makes it stronger. Of somebody's own readings that is not known.
    fn is_clean(&self) -> bool {
        self.is_absent && self.answers.values().all(|answer| !is_unknown(answer))
    }
}

fn race_word(answer: RaceAnswer) -> &'static str {
    match answer {
        RaceAnswer::None => "none",
        RaceAnswer::Found => "race",
        RaceAnswer::Depends => "depends",
        RaceAnswer::Unknown => "unknown",
        RaceAnswer::NotDefined => "not defined",
        RaceAnswer::NotAsked => "not asked",
    }
}

fn protocol_word(answer: ProtocolAnswer) -> &'static str {
    match answer {
        ProtocolAnswer::None => "kept",
        ProtocolAnswer::Found => "broken",
        ProtocolAnswer::Depends => "depends",
        ProtocolAnswer::Unknown => "unknown",
        ProtocolAnswer::NotAsked => "not asked",
    }
}

fn end_word(answer: TerminationAnswer) -> &'static str {
    match answer {
        TerminationAnswer::Terminates => "terminates",
        TerminationAnswer::MayHang => "may hang",
        TerminationAnswer::Depends => "depends",
        TerminationAnswer::Unknown => "unknown",
        TerminationAnswer::NotAsked => "not asked",
    }
}

fn is_unknown(answer: &str) -> bool {
    answer.eq_ignore_ascii_case("unknown")
}

/// A race by what is the same under all readings: its flag, and the lines and columns of its accesses.
pub type Places = (String, u32, u32, u32, u32);

pub fn places(race: &Race) -> Places {
    (race.flag.clone(), race.first.line, race.first.column, race.second.line, race.second.column)
}

/// The settings with these points at their strongest.
fn set(settings: &Settings, points: &[&Point]) -> Settings {
    points.iter().fold(settings.clone(), |settings, point| settings.with(&point.name, point.strongest()))
}

fn used(model: &LoadedModel, chosen: &Settings, touched: &[&Point]) -> Vec<UsedReading> {
    let used = |point: &Point| {
        let value = chosen.get(&point.name);
        let matters = value.is_some() || touched.iter().any(|touched| touched.name == point.name);
        matters.then(|| UsedReading {
            name: point.name.clone(),
            value: value.unwrap_or(&point.default).to_owned(),
            chosen: value.is_some(),
        })
    };
    model.points.iter().filter_map(used).collect()
}

/// Checks of one test under several readings, each done once.
pub struct Runs<'a> {
    pub test: &'a Test,
    pub model: &'a LoadedModel,
    pub options: &'a Options,
    done: BTreeMap<Settings, Outline>,
    /// The executions behind the first answer.
    known: Option<Evidence>,
}

impl<'a> Runs<'a> {
    pub fn new(test: &'a Test, model: &'a LoadedModel, options: &'a Options) -> Runs<'a> {
        Runs { test, model, options, done: BTreeMap::new(), known: None }
    }

    pub fn check(&self, settings: &Settings) -> Checked {
        let options = self.options;
        match self.model.under(settings, self.test.program.version) {
            Ok(None) => check_as_read(self.test, self.model, options),
            Ok(Some(model)) => {
                let checked = check_as_read(self.test, &model, options);
                Checked { model: Some(model), ..checked }
            }
            Err(error) => {
                let why = Why::Internal(error.to_string());
                refused(self.test, self.model, options, &outcome::terms(&self.test.program), why)
            }
        }
    }

    fn outline(&mut self, settings: &Settings) -> Outline {
        if let Some(outline) = self.done.get(settings) {
            return outline.clone();
        }
        let outline = Outline::new(&self.check(settings).report);
        self.done.insert(settings.clone(), outline.clone());
        outline
    }

    fn answer(&mut self, aspect: Aspect, settings: &Settings) -> String {
        if aspect == Aspect::Races && !self.done.contains_key(settings) && self.still_races(settings) {
            return race_word(RaceAnswer::Found).to_owned();
        }
        self.outline(settings).answers.remove(&aspect).unwrap_or_else(|| "unknown".to_owned())
    }

    /// Whether what was found is there under these readings too, though a search was cut short.
    fn stands(&self, aspect: Aspect, settings: &Settings) -> bool {
        match aspect {
            Aspect::Races => self.still_races(settings),
            Aspect::Question(at) => self.still_shows(at, settings),
            Aspect::Protocol | Aspect::Termination => false,
        }
    }

    /// Whether the witness of a question is consistent under these readings: then it answers the question there too.
    fn still_shows(&self, question: usize, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let (Some(unfolding), Some(Some(witness))) = (&known.unfolding, known.witnesses.get(question)) else {
            return false;
        };
        let Ok(model) = self.model.under(settings, self.test.program.version) else { return false };
        let Ok(replayer) = model.as_deref().unwrap_or(self.model).replayer(unfolding) else { return false };
        let judged = replayer.judge(witness, &Goal::new(Ends::Terminating));
        judged.is_ok_and(|judged| judged.violated.is_empty())
    }

    /// Whether a race that is known is one under these readings too: its execution is judged again, which is much less
    /// than a search.
    fn still_races(&self, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let Some(unfolding) = known.accesses.as_ref().or(known.unfolding.as_ref()) else { return false };
        let Ok(model) = self.model.under(settings, self.test.program.version) else { return false };
        let model = model.as_deref().unwrap_or(self.model);
        let Ok(replayer) = model.replayer(unfolding) else { return false };
        let is_race = |name: &str| model.flags().is_race(name);
        known.races.iter().any(|(_, execution)| {
            let exits = |trace: &fencepost_program::TraceId| {
                let end = unfolding.traces.get(trace.index()).map(|trace| trace.end.clone());
                matches!(end, Some(TraceEnd::Exit | TraceEnd::NotStarted))
            };
            let ends = if execution.traces.iter().all(exits) { Ends::Terminating } else { Ends::Stuck };
            let judged = replayer.judge(execution, &Goal::new(ends));
            judged.is_ok_and(|judged| judged.violated.is_empty() && judged.flags.iter().any(|(name, _)| is_race(name)))
        })
    }

    /// The smallest set of points that changes this answer. That all of them together do is known.
    fn dependence(&mut self, aspect: Aspect, weakest: &str, points: &[&Point]) -> Dependence {
        let mut sets: Vec<u32> = (1..1u32 << points.len().min(16)).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        let mut smallest = points.to_vec();
        for bits in sets {
            let chosen: Vec<&Point> = members(points, bits);
            let answer = self.answer(aspect, &set(&self.options.readings, &chosen));
            if answer != weakest && !is_unknown(&answer) {
                smallest = chosen;
                break;
            }
        }
        let mut combinations: Vec<(Vec<String>, Settings)> = vec![(Vec::new(), self.options.readings.clone())];
        for point in &smallest {
            let grow = |(values, settings): &(Vec<String>, Settings)| {
                let one = |value: &String| {
                    let mut values = values.clone();
                    values.push(value.clone());
                    (values, settings.with(&point.name, value))
                };
                point.values.iter().map(one).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(grow).collect();
        }
        // Each point at its weakest is what was asked first, whatever time is left.
        let is_weakest = |values: &[String]| values.iter().zip(&smallest).all(|(value, point)| *value == point.default);
        let mut case = |(values, settings): (Vec<String>, Settings)| {
            let answer = if is_weakest(&values) { weakest.to_owned() } else { self.answer(aspect, &settings) };
            Case { values, answer }
        };
        let cases = combinations.into_iter().map(&mut case).collect();
        Dependence { readings: smallest.iter().map(|point| point.name.clone()).collect(), cases }
    }
}

fn members<'p>(points: &[&'p Point], bits: u32) -> Vec<&'p Point> {
    points.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|(_, point)| *point).collect()
}

/// Races that the strongest readings do not have.
fn mark_contested(report: &mut Report, strongest: &Outline) {
    let decided = strongest.answers.get(&Aspect::Races).is_some_and(|answer| !is_unknown(answer));
    let decided = decided && !strongest.more;
    for race in &mut report.races.pairs {
        race.contested = decided && !strongest.pairs.contains(&places(race));
    }
}

/// One end gave no answer, so there is none.
fn leave_open(report: &mut Report, aspect: Aspect, why: Option<&Reason>) {
    let unknown = || Verdict::Unknown(Why::Size("not decided under every reading of the specification".to_owned()));
    match aspect {
        Aspect::Question(at) => {
            let Some(answer) = report.questions.get_mut(at) else { return };
            answer.why = answer.why.take().or_else(|| why.cloned());
            answer.verdict = unknown();
        }
        Aspect::Races => report.races.answer = RaceAnswer::Unknown,
        Aspect::Protocol => report.protocol.answer = ProtocolAnswer::Unknown,
        Aspect::Termination => {
            report.termination.answer = TerminationAnswer::Unknown;
            report.termination.why = report.termination.why.take().or_else(|| why.cloned());
        }
    }
}

fn depend(report: &mut Report, aspect: Aspect, dependence: Dependence) {
    match aspect {
        Aspect::Question(at) => {
            let Some(answer) = report.questions.get_mut(at) else { return };
            answer.depends = Some(dependence.clone());
            answer.verdict = Verdict::Depends(dependence);
        }
        Aspect::Races => {
            report.races.answer = RaceAnswer::Depends;
            report.races.depends = Some(dependence);
        }
        Aspect::Protocol => {
            report.protocol.answer = ProtocolAnswer::Depends;
            report.protocol.depends = Some(dependence);
        }
        Aspect::Termination => {
            report.termination.answer = TerminationAnswer::Depends;
            report.termination.depends = Some(dependence);
        }
    }
}

/// The verdict of the test, now that those of its questions are settled.
fn conclude(test: &Test, report: &mut Report) {
    let enforced = test.program.questions.iter().zip(&report.questions);
    let enforced = enforced.filter(|(question, _)| question.kind != QuestionKind::Check);
    let verdicts: Vec<&Verdict> = enforced.map(|(_, answer)| &answer.verdict).collect();
    if verdicts.is_empty() {
        return;
    }
    report.verdict = Verdict::worst(verdicts.iter().copied());
    report.depends = match &report.verdict {
        Verdict::Depends(dependence) => Some(dependence.clone()),
        _ => None,
    };
    report.why = match &report.verdict {
        Verdict::Unknown(_) => report.questions.iter().find_map(|answer| answer.why.clone()),
        _ => None,
    };
}
