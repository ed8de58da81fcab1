//! One JSON object per report, one per line (`docs/schema/report.schema.json`).

use std::io;
use std::sync::Arc;

use fencepost_check::expect::expectation::Comparison;
use fencepost_report::{Number, Outcome, Report};
use serde::Serialize;

use super::Row;
use crate::explain::Part;
use crate::words::expected;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Some `forall`, `assert` or `~exists` holds because there is no execution.
    vacuous: bool,
    expectation: Expectation,
    /// Only where something was required.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<Required>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a [Part]>,
}

#[derive(Serialize)]
struct Expectation {
    /// `as-expected`, `different`, `undecided`, `none`.
    answer: &'static str,
    differences: Vec<String>,
}

#[derive(Serialize)]
struct Required {
    property: &'static str,
    /// `yes`, `no`, `depends`, `unknown`.
    answer: &'static str,
    /// Why it is not known, where that is not said elsewhere in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub fn line(row: &Row<'_>) -> String {
    write(row, None)
}

/// With the field `explanation`.
pub fn explained_line(row: &Row<'_>, explanation: &[Part]) -> String {
    write(row, Some(explanation))
}

fn write(row: &Row<'_>, explanation: Option<&[Part]>) -> String {
    let expectation = match row.comparison {
        Comparison::AsExpected => Expectation { answer: "as-expected", differences: Vec::new() },
        Comparison::NothingExpected => Expectation { answer: "none", differences: Vec::new() },
        Comparison::Different(differences) => {
            Expectation { answer: "different", differences: expected::differences(differences) }
        }
        Comparison::Undecided(differences) => {
            Expectation { answer: "undecided", differences: expected::differences(differences) }
        }
    };
    let required = row.required.iter().map(|each| Required {
        property: each.name(),
        answer: each.met(row.report).word(),
        why: expected::why_not_met(*each, row.report),
    });
    let required = required.collect();
    let line = Line { report: row.report, vacuous: row.report.vacuous(), expectation, required, explanation };
    let mut text = Text(Vec::with_capacity(room(row.report)));
    serde_json::to_writer(&mut text, &line).expect("invariant: a report has string keys only, and memory takes all");
    text.0.push(b'\n');
    String::from_utf8(text.0).expect("invariant: JSON is UTF-8")
}

/// About how long the line will be. Thousands of outcomes make it long, and growing would copy it time and again.
fn room(report: &Report) -> usize {
    let name = |(name, _): &(Arc<str>, Number)| name.len() + 8;
    let outcome = |outcome: &Outcome| outcome.values.0.iter().map(name).sum::<usize>() + 32;
    4096 + report.outcomes.len() * report.outcomes.first().map_or(0, outcome)
}

/// A line that grows. Half of what is written are single characters between names and numbers, and a call for each would take
/// as long as the rest.
struct Text(Vec<u8>);

impl io::Write for Text {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match bytes {
            [one] => self.0.push(*one),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
