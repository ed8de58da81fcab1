//! A test checked, with what each race, hang or broken promise of it lacks.
//!
//! Of a time limit the answer has five sixths, the repairs what is left. A race that has no repair under the weakest
//! readings is looked at under stronger ones, and one under an older model of PTX under the whole one.

use std::sync::Arc;

use fencepost_check::Budget;
use fencepost_check::judge::found::Checked;
use fencepost_check::judge::readings::{self, Runs};
use fencepost_check::look::outcome;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::model::vocabulary::Repairs;
use fencepost_check::options::Options;
use fencepost_check::test::{Test, persist_granularity};
use fencepost_check::write::race_order;

use crate::fix::{Fixed, Fixing, cheapest};
use crate::races::{MOST_RACES, is_for};
use crate::verify::is_checked_again;
use crate::whole::Engine;
use crate::{crash, missing, older_model, stronger_reading, whole};

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
        crash::diagnose_crashes(test, model, options, &mut checked);
        if is_small {
            stronger_reading::diagnose_under_stronger(&Runs::new(test, model, options), &mut checked.report);
            whole::diagnose_whole(test, model, options, &mut checked);
        }
        if let Repairs::By(whole) = &model.vocabulary.repairs {
            let again = |whole: &LoadedModel| advise(test, whole, options).report;
            older_model::diagnose_by_whole_model(test, whole, options, &mut checked.report, again);
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
