//! The control flow of a thread's code: loops, branches and where their ways meet, and which events depend on which branch.

pub(crate) mod branch;
pub(crate) mod dependency;
pub(crate) mod flow;
pub(crate) mod if_conversion;
pub(crate) mod postdominator;
