//! `fencepost map`: compiler mappings, shown, and checked for all race-free programs up to a bound.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::Ordering;

use fencepost_check::map::bounded::{Checker, Lost, Reductions, ScScopes, units};
use fencepost_check::map::scheme::Scheme;
use fencepost_check::map::state::{Conclusion, State};
use fencepost_check::map::task::{PtxModel, Schemes, Target, Task};
use fencepost_check::output::Status;

use super::check::{CANCELLED, cancel_on_interrupt};
use crate::cli::map as cli;
use crate::exit::Exit;
use crate::inputs::reason;
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
        None => {
            terminal::complain("name tests, or give --bound N");
            Exit::BAD_INPUT
        }
    }
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
    let jobs = options.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
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
    if let Err(error) = std::fs::write(path, state.print()) {
        terminal::complain(&format!("cannot write `{}`: {}", path.display(), reason(&error)));
        exit.bad_input();
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
            text.push_str(&format!("{words}: {count} behaviours, of which nothing can be left out:\n"));
            for found in minimal.iter().filter(|found| found.lost == lost) {
                text.push_str(&format!("  {}\n", found.line()));
            }
        }
    }
    text
}
