//! Programs without their labels: which operations each thread has, in order, and which of them access one location.
//!
//! Threads and locations have no names that matter, so one shape stands for all that differ by renaming them.

use fencepost_syntax::sorted::SharedSort as _;

use crate::label::Kind;

/// An operation of a shape; a fence has no location.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Operation {
    pub kind: Kind,
    pub location: Option<usize>,
}

/// The operations of all threads. Operations are numbered through, thread by thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    pub threads: Vec<Vec<Operation>>,
    pub locations: usize,
}

/// The kinds of the operations of each thread.
pub type Kinds = Vec<Vec<Kind>>;

impl Shape {
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.threads.iter().flatten()
    }

    pub fn count(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// The number of a thread's first operation.
    pub fn first(&self, thread: usize) -> usize {
        self.threads[..thread].iter().map(Vec::len).sum()
    }

    pub fn thread_of(&self, operation: usize) -> usize {
        let mut left = operation;
        for (thread, operations) in self.threads.iter().enumerate() {
            if left < operations.len() {
                return thread;
            }
            left -= operations.len();
        }
        self.threads.len()
    }

    /// The other orders of the threads under which the shape is the same: where each operation goes. The identity is one.
    pub fn automorphisms(&self) -> Vec<Automorphism> {
        let mut found = Vec::new();
        permutations(self.threads.len(), &mut |order| {
            let (image, locations) = self.permuted(order);
            if image == *self {
                found.push(Automorphism { operations: self.places(order), locations });
            }
        });
        found
    }

    /// With the threads in this order and locations named as they come; and the new name of each location.
    fn permuted(&self, order: &[usize]) -> (Shape, Vec<usize>) {
        let mut names: Vec<Option<usize>> = vec![None; self.locations];
        let mut next = 0;
        let mut rename = |location: usize| {
            *names[location].get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        let threads = order.iter().map(|&thread| {
            let operations = self.threads[thread].iter();
            operations.map(|op| Operation { kind: op.kind, location: op.location.map(&mut rename) }).collect()
        });
        let threads = threads.collect();
        let used = names.iter().flatten().count();
        (Shape { threads, locations: used }, names.into_iter().map(|name| name.unwrap_or(0)).collect())
    }

    /// With every order of the threads: the shape, and what its reads read.
    pub fn renamings(&self, source: &[Option<usize>]) -> Vec<(Shape, Vec<Option<usize>>)> {
        let mut found = Vec::new();
        permutations(self.threads.len(), &mut |order| {
            let places = self.places(order);
            let mut image = vec![None; source.len()];
            source.iter().enumerate().for_each(|(at, write)| image[places[at]] = write.map(|write| places[write]));
            found.push((self.permuted(order).0, image));
        });
        found
    }

    /// Where each operation goes if the threads come in this order.
    fn places(&self, order: &[usize]) -> Vec<usize> {
        let mut places = vec![0; self.count()];
        let mut at = 0;
        for &thread in order {
            let first = self.first(thread);
            for offset in 0..self.threads[thread].len() {
                places[first + offset] = at;
                at += 1;
            }
        }
        places
    }

    /// The one that stands for all renamings.
    pub fn canonical(&self) -> Shape {
        let mut best: Option<Shape> = None;
        permutations(self.threads.len(), &mut |order| {
            let (image, _) = self.permuted(order);
            if best.as_ref().is_none_or(|best| image < *best) {
                best = Some(image);
            }
        });
        best.unwrap_or_else(|| self.clone())
    }
}

/// A renaming that changes nothing: where each operation and each location goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Automorphism {
    pub operations: Vec<usize>,
    pub locations: Vec<usize>,
}

fn permutations(count: usize, visit: &mut dyn FnMut(&[usize])) {
    fn extend(chosen: &mut Vec<usize>, count: usize, visit: &mut dyn FnMut(&[usize])) {
        if chosen.len() == count {
            return visit(chosen);
        }
        for next in 0..count {
            if !chosen.contains(&next) {
                chosen.push(next);
                extend(chosen, count, visit);
                chosen.pop();
            }
        }
    }
    extend(&mut Vec::new(), count, visit);
}

/// Whether fences at a thread's start and end are left out.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum EndFences {
    Keep,
    /// They take part in no cycle and no synchronisation of the source, and removing one only weakens the target: a
    /// program with one is as good without it.
    Drop,
}

/// The sequences of kinds with this many events.
fn sequences(events: usize, ends: EndFences) -> Vec<Vec<Kind>> {
    fn extend(left: usize, sequence: &mut Vec<Kind>, found: &mut Vec<Vec<Kind>>) {
        if left == 0 {
            found.push(sequence.clone());
            return;
        }
        for kind in Kind::ALL {
            if kind.events() <= left {
                sequence.push(kind);
                extend(left - kind.events(), sequence, found);
                sequence.pop();
            }
        }
    }
    let mut found = Vec::new();
    extend(events, &mut Vec::new(), &mut found);
    if ends == EndFences::Drop {
        found.retain(|kinds| kinds.first() != Some(&Kind::Fence) && kinds.last() != Some(&Kind::Fence));
    }
    found.shared_sort();
    found
}

/// Every multiset of threads with exactly this many events in all, in a fixed order.
pub fn all_kinds(events: usize, ends: EndFences) -> Vec<Kinds> {
    fn extend(left: usize, pool: &[Vec<Kind>], from: usize, chosen: &mut Kinds, found: &mut Vec<Kinds>) {
        if left == 0 {
            found.push(chosen.clone());
            return;
        }
        for (at, sequence) in pool.iter().enumerate().skip(from) {
            let events: usize = sequence.iter().map(|kind| kind.events()).sum();
            if events <= left {
                chosen.push(sequence.clone());
                extend(left - events, pool, at, chosen, found);
                chosen.pop();
            }
        }
    }
    let pool: Vec<Vec<Kind>> = (1..=events).flat_map(|length| sequences(length, ends)).collect();
    let mut found = Vec::new();
    extend(events, &pool, 0, &mut Vec::new(), &mut found);
    found
}

/// Every ordered list of threads with exactly this many events in all.
pub fn all_ordered_kinds(events: usize, ends: EndFences) -> Vec<Kinds> {
    fn extend(left: usize, pool: &[Vec<Kind>], chosen: &mut Kinds, found: &mut Vec<Kinds>) {
        if left == 0 {
            found.push(chosen.clone());
            return;
        }
        for sequence in pool {
            let events: usize = sequence.iter().map(|kind| kind.events()).sum();
            if events <= left {
                chosen.push(sequence.clone());
                extend(left - events, pool, chosen, found);
                chosen.pop();
            }
        }
    }
    let pool: Vec<Vec<Kind>> = (1..=events).flat_map(|length| sequences(length, ends)).collect();
    let mut found = Vec::new();
    extend(events, &pool, &mut Vec::new(), &mut found);
    found
}

/// Which renamings of a shape are kept.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Renamings {
    All,
    /// One of those that differ by the names of threads and locations.
    One,
}

/// Every way to give locations to operations of these kinds: each partition of the accesses.
pub fn shapes(kinds: &Kinds, renamings: Renamings) -> Vec<Shape> {
    fn extend(
        kinds: &Kinds,
        (thread, at): (usize, usize),
        names: usize,
        threads: &mut Vec<Vec<Operation>>,
        found: &mut Vec<Shape>,
    ) {
        let Some(sequence) = kinds.get(thread) else {
            found.push(Shape { threads: threads.clone(), locations: names });
            return;
        };
        let Some(&kind) = sequence.get(at) else {
            return extend(kinds, (thread + 1, 0), names, threads, found);
        };
        let choices: Vec<Option<usize>> =
            if kind == Kind::Fence { vec![None] } else { (0..=names).map(Some).collect() };
        for location in choices {
            threads[thread].push(Operation { kind, location });
            let names = names.max(location.map_or(0, |location| location + 1));
            extend(kinds, (thread, at + 1), names, threads, found);
            threads[thread].pop();
        }
    }
    let mut found = Vec::new();
    extend(kinds, (0, 0), 0, &mut vec![Vec::new(); kinds.len()], &mut found);
    if renamings == Renamings::One {
        // The threads are sorted by their kinds already, so that only the canonical shape is its own representative.
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|shape| seen.insert(shape.canonical()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_renaming_of_a_shape_is_represented_once() {
        for events in 1..=3 {
            let all: BTreeSet<Shape> = (all_ordered_kinds(events, EndFences::Keep).iter())
                .flat_map(|kinds| shapes(kinds, Renamings::All))
                .map(|shape| shape.canonical())
                .collect();
            let kept: Vec<Shape> = (all_kinds(events, EndFences::Keep).iter())
                .flat_map(|kinds| shapes(kinds, Renamings::One))
                .map(|shape| shape.canonical())
                .collect();
            assert_eq!(kept.len(), all.len(), "{events} events");
            assert_eq!(kept.into_iter().collect::<BTreeSet<_>>(), all);
        }
    }
}
