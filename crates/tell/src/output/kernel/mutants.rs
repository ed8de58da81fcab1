//! What each synchronisation of a kernel carries, as a table.

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_kernel::mutate::{Change, Fate, Mutant};

use super::{About, shortened};

pub fn mutants_text(mutants: &[Mutant], about: &About) -> String {
    let mut text = format!("{}: each synchronisation left out or weakened in turn\n", about.entry.name);
    let (mut noticed, mut undetermined) = (0, 0);
    for mutant in mutants {
        let place = about.place(mutant.pc, String::new());
        let change = match mutant.change {
            Change::LeftOut => "left out",
            Change::OneMore => "one more group under way",
            Change::Relaxed => "relaxed",
            Change::NarrowScope => "scope .cta",
        };
        let fate = match &mutant.fate {
            Fate::Noticed { races, hang, errors } => {
                noticed += 1;
                let mut parts = Vec::new();
                if *races > 0 {
                    parts.push(phrase::count(*races as u64, "racing pair"));
                }
                if *hang {
                    parts.push("a hang".to_owned());
                }
                if *errors > 0 {
                    parts.push(phrase::count(*errors as u64, "error"));
                }
                parts.join(", ")
            }
            Fate::Undetermined => {
                undetermined += 1;
                "what happens depends on the schedule".to_owned()
            }
            Fate::Redundant => "not needed for this launch: every conflicting pair stays ordered".to_owned(),
        };
        let _ = writeln!(text, "  line {}: {}: {change}\n    {fate}", place.line, shortened(&place.text));
    }
    let all = mutants.len();
    let _ = writeln!(
        text,
        "{noticed} of {all} noticed, {undetermined} no longer determined, {} not needed for this launch",
        all - noticed - undetermined
    );
    text
}
