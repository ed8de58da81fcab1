//! What a race lacks that has no repair under the weakest readings: a repair under stronger ones, with their names.

use fencepost_check::judge::readings::{Places, Runs, places};
use fencepost_check::model::readings::Point;
use fencepost_report::{Diagnosis, Race, Report};
use fencepost_syntax::sorted::SortedMap;

use crate::missing;
use crate::whole::Engine;

/// A race under every reading may have no repair under the weakest, where a contested point keeps what programs rely on
/// from ordering anything. What is missing once that point is settled is told then: one point first, then all. Of a point
/// with values between its ends the weakest is named that has a repair; where the strongest has none, they have none.
pub(crate) fn diagnose_under_stronger(runs: &Runs<'_>, report: &mut Report) {
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
