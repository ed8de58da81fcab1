//! `fencepost expect`: what is expected beside tests, compared or rewritten.

use fencepost_check::Options;
use fencepost_check::expectation::{Comparison, Expectation, NewUnknown};
use fencepost_check::output::table;

use super::check::{check_files, choice, limits, new_unknown, refresh};
use super::file::Choice;
use super::library::Library;
use super::readings;
use crate::cli;
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;

pub(crate) fn run(options: &cli::Expect) -> Exit {
    let library = Library::default();
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
    let (inputs, problems) = inputs::collect(&options.paths);
    for problem in &problems {
        terminal::complain(&problem.0);
        exit.bad_input();
    }
    let checking = Options { readings, ..limits(&options.limits) };
    let files = check_files(&inputs, &choice, &checking, &options.limits, &library);
    if let Some(exit) = readings::unused(&checking.readings, &files) {
        return exit;
    }
    let mut text = String::new();
    for file in &files {
        if file.broken.is_some() {
            exit.bad_input();
        }
        for result in &file.results {
            if options.refresh {
                continue;
            }
            exit.status(result.row().status_of_expectation());
            let report = &result.checked.report;
            let expectation = Expectation::of(report);
            let line = expectation.print();
            let left = new_unknown(&options.model) == NewUnknown::Left && !expectation.is_answer();
            match &result.comparison {
                Comparison::AsExpected => {}
                Comparison::NothingExpected if left => {}
                Comparison::NothingExpected => text.push_str(&format!("{}: new: {line}\n", table::title(report))),
                Comparison::Different(_) => text.push_str(&format!("{}: changed: {line}\n", table::title(report))),
            }
        }
    }
    if options.refresh {
        for path in refresh(&inputs, &files, new_unknown(&options.model), &mut exit) {
            text.push_str(&format!("wrote {}\n", path.display()));
        }
    }
    terminal::out(&text);
    exit
}
