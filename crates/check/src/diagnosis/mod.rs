//! What a data race lacks: both accesses with their proxies, the missing piece, where it belongs, and the section of the ISA.
//!
//! A race of an asynchronous program is told in terms of what would order it. `paths` looks at the race's example for the
//! cheapest way from one access to the other over the synchronisation that is there and that which almost is (a relaxed
//! message, a scope too narrow, a wait that covers too little, an arrive too early); `gates` adds the fences that the
//! proxies of the two accesses need on that way (PTX ISA 8.9.5, 9.7.15.4); `edit` makes these pieces changes of the
//! program, and `verify` checks the changed program again with the same model and readings. What is not needed is left out
//! again, so that only what is missing is named. That a piece makes the race go away is said only where that was checked.
//!
//! The search is bounded by counts, not by a clock: the same check gives the same text.

mod anchor;
mod edit;
mod exit;
mod gates;
mod in_flight;
mod life;
mod message;
mod more;
mod paths;
mod scene;
mod verify;
mod wait;
mod warp;
pub(crate) mod words;

use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::options::Options;
use crate::race::{EXIT, IN_FLIGHT, NO_FENCE};
use crate::report::{Diagnosis, Missing};
use crate::test::Test;

use edit::Edit;
use paths::{Plan, plans};
use scene::Scene;
use verify::{Found, Verifier};

/// Races of one test that are diagnosed; further ones are mostly more of the same.
pub(crate) const MOST_RACES: usize = 16;
/// Plans that are tried for one race.
const MOST_PLANS: usize = 8;

/// Says of each race of the report what is missing, where the model knows asynchronous operations.
pub(crate) fn apply(test: &Test, model: &LoadedModel, options: &Options<'_>, checked: &mut Checked) {
    let used = checked.model.clone();
    let model = used.as_deref().unwrap_or(model);
    if checked.evidence.races.is_empty() || !scene::has_strands(&model.model) {
        return;
    }
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) else { return };
    let keys = evidence.races.iter().map(|(pair, _)| verify::places(unfolding, *pair)).collect();
    let verifier = Verifier::new(test, model, options, keys, &checked.report.termination);
    let watching = scene::watching(&model.model);
    checked.report.races.undiagnosed = checked.report.races.pairs.len().saturating_sub(MOST_RACES) as u64;
    let races = checked.report.races.pairs.iter_mut().zip(&evidence.races).take(MOST_RACES);
    let by_warps = checked.report.races.depends.as_ref().is_some_and(|found| found.readings == [warp::READING]);
    let mut last: Option<Scene<'_>> = None;
    for (race, (pair, execution)) in races {
        // Races of one execution share what is known of it.
        let scene = match last.take().filter(|scene| *scene.execution == **execution) {
            Some(scene) => scene,
            None => Scene::new(test, unfolding, execution, &watching),
        };
        let contested = (by_warps && race.contested).then(|| warp::diagnose(&scene, *pair)).flatten();
        race.diagnosis = contested.or_else(|| diagnose(&scene, &verifier, &race.flag, *pair));
        last = Some(scene);
    }
}

/// The same for an example of a race, without the report around it.
fn diagnose(scene: &Scene<'_>, verifier: &Verifier<'_>, flag: &str, pair: (EventId, EventId)) -> Option<Diagnosis> {
    let (first, second) = (scene.access(pair.0)?, scene.access(pair.1)?);
    let mut diagnosis =
        Diagnosis { first, second, why: String::new(), missing: Vec::new(), confirmed: false, under: None };
    if is_told_apart(scene, verifier, flag, pair, &mut diagnosis) {
        return Some(diagnosis);
    }
    let found = plans(scene, pair);
    let mut best: Option<(&Plan, Vec<&Edit>)> = None;
    let mut undecided: Option<&Plan> = None;
    // Of several cures one that answers the questions too is what the author meant.
    for plan in found.iter().take(MOST_PLANS) {
        let edits: Vec<&Edit> = plan.edits.iter().collect();
        let cured = verifier.check(&edits, pair, scene.unfolding);
        if cured == Found::Right || (cured == Found::Gone && best.is_none()) {
            best = Some((plan, smallest(verifier, edits, cured, pair, scene.unfolding)));
        }
        if cured == Found::Right {
            break;
        }
        if cured == Found::Unknown {
            undecided.get_or_insert(plan);
        }
    }
    let further = if best.is_none() { both_ways(scene, verifier, &found, pair) } else { None };
    if let Some((plan, edits)) = &further {
        best = Some((plan, edits.iter().collect()));
    }
    let several = if best.is_none() { more::plans(scene, pair) } else { Vec::new() };
    for plan in &several {
        let edits: Vec<&Edit> = plan.edits.iter().collect();
        let cured = verifier.check(&edits, pair, scene.unfolding);
        let enough = cured == Found::Right || cured == Found::Gone && plan.cost <= more::COST;
        if best.is_none() && enough {
            best = Some((plan, smallest(verifier, edits, cured, pair, scene.unfolding)));
        }
    }
    diagnosis.confirmed = best.is_some();
    // Without a confirmed one, the cheapest of those that were too much to check says what kind of piece is missing. One that
    // was checked and is no cure says nothing.
    let told = best.or_else(|| undecided.map(|plan| (plan, plan.edits.iter().collect())));
    match told {
        Some((plan, edits)) => {
            diagnosis.why = words::why(scene, plan, &edits);
            diagnosis.missing = edits.iter().map(|edit| edit.missing(scene)).collect();
        }
        None if !found.is_empty() => {
            diagnosis.why = words::unsolved(scene, pair);
            diagnosis.missing = vec![words::order(scene, pair)];
        }
        None => {
            diagnosis.why = words::nothing(scene, pair);
            diagnosis.missing = words::pair(scene, pair).into_iter().collect();
        }
    }
    Some(diagnosis)
}

/// What is no matter of order between two accesses is told by itself; whether it is one of these.
fn is_told_apart(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    flag: &str,
    pair: (EventId, EventId),
    diagnosis: &mut Diagnosis,
) -> bool {
    match flag {
        EXIT => exit::diagnose(scene, verifier, pair, diagnosis),
        IN_FLIGHT => in_flight::diagnose(scene, verifier, pair, diagnosis),
        NO_FENCE => in_flight::unfenced(scene, verifier, pair, diagnosis),
        "mixed-size-race" => diagnosis.why = words::mixed(scene, pair),
        _ => match life::why(scene, flag, pair) {
            Some(why) => diagnosis.why = why,
            None => return false,
        },
    }
    true
}

/// Plans of which more is tried, and how many of the second.
const FURTHER: usize = 2;

/// What orders the accesses one way leaves the other way open where either may come first (locks): the rest is looked for
/// in the test with the first changes.
fn both_ways<'p>(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    found: &'p [Plan],
    pair: (EventId, EventId),
) -> Option<(&'p Plan, Vec<Edit>)> {
    let race = verify::places(scene.unfolding, pair);
    for plan in found.iter().take(FURTHER) {
        let first: Vec<&Edit> = plan.edits.iter().collect();
        let Some(litmus) = Edit::apply_all(&first, &scene.test.litmus) else { continue };
        let Some(left) = verifier.example(&litmus, race) else { continue };
        let mut changed = scene.test.clone();
        changed.litmus = litmus;
        let second = Scene::new(&changed, &left.unfolding, &left.execution, scene.model);
        for more in plans(&second, left.pair).into_iter().take(FURTHER) {
            let all: Vec<Edit> = plan.edits.iter().cloned().chain(more.edits).collect();
            let edits: Vec<&Edit> = all.iter().collect();
            let cured = verifier.check(&edits, pair, scene.unfolding);
            if matches!(cured, Found::Right | Found::Gone) {
                let edits = smallest(verifier, edits, cured, pair, scene.unfolding).into_iter().cloned().collect();
                return Some((plan, edits));
            }
        }
    }
    None
}

/// Leaves out what is not needed, the last pieces first.
fn smallest<'e>(
    verifier: &Verifier<'_>,
    mut edits: Vec<&'e Edit>,
    cured: Found,
    pair: (EventId, EventId),
    unfolding: &Unfolding,
) -> Vec<&'e Edit> {
    for at in (0..edits.len()).rev() {
        if edits.len() == 1 {
            break;
        }
        let mut fewer = edits.clone();
        fewer.remove(at);
        if verifier.check(&fewer, pair, unfolding) == cured {
            edits = fewer;
        }
    }
    edits
}

impl Missing {
    /// "`fence.proxy.async.shared::cta` in P0 between lines 8 and 9 (PTX ISA 9.7.15.4)".
    pub fn sentence(&self) -> String {
        format!("{} (PTX ISA {})", self.text, self.section)
    }
}
