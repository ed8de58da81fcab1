//! What a test lacks that may hang at a wait on an mbarrier: an arrival, an announcement of bytes, another count or parity
//! (PTX ISA 9.7.15.16). A change is told if every fair execution ends with it, in more rounds of the test's loops too, no race
//! came and no rule of mbarriers is broken.

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::options::Options;
use crate::report::{Missing, TerminationAnswer};
use crate::test::Test;

use super::edit::Edit;
use super::phases;
use super::scene::{self, Scene};
use super::verify::Verifier;

/// What leaves no race leaves nothing to wait for in vain either: a cause, and what is missing.
pub(super) fn told(checked: &mut Checked, cure: Option<(String, Vec<Missing>)>) {
    let termination = &mut checked.report.termination;
    if let (TerminationAnswer::MayHang, Some((cause, missing))) = (termination.answer, cure) {
        (termination.cause, termination.missing) = (cause, missing);
    }
}

/// For a test without races: of those what is missing is said race by race.
pub(super) fn apply(test: &Test, model: &LoadedModel, options: &Options<'_>, checked: &mut Checked) {
    if checked.report.termination.answer != TerminationAnswer::MayHang || !checked.evidence.races.is_empty() {
        return;
    }
    let evidence = &checked.evidence;
    let (Some(unfolding), Some(execution)) = (evidence.unfolding.as_ref(), evidence.stuck.as_ref()) else { return };
    let watching = scene::watching(&model.model);
    let scene = Scene::new(test, unfolding, execution, &watching);
    let guesses = phases::hung(&scene);
    if guesses.is_empty() {
        return;
    }
    let verifier = Verifier::new(test, model, options, Vec::new(), (unfolding, checked.report.executions));
    let stages = phases::rounds::stages(&scene);
    let helps = |edit: &&Edit| verifier.mends(&[*edit], stages);
    if let Some(edit) = guesses.iter().find(helps) {
        checked.report.termination.missing = vec![edit.missing(&scene)];
        checked.report.termination.cause = edit.reason.clone();
    }
}
