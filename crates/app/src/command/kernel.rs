//! `fencepost kernel`: whole PTX kernels under a launch.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::{self, Entry, Module};
use fencepost_kernel::inventory;
use fencepost_kernel::launch::read::{Wrong, entry_name, read, validate};
use fencepost_kernel::launch::template::template;
use fencepost_kernel::launch::{Argument, Launch};
use fencepost_kernel::mend::mend;
use fencepost_kernel::mutate::mutate;
use fencepost_kernel::order::Race;
use fencepost_syntax::{Severity, Source, limits, ptx};
use fencepost_tell::output::Status;
use fencepost_tell::output::kernel::{About, Answer, Told, inventory_text, json, mutants_text, sarif, tell, text};

use crate::cli::kernel::Kernel;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{read_regular, reason, shown};
use crate::memory;
use crate::replace::replace;
use crate::signals::cancel_on_interrupt;
use crate::terminal;

/// After this no further repair is looked for.
const MENDING: Duration = Duration::from_secs(2);

pub(crate) fn run(options: &Kernel) -> Exit {
    memory::choose(options.memory_limit);
    let mut exit = Exit::default();
    let Some(source) = source_of(&options.file) else { return Exit::BAD_INPUT };
    let (tree, mut found) = ptx::parse(&source.text);
    let (module, more) = code::decode(&tree);
    found.extend(more);
    let errors = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    if errors {
        terminal::raw_err(&diagnostics::render(&source, &found, terminal::stderr_colour()));
        return Exit::BAD_INPUT;
    }
    if module.entries.is_empty() {
        terminal::complain(&format!("`{}` has no .entry", source.name));
        return Exit::BAD_INPUT;
    }
    if options.inventory {
        terminal::out(&inventory_text(&inventory::of(&module), &source));
        return exit;
    }
    if options.template {
        for entry in entries(&module, options.entry.as_deref(), &mut exit) {
            terminal::out(&template(entry));
        }
        return exit;
    }
    cancel_on_interrupt();
    let mut told = Vec::new();
    for (entry, launch) in launches(options, &module, &mut exit) {
        if options.mutate {
            mutated(options, &source, &module, entry, &launch);
            continue;
        }
        let answer = one(options, &source, &module, entry, &launch);
        exit.status(match answer.answer {
            Answer::Proved => Status::Good,
            Answer::Found => Status::Bad,
            Answer::Depends | Answer::Unproved => Status::Unknown,
        });
        if options.json {
            terminal::out_json(&json(&answer));
        } else {
            terminal::out(&text(&answer));
        }
        told.push(answer);
    }
    if let Some(path) = &options.sarif {
        replace(path, &sarif(&told), &mut exit);
    }
    exit
}

fn source_of(path: &Path) -> Option<Source> {
    match read_regular(path) {
        Ok(bytes) => Some(Source::new(shown(path), String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => {
            terminal::complain(&format!("cannot read `{}`: {}", shown(path), reason(&error)));
            None
        }
    }
}

/// The entry of this name, or all.
fn entries<'m>(module: &'m Module, name: Option<&str>, exit: &mut Exit) -> Vec<&'m Entry> {
    let found: Vec<&Entry> = module.entries.iter().filter(|entry| name.is_none_or(|name| entry.name == name)).collect();
    if found.is_empty() {
        let names: Vec<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
        terminal::complain(&format!(
            "there is no entry `{}`; there are {}",
            name.unwrap_or_default(),
            names.join(", ")
        ));
        exit.bad_input();
    }
    found
}

/// The launches of the command line, each with its file and entry.
fn launches<'m>(options: &Kernel, module: &'m Module, exit: &mut Exit) -> Vec<(&'m Entry, Launch)> {
    let mut found = Vec::new();
    if options.launch.is_empty() {
        let entries = entries(module, options.entry.as_deref(), exit);
        if entries.len() > 1 {
            terminal::complain("the module has several entries: name one with --entry, or give launch files");
            exit.bad_input();
            return found;
        }
        for entry in entries {
            if let Some(launch) = launch(&template(entry), "the template", options, module, entry, exit) {
                found.push((entry, launch));
            }
        }
        return found;
    }
    for path in &options.launch {
        let Some(source) = source_of(path) else {
            exit.bad_input();
            continue;
        };
        let name = options.entry.clone().or_else(|| entry_name(&source.text));
        for entry in entries(module, name.as_deref(), exit).into_iter().take(1) {
            if let Some(launch) = launch(&source.text, &source.name, options, module, entry, exit) {
                found.push((entry, launch));
            }
        }
    }
    found
}

fn launch(text: &str, name: &str, options: &Kernel, module: &Module, entry: &Entry, exit: &mut Exit) -> Option<Launch> {
    let file =
        |path: &Path| read_regular(path).map_err(|error| format!("cannot read `{}`: {}", shown(path), reason(&error)));
    let changed = read(text, module, entry, &file).and_then(|launch| changed(launch, options, module, entry));
    match changed {
        Ok(launch) => Some(launch),
        Err(Wrong { line, message }) => {
            let place = line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
            terminal::complain(&format!("{place}: {message}"));
            exit.bad_input();
            None
        }
    }
}

/// What the flags change of a launch.
fn changed(mut launch: Launch, options: &Kernel, module: &Module, entry: &Entry) -> Result<Launch, Wrong> {
    let wrong = |message: String| Err(Wrong { line: None, message });
    for (given, size) in [
        (&options.grid, &mut launch.grid),
        (&options.block, &mut launch.block),
        (&options.cluster, &mut launch.cluster),
    ] {
        if given.len() > 3 || given.contains(&0) {
            return wrong("sizes are one to three numbers from 1".to_owned());
        }
        if !given.is_empty() {
            *size = [1; 3];
            size[..given.len()].copy_from_slice(given);
        }
    }
    if let Some(shared) = options.shared {
        launch.shared = shared;
    }
    for parameter in &options.parameters {
        let Some((name, value)) = parameter.split_once('=') else {
            return wrong(format!("`{parameter}` is no N=VALUE"));
        };
        let index = name.parse().ok().or_else(|| entry.parameters.iter().position(|own| own.name == name));
        let Some(slot) = index.and_then(|index: usize| launch.arguments.get_mut(index)) else {
            return wrong(format!("there is no parameter `{name}`"));
        };
        *slot = match (value.parse::<i128>(), value.parse::<f64>()) {
            (Ok(value), _) => Argument::Integer(value as u64),
            (_, Ok(value)) => Argument::Float(value),
            _ => return wrong(format!("`{value}` is no number")),
        };
    }
    validate(&launch, module, entry)?;
    Ok(launch)
}

fn one(options: &Kernel, source: &Source, module: &Module, entry: &Entry, launch: &Launch) -> Told {
    let limits = limits_of(options);
    limited(options, || {
        let report = check(module, entry, launch, &limits);
        // Every proposal is a run of its own: no more than a few, and none that takes longer than people wait.
        let until = Instant::now() + MENDING;
        let repair = |race: &Race| {
            let in_time = Instant::now() < until;
            in_time.then(|| mend(&source.text, entry, launch, &limits, &report.findings, race)).flatten()
        };
        tell(&report, &About { source, module, entry, launch }, &repair)
    })
}

fn mutated(options: &Kernel, source: &Source, module: &Module, entry: &Entry, launch: &Launch) {
    let mutants = limited(options, || mutate(module, entry, launch, &limits_of(options)));
    terminal::out(&mutants_text(&mutants, &About { source, module, entry, launch }));
}

fn limits_of(options: &Kernel) -> Limits {
    Limits { steps: options.steps, schedules: options.schedules.max(1) }
}

/// Does the work under the limits of the command line, while another thread watches the memory.
fn limited<T>(options: &Kernel, work: impl FnOnce() -> T) -> T {
    let deadline = options.time_limit.map(|time| Instant::now() + time);
    let _entered = limits::enter(deadline, Some(memory::signals()));
    let done = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&done);
    let watch = std::thread::spawn(move || {
        while !watched.load(Ordering::Relaxed) {
            memory::measure();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let result = work();
    done.store(true, Ordering::Relaxed);
    let _ = watch.join();
    result
}
