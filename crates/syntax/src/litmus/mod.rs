//! Litmus tests: one tree for every notation. See [`tree`].
//!
//! | notation | recognised by |
//! |---|---|
//! | columns (herd, Dartagnan) | `PTX name`, `X86 name`, `X86_64 name`, then `{ … }`, then `P0 \| P1 ;` |
//! | blocks | the same, then `P0@cta 0 { … }` |
//! | NVLitmus | no header; a file name that ends in `.test`, or an address line or `d0.b0.t0` first |

mod condition;
mod declarations;
mod header;
mod launches;
mod nvlitmus;
mod parse;
mod parser;
mod print;
mod registers;
mod scopes;
mod sections;
mod template;
mod threads;
pub mod tree;

pub use parse::{parse, parse_named, template_of};
pub use print::{print, print_as};
pub use template::{Instance, Template, expand};
pub use tree::*;
