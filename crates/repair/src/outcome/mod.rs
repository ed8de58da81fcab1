//! An outcome that must not be, where nothing races: the read that misses a write, why it may, and what rules the outcome out.
//!
//! Either no interleaving of the threads has the outcome: then the execution has a critical cycle (`cycle`), and the engine of
//! `fix` finds the cheapest orders that rule it out; of a test that is too much for it, fences between the accesses of the cycle
//! do (`orders`). Or an interleaving has it: then no fence helps, and several accesses have to be one (`atomic`). Which it is,
//! is found by putting fences in until the outcome is gone or is that of an interleaving. What is told was checked again, in
//! fewer and in more rounds of the test's loops too.

mod atomic;
mod cycle;
mod missed_write;
mod orders;
mod story;

use std::cell::OnceCell;

use fencepost_check::judge::found::Checked;
use fencepost_check::judge::layers::check_as_read;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::model::purpose::Purpose;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_report::Cause;
use fencepost_report::verdict::Verdict;
use fencepost_syntax::litmus::QuestionKind;

use crate::edit::Edit;
use crate::fix::Orders;
use crate::lacking;
use crate::outcome::orders::{Fencing, Left};
use crate::scene::Scene;
use crate::scene::statement;
use crate::verify::Verifier;
use crate::whole::{self, Engine};

/// Questions of one test that are diagnosed.
pub const MOST_QUESTIONS: usize = 4;

/// For a test without races: those say themselves what is missing.
pub(crate) fn diagnose_outcomes(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    checked: &mut Checked,
    engine: Engine,
) -> Vec<Vec<Edit>> {
    let asked = whole::Asked::new(checked);
    let (orders, ask) = (OnceCell::new(), || asked.orders(test, model, options, engine));
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.unfolding.as_ref() else { return Vec::new() };
    let verifier = Verifier::new(test, model, options, Vec::new(), (unfolding, checked.report.executions)).of_outcome();
    let watching = Watched::new(&model.model, &model.vocabulary);
    // What every execution does comes from nothing that another would do otherwise.
    let report = &checked.report;
    let questions = report.questions.iter().enumerate();
    let always: Vec<usize> =
        questions.filter(|(_, answer)| report.is_always_broken(answer)).map(|(question, _)| question).collect();
    let kinds = test.program.questions.iter().map(|question| question.kind);
    let broken = checked.report.questions.iter_mut().zip(kinds).zip(&evidence.witnesses).enumerate();
    let broken = broken.filter(|(_, ((answer, kind), _))| answer.verdict == Verdict::Violated && forbids(*kind));
    let broken = broken.filter(|(question, _)| !always.contains(question));
    for (question, ((answer, _), witness)) in broken.take(MOST_QUESTIONS) {
        let Some(execution) = witness else { continue };
        let scene = Scene::new(test, unfolding, execution, &watching);
        let fencing = Fencing { verifier: &verifier, question };
        let search = Search { test, options, fencing, orders: &orders, ask: &ask };
        answer.cause = search.cause(&scene).map(Box::new);
    }
    verifier.into_cures()
}

/// Whether the question is about what must not be.
fn forbids(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists)
}

struct Search<'s, 'a> {
    test: &'s Test,
    options: &'s Options,
    fencing: Fencing<'s, 'a>,
    /// What the engine of `fix` says of the whole test, asked for once.
    orders: &'s OnceCell<Option<Orders>>,
    ask: &'s dyn Fn() -> Option<Orders>,
}

impl Search<'_, '_> {
    fn cause(&self, scene: &Scene<'_>) -> Option<Cause> {
        let cycles = cycle::cycles(scene);
        // Threads that do not synchronise at all are not meant to: what they do to one location is to be one operation.
        if cycles.is_empty()
            && statement::instructions(scene).iter().all(|here| statement::role(here.instruction).is_none())
            && let Some(told) = self.atomic(scene).filter(|cause| cause.diagnosis.confirmed)
        {
            return Some(told);
        }
        let Some(cycle) = cycles.first() else {
            return missed_write::cured(scene, self.fencing.verifier)
                .map_or_else(|| self.atomic(scene), |told| told.cause(scene));
        };
        if let Some(orders) = self.orders.get_or_init(self.ask) {
            let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(scene, None, edit)).collect();
            return story::of_cycle(scene, cycle, &edits)?.cause(scene);
        }
        match self.fencing.break_cycles(scene, cycle) {
            Some(Left::Nothing(edits)) => story::of_cycle(scene, cycle, &edits)?.cause(scene),
            left => match (missed_write::cured(scene, self.fencing.verifier), left) {
                // What orders accesses that race orders those that do not.
                (Some(told), _) => told.cause(scene),
                (None, Some(Left::Interleaving(edits, shown))) => {
                    let test = orders::changed(scene.test, &edits)?;
                    self.atomic(&Scene::new(&test, &shown.unfolding, &shown.execution, scene.model))
                }
                (None, _) => story::of_cycle(scene, cycle, &[])?.cause(scene),
            },
        }
    }

    fn atomic(&self, scene: &Scene<'_>) -> Option<Cause> {
        let mends = |edits: &[Edit]| self.fencing.mends(scene, edits);
        atomic::told(scene, &mends, &|| self.is_interleaving())?.cause(scene)
    }

    /// Whether a run of the threads that take turns has the outcome too, as the model of interleavings says.
    fn is_interleaving(&self) -> bool {
        let Some(sc) = Models::shipped(Models::default_for(Purpose::Interleaving)) else { return false };
        let report = check_as_read(self.test, &sc, self.options).report;
        report.questions.get(self.fencing.question).is_some_and(|answer| answer.verdict == Verdict::Violated)
    }
}
