//! How answers differ from what somebody expects, published or requires, as sentences.

use fencepost_check::expect::conform::{self, Answer};
use fencepost_check::expect::expectation::{Counted, Difference, ExpectedEnd, ExpectedProtocol, ExpectedRaces};
use fencepost_check::expect::requirement::{Met, Requirement};
use fencepost_check::phrase::count;
use fencepost_report::{Report, TerminationAnswer, WhyUnknown};

/// The facts of an expectation that are not so, as [`difference`] says each.
pub fn differences(differences: &[Difference]) -> Vec<String> {
    differences.iter().map(difference).collect()
}

/// "expected 3 executions, found 1".
fn difference(difference: &Difference) -> String {
    match difference {
        Difference::Verdict { expected } => format!("expected {expected}"),
        Difference::Count { of, expected, found } => {
            let noun = match of {
                Counted::Executions => "execution",
                Counted::Outcomes => "outcome",
                Counted::CrashStates => "crash state",
            };
            let found = found.map_or("not counted".to_owned(), |found| found.to_string());
            format!("expected {}, found {found}", count(*expected, noun))
        }
        Difference::Crash { expected, found } => {
            format!("expected crash {}, found {}", expected.join(" "), found.join(" "))
        }
        Difference::Recovery { expected, found } => {
            format!("expected recover {}, found {}", expected.join(" "), found.join(" "))
        }
        Difference::Races(expected) => races(*expected).to_owned(),
        Difference::Protocol(expected) => protocol(*expected).to_owned(),
        Difference::Termination(expected) => end(*expected).to_owned(),
        Difference::Readings { expected, found } => {
            format!("expected to depend on {}, found {}", names(expected, "nothing"), names(found, "nothing"))
        }
        Difference::Findings { expected, found } => {
            format!("expected to find {}, found {}", names(expected, "none"), names(found, "none"))
        }
        Difference::Warnings { expected, found } => {
            format!("expected the warnings {}, found {}", names(expected, "none"), names(found, "none"))
        }
    }
}

fn names(names: &[String], none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { names.join(" and ") }
}

fn races(expected: ExpectedRaces) -> &'static str {
    match expected {
        ExpectedRaces::None => "expected race-free",
        ExpectedRaces::Some => "expected racy",
        ExpectedRaces::Depends => "expected that races depend on the reading",
    }
}

fn protocol(expected: ExpectedProtocol) -> &'static str {
    match expected {
        ExpectedProtocol::Kept => "expected protocol kept",
        ExpectedProtocol::Broken => "expected protocol broken",
        ExpectedProtocol::Depends => "expected that the protocol depends on the reading",
    }
}

fn end(expected: ExpectedEnd) -> &'static str {
    match expected {
        ExpectedEnd::Terminates => "expected to terminate",
        ExpectedEnd::MayHang => "expected that it may hang",
        ExpectedEnd::Depends => "expected that its end depends on the reading",
    }
}

/// "expected Holds, found Unknown (the time limit was reached)": how a published answer differs.
pub(crate) fn published(difference: &conform::Difference) -> String {
    match difference {
        conform::Difference::NotAsked => "a machine is not asked about termination".to_owned(),
        conform::Difference::Answers { expected, found, why } => {
            let why = why.as_ref().map_or(String::new(), |why| format!(" ({})", unknown(why)));
            format!("expected {}, found {}{why}", answer(expected), answer(found))
        }
    }
}

fn unknown(why: &WhyUnknown) -> String {
    why.why.as_ref().map_or_else(|| why.message.clone(), super::why)
}

fn answer(answer: &Answer) -> &'static str {
    match answer {
        Answer::Verdict(verdict) => verdict.word(),
        Answer::Reachable(reachable) => reachable.word(),
        Answer::Termination(TerminationAnswer::Terminates) => "termination",
        Answer::Termination(TerminationAnswer::MayHang) => "a hang",
        Answer::Termination(TerminationAnswer::Depends) => "Depends",
        Answer::Termination(TerminationAnswer::Unknown | TerminationAnswer::NotAsked) => "Unknown",
    }
}

/// Why a report cannot tell whether it is as required, where its verdict does not say so.
pub(crate) fn why_not_met(requirement: Requirement, report: &Report) -> Option<String> {
    requirement.lacks_flags(report).then(|| format!("the model {} declares no flag of a race", report.model))
}

/// "required: race-free no, terminates unknown": those that are not met; None if all are.
pub(crate) fn not_met(required: &[Requirement], report: &Report) -> Option<String> {
    let unmet = required.iter().filter(|requirement| requirement.met(report) != Met::Yes);
    let unmet = unmet.map(|requirement| {
        let why = why_not_met(*requirement, report).map_or(String::new(), |why| format!(" because {why}"));
        format!("{} {}{why}", requirement.name(), requirement.met(report).word())
    });
    let unmet: Vec<String> = unmet.collect();
    (!unmet.is_empty()).then(|| format!("required: {}", unmet.join(", ")))
}
