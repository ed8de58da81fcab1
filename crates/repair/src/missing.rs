//! What a test lacks in which something is wrong, as far as the proposers know: race by race, or, without races, of each broken
//! promise and of a wait that never ends.

use fencepost_check::judge::found::Checked;
use fencepost_check::judge::readings;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::Test;

use crate::edit::Edit;
use crate::whole::Engine;
use crate::{hang, outcome, races};

/// Says what is missing, where the model knows asynchronous operations. Returns the changes that cure something, or were too
/// much to check.
pub(crate) fn tell(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    checked: &mut Checked,
    engine: Engine,
) -> Vec<Vec<Edit>> {
    let (used, cut) = (checked.model.clone(), checked.test.clone());
    let test = cut.as_deref().unwrap_or(test);
    let model = used.as_deref().unwrap_or(model);
    if !races::is_for(model) {
        return Vec::new();
    }
    if !checked.evidence.races.is_empty() {
        return races::diagnose_all(test, model, options, checked);
    }
    let mut cures = outcome::diagnose_outcomes(test, model, options, checked, engine);
    cures.extend(hang::diagnose_hang(test, model, options, checked));
    cures
}

/// The changes that cure something in a test, or were too much to check.
pub(crate) fn cures(test: &Test, model: &LoadedModel, options: &Options) -> Vec<Vec<Edit>> {
    let (mut checked, bound) = readings::answer(test, model, options);
    let options = Options { bound, ..options.clone() };
    tell(test, model, &options, &mut checked, Engine::Proposers)
}
