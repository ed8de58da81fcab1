//! What a run notes for `omission`: branches that reads decide, the ways that traces took from them, and writes left out.

use crate::ids::{EventId, LocationId, ThreadId, TraceId};
use crate::unfold::run::dependency::Reads;
use crate::unfolding::{Trace, Unfolding};

/// A branch on a run that reads decided.
#[derive(Clone)]
pub(crate) struct Parted {
    pub(crate) branch: usize,
    /// How often the run had come there.
    pub(crate) visit: u32,
    pub(crate) reads: Reads,
    /// The same reads have decided a branch before.
    pub(crate) is_repeated: bool,
    pub(crate) way: Option<usize>,
    /// Where the ways meet.
    pub(crate) meeting: usize,
    /// How many events the run had where it was decided, and where the ways meet if it came there.
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
}

/// A way that a trace took.
#[derive(Copy, Clone)]
pub(crate) struct Way<'a> {
    pub(crate) id: TraceId,
    pub(crate) trace: &'a Trace,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) is_repeated: bool,
}

impl<'a> Way<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding, id: TraceId, parted: &'a Parted) -> Option<Way<'a>> {
        let trace = &unfolding.traces[id.index()];
        Some(Way { id, trace, from: parted.from, to: parted.to?, is_repeated: parted.is_repeated })
    }

    pub(crate) fn events(&self) -> &'a [EventId] {
        &self.trace.events[self.from..self.to]
    }

    /// The event before that place, which is not before what decided the branch.
    pub(crate) fn before(&self, at: usize) -> Option<EventId> {
        at.checked_sub(1).map(|before| self.trace.events[before])
    }
}

/// A store that goes elsewhere, or a comparison that fails, on a run.
#[derive(Clone)]
pub(crate) struct Omitted {
    pub(crate) location: LocationId,
    pub(crate) instruction: Instruction,
    pub(crate) after: Option<EventId>,
    /// Of a comparison: what the value to compare with depends on. What it is compared with is read anew in every trace, so
    /// that constraints do not tell.
    pub(crate) compared: Option<Reads>,
}

/// An instruction in one round of the loops around it: where it stands, and which iteration.
pub(crate) type Instruction = (ThreadId, u32, u32);

/// What the runs of the threads noted, by trace.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) parted: Vec<(TraceId, Parted)>,
    pub(crate) omitted: Vec<(TraceId, Omitted)>,
}
