//! `fencepost check`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use fencepost_check::Budget;
use fencepost_check::expect::requirement::Requirement;
use fencepost_check::model::readings::Settings;
use fencepost_check::options::{
    CrossCheck, DEFAULT_BOUND, Deepening, EngineChoice, MOST_OUTCOMES, Options, Outcomes, Wanted,
};
use fencepost_syntax::limits::Ended;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_tell::output::Status;

use super::file::{self, Advice, Choice, Desk, File};
use super::library::{Cause, Library, Refused};
use super::readings;
use super::results::Results;
use crate::cli;
use crate::exit::Exit;
use crate::inputs::{self, Input};
use crate::memory;
use crate::pool;
use crate::progress::Progress;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

pub(crate) fn run(options: &cli::Check) -> Exit {
    if let Some(exit) = refuse_combination(options) {
        return exit;
    }
    memory::choose(options.limits.memory_limit);
    let library = Library::within(options.limits.time_limit);
    let choice = match choice(&options.model, options.models, &library) {
        Ok(choice) => choice,
        Err(exit) => return exit,
    };
    let readings = match readings::chosen(&options.reading, &choice) {
        Ok(readings) => readings,
        Err(exit) => return exit,
    };
    let mut exit = Exit::default();
    let inputs = collect(&options.paths, &mut exit);
    let mut checking = Options { readings, ..limits(&options.limits) };
    checking.outcomes = if options.all { Outcomes::All } else { Outcomes::Capped };
    checking.classes = if options.all { Wanted::Yes } else { Wanted::No };
    checking.most_outcomes = options.outcomes.unwrap_or(MOST_OUTCOMES);
    checking.fingerprint = if options.json || options.herd { Wanted::Yes } else { Wanted::No };
    let required = required(&options.require);
    let mut results = Results::new(options, &inputs, &choice, exit);
    let advice = advice(options, inputs.len());
    check_files(&inputs, &choice, &checking, advice, &options.limits, &library, |at, mut file| {
        file.results.iter_mut().for_each(|result| result.required.clone_from(&required));
        results.add(at, file);
    });
    let exit = results.finish(&checking.readings);
    // The process ends here: taking trees apart for the allocator would only cost time.
    std::mem::forget((results, choice, library));
    exit
}

/// The inputs that the paths lead to; what leads nowhere is said, and what is skipped.
pub(crate) fn collect(paths: &[PathBuf], exit: &mut Exit) -> Vec<Input> {
    let found = inputs::collect(paths);
    for problem in &found.problems {
        terminal::complain(&problem.0);
        exit.bad_input();
    }
    found.notes.iter().for_each(|note| terminal::note(&note.0));
    found.inputs
}

/// Lines of a table, and counts of folders, have no place for what is missing; paragraphs and what programs read do.
fn advice(options: &cli::Check, inputs: usize) -> Advice {
    let carries = options.json || options.all || options.explain || options.graph.is_some() || options.junit.is_some();
    match inputs {
        _ if carries => Advice::Shown,
        1 => Advice::ShownOfOne,
        _ => Advice::NotShown,
    }
}

fn required(properties: &[cli::Property]) -> Vec<Requirement> {
    let all = |property: &cli::Property| match property {
        cli::Property::RaceFree => vec![Requirement::RaceFree],
        cli::Property::Terminates => vec![Requirement::Terminates],
        cli::Property::Protocol => vec![Requirement::Protocol],
        cli::Property::All => Requirement::ALL.to_vec(),
    };
    let mut required: Vec<Requirement> = properties.iter().flat_map(all).collect();
    required.shared_sort();
    required.dedup();
    required
}

/// The models the command line asks for, all of them usable.
pub(crate) fn choice(names: &[String], all: bool, library: &Library) -> Result<Choice, Exit> {
    if all {
        return Ok(Choice::All);
    }
    if names.is_empty() {
        return Ok(Choice::Expected);
    }
    let mut models = Vec::new();
    let mut refused = String::new();
    let mut exit = Exit::default();
    for name in names {
        match library.get(name) {
            Ok(model) => models.push(model),
            Err(Refused(why, cause)) => {
                refused.push_str(&why);
                match cause {
                    Cause::Mistake => exit.bad_input(),
                    Cause::Limit => exit.status(Status::Unknown),
                }
            }
        }
    }
    if refused.is_empty() {
        Ok(Choice::These(models))
    } else {
        terminal::err(&refused);
        Err(exit)
    }
}

pub(crate) fn limits(limits: &cli::Limits) -> Options {
    Options {
        engine: engine(limits.engine),
        persist_granularity: limits.persist_granularity,
        bound: limits.bound.unwrap_or(DEFAULT_BOUND),
        deepening: if limits.bound.is_none() { Deepening::On } else { Deepening::Off },
        budget: Budget::new(limits.time_limit, limits.memory_limit).cancelled_by(CANCELLED.clone()),
        outcomes: Outcomes::Capped,
        most_outcomes: MOST_OUTCOMES,
        classes: Wanted::No,
        races: Wanted::Yes,
        termination: Wanted::Yes,
        questions: Wanted::Yes,
        advice: Wanted::Yes,
        fingerprint: Wanted::No,
        cross_check: CrossCheck::WhenSmall,
        readings: Settings::default(),
    }
}

pub(crate) fn engine(engine: cli::Engine) -> EngineChoice {
    match engine {
        cli::Engine::Auto => EngineChoice::Auto,
        cli::Engine::Enumerate => EngineChoice::Enumerate,
        cli::Engine::Sat => EngineChoice::Sat,
    }
}

/// Everything that the checks of files need.
struct Checks {
    inputs: Vec<Input>,
    choice: Choice,
    options: Options,
    advice: Advice,
    library: Library,
    desks: Vec<Desk>,
}

impl pool::Supervised<File> for Checks {
    fn work(&self, at: usize) -> File {
        file::check(&self.inputs[at], &self.choice, (&self.options, self.advice), &self.library, &self.desks[at])
    }

    fn is_begun(&self, at: usize) -> bool {
        self.desks[at].is_begun()
    }

    fn is_overdue(&self, at: usize) -> bool {
        self.desks[at].is_overdue()
    }

    fn give_up(&self, at: usize, ended: Ended) -> File {
        self.desks[at].give_up(&self.inputs[at], &self.options, ended)
    }
}

/// Checks every file, in parallel, and hands on each as soon as all files before have been checked.
pub(crate) fn check_files(
    inputs: &[Input],
    choice: &Choice,
    options: &Options,
    advice: Advice,
    limits: &cli::Limits,
    library: &Library,
    mut receive: impl FnMut(usize, File),
) {
    // What one file takes a moment for is over, or is lost, when a signal comes.
    if inputs.len() > 1 {
        cancel_on_interrupt();
    }
    memory::choose(limits.memory_limit);
    let start = limits.seed.map_or(pool::Start::FirstToLast, pool::Start::Shuffled);
    // Asking for the number of cores reads half a dozen files, a tenth of the time of one small test.
    let cores = || if inputs.len() > 1 { std::thread::available_parallelism().ok() } else { None };
    let jobs = limits.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN);
    let mut progress = Progress::new(inputs.len());
    // Checks that are given up go on until the process ends: what they need is never taken away.
    let checks: &'static Checks = Box::leak(Box::new(Checks {
        inputs: inputs.to_vec(),
        choice: choice.clone(),
        options: options.clone(),
        advice,
        library: library.clone(),
        desks: inputs.iter().map(|_| Desk::default()).collect(),
    }));
    pool::supervised(checks, inputs.len(), jobs, start, |at, file| {
        if !file.messages.is_empty() {
            progress.clear();
            terminal::err(&file.messages);
        }
        receive(at, file);
        progress.done(at + 1);
    });
    progress.clear();
}

/// Formats that have no place for an explanation; leaving it out silently would look like there is none.
fn refuse_combination(options: &cli::Check) -> Option<Exit> {
    let format = match options.junit.as_deref() {
        _ if !options.explain => return None,
        _ if options.herd => "--herd",
        Some(path) if path == Path::new("-") && !options.json => "--junit -",
        _ => return None,
    };
    let way_out = "--json carries the explanation as a field, the plain output as text";
    terminal::complain(&format!("`--explain` and `{format}` cannot be combined: {way_out}"));
    Some(Exit::BAD_INPUT)
}
