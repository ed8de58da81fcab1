//! A consistent execution, in terms of the unfolding's events: what an engine hands out, a witness replays and a
//! picture draws.

use fencepost_program::unfolding::BarrierMatching;
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// One trace per thread, in thread order.
    pub traces: Vec<TraceId>,
    /// Every event that occurs, ascending: the init writes and the events of the traces.
    pub events: Vec<EventId>,
    /// `(write, read)`, ascending by read; one per read.
    pub rf: Vec<(EventId, EventId)>,
    /// Coherence, transitively closed, ascending. Total per location or partial, as the model has it; for a partial
    /// model this is the smallest relation that satisfies the model with these choices.
    pub co: Vec<(EventId, EventId)>,
    /// Fence-SC order restricted to pairs of `fence.sc` whose scopes include each other, ascending.
    pub sync_fence: Vec<(EventId, EventId)>,
    pub barriers: BarrierMatching,
    /// The value read or written by each of `events` (None for fences and barriers).
    pub values: Vec<Option<Value>>,
    /// How many executions this one stands for: engines may report one of several that differ only by exchanging
    /// interchangeable, unobserved threads.
    pub weight: u64,
}
