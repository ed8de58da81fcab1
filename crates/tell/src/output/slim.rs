//! What `slim` says, for people: what can be changed alone and together, what that saves, and what the rest is needed for.

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_report::WhyUnknown;
use fencepost_report::finding::FindingKind;
use fencepost_report::fix::Line;
use fencepost_report::slim::{Broken, SlimAnswer, SlimChange, SlimReport, SlimSet, Weakened};

use super::fix::confirmed;

/// Puts what is not known into words.
pub fn put_into_words(report: &mut SlimReport) {
    let set = report.together.iter_mut().flat_map(|set| [&mut set.second_engine, &mut set.more_rounds]);
    for why in set.chain([&mut report.why]).flatten() {
        if let Some(data) = &why.why {
            why.message = crate::words::why(data);
        }
    }
}

/// One line of JSON (`docs/schema/slim.schema.json`).
pub fn json(report: &SlimReport) -> String {
    serde_json::to_string(report).map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |line| line + "\n")
}

pub fn text(report: &SlimReport) -> String {
    let mut text = format!("{} ({}) under {}: ", report.file, report.test, report.model);
    text += &match (&report.answer, &report.together) {
        (SlimAnswer::NotRight, _) => {
            format!("not right yet: repair it first (`fencepost fix`){}\n", reason(report.why.as_ref()))
        }
        (SlimAnswer::Nothing, _) => format!("nothing can be saved of {}\n", report.cost),
        (SlimAnswer::Undecided, _) => format!("undecided{}\n", reason(report.why.as_ref())),
        (SlimAnswer::Slimmer, Some(set)) => {
            let word = if set.most { "the most" } else { "best found" };
            format!("{} of {} can be saved, {word}\n", set.saves, report.cost)
        }
        (SlimAnswer::Slimmer, None) => format!("each of these can be saved{}\n", reason(report.why.as_ref())),
    };
    for broken in &report.wrong {
        let _ = match broken {
            Broken::Question { question, line } => {
                writeln!(text, "  {question} (line {line}) is not answered as it should be")
            }
            other => writeln!(text, "  {}", sentence(other)),
        };
    }
    if report.together.as_ref().is_none_or(|set| set.changes != report.alone) {
        list(&mut text, "each alone:", &report.alone);
    }
    if let Some(set) = &report.together {
        together(&mut text, report, set);
    }
    if !report.needed.is_empty() {
        let _ = writeln!(text, "  needed:");
    }
    for needed in &report.needed {
        let _ = match &needed.what {
            Weakened::Removed { at, was } => {
                writeln!(text, "    {}: without `{was}`, {}", lines(at), sentence(&needed.breaks))
            }
            Weakened::Replaced { at, was, is } => {
                writeln!(text, "    {}: `{was}`; as `{is}`, {}", line(at), sentence(&needed.breaks))
            }
        };
    }
    text
}

fn list(text: &mut String, title: &str, changes: &[SlimChange]) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(text, "  {title}");
    for change in changes {
        let what = match &change.what {
            Weakened::Replaced { at, was, is } => format!("{}: `{was}` becomes `{is}`", line(at)),
            Weakened::Removed { at, was } => format!("{}: remove `{was}`", lines(at)),
        };
        let _ = writeln!(text, "    {what} (saves {})", change.saves);
    }
}

fn together(text: &mut String, report: &SlimReport, set: &SlimSet) {
    let title = if set.changes == report.alone { "each alone, and all together:" } else { "together:" };
    list(text, title, &set.changes);
    let options = phrase::count(report.options, "change");
    let asked = phrase::count(report.asked, "changed test");
    let _ = match set.most {
        true => writeln!(text, "  no set of these {options} saves more ({asked} checked)"),
        false => writeln!(
            text,
            "  sets of these {options} that save more were not all decided ({asked} checked){}",
            reason(report.why.as_ref())
        ),
    };
    confirmed(text, "the other engine", set.second_engine.as_ref());
    if set.unrolled.is_some() {
        confirmed(text, "two more rounds of its loops", set.more_rounds.as_ref());
    }
    if !set.writable {
        let _ = writeln!(
            text,
            "  the notation of this test has no place for the changes: `--write` and `--diff` cannot show them"
        );
    }
}

fn line(at: &Line) -> String {
    format!("{} line {}", at.thread, at.line)
}

fn lines(at: &[Line]) -> String {
    at.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// What an answer is then: "lines 5 and 9 race".
fn sentence(broken: &Broken) -> String {
    match broken {
        Broken::Question { question, line } => format!("the answer to {question} (line {line}) changes"),
        Broken::Race { finding, first, second } => {
            let (both, give) = match first == second {
                true => (format!("line {first}"), "gives"),
                false => (format!("lines {first} and {second}"), "give"),
            };
            match finding {
                FindingKind::DataRace | FindingKind::ScopedRace | FindingKind::MixedSizeRace | FindingKind::Race => {
                    format!("{both} race")
                }
                other => format!("{both} {give} the finding {}", other.word()),
            }
        }
        Broken::SomeRace => "there is a race".to_owned(),
        Broken::Protocol => "a rule of mbarriers is broken".to_owned(),
        Broken::Hang => "a thread may wait for ever".to_owned(),
        Broken::States => "the program computes something else".to_owned(),
    }
}

fn reason(why: Option<&WhyUnknown>) -> String {
    why.map_or_else(String::new, |why| format!(": {}", why.message))
}
