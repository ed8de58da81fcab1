//! Random programs, their comparison between engines, and shrinking of what differs. Shared by the differential test
//! and the `differential` example, which runs it for longer.

#![allow(dead_code, unused_imports, reason = "the test and the example use different parts")]

pub(crate) mod barriers;
mod compare;
pub(crate) mod generate;
pub(crate) mod machine;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod shrink;

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

/// The program of one seed.
pub(crate) fn text(seed: u64) -> String {
    generate::test(&mut Random::new(seed)).text()
}
