//! Comparison with somebody else's published answers: rows of `file,model,property,pass`, one file per folder.
//!
//! Property `condition`: let Q be "some execution satisfies the model and the filter, every thread terminates, and φ
//! holds", φ the condition of `exists` and `~exists` and the negation of a `forall`'s. `exists` passes iff Q, the others
//! iff not Q, which is exactly our verdict: 1 is `Holds`, 0 is `Violated`. Property `termination`: passes iff every fair
//! execution ends; the condition is ignored.

use fencepost_syntax::{Diagnostic, Span};

use crate::report::{Report, TerminationAnswer};
use crate::verdict::Verdict;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Property {
    Condition,
    Termination,
}

impl Property {
    pub fn name(self) -> &'static str {
        match self {
            Property::Condition => "condition",
            Property::Termination => "termination",
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    Pass,
    Fail,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Relative to the folder.
    pub file: String,
    pub model: String,
    pub property: Property,
    pub expected: Expected,
}

/// Reads an `expected.csv`. The header line, blank lines and lines that start with `#` are skipped.
pub fn parse(text: &str) -> (Vec<Row>, Vec<Diagnostic>) {
    let mut rows = Vec::new();
    let mut diagnostics = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = Span::new(start, start + line.trim_end().len() as u32);
        start += line.len() as u32;
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') || content == "file,model,property,pass" {
            continue;
        }
        match parse_row(content) {
            Some(row) => rows.push(row),
            None => diagnostics.push(
                Diagnostic::error(span, "a row is `file,model,property,pass`")
                    .help("property is `condition` or `termination`, pass is 0 or 1"),
            ),
        }
    }
    (rows, diagnostics)
}

/// From the right, so that a file name may hold a comma.
fn parse_row(line: &str) -> Option<Row> {
    let mut fields = line.rsplitn(4, ',').map(str::trim);
    let expected = match fields.next()? {
        "1" => Expected::Pass,
        "0" => Expected::Fail,
        _ => return None,
    };
    let property = match fields.next()? {
        "condition" => Property::Condition,
        "termination" => Property::Termination,
        _ => return None,
    };
    let model = fields.next()?.to_owned();
    let file = fields.next()?.to_owned();
    Some(Row { file, model, property, expected })
}

/// None if they agree, else what was found, in words.
pub fn disagreement(property: Property, expected: Expected, report: &Report) -> Option<String> {
    match property {
        Property::Condition => {
            let wanted = match expected {
                Expected::Pass => Verdict::Holds,
                Expected::Fail => Verdict::Violated,
            };
            let found = match &report.why {
                Some(why) => format!("{} ({})", report.verdict.word(), why.message),
                None => report.verdict.word().to_owned(),
            };
            (report.verdict != wanted).then(|| format!("expected {}, found {found}", wanted.word()))
        }
        Property::Termination => {
            let wanted = match expected {
                Expected::Pass => TerminationAnswer::Terminates,
                Expected::Fail => TerminationAnswer::MayHang,
            };
            (report.termination.answer != wanted).then(|| {
                let found = termination(report.termination.answer);
                let why = report.termination.why.as_ref().map_or(String::new(), |why| format!(" ({})", why.message));
                format!("expected {}, found {found}{why}", termination(wanted))
            })
        }
    }
}

fn termination(answer: TerminationAnswer) -> &'static str {
    match answer {
        TerminationAnswer::Terminates => "termination",
        TerminationAnswer::MayHang => "a hang",
        TerminationAnswer::Depends => "Depends",
        TerminationAnswer::Unknown | TerminationAnswer::NotAsked => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_bad_ones_are_named() {
        let (rows, diagnostics) =
            parse("file,model,property,pass\na,b.litmus,sc,condition,1\nx.litmus,sc,liveness,1\n");
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].file.as_str(), rows[0].expected), ("a,b.litmus", Expected::Pass));
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].span.start, 51);
    }
}
