//! Every line `missing:` of a run of `fencepost check --json`, with its cost, and how two such lists differ:
//!
//! ```text
//! target/release/fencepost check corpus --json > before.json
//! cargo run --release -p fencepost --example advices -- list before.json > before.tsv
//! cargo run --release -p fencepost --example advices -- compare before.tsv after.tsv
//! ```
//!
//! The cost of an advice is that of the changed text by the table of `fix`. `compare` prints what is lost, came, costs more,
//! costs less, or says something else for the same cost, and how many there are of each. Run it in the folder in which the check
//! ran: the files are read again.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use fencepost_check::load;
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::fix::difference::cost;
use fencepost_report::{Missing, Report, TextEdit};
use fencepost_syntax::Source;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let read = |name: &str| std::fs::read_to_string(name).map_err(|error| eprintln!("error: {name}: {error}"));
    match arguments.as_slice() {
        ["list", file] => {
            let Ok(text) = read(file) else { return ExitCode::from(2) };
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).for_each(|report| list(&report));
            ExitCode::SUCCESS
        }
        ["compare", before, after] => {
            let (Ok(before), Ok(after)) = (read(before), read(after)) else { return ExitCode::from(2) };
            compare(&rows(&before), &rows(&after));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("error: write `list FILE` or `compare FILE FILE`");
            ExitCode::from(2)
        }
    }
}

/// A row per race, broken promise and hang: where it is, whether the advice was checked, its cost and its words.
fn list(report: &Report) {
    let source = std::fs::read_to_string(&report.file).unwrap_or_default();
    let row = |place: String, confirmed: bool, missing: &[Missing]| {
        let cost = price(report, &source, missing).map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        let word = match (missing.is_empty(), confirmed) {
            (true, _) => "none",
            (false, true) => "missing",
            (false, false) => "probably",
        };
        let texts: Vec<&str> = missing.iter().map(|piece| piece.text.as_str()).collect();
        let of = report.row.map_or_else(String::new, |row| format!(" row {row}"));
        println!(
            "{}{of} {} {place}\t{word}\t{cost}\t{}",
            report.file,
            report.model,
            texts.join(" + ").replace('\n', " ")
        );
    };
    for race in &report.races.pairs {
        let Some(diagnosis) = &race.diagnosis else { continue };
        let at = (&race.first, &race.second);
        let place = format!("{} {}:{} {}:{}", race.flag, at.0.line, at.0.column, at.1.line, at.1.column);
        row(place, diagnosis.confirmed, &diagnosis.missing);
    }
    for (number, question) in report.questions.iter().enumerate() {
        let Some(cause) = &question.cause else { continue };
        row(format!("question {number}"), cause.diagnosis.confirmed, &cause.diagnosis.missing);
    }
    if !report.termination.missing.is_empty() {
        row("hang".to_owned(), true, &report.termination.missing);
    }
}

/// What the changed text costs more; None where an advice is no change of the text.
fn price(report: &Report, source: &str, missing: &[Missing]) -> Option<u32> {
    if missing.is_empty() || missing.iter().any(|piece| piece.edits.is_empty()) {
        return None;
    }
    let mut edits: Vec<&TextEdit> = missing.iter().flat_map(|piece| &piece.edits).collect();
    edits.sort_by_key(|edit| edit.start);
    let mut text = source.to_owned();
    for edit in edits.iter().rev() {
        let (start, end) = (edit.start as usize, edit.end as usize);
        text.get(start..end)?;
        text.replace_range(start..end, &edit.replacement);
    }
    let test = |text: &str| {
        let (tests, _) = load(&Source::new(report.file.as_str(), text));
        tests.into_iter().find(|test| test.name() == report.test)
    };
    cost(&test(source)?.litmus, &test(&text)?.litmus, &Costs::default())
}

struct Row<'r> {
    word: &'r str,
    cost: Option<u32>,
    text: &'r str,
}

fn rows(list: &str) -> BTreeMap<&str, Row<'_>> {
    list.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<(&str, Row<'_>)> {
    let mut cells = line.split('\t');
    let (place, word, cost, text) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    Some((place, Row { word, cost: cost.parse().ok(), text }))
}

fn compare(before: &BTreeMap<&str, Row<'_>>, after: &BTreeMap<&str, Row<'_>>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let none = Row { word: "none", cost: None, text: "" };
    let places: std::collections::BTreeSet<&&str> = before.keys().chain(after.keys()).collect();
    for place in places {
        let (old, new) = (before.get(*place).unwrap_or(&none), after.get(*place).unwrap_or(&none));
        let kind = match (old.word == "missing", new.word == "missing") {
            (true, false) => "lost",
            (false, true) => "came",
            (false, false) if (old.word, old.text) == (new.word, new.text) => "same",
            (false, false) => "unsure",
            (true, true) if old.text == new.text => "same",
            (true, true) => match (old.cost, new.cost) {
                (Some(old), Some(new)) if new > old => "dearer",
                (Some(old), Some(new)) if new < old => "cheaper",
                _ => "other",
            },
        };
        *counts.entry(kind).or_default() += 1;
        if kind != "same" {
            let cost = |row: &Row<'_>| row.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
            println!(
                "{kind}\t{place}\t{} -> {}\t{} {} -> {} {}",
                cost(old),
                cost(new),
                old.word,
                old.text,
                new.word,
                new.text
            );
        }
    }
    counts.iter().for_each(|(kind, count)| eprintln!("{kind}: {count}"));
}
