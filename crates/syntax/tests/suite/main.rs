//! The parsers. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod c_statements;
mod cat_comments;
mod cat_grammar;
mod cat_recovery;
mod cat_round_trip;
mod common;
mod litmus_corpora;
mod malformed;
mod mutations;
mod notations;
mod ptx_corpora;
#[path = "common/random.rs"]
mod random;
mod random_trees;
mod robustness;
