//! One JSON object per report, one per line (`docs/schema/report.schema.json`).

use serde::Serialize;

use super::Row;
use crate::expectation::Comparison;
use crate::report::Report;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Some `forall`, `assert` or `~exists` holds because there is no execution.
    vacuous: bool,
    expectation: Expectation<'a>,
}

#[derive(Serialize)]
struct Expectation<'a> {
    /// `as-expected`, `different`, `none`.
    answer: &'static str,
    differences: &'a [String],
}

pub fn line(row: &Row<'_>) -> String {
    let expectation = match row.comparison {
        Comparison::AsExpected => Expectation { answer: "as-expected", differences: &[] },
        Comparison::NothingExpected => Expectation { answer: "none", differences: &[] },
        Comparison::Different(differences) => Expectation { answer: "different", differences },
    };
    let line = Line { report: row.report, vacuous: row.report.vacuous(), expectation };
    let mut text = serde_json::to_string(&line).expect("invariant: a report has string keys only");
    text.push('\n');
    text
}
