//! The program as people run it. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod bad_input;
mod cat_page;
mod cat_uses;
mod check;
mod common;
mod compare;
mod crash;
mod docs;
mod expect;
mod fix;
mod gem5;
#[path = "../../examples/support/hostile.rs"]
mod hostile;
mod imports;
#[path = "../../examples/support/instructions.rs"]
mod instructions;
mod instructions_kept;
mod kernel;
mod kernel_inputs;
mod launches;
mod limits;
mod machine;
mod map;
mod model_parts;
#[path = "common/mutants.rs"]
mod mutants;
mod neutral;
mod output;
mod pairs;
mod places;
mod readings;
mod slim;
mod tidy;
