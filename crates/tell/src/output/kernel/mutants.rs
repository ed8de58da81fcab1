//! What each synchronisation of a kernel carries, as text and as data.

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_kernel::mutate::{Change, Fate, Mutant, Mutation};
use serde::Serialize;

use super::{About, Place, SourceLine, shortened};

/// The mutants of an entry, as `docs/schema/kernel-mutants.schema.json` says.
#[derive(Serialize)]
pub struct Mutants {
    version: u32,
    file: String,
    entry: String,
    compared_with: ComparedWith,
    /// How many findings the unchanged kernel has.
    findings: usize,
    mutants: Vec<ToldMutant>,
    /// A limit was reached, or somebody stopped it: further changes were not tried.
    cut: bool,
}

/// What the unchanged kernel is.
#[derive(Serialize, Copy, Clone, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ComparedWith {
    Proof,
    StrongestReadings,
    NotProved,
    Findings,
}

#[derive(Serialize)]
struct ToldMutant {
    place: Place,
    change: &'static str,
    fate: ToldFate,
    racing_pairs: usize,
    hang: bool,
    errors: usize,
}

#[derive(Serialize, Copy, Clone, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ToldFate {
    Noticed,
    NoLongerDetermined,
    NotNeeded,
    NotDecided,
}

impl ToldMutant {
    fn new(mutant: &Mutant, about: &About) -> ToldMutant {
        let (fate, (racing_pairs, hang, errors)) = match mutant.fate {
            Fate::Noticed { races, hang, errors } => (ToldFate::Noticed, (races, hang, errors)),
            Fate::Undetermined => (ToldFate::NoLongerDetermined, (0, false, 0)),
            Fate::Redundant => (ToldFate::NotNeeded, (0, false, 0)),
            Fate::Unknown => (ToldFate::NotDecided, (0, false, 0)),
        };
        let change = match mutant.change {
            Change::LeftOut => "left out",
            Change::OneMore => "one more group under way",
            Change::Relaxed => "relaxed",
            Change::NarrowScope => "scope .cta",
        };
        ToldMutant { place: about.place(mutant.pc, String::new()), change, fate, racing_pairs, hang, errors }
    }

    fn found(&self) -> String {
        match self.fate {
            ToldFate::Noticed => {
                let races = (self.racing_pairs > 0).then(|| phrase::count(self.racing_pairs as u64, "racing pair"));
                let hang = self.hang.then(|| "a hang".to_owned());
                let errors = (self.errors > 0).then(|| phrase::count(self.errors as u64, "error"));
                [races, hang, errors].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            ToldFate::NoLongerDetermined => "what happens depends on the schedule".to_owned(),
            ToldFate::NotNeeded => "not needed for this launch: every conflicting pair stays ordered".to_owned(),
            ToldFate::NotDecided => "nothing new was found".to_owned(),
        }
    }
}

impl Mutants {
    pub fn new(mutation: &Mutation, about: &About) -> Mutants {
        let compared_with = match mutation {
            Mutation { findings: 1.., .. } => ComparedWith::Findings,
            Mutation { doubts: 1.., .. } => ComparedWith::NotProved,
            Mutation { strongest: true, .. } => ComparedWith::StrongestReadings,
            _ => ComparedWith::Proof,
        };
        Mutants {
            version: 1,
            file: about.source.name.clone(),
            entry: about.entry.name.clone(),
            compared_with,
            findings: mutation.findings,
            mutants: mutation.mutants.iter().map(|mutant| ToldMutant::new(mutant, about)).collect(),
            cut: mutation.cut,
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}: each synchronisation left out or weakened in turn\n", self.entry);
        text.push_str(&self.compared_with());
        for mutant in &self.mutants {
            let Place { line, text: instruction, source, .. } = &mutant.place;
            let source = source.as_ref().map_or_else(String::new, SourceLine::shown);
            let (instruction, found) = (shortened(instruction), mutant.found());
            let _ = writeln!(text, "  line {line}{source}: {instruction}: {}\n    {found}", mutant.change);
        }
        let count = |fate: ToldFate| self.mutants.iter().filter(|mutant| mutant.fate == fate).count();
        let _ = write!(
            text,
            "{} of {} noticed, {} no longer determined, {} not needed for this launch",
            count(ToldFate::Noticed),
            self.mutants.len(),
            count(ToldFate::NoLongerDetermined),
            count(ToldFate::NotNeeded),
        );
        match count(ToldFate::NotDecided) {
            0 => text.push('\n'),
            number => {
                let _ = writeln!(text, ", {number} not decided");
            }
        }
        if self.cut {
            text.push_str("it was stopped: further changes were not tried\n");
        }
        text
    }

    pub fn json(&self) -> String {
        serde_json::to_string(self).map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |line| line + "\n")
    }

    /// What the mutants are compared with, unless that is a proved kernel.
    fn compared_with(&self) -> String {
        match self.compared_with {
            ComparedWith::Proof => String::new(),
            ComparedWith::StrongestReadings => {
                "  the kernel is proved under the strongest readings of the ISA only: they are taken here\n".to_owned()
            }
            ComparedWith::NotProved => {
                "  the kernel itself is not proved: what is not noticed may be needed all the same\n".to_owned()
            }
            ComparedWith::Findings => {
                let findings = phrase::count(self.findings as u64, "finding");
                format!("  the kernel itself has {findings}: only what is new is told\n")
            }
        }
    }
}
