//! JUnit XML, for continuous integration: a violated or unexpected answer is a failure, an unknown one and a file that
//! could not be read are errors. No times, so that two runs give the same bytes.

use std::fmt::Write;

use fencepost_check::expect::expectation::Comparison;
use fencepost_report::verdict::Verdict;

use super::{Row, Status};
use crate::words::expected;

/// A message names so many races; the report has all.
const MOST_RACES: usize = 3;

/// One `testcase`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    class: String,
    name: String,
    problem: Option<Problem>,
    /// What a reader should know though nothing is wrong.
    note: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Problem {
    Failure(String),
    Error(String),
}

pub fn case(row: &Row<'_>) -> Case {
    let report = row.report;
    let position = report.row.map_or(String::new(), |row| format!(" row {row}"));
    let mut message = format!("{} under {}: {}", report.test, report.model, report.verdict.word());
    let note = report.undefined.as_ref().map(|undefined| undefined.message.clone());
    if let Some(note) = &note {
        let _ = write!(message, " ({note})");
    }
    if let Some(why) = &report.why {
        let _ = write!(message, ", {}", why.message);
    }
    for question in report.questions.iter().filter(|question| question.verdict == Verdict::Violated) {
        let _ = write!(message, "; line {}: {} ({})", question.line, question.kind, question.condition);
    }
    for race in report.races.pairs.iter().take(MOST_RACES) {
        let place = race.location.as_ref().map_or(String::new(), |location| format!(" on {location}"));
        let _ = write!(message, "; {}{place} of lines {} and {}", race.flag, race.first.line, race.second.line);
    }
    if let Comparison::Different(differences) | Comparison::Undecided(differences) = row.comparison {
        let _ = write!(message, "; {}", expected::differences(differences).join("; "));
    }
    if let Some(broken) = expected::not_met(row.required, report) {
        let _ = write!(message, "; {broken}");
    }
    let problem = match row.status() {
        Status::Good => None,
        Status::Unknown => Some(Problem::Error(message)),
        Status::Bad => Some(Problem::Failure(message)),
    };
    Case {
        class: format!("{}{position}", report.file),
        name: format!("{} [{}]", report.test, report.model),
        problem,
        note,
    }
}

/// A file that could not be checked.
pub fn broken(file: &str, message: &str) -> Case {
    Case {
        class: file.to_owned(),
        name: file.to_owned(),
        problem: Some(Problem::Error(message.to_owned())),
        note: None,
    }
}

pub fn document(cases: &[Case]) -> String {
    let failures = cases.iter().filter(|case| matches!(case.problem, Some(Problem::Failure(_)))).count();
    let errors = cases.iter().filter(|case| matches!(case.problem, Some(Problem::Error(_)))).count();
    let totals = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n<testsuite name=\"fencepost\" {totals}>\n"
    );
    for case in cases {
        let _ = write!(text, "<testcase classname=\"{}\" name=\"{}\"", escape(&case.class), escape(&case.name));
        let _ = match (&case.problem, &case.note) {
            (None, None) => writeln!(text, "/>"),
            (None, Some(note)) => writeln!(text, "><system-out>{}</system-out></testcase>", escape(note)),
            (Some(Problem::Failure(message)), _) => {
                writeln!(text, "><failure message=\"{}\"/></testcase>", escape(message))
            }
            (Some(Problem::Error(message)), _) => {
                writeln!(text, "><error message=\"{}\"/></testcase>", escape(message))
            }
        };
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

/// XML 1.0 has no way to write most control characters; they become the replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escape("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot;\u{fffd}");
    }

    #[test]
    fn a_broken_file_is_an_error() {
        let text = document(&[broken("a.litmus", "no condition")]);
        assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
        assert!(text.contains("<error message=\"no condition\"/>"), "{text}");
    }
}
