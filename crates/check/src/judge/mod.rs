//! From what was found to answers: questions, readings, limits, undefined behaviour.

pub mod answers;
pub(crate) mod contradiction;
pub mod deepen;
pub(crate) mod initial_values;
pub(crate) mod mixed_size;
pub mod question;
pub mod readings;
pub(crate) mod refusal;
pub(crate) mod torn;
pub(crate) mod undefined;
