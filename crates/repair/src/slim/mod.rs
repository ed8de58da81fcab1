//! What can be weakened or left out of a test with every answer unchanged: fences, semantics, scopes, waits, barriers. Each
//! alone, and the set that saves most together, with a proof that nothing saves more.
//!
//! What may be changed is in `space`; whether the answers stay is asked of the search that answers tests (`oracle`); which set
//! is tried next is in `search`.

#[cfg(test)]
mod compare;
mod most;
mod oracle;
mod place;
mod removals;
mod search;
mod space;
mod tell;
mod waits;
mod words;

use fencepost_check::judge::found::Aspect;
use fencepost_check::judge::readings;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_report::WhyUnknown;
use fencepost_report::answer::Answer;
use fencepost_report::slim::{Broken, SCHEMA};
pub use fencepost_report::slim::{SlimAnswer, SlimReport};
use fencepost_report::why::Why;
use fencepost_syntax::Span;
use fencepost_syntax::litmus::QuestionKind;

use self::oracle::{Difference, Known, Oracle};
use self::space::Space;
use crate::fix::costs::Costs;

/// How to look for what can be saved.
pub struct Slimming<'f> {
    pub options: &'f Options,
    pub costs: &'f Costs,
    /// Whether what stands there may not be changed.
    pub is_kept: &'f dyn Fn(Span) -> bool,
}

/// A report, and the text of the test with the best set in it, where its notation has a place for that.
pub struct Slimmed {
    pub report: SlimReport,
    pub text: Option<String>,
}

/// What can be saved in a test under a model.
pub fn slim(test: &Test, model: &LoadedModel, slimming: &Slimming<'_>) -> Slimmed {
    let options = &slimming.options.begun();
    let _entered = readings::enter(options);
    let mut report = SlimReport {
        schema: SCHEMA,
        test: test.name().to_owned(),
        file: test.source.name.clone(),
        model: model.name.clone(),
        answer: SlimAnswer::Undecided,
        cost: 0,
        alone: Vec::new(),
        together: None,
        needed: Vec::new(),
        wrong: Vec::new(),
        why: None,
        options: 0,
        asked: 0,
    };
    let oracle = match Oracle::new(test, model, options) {
        Ok(oracle) => oracle,
        Err(why) => {
            if why == Why::Undefined {
                report.answer = SlimAnswer::NotRight;
            }
            report.why = Some(WhyUnknown::new(&why, &test.source));
            return Slimmed { report, text: None };
        }
    };
    report.wrong = wrong(test, &oracle.original);
    if !report.wrong.is_empty() {
        report.answer = SlimAnswer::NotRight;
        return Slimmed { report, text: None };
    }
    let space = Space::new(test, model, slimming.costs, slimming.is_kept);
    report.cost = space.places.iter().map(|place| place.cost).sum();
    report.options = space.places.iter().map(|place| place.options.len() as u64).sum();
    let found = search::search(&space, &oracle);
    let text = tell::found(test, &space, &found, &mut report);
    report.asked = oracle.asked.get();
    Slimmed { report, text }
}

/// What is wrong with a test: races, hangs, broken rules, promises that are not kept.
fn wrong(test: &Test, known: &Known) -> Vec<Broken> {
    let crash = &test.program.crash;
    let recovery = crash.recovery.as_ref().map(|recovery| &recovery.program.questions);
    let promises = |aspect: Aspect| {
        let question = match aspect {
            Aspect::Question(at) => test.program.questions.get(at),
            Aspect::Crash(at) => crash.questions.get(at),
            Aspect::Recovery(at) => recovery.and_then(|questions| questions.get(at)),
            Aspect::Races | Aspect::Protocol | Aspect::Termination => return true,
        };
        let kind = question.map(|question| question.kind);
        matches!(kind, Some(QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists))
    };
    let is_wrong = |(aspect, answer): &&(Aspect, Answer)| answer.is_yes() && promises(*aspect);
    let difference = |(aspect, _): &(Aspect, Answer)| Difference {
        aspect: Some(*aspect),
        flags: if *aspect == Aspect::Races { known.flags.iter().cloned().collect() } else { Vec::new() },
    };
    known.answers.iter().filter(is_wrong).map(|found| tell::broken(test, &difference(found))).collect()
}
