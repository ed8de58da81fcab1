//! What a data race lacks: both accesses with their proxies, the missing piece, where it belongs, and the section of the ISA.
//!
//! A race of an asynchronous program is told in terms of what would order it. `propose::way` looks at the race's example for the
//! cheapest way from one access to the other over the synchronisation that is there and that which almost is (a relaxed
//! message, a scope too narrow, a wait that covers too little, an arrive too early); `propose::proxy_fence` adds the fences that the
//! proxies of the two accesses need on that way (PTX ISA 8.9.5, 9.7.15.4); `edit` makes these pieces changes of the
//! program, and `verify` checks the changed program again with the same model and readings. What is not needed is left out
//! again, so that only what is missing is named. That a piece makes the race go away is said only where that was checked.
//!
//! The search is bounded by counts, not by a clock: the same check gives the same text.

use fencepost_axiom::execution::Execution;
use fencepost_check::judge::found::Checked;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::model::role::Relation;
use fencepost_check::model::vocabulary::Repairs;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::Diagnosis;
use fencepost_report::finding::FindingKind;
use fencepost_report::reason::{Ordering, Reason};

use crate::edit::Edit;
use crate::hang;
use crate::propose::catalogue::{APART, GENERAL, PROXY_CHANGES, PROXY_REASONS, REASONS, WAYS, offered};
use crate::propose::warp;
use crate::propose::way::link::Plan;
use crate::scene::Scene;
use crate::search::{Cure, Outcome, adopt, search};
use crate::unordered;
use crate::verify::{Verifier, observe};

/// Races of one test that are diagnosed; further ones are mostly more of the same.
pub const MOST_RACES: usize = 16;

/// Whether anything is said of races under this model.
pub fn is_for(model: &LoadedModel) -> bool {
    model.vocabulary.repairs == Repairs::Own
}

/// Says of each race of the report what is missing. Returns the changes that cure something, or were too much to check.
pub(crate) fn diagnose_all(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    checked: &mut Checked,
) -> Vec<Vec<Edit>> {
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) else { return Vec::new() };
    let keys = evidence.races.iter().map(|(pair, _)| observe::places(unfolding, *pair)).collect();
    let verifier =
        Verifier::new(test, model, options, keys, (unfolding, checked.report.executions)).knowing(&checked.report);
    checked.report.races.undiagnosed = checked.report.races.pairs.len().saturating_sub(MOST_RACES) as u64;
    let by_warps = checked.report.races.depends.as_ref().is_some_and(|found| found.readings == [warp::READING]);
    let races = checked.report.races.pairs.iter_mut().zip(&evidence.races).take(MOST_RACES);
    let races = races.map(|(race, (pair, execution))| Raced {
        kind: race.kind,
        is_of_warp: by_warps && race.contested,
        pair: *pair,
        execution,
        diagnosis: &mut race.diagnosis,
    });
    let told = of_races(test, (unfolding, model), &verifier, races.collect());
    let own = told.or_else(|| hang::own(test, model, checked, &verifier));
    let cures = verifier.into_cures();
    hang::told(checked, own);
    cures
}

/// A race, an execution that has it, and what is to be said of it.
pub(crate) struct Raced<'r> {
    pub(crate) kind: FindingKind,
    /// It is one only if `bar.warp.sync` orders no asynchronous operations.
    pub(crate) is_of_warp: bool,
    pub(crate) pair: (EventId, EventId),
    pub(crate) execution: &'r Execution,
    pub(crate) diagnosis: &'r mut Option<Diagnosis>,
}

/// Says of each race what is missing. Returns what is said of the first that has a cure which leaves none.
pub(crate) fn of_races(
    test: &Test,
    (unfolding, model): (&Unfolding, &LoadedModel),
    verifier: &Verifier<'_>,
    races: Vec<Raced<'_>>,
) -> Option<hang::Told> {
    let watching = Watched::new(&model.model, &model.vocabulary);
    let mut last: Option<Scene<'_>> = None;
    let mut cures = Cures::default();
    let mut open = Vec::new();
    for race in races {
        // Races of one execution share what is known of it.
        let scene = match last.take().filter(|scene| *scene.execution == *race.execution) {
            Some(scene) => scene,
            None => Scene::new(test, unfolding, race.execution, &watching),
        };
        let before = cures.clean;
        *race.diagnosis = diagnose(&scene, verifier, race.kind, race.pair, &mut cures);
        if let Some(diagnosis) = race.diagnosis.as_mut().filter(|_| race.is_of_warp) {
            warp::explain(&scene, diagnosis);
        } else if cures.clean == before {
            open.push(race);
        }
        last = Some(scene);
    }
    // What cures a later race and leaves none is the repair of an earlier one too.
    let open = if cures.all.is_empty() { Vec::new() } else { open };
    for race in open {
        let scene = Scene::new(test, unfolding, race.execution, &watching);
        if let Some(cure) = cures.all.iter().find_map(|edits| adopt(&scene, verifier, race.pair, edits))
            && let Some(diagnosis) = race.diagnosis
        {
            let is_apart = told_apart(&scene, race.kind, race.pair, diagnosis).is_some();
            tell(&scene, diagnosis, (cure.from, cure.to), &cure.edits, is_apart);
            diagnosis.confirmed = true;
        }
    }
    cures.told
}

/// What leaves no race of the test.
#[derive(Default)]
struct Cures {
    all: Vec<Vec<Edit>>,
    /// How many races have one.
    clean: usize,
    /// What is said of the first.
    told: Option<hang::Told>,
}

impl Cures {
    fn keep(&mut self, cure: &Cure) {
        self.clean += usize::from(cure.is_clean());
        if cure.is_clean() && !self.all.contains(&cure.edits) {
            self.all.push(cure.edits.clone());
        }
    }
}

/// The same for an example of a race, without the report around it.
fn diagnose(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    kind: FindingKind,
    pair: (EventId, EventId),
    cures: &mut Cures,
) -> Option<Diagnosis> {
    let (first, second) = (scene.access(pair.0)?, scene.access(pair.1)?);
    let mut diagnosis = Diagnosis {
        first,
        second,
        why: String::new(),
        reasons: Vec::new(),
        missing: Vec::new(),
        confirmed: false,
        under: None,
    };
    let apart = told_apart(scene, kind, pair, &mut diagnosis);
    // Of accesses in each other's scope one width is all that is lacking; others are ordered like any two.
    if kind == FindingKind::MixedSizeRace && scene.holds(Relation::RelatedByScope, pair.0, pair.1) {
        return Some(diagnosis);
    }
    let is_apart = apart.is_some();
    let plans = apart.filter(|_| kind != FindingKind::MixedSizeRace).unwrap_or_else(|| offered(WAYS, scene, pair));
    let outcome = search(scene, verifier, pair, &plans, &cures.all);
    diagnosis.confirmed = matches!(outcome, Outcome::Cured(_) | Outcome::Against(_));
    let by_proxies = || PROXY_REASONS.iter().find_map(|reason| reason(scene, pair));
    let is_against = matches!(outcome, Outcome::Against(_));
    let is_wrong = matches!(&outcome, Outcome::Cured(cure) if cure.leaves_wrong());
    // Without a confirmed one, the cheapest of those that were too much to check says what kind of piece is missing. One that
    // was checked and is no cure says nothing.
    let told = match outcome {
        Outcome::Cured(cure) => {
            cures.keep(&cure);
            Some((cure.from, cure.to, cure.edits))
        }
        // That they should have one width is said already.
        Outcome::Probably(_) | Outcome::Unsolved | Outcome::Nothing if kind == FindingKind::MixedSizeRace => None,
        Outcome::Probably(plan) | Outcome::Against(plan) => Some((plan.from, plan.to, plan.edits)),
        Outcome::Unsolved | Outcome::Nothing if is_apart => {
            diagnosis.missing = GENERAL.iter().find_map(|general| general(scene, kind, pair)).into_iter().collect();
            plans.into_iter().next().filter(|_| kind.is_of_registers()).map(|plan| (plan.from, plan.to, plan.edits))
        }
        Outcome::Unsolved | Outcome::Nothing if let Some(reason) = by_proxies() => {
            diagnosis.reasons = vec![reason];
            None
        }
        Outcome::Unsolved => {
            let plan = PROXY_CHANGES.iter().find_map(|change| change(scene, pair));
            if plan.is_none() {
                diagnosis.reasons = vec![unordered::unsolved(scene, pair, verifier.is_late()).into()];
                diagnosis.missing = vec![unordered::order(scene, pair)];
            }
            plan.map(|plan| (plan.from, plan.to, plan.edits))
        }
        Outcome::Nothing => {
            diagnosis.reasons = vec![unordered::nothing(scene, pair).into()];
            diagnosis.missing = unordered::pair(scene, pair).into_iter().collect();
            None
        }
    };
    if let Some((from, to, edits)) = told {
        tell(scene, &mut diagnosis, (from, to), &edits, is_apart);
    }
    // With other races, those may be why.
    diagnosis.reasons.extend(remark(is_against, is_wrong && verifier.is_of_one_race()).map(Reason::from));
    if cures.told.is_none() && cures.clean > 0 {
        cures.told = Some((diagnosis.reasons.clone(), diagnosis.missing.clone()));
    }
    Some(diagnosis)
}

/// What a cure leaves to be said.
fn remark(is_against: bool, is_wrong: bool) -> Option<Ordering> {
    match (is_against, is_wrong) {
        (true, _) => Some(Ordering::OutcomeRuledOut),
        (false, true) => Some(Ordering::AnswerStillWrong),
        (false, false) => None,
    }
}

/// What is no matter of order keeps its own reason before those of the repair.
fn tell(scene: &Scene<'_>, diagnosis: &mut Diagnosis, way: (EventId, EventId), edits: &[Edit], is_apart: bool) {
    if !is_apart {
        diagnosis.reasons.clear();
    }
    let reasons = Edit::reasons(edits);
    if scene.holds(Relation::BaseCausality, way.0, way.1) && !reasons.is_empty() {
        let first = Ordering::ComesFirst { first: scene.site(way.0), proxy: scene.proxy(way.0) };
        diagnosis.reasons.push(first.into());
    }
    diagnosis.reasons.extend(reasons);
    diagnosis.missing = Edit::all_missing(edits, scene);
}

/// What is no matter of order between two accesses has its own reason and its own plans.
fn told_apart(
    scene: &Scene<'_>,
    kind: FindingKind,
    pair: (EventId, EventId),
    diagnosis: &mut Diagnosis,
) -> Option<Vec<Plan>> {
    if let Some((_, diagnose)) = APART.iter().find(|(own, _)| *own == kind) {
        return Some(diagnose(scene, pair, diagnosis));
    }
    diagnosis.reasons = vec![REASONS.iter().find_map(|reason| reason(scene, kind, pair))?];
    Some(Vec::new())
}
