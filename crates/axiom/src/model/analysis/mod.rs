//! How the checks of a model use the relations that an engine chooses, read off its graph.

pub(crate) mod demand;
pub(crate) mod polarity;
