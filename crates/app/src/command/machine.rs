//! `fencepost machine`: tests on operational models.

use std::num::NonZeroUsize;

use fencepost_check::Budget;
use fencepost_check::Test;
use fencepost_check::operational::{self, Exploring, Options, Outcomes, Report, Trace};
use fencepost_machine::model::Model;
use fencepost_machine::setup::{BadSetup, Setup, options as options_of};
use fencepost_syntax::Diagnostic;
use fencepost_tell::output::machine as output;
use fencepost_tell::words;

use super::check::collect;
use super::step;
use crate::cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::memory;
use crate::pool;
use crate::progress::Progress;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

pub(crate) fn run(options: &cli::Machine) -> Exit {
    if options.list {
        terminal::out(&list());
        return Exit::default();
    }
    let setup = match setup(options) {
        Ok(setup) => setup,
        Err(bad) => {
            terminal::complain(&bad.to_string());
            return Exit::BAD_INPUT;
        }
    };
    let mut exit = Exit::default();
    let inputs = collect(&options.paths, &mut exit);
    let (tests, broken) = load(&inputs, options.trace.as_deref().filter(|text| !text.is_empty()), &mut exit);
    if options.step || options.steps.is_some() {
        return step::run(&tests, &setup, options, exit);
    }
    cancel_on_interrupt();
    memory::choose(options.limits.memory_limit);
    let mut table = output::Table::new(terminal::stdout_width(), terminal::stdout_colour());
    if tests.len() > 1 {
        let name = |test: &Test| output::title_of(&test.source.name, test.name(), test.row).chars().count();
        table = table.reserving(tests.iter().map(name).max().unwrap_or(0));
    }
    let reports = explore(&tests, &setup, options, |report| {
        exit.status(output::status(report));
        print(options, report, tests.len(), &mut table);
    });
    if !options.json && (reports.len() > 1 || broken > 0) {
        terminal::out(&output::summary(&reports.iter().collect::<Vec<_>>(), broken));
    }
    exit
}

fn setup(options: &cli::Machine) -> Result<Setup, BadSetup> {
    let mut setup = Setup::parse(options.machine.as_deref().unwrap_or_default())?;
    for option in &options.option {
        setup.set(option)?;
    }
    for (name, value) in [("arch", &options.arch), ("swmr", &options.swmr)] {
        if let Some(value) = value {
            setup.set(&format!("{name}={value}"))?;
        }
    }
    Ok(setup)
}

/// The tests of the files, asked something else if somebody wants that, and how many files cannot be used.
pub(crate) fn load(inputs: &[Input], question: Option<&str>, exit: &mut Exit) -> (Vec<Test>, usize) {
    let mut all = Vec::new();
    let mut broken = 0;
    for input in inputs {
        let source = match input.read() {
            Ok(source) => source,
            Err(problem) => {
                terminal::complain(&problem.0);
                exit.bad_input();
                broken += 1;
                continue;
            }
        };
        let (tests, diagnostics) = fencepost_check::load(&source);
        let colour = terminal::stderr_colour();
        terminal::err(&diagnostics::render(&source, &diagnostics, colour));
        if diagnostics.iter().any(Diagnostic::is_error) {
            exit.bad_input();
            broken += 1;
        } else if tests.is_empty() {
            terminal::complain(&format!("`{}` holds no test", source.name));
            exit.bad_input();
            broken += 1;
        }
        for test in tests {
            let asked = match question {
                Some(question) => test.asking(question),
                None => Ok(test),
            };
            match asked {
                Ok(test) => all.push(test),
                Err((source, diagnostics)) => {
                    terminal::err(&diagnostics::render(&source, &diagnostics, colour));
                    exit.bad_input();
                }
            }
        }
    }
    (all, broken)
}

/// How a machine is asked.
pub(crate) fn asking(limits: &cli::MachineLimits, workers: NonZeroUsize) -> Options {
    let states = limits.states.unwrap_or(Exploring::default().states);
    let workers = u32::try_from(workers.get()).unwrap_or(u32::MAX);
    Options {
        outcomes: Outcomes::Skip,
        trace: Trace::None,
        bound: limits.bound,
        budget: Budget::new(limits.time_limit, limits.memory_limit).cancelled_by(CANCELLED.clone()),
        exploring: Exploring { states, workers },
    }
}

/// Several tests share the threads; one alone has them to itself where a search goes breadth first.
fn explore(tests: &[Test], setup: &Setup, options: &cli::Machine, mut receive: impl FnMut(&Report)) -> Vec<Report> {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let wide = options.all || options.trace.is_some();
    let (jobs, workers) = match (tests, options.limits.jobs) {
        ([_], Some(jobs)) => (NonZeroUsize::MIN, jobs),
        ([_], None) => (NonZeroUsize::MIN, if wide { cores() } else { NonZeroUsize::MIN }),
        (_, jobs) => (jobs.unwrap_or_else(cores), NonZeroUsize::MIN),
    };
    let asking = Options {
        outcomes: if options.all { Outcomes::All } else { Outcomes::Skip },
        trace: if options.trace.is_some() { Trace::Shortest } else { Trace::None },
        ..asking(&options.limits, workers)
    };
    let mut progress = Progress::new(tests.len());
    let mut reports = Vec::with_capacity(tests.len());
    let work = |test: &Test| {
        let mut report = operational::run(test, setup, &asking);
        words::put_machine_into_words(&mut report);
        report
    };
    pool::in_order(tests, jobs, pool::Start::FirstToLast, work, |at, report| {
        progress.clear();
        receive(&report);
        progress.done(at + 1);
        reports.push(report);
    });
    progress.clear();
    reports
}

/// One report of so many.
fn print(options: &cli::Machine, report: &Report, number: usize, table: &mut output::Table) {
    if options.json {
        terminal::out_json(&output::json(report));
    } else if options.all || options.trace.is_some() || number == 1 {
        terminal::out(&output::paragraph(report, terminal::stdout_colour()));
    } else {
        terminal::out(&table.row(report));
    }
}

/// The machines with their options, for people.
fn list() -> String {
    let mut text = String::new();
    for model in Model::NAMES.into_iter().filter_map(Model::named) {
        text.push_str(&format!("{}\n    {}\n", model.name(), model.summary()));
        for option in options_of(model) {
            // An architecture is that of the test unless somebody says otherwise.
            let default = if option.name == "arch" { "" } else { " (default)" };
            for (at, (value, words)) in option.values.iter().enumerate() {
                let default = if at == 0 { default } else { "" };
                text.push_str(&format!("    {}={value}{default}: {words}\n", option.name));
            }
        }
    }
    text
}
