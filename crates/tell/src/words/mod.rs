//! Reports in words: `check` and `repair` return data, and the sentences are made here, once, before a report is shown.

pub(crate) mod expected;
pub(crate) mod machine;
pub mod mapping;
mod missing;
mod misuse;
mod outcome;
mod phase;
mod place;
mod reason;
mod unknown;
mod warning;

use fencepost_check::{compare, operational};
use fencepost_report::why::Why;
use fencepost_report::{Diagnosis, Missing, Report};

pub use expected::differences;

/// Fills the texts of a report that follow from its data.
pub fn put_into_words(report: &mut Report) {
    for race in &mut report.races.pairs {
        race.diagnosis.iter_mut().for_each(diagnosed);
    }
    let questions = report.questions.iter_mut().filter_map(|answer| answer.why.as_mut());
    let unknown = questions.chain(&mut report.why).chain(&mut report.races.rest).chain(&mut report.termination.why);
    unknown.for_each(unknown::fill);
    if let Some(undefined) = &mut report.undefined {
        undefined.message = unknown::undefined(undefined);
    }
    for answer in &mut report.questions {
        answer.cause.iter_mut().for_each(|cause| diagnosed(&mut cause.diagnosis));
    }
    if let Some(crashes) = &mut report.crashes {
        for answer in &mut crashes.questions {
            answer.why.iter_mut().for_each(unknown::fill);
            pieces(&mut answer.missing);
        }
        if let Some(recovery) = &mut crashes.recovery {
            for answer in recovery.questions.iter_mut().chain([&mut recovery.ending]) {
                answer.why.iter_mut().for_each(unknown::fill);
                pieces(&mut answer.missing);
            }
        }
    }
    for error in &mut report.protocol.errors {
        error.message = misuse::text(&error.reason);
    }
    warning::fill(&mut report.warnings);
    let termination = &mut report.termination;
    termination.cause = reason::joined(&termination.reasons);
    pieces(&mut termination.missing);
}

/// The same for the answers of a machine.
pub fn put_machine_into_words(report: &mut operational::Report) {
    let questions = report.questions.iter_mut().filter_map(|answer| answer.why.as_mut());
    questions.chain(&mut report.why).chain(&mut report.incomplete).for_each(unknown::fill);
    for states in report.stuck.iter_mut().flatten() {
        states.why = machine::stuck(states.reason).to_owned();
    }
    if let Some(crashes) = &mut report.crashes {
        let questions = crashes.questions.iter_mut().filter_map(|answer| answer.why.as_mut());
        questions.chain(&mut crashes.recovery).for_each(unknown::fill);
    }
}

/// The same for a comparison of two models.
pub fn put_row_into_words(row: &mut compare::Row) {
    if let compare::Result::Skipped { why, .. } = &mut row.result {
        unknown::fill(why);
    }
}

/// Why an answer is not known.
pub fn why(why: &Why) -> String {
    unknown::text(why)
}

fn diagnosed(diagnosis: &mut Diagnosis) {
    for access in [&mut diagnosis.first, &mut diagnosis.second] {
        access.what = place::act(&access.act);
    }
    diagnosis.why = reason::joined(&diagnosis.reasons);
    pieces(&mut diagnosis.missing);
}

fn pieces(missing: &mut [Missing]) {
    for piece in missing {
        piece.text = missing::text(&piece.what);
    }
}
