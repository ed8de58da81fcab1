//! Events and a cat model to all consistent executions. Knows relations and search, never opcodes.
//!
//! [`model`] compiles a cat tree into a graph of set and relation operators. `evaluate` computes that graph over one
//! candidate with bit matrices ([`bits`]). [`crash`] says what a crash may leave of an execution. The [`engine`]s search: `enumerate` for litmus size, `sat` for many threads
//! and writes, `brute` straight from the definitions as the oracle of the tests. `replay` re-checks a witness with
//! an evaluator of its own, `reason` explains why a candidate is ruled out, and [`watch`] keeps all of them within limits.

pub mod base;
pub mod bits;
pub mod crash;
pub mod engine;
pub mod evaluate;
pub mod execution;
mod hash;
pub mod model;
pub mod reason;
pub mod replay;
pub mod watch;
