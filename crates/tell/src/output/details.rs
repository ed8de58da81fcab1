//! What a paragraph says below its answers: the races, the broken rules about mbarriers with the life of the object, what
//! an answer depends on, and warnings.

use std::fmt::Write;

use fencepost_check::look::race::MOST_PAIRS;
use fencepost_repair::{MOST_QUESTIONS, MOST_RACES};
use fencepost_report::finding::FindingKind;
use fencepost_report::{Cause, Diagnosis, ProtocolAnswer, ProtocolError, Race, RacingAccess, Report, Step};

/// What a race rests on that is one under some readings only, with their names.
fn weakest(report: &Report) -> String {
    match report.races.depends.as_ref().map(|dependence| dependence.readings.as_slice()) {
        Some([reading]) => format!(" under the weakest reading of {reading} only"),
        Some(readings @ [_, ..]) => format!(" under the weakest readings of {} only", readings.join(" and ")),
        Some([]) | None => " under the weakest readings only".to_owned(),
    }
}

pub(super) fn write(text: &mut String, report: &Report) {
    report.questions.iter().filter_map(|answer| answer.cause.as_deref()).for_each(|cause| caused(text, cause));
    if report.questions.iter().filter(|answer| answer.cause.is_some()).count() == MOST_QUESTIONS {
        let _ = writeln!(
            text,
            "  causes were looked for in the first {MOST_QUESTIONS} questions that are answered wrongly"
        );
    }
    for race in &report.races.pairs {
        let place = race.location.as_deref().map_or(String::new(), |location| format!(" on {location}"));
        let (first, second) = (&race.first, &race.second);
        let contested = if race.contested { weakest(report) } else { String::new() };
        let _ = writeln!(text, "  {}{place}{}{contested}:", race.flag, kind(race, report));
        let told = race.diagnosis.as_ref();
        let both = [(first, told.map(|told| &told.first)), (second, told.map(|told| &told.second))];
        // What one instruction does alone is told once.
        let is_one = race.kind.may_be_alone() && first == second;
        for (access, told) in both.into_iter().skip(usize::from(is_one)) {
            let how = told.map_or(String::new(), through);
            let _ = writeln!(text, "    {} line {}: {}{how}", access.thread, access.line, access.text);
        }
        race.diagnosis.iter().for_each(|diagnosis| diagnosed(text, diagnosis, "this race is gone"));
    }
    if report.races.more {
        let _ = writeln!(text, "  and more races: the first {MOST_PAIRS} of a kind are listed");
    }
    if let Some(rest) = &report.races.rest {
        let _ = writeln!(text, "  there may be more races: {}", rest.message);
    }
    if report.races.undiagnosed > 0 {
        let _ = writeln!(text, "  what is missing was looked for in the first {MOST_RACES} races only");
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

/// Which of the two kinds of races of C it is.
fn kind(race: &Race, report: &Report) -> &'static str {
    match race.kind {
        _ if !report.undefined.as_ref().is_some_and(|undefined| undefined.flags.contains(&race.flag)) => "",
        FindingKind::DataRace => " (not both atomic)",
        FindingKind::ScopedRace => " (atomics whose scopes do not include each other)",
        _ => "",
    }
}

/// " (asynchronously reads s, async proxy)".
fn through(access: &RacingAccess) -> String {
    let how = if access.asynchronous { "asynchronously " } else { "" };
    let proxy = if access.proxy == "none" { String::new() } else { format!(", {}", access.proxy) };
    format!(" ({how}{}{proxy})", access.what)
}

/// What an outcome comes from that must not be.
fn caused(text: &mut String, cause: &Cause) {
    let place = cause.location.as_deref().map_or(String::new(), |location| format!(" on {location}"));
    let _ = writeln!(text, "  {}{place}:", cause.kind);
    let told = &cause.diagnosis;
    for (access, told) in [(&cause.first, &told.first), (&cause.second, &told.second)] {
        let _ = writeln!(text, "    {} line {}: {}{}", access.thread, access.line, access.text, through(told));
    }
    diagnosed(text, told, "no execution ends so");
}

fn diagnosed(text: &mut String, diagnosis: &Diagnosis, cured: &str) {
    let _ = writeln!(text, "    {}", diagnosis.why);
    if let Some(under) = &diagnosis.under {
        let _ =
            writeln!(text, "    under the weakest readings no small change that was tried orders them; with {under}:");
    }
    let last = diagnosis.missing.len().saturating_sub(1);
    for (at, missing) in diagnosis.missing.iter().enumerate() {
        let word = if diagnosis.confirmed { "missing" } else { "probably missing" };
        let claim = match (at == last, diagnosis.confirmed) {
            (true, true) if last == 0 => format!("; with it {cured}"),
            (true, true) => format!("; with these {cured}"),
            _ => String::new(),
        };
        let _ = writeln!(text, "    {word}: {}{claim}", missing.sentence());
    }
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
