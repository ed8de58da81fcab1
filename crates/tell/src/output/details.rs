//! What a paragraph says below its answers: the races, the broken rules about mbarriers with the life of the object, what
//! an answer depends on, and warnings.

use std::fmt::Write;

use fencepost_check::look::race::MOST_PAIRS;
use fencepost_repair::{MOST_QUESTIONS, MOST_RACES};
use fencepost_report::{Cause, ProtocolAnswer, ProtocolError, Report, Step, Stuck};

use super::diagnosis::{diagnosed, through};
use super::races;

pub(super) fn write(text: &mut String, report: &Report) {
    report.questions.iter().filter_map(|answer| answer.cause.as_deref()).for_each(|cause| caused(text, cause));
    if report.questions.iter().filter(|answer| answer.cause.is_some()).count() == MOST_QUESTIONS {
        let _ = writeln!(
            text,
            "  causes were looked for in the first {MOST_QUESTIONS} questions that are answered wrongly"
        );
    }
    if report.questions.is_empty() && report.crashes.is_none() && !report.races.pairs.is_empty() {
        text.push_str(
            "  no condition is asked, so the verdict says nothing about what follows; `--require race-free` does\n",
        );
    }
    races::write(text, report);
    if report.races.more {
        let _ = writeln!(text, "  and more races: the first {MOST_PAIRS} of a kind are listed");
    }
    if let Some(rest) = &report.races.rest {
        let _ = writeln!(text, "  there may be more races: {}", rest.message);
    }
    if report.races.undiagnosed > 0 {
        let _ = writeln!(text, "  repairs were looked for in the first {MOST_RACES} races only");
    }
    if let Some(dependence) = &report.races.depends {
        let _ = writeln!(text, "  races: depends on {dependence}");
    }
    report.protocol.errors.iter().for_each(|error| protocol(text, error));
    if let Some(dependence) = &report.protocol.depends {
        let _ = writeln!(text, "  protocol: depends on {dependence}");
    }
    if report.protocol.answer == ProtocolAnswer::Unknown {
        text.push_str(match report.protocol.errors.is_empty() {
            true => "  protocol: the use of the mbarriers was not decided\n",
            false => "  protocol: there may be more broken rules: the use of the mbarriers was not decided\n",
        });
    }
    if let Some(dependence) = &report.termination.depends {
        let _ = writeln!(text, "  end: depends on {dependence}");
    }
    for warning in &report.warnings {
        let other = warning.other.map_or(String::new(), |place| format!(" and line {}", place.line));
        let section = &warning.section;
        let section = if section.is_empty() { String::new() } else { format!(" (PTX ISA {section})") };
        let _ =
            writeln!(text, "  warning: line {}{other}: {}{section} [{}]", warning.line, warning.message, warning.name);
    }
}

/// What an outcome comes from that must not be.
fn caused(text: &mut String, cause: &Cause) {
    let place = cause.location.as_deref().map_or(String::new(), |location| format!(" on {location}"));
    let _ = writeln!(text, "  {}{place}:", cause.kind.word());
    let told = &cause.diagnosis;
    for (access, told) in [(&cause.first, &told.first), (&cause.second, &told.second)] {
        let _ = writeln!(text, "    {} line {}: {}{}", access.thread, access.line, access.text, through(told));
    }
    diagnosed(text, told, "no execution ends so");
}

fn protocol(text: &mut String, error: &ProtocolError) {
    let ProtocolError { kind, mbarrier, message, section, .. } = error;
    let _ = writeln!(text, "  protocol: {mbarrier} {message} (PTX ISA {section}) [{kind}]:");
    let access = &error.access;
    let _ = writeln!(text, "    {} line {}: {}", access.thread, access.line, access.text);
    let lines: Vec<(String, String)> = error.timeline.iter().map(|step| (who(step), state(step))).collect();
    let width = lines.iter().map(|(who, _)| who.chars().count()).max().unwrap_or(0);
    for ((who, state), step) in lines.iter().zip(&error.timeline) {
        let mark = if step.here { ">" } else { " " };
        let _ = writeln!(text, "    {mark} {who:width$}  {state}");
    }
}

fn who(step: &Step) -> String {
    let thread = step.thread.as_deref().unwrap_or("");
    let beside = if step.asynchronous { " (async)" } else { "" };
    let line = step.line.map_or(String::new(), |line| format!(" line {line}: "));
    let answer = match step.answer {
        Some(true) => " -> true",
        Some(false) => " -> false",
        None => "",
    };
    format!("{thread}{beside}{line}{}{answer}", step.text)
}

fn state(step: &Step) -> String {
    if step.live {
        format!("phase {}, pending {} of {}, tx {}", step.phase, step.pending, step.expected, step.tx)
    } else {
        "no mbarrier".to_owned()
    }
}

/// Where threads that never end are.
pub(super) fn stuck_threads<'a>(text: &mut String, indent: &str, stuck: impl IntoIterator<Item = &'a Stuck>) {
    for Stuck { thread, line, text: instruction, goes_round } in stuck {
        let _ = match line {
            Some(line) if *goes_round => {
                writeln!(text, "{indent}{thread} line {line}: goes round for ever with the other threads of its CTA")
            }
            Some(line) => writeln!(text, "{indent}{thread} line {line}: waits for ever at `{instruction}`"),
            None => writeln!(text, "{indent}{thread} never starts"),
        };
    }
}
