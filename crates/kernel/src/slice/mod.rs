//! Threads that take turns: a run for every order in which they may, and litmus tests of the locks that they take.
//!
//! docs/kernels.md ("Locks and queues") has the argument. A slice is a value: this crate writes it, and whoever has the
//! engines of `check` decides it.

mod litmus;
pub mod orders;
