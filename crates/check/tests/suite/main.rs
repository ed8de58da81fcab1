//! Answers. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod agreement;
mod counting;
mod limits_and_races;
mod metamorphic;
mod monotone;
mod mutants;
mod mutants_ptx;
mod persist_buffer;
mod waiting;
mod x86_forms;
