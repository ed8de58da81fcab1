//! The machines against what is published, against each other, and against programs written by hand. One test program:
//! each would compile the explorer again.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test may print and panic")]

mod exploring;
mod figures;
mod gem5;
mod options;
mod persist_buffer;
mod programs;
mod published;
mod random;
mod stepping;
mod support;
mod x86;
