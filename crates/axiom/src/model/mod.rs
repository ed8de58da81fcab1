//! A memory model, compiled: a graph of set and relation operators over base sets and relations, and the checks on it.

pub mod compile;
mod ir;

pub use ir::*;
