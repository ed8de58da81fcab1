//! Comparison with somebody else's published answers: rows of `file,model,property,pass`, one file per folder.
//!
//! Property `condition`: let Q be "some execution satisfies the model and the filter, every thread terminates, and φ
//! holds", φ the condition of `exists` and `~exists` and the negation of a `forall`'s. `exists` passes iff Q, the others
//! iff not Q, which is exactly our verdict: 1 is `Holds`, 0 is `Violated`. Property `termination`: passes iff every fair
//! execution ends; the condition is ignored. Property `seen`: hardware or a simulator showed what the test asks about (1)
//! or did not (0), which proves nothing: a model that allows what was not seen agrees, and it is said.

use fencepost_report::verdict::Verdict;
use fencepost_report::{TerminationAnswer, WhyUnknown};
use fencepost_syntax::{Diagnostic, Span};

use crate::test::Test;
use crate::test::neutral::{self, Reachable};
use crate::write::report::Judged;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Property {
    Condition,
    Termination,
    Seen,
}

impl Property {
    pub fn name(self) -> &'static str {
        match self {
            Property::Condition => "condition",
            Property::Termination => "termination",
            Property::Seen => "seen",
        }
    }
}

/// How a verdict compares with what somebody published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agreement {
    Agrees,
    /// Allowed by the model, and not seen.
    Unseen,
    Differs(Difference),
    /// Nothing was found: a limit, or a form without a model.
    Undecided(Difference),
}

/// What was published and what was found instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    Answers {
        expected: Answer,
        found: Answer,
        /// Why nothing was found.
        why: Option<WhyUnknown>,
    },
    /// The published answer is about termination, which a machine is not asked about.
    NotAsked,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Verdict(Verdict),
    Termination(TerminationAnswer),
    /// Of a test in the neutral form.
    Reachable(Reachable),
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
    // What some editors write in front of UTF-8.
    let marked = text.strip_prefix('\u{feff}');
    let mut start = marked.map_or(0, |rest| (text.len() - rest.len()) as u32);
    let text = marked.unwrap_or(text);
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
                    .help("property is `condition`, `termination` or `seen`, pass is 0 or 1"),
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
        "seen" => Property::Seen,
        _ => return None,
    };
    let model = fields.next()?.to_owned();
    let file = fields.next()?.to_owned();
    Some(Row { file, model, property, expected })
}

/// Compares verdicts of axioms.
pub fn agreement(property: Property, expected: Expected, judged: &Judged) -> Agreement {
    if property != Property::Termination {
        return of_verdict(property, expected, &judged.verdict, judged.why.as_ref());
    }
    let wanted = match expected {
        Expected::Pass => TerminationAnswer::Terminates,
        Expected::Fail => TerminationAnswer::MayHang,
    };
    if judged.termination == wanted {
        return Agreement::Agrees;
    }
    let difference = Difference::Answers {
        expected: Answer::Termination(wanted),
        found: Answer::Termination(judged.termination),
        why: judged.termination_why.clone(),
    };
    match judged.termination {
        TerminationAnswer::Unknown | TerminationAnswer::NotAsked => Agreement::Undecided(difference),
        _ => Agreement::Differs(difference),
    }
}

/// Compares a verdict, whoever gave it.
pub fn of_verdict(property: Property, expected: Expected, verdict: &Verdict, why: Option<&WhyUnknown>) -> Agreement {
    let wanted = match expected {
        Expected::Pass => Verdict::Holds,
        Expected::Fail => Verdict::Violated,
    };
    match (property, expected, verdict) {
        (Property::Termination, ..) => Agreement::Differs(Difference::NotAsked),
        _ if *verdict == wanted => Agreement::Agrees,
        (Property::Seen, Expected::Fail, Verdict::Holds) => Agreement::Unseen,
        _ => {
            let difference = Difference::Answers {
                expected: Answer::Verdict(wanted),
                found: Answer::Verdict(verdict.clone()),
                why: why.cloned(),
            };
            match verdict {
                Verdict::Unknown(_) => Agreement::Undecided(difference),
                _ => Agreement::Differs(difference),
            }
        }
    }
}

/// Compares what a verdict says of a test in the neutral form, which asks what is reachable.
pub fn of_reachable(test: &Test, expected: Reachable, verdict: &Verdict, why: Option<&WhyUnknown>) -> Agreement {
    let wanted = Answer::Reachable(expected);
    match neutral::reachable(test, verdict) {
        Some(found) if found == expected => Agreement::Agrees,
        Some(found) => {
            Agreement::Differs(Difference::Answers { expected: wanted, found: Answer::Reachable(found), why: None })
        }
        None => Agreement::Undecided(Difference::Answers {
            expected: wanted,
            found: Answer::Verdict(verdict.clone()),
            why: why.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_row() {
        let (rows, diagnostics) =
            parse("\u{feff}file,model,property,pass\nx.litmus,sc,condition,1\nx,sc,condition,2\n");
        assert_eq!((rows.len(), diagnostics.len()), (1, 1));
        assert_eq!(diagnostics[0].span, Span::new(52, 68));
        assert!(diagnostics[0].help.as_ref().is_some_and(|help| help.ends_with("pass is 0 or 1")));
    }

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
