//! Compiler mappings: from scoped C/C++ to PTX, x86 and both together.
//!
//! [`scheme`] has the mappings as data. [`given`] compiles C tests by one and compares the outcomes. [`bounded`] checks one
//! for all race-free programs up to a number of events, on event graphs built without text; what it finds is confirmed
//! by way of [`given`].

pub mod behaviour;
pub mod bounded;
pub mod compile;
pub mod given;
pub mod graph;
pub mod label;
pub mod lattice;
mod ptx;
pub mod race;
pub mod report;
pub mod scheme;
pub mod shape;
pub mod state;
pub mod task;
mod text;
pub mod writer;
mod x86;
