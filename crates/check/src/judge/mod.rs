//! From what was found to answers: questions, readings, limits, undefined behaviour.

pub(crate) mod contradiction;
pub mod crash;
pub mod deepen;
pub mod found;
pub(crate) mod initial_values;
pub mod known;
pub mod layers;
pub(crate) mod mixed_size;
pub mod question;
pub mod readings;
pub mod recovery;
pub mod refusal;
pub(crate) mod torn;
pub(crate) mod undefined;
pub(crate) mod varying_bytes;
pub mod verdict;
pub mod whole;
