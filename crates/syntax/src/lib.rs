//! Text to trees. Five input languages, one shape of result: `(Tree, Vec<Diagnostic>)`, never a panic and never IO.
//!
//! * [`litmus`]: litmus tests in columns or blocks, PTX (Dartagnan's dialect and real PTX syntax), x86 and C, and NVLitmus `.test` files;
//! * [`ptx`]: whole PTX modules as compilers emit them;
//! * [`cat`]: memory models, the union of herd's and Dartagnan's dialects.
//!
//! Every tree prints back to text that parses to the same tree.

mod assembly;
pub mod c;
pub mod cat;
pub mod controls;
pub mod diagnostic;
pub mod few;
pub mod instruction;
pub mod limits;
pub mod litmus;
pub mod ptx;
pub mod short;
pub mod sorted;
pub mod span;
pub mod suggest;
mod text;

pub use diagnostic::{Diagnostic, Severity};
pub use span::{Lines, Source, Span, Spanned};
