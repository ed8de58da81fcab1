//! Random programs, their comparison between engines, and shrinking of what differs. Shared by the differential test
//! and the `differential` example, which runs it for longer.

#![allow(dead_code, reason = "the test and the example use different parts")]

mod compare;
mod generate;
mod program;
mod random;
mod shrink;

pub(crate) use compare::{Subject, Tally};

use random::Random;

/// The shipped models.
pub(crate) fn subjects() -> Vec<Subject> {
    ["sc", "x86-tso", "ptx-6.0", "ptx-7.5"].into_iter().map(Subject::shipped).collect()
}

/// Compares the program of one seed; the error is the shrunk program with what differs.
pub(crate) fn run(seed: u64, subjects: &[Subject], tally: &mut Tally) -> Result<(), String> {
    let test = generate::test(&mut Random::new(seed));
    let Err(message) = compare::compare(&test, subjects, tally) else { return Ok(()) };
    let (small, message) = shrink::shrink(test, message, &mut |candidate| {
        compare::compare(candidate, subjects, &mut Tally::default()).err()
    });
    Err(format!("seed {seed}\n{}\n{message}", small.text()))
}
