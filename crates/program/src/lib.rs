//! Trees to programs to events: every rule of an ISA about single instructions lives here, and no axiom does.
//!
//! [`program::Program`] is a litmus test after name resolution: placed threads of small operations over typed registers,
//! locations with their virtual addresses and proxies, and the questions asked. [`unfolding::Unfolding`] is the same
//! program with its loops unrolled and its control flow resolved into traces of events, which is all an engine sees.

mod few;
pub mod ids;
pub mod lower;
pub mod program;
mod reduce;
pub mod sections;
mod table;
pub mod tag;
pub mod unfold;
pub mod unfolding;
pub mod value;

pub use unfolding::{access, barrier, condition, initial, launch, placement};
pub use value::{expression, may, mbarrier};

pub use table::supported::{SupportedForm, supported_forms};
pub use table::target::{Target, lacks};

pub use ids::{AddressId, EventId, KernelId, LocationId, RegisterId, ThreadId, TraceId};
