//! Litmus tests of the locks of a kernel, decided by the engines of `check`: with them an answer about every order in which
//! threads take a lock holds.

use fencepost_check::model::purpose::Purpose;
use fencepost_check::options::Wanted;
use fencepost_check::{Models, Options, check, load};
use fencepost_kernel::report::{Report, Slice, Sliced};
use fencepost_report::{RaceAnswer, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_tell::output::kernel::ToldSlice;

/// The answer, and the slices that it rests on, or that left it open.
pub(super) fn decide(mut report: Report) -> (Report, Vec<ToldSlice>) {
    let Some(sliced) = report.sliced.take() else { return (report, Vec::new()) };
    let Sliced { slices, report: proved } = *sliced;
    let told: Vec<ToldSlice> = slices.iter().map(decided).collect();
    let is_proved = told.iter().all(|slice| slice.race_free && slice.ends);
    (if is_proved { proved } else { report }, told)
}

fn decided(slice: &Slice) -> ToldSlice {
    let mut told = ToldSlice {
        name: slice.name.clone(),
        threads: slice.threads,
        engine: String::new(),
        executions: None,
        race_free: false,
        ends: false,
        text: slice.text.clone(),
    };
    let name = Models::default_for(Purpose::PtxSinceClusters);
    let (tests, diagnostics) = load(&Source::new(format!("{}.litmus", slice.name), slice.text.clone()));
    let (Some(test), Some(model), true) = (tests.first(), Models::shipped(name), diagnostics.is_empty()) else {
        return told;
    };
    // A slice is small, so that only the limits of the whole command end its check: a clock would make the answer depend on load.
    let options = Options { advice: Wanted::No, fingerprint: Wanted::No, ..Options::default() };
    let report = check(test, &model, &options).report;
    told.engine.clone_from(&report.engine);
    told.executions = report.executions.as_ref().filter(|count| count.complete).map(|count| count.count);
    told.race_free = report.races.answer == RaceAnswer::None;
    told.ends = report.termination.answer == TerminationAnswer::Terminates;
    told
}
