//! Launches, each with its module and entry, and the answers for them.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fencepost_check::phrase;
use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::{Entry, Module};
use fencepost_kernel::launch::Launch;
use fencepost_kernel::launch::program::Step;
use fencepost_kernel::launch::read::{Wrong, of_text, unchecked, validate};
use fencepost_kernel::mend::Mender;
use fencepost_kernel::mutate::mutate;
use fencepost_kernel::order::Race;
use fencepost_syntax::limits;
use fencepost_tell::output::kernel::{About, Mutants, Told, picture, tell};

use super::modules::{Text, entries};
use super::slices::decide;
use crate::cli::kernel::Kernel;
use crate::inputs::{read_regular, reason, shown};
use crate::memory;
use crate::signals::CANCELLED;
use crate::terminal;

/// What came out of a unit.
#[derive(Default)]
pub(super) struct Answered {
    /// For standard error.
    pub(super) messages: String,
    pub(super) bad_input: bool,
    /// With the text of the picture, if one is wanted.
    pub(super) told: Vec<(Told, Option<String>)>,
    pub(super) mutants: String,
    /// What was not begun when the user asked to stop.
    pub(super) skipped: Vec<String>,
}

impl Answered {
    pub(super) fn refuse(&mut self, why: &str) {
        let error = terminal::stderr_colour().paint("1;31", "error");
        self.messages.push_str(&format!("{error}: {why}\n"));
        self.bad_input = true;
    }
}

pub(super) struct Work<'a> {
    pub(super) options: &'a Kernel,
    pub(super) texts: &'a [Text],
}

/// A launch with all that is needed to run it.
pub(super) struct Target<'m> {
    pub(super) text: &'m Text,
    pub(super) module: &'m Module,
    pub(super) entry: &'m Entry,
    pub(super) launch: Launch,
}

impl Target<'_> {
    pub(super) fn about(&self) -> About<'_> {
        About { source: &self.text.source, module: self.module, entry: self.entry, launch: &self.launch }
    }
}

impl Work<'_> {
    pub(super) fn may_hold(&self, step: &Step, text: &Text) -> bool {
        let entry = self.options.entry.as_ref().or(step.entry.as_ref());
        let is_named = step.module.as_ref().is_none_or(|module| text.source.name.ends_with(module.as_str()));
        is_named && (self.texts.len() == 1 || entry.is_none_or(|entry| text.source.text.contains(entry.as_str())))
    }

    /// The modules and entries that a launch is for: all that have the entry. None if only modules with errors, which are
    /// told, may have it.
    pub(super) fn targets<'m>(
        &self,
        step: &Step,
        modules: &'m [(&'m Text, Module)],
        unread: &[&Text],
    ) -> Result<Option<Vec<Target<'m>>>, Wrong> {
        let name = self.options.entry.as_deref().or(step.entry.as_deref());
        let mut found = Vec::new();
        let mut why = String::new();
        for (text, module) in modules.iter().filter(|(text, _)| self.may_hold(step, text)) {
            match entries(module, name) {
                Ok(entries) => found.extend(entries.into_iter().map(|entry| (*text, module, entry))),
                Err(error) => why = error,
            }
        }
        let wrong = |message: String| Err(Wrong { line: None, message });
        let names_it = |text: &&&Text| name.is_none_or(|name| text.source.text.contains(name));
        if found.is_empty() && unread.iter().filter(names_it).any(|text| self.may_hold(step, text)) {
            return Ok(None);
        }
        if found.is_empty() && why.is_empty() {
            return wrong(format!("no module has an entry `{}`", name.unwrap_or_default()));
        }
        if found.is_empty() {
            return wrong(why);
        }
        if name.is_none() && found.len() > 1 {
            return wrong("there are several entries: name one with `entry`".to_owned());
        }
        let launch = |(text, module, entry)| self.launch(step, text, module, entry);
        found.into_iter().map(launch).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn launch<'m>(
        &self,
        step: &Step,
        text: &'m Text,
        module: &'m Module,
        entry: &'m Entry,
    ) -> Result<Target<'m>, Wrong> {
        let file = |path: &Path| {
            read_regular(path).map_err(|error| format!("cannot read `{}`: {}", shown(path), reason(&error)))
        };
        let mut launch = unchecked(step, module, entry, &file)?;
        // Triton knows how much shared memory its kernel needs.
        if let (0, Some(shared)) = (launch.shared, text.facts(&entry.name).and_then(|facts| facts.shared)) {
            launch.shared = shared;
        }
        let launch = changed(launch, self.options, entry)?;
        validate(&launch, module, entry)?;
        Ok(Target { text, module, entry, launch })
    }

    pub(super) fn answer(&self, target: &Target, guessed: Vec<String>, answered: &mut Answered) {
        if CANCELLED.load(Ordering::Relaxed) {
            answered.skipped.push(format!("{} in {}", target.entry.name, target.text.source.name));
            return;
        }
        if self.options.mutate {
            return self.answer_mutants(target, answered);
        }
        let mut told = self.told(target);
        told.guessed = guessed;
        let picture = self.picture(target);
        answered.told.push((told, picture));
    }

    pub(super) fn answer_mutants(&self, target: &Target, answered: &mut Answered) {
        let limits = limits_of(self.options);
        let mutants = self.limited(|| mutate(target.module, target.entry, &target.launch, &limits));
        let mutants = Mutants::new(&mutants, &target.about());
        answered.mutants.push_str(&if self.options.json { mutants.json() } else { mutants.text() });
    }

    pub(super) fn told(&self, target: &Target) -> Told {
        let limits = limits_of(self.options);
        let (entry, launch) = (target.entry, &target.launch);
        self.limited(|| {
            let (report, slices) = decide(check(target.module, entry, launch, &limits));
            let mut mender = Mender::new(&target.text.source.text, entry, launch, limits.steps, &report);
            Told { slices, ..tell(&report, &target.about(), &mut |races: &[&Race]| mender.mend(races)) }
        })
    }

    pub(super) fn picture(&self, target: &Target) -> Option<String> {
        self.options.picture.as_ref()?;
        let limits = limits_of(self.options);
        self.limited(|| Some(picture::draw(&target.about(), limits.steps)))
    }

    /// Does the work under the limits of the command line.
    pub(super) fn limited<T>(&self, work: impl FnOnce() -> T) -> T {
        let deadline = self.options.time_limit.map(|time| Instant::now() + time);
        let _entered = limits::enter(deadline, Some(memory::signals()));
        work()
    }
}

pub(super) fn limits_of(options: &Kernel) -> Limits {
    Limits { steps: options.steps, schedules: options.schedules.max(1) }
}

/// A module with entries; else its errors are said.
pub(super) fn parsed(text: &Text, answered: &mut Answered) -> Option<Module> {
    match text.parse() {
        Ok(module) if module.entries.is_empty() => {
            answered.refuse(&format!("`{}` has no .entry", text.source.name));
            None
        }
        Ok(module) => Some(module),
        Err(messages) => {
            answered.messages.push_str(&messages);
            answered.bad_input = true;
            None
        }
    }
}

pub(super) fn refuse(answered: &mut Answered, name: &str, wrong: &Wrong) {
    let place = wrong.line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
    answered.refuse(&format!("{place}: {}", wrong.message));
}

/// A parameter by its number or its name.
pub(super) fn parameter_index(entry: &Entry, name: &str) -> Option<usize> {
    name.parse().ok().or_else(|| entry.parameters.iter().position(|own| own.name == name))
}

/// What the flags change of a launch.
fn changed(mut launch: Launch, options: &Kernel, entry: &Entry) -> Result<Launch, Wrong> {
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
        let slot = parameter_index(entry, name)
            .and_then(|index| Some((entry.parameters.get(index)?, launch.arguments.get_mut(index)?)));
        let Some((parameter, slot)) = slot else {
            let last = entry.parameters.len().saturating_sub(1);
            let there = phrase::count(entry.parameters.len() as u64, "parameter");
            return wrong(format!("there is no parameter `{name}`: it has {there}, 0 to {last}, or by name"));
        };
        *slot = of_text(value, parameter)?;
    }
    Ok(launch)
}
