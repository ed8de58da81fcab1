//! A memory model, compiled: a graph of set and relation operators over base sets and relations, and the checks on it.
//!
//! [`compile`] reads cat text: expressions, definitions and instructions become a graph that shares equal nodes, which is then
//! put in order. [`analysis`] finds how the checks use coherence. [`ir`] is the result, [`compact`] its form in bytes.
//! [`shipped`] has the models of the `models` folder.
//!
//! What a model may use without defining it is in [`vocabulary`]; `docs/cat.md` is written from it.

mod analysis;
pub mod compact;
pub mod compile;
mod edit;
mod ir;
pub mod shipped;
pub mod vocabulary;

pub use analysis::polarity::{Occurrence, Polarity};
pub use ir::*;
pub use shipped::shipped;
pub use vocabulary::{language, library, names};
