//! A question in, a report out: verdicts, outcome histograms, data races, termination, explanations and pictures.
//!
//! Pure: no files, no clock beyond the deadlines the engines keep, no printing. [`load`] turns text into [`Test`]s,
//! [`Models`] holds compiled memory models, [`check`] answers one test under one model with a [`Report`], which is plain
//! data with a versioned schema. [`output`] turns reports into text, [`expectation`] and [`conform`] compare them with
//! what somebody expected.
//!
//! Two rules make the answers trustworthy. A witness is reported only after [`fencepost_axiom::replay`], which shares no
//! code with the engines, has accepted it. An absence is reported only by a search that saw everything, and on small
//! tests only after a second engine found nothing either.

pub mod accesses;
#[cfg(test)]
mod alike;
pub mod check;
mod collect;
pub mod compare;
pub mod compiled;
pub mod conform;
mod contradiction;
pub mod deepen;
pub mod depends;
pub mod estimate;
pub mod expectation;
pub mod facts;
pub mod hash;
pub mod histogram;
mod initial;
pub mod joint;
mod mixed;
pub mod models;
pub mod neutral;
pub mod operational;
pub mod options;
pub mod outcome;
pub mod phrase;
pub mod protocol;
pub mod proxy;
pub mod question;
pub mod quiet;
pub mod race;
pub mod race_order;
pub mod readings;
mod readings_shipped;
mod refusal;
pub mod requirement;
pub mod search;
pub mod stepping;
mod stuck;
pub mod test;
mod timeline;
mod torn;
mod undefined;
mod variants;
mod warnings;
pub mod witness;

pub use check::{Checked, Evidence};
pub use depends::{check, undecided};
pub use fencepost_report::Report;
pub use fencepost_report::verdict::{Verdict, Why};
pub use models::{LoadedModel, Models};
pub use options::{EngineChoice, Options};
pub use test::{Test, load};
