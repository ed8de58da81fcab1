//! A memory model, compiled: a graph of set and relation operators over base sets and relations, and the checks on it.
//!
//! [`compile`] reads cat text; `expression`, `definition`, `instruction` and `orders` are its parts. `graph` shares
//! equal nodes, `polarity` and `demand` analyse how the checks use coherence, `layout` puts the result in order.
//! [`shipped`] has the models of the `models` folder.

pub mod compact;
pub mod compile;
mod definition;
mod demand;
mod edit;
mod expression;
mod graph;
mod instruction;
mod ir;
mod layout;
mod library;
pub mod names;
mod orders;
mod polarity;
pub mod shipped;
mod value;

pub use ir::*;
pub use polarity::{Occurrence, Polarity};
pub use shipped::shipped;
