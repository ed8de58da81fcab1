//! What somebody expects of a test, in a file beside it that a person can read and a command can rewrite
//! (`docs/expectations.md`). One line per model, and per row of a template:
//!
//! ```text
//! ptx-6.0: Violated, 3 executions, 3 outcomes, race-free, terminates
//! ptx-7.5 row 2: Holds
//! ptx: Depends, races depend, depends async-fence
//! ptx async-fence=on-path: Holds, race-free, warns relaxed-wait
//! ptx: Holds, racy, protocol broken, finds exit-before-access missing-bytes
//! ```
//!
//! Verdict and counts together catch what a verdict alone does not: a missing or a doubled execution. A fact that a line
//! does not mention is not compared, but for warnings: a line without `warns` expects none.

use std::fmt::Write;

use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::{Case, Verdict};
use fencepost_report::{ProtocolAnswer, RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Diagnostic, Span};

use crate::model::readings::Settings;

/// A file's expectations, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expectations {
    pub lines: Vec<Expectation>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    pub model: String,
    /// The readings it is to be checked under: `ptx async-fence=on-path: …`.
    pub readings: Settings,
    /// Row of a template, counted from 1.
    pub row: Option<u32>,
    /// `Holds`, `Violated`, `Depends`, `Unknown`.
    pub verdict: String,
    pub executions: Option<u64>,
    pub outcomes: Option<u64>,
    /// The verdicts of the questions about crashes, then of those about recovery, in their order. Empty: not mentioned.
    pub crash: Vec<String>,
    pub recover: Vec<String>,
    pub crash_states: Option<u64>,
    pub races: Option<ExpectedRaces>,
    pub protocol: Option<ExpectedProtocol>,
    pub termination: Option<ExpectedEnd>,
    /// The readings that some answer depends on, ascending. Empty: not mentioned.
    pub depends: Vec<String>,
    /// What is found beside data races, by name, ascending. Empty: not mentioned.
    pub finds: Vec<String>,
    /// The warnings by name, ascending and each once. Empty: none is expected.
    pub warns: Vec<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpectedRaces {
    None,
    Some,
    Depends,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpectedProtocol {
    Kept,
    Broken,
    Depends,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpectedEnd {
    Terminates,
    MayHang,
    Depends,
}

/// The word of a verdict that is not known.
const UNKNOWN: &str = "Unknown";

/// The words of a fact after the first, in their order.
fn in_order(fact: &str) -> Vec<String> {
    fact.split_whitespace().skip(1).map(str::to_owned).collect()
}

/// The readings somebody chose for this report.
fn chosen(report: &Report) -> Settings {
    let chosen = report.readings.iter().filter(|reading| reading.chosen);
    Settings(chosen.map(|reading| (reading.name.clone(), reading.value.clone())).collect())
}

/// What becomes of a report without an answer that no line expects. Of models that were not named it is mostly that they
/// do not know an instruction, which is nothing to write down beside a test.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NewUnknown {
    /// Somebody named the model.
    Written,
    Left,
}

/// How a report compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    NothingExpected,
    AsExpected,
    Different(Vec<Difference>),
    /// Nothing that was found contradicts what is expected, and not all of it was found: a limit, or no model.
    Undecided(Vec<Difference>),
}

/// A fact that is not as expected. Lists are empty where nothing of the kind is expected or found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    Verdict {
        expected: String,
    },
    Count {
        of: Counted,
        expected: u64,
        /// None: not counted.
        found: Option<u64>,
    },
    /// The verdicts of the questions about crashes.
    Crash {
        expected: Vec<String>,
        found: Vec<String>,
    },
    /// Of those about recovery.
    Recovery {
        expected: Vec<String>,
        found: Vec<String>,
    },
    Races(ExpectedRaces),
    Protocol(ExpectedProtocol),
    Termination(ExpectedEnd),
    /// The readings that answers depend on.
    Readings {
        expected: Vec<String>,
        found: Vec<String>,
    },
    Findings {
        expected: Vec<String>,
        found: Vec<String>,
    },
    Warnings {
        expected: Vec<String>,
        found: Vec<String>,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Counted {
    Executions,
    Outcomes,
    CrashStates,
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
    let (subject, row) = match subject.trim().split_once(" row ") {
        None => (subject.trim(), None),
        Some((model, row)) => match row.trim().parse() {
            Ok(row) => (model.trim(), Some(row)),
            Err(_) => return Err(problem(row.trim(), format!("`{}` is no row number", row.trim()))),
        },
    };
    // A path may hold spaces: only words with `=` at the end are readings.
    let mut model = subject;
    let mut readings = Settings::default();
    while let Some((before, word)) = model.rsplit_once(' ').filter(|(_, word)| word.contains('=')) {
        readings.add(word).map_err(|error| problem(word, error.to_string()))?;
        model = before.trim_end();
    }
    let mut facts = facts.split(',').map(str::trim);
    let verdict = facts.next().unwrap_or("");
    if !["Holds", "Violated", "Depends", "Unknown"].contains(&verdict) {
        return Err(problem(verdict, format!("`{verdict}` is not a verdict (Holds, Violated, Depends, Unknown)")));
    }
    let mut expectation = Expectation {
        model: model.to_owned(),
        readings,
        row,
        verdict: verdict.to_owned(),
        executions: None,
        outcomes: None,
        crash: Vec::new(),
        recover: Vec::new(),
        crash_states: None,
        races: None,
        protocol: None,
        termination: None,
        depends: Vec::new(),
        finds: Vec::new(),
        warns: Vec::new(),
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
            "races depend" => self.races = Some(ExpectedRaces::Depends),
            "protocol kept" => self.protocol = Some(ExpectedProtocol::Kept),
            "protocol broken" => self.protocol = Some(ExpectedProtocol::Broken),
            "protocol depends" => self.protocol = Some(ExpectedProtocol::Depends),
            "terminates" => self.termination = Some(ExpectedEnd::Terminates),
            "may hang" => self.termination = Some(ExpectedEnd::MayHang),
            "end depends" => self.termination = Some(ExpectedEnd::Depends),
            _ if fact.starts_with("crash ") => self.crash = in_order(fact),
            _ if fact.starts_with("recover ") => self.recover = in_order(fact),
            _ if fact.starts_with("depends ") => self.depends = names(fact),
            _ if fact.starts_with("finds ") => self.finds = names(fact),
            _ if fact.starts_with("warns ") => self.warns = names(fact),
            _ => match fact.split_once(' ').map(|(number, what)| (number.parse::<u64>(), what.trim())) {
                Some((Ok(number), "execution" | "executions")) => self.executions = Some(number),
                Some((Ok(number), "outcome" | "outcomes")) => self.outcomes = Some(number),
                Some((Ok(number), "crash state" | "crash states")) => self.crash_states = Some(number),
                _ => return false,
            },
        }
        true
    }

    /// What a report would have to be expected to be: everything it knows for certain.
    pub fn of(report: &Report) -> Expectation {
        let complete = report.executions.filter(|count| count.complete);
        let crashes = report.crashes.as_ref();
        let recovery = crashes.and_then(|crashes| crashes.recovery.as_ref());
        let counted = crashes.filter(|crashes| crashes.executions.is_some_and(|count| count.complete));
        let word = |verdict: &Verdict| verdict.word().to_owned();
        Expectation {
            model: report.model.clone(),
            readings: chosen(report),
            row: report.row,
            verdict: report.verdict.word().to_owned(),
            // How many orders of arrivals there are was not counted.
            executions: complete.filter(|_| !report.counts_classes()).map(|count| count.count),
            outcomes: complete.map(|_| report.outcome_count()),
            crash: crashes.iter().flat_map(|found| &found.questions).map(|answer| word(&answer.verdict)).collect(),
            recover: recovery.iter().flat_map(|found| &found.questions).map(|answer| word(&answer.verdict)).collect(),
            crash_states: counted.map(fencepost_report::crash::Crashes::state_count),
            races: match report.races.answer {
                RaceAnswer::None => Some(ExpectedRaces::None),
                RaceAnswer::Found => Some(ExpectedRaces::Some),
                RaceAnswer::Depends => Some(ExpectedRaces::Depends),
                RaceAnswer::Unknown | RaceAnswer::NotDefined | RaceAnswer::NotAsked => None,
            },
            protocol: match report.protocol.answer {
                ProtocolAnswer::None => Some(ExpectedProtocol::Kept),
                ProtocolAnswer::Found => Some(ExpectedProtocol::Broken),
                ProtocolAnswer::Depends => Some(ExpectedProtocol::Depends),
                ProtocolAnswer::Unknown | ProtocolAnswer::NotAsked => None,
            },
            termination: match report.termination.answer {
                TerminationAnswer::Terminates => Some(ExpectedEnd::Terminates),
                TerminationAnswer::MayHang => Some(ExpectedEnd::MayHang),
                TerminationAnswer::Depends => Some(ExpectedEnd::Depends),
                TerminationAnswer::Unknown | TerminationAnswer::NotAsked => None,
            },
            depends: report.depends_on(),
            finds: report.kinds(),
            warns: {
                let mut names: Vec<String> = report.warnings.iter().map(|warning| warning.name.clone()).collect();
                names.shared_sort();
                names.dedup();
                names
            },
        }
    }

    /// Whether something is expected of memory, and not only that nothing is known.
    pub fn is_answer(&self) -> bool {
        self.verdict != "Unknown"
    }

    pub fn print(&self) -> String {
        let mut text = self.model.clone();
        if !self.readings.is_empty() {
            let _ = write!(text, " {}", self.readings);
        }
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
        for (word, verdicts) in [("crash", &self.crash), ("recover", &self.recover)] {
            if !verdicts.is_empty() {
                let _ = write!(text, ", {word} {}", verdicts.join(" "));
            }
        }
        if let Some(number) = self.crash_states {
            let _ = write!(text, ", {}", crate::phrase::count(number, "crash state"));
        }
        text.push_str(match self.races {
            None => "",
            Some(ExpectedRaces::None) => ", race-free",
            Some(ExpectedRaces::Some) => ", racy",
            Some(ExpectedRaces::Depends) => ", races depend",
        });
        text.push_str(match self.protocol {
            None => "",
            Some(ExpectedProtocol::Kept) => ", protocol kept",
            Some(ExpectedProtocol::Broken) => ", protocol broken",
            Some(ExpectedProtocol::Depends) => ", protocol depends",
        });
        text.push_str(match self.termination {
            None => "",
            Some(ExpectedEnd::Terminates) => ", terminates",
            Some(ExpectedEnd::MayHang) => ", may hang",
            Some(ExpectedEnd::Depends) => ", end depends",
        });
        if !self.depends.is_empty() {
            let _ = write!(text, ", depends {}", self.depends.join(" "));
        }
        for (word, names) in [("finds", &self.finds), ("warns", &self.warns)] {
            if !names.is_empty() {
                let _ = write!(text, ", {word} {}", names.join(" "));
            }
        }
        text
    }

    /// What differs. A fact that the report does not know counts as different: incomplete is not clean.
    fn differences(&self, report: &Report) -> Vec<Decided> {
        let found = Expectation::of(report);
        let known = Known::of(report);
        let mut differences = Vec::new();
        let mut differ = |decided: bool, what: Difference| differences.push(Decided { decided, what });
        if self.verdict != found.verdict {
            differ(known.verdict, Difference::Verdict { expected: self.verdict.clone() });
        }
        let least = report.executions.map(|count| (count.count, report.outcomes.len() as u64));
        let numbers = [
            (self.executions, found.executions, least.map(|least| least.0), Counted::Executions),
            (self.outcomes, found.outcomes, least.map(|least| least.1), Counted::Outcomes),
            (self.crash_states, found.crash_states, None, Counted::CrashStates),
        ];
        for (expected, found, least, of) in numbers {
            let Some(expected) = expected.filter(|expected| Some(*expected) != found) else { continue };
            // More than expected is a difference before all are counted.
            differ(found.is_some() || least > Some(expected), Difference::Count { of, expected, found });
        }
        let is_decided = |expected: &[String], found: &[String]| {
            !found.iter().zip(expected).any(|(found, own)| found != own && found == UNKNOWN)
        };
        if !self.crash.is_empty() && self.crash != found.crash {
            let decided = is_decided(&self.crash, &found.crash);
            differ(decided, Difference::Crash { expected: self.crash.clone(), found: found.crash });
        }
        if !self.recover.is_empty() && self.recover != found.recover {
            let decided = is_decided(&self.recover, &found.recover);
            differ(decided, Difference::Recovery { expected: self.recover.clone(), found: found.recover });
        }
        if let Some(races) = self.races.filter(|races| Some(*races) != found.races) {
            differ(known.races, Difference::Races(races));
        }
        if let Some(protocol) = self.protocol.filter(|protocol| Some(*protocol) != found.protocol) {
            differ(known.protocol, Difference::Protocol(protocol));
        }
        if let Some(end) = self.termination.filter(|end| Some(*end) != found.termination) {
            differ(known.termination, Difference::Termination(end));
        }
        if !self.depends.is_empty() && self.depends != found.depends {
            differ(known.depends, Difference::Readings { expected: self.depends.clone(), found: found.depends });
        }
        // That memory may be gone, or a register not there yet, is nothing to pass over because a line does not speak of it.
        let is_grave = |name: &String| {
            FindingKind::from_word(name).is_some_and(|kind| kind.is_of_lifetime() || kind.is_of_one_thread())
        };
        if self.finds != found.finds && (!self.finds.is_empty() || found.finds.iter().any(is_grave)) {
            differ(known.all, Difference::Findings { expected: self.finds.clone(), found: found.finds });
        }
        if self.warns != found.warns {
            differ(known.all, Difference::Warnings { expected: self.warns.clone(), found: found.warns });
        }
        differences
    }

    /// What a refreshed line says: what the report knows, and of what it left undecided what was expected before. None if
    /// nothing is known that could replace the old line.
    fn replacing(mut self, old: &Expectation, report: &Report) -> Option<Expectation> {
        if !self.is_answer() && old.is_answer() {
            return None;
        }
        let known = Known::of(report);
        let least = report.executions.map_or((0, 0), |count| (count.count, report.outcomes.len() as u64));
        self.executions = self.executions.or(old.executions.filter(|number| *number >= least.0));
        self.outcomes = self.outcomes.or(old.outcomes.filter(|number| *number >= least.1));
        self.crash_states = self.crash_states.or(old.crash_states);
        for (verdicts, old) in [(&mut self.crash, &old.crash), (&mut self.recover, &old.recover)] {
            if verdicts.iter().any(|verdict| verdict == UNKNOWN) && verdicts.len() == old.len() {
                verdicts.clone_from(old);
            }
        }
        if !known.races {
            self.races = self.races.or(old.races);
        }
        if !known.protocol {
            self.protocol = self.protocol.or(old.protocol);
        }
        if !known.termination {
            self.termination = self.termination.or(old.termination);
        }
        if !known.depends && !old.depends.is_empty() {
            self.depends.clone_from(&old.depends);
        }
        if !known.all {
            for (names, old) in [(&mut self.finds, &old.finds), (&mut self.warns, &old.warns)] {
                names.extend(old.iter().cloned());
                names.shared_sort();
                names.dedup();
            }
        }
        Some(self)
    }
}

struct Decided {
    /// What was found contradicts what is expected; else it is not known.
    decided: bool,
    what: Difference,
}

/// Which facts of a report are final: more time or memory would not change them.
struct Known {
    verdict: bool,
    races: bool,
    protocol: bool,
    termination: bool,
    /// On which readings answers depend: under each of their values the answer is known, so that the set is the smallest.
    depends: bool,
    /// Everything, the lists of what was found too.
    all: bool,
}

impl Known {
    fn of(report: &Report) -> Known {
        let verdict = !matches!(report.verdict, Verdict::Unknown(_));
        // What was not asked was not reached where the verdict is not known either.
        let races = match report.races.answer {
            RaceAnswer::None | RaceAnswer::Found | RaceAnswer::Depends | RaceAnswer::NotDefined => true,
            RaceAnswer::Unknown => false,
            RaceAnswer::NotAsked => verdict,
        };
        let protocol = match report.protocol.answer {
            ProtocolAnswer::None | ProtocolAnswer::Found | ProtocolAnswer::Depends => true,
            ProtocolAnswer::Unknown => false,
            ProtocolAnswer::NotAsked => verdict,
        };
        let termination = match report.termination.answer {
            TerminationAnswer::Terminates | TerminationAnswer::MayHang | TerminationAnswer::Depends => true,
            TerminationAnswer::Unknown => false,
            TerminationAnswer::NotAsked => verdict,
        };
        let counted = report.executions.is_some_and(|count| count.complete) && report.races.rest.is_none();
        let all = verdict && races && protocol && termination && counted;
        let is_open = |case: &Case| case.answer.eq_ignore_ascii_case("unknown");
        let depends = all && !report.dependences().any(|dependence| dependence.cases.iter().any(is_open));
        Known { verdict, races, protocol, termination, depends, all }
    }
}

/// The words behind the first, ascending.
fn names(fact: &str) -> Vec<String> {
    let mut names: Vec<String> = fact.split_whitespace().skip(1).map(str::to_owned).collect();
    names.shared_sort();
    names
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
        let readings = chosen(report);
        let is_about =
            |line: &&Expectation| line.model == report.model && line.row == report.row && line.readings == readings;
        let line = self.lines.iter().find(is_about);
        let Some(differences) = line.map(|line| line.differences(report)) else { return Comparison::NothingExpected };
        let decided = differences.iter().any(|difference| difference.decided);
        let differences: Vec<Difference> = differences.into_iter().map(|difference| difference.what).collect();
        match decided {
            _ if differences.is_empty() => Comparison::AsExpected,
            true => Comparison::Different(differences),
            false => Comparison::Undecided(differences),
        }
    }

    /// Replaces or adds the lines of these reports; lines of other models stay, and what was expected stays where a report
    /// has no answer. How many lines stay for that reason, whole or in part.
    pub fn refresh<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>, unknown: NewUnknown) -> u64 {
        let mut kept = 0;
        for report in reports {
            let fresh = Expectation::of(report);
            let key = |line: &Expectation| (line.model.clone(), line.readings.clone(), line.row);
            match self.lines.iter_mut().find(|line| key(line) == key(&fresh)) {
                Some(line) => match fresh.clone().replacing(line, report) {
                    Some(merged) => {
                        kept += u64::from(merged != fresh);
                        *line = merged;
                    }
                    None => kept += 1,
                },
                None if unknown == NewUnknown::Left && !fresh.is_answer() => {}
                None => self.lines.push(fresh),
            }
        }
        self.lines.shared_sort_by(|a, b| (a.row, &a.model, &a.readings).cmp(&(b.row, &b.model, &b.readings)));
        kept
    }

    pub fn print(&self) -> String {
        self.lines.iter().map(|line| line.print() + "\n").collect()
    }
}

/// What a row contributes to the exit code.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// As expected, or nothing expected and the condition holds.
    Good,
    /// Unknown where an answer was wanted.
    Unknown,
    /// Violated or not as expected.
    Bad,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_is_the_inverse_of_reading() {
        let text = "ptx-6.0: Violated, 3 executions, 1 outcome, race-free, may hang\n\
             ptx: Depends, races depend, protocol broken, end depends, depends async-cta async-fence\n\
             ptx: Holds, racy, finds exit-before-access missing-bytes, warns relaxed-wait wgmma-no-fence\n\
             ptx async-fence=on-path row 2: Holds, racy, terminates\n";
        let (expectations, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(expectations.print(), text);
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_kept() {
        let (expectations, diagnostics) = parse("# comment\nsc: Maybe\nx86-tso: Holds, 4 ducks\nsc: Holds\n");
        assert_eq!(expectations.lines.len(), 1);
        let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        assert!(messages[0].contains("`Maybe` is not a verdict"), "{messages:?}");
        assert!(messages[1].contains("`4 ducks`"), "{messages:?}");
        let text = "# comment\nsc: Maybe\nx86-tso: Holds, 4 ducks\nsc: Holds\n";
        let places: Vec<&str> = diagnostics
            .iter()
            .map(|diagnostic| &text[diagnostic.span.start as usize..diagnostic.span.end as usize])
            .collect();
        assert_eq!(places, ["Maybe", "4 ducks"]);
    }

    /// A limit may leave the smallest set of readings unfound: more are named then, and that is no difference.
    #[test]
    fn readings_that_a_limit_left_in_are_no_difference() {
        let text = "PTX t\n{ x = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [x], 1; }\nexists (x=1)\n";
        let test = crate::load(&fencepost_syntax::Source::new("t.litmus", text)).0.remove(0);
        let model = crate::Models::shipped("ptx").expect("shipped");
        let mut report = crate::check(&test, &model, &crate::Options::default()).report;
        let case = |values: [&str; 2], answer: &str| Case {
            values: values.map(str::to_owned).to_vec(),
            answer: answer.to_owned(),
        };
        let mut dependence = fencepost_report::verdict::Dependence {
            readings: vec!["async-cta".to_owned(), "async-fence".to_owned()],
            cases: vec![case(["issuing", "both"], "Violated"), case(["issuing", "on-path"], "Unknown")],
        };
        let (expectations, problems) = parse("ptx: Depends, depends async-cta\n");
        assert!(problems.is_empty());
        report.verdict = Verdict::Depends(dependence.clone());
        report.questions[0].depends = Some(dependence.clone());
        assert!(matches!(expectations.compare(&report), Comparison::Undecided(_)));
        let old = &expectations.lines[0];
        let kept = Expectation::of(&report).replacing(old, &report).expect("something is known");
        assert_eq!(kept.depends, old.depends);
        dependence.cases[1].answer = "Holds".to_owned();
        report.questions[0].depends = Some(dependence);
        assert!(matches!(expectations.compare(&report), Comparison::Different(_)));
    }
}
