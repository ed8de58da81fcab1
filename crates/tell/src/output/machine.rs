//! The answers of machines: for a person, and as JSON (`docs/schema/machine.schema.json`).

use std::fmt::Write;

use fencepost_check::operational::{Answer, Crashes, Outcome, Report};
use fencepost_check::phrase;
use fencepost_report::WhyUnknown;
use fencepost_report::verdict::Verdict;

use super::Status;
use super::columns::Columns;
use super::table::{self, Colour};
use super::width::Width;

/// What a report contributes to the exit code: nothing is expected of it.
pub fn status(report: &Report) -> Status {
    match report.verdict {
        Verdict::Holds => Status::Good,
        Verdict::Unknown(_) => Status::Unknown,
        Verdict::Violated | Verdict::Depends(_) => Status::Bad,
    }
}

/// One JSON object and the end of the line.
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string(report).expect("invariant: a report has string keys only");
    text.push('\n');
    text
}

/// One report in full.
pub fn paragraph(report: &Report, colour: Colour) -> String {
    let verdict = colour.paint(table::status_colour(status(report)), report.verdict.word());
    let why = report.why.as_ref().map_or(String::new(), |why| format!(" ({})", with_line(why)));
    let mut text = format!("{} on {}: {verdict}{why}\n", title(report), report.machine);
    if asks_nothing(report) {
        text.push_str("  the test asks nothing\n");
    }
    for answer in &report.questions {
        let _ = writeln!(text, "  {}", sentence(answer));
        steps(&mut text, answer);
    }
    for answer in about_crashes(report) {
        let _ = writeln!(text, "  crash {}", crash_sentence(answer));
        steps(&mut text, answer);
    }
    if let Some(why) = report.crashes.as_ref().and_then(|crashes| crashes.recovery.as_ref()) {
        let _ = writeln!(text, "  recovery was not run ({})", with_line(why));
    }
    let mut answers = report.questions.iter().chain(about_crashes(report));
    if answers.any(|answer| answer.trace.iter().flatten().any(|step| has_half(step))) {
        let _ = writeln!(text, "  {}", HALVES);
    }
    let (states, transitions) =
        (phrase::count(report.states, "state"), phrase::count(report.transitions, "transition"));
    let _ = writeln!(text, "  {states} seen, {transitions}");
    if let Some(outcomes) = &report.outcomes {
        let at_least = if report.incomplete.is_some() { "at least " } else { "" };
        let why = report.incomplete.as_ref().map_or(String::new(), |why| format!(" ({})", why.message));
        let _ = writeln!(text, "  {at_least}{}{why}", phrase::count(outcomes.len() as u64, "outcome"));
        counted(&mut text, outcomes);
        if let Some(Crashes { states: Some(states), .. }) = &report.crashes {
            let _ = writeln!(text, "  {at_least}{} after a crash", phrase::count(states.len() as u64, "state"));
            counted(&mut text, states);
        }
    }
    for stuck in report.stuck.iter().flatten() {
        let _ = writeln!(text, "  no outcome of {}: {}", phrase::count(stuck.states, "last state"), stuck.why);
    }
    text
}

fn about_crashes(report: &Report) -> impl Iterator<Item = &Answer> {
    report.crashes.iter().flat_map(|crashes| &crashes.questions)
}

fn asks_nothing(report: &Report) -> bool {
    let recovers = report.crashes.as_ref().is_some_and(|crashes| crashes.recovery.is_some());
    report.questions.is_empty() && about_crashes(report).next().is_none() && !recovers
}

fn with_line(why: &WhyUnknown) -> String {
    match why.line {
        Some(line) => format!("{}, line {line}", why.message),
        None => why.message.clone(),
    }
}

fn steps(text: &mut String, answer: &Answer) {
    for (at, step) in answer.trace.iter().flatten().enumerate() {
        let _ = writeln!(text, "    {:>3}  {step}", at + 1);
    }
}

fn counted(text: &mut String, outcomes: &[Outcome]) {
    for outcome in outcomes {
        let _ = writeln!(text, "    {:>8}  {}", outcome.states, outcome.values);
    }
}

/// What the stars in a trace mean.
const HALVES: &str = "R* and W* are the read and the write of an atomic read-modify-write";

fn has_half(step: &str) -> bool {
    step.split(' ').any(|word| word.starts_with("R*") || word.starts_with("W*"))
}

fn sentence(answer: &Answer) -> String {
    let asked = format!("{} ({})", answer.kind, answer.condition);
    let found = match (answer.reached, answer.kind.as_str()) {
        (None, _) => "not known".to_owned(),
        _ if answer.vacuous => "no run has an outcome (that passes the filter), so this holds vacuously".to_owned(),
        (Some(true), "forall" | "assert") => "a reachable state breaks it".to_owned(),
        (Some(false), "forall" | "assert") => "true in every reachable final state".to_owned(),
        (Some(true), _) => "reachable".to_owned(),
        (Some(false), _) => "not reachable".to_owned(),
    };
    format!("{asked}: {found}{}", by_steps(answer))
}

fn by_steps(answer: &Answer) -> String {
    match &answer.trace {
        Some(trace) => format!(", by {}", phrase::count(trace.len() as u64, "step")),
        None => String::new(),
    }
}

fn crash_sentence(answer: &Answer) -> String {
    let found = match (answer.reached, answer.kind.as_str(), &answer.why) {
        (None, _, Some(why)) => format!("not known ({})", with_line(why)),
        (None, _, None) => "not known".to_owned(),
        (Some(true), "forall", _) => "false after some crash".to_owned(),
        (Some(false), "forall", _) => "true after every crash".to_owned(),
        (Some(true), ..) => "possible".to_owned(),
        (Some(false), ..) => "no crash leaves this state".to_owned(),
    };
    format!("{} ({}): {found}{}", answer.kind, answer.condition, by_steps(answer))
}

fn title(report: &Report) -> String {
    table::title_of(&report.file, &report.test, report.row)
}

/// A row per report, written as they come.
pub struct Table {
    columns: Columns,
    colour: Colour,
}

impl Table {
    pub fn new(width: Width, colour: Colour) -> Table {
        let headings = ["test", "machine", "verdict", "states", "outcomes", ""];
        Table { columns: Columns::new(&headings, width), colour }
    }

    /// For rows that are not all there at once: how wide titles are, and the usual answers.
    #[must_use]
    pub fn reserving(mut self, title: usize) -> Table {
        self.columns.reserve(&[title, 0, "Violated".len()]);
        self
    }

    pub fn row(&mut self, report: &Report) -> String {
        let outcomes = report.outcomes.as_ref().map_or("-".to_owned(), |outcomes| outcomes.len().to_string());
        let verdict = report.verdict.word().to_owned();
        let why = match &report.why {
            Some(why) => format!("({})", with_line(why)),
            None if report.vacuous => "(vacuously: no run has an outcome, or none passes the filter)".to_owned(),
            None if asks_nothing(report) => "(the test asks nothing)".to_owned(),
            None => String::new(),
        };
        let cells = vec![title(report), report.machine.clone(), verdict, report.states.to_string(), outcomes, why];
        let colour = self.colour;
        self.columns.lines(&[cells], |_, column, cell| match column {
            2 => colour.paint(table::status_colour(status(report)), cell),
            _ => cell.to_owned(),
        })
    }
}

/// The name of a test in a table.
pub fn title_of(file: &str, test: &str, row: Option<u32>) -> String {
    table::title_of(file, test, row)
}

/// `12 tests: 5 hold, 6 violated, 1 unknown`.
pub fn summary(reports: &[&Report], broken: usize) -> String {
    let count = |word: &str| reports.iter().filter(|report| report.verdict.word() == word).count();
    let mut parts = Vec::new();
    for (word, said) in [("Holds", "hold"), ("Violated", "violated"), ("Unknown", "unknown")] {
        if count(word) > 0 {
            parts.push(format!("{} {said}", count(word)));
        }
    }
    if broken > 0 {
        parts.push(format!("{} with errors", phrase::count(broken as u64, "file")));
    }
    format!("{}: {}\n", phrase::count(reports.len() as u64, "test"), parts.join(", "))
}
