//! `fencepost check`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use fencepost_check::expectation::{Expectations, NewUnknown};
use fencepost_check::options::{CrossCheck, DEFAULT_BOUND, Deepening, EngineChoice, Options, Outcomes, Wanted};
use fencepost_check::output::{self, Row, Status, herd, json, junit, table};
use fencepost_check::readings::Settings;
use fencepost_check::requirement::Requirement;
use fencepost_check::{explain, render};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::file::{self, Choice, File};
use super::library::Library;
use super::readings;
use crate::cli;
use crate::exit::Exit;
use crate::inputs::{self, Input};
use crate::pool;
use crate::progress::Progress;
use crate::terminal;

/// Set by Ctrl-C; every search looks at it.
pub(crate) static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

pub(crate) fn run(options: &cli::Check) -> Exit {
    if let Some(exit) = refuse_combination(options) {
        return exit;
    }
    let library = Library::default();
    let mut exit = Exit::default();
    let choice = match choice(&options.model, options.models, &library) {
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
    let mut checking = Options { readings, ..limits(&options.limits) };
    checking.outcomes = if options.all { Outcomes::All } else { Outcomes::Capped };
    let mut files = check_files(&inputs, &choice, &checking, &options.limits, &library);
    let required = required(&options.require);
    for result in files.iter_mut().flat_map(|file| &mut file.results) {
        result.required.clone_from(&required);
    }
    if let Some(exit) = readings::unused(&checking.readings, &files) {
        return exit;
    }
    for file in &files {
        if file.broken.is_some() {
            exit.bad_input();
        }
        if file.skipped {
            exit.status(Status::Unknown);
        }
        file.results.iter().for_each(|result| exit.status(result.row().status()));
    }
    print(options, &files);
    if let Some(path) = &options.junit {
        write_junit(path, &files, &mut exit);
    }
    if let Some(picture) = &options.graph {
        write_graphs(picture, &files, &mut exit);
    }
    if options.refresh {
        refresh(&inputs, &files, new_unknown(&options.model), &mut exit);
    }
    // The process ends here: taking trees apart for the allocator would only cost time.
    std::mem::forget((files, choice, library));
    exit
}

fn required(properties: &[cli::Property]) -> Vec<Requirement> {
    let all = |property: &cli::Property| match property {
        cli::Property::RaceFree => vec![Requirement::RaceFree],
        cli::Property::Terminates => vec![Requirement::Terminates],
        cli::Property::Protocol => vec![Requirement::Protocol],
        cli::Property::All => Requirement::ALL.to_vec(),
    };
    let mut required: Vec<Requirement> = properties.iter().flat_map(all).collect();
    required.sort();
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
    for name in names {
        match library.get(name) {
            Ok(model) => models.push(model),
            Err(why) => refused.push_str(&why.0),
        }
    }
    if refused.is_empty() {
        Ok(Choice::These(models))
    } else {
        terminal::err(&refused);
        Err(Exit::BAD_INPUT)
    }
}

pub(crate) fn limits(limits: &cli::Limits) -> Options<'static> {
    Options {
        engine: engine(limits.engine),
        bound: limits.bound.unwrap_or(DEFAULT_BOUND),
        deepening: if limits.bound.is_none() { Deepening::On } else { Deepening::Off },
        time_limit: limits.time_limit,
        memory_limit: limits.memory_limit,
        cancelled: Some(&CANCELLED),
        outcomes: Outcomes::Capped,
        races: Wanted::Yes,
        termination: Wanted::Yes,
        questions: Wanted::Yes,
        cross_check: CrossCheck::WhenSmall,
        repairs: Wanted::Yes,
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

/// The first Ctrl-C ends the searches, the second the program. Flags set by the handler itself: a thread that waits for
/// signals costs a tenth of the time of one small test.
pub(crate) fn cancel_on_interrupt() {
    for signal in [SIGINT, SIGTERM] {
        // Without a handler Ctrl-C still works, less politely.
        let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&CANCELLED));
        let _ = flag::register(signal, Arc::clone(&CANCELLED));
    }
}

/// Checks every file, in parallel; messages appear as soon as all files before have been checked.
pub(crate) fn check_files(
    inputs: &[Input],
    choice: &Choice,
    options: &Options<'_>,
    limits: &cli::Limits,
    library: &Library,
) -> Vec<File> {
    cancel_on_interrupt();
    let start = limits.seed.map_or(pool::Start::FirstToLast, pool::Start::Shuffled);
    // Asking for the number of cores reads half a dozen files, a tenth of the time of one small test.
    let cores = || if inputs.len() > 1 { std::thread::available_parallelism().ok() } else { None };
    let jobs = limits.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN);
    let mut progress = Progress::new(inputs.len());
    let mut files = Vec::with_capacity(inputs.len());
    let work = |input: &Input| file::check(input, choice, options, library, &CANCELLED);
    pool::in_order(inputs, jobs, start, work, |at, file| {
        if !file.messages.is_empty() {
            progress.clear();
            terminal::err(&file.messages);
        }
        progress.done(at + 1);
        files.push(file);
    });
    progress.clear();
    files
}

pub(crate) fn rows(files: &[File]) -> Vec<Row<'_>> {
    files.iter().flat_map(|file| file.results.iter().map(|result| result.row())).collect()
}

fn print(options: &cli::Check, files: &[File]) {
    let rows = rows(files);
    let mut text = String::new();
    if options.json {
        for file in files {
            for result in &file.results {
                text.push_str(&json_line(options, file, result));
            }
        }
    } else if options.herd {
        for file in files {
            for result in &file.results {
                if let Some(test) = file.tests.get(result.test) {
                    text.push_str(&herd::log(test, &result.checked.report));
                }
            }
        }
    } else if options.junit.as_deref() != Some(Path::new("-")) {
        text = human(options, files, &rows);
    }
    terminal::out(&text);
}

fn json_line(options: &cli::Check, file: &File, result: &file::Result) -> String {
    match file.tests.get(result.test).filter(|_| options.explain) {
        Some(test) => {
            json::explained_line(&result.row(), &explain::explain_parts(test, &result.model, &result.checked))
        }
        None => json::line(&result.row()),
    }
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

fn human(options: &cli::Check, files: &[File], rows: &[Row<'_>]) -> String {
    let colour = terminal::stdout_colour();
    let broken = files.iter().filter(|file| file.broken.is_some()).count();
    let skipped = files.iter().filter(|file| file.skipped).count();
    let mut text = String::new();
    if options.all || options.explain || rows.len() == 1 {
        let histogram = if options.all { table::Histogram::Show } else { table::Histogram::Hide };
        for file in files {
            for result in &file.results {
                text.push_str(&table::paragraph(&result.row(), histogram, colour));
                if let (true, Some(test)) = (options.explain, file.tests.get(result.test)) {
                    text.push_str(&explain::explain(test, &result.model, &result.checked));
                }
            }
        }
    } else if !rows.is_empty() {
        text.push_str(&table::table(rows, terminal::stdout_width(), colour));
    }
    if rows.len() > 1 || broken > 0 {
        text.push_str(&table::summary(rows, broken));
    }
    if skipped > 0 {
        text.push_str(&format!("stopped: {skipped} of {} files were not checked\n", files.len()));
    }
    text
}

fn write_junit(path: &Path, files: &[File], exit: &mut Exit) {
    let mut cases = Vec::new();
    for file in files {
        cases.extend(file.results.iter().map(|result| junit::case(&result.row())));
        if let Some(message) = &file.broken {
            cases.push(junit::broken(&file.name, message));
        }
        if file.skipped {
            cases.push(junit::broken(&file.name, "stopped before it was checked"));
        }
    }
    let document = output::junit::document(&cases);
    if path == Path::new("-") {
        terminal::out(&document);
    } else {
        write(path, &document, exit);
    }
}

/// A picture per check: in the file that was named if there is one check, else in files named after the tests.
fn write_graphs(picture: &cli::Picture, files: &[File], exit: &mut Exit) {
    let cli::Picture { path, format } = picture;
    let results = files.iter().flat_map(|file| file.results.iter().map(move |result| (file, result)));
    let results: Vec<(&File, &file::Result)> = results.collect();
    let mut missing = 0;
    for (at, (file, result)) in results.iter().enumerate() {
        let test = file.tests.get(result.test);
        let Some(picture) = test.and_then(|test| render::picture(test, &result.model, &result.checked, *format)) else {
            missing += 1;
            continue;
        };
        // A folder for pictures is often a new one.
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
            && let Err(error) = std::fs::create_dir_all(folder)
        {
            terminal::complain(&format!("cannot create the folder `{}`: {}", folder.display(), inputs::reason(&error)));
            exit.bad_input();
            return;
        }
        if results.len() == 1 {
            write(path, &picture, exit);
            continue;
        }
        let report = &result.checked.report;
        let path = numbered(path, &report.test, at + 1);
        write(&path, &picture, exit);
        terminal::err(&format!("note: {}: {} under {}\n", path.display(), table::title(report), report.model));
    }
    match missing {
        0 => {}
        _ if results.len() == 1 => {
            terminal::err("note: no execution to draw was found\n");
        }
        _ => terminal::err(&format!("note: {missing} of {} checks have no execution to draw\n", results.len())),
    }
}

/// `out.svg` and the second check, of `MP`: `out-MP-2.svg`. A test's name may hold anything, a file's should not.
fn numbered(path: &Path, test: &str, number: usize) -> PathBuf {
    const LONGEST: usize = 60;
    let plain = |character: char| character.is_ascii_alphanumeric() || "._+-".contains(character);
    let name: String = test.chars().take(LONGEST).map(|each| if plain(each) { each } else { '_' }).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-{name}-{number}.{ending}"))
}

pub(crate) fn write(path: &Path, text: &str, exit: &mut Exit) {
    if let Err(error) = std::fs::write(path, text) {
        terminal::complain(&format!("cannot write `{}`: {}", path.display(), inputs::reason(&error)));
        exit.bad_input();
    }
}

pub(crate) fn new_unknown(named: &[String]) -> NewUnknown {
    if named.is_empty() { NewUnknown::Left } else { NewUnknown::Written }
}

/// Writes what was found beside the tests. A file that could not be read completely keeps its expectations.
pub(crate) fn refresh(inputs: &[Input], files: &[File], unknown: NewUnknown, exit: &mut Exit) -> Vec<PathBuf> {
    let mut written = Vec::new();
    for (input, file) in inputs.iter().zip(files) {
        let Some(path) = input.expectation_path() else { continue };
        if file.broken.is_some() || file.skipped || file.results.is_empty() {
            continue;
        }
        let mut expectations: Expectations = file.expectations.clone();
        expectations.refresh(file.results.iter().map(|result| &result.checked.report), unknown);
        if expectations != file.expectations {
            write(&path, &expectations.print(), exit);
            written.push(path);
        }
    }
    written
}
