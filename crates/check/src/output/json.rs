//! One JSON object per report, one per line (`docs/schema/report.schema.json`).

use serde::Serialize;

use super::Row;
use crate::expectation::Comparison;
use crate::explain::Part;
use crate::report::Report;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Some `forall`, `assert` or `~exists` holds because there is no execution.
    vacuous: bool,
    expectation: Expectation<'a>,
    /// Only where something was required.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<Required>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a [Part]>,
}

#[derive(Serialize)]
struct Expectation<'a> {
    /// `as-expected`, `different`, `none`.
    answer: &'static str,
    differences: &'a [String],
}

#[derive(Serialize)]
struct Required {
    property: &'static str,
    /// `yes`, `no`, `depends`, `unknown`.
    answer: &'static str,
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
        Comparison::AsExpected => Expectation { answer: "as-expected", differences: &[] },
        Comparison::NothingExpected => Expectation { answer: "none", differences: &[] },
        Comparison::Different(differences) => Expectation { answer: "different", differences },
    };
    let required = row.required.iter();
    let required = required.map(|each| Required { property: each.name(), answer: each.met(row.report).word() });
    let required = required.collect();
    let line = Line { report: row.report, vacuous: row.report.vacuous(), expectation, required, explanation };
    let mut text = serde_json::to_string(&line).expect("invariant: a report has string keys only");
    text.push('\n');
    text
}
