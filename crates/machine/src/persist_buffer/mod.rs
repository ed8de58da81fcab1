//! The persist buffer of SBRP: how an SM lets writes to NVM become durable in the order that a program asks for.
//!
//! Source: Pandey, Kamath, Basu, "Scoped Buffered Persistency Model for GPUs" (ASPLOS 2023), sections 5 and 6, and its
//! published artifact. [`buffer`] is the hardware as plain data, without time; [`rules`] has its options; [`multiprocessors`] is a
//! machine of SMs that have one each.

pub mod buffer;
pub mod multiprocessors;
mod points;
pub mod refine;
pub mod rules;
pub mod warps;

pub use buffer::{Line, PersistBuffer, Point, Scope};
pub use rules::{Merge, Rule, Rules};
pub use warps::{Warp, Warps};
