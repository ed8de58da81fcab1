//! What a run notes for `omission`: branches that reads decide, the ways that traces took from them, and writes left out.

use crate::ids::{EventId, LocationId, ThreadId, TraceId};
use crate::unfold::dependency::Reads;
use crate::unfolding::{Trace, Unfolding};

/// A branch on a run that reads decided.
#[derive(Clone)]
pub(crate) struct Parted {
    pub(super) branch: usize,
    /// How often the run had come there.
    pub(super) visit: u32,
    pub(super) reads: Reads,
    /// The same reads have decided a branch before.
    pub(super) is_repeated: bool,
    pub(super) way: Option<usize>,
    /// Where the ways meet.
    pub(super) meeting: usize,
    /// How many events the run had where it was decided, and where the ways meet if it came there.
    pub(super) from: usize,
    pub(super) to: Option<usize>,
}

/// A way that a trace took.
#[derive(Copy, Clone)]
pub(super) struct Way<'a> {
    pub(super) id: TraceId,
    pub(super) trace: &'a Trace,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) is_repeated: bool,
}

impl<'a> Way<'a> {
    pub(super) fn new(unfolding: &'a Unfolding, id: TraceId, parted: &'a Parted) -> Option<Way<'a>> {
        let trace = &unfolding.traces[id.index()];
        Some(Way { id, trace, from: parted.from, to: parted.to?, is_repeated: parted.is_repeated })
    }

    pub(super) fn events(&self) -> &'a [EventId] {
        &self.trace.events[self.from..self.to]
    }

    /// The event before that place, which is not before what decided the branch.
    pub(super) fn before(&self, at: usize) -> Option<EventId> {
        at.checked_sub(1).map(|before| self.trace.events[before])
    }
}

/// A store that goes elsewhere, or a comparison that fails, on a run.
#[derive(Clone)]
pub(crate) struct Omitted {
    pub(super) location: LocationId,
    pub(super) instruction: Instruction,
    pub(super) after: Option<EventId>,
    /// Of a comparison: what the value to compare with depends on. What it is compared with is read anew in every trace, so
    /// that constraints do not tell.
    pub(super) compared: Option<Reads>,
}

/// An instruction in one round of the loops around it: where it stands, and which iteration.
pub(super) type Instruction = (ThreadId, u32, u32);

/// What the runs of the threads noted, by trace.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) parted: Vec<(TraceId, Parted)>,
    pub(crate) omitted: Vec<(TraceId, Omitted)>,
}
