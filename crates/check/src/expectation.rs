//! What somebody expects of a test, in a file beside it that a person can read and a command can rewrite
//! (`docs/expectations.md`). One line per model, and per row of a template:
//!
//! ```text
//! ptx-6.0: Violated, 3 executions, 3 outcomes, race-free, terminates
//! ptx-7.5 row 2: Holds
//! ```
//!
//! Verdict and counts together catch what a verdict alone does not: a missing or a doubled execution. A fact that a line
//! does not mention is not compared.

use std::fmt::Write;

use fencepost_syntax::{Diagnostic, Span};

use crate::report::{RaceAnswer, Report, TerminationAnswer};

/// A file's expectations, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expectations {
    pub lines: Vec<Expectation>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    pub model: String,
    /// Row of a template, counted from 1.
    pub row: Option<u32>,
    /// `Holds`, `Violated`, `Depends`, `Unknown`.
    pub verdict: String,
    pub executions: Option<u64>,
    pub outcomes: Option<u64>,
    pub races: Option<ExpectedRaces>,
    pub termination: Option<ExpectedEnd>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpectedRaces {
    None,
    Some,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpectedEnd {
    Terminates,
    MayHang,
}

/// How a report compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    NothingExpected,
    AsExpected,
    /// Each difference in words.
    Different(Vec<String>),
}

/// Reads an expectation file. A line that cannot be read is reported, the others are kept.
pub fn parse(text: &str) -> (Expectations, Vec<Diagnostic>) {
    let mut found = Expectations::default();
    let mut diagnostics = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let text = line.split('#').next().unwrap_or("");
        let content = text.trim();
        let indent = (text.len() - text.trim_start().len()) as u32;
        let begin = start + indent;
        start += line.len() as u32;
        if content.is_empty() {
            continue;
        }
        match parse_line(content, begin) {
            Ok(expectation) => found.lines.push(expectation),
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
    }
    (found, diagnostics)
}

/// `begin` is where the line stands in the file.
fn parse_line(line: &str, begin: u32) -> Result<Expectation, Box<Diagnostic>> {
    // `part` is a slice of the line.
    let problem = |part: &str, message: String| {
        let at = begin + (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize) as u32;
        let help = "write `MODEL: Verdict, N executions, N outcomes, race-free, terminates`";
        Box::new(Diagnostic::error(Span::new(at, at + part.len() as u32), message).help(help))
    };
    let Some((subject, facts)) = line.split_once(':') else {
        return Err(problem(line, "an expectation is `MODEL: facts`".to_owned()));
    };
    let (model, row) = match subject.trim().split_once(" row ") {
        None => (subject.trim(), None),
        Some((model, row)) => match row.trim().parse() {
            Ok(row) => (model.trim(), Some(row)),
            Err(_) => return Err(problem(row.trim(), format!("`{}` is no row number", row.trim()))),
        },
    };
    let mut facts = facts.split(',').map(str::trim);
    let verdict = facts.next().unwrap_or("");
    if !["Holds", "Violated", "Depends", "Unknown"].contains(&verdict) {
        return Err(problem(verdict, format!("`{verdict}` is no verdict (Holds, Violated, Depends, Unknown)")));
    }
    let mut expectation = Expectation {
        model: model.to_owned(),
        row,
        verdict: verdict.to_owned(),
        executions: None,
        outcomes: None,
        races: None,
        termination: None,
    };
    for fact in facts {
        if !expectation.add(fact) {
            return Err(problem(fact, format!("`{fact}` is no fact this tool can compare")));
        }
    }
    Ok(expectation)
}

impl Expectation {
    /// False if the fact is not understood.
    fn add(&mut self, fact: &str) -> bool {
        match fact {
            "race-free" => self.races = Some(ExpectedRaces::None),
            "racy" => self.races = Some(ExpectedRaces::Some),
            "terminates" => self.termination = Some(ExpectedEnd::Terminates),
            "may hang" => self.termination = Some(ExpectedEnd::MayHang),
            _ => match fact.split_once(' ').map(|(number, what)| (number.parse::<u64>(), what.trim())) {
                Some((Ok(number), "execution" | "executions")) => self.executions = Some(number),
                Some((Ok(number), "outcome" | "outcomes")) => self.outcomes = Some(number),
                _ => return false,
            },
        }
        true
    }

    /// What a report would have to be expected to be: everything it knows for certain.
    pub fn of(report: &Report) -> Expectation {
        let complete = report.executions.filter(|count| count.complete);
        Expectation {
            model: report.model.clone(),
            row: report.row,
            verdict: report.verdict.word().to_owned(),
            executions: complete.map(|count| count.count),
            outcomes: complete.map(|_| report.outcomes.len() as u64),
            races: match report.races.answer {
                RaceAnswer::None => Some(ExpectedRaces::None),
                RaceAnswer::Found => Some(ExpectedRaces::Some),
                RaceAnswer::Unknown | RaceAnswer::NotDefined | RaceAnswer::NotAsked => None,
            },
            termination: match report.termination.answer {
                TerminationAnswer::Terminates => Some(ExpectedEnd::Terminates),
                TerminationAnswer::MayHang => Some(ExpectedEnd::MayHang),
                TerminationAnswer::Unknown | TerminationAnswer::NotAsked => None,
            },
        }
    }

    pub fn print(&self) -> String {
        let mut text = self.model.clone();
        if let Some(row) = self.row {
            let _ = write!(text, " row {row}");
        }
        let _ = write!(text, ": {}", self.verdict);
        if let Some(number) = self.executions {
            let _ = write!(text, ", {}", crate::phrase::count(number, "execution"));
        }
        if let Some(number) = self.outcomes {
            let _ = write!(text, ", {}", crate::phrase::count(number, "outcome"));
        }
        text.push_str(match self.races {
            None => "",
            Some(ExpectedRaces::None) => ", race-free",
            Some(ExpectedRaces::Some) => ", racy",
        });
        text.push_str(match self.termination {
            None => "",
            Some(ExpectedEnd::Terminates) => ", terminates",
            Some(ExpectedEnd::MayHang) => ", may hang",
        });
        text
    }

    /// What differs, in words. A fact that the report does not know counts as different: incomplete is not clean.
    pub fn differences(&self, report: &Report) -> Vec<String> {
        let found = Expectation::of(report);
        let mut differences = Vec::new();
        if self.verdict != found.verdict {
            differences.push(format!("expected {}", self.verdict));
        }
        let mut numbers = |expected: Option<u64>, found: Option<u64>, noun: &str| {
            if expected.is_some() && expected != found {
                let expected = crate::phrase::count(expected.unwrap_or(0), noun);
                let found = found.map_or("not counted".to_owned(), |found| found.to_string());
                differences.push(format!("expected {expected}, found {found}"));
            }
        };
        numbers(self.executions, found.executions, "execution");
        numbers(self.outcomes, found.outcomes, "outcome");
        if self.races.is_some() && self.races != found.races {
            let free = self.races == Some(ExpectedRaces::None);
            differences.push(if free { "expected race-free" } else { "expected racy" }.to_owned());
        }
        if self.termination.is_some() && self.termination != found.termination {
            let ends = self.termination == Some(ExpectedEnd::Terminates);
            differences.push(if ends { "expected to terminate" } else { "expected that it may hang" }.to_owned());
        }
        differences
    }
}

impl Expectations {
    /// The models somebody has expectations for, each once, in the file's order.
    pub fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = Vec::new();
        for line in &self.lines {
            if !models.contains(&line.model.as_str()) {
                models.push(&line.model);
            }
        }
        models
    }

    pub fn compare(&self, report: &Report) -> Comparison {
        let line = self.lines.iter().find(|line| line.model == report.model && line.row == report.row);
        match line.map(|line| line.differences(report)) {
            None => Comparison::NothingExpected,
            Some(differences) if differences.is_empty() => Comparison::AsExpected,
            Some(differences) => Comparison::Different(differences),
        }
    }

    /// Replaces or adds the lines of these reports; lines of other models stay.
    pub fn refresh<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>) {
        for report in reports {
            let fresh = Expectation::of(report);
            match self.lines.iter_mut().find(|line| line.model == fresh.model && line.row == fresh.row) {
                Some(line) => *line = fresh,
                None => self.lines.push(fresh),
            }
        }
        self.lines.sort_by(|a, b| (a.row, &a.model).cmp(&(b.row, &b.model)));
    }

    pub fn print(&self) -> String {
        self.lines.iter().map(|line| line.print() + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_is_the_inverse_of_reading() {
        let text =
            "ptx-6.0: Violated, 3 executions, 1 outcome, race-free, may hang\nptx-7.5 row 2: Holds, racy, terminates\n";
        let (expectations, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(expectations.print(), text);
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_kept() {
        let (expectations, diagnostics) = parse("# comment\nsc: Maybe\nx86-tso: Holds, 4 ducks\nsc: Holds\n");
        assert_eq!(expectations.lines.len(), 1);
        let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        assert!(messages[0].contains("`Maybe` is no verdict"), "{messages:?}");
        assert!(messages[1].contains("`4 ducks`"), "{messages:?}");
        let text = "# comment\nsc: Maybe\nx86-tso: Holds, 4 ducks\nsc: Holds\n";
        let places: Vec<&str> = diagnostics
            .iter()
            .map(|diagnostic| &text[diagnostic.span.start as usize..diagnostic.span.end as usize])
            .collect();
        assert_eq!(places, ["Maybe", "4 ducks"]);
    }
}
