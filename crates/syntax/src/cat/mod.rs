//! The cat language for memory models: the union of herd's and Dartagnan's dialects. See [`tree`].
//!
//! Where the two dialects give one text different meanings, herd's is taken if herd accepts the text and the result
//! could be well typed, else Dartagnan's. What that means for each operator is at [`expression`].

mod expression;
mod include;
mod instruction;
mod keyword;
mod late;
mod lexer;
mod parser;
mod printer;
pub mod tree;
mod variant;

pub use include::include_names;
pub use late::{Late, Stored};
pub use parser::{MAX_HEIGHT, MAX_NESTING};
pub use printer::{print, print_expression};
pub use tree::*;

use crate::diagnostic::Diagnostic;

/// Reads a model. The tree holds every instruction that could be read; it is usable if no diagnostic is an error.
pub fn parse(text: &str) -> (Model, Vec<Diagnostic>) {
    parser::Parser::new(text).model()
}
