//! Answers. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod agreement;
mod corpus;
mod counting;
mod crash_beginnings;
mod crash_compare;
mod crash_equality;
mod crash_inclusion;
mod crash_inclusions;
mod crash_lawful;
mod crash_laws;
mod crash_literal;
mod crash_programs;
mod crash_recovered;
mod crash_recovery;
mod crash_shrink;
mod limits_and_races;
mod metamorphic;
mod monotone;
mod mutants;
mod mutants_ptx;
mod one_run;
mod persist_buffer;
mod second_checks;
mod waiting;
mod x86_forms;
