//! From answers to a report: names instead of numbers, lines instead of spans.

pub(crate) mod crashes;
pub mod race_order;
pub mod report;
pub(crate) mod stuck;
pub(crate) mod timeline;
pub(crate) mod warnings;
mod writer;
