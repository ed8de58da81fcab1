//! What races lack together. Where nothing was found for a race by itself, the cheapest changes with which the whole test is
//! right (`fix`) are told, as far as a bounded search for changes that only order more finds them.

use fencepost_check::judge::found::Checked;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_report::Race;
use fencepost_report::finding::FindingKind;
use fencepost_report::reason::{Ordering, Reason};
use fencepost_report::verdict::Verdict;

use crate::edit::Edit;
use crate::scene::Scene;
use crate::{MOST_RACES, fix, is_for, lacking, unordered};

/// Changed tests that are looked at.
const MOST_ASKED: u64 = 400;

/// Says of every race of which nothing is known for sure what all of them lack.
pub(crate) fn apply(test: &Test, model: &LoadedModel, options: &Options, checked: &mut Checked) {
    let is_open = |race: &Race| race.diagnosis.as_ref().is_some_and(|diagnosis| !diagnosis.confirmed);
    let used = checked.model.clone();
    let model = used.as_deref().unwrap_or(model);
    let is_asked = checked.test.is_none() && is_for(model);
    if !is_asked || !checked.report.races.pairs.iter().take(MOST_RACES).any(is_open) {
        return;
    }
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) else { return };
    let found: Vec<bool> = checked.report.questions.iter().map(|it| it.verdict == Verdict::Holds).collect();
    let Some(orders) = fix::orders(test, model, options, &found, MOST_ASKED) else { return };
    let watching = Watched::new(&model.model, &model.vocabulary);
    let races = checked.report.races.pairs.iter_mut().zip(&evidence.races).take(MOST_RACES);
    for (race, (pair, execution)) in races.filter(|(race, _)| is_open(race)) {
        let scene = Scene::new(test, unfolding, execution, &watching);
        let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(&scene, *pair, edit)).collect();
        if let Some(diagnosis) = &mut race.diagnosis {
            let reasons = Edit::reasons(&edits);
            // A race of another kind is no matter of what the two accesses are.
            let is_told = race.kind == FindingKind::DataRace && !reasons.is_empty();
            diagnosis.reasons = if is_told { reasons } else { vec![unordered::nothing(&scene, *pair).into()] };
            diagnosis.reasons.extend(orders.rules_out.then(|| Reason::from(Ordering::OutcomeRuledOut)));
            diagnosis.missing = Edit::all_missing(&edits, &scene);
            diagnosis.confirmed = true;
        }
    }
}
