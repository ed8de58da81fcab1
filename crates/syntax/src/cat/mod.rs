//! The cat language for memory models: the union of herd's and Dartagnan's dialects. See [`tree`].

pub mod tree;

pub use tree::*;
