//! `fencepost map`: compiler mappings, shown, checked for given tests, and for all race-free programs up to a bound.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fencepost_check::model::purpose::Purpose;
use fencepost_check::{Budget, LoadedModel, Models, Options};
use fencepost_mapping::bounded::{Checker, Reductions, ScScopes, units};
use fencepost_mapping::given::{self, Answer, Judged};
use fencepost_mapping::report::{self, Bounded};
use fencepost_mapping::scheme::{Device, Scheme};
use fencepost_mapping::shape::Kinds;
use fencepost_mapping::state::{Conclusion, State};
use fencepost_mapping::task::{NoTask, Schemes, Target, Task};
use fencepost_syntax::{Diagnostic, Source};
use fencepost_tell::output::Status;

use super::check::collect;
use super::library::{Library, Refused};
use super::map_emit::Emitter;
use crate::cli::map as cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{Input, Problem, reason, shown};
use crate::pool::{self, Start};
use crate::progress::Progress;
use crate::replace::replace;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

pub(crate) fn run(options: &cli::Map) -> Exit {
    let task = match task(options) {
        Ok(task) => task,
        Err(complaint) => {
            terminal::err(&complaint.0);
            return Exit::BAD_INPUT;
        }
    };
    if options.show {
        task.profiles.iter().for_each(|profile| terminal::out(&profile.print()));
        return Exit::default();
    }
    match options.bound {
        Some(bound) => bounded(options, &task, usize::from(bound)),
        None => given(options, &task),
    }
}

fn task(options: &cli::Map) -> Result<Task, Refused> {
    let library = Library::default();
    let (source, target) = (library.get(&options.from)?, named(&options.to, &library)?);
    if let Some(contradiction) = Target::of(&target).and_then(|target| contradiction(options, target)) {
        return Err(Refused::mistake(&contradiction));
    }
    let sc_scopes = if options.sc_system_only { ScScopes::System } else { ScScopes::Any };
    let (from, to) = (&options.from, &options.to);
    let (source, target) = (LoadedModel::clone(&source), LoadedModel::clone(&target));
    Task::new(source, (to, target), &schemes(options), sc_scopes).map_err(|none| {
        Refused::mistake(&match none {
            NoTask::Source => format!("the model `{from}` is not about C: `--from` takes the model of a C program"),
            NoTask::Claim => format!("the model `{from}` has an error under the readings of its `// without-thin-air:`"),
            NoTask::Target => format!(
                "nothing is compiled for the model `{to}`: `--to` takes one whose first word is PTX or X86, or that has the \
                 feature `mixed`"
            ),
        })
    })
}

/// A model by its name, or the shipped one that is the default for programs of this word.
fn named(name: &str, library: &Library) -> Result<Arc<LoadedModel>, Refused> {
    let is_model = Models::names().contains(&name);
    match Purpose::from_word(name).filter(|_| !is_model) {
        Some(purpose) => library.get(Models::default_for(purpose)),
        None => library.get(name),
    }
}

/// Options that ask for what the target does not have. To take one of them silently for another would answer a question
/// that nobody asked.
fn contradiction(options: &cli::Map, target: Target) -> Option<String> {
    let has_device = target.devices().contains(&Device::Ptx);
    let is_printed = |schemes: &[cli::Scheme]| schemes.contains(&cli::Scheme::Printed);
    if target != Target::Both && !options.host.is_empty() {
        let why = match has_device {
            true => "no thread of this target runs on the host",
            false => "every thread of x86 is compiled by `--scheme`",
        };
        return Some(format!("`--host` is for `--to {}`: {why}", Models::default_for(Purpose::Mixed)));
    }
    if is_printed(&options.host) || !has_device && is_printed(&options.scheme) {
        return Some(
            "`printed` is for the device: the slip of Fig. 13 is in its table for PTX, that for x86 is `trailing`"
                .to_owned(),
        );
    }
    None
}

/// A file, what there is to say of its text, and of each test every way to compile it.
type Loaded = (Source, Vec<Diagnostic>, Vec<Vec<Judged>>);

fn given(options: &cli::Map, task: &Task) -> Exit {
    let mut exit = Exit::default();
    let inputs = collect(&options.paths, &mut exit);
    cancel_on_interrupt();
    let jobs = jobs(options);
    let checking = checking(options);
    let work = |input: &Input| -> Result<Loaded, Problem> {
        let source = input.read()?;
        let (tests, diagnostics) = fencepost_check::load(&source);
        let judged = tests.iter().map(|test| given::judge(test, task, &checking)).collect();
        Ok((source, diagnostics, judged))
    };
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut emitter = options.emit.as_deref().map(|folder| Emitter::new(folder, task));
    pool::in_order(&inputs, jobs, Start::FirstToLast, work, |_, result| match result {
        Ok((source, diagnostics, judged)) => {
            terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
            if diagnostics.iter().any(Diagnostic::is_error) {
                exit.bad_input();
            }
            for one in judged.iter().flatten() {
                *counts.entry(one.answer.word()).or_default() += 1;
                exit.status(status(&one.answer));
                print(options, task, one);
            }
            if let Some(emitter) = &mut emitter {
                judged.iter().for_each(|ways| emitter.given(ways, &mut exit));
            }
        }
        Err(problem) => {
            terminal::complain(&problem.0);
            exit.bad_input();
        }
    });
    if !options.json {
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        terminal::out(&format!("{}\n", counts.join(", ")));
    }
    exit
}

fn status(answer: &Answer) -> Status {
    match answer {
        Answer::Kept { .. } | Answer::KeptButThinAir { .. } | Answer::Racy => Status::Good,
        Answer::Broken { .. } => Status::Bad,
        Answer::Unknown { .. } => Status::Unknown,
    }
}

fn print(options: &cli::Map, task: &Task, one: &Judged) {
    if options.json {
        terminal::out_json(&format!("{}\n", report::given_line(task, one)));
        return;
    }
    let threads = if one.threads.is_empty() { String::new() } else { format!(", {}", one.threads.join("; ")) };
    let said = match &one.answer {
        Answer::Kept { outcomes: 1 } => "kept, 1 outcome".to_owned(),
        Answer::Kept { outcomes } => format!("kept, {outcomes} outcomes"),
        Answer::KeptButThinAir { outcome } => {
            format!("kept but for thin air (no mapping promises that): {outcome}")
        }
        Answer::Broken { outcome, witness, forbidden } => {
            format!("broken: {outcome}\n\nThe compiled test does it:\n{witness}\nThe source does not:\n{forbidden}")
        }
        Answer::Racy => "racy: the behaviour of the source is undefined, so that of any code is right".to_owned(),
        Answer::Unknown { why } => format!("unknown: {why}"),
    };
    terminal::out(&format!("{} ({}){threads}: {said}\n", one.file, one.test));
}

fn jobs(options: &cli::Map) -> NonZeroUsize {
    options.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

fn checking(options: &cli::Map) -> Options {
    let default = Options::default();
    let bound = options.unroll.unwrap_or(default.bound);
    let budget = Budget::new(options.time_limit, None).cancelled_by(CANCELLED.clone());
    Options { budget, bound, ..default }
}

fn schemes(options: &cli::Map) -> Schemes {
    let scheme = |scheme: &cli::Scheme| match scheme {
        cli::Scheme::Leading => Scheme::Leading,
        cli::Scheme::Trailing => Scheme::Trailing,
        cli::Scheme::Printed => Scheme::Printed,
    };
    let all = |given: &[cli::Scheme]| {
        let mut found: Vec<Scheme> = Vec::new();
        for one in given.iter().map(scheme) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found
    };
    let host = if options.host.is_empty() { &options.scheme } else { &options.host };
    Schemes { device: all(&options.scheme), host: all(host) }
}

fn bounded(options: &cli::Map, task: &Task, bound: usize) -> Exit {
    let mut exit = Exit::default();
    let mut state = State::new(task);
    if let Some(path) = &options.state {
        match resume(path, task) {
            Ok(Some(resumed)) => state = resumed,
            Ok(None) => {}
            Err(message) => {
                terminal::complain(&message);
                return Exit::BAD_INPUT;
            }
        }
    }
    cancel_on_interrupt();
    let reductions = if options.no_reductions { Reductions::NONE } else { Reductions::ALL };
    let parts = units(bound, reductions);
    search(options, task, reductions, &parts, &mut state, &mut exit);
    let report = Bounded::new(task, &state, bound, parts.len(), &checking(options));
    if options.json {
        terminal::out_json(&format!("{}\n", report.json()));
    } else {
        terminal::out(&report.text());
    }
    for found in report.counterexamples.iter().filter(|found| !found.confirmed) {
        terminal::complain(&format!("internal check failed: as text this is {}: {}", found.answer, found.program));
        exit.status(Status::Unknown);
    }
    if let Some(folder) = &options.emit {
        Emitter::new(folder, task).counterexamples(&report.counterexamples, &mut exit);
    }
    exit.status(match report.conclusion {
        Conclusion::Kept => Status::Good,
        Conclusion::Broken => Status::Bad,
        Conclusion::Unknown => Status::Unknown,
    });
    exit
}

/// Does the parts that are left, in order, until the time is over or somebody asks to stop.
fn search(
    options: &cli::Map,
    task: &Task,
    reductions: Reductions,
    parts: &[Kinds],
    state: &mut State,
    exit: &mut Exit,
) {
    let left = parts.get(state.done..).unwrap_or_default();
    let mut progress = Progress::new(parts.len());
    let mut whole = true;
    let deadline = options.time_limit.map(|limit| Instant::now() + limit);
    let work = |kinds: &_| {
        if CANCELLED.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return None;
        }
        let mut checker = Checker::new(task.question(), reductions);
        let found = checker.unit(kinds);
        Some((checker.counts, found))
    };
    let mut saved = Instant::now();
    pool::in_order(left, jobs(options), Start::FirstToLast, work, |_, result| match result {
        Some((counts, found)) if whole => {
            state.add(&counts, found);
            progress.done(state.done);
            if let Some(path) = options.state.as_ref().filter(|_| saved.elapsed().as_secs() >= 5) {
                save(path, state, exit);
                saved = Instant::now();
            }
        }
        _ => whole = false,
    });
    progress.clear();
    if let Some(path) = &options.state {
        save(path, state, exit);
    }
}

fn resume(path: &Path, task: &Task) -> Result<Option<State>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            State::resume(&text, task).map(Some).map_err(|why| format!("cannot resume from `{}`: {why}", shown(path)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {}", shown(path), reason(&error))),
    }
}

fn save(path: &Path, state: &State, exit: &mut Exit) {
    if let Some(Err(error)) = path.parent().map(std::fs::create_dir_all) {
        terminal::complain(&format!("cannot write `{}`: {}", shown(path), reason(&error)));
        return exit.bad_input();
    }
    replace(path, &state.print(), exit);
}
