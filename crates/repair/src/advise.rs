//! A test checked, with what each race, hang or broken promise of it lacks.
//!
//! Of a time limit the answer has five sixths, the repairs what is left. A race that has no repair under the weakest
//! readings is looked at under stronger ones, and one under an older model of PTX under the whole one.

use std::sync::Arc;

use fencepost_check::Budget;
use fencepost_check::judge::found::Checked;
use fencepost_check::judge::readings::{self, Places, Runs, places};
use fencepost_check::look::outcome;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::model::readings::Point;
use fencepost_check::model::vocabulary::Repairs;
use fencepost_check::options::Options;
use fencepost_check::test::{Test, persist_granularity};
use fencepost_check::write::race_order;
use fencepost_report::{Diagnosis, Race, Report};
use fencepost_syntax::sorted::SortedMap;

use crate::fix::{Fixed, Fixing, cheapest};
use crate::races::{MOST_RACES, is_for};
use crate::verify::is_checked_again;
use crate::whole::Engine;
use crate::{crash, missing, older_model, whole};

/// Answers one test under one model, and says what is missing where something is, if that is wanted.
pub fn advise(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let options = &options.begun();
    let _entered = readings::enter(options);
    let cut = persist_granularity::cut(test, options.persist_granularity);
    let test = cut.as_ref().unwrap_or(test);
    let shown = outcome::showing_registers(test);
    let test = shown.as_ref().unwrap_or(test);
    let answering = Options { budget: for_answer(options, model), ..options.clone() };
    let (mut checked, bound) = readings::answer(test, model, &answering);
    // What the answer has left of its time is for the repairs.
    let options = &Options { bound, ..options.clone() };
    race_order::leave_out_told(&mut checked);
    // What is missing is looked for in the first races of the text, whichever is listed first; of many, the causes are among them.
    let is_long = checked.report.races.pairs.len() > MOST_RACES;
    if is_long {
        race_order::put_causes_first(test, &mut checked);
    }
    if options.advice.is_yes() {
        let is_small = checked.evidence.unfolding.as_ref().is_none_or(|unfolding| is_checked_again(unfolding));
        missing::tell(test, model, options, &mut checked, if is_small { Engine::Fix } else { Engine::Proposers });
        crash::apply(test, model, options, &mut checked);
        if is_small {
            diagnose_stronger(&Runs::new(test, model, options), &mut checked.report);
            whole::apply(test, model, options, &mut checked);
        }
        if let Repairs::By(whole) = &model.vocabulary.repairs {
            let again = |whole: &LoadedModel| advise(test, whole, options).report;
            older_model::apply(test, whole, options, &mut checked.report, again);
        }
    }
    if !is_long {
        race_order::put_causes_first(test, &mut checked);
    }
    checked.report.list_outcomes(options.most_outcomes);
    if let Some(cut) = &cut {
        checked.test.get_or_insert_with(|| Arc::new(cut.clone()));
    }
    checked
}

/// The cheapest repair of a test under a model.
pub fn fix(test: &Test, model: &LoadedModel, fixing: &Fixing<'_>) -> Fixed {
    cheapest(test, model, fixing, missing::cures)
}

/// The share of a time limit that the answer has: a race without what it lacks is half an answer.
fn for_answer(options: &Options, model: &LoadedModel) -> Budget {
    match options.budget.left() {
        Some(left) if is_for(model) && options.advice.is_yes() => options.budget.within(left - left / 6),
        _ => options.budget.clone(),
    }
}

/// A race under every reading may have no repair under the weakest, where a contested point keeps what programs rely on
/// from ordering anything. What is missing once that point is settled is told then: one point first, then all. Of a point
/// with values between its ends the weakest is named that has a repair; where the strongest has none, they have none.
fn diagnose_stronger(runs: &Runs<'_>, report: &mut Report) {
    let lacks = |race: &Race| !race.contested && race.diagnosis.as_ref().is_some_and(|diagnosis| !diagnosis.confirmed);
    let is_open = |point: &&Point| report.readings.iter().any(|used| used.name == point.name && !used.chosen);
    let open: Vec<&Point> = runs.model.points.iter().filter(is_open).collect();
    let mut tries: Vec<Vec<&Point>> = open.iter().map(|point| vec![*point]).collect();
    if open.len() > 1 {
        tries.push(open);
    }
    for points in tries {
        if !report.races.pairs.iter().any(lacks) || runs.options.budget.is_over() {
            return;
        }
        let strongest: Vec<(&str, &str)> =
            points.iter().map(|point| (point.name.as_str(), point.strongest())).collect();
        let lacking: Vec<Places> = report.races.pairs.iter().filter(|race| lacks(race)).map(places).collect();
        let mut repaired = repaired_under(runs, &strongest);
        repaired.retain(|places, _| lacking.contains(places));
        if let ([point], false) = (points.as_slice(), repaired.is_empty()) {
            let between = point.values.iter().rev().skip(1).filter(|value| *value != point.weakest());
            for value in between.take_while(|_| !runs.options.budget.is_over()) {
                repaired.extend(repaired_under(runs, &[(&point.name, value)]));
            }
        }
        for race in report.races.pairs.iter_mut().filter(|race| lacks(race)) {
            race.diagnosis = repaired.remove(&places(race)).or(race.diagnosis.take());
        }
    }
}

fn under(chosen: &[(&str, &str)]) -> String {
    let words: Vec<String> = chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(", ")
}

/// The races that have a repair under these readings.
fn repaired_under(runs: &Runs<'_>, chosen: &[(&str, &str)]) -> SortedMap<Places, Diagnosis> {
    let settings = runs.options.readings.clone();
    let settings = chosen.iter().fold(settings, |settings, (name, value)| settings.with(name, value));
    let mut checked = runs.check(&settings);
    missing::tell(runs.test, runs.model, runs.options, &mut checked, Engine::Proposers);
    let confirmed = checked.report.races.pairs.iter().filter_map(|race| {
        let diagnosis = race.diagnosis.as_ref().filter(|diagnosis| diagnosis.confirmed)?;
        Some((places(race), Diagnosis { under: Some(under(chosen)), ..diagnosis.clone() }))
    });
    confirmed.collect()
}
