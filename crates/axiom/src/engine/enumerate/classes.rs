//! Executions up to exchanging threads, where all of them are too many: of choices of reads-from that are alike
//! ([`crate::engine::exchange`]) one is looked at, with its class as the weight of its executions.
//!
//! *Nothing is left out.* A partial choice of reads-from is given up only if one that is alike was looked at before. Whatever
//! completes the one is alike to what completes the other, so each class of complete choices is found from one of them. For
//! that the group must map consistent executions to consistent ones: for each choice of traces, every relation and set that the
//! model starts from is compared with its image, and what the engine looks at beside the model too
//! ([`Search::is_kept_by_exchanges`]); a difference ends the search. What a partial choice is compared by is the choices made and
//! those that follow from them, never what was ruled out: that depends on the order in which the search went.
//!
//! *Nothing is counted twice.* A complete choice is given up as well if one that is alike was looked at. The executions of one
//! choice are looked at as ever; those of another of its class are their images. So their number is that of the class: as
//! many as the group has elements, divided by how many leave the choice as it is.

use std::ops::ControlFlow;

use fencepost_program::ThreadId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SharedSort as _;

use super::budget::{Budget, End, Flow};
use super::values::Consistent;
use super::{Among, Foresight, LISTING, Search, explore};
use crate::bits::Swap;
use crate::engine::exchange::Exchange;
use crate::engine::{Ends, Exploration, Goal, Limits, Multiplicity, Stop, Visitor};
use crate::hash::Set;
use crate::model::Model;

/// Visits executions with which all others are alike, each with the number of those that are (`Execution::weight`). The
/// conditions of the goal must be among those that the exchange was found with, and what the visitor looks at too.
pub fn explore_classes(
    unfolding: &Unfolding,
    model: &Model,
    goal: &Goal<'_>,
    exchange: &Exchange,
    limits: &Limits<'_>,
    visit: &mut Visitor<'_>,
) -> Exploration {
    if goal.ends != Ends::Terminating || goal.raised.is_some() || goal.multiplicity != Multiplicity::All {
        return Exploration::Incomplete(unsupported("classes of such executions"));
    }
    let classes = Classes { exchange, seen: Set::default(), size: 1 };
    let foresight = Foresight { narrow_from: 1, ..LISTING };
    explore(unfolding, model, goal, (Budget::new(limits), foresight, Among::Classes(classes)), visit)
}

fn unsupported(what: &str) -> Stop {
    Stop::Unsupported { span: Span::default(), what: what.to_owned() }
}

/// Each edge, and at the end the number of them and of those that only may be chosen.
type Key = Vec<(u32, u32)>;

#[derive(Debug)]
pub(super) struct Classes<'a> {
    exchange: &'a Exchange,
    /// Choices that were looked at, with those that were about to be, in the names of one that stands for its class.
    seen: Set<Key>,
    /// Of the choice that was last looked at.
    size: u64,
}

impl Search<'_, '_> {
    /// Every choice of reads-from up to exchanging threads.
    pub(super) fn choose_classes(&mut self) -> Flow {
        let Among::Classes(classes) = &mut self.among else { return Flow::Continue(()) };
        classes.seen.clear();
        if !self.is_kept_by_exchanges() || !self.prunes() {
            return Flow::Break(End::Incomplete(unsupported("threads that the model can tell apart")));
        }
        for index in 0..self.work.reads.pinned.len() {
            let (write, read) = self.work.reads.pinned[index];
            if self.assign(write, read) == Consistent::No {
                return Flow::Continue(());
            }
        }
        self.work.reads.pairs.clear();
        self.narrow_reads()
    }

    /// Whether exchanging any two threads of a kind leaves all as it is that the model, or the engine, can see of the traces.
    fn is_kept_by_exchanges(&self) -> bool {
        let Among::Classes(classes) = &self.among else { return false };
        classes.exchange.kinds().iter().all(|kind| {
            let first = kind[0].index();
            kind[1..]
                .iter()
                .all(|thread| self.exchangeable(first, thread.index()) && self.keeps_engine(first, thread.index()))
        })
    }

    /// What [`Search::exchangeable`] does not look at.
    fn keeps_engine(&self, a: usize, b: usize) -> bool {
        let Some(swap) = Swap::new(self.work.candidate.thread_events(a), self.work.candidate.thread_events(b)) else {
            return false;
        };
        // Ascending.
        let fences = &self.work.orders.fence_pairs;
        let swapped = |&(a, b): &(usize, usize)| {
            let (a, b) = (swap.event(a), swap.event(b));
            (a.min(b), a.max(b))
        };
        self.work.orders.succeeded.is_kept_by(&swap)
            && fences.iter().all(|pair| fences.binary_search(&swapped(pair)).is_ok())
    }

    /// Whether no choice that is like the present one, with one more edge if there is one, was looked at before; always where
    /// classes are not asked for.
    pub(super) fn is_new_class(&mut self, more: Option<(usize, usize)>) -> ControlFlow<End, bool> {
        let Among::Classes(classes) = &self.among else { return ControlFlow::Continue(true) };
        let Some((key, size)) = self.class(classes.exchange, more) else {
            return ControlFlow::Break(End::Incomplete(unsupported("too many ways to exchange threads")));
        };
        let Among::Classes(classes) = &mut self.among else { return ControlFlow::Continue(true) };
        classes.size = size;
        let bytes = key.len() as u64 * 8 + 32;
        let is_new = classes.seen.insert(key);
        if is_new {
            self.budget.keep(bytes)?;
        }
        ControlFlow::Continue(is_new)
    }

    /// The edges chosen so far, with threads renamed to those of one choice that stands for the class, and the size of the class.
    fn class(&self, exchange: &Exchange, more: Option<(usize, usize)>) -> Option<(Key, u64)> {
        let chosen = self.work.reads.all.iter().map(|&read| (self.work.reads.source[read], read));
        let edges: Vec<(usize, usize)> = chosen.filter(|(write, _)| *write != usize::MAX).chain(more).collect();
        // The node of an event's thread, and the event's place in the thread.
        let place = |event: usize| {
            let thread = self.work.candidate.thread_of(event)?;
            let node = exchange.node(ThreadId::new(thread))?;
            Some((node, (event - self.work.candidate.thread_events(thread).start) as u32))
        };
        let mut drawing = exchange.drawing();
        for &(write, read) in &edges {
            match (place(write), place(read)) {
                (Some((from, source)), Some((to, at))) => drawing.arrows.push((from, (0, source, i128::from(at)), to)),
                (Some((from, source)), None) => drawing.marks[from].push((1, source, read as i128)),
                (None, Some((to, at))) => drawing.marks[to].push((2, at, write as i128)),
                (None, None) => {}
            }
        }
        let canonical = drawing.canonical()?;
        let renamed = |event: usize| match place(event) {
            Some((node, at)) => {
                let thread = exchange.thread(canonical.place[node])?;
                Some(self.work.candidate.thread_events(thread.index()).start as u32 + at)
            }
            None => Some(event as u32),
        };
        let mut key: Key = Vec::with_capacity(edges.len() + 1);
        for &(write, read) in &edges {
            key.push((renamed(write)?, renamed(read)?));
        }
        key.shared_sort();
        key.push((u32::MAX, u32::from(more.is_some())));
        Some((key, exchange.class_size(canonical.same)?))
    }

    /// Where classes are asked for, the execution that is handed out stands for all that are like it.
    pub(super) fn weigh(&mut self) -> Flow {
        let Among::Classes(classes) = &self.among else { return Flow::Continue(()) };
        match self.work.execution.weight.checked_mul(classes.size) {
            Some(weight) => {
                self.work.execution.weight = weight;
                Flow::Continue(())
            }
            None => Flow::Break(End::Incomplete(unsupported("more executions than a number can say"))),
        }
    }
}
