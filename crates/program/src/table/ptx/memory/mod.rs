//! Accesses that a thread makes itself: loads, stores and atomics, of vectors, of several devices, of surfaces and textures,
//! and what only caches are told.

pub(crate) mod access;
pub(crate) mod cache;
pub(crate) mod multimem;
pub(crate) mod surface;
pub(crate) mod vector;
