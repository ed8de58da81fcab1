//! `fencepost expect`: what is expected beside tests, compared or rewritten.

use fencepost_check::Options;
use fencepost_check::expect::expectation::{Comparison, Expectation, NewUnknown};
use fencepost_tell::output::{Status, table};

use super::check::{check_files, choice, collect, limits};
use super::file::{Advice, Choice, File};
use super::library::Library;
use super::readings;
use super::refresh::{self, new_unknown, refresh};
use crate::cli;
use crate::exit::Exit;
use crate::inputs::{Input, shown};
use crate::terminal;

pub(crate) fn run(options: &cli::Expect) -> Exit {
    let library = Library::within(options.limits.time_limit);
    let mut exit = Exit::default();
    let choice = match choice(&options.model, false, &library) {
        Ok(Choice::Expected) => Choice::ExpectedOrAll,
        Ok(choice) => choice,
        Err(exit) => return exit,
    };
    let readings = match readings::chosen(&options.reading, &choice) {
        Ok(readings) => readings,
        Err(exit) => return exit,
    };
    let inputs = collect(&options.paths, &mut exit);
    let checking = Options { readings, ..limits(&options.limits) };
    let unknown = new_unknown(&options.model);
    let mut files = Vec::with_capacity(inputs.len());
    let mut kept = 0;
    let mut rewrite = |input: &Input, file: &File, exit: &mut Exit| {
        let refreshed = refresh(input, file, unknown, exit);
        kept += refreshed.kept;
        refreshed.written.iter().for_each(|path| terminal::out(&format!("wrote {}\n", shown(path))));
    };
    // Whether a reading that was chosen is one of any model is known at the end only.
    let at_once = options.refresh && options.reading.is_empty();
    check_files(&inputs, &choice, &checking, Advice::NotShown, &options.limits, &library, |at, file| {
        if file.skipped {
            exit.status(Status::Unknown);
        }
        if file.broken.is_some() {
            exit.bad_input();
        }
        match inputs.get(at) {
            Some(input) if at_once => rewrite(input, &file, &mut exit),
            _ if options.refresh => {}
            _ => terminal::out(&differences(&file, unknown, &mut exit)),
        }
        files.push(file);
    });
    if let Some(exit) = readings::unused(&checking.readings, &files) {
        return exit;
    }
    if options.refresh && !at_once {
        inputs.iter().zip(&files).for_each(|(input, file)| rewrite(input, file, &mut exit));
    }
    if kept > 0 {
        terminal::note(&refresh::kept(kept));
        exit.status(Status::Unknown);
    }
    exit
}

/// What of a file is not as expected.
fn differences(file: &File, unknown: NewUnknown, exit: &mut Exit) -> String {
    let mut text = String::new();
    for result in &file.results {
        exit.status(result.row().status_of_expectation());
        let report = &result.checked.report;
        let expectation = Expectation::of(report);
        let left = unknown == NewUnknown::Left && !expectation.is_answer();
        let what = match &result.comparison {
            Comparison::AsExpected => continue,
            Comparison::NothingExpected if left => continue,
            Comparison::NothingExpected => "new",
            Comparison::Different(_) => "changed",
            Comparison::Undecided(_) => "not decided",
        };
        text.push_str(&format!("{}: {what}: {}\n", table::title(report), expectation.print()));
    }
    text
}
