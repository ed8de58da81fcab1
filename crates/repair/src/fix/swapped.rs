//! Accesses of one thread to the same data that a move swaps, of which one writes: then the thread computes something else.
//! What allocates memory and gives it back computes nothing.

use std::collections::BTreeSet;

use fencepost_program::program::LocationRole;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_program::{EventId, LocationId, ThreadId};

use fencepost_syntax::Span;
use fencepost_syntax::litmus::Litmus;

use crate::edit::{Change, Edit};
use crate::scene::anchor::instruction_at;
use crate::scene::statement::has;

/// An instruction of the text in one round of its loop.
type Access = (u32, u32);

/// The first before the second.
type Ordered = BTreeSet<(ThreadId, LocationId, Access, Access)>;

/// Whether one of the moves among these changes does that.
pub(super) fn is_any(litmus: &Litmus, before: &Unfolding, after: &Unfolding, edits: &[&Edit]) -> bool {
    let moved = edits.iter().filter_map(|edit| match &edit.change {
        Change::Move { span, to, .. } => Some((to.thread, span.start)),
        _ => None,
    });
    let allocates = |(thread, at): &(ThreadId, u32)| {
        let own = instruction_at(litmus, *thread, Span::new(*at, *at));
        own.is_some_and(|(_, own)| own.opcode.node == "tcgen05" && (has(own, "alloc") || has(own, "dealloc")))
    };
    let moved: BTreeSet<(ThreadId, u32)> = moved.collect();
    if moved.is_empty() {
        return false;
    }
    let (was, is) = (ordered(before, &moved), ordered(after, &moved));
    was.iter().any(|(thread, location, first, second)| {
        let turned = (*thread, *location, *second, *first);
        let is_turned = is.contains(&turned) && !was.contains(&turned);
        is_turned && ![first, second].iter().any(|access| allocates(&(*thread, access.0)))
    })
}

/// The accesses that conflict with one that is moved, in the order of their instructions.
fn ordered(unfolding: &Unfolding, moved: &BTreeSet<(ThreadId, u32)>) -> Ordered {
    let all: Vec<(EventId, &Event)> =
        (0..unfolding.events.len()).map(EventId::new).map(|id| (id, unfolding.event(id))).collect();
    let is_data = |event: &Event| {
        event.location().is_some_and(|location| unfolding.locations[location.index()].role == LocationRole::Data)
    };
    let accesses: Vec<(EventId, &Event)> = all.into_iter().filter(|(_, event)| is_data(event)).collect();
    let mut found = Ordered::new();
    for (one, own) in &accesses {
        let Some(thread) = own.thread.filter(|thread| moved.contains(&(*thread, own.span.start))) else { continue };
        for (other, its) in &accesses {
            let conflict = its.thread == Some(thread)
                && its.location() == own.location()
                && its.span.start != own.span.start
                && (own.is_write() || its.is_write());
            let (true, Some(location)) = (conflict, own.location()) else { continue };
            let (access, its) = ((own.span.start, own.iteration), (its.span.start, its.iteration));
            if precedes(unfolding, *one, *other) {
                found.insert((thread, location, access, its));
            }
            if precedes(unfolding, *other, *one) {
                found.insert((thread, location, its, access));
            }
        }
    }
    found
}

/// In program order: of an asynchronous operation its instruction counts.
fn precedes(unfolding: &Unfolding, one: EventId, other: EventId) -> bool {
    let issued = |id: EventId| unfolding.event(id).strand.as_ref().map_or(id, |strand| strand.issue);
    unfolding.is_po(issued(one), issued(other))
}
