//! Random programs, their comparison between engines, and shrinking of what differs. Shared by the differential test
//! and the `differential` example, which runs it for longer.

#![allow(dead_code, unused_imports, reason = "the test and the example use different parts")]

pub(crate) mod asynchronous;
pub(crate) mod barriers;
mod compare;
pub(crate) mod generate;
pub(crate) mod handmade;
pub(crate) mod machine;
pub(crate) mod pipelines;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod second;
mod second_run;
pub(crate) mod shrink;
pub(crate) mod strands;
pub(crate) mod versions;
pub(crate) mod ways;

pub(crate) use compare::{Failure, Stage, Subject, Tally, front_end};

use random::Random;

/// The shipped models.
pub(crate) fn subjects() -> Vec<Subject> {
    ["sc", "x86-tso", "ptx-6.0", "ptx-7.5"].into_iter().map(Subject::shipped).collect()
}

/// Compares the program of one seed; the error is the shrunk program with what differs.
pub(crate) fn run(seed: u64, subjects: &[Subject], tally: &mut Tally) -> Result<(), String> {
    let test = generate::test(&mut Random::new(seed));
    let Err(failure) = compare::compare(&test, subjects, tally) else { return Ok(()) };
    let (small, failure) = shrink::shrink(test, failure, &mut |candidate| {
        compare::compare(candidate, subjects, &mut Tally::default()).err()
    });
    Err(format!("seed {seed}\n{}\n{}", small.text(), failure.message))
}

/// Compares one program given as text.
pub(crate) fn run_text(text: &str) -> Result<(), String> {
    let mut tally = Tally::default();
    compare::compare_text(text, &subjects(), &mut tally).map_err(|failure| format!("{text}\n{}", failure.message))
}

/// Compares one program given as text under these models.
pub(crate) fn run_text_under(text: &str, subjects: &[Subject], tally: &mut Tally) -> Result<(), String> {
    compare::compare_text(text, subjects, tally).map_err(|failure| format!("{text}\n{}", failure.message))
}

/// The model `ptx`, as it is for old programs and as it is for new ones with its readings the other way.
pub(crate) fn asynchronous_subjects() -> Vec<Subject> {
    let text = fencepost_axiom::model::shipped("ptx").expect("a shipped model");
    let plain = Subject::with_variants("ptx", text, &[]);
    let newest = Subject::ptx();
    let readings: Vec<String> = (plain.model().readings.iter())
        .flat_map(|reading| reading.values.iter().map(move |value| format!("{}={value}", reading.name)))
        .collect();
    let all: Vec<&str> = readings.iter().map(String::as_str).chain(["9.4"]).collect();
    let other = Subject::with_variants("ptx", text, &all);
    vec![plain, newest, other]
}

/// Compares the random unfolding of one seed; the error says which it is.
pub(crate) fn run_asynchronous(seed: u64, subject: &Subject, tally: &mut Tally) -> Result<(), String> {
    let (unfolding, condition) = asynchronous::program(&mut Random::new(seed));
    compare::compare_unfolding(&unfolding, &condition, subject, tally)
        .map_err(|failure| format!("seed {seed}: {}\n{:#?}", failure.message, unfolding.events))
}

/// The program of one seed.
pub(crate) fn text(seed: u64) -> String {
    generate::test(&mut Random::new(seed)).text()
}

/// Compares the asynchronous program of one seed; the error is the shrunk program with what differs.
pub(crate) fn run_strands(seed: u64, subject: &Subject, tally: &mut Tally) -> Result<(), String> {
    let subjects = std::slice::from_ref(subject);
    let test = strands::test(&mut Random::new(seed));
    let Err(failure) = compare::compare(&test, subjects, tally) else { return Ok(()) };
    let (small, failure) = shrink::shrink(test, failure, &mut |candidate| {
        compare::compare(candidate, subjects, &mut Tally::default()).err()
    });
    Err(format!("seed {seed}\n{}\n{}", small.text(), failure.message))
}

/// The asynchronous program of one seed.
pub(crate) fn strands_text(seed: u64) -> String {
    strands::test(&mut Random::new(seed)).text()
}
