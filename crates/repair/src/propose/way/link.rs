//! The links of a way from one access to the other, each with the changes that make it one, and the plan that such a way is.

use fencepost_program::{EventId, ThreadId};

use crate::edit::Edit;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side};

/// A point of a thread: an event, or behind its last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Node {
    Event(EventId),
    End(ThreadId),
}

/// What a link is, so that a way that does not help can be avoided.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Program,
    Synchronised,
    Message(EventId, EventId),
    Wait,
    /// A wait for an arrive.
    Arrival(EventId),
    Move(EventId),
    /// In the order of two operations of the tensor core.
    Pipelined,
    Barrier,
    Grid,
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) kind: Kind,
    pub(crate) cost: u32,
    pub(crate) edits: Vec<Edit>,
}

/// A way, and the changes that make it one.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) from: EventId,
    pub(crate) to: EventId,
    pub(crate) edits: Vec<Edit>,
    pub(crate) cost: u32,
}

/// Behind the last event of a thread.
pub(crate) fn end(scene: &Scene<'_>, thread: ThreadId) -> Option<Anchor> {
    scene.anchor(*scene.main_events(thread).last()?, Side::After)
}
