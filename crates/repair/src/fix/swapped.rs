//! Accesses of one thread to the same data that a move swaps, of which one writes: then the thread computes something else.
//! What allocates memory and gives it back computes nothing.

use fencepost_program::program::LocationRole;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_program::{EventId, LocationId, ThreadId};

use fencepost_syntax::Span;
use fencepost_syntax::litmus::Litmus;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::edit::{Change, Edit};
use crate::scene::anchor::instruction_at;
use crate::scene::statement::has;

/// An instruction of the text in one round of its loop.
type Access = (u32, u32);

/// The first before the second.
pub(super) type Ordered = SortedSet<(ThreadId, ShortText, Access, Access)>;

/// What is moved: the thread, and where it stands in the text.
pub(super) fn moved(edits: &[&Edit]) -> SortedSet<(ThreadId, u32)> {
    let moved = edits.iter().filter_map(|edit| match &edit.change {
        Change::Move { span, to, .. } => Some((to.thread, span.start)),
        _ => None,
    });
    moved.collect()
}

/// Whether one of the moves does that, of a test in which accesses stand in this order.
pub(super) fn is_any(litmus: &Litmus, was: &Ordered, after: &Unfolding, moved: &SortedSet<(ThreadId, u32)>) -> bool {
    let allocates = |(thread, at): &(ThreadId, u32)| {
        let own = instruction_at(litmus, *thread, Span::new(*at, *at));
        own.is_some_and(|(_, own)| own.opcode.node == "tcgen05" && (has(own, "alloc") || has(own, "dealloc")))
    };
    let is_moved = |thread: ThreadId, span: u32| moved.contains(&(thread, span));
    ordered(after, &is_moved).iter().any(|now @ (thread, location, first, second)| {
        let turned = (*thread, location.clone(), *second, *first);
        let is_turned = was.contains(&turned) && !was.contains(now);
        is_turned && ![first, second].iter().any(|access| allocates(&(*thread, access.0)))
    })
}

/// The accesses that conflict with one of these, in the order of their instructions.
pub(super) fn ordered(unfolding: &Unfolding, is_own: &dyn Fn(ThreadId, u32) -> bool) -> Ordered {
    // A tensor map is data too: copies read it.
    let is_data = |location: LocationId| unfolding.locations[location.index()].role != LocationRole::Mbarrier;
    let mut accesses: SortedMap<(ThreadId, LocationId), Vec<EventId>> = SortedMap::new();
    for id in (0..unfolding.events.len()).map(EventId::new) {
        let event = unfolding.event(id);
        if let (Some(thread), Some(location)) = (event.thread, event.location().filter(|it| is_data(*it))) {
            accesses.entry((thread, location)).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    for ((thread, location), all) in accesses {
        let name = || unfolding.locations[location.index()].name.clone();
        for one in all.iter().filter(|id| is_own(thread, unfolding.event(**id).span.start)) {
            let own = unfolding.event(*one);
            let conflicts = |its: &Event| its.span.start != own.span.start && (own.is_write() || its.is_write());
            for other in all.iter().filter(|id| conflicts(unfolding.event(**id))) {
                let its = unfolding.event(*other);
                let (access, its) = ((own.span.start, own.iteration), (its.span.start, its.iteration));
                if precedes(unfolding, *one, *other) {
                    found.push((thread, name(), access, its));
                }
                if precedes(unfolding, *other, *one) {
                    found.push((thread, name(), its, access));
                }
            }
        }
    }
    found.into_iter().collect()
}

/// In program order: of an asynchronous operation its instruction counts.
fn precedes(unfolding: &Unfolding, one: EventId, other: EventId) -> bool {
    let issued = |id: EventId| unfolding.event(id).strand.as_ref().map_or(id, |strand| strand.issue);
    unfolding.is_po(issued(one), issued(other))
}
