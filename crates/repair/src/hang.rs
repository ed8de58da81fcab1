//! What a test lacks that may hang at a wait on an mbarrier: an arrival, an announcement of bytes, another count or parity
//! (PTX ISA 9.7.15.16). A change is told if every fair execution ends with it, in more rounds of the test's loops too, no race
//! came and no rule of mbarriers is broken.

use fencepost_check::judge::found::Checked;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_report::reason::Reason;
use fencepost_report::{Missing, TerminationAnswer};

use crate::edit::Edit;
use crate::propose::catalogue::{HANG_REASONS, HANGS};
use crate::scene::Scene;
use crate::verify::{Verifier, rounds};

/// Why, and what is missing.
pub(crate) type Told = (Vec<Reason>, Vec<Missing>);

/// What leaves no race leaves nothing to wait for in vain either; else the wait has its own.
pub(crate) fn told(checked: &mut Checked, told: Option<Told>) {
    let termination = &mut checked.report.termination;
    if let (TerminationAnswer::MayHang, Some((reasons, missing))) = (termination.answer, told) {
        (termination.reasons, termination.missing) = (reasons, missing);
    }
}

/// For a test without races: of those what is missing is said race by race.
pub(crate) fn diagnose_hang(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    checked: &mut Checked,
) -> Vec<Vec<Edit>> {
    if checked.report.termination.answer != TerminationAnswer::MayHang || !checked.evidence.races.is_empty() {
        return Vec::new();
    }
    let Some(unfolding) = checked.evidence.unfolding.as_ref() else { return Vec::new() };
    let verifier = Verifier::new(test, model, options, Vec::new(), (unfolding, checked.report.executions));
    let own = own(test, model, checked, &verifier);
    let cures = verifier.into_cures();
    told(checked, own);
    cures
}

/// What a wait for good lacks, beside the races that the test has.
pub(crate) fn own(test: &Test, model: &LoadedModel, checked: &Checked, verifier: &Verifier<'_>) -> Option<Told> {
    if checked.report.termination.answer != TerminationAnswer::MayHang {
        return None;
    }
    let evidence = &checked.evidence;
    let (unfolding, execution) = (evidence.unfolding.as_ref()?, evidence.stuck.as_ref()?);
    let watching = Watched::new(&model.model, &model.vocabulary);
    let scene = Scene::new(test, unfolding, execution, &watching);
    let guesses: Vec<Edit> = HANGS.iter().flat_map(|propose| propose(&scene)).collect();
    let stages = rounds::stages(&scene);
    let helps = |edit: &&Edit| match evidence.races.is_empty() {
        true => verifier.mends(&[*edit], stages),
        false => verifier.ends(&[*edit], stages),
    };
    match guesses.iter().find(helps) {
        Some(edit) => {
            Some((edit.reason.iter().cloned().collect(), Edit::all_missing(std::slice::from_ref(edit), &scene)))
        }
        None => {
            let reason = HANG_REASONS.iter().find_map(|reason| reason(&scene));
            reason.map(|reason| (vec![reason], Vec::new()))
        }
    }
}
