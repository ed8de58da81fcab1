//! Interchangeable threads. With reads-from fixed, threads that only write, are read by nobody, look alike and stand in
//! the same place relation to all other threads can be exchanged: that permutes the executions, and leaves everything
//! observed as it was as long as nobody looks at the final value of what they write. The permutation moves the order of
//! their first writes, so no execution is its own image, and those with the first writes in thread order represent all:
//! k! executions each.

use fencepost_program::unfolding::{Event, EventKind, Unfolding};
use fencepost_program::{EventId, ThreadId};

use super::question::Question;
use super::values::Values;
use crate::base::{Candidate, location_of, narrowest_common};
use crate::engine::alike::{same_beside, same_kernel};

/// Threads by their first writes, in thread order; at least two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Interchangeable {
    pub(super) first_writes: Vec<usize>,
}

impl Interchangeable {
    /// How many executions a sorted one stands for.
    pub(super) fn weight(&self) -> u64 {
        (1..=self.first_writes.len() as u64).product()
    }
}

/// 20! is the largest factorial in a `u64`.
const MOST: usize = 20;

/// Classes of threads that could be interchangeable, whatever is read: threads that only write and fence, by thread.
pub(super) fn classes(unfolding: &Unfolding, candidate: &Candidate, question: &Question<'_>) -> Vec<Vec<usize>> {
    let Some(observed) = &question.observed else { return Vec::new() };
    let quiet = |thread: &usize| {
        let mut writes = 0;
        candidate.thread_events(*thread).all(|event| match &event_of(unfolding, candidate, event).kind {
            EventKind::Write { location, .. } => {
                writes += 1;
                !observed.contains(location)
            }
            EventKind::Fence => true,
            EventKind::Read { .. } | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => false,
        }) && writes > 0
    };
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for thread in (0..candidate.threads()).filter(quiet) {
        match classes.iter_mut().find(|class| exchangeable(unfolding, candidate, class[0], thread)) {
            Some(class) => class.push(thread),
            None => classes.push(vec![thread]),
        }
    }
    classes.retain(|class| class.len() > 1);
    classes
}

/// The classes, restricted to threads that nobody reads from.
pub(super) fn unread(
    unfolding: &Unfolding,
    candidate: &Candidate,
    classes: &[Vec<usize>],
    values: &Values,
) -> Vec<Interchangeable> {
    let mut found = Vec::new();
    for class in classes {
        let unread =
            class.iter().filter(|thread| candidate.thread_events(**thread).all(|event| !values.is_read(event)));
        let first = |thread: &usize| {
            candidate.thread_events(*thread).find(|&event| location_of(event_of(unfolding, candidate, event)).is_some())
        };
        let first_writes: Vec<usize> = unread.filter_map(first).take(MOST).collect();
        if first_writes.len() > 1 {
            found.push(Interchangeable { first_writes });
        }
    }
    found
}

fn event_of<'a>(unfolding: &'a Unfolding, candidate: &Candidate, event: usize) -> &'a Event {
    &unfolding.events[candidate.events[event].index()]
}

/// Whether exchanging two threads maps every static relation to itself.
fn exchangeable(unfolding: &Unfolding, candidate: &Candidate, a: usize, b: usize) -> bool {
    let (first, second) = (candidate.thread_events(a), candidate.thread_events(b));
    let rename = |event: EventId| {
        let at = candidate.local(event)?.checked_sub(first.start)?;
        second.clone().nth(at).map(|local| candidate.events[local])
    };
    let same = |x: usize, y: usize| {
        let (x, y) = (event_of(unfolding, candidate, x), event_of(unfolding, candidate, y));
        alike(x, y) && same_beside(unfolding, x, y, &rename)
    };
    first.len() == second.len()
        && first.clone().zip(second.clone()).all(|(x, y)| same(x, y))
        && same_kernel(unfolding, ThreadId::new(a), ThreadId::new(b))
        && same_distances(unfolding, a, b)
}

/// Whether two threads are each as far from itself as the other is, and as far from every third.
fn same_distances(unfolding: &Unfolding, a: usize, b: usize) -> bool {
    let (here, there) = (unfolding.threads[a].place, unfolding.threads[b].place);
    let others = unfolding.threads.iter().enumerate().filter(|(at, _)| *at != a && *at != b);
    here == there
        || narrowest_common(here, here) == narrowest_common(there, there)
            && others
                .map(|(_, thread)| thread.place)
                .all(|other| narrowest_common(here, other) == narrowest_common(there, other))
}

/// Equal up to the value written.
fn alike(x: &Event, y: &Event) -> bool {
    let same_kind = match (&x.kind, &y.kind) {
        (EventKind::Fence, EventKind::Fence) => true,
        (
            EventKind::Write { address, generic, location, .. },
            EventKind::Write { address: address_y, generic: generic_y, location: location_y, .. },
        ) => (address, generic, location) == (address_y, generic_y, location_y),
        _ => false,
    };
    same_kind && x.tags == y.tags && x.scope == y.scope
}
