//! Repairs. [`advise`] answers a test and says what each race, hang or broken promise of it lacks; [`fix`](fn@fix) finds the cheapest
//! change with which a whole test is right, and [`slim`] the set of weakenings that saves most with every answer unchanged.
//!
//! Proposers (`propose`, listed in its `catalogue`) offer edits; `edit` makes them changes of the program, and `verify` checks
//! the changed program again with the same model and readings. Nothing is said for sure that was not checked so.

mod advise;
mod crash;
mod edit;
mod engines;
pub mod fix;
mod hang;
mod lacking;
#[cfg(test)]
mod left_out;
mod missing;
mod older_model;
mod outcome;
mod propose;
mod races;
#[cfg(test)]
mod random;
mod scene;
mod search;
pub mod slim;
mod stronger_reading;
mod unordered;
mod verify;
mod whole;

pub use crate::advise::{advise, fix};
pub use crate::outcome::MOST_QUESTIONS;
pub use crate::races::{MOST_RACES, is_for};
