//! What somebody expects of a test, and whether it is so.

pub mod conform;
pub mod expectation;
pub mod requirement;
