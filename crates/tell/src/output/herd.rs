//! herd's log, for people with mcompare habits: `Test`, `States`, `Ok`/`No`/`Undef`, `Witnesses`, `Condition`, `Observation`,
//! `Hash`. Differences from herd: no `Time` line (the same check gives the same bytes), the hash is [`fencepost_check::test::hash`]'s,
//! and an answer that is not known says so (`Unknown`) instead of a number that looks complete.
//!
//! herd's `Positive` and `Negative` count executions, each of which has one final state. Under partial coherence an
//! execution may have several (two unordered last writes); it counts once per final state, as if each were an execution
//! of its own, so that the two numbers always add up to the histogram behind `States` and `Observation` agrees with them:
//! an execution with a state on each side is `Sometimes`, never `Always`.

use std::fmt::Write;

use fencepost_check::phrase::{self, Notation};
use fencepost_check::test::Test;
use fencepost_program::program::Program;
use fencepost_report::verdict::Verdict;
use fencepost_report::{QuestionAnswer, Report};
use fencepost_syntax::sorted::SharedSort as _;

pub fn log(test: &Test, report: &Report) -> String {
    let mut text = String::new();
    let question = report.questions.first();
    let _ = writeln!(text, "Test {} {}", report.test, question.map_or("Allowed", kind));
    let complete = report.executions.is_some_and(|count| count.complete);
    let _ = writeln!(text, "States {}", report.outcome_count());
    for outcome in &report.outcomes {
        for (name, value) in &outcome.values.0 {
            let _ = write!(text, "{}={value}; ", herd_term(&test.program, name));
        }
        while text.ends_with(' ') {
            text.pop();
        }
        text.push('\n');
    }
    if !complete {
        text.push_str("Loop Incomplete\n");
    }
    match question {
        Some(question) => {
            let program = test.program.questions.first();
            let condition = program.map(|asked| phrase::condition(&test.program, &asked.condition, Notation::Herd));
            answer(&mut text, report, question, &condition.unwrap_or_default());
        }
        None => text.push_str("Ok\n"),
    }
    let _ = writeln!(text, "Hash={}\n", report.hash);
    text
}

fn answer(text: &mut String, report: &Report, question: &QuestionAnswer, condition: &str) {
    let word = match &question.verdict {
        _ if report.undefined.is_some() => "Undef",
        Verdict::Holds => "Ok",
        Verdict::Violated => "No",
        Verdict::Depends(_) | Verdict::Unknown(_) => "Unknown",
    };
    let _ = writeln!(text, "{word}\nWitnesses");
    let (positive, negative) = (question.positive.unwrap_or(0), question.negative.unwrap_or(0));
    let _ = writeln!(text, "Positive: {positive} Negative: {negative}");
    let mut flags: Vec<&str> = report.races.pairs.iter().map(|race| race.flag.as_str()).collect();
    flags.shared_sort();
    flags.dedup();
    for flag in flags {
        let _ = writeln!(text, "Flag {flag}");
    }
    let _ = writeln!(text, "Condition {} ({condition})", herd_kind(&question.kind));
    let complete = report.executions.is_some_and(|count| count.complete);
    let observation = match (question.positive, question.negative) {
        _ if !complete => observed_in_part(question),
        (Some(0), _) => "Never",
        (_, Some(0)) => "Always",
        _ => "Sometimes",
    };
    let _ = writeln!(text, "Observation {} {observation} {positive} {negative}", report.test);
}

/// What the verdict and the executions that were counted tell, where not all of them were.
fn observed_in_part(question: &QuestionAnswer) -> &'static str {
    match (herd_kind(&question.kind), &question.verdict) {
        ("exists", Verdict::Violated) | ("~exists", Verdict::Holds) => "Never",
        ("forall", Verdict::Holds) => "Always",
        ("exists", Verdict::Holds) | ("~exists", Verdict::Violated) if question.negative > Some(0) => "Sometimes",
        ("forall", Verdict::Violated) if question.positive > Some(0) => "Sometimes",
        _ => "Unknown",
    }
}

fn kind(question: &QuestionAnswer) -> &'static str {
    match herd_kind(&question.kind) {
        "~exists" => "Forbidden",
        "forall" => "Required",
        _ => "Allowed",
    }
}

/// NVLitmus words in herd's.
fn herd_kind(kind: &str) -> &str {
    match kind {
        "permit" | "check" => "exists",
        "assert" => "forall",
        other => other,
    }
}

/// `P1:r0` as `1:r0`, `x` as `[x]`.
fn herd_term(program: &Program, named: &str) -> String {
    for (at, thread) in program.threads.iter().enumerate() {
        if let Some(register) = named.strip_prefix(thread.name.as_str()).and_then(|rest| rest.strip_prefix(':')) {
            return format!("{at}:{register}");
        }
    }
    format!("[{named}]")
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::Source;

    use fencepost_check::{Models, Options, check, load};

    /// One execution with two final states: the numbers add up to the states that are listed.
    #[test]
    fn an_execution_counts_once_per_final_state() {
        let text =
            "PTX WW\n{ x=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | st.weak x, 2 ;\nexists (x=1)\n";
        let (tests, _) = load(&Source::new("test.litmus", text));
        let report = check(&tests[0], &Models::shipped("ptx-7.5").unwrap(), &Options::default()).report;
        assert_eq!(report.executions.unwrap().count, 1);
        let log = super::log(&tests[0], &report);
        for line in ["States 2\n[x]=1;\n[x]=2;\n", "Positive: 1 Negative: 1\n", "Observation WW Sometimes 1 1\n"] {
            assert!(log.contains(line), "{log}");
        }
    }
}
