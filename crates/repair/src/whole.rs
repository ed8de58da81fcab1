//! What a test lacks as a whole. Where the proposers know nothing for sure of a race, a hang or a broken promise, or only
//! something dear for a promise, the cheapest changes with which the whole test is right (`fix`) are told, as far as a bounded
//! search finds them.

use fencepost_check::judge::found::Checked;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::{Test, load};
use fencepost_program::EventId;
use fencepost_report::finding::FindingKind;
use fencepost_report::reason::{Ordering, Outcome, Reason};
use fencepost_report::verdict::Verdict;
use fencepost_report::{Count, Diagnosis, Missing, QuestionAnswer, Race, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Edit, text};
use crate::fix::costs::Costs;
use crate::fix::difference;
use crate::fix::{EditSpace, Orders};
use crate::scene::Scene;
use crate::{MOST_RACES, fix, is_for, lacking, unordered};

/// Changed tests that are looked at.
const MOST_ASKED: u64 = 400;
/// Executions of a test for which more than orders are looked for.
const MOST_EXECUTIONS: u64 = 200;
/// What costs more may be dearer than need be: a word on each of a few accesses costs as much.
const LITTLE: u32 = 12;

/// Says what the whole test lacks of whatever nothing better is known.
pub(crate) fn apply(test: &Test, model: &LoadedModel, options: &Options, checked: &mut Checked) {
    let used = checked.model.clone();
    let model = used.as_deref().unwrap_or(model);
    if checked.test.is_some() || !is_for(model) {
        return;
    }
    let edits = of_size(checked);
    let hangs = edits == EditSpace::OrdersAndWords && is_hang_open(checked);
    let report = &checked.report;
    let asked = |answer| known_cost(test, answer).filter(|_| edits == EditSpace::OrdersAndWords);
    let dear: Vec<Option<u32>> = report.questions.iter().map(asked).collect();
    let races = report.races.pairs.iter().take(MOST_RACES).any(is_open);
    if !races && !hangs && !dear.iter().flatten().any(|cost| *cost > LITTLE) {
        return;
    }
    let found: Vec<bool> = report.questions.iter().map(|it| it.verdict == Verdict::Holds).collect();
    let Some(orders) = fix::orders(test, model, options, (&found, edits), MOST_ASKED) else { return };
    let watching = Watched::new(&model.model, &model.vocabulary);
    let evidence = &checked.evidence;
    if let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) {
        let races = checked.report.races.pairs.iter_mut().zip(&evidence.races).take(MOST_RACES);
        for (race, (pair, execution)) in races.filter(|(race, _)| is_open(race)) {
            of_race(&Scene::new(test, unfolding, execution, &watching), race, *pair, &orders);
        }
    }
    let Some(unfolding) = &evidence.unfolding else { return };
    if let Some(execution) = evidence.stuck.as_ref().filter(|_| hangs) {
        let scene = Scene::new(test, unfolding, execution, &watching);
        checked.report.termination.missing = Edit::all_missing(&orders.edits, &scene);
    }
    let questions = checked.report.questions.iter_mut().zip(&evidence.witnesses).zip(dear);
    for ((answer, witness), _) in questions.filter(|(_, known)| known.is_some_and(|cost| cost > orders.cost)) {
        let (Some(execution), Some(cause)) = (witness, &mut answer.cause) else { continue };
        let scene = Scene::new(test, unfolding, execution, &watching);
        of_promise(&scene, &mut cause.diagnosis, &orders);
    }
}

/// In a test with many executions, or with more than were counted, each change takes long to check: only orders of its races are
/// looked for.
fn of_size(checked: &Checked) -> EditSpace {
    match checked.report.executions {
        Some(Count { count, complete: true }) if count <= MOST_EXECUTIONS => EditSpace::OrdersAndWords,
        _ => EditSpace::Orders,
    }
}

fn is_open(race: &Race) -> bool {
    race.diagnosis.as_ref().is_some_and(|diagnosis| !diagnosis.confirmed)
}

fn is_hang_open(checked: &Checked) -> bool {
    let termination = &checked.report.termination;
    termination.answer == TerminationAnswer::MayHang && termination.missing.is_empty()
}

/// What is known to mend a broken promise costs so much: the most where nothing is known, None where nothing is asked. One piece
/// is the smallest repair, whatever it costs.
fn known_cost(test: &Test, answer: &QuestionAnswer) -> Option<u32> {
    let diagnosis = &answer.cause.as_ref()?.diagnosis;
    match (diagnosis.confirmed, diagnosis.missing.as_slice()) {
        (false, _) => Some(u32::MAX),
        (true, [_]) => None,
        (true, several) => of_text(test, several),
    }
}

/// The cost of the changed text.
fn of_text(test: &Test, missing: &[Missing]) -> Option<u32> {
    if missing.iter().any(|piece| piece.edits.is_empty()) {
        return None;
    }
    let text = text::applied(&test.source.text, missing.iter().flat_map(|piece| &piece.edits))?;
    let (changed, _) = load(&Source::new(test.source.name.as_str(), text));
    let changed = changed.into_iter().find(|it| it.name() == test.name())?;
    difference::cost(&test.litmus, &changed.litmus, &Costs::default())
}

fn of_race(scene: &Scene<'_>, race: &mut Race, pair: (EventId, EventId), orders: &Orders) {
    let Some(diagnosis) = &mut race.diagnosis else { return };
    let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(scene, Some(pair), edit)).collect();
    let reasons = Edit::reasons(&edits);
    // A race of another kind is no matter of what the two accesses are.
    match (race.kind, reasons.is_empty()) {
        (FindingKind::DataRace, false) => diagnosis.reasons = reasons,
        (FindingKind::DataRace, true) => diagnosis.reasons = vec![unordered::nothing(scene, pair).into()],
        _ if diagnosis.reasons.is_empty() => diagnosis.reasons = vec![unordered::nothing(scene, pair).into()],
        _ => {}
    }
    diagnosis.reasons.extend(orders.rules_out.then(|| Reason::from(Ordering::OutcomeRuledOut)));
    diagnosis.missing = Edit::all_missing(&edits, scene);
    diagnosis.confirmed = true;
}

/// The story of how the outcome comes about stays, and what was said of the repair goes.
fn of_promise(scene: &Scene<'_>, diagnosis: &mut Diagnosis, orders: &Orders) {
    let is_story = |reason: &Reason| match reason {
        Reason::Outcome(story) => {
            !matches!(story, Outcome::NothingRulesOut | Outcome::EndsSoInTurns | Outcome::NothingMakesItWait)
        }
        _ => false,
    };
    diagnosis.reasons.retain(is_story);
    let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(scene, None, edit)).collect();
    diagnosis.reasons.extend(Edit::reasons(&edits));
    diagnosis.missing = Edit::all_missing(&edits, scene);
    diagnosis.missing.shared_sort_by_key(|missing| missing.line);
    diagnosis.confirmed = true;
}
