//! The answers for a person: one row per check, or a paragraph when there is only one.

use std::fmt::Write;

use fencepost_check::expect::expectation::Comparison;
use fencepost_check::phrase;
use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::Verdict;
use fencepost_report::{Alike, Count, ProtocolAnswer, QuestionAnswer, RaceAnswer, Report, TerminationAnswer};

use super::width::{Width, shortened, wrapped};
use super::{Row, Status};
use super::{crashes, details};
use crate::words::expected;

/// Whether the text may carry terminal colours.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Colour {
    Plain,
    Ansi,
}

impl Colour {
    pub fn paint(self, code: &str, text: &str) -> String {
        match self {
            Colour::Plain => text.to_owned(),
            Colour::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// Whether the outcome histogram is printed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Histogram {
    Show,
    Hide,
}

/// The test's name keeps so much, however narrow the terminal.
const SHORTEST_TITLE: usize = 16;
const AS_EXPECTED: &str = "as expected";
/// The same where there is no room for it.
const EXPECTED: &str = "ok";
const PROTOCOL: &str = "protocol";

/// A table of all rows, columns as wide as they need to be, and beside each what differs from an expectation. On a
/// terminal that is too narrow, titles lose their front and remarks go on lines of their own.
pub fn table(rows: &[Row<'_>], width: Width, colour: Colour) -> String {
    Table::new(width, colour).rows(rows)
}

/// A table that is written as its rows come. A column is as wide as its cells so far, and never narrower than before.
pub struct Table {
    width: Width,
    colour: Colour,
    widths: Vec<usize>,
    /// What the last line of headings says; none where there is none yet. The column `protocol` is there from the first
    /// test on that has an mbarrier.
    headings: Vec<&'static str>,
}

impl Table {
    pub fn new(width: Width, colour: Colour) -> Table {
        Table { width, colour, widths: Vec::new(), headings: Vec::new() }
    }

    /// For rows that are not all there at once: how wide titles and models are likely to be, and the usual answers.
    #[must_use]
    pub fn reserving(mut self, title: usize, model: usize) -> Table {
        self.widths = vec![title, model, "Violated".len(), "executions".len(), "outcomes".len(), "none".len()];
        self
    }

    /// The lines of these rows, which come after those before.
    pub fn rows(&mut self, rows: &[Row<'_>]) -> String {
        let mut text = String::new();
        if rows.is_empty() {
            return text;
        }
        let headings = headings(rows, &self.headings);
        let mut cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row.report, &headings)).collect();
        if self.headings.len() != headings.len() {
            // The last column is not padded, and moves where another comes before it.
            self.widths.truncate(headings.len() - 2);
        }
        let others = self.widened(&headings, &cells).iter().skip(1).map(|width| width + 2).sum::<usize>();
        let room = self.width.left(others + AS_EXPECTED.len(), SHORTEST_TITLE);
        for title in cells.iter_mut().filter_map(|row| row.first_mut()) {
            *title = shortened(title, room);
        }
        if let Some(title) = self.widths.first_mut() {
            *title = (*title).min(room);
        }
        self.widths = self.widened(&headings, &cells);
        if self.headings.len() != headings.len() {
            let cells: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
            line(&mut text, &cells, &self.widths, |_, cell| self.colour.paint("1", cell));
            text.push('\n');
            self.headings = headings;
        }
        for (row, cells) in rows.iter().zip(&cells) {
            self.row(&mut text, row, cells);
        }
        text
    }

    fn row(&self, text: &mut String, row: &Row<'_>, cells: &[String]) {
        let (width, colour) = (self.width, self.colour);
        line(text, cells, &self.widths, |column, cell| match column {
            2 => colour.paint(status_colour(row.status()), cell),
            _ => cell.to_owned(),
        });
        let (mut said, code) = remark(row);
        // The last column is not padded.
        let used: usize = self.widths.iter().rev().skip(1).map(|width| width + 2).sum();
        let used = used + cells.last().map_or(0, |cell| cell.chars().count());
        let fits = |said: &str| said.is_empty() || width.fits(used + 2 + said.chars().count());
        if said == AS_EXPECTED && !fits(&said) {
            said = EXPECTED.to_owned();
        }
        // A line of its own is for news only.
        if fits(&said) || said == EXPECTED {
            let _ = writeln!(text, "{}", painted(&said, code, colour));
            return;
        }
        text.push('\n');
        for part in wrapped(&said, width.left(4, SHORTEST_TITLE)) {
            let _ = writeln!(text, "  {}", painted(&part, code, colour));
        }
    }

    /// As wide as before, and as the cells need.
    fn widened(&self, headings: &[&str], cells: &[Vec<String>]) -> Vec<usize> {
        let wide = |column: usize| {
            let cells = cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let before = [self.widths.get(column).copied(), headings.get(column).map(|heading| heading.len())];
            cells.chain(before.into_iter().flatten()).max().unwrap_or(0)
        };
        (0..headings.len()).map(wide).collect()
    }
}

/// The columns of these rows, below rows with these headings.
fn headings(rows: &[Row<'_>], before: &[&str]) -> Vec<&'static str> {
    let mut headings = vec!["test", "model", "verdict", "executions", "outcomes", "races"];
    let has_mbarrier = |row: &Row<'_>| row.report.protocol.answer != ProtocolAnswer::NotAsked;
    if before.contains(&PROTOCOL) || rows.iter().any(has_mbarrier) {
        headings.push(PROTOCOL);
    }
    headings.push("ends");
    headings
}

fn line(text: &mut String, cells: &[String], widths: &[usize], paint: impl Fn(usize, &str) -> String) {
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let padding = if column + 1 == cells.len() { 0 } else { width - cell.chars().count() + 2 };
        text.push_str(&paint(column, cell));
        text.extend(std::iter::repeat_n(' ', padding));
    }
}

/// What there is to say beside a row, and its colour.
fn remark(row: &Row<'_>) -> (String, &'static str) {
    with_required(remark_of_answer(row), row)
}

/// What is required and not met takes no other remark's place: why an answer is not known, or what differs, comes first.
fn with_required((said, code): (String, &'static str), row: &Row<'_>) -> (String, &'static str) {
    let Some(broken) = expected::not_met(row.required, row.report) else { return (said, code) };
    let said = match (row.comparison, &row.report.why) {
        (Comparison::Different(_) | Comparison::Undecided(_), _) => format!("{said}; {broken}"),
        (Comparison::NothingExpected, Some(why)) => format!("({}; {broken})", why.message),
        (Comparison::NothingExpected, None) | (Comparison::AsExpected, _) => format!("({broken})"),
    };
    (said, "31")
}

fn remark_of_answer(row: &Row<'_>) -> (String, &'static str) {
    match row.comparison {
        Comparison::NothingExpected => match &row.report.why {
            Some(why) => (format!("({})", why.message), ""),
            None => match &row.report.undefined {
                Some(undefined) => (format!("({})", undefined.message), ""),
                None if row.report.vacuous() => {
                    ("(vacuously: no execution terminates or passes the filter)".to_owned(), "")
                }
                None => (String::new(), ""),
            },
        },
        Comparison::AsExpected => (AS_EXPECTED.to_owned(), "2"),
        Comparison::Different(differences) => {
            (format!("not as expected: {}", expected::differences(differences).join("; ")), "31")
        }
        Comparison::Undecided(missing) => {
            let why = row.report.why.as_ref().map_or(String::new(), |why| format!(" ({})", why.message));
            (format!("not decided: {}{why}", expected::differences(missing).join("; ")), "33")
        }
    }
}

fn painted(remark: &str, code: &str, colour: Colour) -> String {
    match (remark, code) {
        ("", _) => String::new(),
        (_, "") => format!("  {remark}"),
        _ => format!("  {}", colour.paint(code, remark)),
    }
}

pub(crate) fn status_colour(status: Status) -> &'static str {
    match status {
        Status::Good => "32",
        Status::Unknown => "33",
        Status::Bad => "31",
    }
}

/// The name of a test in a table: its file, and its own name or row where the file does not say it.
pub fn title(report: &Report) -> String {
    title_of(&report.file, &report.test, report.row)
}

pub(crate) fn title_of(file: &str, test: &str, row: Option<u32>) -> String {
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    match row {
        Some(row) => format!("{file} row {row}"),
        None if stem == test => file.to_owned(),
        None => format!("{file} ({test})"),
    }
}

fn cells(report: &Report, headings: &[&str]) -> Vec<String> {
    let outcomes = match report.executions {
        Some(count) if count.says_something() => executions(Some(Count { count: report.outcome_count(), ..count })),
        _ => "-".to_owned(),
    };
    let mut cells =
        vec![title(report), model(report), verdict(report), executions(report.executions), outcomes, races(report)];
    if headings.contains(&PROTOCOL) {
        cells.push(protocol(report));
    }
    cells.push(ends(report).to_owned());
    cells
}

/// With the readings that were chosen: the same test may have a row for each.
fn model(report: &Report) -> String {
    let chosen = report.readings.iter().filter(|reading| reading.chosen);
    let chosen = chosen.map(|reading| format!(" {}={}", reading.name, reading.value));
    [report.model.clone()].into_iter().chain(chosen).collect()
}

/// With the readings it depends on.
fn verdict(report: &Report) -> String {
    match &report.verdict {
        Verdict::Depends(dependence) => format!("Depends on {}", dependence.readings.join(", ")),
        verdict => verdict.word().to_owned(),
    }
}

fn executions(count: Option<Count>) -> String {
    match count {
        None => "-".to_owned(),
        Some(Count { count, complete: true }) => count.to_string(),
        Some(Count { count, complete: false }) => format!(">= {count}"),
    }
}

fn races(report: &Report) -> String {
    let has = |kind: FindingKind| report.races.pairs.iter().any(|race| race.kind == kind);
    let exit = if has(FindingKind::ExitBeforeAccess) { " + exit" } else { "" };
    let start = if has(FindingKind::AccessBeforeStart) { " + start" } else { "" };
    let races = match report.races.answer {
        RaceAnswer::None if report.races.assuming => "none (filtered)".to_owned(),
        RaceAnswer::None => "none".to_owned(),
        RaceAnswer::Found => {
            let number = report.races.pairs.iter().filter(|race| !race.kind.is_of_lifetime()).count();
            let undefined = if report.undefined.is_some() { " (undefined)" } else { "" };
            let more = if report.races.more { "+" } else { "" };
            format!("{number}{more}{undefined}")
        }
        RaceAnswer::Depends => "depends".to_owned(),
        RaceAnswer::Unknown => "?".to_owned(),
        RaceAnswer::NotDefined | RaceAnswer::NotAsked => "-".to_owned(),
    };
    races + exit + start
}

fn protocol(report: &Report) -> String {
    match report.protocol.answer {
        ProtocolAnswer::None => "kept".to_owned(),
        ProtocolAnswer::Found => phrase::count(report.protocol.errors.len() as u64, "error"),
        ProtocolAnswer::Depends => "depends".to_owned(),
        ProtocolAnswer::Unknown => "?".to_owned(),
        ProtocolAnswer::NotAsked => "-".to_owned(),
    }
}

fn ends(report: &Report) -> &'static str {
    match report.termination.answer {
        TerminationAnswer::Terminates => "always",
        TerminationAnswer::MayHang if report.termination.never_ends => "always hangs",
        TerminationAnswer::MayHang => "may hang",
        TerminationAnswer::Depends => "depends",
        TerminationAnswer::Unknown => "?",
        TerminationAnswer::NotAsked => "-",
    }
}

/// Bytes that most reports do with.
const SHORT: usize = 512;

/// One report in full.
pub fn paragraph(row: &Row<'_>, histogram: Histogram, colour: Colour) -> String {
    let report = row.report;
    let mut text = String::with_capacity(SHORT);
    let verdict = colour.paint(status_colour(row.status()), &verdict(report));
    // That it holds vacuously is said of the question.
    let said_elsewhere = report.why.is_none() && (report.vacuous() || report.undefined.is_some());
    let (said, code) = if said_elsewhere && *row.comparison == Comparison::NothingExpected {
        with_required((String::new(), ""), row)
    } else {
        remark(row)
    };
    let remark = painted(&said, code, colour);
    let undefined = report.undefined.as_ref();
    let undefined = undefined.map_or(String::new(), |undefined| format!(" ({})", undefined.message));
    let vacuously = if report.vacuous() && report.verdict == Verdict::Holds { " (vacuously)" } else { "" };
    let _ = writeln!(text, "{} under {}: {verdict}{vacuously}{undefined}{remark}", title(report), model(report));
    for answer in &report.questions {
        let _ = writeln!(text, "  {}", sentence(report, answer));
    }
    if let Some(found) = &report.crashes {
        crashes::answers(&mut text, report, found);
    }
    if let Some(bound) = report.deepened {
        let _ = writeln!(text, "  with loops unrolled {bound} times (--bound {bound}); fewer leave it open");
    }
    // A single form is in the reason already.
    if report.unsupported.len() > 1 {
        unsupported_lines(&mut text, report);
    }
    if let Some(count) = report.executions.filter(Count::says_something) {
        let (at_least, more) = match (count.complete, histogram) {
            (true, _) => ("", ""),
            (false, Histogram::Hide) => ("at least ", " (--all counts all)"),
            (false, Histogram::Show) => ("at least ", " (not all were counted)"),
        };
        let executions = phrase::count(count.count, "execution");
        let outcomes = phrase::count(report.outcome_count(), "outcome");
        let whose = if report.undefined.is_some() { "the model has " } else { "" };
        let order = if report.counts_classes() { " up to the order of arrivals at mbarriers" } else { "" };
        let _ = writeln!(text, "  {whose}{at_least}{executions}{order}, {at_least}{outcomes}{more}");
        if histogram == Histogram::Show {
            outcome_lines(&mut text, report);
        }
    } else if !matches!(report.verdict, Verdict::Unknown(_)) {
        text.push_str(match histogram {
            Histogram::Hide => "  executions were not counted (--all counts them, however long it takes)\n",
            Histogram::Show => "  executions were not counted\n",
        });
    }
    if let Some(found) = &report.crashes {
        crashes::states(&mut text, report, found, histogram == Histogram::Show);
    }
    details::write(&mut text, report);
    text.push_str(&closing(report));
    stuck_lines(&mut text, report);
    text
}

fn unsupported_lines(text: &mut String, report: &Report) {
    text.push_str("  forms without a model:\n");
    for form in &report.unsupported {
        let lines: Vec<String> = form.places.iter().map(|place| place.line.to_string()).collect();
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let _ = writeln!(text, "    {word} {}: {}", lines.join(", "), form.what);
    }
}

fn outcome_lines(text: &mut String, report: &Report) {
    for outcome in report.outcomes.iter().filter(|outcome| !outcome.values.0.is_empty()) {
        let _ = writeln!(text, "    {:>8}  {}", outcome.executions, outcome.values);
    }
    if let Some(alike) = &report.alike {
        return alike_lines(text, alike);
    }
    if report.unlisted > 0 {
        let more = phrase::count(report.unlisted, "more outcome");
        let _ = writeln!(text, "    {more} (--outcomes N lists so many)");
    }
}

/// Outcomes that are too many to list, class by class.
fn alike_lines(text: &mut String, alike: &Alike) {
    for class in &alike.classes {
        let more = match class.outcomes {
            1 => String::new(),
            outcomes => format!(" ({} alike)", phrase::count(outcomes, "outcome")),
        };
        let _ = writeln!(text, "    {:>8}  {}{more}", class.executions, class.values);
    }
    for threads in &alike.threads {
        let names: Vec<&str> = threads.iter().map(String::as_str).collect();
        let _ = writeln!(text, "    alike: with {} exchanged, and the values they write", phrase::listed(&names));
    }
}

fn closing(report: &Report) -> String {
    let races = match report.races.answer {
        RaceAnswer::None if report.races.assuming => "no data race in the executions that pass the filter",
        RaceAnswer::None => "no data race",
        RaceAnswer::Unknown if !report.races.pairs.is_empty() => "other data races were not decided",
        RaceAnswer::Unknown => "data races were not decided",
        RaceAnswer::Found | RaceAnswer::Depends | RaceAnswer::NotDefined | RaceAnswer::NotAsked => "",
    };
    let has_recovery = report.crashes.as_ref().is_some_and(|crashes| crashes.recovery.is_some());
    let ends = match report.termination.answer {
        TerminationAnswer::Terminates if report.races.answer == RaceAnswer::Unknown => "",
        TerminationAnswer::Terminates if has_recovery => "every fair execution of the program ends",
        TerminationAnswer::Terminates => "every fair execution ends",
        TerminationAnswer::MayHang if report.termination.never_ends => "always hangs: no execution ends",
        TerminationAnswer::MayHang => "may hang",
        // A verdict that is not known has said so already.
        TerminationAnswer::Unknown if report.verdict.word() != "Unknown" && report.undefined.is_none() => {
            "whether it ends was not decided"
        }
        TerminationAnswer::Depends | TerminationAnswer::Unknown | TerminationAnswer::NotAsked => "",
    };
    let protocol = match report.protocol.answer {
        ProtocolAnswer::None => "the rules of mbarriers are kept",
        _ => "",
    };
    let parts = match report.races.answer {
        RaceAnswer::Unknown => [protocol, ends, races],
        _ => [races, protocol, ends],
    };
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if said.is_empty() { String::new() } else { format!("  {}\n", said.join("; ")) }
}

/// Of an execution that never ends, where.
fn stuck_lines(text: &mut String, report: &Report) {
    let stuck = report.termination.stuck.iter().filter(|_| report.termination.answer == TerminationAnswer::MayHang);
    details::stuck_threads(text, "    ", stuck);
    lacking(text, report);
}

/// What such an execution lacks. What a race lacks too was told there.
fn lacking(text: &mut String, report: &Report) {
    let missing = &report.termination.missing;
    if report.termination.cause.is_empty() || report.termination.answer != TerminationAnswer::MayHang {
        return;
    }
    if report.is_told_of_a_race(missing) {
        let _ = writeln!(text, "    missing: the same as above, with which every fair execution ends too");
        return;
    }
    let _ = writeln!(text, "    {}", report.termination.cause);
    let with = if missing.len() == 1 { "with it" } else { "with these" };
    for (at, piece) in missing.iter().enumerate() {
        let end = if at + 1 == missing.len() { format!("; {with} every fair execution ends") } else { String::new() };
        let _ = writeln!(text, "    missing: {}{end}", piece.sentence());
    }
}

fn sentence(report: &Report, answer: &QuestionAnswer) -> String {
    let found = match (&answer.verdict, answer.kind.as_str()) {
        (_, kind) if answer.undefined => undefined(kind),
        _ if report.is_vacuous(answer) => "no execution terminates (or passes the filter), so this holds vacuously",
        (Verdict::Holds, "exists" | "permit" | "check") => "reachable",
        (Verdict::Violated, "exists" | "permit" | "check") => "not reachable",
        (Verdict::Holds, "~exists") => "never reached",
        (Verdict::Violated, "~exists") => "reachable, but the test says it must not be",
        (Verdict::Holds, _) => "true in every execution",
        (Verdict::Violated, _) if report.is_always_broken(answer) => "false in every execution",
        (Verdict::Violated, _) => "false in some execution",
        (Verdict::Depends(dependence), _) => &format!("depends on {dependence}"),
        (Verdict::Unknown(_), _) => "not known",
    };
    let why = answer.why.as_ref().map_or(String::new(), |why| match why.line {
        Some(line) => format!(" ({}, line {line})", why.message),
        None => format!(" ({})", why.message),
    });
    format!("{} ({}): {found}{why}", answer.kind, abridged(&answer.condition))
}

/// Where no execution of the model is behind the verdict.
fn undefined(kind: &str) -> &'static str {
    match kind {
        "exists" | "permit" | "check" => {
            "possible, though no execution of the model reaches it: behaviour is undefined"
        }
        "~exists" => "not promised, though no execution of the model reaches it: behaviour is undefined",
        _ => "not promised, though it is true in every execution of the model: behaviour is undefined",
    }
}

/// A generated test may ask about hundreds of registers.
fn abridged(condition: &str) -> String {
    const LONGEST: usize = 200;
    match condition.char_indices().nth(LONGEST) {
        None => condition.to_owned(),
        Some((at, _)) => format!("{} ...", condition[..at].trim_end()),
    }
}

/// The last line under a table: how many checks are as expected, and of those nothing is expected of, how many hold.
/// What was found beside the conditions, where nobody said that it is expected.
fn found(rows: &[&Row<'_>]) -> Vec<String> {
    let count = |found: fn(&Report) -> bool| rows.iter().filter(|row| found(row.report)).count();
    let races = count(|report| matches!(report.races.answer, RaceAnswer::Found | RaceAnswer::Depends));
    let rules = count(|report| matches!(report.protocol.answer, ProtocolAnswer::Found | ProtocolAnswer::Depends));
    let hangs =
        count(|report| matches!(report.termination.answer, TerminationAnswer::MayHang | TerminationAnswer::Depends));
    let counts = [(races, "with races"), (rules, "with misused mbarriers"), (hangs, "that may hang")];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    counts.map(|(number, what)| format!("{number} {what}")).collect()
}

pub fn summary(rows: &[Row<'_>], broken_files: usize) -> String {
    let (free, bound): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| matches!(row.comparison, Comparison::NothingExpected));
    let mut parts = Vec::new();
    let mut add = |rows: &[&Row<'_>], good: [&str; 2], bad: &str| {
        let count = |wanted: Status| rows.iter().filter(|row| row.status() == wanted).count();
        let number = count(Status::Good);
        if !rows.is_empty() {
            parts.push(format!("{number} {}", if number == 1 { good[0] } else { good[1] }));
        }
        for (number, what) in [(count(Status::Bad), bad), (count(Status::Unknown), "unknown")] {
            if number > 0 {
                parts.push(format!("{number} {what}"));
            }
        }
    };
    add(&bound, ["as expected", "as expected"], "not as expected");
    let depends = free.iter().any(|row| matches!(row.report.verdict, Verdict::Depends(_)));
    add(&free, ["holds", "hold"], if depends { "violated or depending on the reading" } else { "violated" });
    parts.extend(found(&free));
    if broken_files > 0 {
        parts.push(format!("{} with errors", phrase::count(broken_files as u64, "file")));
    }
    format!("{}: {}\n", phrase::count(rows.len() as u64, "check"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_check::expect::expectation::{Counted, Difference, ExpectedRaces};
    use fencepost_check::{Models, Options, Test, check, load};
    use fencepost_syntax::Source;

    fn report(text: &str) -> Report {
        let (mut tests, _) = load(&Source::new("test.litmus", text));
        let test: Test = tests.remove(0);
        check(&test, &Models::shipped("ptx-7.5").unwrap(), &Options::default()).report
    }

    fn asks(question: &str) -> Report {
        report(&format!("PTX T\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n{question}\n"))
    }

    #[test]
    fn without_expectations_checks_hold_or_are_violated() {
        let reports = [asks("exists (x == 1)"), asks("exists (x == 2)"), asks("forall (x == 2)")];
        let rows: Vec<Row<'_>> = reports
            .iter()
            .map(|report| Row { report, comparison: &Comparison::NothingExpected, required: &[] })
            .collect();
        assert_eq!(summary(&rows, 0), "3 checks: 1 holds, 2 violated\n");
        assert_eq!(summary(&rows[1..], 1), "2 checks: 0 hold, 2 violated, 1 file with errors\n");
        assert_eq!(summary(&[], 1), "0 checks: 1 file with errors\n");
        let expected = Row { report: &reports[1], comparison: &Comparison::AsExpected, required: &[] };
        let different = Comparison::Different(vec![Difference::Verdict { expected: "Holds".to_owned() }]);
        let different = Row { report: &reports[0], comparison: &different, required: &[] };
        assert_eq!(summary(&[expected.clone(), different.clone()], 0), "2 checks: 1 as expected, 1 not as expected\n");
        let mixed = [expected, different, rows[2].clone()];
        assert_eq!(summary(&mixed, 0), "3 checks: 1 as expected, 1 not as expected, 0 hold, 1 violated\n");
    }

    #[test]
    fn what_holds_of_no_execution_is_called_vacuous() {
        let spin =
            "PTX S\n{ y=0; P0:r1=0; }\n P0@cta 0,gpu 0 ;\n LC00: ;\n ld.relaxed.gpu r1, y ;\n beq r1, 0, LC00 ;\n";
        let vacuous = report(&format!("{spin}forall (P0:r1 == 9)\n"));
        assert!(vacuous.vacuous(), "{vacuous:?}");
        let row = Row { report: &vacuous, comparison: &Comparison::NothingExpected, required: &[] };
        let text = paragraph(&row, Histogram::Hide, Colour::Plain);
        assert!(text.contains("no execution terminates (or passes the filter), so this holds vacuously"), "{text}");
        assert!(!text.contains("true in every execution"), "{text}");
        assert!(
            table(&[row], Width::Unlimited, Colour::Plain)
                .contains("(vacuously: no execution terminates or passes the filter)")
        );
        assert!(
            super::super::json::line(&Row {
                report: &vacuous,
                comparison: &Comparison::NothingExpected,
                required: &[]
            })
            .contains("\"vacuous\":true")
        );
        assert!(report(&format!("{spin}~exists (P0:r1 == 0)\n")).vacuous());
        assert!(!report(&format!("{spin}exists (P0:r1 == 0)\n")).vacuous());
        assert!(!asks("forall (x == 1)").vacuous());
    }

    #[test]
    fn a_narrow_terminal_cuts_names_and_wraps_remarks_and_a_pipe_neither() {
        let mut reports = [asks("exists (x == 1)"), asks("exists (x == 2)")];
        reports[0].file = format!("{}/long.litmus", "folder/".repeat(20));
        let why = vec![
            Difference::Verdict { expected: "Holds".to_owned() },
            Difference::Count { of: Counted::Executions, expected: 3, found: Some(1) },
            Difference::Races(ExpectedRaces::None),
        ];
        let comparisons = [Comparison::AsExpected, Comparison::Different(why)];
        let rows: Vec<Row<'_>> = reports
            .iter()
            .zip(&comparisons)
            .map(|(report, comparison)| Row { report, comparison, required: &[] })
            .collect();
        let narrow = table(&rows, Width::Columns(100), Colour::Plain);
        assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
        assert!(narrow.contains("/long.litmus (T)  ") && narrow.contains('…'), "{narrow}");
        assert!(narrow.lines().any(|line| line.starts_with("    not as expected: expected Holds;")), "{narrow}");
        let piped = table(&rows, Width::Unlimited, Colour::Plain);
        assert!(piped.contains(&reports[0].file) && piped.lines().count() == 3, "{piped}");
    }
}
