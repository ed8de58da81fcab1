//! Models, engines and oracles. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod barriers_early;
mod base_relations;
mod classes;
mod cut;
mod differential;
mod differential_async;
mod differential_barriers;
mod differential_machine;
mod differential_strands;
mod enumerate_bits;
mod enumerate_corpora;
mod enumerate_counts;
mod enumerate_programs;
mod guards;
mod limits;
mod model_files;
mod model_language;
mod model_shipped;
mod model_vocabulary;
mod oracle_execution;
mod oracle_replay;
mod pipelines;
mod reason_explain;
mod reductions;
mod rewrite;
mod sat_corpora;
mod sat_hand;
mod sat_scaling;
mod sat_thin_air;
mod second_unfolder;
mod self_justified;
mod support;
