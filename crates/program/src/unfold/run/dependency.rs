//! What an event depends on: the reads behind its address, its data and its guard.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::EventId;

/// The reads something depends on.
pub(crate) type Reads = SortedSet<EventId>;

/// What the event of one instruction depends on.
#[derive(Clone, Default)]
pub(crate) struct Deps {
    pub(crate) address: Reads,
    pub(crate) data: Reads,
    /// Of this instruction alone (its guard).
    pub(crate) guard: Reads,
}
