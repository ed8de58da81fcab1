//! Whole PTX modules (`.ptx`): text to [`Module`] and back. Nothing is interpreted: what a directive or an opcode means is
//! the `program` crate's business.

mod parse;
mod print;
pub mod tree;

pub use parse::parse;
pub use print::print;
pub use tree::*;
