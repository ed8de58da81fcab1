//! Operational models as explicit-state machines: every reachable run of a program, with the outcomes it has.
//!
//! [`requests`] turns an unfolded program into what machines run. The machines: [`lostpop`], the operational model of
//! compound CPU/GPU systems; [`store_buffer`], x86-TSO as its abstract machine; [`coherence`], a cache-coherence protocol
//! for a CPU and GPUs; [`persist_buffer`], the hardware of a persistency model, with the check that it keeps the model's
//! promises. [`explore`] visits every reachable state of a [`machine::Machine`]; [`step`] goes through one by hand; [`model`]
//! names the machines for a front end and [`setup`] reads their options. Knows states and transitions, never cat.

pub mod coherence;
pub mod explore;
pub mod lostpop;
pub mod machine;
pub mod model;
mod pack;
pub mod persist_buffer;
mod progress;
pub mod requests;
pub mod setup;
pub mod step;
pub mod store_buffer;
