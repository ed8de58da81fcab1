//! Whole kernels: a PTX module and a launch in; a proof for that launch, or the race, hang or protocol error, out.

pub mod code;
pub mod footprint;
pub mod order;
