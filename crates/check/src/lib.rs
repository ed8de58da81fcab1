//! A question in, a report out: verdicts, outcome histograms, data races, termination, explanations and pictures.
//!
//! Pure: no files, no clock beyond the deadlines the engines keep, no printing. [`load`] turns text into [`Test`]s,
//! [`Models`] holds compiled memory models, [`check`] answers one test under one model with a [`Report`], which is plain
//! data with a versioned schema. Every search for executions goes through a [`Session`]. [`expect`] compares them with what somebody
//! expected, [`mod@compare`] two models with each other, and [`operational`] runs machines.
//!
//! Two rules make the answers trustworthy. A witness is reported only after [`fencepost_axiom::replay`], which shares no
//! code with the engines, has accepted it. An absence is reported only by a search that saw everything, and on small
//! tests only after a second engine found nothing either.

#[cfg(test)]
mod alike;
pub mod budget;
pub mod compare;
pub mod expect;
pub mod judge;
pub mod look;
pub mod model;
pub mod operational;
pub mod options;
pub mod phrase;
pub mod session;
pub mod test;
pub mod write;

pub use budget::Budget;
pub use fencepost_report::Report;
pub use fencepost_report::verdict::{Verdict, Why};
pub use judge::found::{Checked, Evidence};
pub use judge::readings::{check, judge, undecided};
pub use model::load::{LoadedModel, Models};
pub use options::{EngineChoice, Options};
pub use session::Session;
pub use test::{Test, load};
