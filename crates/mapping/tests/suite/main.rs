//! Compiler mappings. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod mappings;
