//! Whether one interleaving of the threads explains an execution: an order of all its events that respects program
//! order, in which each read returns the latest write, the halves of a read-modify-write are one step, no thread passes
//! a barrier before those it meets have arrived, nothing comes before what the model calls happened before it, coherence
//! order is respected, and the last writes leave the final memory. Nothing is called an interleaving that this search has not laid out.

use std::collections::BTreeSet;

use fencepost_axiom::execution::Execution;
use fencepost_program::unfolding::EventKind;
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::explain::Context;
use crate::explain::name::value;
use crate::explain::order::happened::Happened;
use crate::explain::order::{Fences, communication, threads};

/// The final values that are told.
pub(crate) type Finals = SortedMap<LocationId, Value>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Interleaving {
    Found(Vec<EventId>),
    /// Every order was tried.
    Impossible,
    /// The search was given up.
    NotFound,
}

/// States to look at. A litmus test has hundreds; the story of a large one is not worth more.
const STATES: usize = 20_000;

/// Fence-SC order is respected where that is possible; it is no part of what an interleaving is.
pub(crate) fn interleaving(
    context: &Context<'_>,
    execution: &Execution,
    finals: &Finals,
    happened: &Happened,
) -> Interleaving {
    let search = |fences| Search::new(context, execution, finals, fences, happened).run();
    let found = search(Fences::Ordered);
    match found {
        Interleaving::Impossible | Interleaving::NotFound if !execution.sync_fence.is_empty() => search(Fences::Free),
        _ => found,
    }
}

type Memory = SortedMap<LocationId, EventId>;

/// A step that was taken: by which thread, what it overwrote, and the threads that may be tried instead.
struct Taken {
    thread: usize,
    overwrote: Option<(LocationId, Option<EventId>)>,
    others: Vec<usize>,
}

struct Search<'a> {
    context: &'a Context<'a>,
    execution: &'a Execution,
    finals: &'a Finals,
    threads: Vec<Vec<EventId>>,
    needs: SortedMap<EventId, SortedSet<EventId>>,
    sources: SortedMap<EventId, EventId>,
    /// How far each thread is.
    at: Vec<usize>,
    memory: Memory,
    done: SortedSet<EventId>,
    seen: BTreeSet<(Vec<usize>, Memory)>,
}

impl<'a> Search<'a> {
    fn new(
        context: &'a Context<'a>,
        execution: &'a Execution,
        finals: &'a Finals,
        fences: Fences,
        happened: &Happened,
    ) -> Search<'a> {
        let threads = threads(context, execution);
        let needs = communication(context, execution, &threads, fences, happened).all();
        let threads: Vec<Vec<EventId>> = threads.into_values().collect();
        let inits: SortedSet<EventId> =
            execution.events.iter().copied().filter(|event| context.is_init(*event)).collect();
        let memory = inits.iter().filter_map(|init| Some((context.location_of(*init)?, *init))).collect();
        let sources = execution.rf.iter().map(|(from, to)| (*to, *from)).collect();
        let at = vec![0; threads.len()];
        Search { context, execution, finals, threads, needs, sources, at, memory, done: inits, seen: BTreeSet::new() }
    }

    fn next(&self, thread: usize) -> Option<EventId> {
        self.threads.get(thread)?.get(*self.at.get(thread)?).copied()
    }

    fn previous(&self, thread: usize) -> Option<EventId> {
        self.threads.get(thread)?.get(self.at.get(thread)?.checked_sub(1)?).copied()
    }

    /// The read half of a read-modify-write is done and the write half is not.
    fn is_between_halves(&self, thread: usize) -> bool {
        let partner = self.previous(thread).and_then(|id| self.context.event(id)?.rmw_partner);
        partner.is_some_and(|partner| self.execution.events.contains(&partner) && !self.done.contains(&partner))
    }

    fn can(&self, thread: usize) -> bool {
        let Some(event) = self.next(thread) else { return false };
        let ready = self.needs.get(&event).is_none_or(|needed| needed.iter().all(|other| self.done.contains(other)));
        let latest = || self.context.location_of(event).and_then(|location| self.memory.get(&location));
        ready && (!self.context.is_read(event) || latest() == self.sources.get(&event))
    }

    /// The threads that may take the next step, the one that took the last first.
    fn choices(&self, last: Option<usize>) -> Vec<usize> {
        let inside = (0..self.threads.len()).find(|thread| self.is_between_halves(*thread));
        let mut choices: Vec<usize> = (0..self.threads.len())
            .filter(|thread| inside.is_none_or(|inside| inside == *thread) && self.can(*thread))
            .collect();
        // The last of the list is tried first.
        choices.shared_sort_by_key(|thread| (Some(*thread) == last, std::cmp::Reverse(self.next(*thread))));
        choices
    }

    fn step(&mut self, thread: usize, others: Vec<usize>) -> Option<Taken> {
        let event = self.next(thread)?;
        let written = match self.context.event(event)?.kind {
            EventKind::Write { location, .. } => Some(location),
            _ => None,
        };
        let overwrote = written.map(|location| (location, self.memory.insert(location, event)));
        self.done.insert(event);
        *self.at.get_mut(thread)? += 1;
        Some(Taken { thread, overwrote, others })
    }

    fn back(&mut self, taken: &Taken) {
        if let Some(at) = self.at.get_mut(taken.thread) {
            *at -= 1;
        }
        if let Some(event) = self.next(taken.thread) {
            self.done.remove(&event);
        }
        match taken.overwrote {
            Some((location, Some(before))) => drop(self.memory.insert(location, before)),
            Some((location, None)) => drop(self.memory.remove(&location)),
            None => {}
        }
    }

    fn leaves_finals(&self) -> bool {
        let left = |location: &LocationId| self.memory.get(location).and_then(|write| value(self.execution, *write));
        self.finals.iter().all(|(location, wanted)| left(location) == Some(*wanted))
    }

    fn run(mut self) -> Interleaving {
        let total: usize = self.threads.iter().map(Vec::len).sum();
        let mut path: Vec<Taken> = Vec::new();
        let mut choices = self.choices(None);
        loop {
            if path.len() == total && self.leaves_finals() {
                return Interleaving::Found(self.order(&path));
            }
            if self.seen.len() >= STATES {
                return Interleaving::NotFound;
            }
            // Go on, or back to the last step that has another choice.
            while choices.is_empty() {
                let Some(taken) = path.pop() else { return Interleaving::Impossible };
                self.back(&taken);
                choices = taken.others;
            }
            let Some(thread) = choices.pop() else { return Interleaving::NotFound };
            let Some(taken) = self.step(thread, choices) else { return Interleaving::NotFound };
            path.push(taken);
            let new = self.seen.insert((self.at.clone(), self.memory.clone()));
            choices = if new { self.choices(Some(thread)) } else { Vec::new() };
        }
    }

    fn order(&self, path: &[Taken]) -> Vec<EventId> {
        let mut at = vec![0; self.threads.len()];
        let step = |taken: &Taken| {
            let position = at.get_mut(taken.thread)?;
            *position += 1;
            self.threads.get(taken.thread)?.get(*position - 1).copied()
        };
        path.iter().filter_map(step).collect()
    }
}
