//! Compiler mappings: from scoped C/C++ to PTX, x86 and both together.
//!
//! [`scheme`] has the mappings as data. [`bounded`] checks one for all race-free programs up to a number of events.

pub mod behaviour;
pub mod bounded;
pub mod graph;
pub mod label;
pub mod lattice;
pub mod race;
pub mod scheme;
pub mod shape;
pub mod state;
pub mod task;
mod text;
