//! A memory model, compiled: a graph of set and relation operators over base sets and relations, and the checks on it.
//!
//! [`compile`] reads cat text; `expression`, `definition`, `instruction` and `orders` are its parts. `graph` shares
//! equal nodes, `polarity` and `demand` analyse how the checks use coherence, `layout` puts the result in order.
//! [`shipped`] has the models of the `models` folder.
//!
//! What a model may use without defining it, with one sentence about each, is in [`names`], [`library`] and [`language`];
//! `docs/cat.md` is written from these.

mod base_relation;
pub mod compact;
pub mod compile;
mod definition;
mod demand;
mod edit;
mod expression;
mod graph;
mod instruction;
mod ir;
pub mod language;
mod layout;
pub mod library;
pub mod names;
mod orders;
mod polarity;
pub mod shipped;
mod value;

pub use ir::*;
pub use polarity::{Occurrence, Polarity};
pub use shipped::shipped;
