//! What a test lacks as a whole. Of a broken promise, and where the proposers know nothing for sure of a race or a hang, the
//! cheapest changes with which the whole test is right (`fix`) are told, as far as a bounded search finds them.

use fencepost_check::judge::found::Checked;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_program::EventId;
use fencepost_program::access::same_scope;
use fencepost_report::finding::FindingKind;
use fencepost_report::reason::{Ordering, Reason};
use fencepost_report::verdict::Verdict;
use fencepost_report::{Count, Race, TerminationAnswer};

use crate::edit::Edit;
use crate::fix::{EditSpace, Orders};
use crate::races::{MOST_RACES, is_for};
use crate::scene::Scene;
use crate::{fix, lacking, unordered};

/// Whether the engine of `fix` is asked where the proposers know nothing: it asks them itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    Fix,
    Proposers,
}

/// Changed tests that are looked at.
const MOST_ASKED: u64 = 400;
/// Executions of a test for which more than orders are looked for.
const MOST_EXECUTIONS: u64 = 200;

/// What the engine has to know of the answers.
pub(crate) struct Asked {
    /// In a test with many executions, or with more than were counted, each change takes long to check: only orders of its
    /// races are looked for.
    edits: EditSpace,
    /// Per question: whether what it looks for was found.
    found: Vec<bool>,
    /// The test is not the one of the text: values may be torn.
    is_cut: bool,
}

impl Asked {
    pub(crate) fn new(checked: &Checked) -> Asked {
        let edits = match checked.report.executions {
            Some(Count { count, complete: true }) if count <= MOST_EXECUTIONS => EditSpace::OrdersAndPaths,
            _ => EditSpace::Orders,
        };
        let found = checked.report.questions.iter().map(|it| it.verdict == Verdict::Holds).collect();
        Asked { edits, found, is_cut: checked.test.is_some() }
    }

    /// The cheapest changes with which nothing is wrong, for a broken promise of a test that is small enough.
    pub(crate) fn orders(&self, test: &Test, model: &LoadedModel, options: &Options, engine: Engine) -> Option<Orders> {
        let may_ask = engine == Engine::Fix && self.edits == EditSpace::OrdersAndPaths && !self.is_cut;
        may_ask.then(|| fix::orders(test, model, options, (&self.found, self.edits), MOST_ASKED))?
    }
}

/// Says what the whole test lacks of whatever nothing better is known.
pub(crate) fn diagnose_whole(test: &Test, model: &LoadedModel, options: &Options, checked: &mut Checked) {
    let used = checked.model.clone();
    let model = used.as_deref().unwrap_or(model);
    let asked = Asked::new(checked);
    if asked.is_cut || !is_for(model) {
        return;
    }
    let hangs = asked.edits == EditSpace::OrdersAndPaths && is_hang_open(checked);
    if !hangs && !checked.report.races.pairs.iter().take(MOST_RACES).any(is_open) {
        return;
    }
    if let Some(orders) = fix::orders(test, model, options, (&asked.found, asked.edits), MOST_ASKED) {
        tell(test, model, checked, &orders, hangs);
    }
}

fn tell(test: &Test, model: &LoadedModel, checked: &mut Checked, orders: &Orders, hangs: bool) {
    let watching = Watched::new(&model.model, &model.vocabulary);
    let evidence = &checked.evidence;
    if let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) {
        let races = checked.report.races.pairs.iter_mut().zip(&evidence.races).take(MOST_RACES);
        // Accesses to memory that may not be there may stay: of those that do, these changes are no cure.
        let stays = |race: &Race| orders.left.contains(&race.kind);
        for (race, (pair, execution)) in races.filter(|(race, _)| is_open(race) && !stays(race)) {
            of_race(&Scene::new(test, unfolding, execution, &watching), race, *pair, orders);
        }
    }
    if let (Some(unfolding), Some(execution), true) = (&evidence.unfolding, &evidence.stuck, hangs) {
        let scene = Scene::new(test, unfolding, execution, &watching);
        let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(&scene, None, edit)).collect();
        let termination = &mut checked.report.termination;
        (termination.reasons, termination.missing) = (Edit::reasons(&edits), Edit::all_missing(&edits, &scene));
    }
}

/// Whether nothing is known for sure of a race.
fn is_open(race: &Race) -> bool {
    race.diagnosis.as_ref().is_some_and(|found| !found.confirmed)
}

fn is_hang_open(checked: &Checked) -> bool {
    let termination = &checked.report.termination;
    termination.answer == TerminationAnswer::MayHang && termination.missing.is_empty()
}

fn of_race(scene: &Scene<'_>, race: &mut Race, pair: (EventId, EventId), orders: &Orders) {
    let Some(diagnosis) = &mut race.diagnosis else { return };
    // A race of another kind has a cause of its own, such as accesses of different sizes. An order is no better advice than to
    // remove that cause where it costs the test the outcome that it asks for, and where the accesses need none without it: those
    // that are strong and in each other's scope (PTX ISA 8.7) may meet as they are.
    let may_meet = race.kind == FindingKind::MixedSizeRace && same_scope(scene.unfolding, pair.0, pair.1);
    if race.kind != FindingKind::DataRace && (orders.rules_out || may_meet) && !diagnosis.missing.is_empty() {
        return;
    }
    let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(scene, Some(pair), edit)).collect();
    let reasons = Edit::reasons(&edits);
    // A race of another kind is no matter of what the two accesses are, and one by a reading keeps that as its reason.
    let is_of_warp = |reason: &Reason| matches!(reason, Reason::Ordering(Ordering::WarpBarrier { .. }));
    match (race.kind, reasons.is_empty()) {
        _ if diagnosis.reasons.iter().any(is_of_warp) => {}
        (FindingKind::DataRace, false) => diagnosis.reasons = reasons,
        (FindingKind::DataRace, true) => diagnosis.reasons = vec![unordered::nothing(scene, pair).into()],
        _ if diagnosis.reasons.is_empty() => diagnosis.reasons = vec![unordered::nothing(scene, pair).into()],
        _ => {}
    }
    diagnosis.reasons.extend(orders.rules_out.then(|| Reason::from(Ordering::OutcomeRuledOut)));
    diagnosis.missing = Edit::all_missing(&edits, scene);
    diagnosis.confirmed = true;
}
