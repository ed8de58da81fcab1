//! One unit of work: a module whose launches are guessed, or a launch file.

use std::sync::atomic::Ordering;

use fencepost_kernel::code::{Entry, Module};
use fencepost_kernel::launch::program;
use fencepost_kernel::launch::template::{Facts, from_facts};

use super::launches::{Answered, Work, parameter_index, parsed, refuse};
use super::modules::{Text, entries};
use super::sequence;
use crate::signals::CANCELLED;

pub(super) enum Unit {
    /// All entries of a module, under launches that are guessed.
    Guess(usize),
    /// A launch file: its name and text.
    File(String, String),
}

impl Work<'_> {
    pub(super) fn unit(&self, unit: &Unit) -> Answered {
        let mut answered = Answered::default();
        match unit {
            Unit::Guess(index) => self.guess(&self.texts[*index], &mut answered),
            Unit::File(name, text) => self.file(name, text, &mut answered),
        }
        answered
    }

    /// Every entry of a module under the template's launch.
    fn guess(&self, text: &Text, answered: &mut Answered) {
        if CANCELLED.load(Ordering::Relaxed) {
            answered.skipped.push(text.source.name.clone());
            return;
        }
        let Some(module) = parsed(text, answered) else { return };
        let found = match entries(&module, self.options.entry.as_deref()) {
            Ok(found) => found,
            // With several modules, those that lack the entry are not meant.
            Err(_) if self.texts.len() > 1 && self.any_has_entry() => return,
            Err(why) => return answered.refuse(&why),
        };
        for entry in found {
            let template = from_facts(entry, &self.facts(text, entry));
            let name = format!("the guessed launch of `{}`", entry.name);
            let step = match program::parse(&template.text) {
                Ok(program) => program.steps.into_iter().next(),
                Err(wrong) => return refuse(answered, &name, &wrong),
            };
            let Some(step) = step else { continue };
            match self.launch(&step, text, &module, entry) {
                Ok(target) => self.answer(&target, template.guessed, answered),
                Err(wrong) => refuse(answered, &name, &wrong),
            }
        }
    }

    /// What the compiler and the flags say about the launch of an entry: the rest is guessed.
    fn facts(&self, text: &Text, entry: &Entry) -> Facts {
        let mut facts = text.facts(&entry.name).cloned().unwrap_or_default();
        let size = |given: &[u32]| match *given {
            [x] => Some([x, 1, 1]),
            [x, y] => Some([x, y, 1]),
            [x, y, z] => Some([x, y, z]),
            _ => None,
        };
        facts.grid = size(&self.options.grid);
        facts.block = size(&self.options.block).or(facts.block);
        facts.cluster = size(&self.options.cluster).or(facts.cluster);
        facts.shared = self.options.shared.or(facts.shared);
        let names = self.options.parameters.iter().filter_map(|parameter| parameter.split_once('='));
        facts.given = names.filter_map(|(name, _)| parameter_index(entry, name)).collect();
        facts
    }

    fn any_has_entry(&self) -> bool {
        let name = self.options.entry.as_deref().unwrap_or_default();
        self.texts.iter().any(|text| text.source.text.contains(name))
    }

    /// The launches of a file.
    fn file(&self, name: &str, text: &str, answered: &mut Answered) {
        let program = match program::parse(text) {
            Ok(program) => program,
            Err(wrong) => return refuse(answered, name, &wrong),
        };
        let (mut modules, mut unread): (Vec<(&Text, Module)>, Vec<&Text>) = Default::default();
        for text in self.texts.iter().filter(|text| program.steps.iter().any(|step| self.may_hold(step, text))) {
            match parsed(text, answered) {
                Some(module) => modules.push((text, module)),
                None => unread.push(text),
            }
        }
        let mut steps = Vec::new();
        for step in &program.steps {
            match self.targets(step, &modules, &unread) {
                Ok(Some(targets)) => steps.push(targets),
                Ok(None) => return,
                Err(wrong) => return refuse(answered, name, &wrong),
            }
        }
        if let [targets] = steps.as_slice() {
            for target in targets {
                self.answer(target, Vec::new(), answered);
            }
            return;
        }
        let mut targets = Vec::new();
        for (own, step) in steps.into_iter().zip(&program.steps) {
            if own.len() > 1 {
                let entry = own[0].entry.name.clone();
                let why = format!("{name}: {} modules have an entry `{entry}`: name one with `module`", own.len());
                return answered.refuse(&why);
            }
            targets.extend(own.into_iter().map(|target| (target, step)));
        }
        sequence::check(self, &program, targets, answered);
    }
}
