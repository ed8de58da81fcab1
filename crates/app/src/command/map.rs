//! `fencepost map`: compiler mappings, shown, checked for given tests, and for all race-free programs up to a bound.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::Ordering;

use fencepost_check::Options;
use fencepost_check::map::bounded::{Checker, Lost, Reductions, ScScopes, units};
use fencepost_check::map::given::{self, Answer, Judged};
use fencepost_check::map::scheme::Scheme;
use fencepost_check::map::state::{Conclusion, State};
use fencepost_check::map::task::{PtxModel, Schemes, Target, Task};
use fencepost_check::output::Status;
use fencepost_syntax::{Diagnostic, Source};

use super::check::{CANCELLED, cancel_on_interrupt};
use crate::cli::map as cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{self, Input, Problem, reason};
use crate::pool::{self, Start};
use crate::progress::Progress;
use crate::terminal;

pub(crate) fn run(options: &cli::Map) -> Exit {
    let schemes = schemes(options);
    let sc_scopes = if options.sc_system_only { ScScopes::System } else { ScScopes::Any };
    let Some(task) = Task::new(target(options.to), &schemes, sc_scopes) else {
        terminal::complain("a shipped model is missing");
        return Exit::BAD_INPUT;
    };
    if options.show {
        task.profiles.iter().for_each(|profile| terminal::out(&profile.print()));
        return Exit::default();
    }
    match options.bound {
        Some(bound) => bounded(options, &task, &schemes, usize::from(bound)),
        None => given(options, &task),
    }
}

fn given(options: &cli::Map, task: &Task) -> Exit {
    let mut exit = Exit::default();
    let (inputs, problems) = inputs::collect(&options.paths);
    for problem in &problems {
        terminal::complain(&problem.0);
        exit.bad_input();
    }
    cancel_on_interrupt();
    let jobs = jobs(options);
    let checking = checking(options);
    let work = |input: &Input| -> Result<(Source, Vec<Diagnostic>, Vec<Judged>), Problem> {
        let source = input.read()?;
        let (tests, diagnostics) = fencepost_check::load(&source);
        let judged = tests.iter().flat_map(|test| given::judge(test, task, &checking)).collect();
        Ok((source, diagnostics, judged))
    };
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    pool::in_order(&inputs, jobs, Start::FirstToLast, work, |_, result| match result {
        Ok((source, diagnostics, judged)) => {
            terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
            if diagnostics.iter().any(Diagnostic::is_error) {
                exit.bad_input();
            }
            for (at, one) in judged.iter().enumerate() {
                *counts.entry(one.answer.word()).or_default() += 1;
                exit.status(status(&one.answer));
                print(options, one);
                if let (Some(folder), Some(text)) = (&options.emit, &one.compiled) {
                    write(&folder.join(format!("{}-{at}.litmus", one.test)), text, &mut exit);
                }
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

fn print(options: &cli::Map, one: &Judged) {
    if options.json {
        terminal::out(&format!("{}\n", one.json()));
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

fn write(path: &Path, text: &str, exit: &mut Exit) {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = folder.and_then(|()| std::fs::write(path, text)) {
        terminal::complain(&format!("cannot write `{}`: {}", path.display(), reason(&error)));
        exit.bad_input();
    }
}

fn jobs(options: &cli::Map) -> NonZeroUsize {
    options.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

fn checking(options: &cli::Map) -> Options<'static> {
    Options { time_limit: options.time_limit, cancelled: Some(&CANCELLED), ..Options::default() }
}

fn target(to: cli::To) -> Target {
    match to {
        cli::To::Ptx => Target::Ptx(PtxModel::Newest),
        cli::To::Ptx60 => Target::Ptx(PtxModel::V60),
        cli::To::Ptx75 => Target::Ptx(PtxModel::V75),
        cli::To::X86 => Target::X86,
        cli::To::Cmm => Target::Cmm,
    }
}

fn schemes(options: &cli::Map) -> Schemes {
    let scheme = |scheme: &cli::Scheme| match scheme {
        cli::Scheme::Leading => Scheme::Leading,
        cli::Scheme::Trailing => Scheme::Trailing,
        cli::Scheme::Printed => Scheme::Printed,
    };
    let all = |given: &[cli::Scheme]| given.iter().map(scheme).collect();
    let host = if options.host.is_empty() { &options.scheme } else { &options.host };
    Schemes { device: all(&options.scheme), host: all(host) }
}

fn bounded(options: &cli::Map, task: &Task, schemes: &Schemes, bound: usize) -> Exit {
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
    let reductions = if options.no_reductions { Reductions::None } else { Reductions::All };
    let parts = units(bound, reductions);
    let left = parts.get(state.done..).unwrap_or_default();
    let jobs = jobs(options);
    let mut progress = Progress::new(parts.len());
    let mut whole = true;
    let work = |kinds: &_| {
        if CANCELLED.load(Ordering::Relaxed) {
            return None;
        }
        let mut checker = Checker::new(task.question(), reductions);
        let found = checker.unit(kinds);
        Some((checker.counts, found))
    };
    let mut saved = std::time::Instant::now();
    pool::in_order(left, jobs, Start::FirstToLast, work, |_, result| match result {
        Some((counts, found)) if whole => {
            state.add(&counts, found);
            progress.done(state.done);
            if let Some(path) = options.state.as_ref().filter(|_| saved.elapsed().as_secs() >= 5) {
                save(path, &state, &mut exit);
                saved = std::time::Instant::now();
            }
        }
        _ => whole = false,
    });
    progress.clear();
    if let Some(path) = &options.state {
        save(path, &state, &mut exit);
    }
    terminal::out(&summary(&state, parts.len()));
    confirm(options, task, &state, &mut exit);
    terminal::out(&format!("{}\n", state.verdict(task, schemes, bound, parts.len())));
    exit.status(match state.conclusion(parts.len()) {
        Conclusion::Kept => Status::Good,
        Conclusion::Broken => Status::Bad,
        Conclusion::Unknown => Status::Unknown,
    });
    exit
}

fn resume(path: &Path, task: &Task) -> Result<Option<State>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => State::resume(&text, task)
            .map(Some)
            .map_err(|why| format!("cannot resume from `{}`: {why}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {}", path.display(), reason(&error))),
    }
}

fn save(path: &Path, state: &State, exit: &mut Exit) {
    write(path, &state.print(), exit);
}

/// The smallest counterexamples as text, by the way that other tests go: two engines, a replayed witness.
fn confirm(options: &cli::Map, task: &Task, state: &State, exit: &mut Exit) {
    let checking = checking(options);
    let minimal = state.minimal();
    let mut confirmed = 0;
    for (at, found) in minimal.iter().enumerate() {
        let name = format!("map-{}-{}", task.target.name(), at + 1);
        let Some(judged) = given::confirm(found, &name, task, &checking) else { continue };
        let expected = match found.lost {
            Lost::Promised => "broken",
            Lost::ThinAir => "kept but for thin air",
        };
        if judged.answer.word() == expected {
            confirmed += 1;
        } else {
            let said = judged.answer.word();
            terminal::complain(&format!("internal check failed: as text this is {said}: {}", found.line()));
            exit.status(Status::Unknown);
        }
        if let Some(folder) = &options.emit {
            write(&folder.join(format!("{name}.litmus")), &found.c_text(&name), exit);
            if let Some(text) = &judged.compiled {
                write(&folder.join(format!("{name}-compiled.litmus")), text, exit);
            }
        }
    }
    if !minimal.is_empty() {
        terminal::out(&format!("{confirmed} of {} confirmed as tests in text\n", minimal.len()));
    }
}

fn summary(state: &State, parts: usize) -> String {
    let counts = &state.counts;
    let mut text = format!(
        "{} of {parts} parts: {} shapes, {} behaviours, {} questions to the source, {} to the target, {} about races\n",
        state.done, counts.shapes, counts.behaviours, counts.source, counts.target, counts.races
    );
    let minimal = state.minimal();
    for (lost, words) in [
        (Lost::ThinAir, "only the axiom against thin air is not kept (expected: no mapping promises it)"),
        (Lost::Promised, "coherence, atomicity or SC is not kept"),
    ] {
        let count = state.lost(lost);
        if count > 0 {
            text.push_str(&format!("{words} ({count} in all); the smallest:\n"));
            for found in minimal.iter().filter(|found| found.lost == lost) {
                text.push_str(&format!("  {}\n", found.line()));
            }
        }
    }
    text
}
