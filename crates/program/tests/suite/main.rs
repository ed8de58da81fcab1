//! Lowering and unfolding. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod barriers_cluster;
mod barriers_dartagnan;
mod barriers_ptx;
mod bytes;
mod c_blocks;
mod common;
mod constants;
mod corpora;
mod dependencies;
mod fences;
/// With its tests: a private module that uses nothing of the crate.
#[path = "../../src/lower/cut/growing_set.rs"]
mod growing_set;
mod initial;
mod instances;
mod launches;
mod lints;
mod loops;
mod mbarrier;
mod mbarrier_states;
mod multimem;
mod opaque;
mod ptx_tags;
mod refusals;
mod scopes;
mod section_table;
mod spaces;
mod strands_cluster;
mod strands_copy;
mod strands_tensor;
mod supported;
mod survey;
mod unfolding;
mod values;
mod vectors;
mod warnings;
mod x86_events;
