//! Whole kernels: a PTX module and a launch in; a proof for that launch, or the race, hang or protocol error, out.

mod buffer;
pub mod check;
pub mod code;
pub mod container;
mod dependence;
pub mod footprint;
pub mod inventory;
pub mod launch;
pub mod memory;
pub mod mend;
pub mod mutate;
pub mod order;
pub mod report;
pub mod run;
pub mod sequence;
pub mod slice;
