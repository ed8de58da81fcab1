//! Whole kernels, held to the axioms of `models/ptx.cat`. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod atomics;
mod compare;
mod corpus;
mod differential;
mod edits;
mod elections;
mod endless;
mod ends;
mod fatbin;
mod flags;
mod footprint_fragments;
mod footprint_matrix;
mod footprint_tcgen05;
mod footprint_tile;
mod found;
mod from_litmus;
mod locks;
mod mends;
mod patterns;
mod program;
mod protocols;
mod proxies;
mod random;
mod rules;
mod sides;
mod swaps;
mod tensors;
mod theory;
mod turns;
mod undefined;
mod values;
