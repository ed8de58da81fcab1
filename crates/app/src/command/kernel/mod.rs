//! `fencepost kernel`: whole PTX kernels under a launch.
//!
//! A unit of work is a module whose launches are guessed, or a launch file: units are checked on several threads, and
//! their answers are printed in order.

mod launches;
mod modules;
mod sequence;
mod slices;
mod units;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use fencepost_check::phrase;
use fencepost_kernel::code::Module;
use fencepost_kernel::inventory;
use fencepost_kernel::launch::template::from_facts;
use fencepost_tell::output::Status;
use fencepost_tell::output::kernel::baseline::Baseline;
use fencepost_tell::output::kernel::{Answer, Told, inventory_json, inventory_text, json, sarif, summary_text, text};

use crate::cli::kernel::Kernel;
use crate::exit::Exit;
use crate::inputs::{read_regular, reason, shown};
use crate::memory;
use crate::pool;
use crate::progress::Meter;
use crate::replace::replace;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;
use launches::{Answered, Work};
use modules::{Text, entries, names};
use units::Unit;

pub(crate) fn run(options: &Kernel) -> Exit {
    memory::choose(options.memory_limit);
    let mut exit = Exit::default();
    let Some(baseline) = baseline(options) else { return Exit::BAD_INPUT };
    cancel_on_interrupt();
    let texts = modules::read(&options.paths, &mut exit);
    if options.inventory || options.template {
        describe(options, &texts, &mut exit);
        return exit;
    }
    let units = units(options, &texts, &mut exit);
    let mut results = Results { options, baseline, told: Vec::new(), exit, numbered: false };
    results.numbered = units.len() > 1;
    check(options, &texts, &units, &mut results);
    results.finish()
}

/// The known findings; None if their file cannot be read.
fn baseline(options: &Kernel) -> Option<Baseline> {
    let Some(path) = &options.baseline else { return Some(Baseline::default()) };
    let text = read_regular(path).map_err(|error| reason(&error));
    let found = text.and_then(|text| Baseline::read(&String::from_utf8_lossy(&text)));
    match found {
        Ok(baseline) => Some(baseline),
        Err(why) => {
            terminal::complain(&format!("cannot read `{}`: {why}", shown(path)));
            None
        }
    }
}

/// `--inventory` and `--template`, which need no launch.
fn describe(options: &Kernel, texts: &[Text], exit: &mut Exit) {
    for text in texts {
        let module = match text.parse() {
            Ok(module) => module,
            Err(messages) => {
                terminal::raw_err(&messages);
                exit.bad_input();
                continue;
            }
        };
        if module.entries.is_empty() {
            terminal::complain(&format!("`{}` has no .entry", text.source.name));
            exit.bad_input();
        } else if options.inventory {
            let inventory = inventory::of(&module);
            match options.json {
                true => terminal::out_json(&inventory_json(&inventory, &text.source)),
                false => terminal::out(&inventory_text(&inventory, &text.source)),
            }
        } else {
            match template(text, &module, options.entry.as_deref()) {
                Ok(template) => terminal::out(&template),
                Err(why) => {
                    terminal::complain(&why);
                    exit.bad_input();
                }
            }
        }
    }
}

/// A launch file to begin with, for one entry.
fn template(text: &Text, module: &Module, name: Option<&str>) -> Result<String, String> {
    match entries(module, name)?.as_slice() {
        [entry] => {
            let facts = text.facts(&entry.name).cloned().unwrap_or_default();
            Ok(from_facts(entry, &facts).text)
        }
        several => Err(format!("a launch file is for one entry: name it with --entry; there are {}", names(several))),
    }
}

/// Launch files, or modules of which every entry is launched as one can guess.
fn units(options: &Kernel, texts: &[Text], exit: &mut Exit) -> Vec<Unit> {
    if options.launch.is_empty() {
        return (0..texts.len()).map(Unit::Guess).collect();
    }
    let mut units = Vec::new();
    for path in &options.launch {
        match read_regular(path) {
            Ok(bytes) => units.push(Unit::File(shown(path), String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) => {
                terminal::complain(&format!("cannot read `{}`: {}", shown(path), reason(&error)));
                exit.bad_input();
            }
        }
    }
    if texts.is_empty() { Vec::new() } else { units }
}

fn check(options: &Kernel, texts: &[Text], units: &[Unit], results: &mut Results) {
    let work = Work { options, texts };
    let cores = || if units.len() > 1 { std::thread::available_parallelism().ok() } else { None };
    let jobs = options.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN);
    let meter = Meter::start(units.len());
    let start = pool::Start::FirstToLast;
    pool::in_order(units, jobs, start, |unit| work.unit(unit), |_, answered| meter.aside(|| results.add(answered)));
}

/// What is printed and written.
struct Results<'o> {
    options: &'o Kernel,
    baseline: Baseline,
    told: Vec<Told>,
    exit: Exit,
    /// There may be several answers: pictures get numbers.
    numbered: bool,
}

impl Results<'_> {
    fn add(&mut self, answered: Answered) {
        if !answered.messages.is_empty() {
            terminal::raw_err(&answered.messages);
        }
        if answered.bad_input {
            self.exit.bad_input();
        }
        for name in &answered.skipped {
            terminal::out(&format!("{name}: not checked: it was stopped\n"));
            self.exit.status(Status::Unknown);
        }
        if !answered.mutants.is_empty() {
            terminal::out(&answered.mutants);
        }
        self.numbered |= answered.told.len() > 1;
        for (mut told, picture) in answered.told {
            self.write_slices(&told);
            if self.options.write_baseline.is_none() {
                self.baseline.apply(&mut told);
                self.exit.status(status(&told));
            }
            self.print(&told);
            if let (Some(path), Some(picture)) = (&self.options.picture, picture) {
                let number = self.told.len() + 1;
                let path = if self.numbered { numbered(path, &told.entry, number) } else { path.clone() };
                replace(&path, &picture, &mut self.exit);
            }
            self.told.push(told);
        }
    }

    /// Each slice as a file; those of several launches get numbers.
    fn write_slices(&mut self, told: &Told) {
        let Some(folder) = &self.options.slices else { return };
        if let Err(error) = std::fs::create_dir_all(folder) {
            terminal::complain(&format!("cannot create `{}`: {}", shown(folder), reason(&error)));
            self.exit.bad_input();
            return;
        }
        let launch = self.told.len() + 1;
        for slice in &told.slices {
            let number = if self.numbered { format!("-{launch}") } else { String::new() };
            replace(&folder.join(format!("{}{number}.litmus", slice.name)), &slice.text, &mut self.exit);
        }
    }

    fn print(&self, told: &Told) {
        if self.options.json {
            terminal::out_json(&json(told));
        } else {
            terminal::out(&text(told));
        }
    }

    fn finish(mut self) -> Exit {
        if let Some(path) = &self.options.write_baseline {
            // What is written is known from now on.
            let mut baseline = Baseline::of(&self.told);
            replace(path, &baseline.text(), &mut self.exit);
            for own in &mut self.told {
                baseline.apply(own);
                self.exit.status(status(own));
            }
            let known = self.told.iter().map(|told| told.suppressed).sum::<u64>();
            let (known, are) = (phrase::count(known, "finding"), if known == 1 { "is" } else { "are" });
            terminal::note(&format!("{known} {are} written to `{}`, and known from now on", shown(path)));
        }
        if self.told.len() > 1 && !self.options.json {
            terminal::out(&summary_text(&self.told));
        }
        if let Some(path) = &self.options.sarif {
            replace(path, &sarif(&self.told), &mut self.exit);
        }
        if CANCELLED.load(Ordering::Relaxed) {
            self.exit.status(Status::Unknown);
        }
        self.exit
    }
}

fn status(told: &Told) -> Status {
    match told.answer {
        Answer::Proved | Answer::Known => Status::Good,
        Answer::Found => Status::Bad,
        Answer::Depends | Answer::Unproved => Status::Unknown,
    }
}

/// `out.svg` and the second launch, of `gemm`: `out-gemm-2.svg`.
fn numbered(path: &Path, entry: &str, number: usize) -> PathBuf {
    const LONGEST: usize = 60;
    let plain = |character: char| character.is_ascii_alphanumeric() || "._+-".contains(character);
    let name: String = entry.chars().take(LONGEST).map(|each| if plain(each) { each } else { '_' }).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-{name}-{number}.{ending}"))
}
