//! Questions about single events, from their fields alone.

use fencepost_program::LocationId;
use fencepost_program::program::Place;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, Unfolding};

/// What an event is by its kind needs no tag.
pub(crate) fn has(event: &Event, tag: Tag) -> bool {
    let by_kind = match (tag, &event.kind) {
        (Tag::Init, _) => event.thread.is_none(),
        (Tag::Read, EventKind::Read { .. }) | (Tag::Write, EventKind::Write { .. }) => true,
        (Tag::Fence, EventKind::Fence) | (Tag::Barrier, EventKind::Barrier(_)) => true,
        _ => false,
    };
    by_kind || event.tags.has(tag)
}

pub(crate) fn location(event: &Event) -> Option<LocationId> {
    match &event.kind {
        EventKind::Read { location, .. } | EventKind::Write { location, .. } => Some(*location),
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
    }
}

/// Of an access, or of a write that is not made.
pub(super) fn target(event: &Event) -> Option<LocationId> {
    match &event.kind {
        EventKind::Omitted(write) => Some(write.location),
        _ => location(event),
    }
}

pub(super) fn place(unfolding: &Unfolding, event: &Event) -> Option<Place> {
    event.thread.map(|thread| unfolding.threads[thread.index()].place)
}
