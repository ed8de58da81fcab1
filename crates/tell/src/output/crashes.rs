//! Answers about crashes, and the states that crashes leave, for people.

use std::fmt::Write;

use fencepost_report::crash::{CrashAnswer, CrashWitness, Crashes, Recovery, RecoveryAnswer, RecoveryWitness};
use fencepost_report::verdict::Verdict;
use fencepost_report::{EventKind, Missing, Report, WhyUnknown, WitnessEvent};

use fencepost_check::phrase;

use super::details;

/// The answers, a line or more each.
pub(super) fn answers(text: &mut String, report: &Report, crashes: &Crashes) {
    for answer in &crashes.questions {
        let _ = writeln!(text, "  crash {}", sentence(answer));
        found_under(text, report, &answer.verdict, answer.witness.is_some());
        if let Some(witness) = &answer.witness {
            crash(text, "    ", "the power fails", witness);
        }
        missing(text, &answer.missing, mended(&answer.kind));
    }
    if let Some(recovery) = &crashes.recovery {
        recovered(text, report, recovery);
    }
}

/// Where something was found under the readings that were looked at, and under others it is not known: which those were.
fn found_under(text: &mut String, report: &Report, verdict: &Verdict, is_found: bool) {
    if !is_found || !matches!(verdict, Verdict::Unknown(_)) {
        return;
    }
    let open = report.readings.iter().filter(|reading| !reading.chosen);
    let open: Vec<String> = open.map(|reading| format!("{}={}", reading.name, reading.value)).collect();
    let _ = match open.is_empty() {
        true => writeln!(text, "    it was found, but not under every reading of the model:"),
        false => writeln!(text, "    it was found under {}, and other readings were not decided:", open.join(", ")),
    };
}

/// The pieces, and what they bring.
fn missing(text: &mut String, pieces: &[Missing], mended: &str) {
    let with = if pieces.len() == 1 { "it" } else { "these" };
    for (at, piece) in pieces.iter().enumerate() {
        let end = if at + 1 == pieces.len() { format!("; with {with} {mended}") } else { String::new() };
        let _ = writeln!(text, "    missing: {}{end}", piece.sentence());
    }
}

fn mended(kind: &str) -> &'static str {
    if kind == "forall" { "it holds after every crash" } else { "no crash leaves this state" }
}

/// How many states there are, and which if they are to be listed.
pub(super) fn states(text: &mut String, report: &Report, crashes: &Crashes, listed: bool) {
    let Some(executions) = crashes.executions else { return };
    let at_least = if executions.complete { "" } else { "at least " };
    let states = phrase::count(crashes.state_count(), "state");
    let counted = phrase::count(executions.count, "execution");
    let _ = writeln!(text, "  {at_least}{states} after a crash, in {at_least}{counted}");
    if listed || report.questions.is_empty() && crashes.questions.is_empty() && crashes.recovery.is_none() {
        for state in &crashes.states {
            let _ = writeln!(text, "    {:>8}  {}", state.executions, state.values);
        }
        if crashes.unlisted > 0 {
            let more = phrase::count(crashes.unlisted, "more state");
            let _ = writeln!(text, "    {more} (--outcomes N lists so many)");
        }
    }
}

fn sentence(answer: &CrashAnswer) -> String {
    let found = match (&answer.verdict, answer.kind.as_str()) {
        (Verdict::Holds, "exists") => "possible".to_owned(),
        (Verdict::Violated, "exists") => "no crash leaves this state".to_owned(),
        (Verdict::Holds, "~exists") => "no crash leaves this state".to_owned(),
        (Verdict::Violated, "~exists") => "possible, but the test says it must not be".to_owned(),
        (Verdict::Holds, _) => "true after every crash".to_owned(),
        (Verdict::Violated, _) => "false after some crash".to_owned(),
        (Verdict::Depends(dependence), _) => format!("depends on {dependence}"),
        (Verdict::Unknown(_), _) => format!("not known{}", reason(answer.why.as_ref())),
    };
    format!("{} ({}): {found}", answer.kind, answer.condition)
}

fn reason(why: Option<&WhyUnknown>) -> String {
    why.map_or(String::new(), |why| match why.line {
        Some(line) => format!(" ({}, line {line})", why.message),
        None => format!(" ({})", why.message),
    })
}

/// What had happened, what was durable, what was lost.
fn crash(text: &mut String, indent: &str, when: &str, witness: &CrashWitness) {
    let events = |ids: &[u32]| -> Vec<&WitnessEvent> {
        witness.execution.events.iter().filter(|event| ids.contains(&event.id)).collect()
    };
    let ran = events(&witness.happened).into_iter().filter(|event| event.thread.is_some()).collect::<Vec<_>>();
    let last = last_of_each(&ran);
    let after =
        if last.is_empty() { "before anything has happened".to_owned() } else { format!("after {}", last.join(", ")) };
    let _ = writeln!(text, "{indent}{when} {after}");
    let durable: Vec<String> = events(&witness.durable).into_iter().map(persist).collect();
    let durable = if durable.is_empty() { "nothing".to_owned() } else { durable.join(", ") };
    let _ = writeln!(text, "{indent}durable: {durable}");
    let lost: Vec<String> = events(&witness.lost).into_iter().map(persist).collect();
    if !lost.is_empty() {
        let _ = writeln!(text, "{indent}lost: {}", lost.join(", "));
    }
    let _ = writeln!(text, "{indent}left: {}", witness.state);
}

/// The last event of each thread that had happened.
fn last_of_each(events: &[&WitnessEvent]) -> Vec<String> {
    let mut last: Vec<&WitnessEvent> = Vec::new();
    for event in events {
        match last.iter_mut().find(|known| known.thread == event.thread) {
            Some(known) => *known = event,
            None => last.push(event),
        }
    }
    let told = |event: &&WitnessEvent| {
        let thread = event.thread.as_deref().unwrap_or_default();
        format!("{thread} line {} `{}`", event.line.unwrap_or(0), event.text.trim_end_matches(';'))
    };
    last.iter().map(told).collect()
}

/// `x=1 (P0 line 4)`.
fn persist(event: &WitnessEvent) -> String {
    let location = event.location.as_deref().unwrap_or_default();
    let value = event.value.as_ref().map_or(String::new(), |value| format!("={value}"));
    let thread = event.thread.as_deref().unwrap_or_default();
    format!("{location}{value} ({thread} line {})", event.line.unwrap_or(0))
}

fn recovered(text: &mut String, report: &Report, recovery: &Recovery) {
    for answer in &recovery.questions {
        let found = match (&answer.verdict, answer.kind.as_str()) {
            (Verdict::Holds, "exists") => "possible after recovery".to_owned(),
            (Verdict::Violated, "exists") => "not possible after recovery".to_owned(),
            (Verdict::Holds, _) => "recoverable from every crash".to_owned(),
            (Verdict::Violated, _) => "not recoverable from some crash".to_owned(),
            (Verdict::Depends(dependence), _) => format!("depends on {dependence}"),
            (Verdict::Unknown(_), _) => format!("not known{}", reason(answer.why.as_ref())),
        };
        let _ = writeln!(text, "  recover {} ({}): {found}", answer.kind, answer.condition);
        found_under(text, report, &answer.verdict, answer.witness.is_some());
        failure(text, answer);
        missing(text, &answer.missing, "every crash is recovered from");
    }
    if recovery.questions.is_empty() {
        let found = match &recovery.ending.verdict {
            Verdict::Holds => "recovery ends after every crash".to_owned(),
            Verdict::Violated => "recovery does not end after some crash".to_owned(),
            _ => format!("whether recovery ends is not known{}", reason(recovery.ending.why.as_ref())),
        };
        let _ = writeln!(text, "  {found}");
        failure(text, &recovery.ending);
    }
    let states = phrase::count(recovery.states, "state");
    let _ = writeln!(text, "  recovery was run from {states} of persistent memory");
}

fn failure(text: &mut String, answer: &RecoveryAnswer) {
    let Some(RecoveryWitness { crashes, image, run, ends, stuck }) = &answer.witness else { return };
    for (at, witness) in crashes.iter().enumerate() {
        let when = if at == 0 { "the power fails" } else { "it fails again during recovery," };
        crash(text, "    ", when, witness);
    }
    let end = if *ends { "ends with" } else { "never ends" };
    let writes = run.events.iter().filter(|event| event.kind == EventKind::Write);
    let writes: Vec<String> = writes.map(persist).collect();
    let wrote = match (writes.is_empty(), ends) {
        (_, false) => String::new(),
        (true, true) => " nothing written".to_owned(),
        (false, true) => format!(" {}", writes.join(", ")),
    };
    let _ = writeln!(text, "    recovery from {image} {end}{wrote}");
    details::stuck_threads(text, "      ", stuck);
}
