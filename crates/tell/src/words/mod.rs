//! Reports in words: `check` and `repair` return data, and the sentences are made here, once, before a report is shown.

mod missing;
mod misuse;
mod outcome;
mod phase;
mod place;
mod reason;

use fencepost_report::{Diagnosis, Missing, Report};

/// Fills the texts of a report that follow from its data.
pub fn put_into_words(report: &mut Report) {
    for race in &mut report.races.pairs {
        race.diagnosis.iter_mut().for_each(diagnosed);
    }
    for answer in &mut report.questions {
        answer.cause.iter_mut().for_each(|cause| diagnosed(&mut cause.diagnosis));
    }
    if let Some(crashes) = &mut report.crashes {
        crashes.questions.iter_mut().for_each(|answer| pieces(&mut answer.missing));
        let recovery = crashes.recovery.iter_mut().flat_map(|recovery| &mut recovery.questions);
        recovery.for_each(|answer| pieces(&mut answer.missing));
    }
    for error in &mut report.protocol.errors {
        error.message = misuse::text(&error.reason);
    }
    let termination = &mut report.termination;
    termination.cause = reason::joined(&termination.reasons);
    pieces(&mut termination.missing);
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
