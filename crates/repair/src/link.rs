//! The links of a way from one access to the other, each with the changes that make it one, and the plan that such a way is.

use fencepost_program::{EventId, ThreadId};

use super::anchor::{Anchor, Side};
use super::edit::Edit;
use super::scene::Scene;

/// A point of a thread: an event, or behind its last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Node {
    Event(EventId),
    End(ThreadId),
}

/// What a link is, so that a way that does not help can be avoided.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
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
pub(super) struct Link {
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) kind: Kind,
    pub(super) cost: u32,
    pub(super) edits: Vec<Edit>,
}

/// A way, and the changes that make it one.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) from: EventId,
    pub(super) to: EventId,
    pub(super) edits: Vec<Edit>,
    pub(super) cost: u32,
}

/// Behind the last event of a thread.
pub(super) fn end(scene: &Scene<'_>, thread: ThreadId) -> Option<Anchor> {
    scene.anchor(*scene.main_events(thread).last()?, Side::After)
}
