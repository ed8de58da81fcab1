//! What each synchronisation of a kernel carries, as a table.

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_kernel::mutate::{Change, Fate, Mutation};

use super::{About, shortened};

pub fn mutants_text(mutation: &Mutation, about: &About) -> String {
    let mut text = format!("{}: each synchronisation left out or weakened in turn\n", about.entry.name);
    text.push_str(&compared_with(mutation));
    for mutant in &mutation.mutants {
        let place = about.place(mutant.pc, String::new());
        let change = match mutant.change {
            Change::LeftOut => "left out",
            Change::OneMore => "one more group under way",
            Change::Relaxed => "relaxed",
            Change::NarrowScope => "scope .cta",
        };
        let fate = fate(&mutant.fate);
        let _ = writeln!(text, "  line {}: {}: {change}\n    {fate}", place.line, shortened(&place.text));
    }
    let count = |is: fn(&Fate) -> bool| mutation.mutants.iter().filter(|mutant| is(&mutant.fate)).count();
    let _ = write!(
        text,
        "{} of {} noticed, {} no longer determined, {} not needed for this launch",
        count(|fate| matches!(fate, Fate::Noticed { .. })),
        mutation.mutants.len(),
        count(|fate| *fate == Fate::Undetermined),
        count(|fate| *fate == Fate::Redundant),
    );
    match count(|fate| *fate == Fate::Unknown) {
        0 => text.push('\n'),
        number => {
            let _ = writeln!(text, ", {number} not decided");
        }
    }
    if mutation.cut {
        text.push_str("it was stopped: further changes were not tried\n");
    }
    text
}

/// What the mutants are compared with, unless that is a proved kernel.
fn compared_with(mutation: &Mutation) -> String {
    match mutation {
        Mutation { findings: 0, doubts: 0, strongest: false, .. } => String::new(),
        Mutation { findings: 0, doubts: 0, .. } => {
            "  the kernel is proved under the strongest readings of the ISA only: they are taken here\n".to_owned()
        }
        Mutation { findings: 0, .. } => {
            "  the kernel itself is not proved: what is not noticed may be needed all the same\n".to_owned()
        }
        Mutation { findings, .. } => {
            let findings = phrase::count(*findings as u64, "finding");
            format!("  the kernel itself has {findings}: only what is new is told\n")
        }
    }
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Noticed { races, hang, errors } => {
            let races = (*races > 0).then(|| phrase::count(*races as u64, "racing pair"));
            let hang = hang.then(|| "a hang".to_owned());
            let errors = (*errors > 0).then(|| phrase::count(*errors as u64, "error"));
            [races, hang, errors].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Fate::Undetermined => "what happens depends on the schedule".to_owned(),
        Fate::Redundant => "not needed for this launch: every conflicting pair stays ordered".to_owned(),
        Fate::Unknown => "nothing new was found".to_owned(),
    }
}
