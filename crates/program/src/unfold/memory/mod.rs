//! Accesses to memory as events: which locations, in how many parts, and what is refused where an address falls.

pub(crate) mod access;
pub(crate) mod multimem;
pub(crate) mod objects;
pub(crate) mod outside;
pub(crate) mod span;
