//! Why a model rules something out, or does not order two accesses: derivations as arrows, as sentences, and which of
//! several reasons comes first.

pub(crate) mod chain;
pub(crate) mod proxies;
pub(crate) mod relevance;
pub(crate) mod steps;
pub(crate) mod unordered;
