//! What a test lacks under an older model of PTX, which knows the same races as the whole one (`agreement.rs` of the tests of
//! `check` lists where not) and nothing of what makes them: it is told as the whole one finds it.
//!
//! To answer the whole test again, with every question, reading and replay, takes longer than all the rest. Where the test only
//! races, its executions under the whole model are looked at once: they show each race, and are what a changed test is
//! compared with. Only what that leaves open is answered again.

use std::sync::{Arc, Mutex, PoisonError};

use fencepost_check::judge::readings::places;
use fencepost_check::judge::refusal::refusal;
use fencepost_check::look::race::RaceKey;
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_program::initial::unknowns;
use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::Verdict;
use fencepost_report::{Diagnosis, QuestionAnswer, Race, Report, TerminationAnswer};
use fencepost_syntax::sorted::SortedMap;

use crate::races::{MOST_RACES, Raced, of_races};
use crate::verify::{AsItIs, Verifier, observe};

/// `again` answers the whole test under a model.
pub(crate) fn diagnose_by_whole_model(
    test: &Test,
    whole: &str,
    options: &Options,
    report: &mut Report,
    again: impl Fn(&LoadedModel) -> Report,
) {
    let hangs = report.termination.answer == TerminationAnswer::MayHang;
    if report.races.pairs.is_empty() && !hangs && !report.questions.iter().any(forbids) {
        return;
    }
    let Some(whole) = shipped(whole) else { return };
    match diagnosed(test, &whole, options, report) {
        Some(diagnoses) => {
            for (race, diagnosis) in report.races.pairs.iter_mut().zip(diagnoses) {
                race.diagnosis = Some(diagnosis);
            }
        }
        None => take_over(report, again(&whole)),
    }
}

/// The model of this name, read once.
fn shipped(name: &str) -> Option<Arc<LoadedModel>> {
    static WHOLE: Mutex<SortedMap<String, Option<Arc<LoadedModel>>>> = Mutex::new(SortedMap::new());
    let mut models = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    models.entry(name.to_owned()).or_insert_with(|| Models::shipped(name).map(Arc::new)).clone()
}

fn forbids(answer: &QuestionAnswer) -> bool {
    answer.verdict == Verdict::Violated && answer.witness.is_some()
}

/// A cure for each race of a test that does nothing else that is wrong; None where there is more to say.
fn diagnosed(test: &Test, whole: &LoadedModel, options: &Options, report: &Report) -> Option<Vec<Diagnosis>> {
    let races = &report.races.pairs;
    let is_plain = races.iter().all(|race| race.kind == FindingKind::DataRace && !race.contested);
    let is_few = !races.is_empty() && races.len() <= MOST_RACES && !report.races.more;
    let ends = report.termination.answer != TerminationAnswer::MayHang;
    if !is_plain || !is_few || !ends || !unknowns(&test.program).is_empty() {
        return None;
    }
    let read = whole.under(&options.readings, test.program.version).ok()?;
    let model = read.as_deref().unwrap_or(whole);
    if refusal(test, model).is_some() {
        return None;
    }
    let AsItIs { verifier, unfolding, races: found } = Verifier::of_test(test, model, options)?;
    let is_touched = whole.points.iter().any(|point| {
        point.is_contested() && options.readings.get(&point.name).is_none() && point.is_touched(&unfolding)
    });
    if is_touched {
        return None;
    }
    let mut diagnoses = vec![None; races.len()];
    let of_whole = |(race, diagnosis): (&Race, _)| {
        let starts = (race.first.start.min(race.second.start), race.first.start.max(race.second.start));
        let is_same = |key: &RaceKey, pair| {
            key.kind == FindingKind::DataRace && key.is_pair() && observe::places(&unfolding, pair) == starts
        };
        let (_, example) = found.races.iter().find(|(key, example)| is_same(key, example.pair))?;
        let (pair, execution) = (example.pair, example.execution.as_ref());
        Some(Raced { kind: FindingKind::DataRace, is_of_warp: false, pair, execution, diagnosis })
    };
    let raced = races.iter().zip(&mut diagnoses).map(of_whole).collect::<Option<Vec<Raced<'_>>>>()?;
    of_races(test, (&unfolding, model), &verifier, raced);
    diagnoses.into_iter().map(|found: Option<Diagnosis>| found.filter(|diagnosis| diagnosis.confirmed)).collect()
}

/// What another report says of the same races, questions and waits.
fn take_over(report: &mut Report, found: Report) {
    let hangs = report.termination.answer == TerminationAnswer::MayHang;
    for race in &mut report.races.pairs {
        let same = found.races.pairs.iter().find(|other| places(other) == places(race));
        race.diagnosis = same.and_then(|other| other.diagnosis.clone());
    }
    for (answer, other) in report.questions.iter_mut().zip(found.questions) {
        answer.cause = other.cause.filter(|_| forbids(answer) && report.races.pairs.is_empty());
    }
    if hangs && found.termination.answer == TerminationAnswer::MayHang {
        report.termination.reasons = found.termination.reasons;
        report.termination.missing = found.termination.missing;
    }
}
