//! Litmus tests: one tree for every notation. See [`tree`].

pub mod tree;

pub use tree::*;
