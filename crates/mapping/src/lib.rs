//! Compiler mappings: from scoped C/C++ to PTX, x86 and both together.
//!
//! [`scheme`] has the mappings as data. [`given`] compiles C tests by one and compares the outcomes. [`bounded`] checks one
//! for all race-free programs up to a number of events, on event graphs built without text; what it finds is confirmed
//! by way of [`given`].

pub mod bounded;
pub mod compile;
pub mod given;
pub mod label;
pub mod report;
pub mod scheme;
pub mod task;

pub use bounded::{behaviour, graph, lattice, race, shape, state};
pub use compile::writer;
