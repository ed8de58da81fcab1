//! One guess at all orders that are left, where one execution is all that is wanted.
//!
//! A hundred writes of one location have thousands of pairs, and mostly any order of them will do that agrees with what is
//! known. So the events are put into a row that does: what the model's acyclic relations have before another comes first, a
//! read before the next write of its location, and the write of a read-modify-write behind what it read. If the model accepts
//! the orders of that row, it is an execution like any other. If not, nothing follows, and the pairs are searched as ever.

use super::Search;
use super::budget::Flow;
use super::orders::{Edge, Pair, State};
use super::values::Consistent;
use crate::bits::{Relation, ones};

impl Search<'_, '_> {
    /// Tries one way to order all that this state leaves open, and reports it if the model accepts it. Leaves the evaluator with
    /// the values of what was tried.
    pub(super) fn guess(&mut self, state: &State) -> Flow {
        self.budget.tick(4)?;
        let place = self.row(state);
        let forward = |(a, b): Pair| if place[a] < place[b] { (a, b) } else { (b, a) };
        let mut tried = state.clone();
        let edges: Vec<Pair> = tried.pairs.iter().map(|pair| forward(*pair)).collect();
        if tried.order_all(&edges) == Consistent::No {
            return Flow::Continue(());
        }
        for &pair in self.work.orders.fence_pairs.iter().filter(|pair| !state.fences_ordered(**pair)) {
            let (a, b) = forward(pair);
            if tried.order(Edge::Fence(a, b)) == Consistent::No {
                return Flow::Continue(());
            }
        }
        if self.propagate(&mut tried) == Consistent::No || !tried.pairs.is_empty() {
            return self.budget.ended();
        }
        self.accept(&tried)
    }

    /// The place of each event in a row that agrees with what is known, as far as there is one.
    fn row(&self, state: &State) -> Vec<usize> {
        let shape = self.work.candidate.shape;
        let mut before = Relation::empty(shape);
        let add = |relation: &[u64], before: &mut Relation| {
            before.bits_mut().iter_mut().zip(relation).for_each(|(word, more)| *word |= more);
        };
        add(self.work.reads.relation.bits(), &mut before);
        add(state.co.bits(), &mut before);
        add(state.fences_closed.bits(), &mut before);
        for occurrence in self.evaluator.plan().occurrences() {
            add(self.evaluator.relation(occurrence.node), &mut before);
        }
        Row::new(self, &before).place
    }
}

/// A row in the making.
struct Row {
    place: Vec<usize>,
    /// How many events that are not in the row yet lead to each.
    waits_for: Vec<usize>,
    left: Vec<usize>,
    /// By location: the last write in the row, and how many of its readers are not.
    last: Vec<usize>,
    unread: Vec<usize>,
    /// By write: what the read half of its operation returns.
    replaced: Vec<Option<usize>>,
}

/// What an event that could come next is, best first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// No write.
    Free,
    /// The write of a read-modify-write that read the last one.
    Next,
    Write,
    /// A write before the readers of the last one are there, or in the place of another's.
    Early,
    /// Something that is not there leads to it: there is no such row.
    Never,
}

impl Row {
    fn new(search: &Search<'_, '_>, before: &Relation) -> Row {
        let count = search.work.candidate.shape.events();
        let mut row = Row {
            place: vec![usize::MAX; count],
            waits_for: vec![0; count],
            left: (0..count).collect(),
            last: vec![usize::MAX; search.unfolding.locations.len()],
            unread: vec![0; count],
            replaced: vec![None; count],
        };
        for (read, &write) in search.work.reads.partner.iter().enumerate().filter(|(_, write)| **write != usize::MAX) {
            row.replaced[write] = search.work.reads.source.get(read).copied();
        }
        for from in 0..count {
            ones(before.successors(from)).filter(|to| *to != from).for_each(|to| row.waits_for[to] += 1);
        }
        for &read in &search.work.reads.all {
            if let Some(unread) = row.unread.get_mut(search.work.reads.source[read]) {
                *unread += 1;
            }
        }
        while let Some(next) = row.next(search) {
            row.put(search, before, next);
        }
        row
    }

    fn rank(&self, search: &Search<'_, '_>, event: usize) -> Rank {
        let writes_to = search.work.orders.written(event);
        match (self.waits_for[event], writes_to) {
            (1.., _) => Rank::Never,
            (0, None) => Rank::Free,
            (0, Some(location)) => {
                let last = self.last[location];
                match self.replaced[event] {
                    Some(source) if source == last => Rank::Next,
                    Some(_) => Rank::Early,
                    None if last != usize::MAX && self.unread[last] > 0 => Rank::Early,
                    None => Rank::Write,
                }
            }
        }
    }

    fn next(&self, search: &Search<'_, '_>) -> Option<usize> {
        let mut best: Option<(Rank, usize)> = None;
        for &event in &self.left {
            let rank = self.rank(search, event);
            if rank == Rank::Free {
                return Some(event);
            }
            if best.is_none_or(|(known, _)| rank < known) {
                best = Some((rank, event));
            }
        }
        best.map(|(_, event)| event)
    }

    fn put(&mut self, search: &Search<'_, '_>, before: &Relation, event: usize) {
        self.place[event] = self.place.len() - self.left.len();
        self.left.retain(|other| *other != event);
        ones(before.successors(event)).filter(|to| *to != event).for_each(|to| self.waits_for[to] -= 1);
        if let Some(location) = search.work.orders.written(event) {
            self.last[location] = event;
        }
        if let Some(unread) = search.work.reads.source.get(event).and_then(|source| self.unread.get_mut(*source)) {
            *unread = unread.saturating_sub(1);
        }
    }
}
