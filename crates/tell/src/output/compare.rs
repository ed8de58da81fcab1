//! Two models compared, for a person and as JSON (`docs/schema/compare.schema.json`).

use std::collections::BTreeMap;
use std::fmt::Write;

use fencepost_check::compare::{Apart, Relation, Result, Row, Which};
use fencepost_check::phrase;
use serde::Serialize;

use super::columns::columns;
use super::table;
use super::width::Width;

/// What there is to say of all tests together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    pub left: String,
    pub right: String,
    pub compared: usize,
    pub differing: usize,
    pub skipped: usize,
    /// Tests whose behaviour is undefined under the left model, and under the right: every outcome is possible.
    pub undefined_left: usize,
    pub undefined_right: usize,
    /// Files that cannot be read, or hold no test.
    pub unreadable: usize,
    /// Over all tests that were compared; None if none was.
    pub relation: Option<Relation>,
    /// Why tests were skipped, with how many.
    pub reasons: BTreeMap<String, usize>,
}

impl Summary {
    pub fn new(left: String, right: String, rows: &[Row], unreadable: usize) -> Summary {
        let mut summary = Summary {
            left,
            right,
            compared: 0,
            differing: 0,
            skipped: 0,
            undefined_left: 0,
            undefined_right: 0,
            unreadable,
            relation: None,
            reasons: BTreeMap::new(),
        };
        for row in rows {
            match &row.result {
                Result::Compared { relation, undefined, .. } => {
                    summary.undefined_left += usize::from(undefined.contains(&Which::Left));
                    summary.undefined_right += usize::from(undefined.contains(&Which::Right));
                    summary.compared += 1;
                    summary.differing += usize::from(*relation != Relation::Equal);
                    summary.relation = Some(summary.relation.map_or(*relation, |before| before.and(*relation)));
                }
                Result::Skipped { side, why, .. } => {
                    summary.skipped += 1;
                    *summary.reasons.entry(format!("{side}: {}", why.message)).or_default() += 1;
                }
            }
        }
        summary
    }
}

/// The line of a test.
pub fn json_row(row: &Row) -> String {
    serde_json::to_string(row).expect("invariant: a row has string keys only") + "\n"
}

/// The line behind those of all tests.
pub fn json_summary(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("invariant: a summary has string keys only") + "\n"
}

/// The tests that differ, why others were skipped, and the inclusion that holds.
pub fn text(summary: &Summary, rows: &[Row], width: Width) -> String {
    let mut text = differing(summary, rows, width);
    for row in rows {
        let Result::Compared { only_left, only_right, .. } = &row.result else { continue };
        for (side, apart) in [(&summary.left, only_left), (&summary.right, only_right)] {
            for Apart { outcome, witness } in apart {
                let Some(witness) = witness else { continue };
                let _ = write!(text, "\n{}: {side} alone has {outcome}\n{witness}", title(row));
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for (side, count) in [(&summary.left, summary.undefined_left), (&summary.right, summary.undefined_right)] {
        if count > 0 {
            let tests = phrase::count(count as u64, "test");
            let _ = writeln!(text, "undefined under {side}, so that every outcome is possible: {tests}");
        }
    }
    for (reason, count) in &summary.reasons {
        let _ = writeln!(text, "skipped {}: {reason}", phrase::count(*count as u64, "test"));
    }
    let _ = writeln!(text, "{}", conclusion(summary));
    text
}

fn differing(summary: &Summary, rows: &[Row], width: Width) -> String {
    let cells = |row: &Row| match &row.result {
        Result::Compared { relation, undefined, left, right, only_left, only_right }
            if *relation != Relation::Equal =>
        {
            let every = |which: Which| undefined.contains(&which);
            let count = |which: Which, count: &usize| if every(which) { "every".to_owned() } else { count.to_string() };
            let first = |which: Which, apart: &[Apart]| match apart {
                _ if every(which) => "undefined: every outcome".to_owned(),
                [] => "-".to_owned(),
                [only] => only.outcome.to_string(),
                [first, rest @ ..] => format!("{} and {} more", first.outcome, rest.len()),
            };
            Some(vec![
                title(row),
                count(Which::Left, left),
                relation.sign().to_owned(),
                count(Which::Right, right),
                first(Which::Left, only_left),
                first(Which::Right, only_right),
            ])
        }
        _ => None,
    };
    let rows: Vec<Vec<String>> = rows.iter().filter_map(cells).collect();
    if rows.is_empty() {
        return String::new();
    }
    let (left, right) = (format!("only {}", summary.left), format!("only {}", summary.right));
    let headings = ["test", summary.left.as_str(), "", summary.right.as_str(), &left, &right];
    columns(&headings, &rows, width, |_, _, cell| cell.to_owned())
}

fn conclusion(summary: &Summary) -> String {
    let Summary { left, right, compared, differing, skipped, .. } = summary;
    let mut tests =
        format!("{} compared, {differing} different, {skipped} skipped", phrase::count(*compared as u64, "test"));
    if summary.unreadable > 0 {
        let _ = write!(tests, ", {} with errors", phrase::count(summary.unreadable as u64, "file"));
    }
    let holds = match summary.relation {
        None => return tests,
        Some(Relation::Equal) => format!("{left} = {right}"),
        Some(Relation::Within) => format!("{left} ⊆ {right}"),
        Some(Relation::Contains) => format!("{right} ⊆ {left}"),
        Some(Relation::Incomparable) => format!("neither of {left} and {right} is within the other"),
    };
    format!("{holds}: {tests}")
}

fn title(row: &Row) -> String {
    table::title_of(&row.file, &row.test, row.row)
}
