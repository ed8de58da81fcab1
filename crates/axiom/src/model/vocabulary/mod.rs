//! What a model may use without defining it, with one sentence about each: `docs/cat.md` is written from these tables.

pub(crate) mod base_relation;
pub mod language;
pub mod library;
pub mod names;
