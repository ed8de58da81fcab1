//! Which values a location may have had: writes in every order that K allows, and which of them a reader has seen then.
//!
//! A reader sees a prefix of coherence order: a set of writes that has with each write all that K puts before it. Writes
//! that do the same and have the same neighbours in K are counted, not told apart: of n threads that add 1 there are n + 1
//! prefixes, not 2^n.

use std::collections::HashSet;

use fencepost_syntax::limits;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::code::op::Atomic;
use crate::code::ty::Ty;
use crate::run::compute;

/// What a write does to the value.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Change {
    Store(u64),
    Modify { operation: Atomic, ty: Ty, operand: u64 },
}

impl Change {
    fn apply(self, old: u64) -> Option<u64> {
        match self {
            Change::Store(value) => Some(value),
            Change::Modify { operation, ty, operand } => compute::atomic(operation, ty, old, operand, 0),
        }
    }
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Element {
    pub(super) change: Change,
    /// The reader comes after it.
    pub(super) must: bool,
}

/// A prefix that the reader may have seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct State {
    pub(super) value: u64,
    /// The classes of which all writes are there, in the chain of read-modify-writes that the value came from (8.9.2).
    pub(super) seen: Vec<bool>,
    /// Every write is there.
    pub(super) full: bool,
}

#[derive(Debug)]
pub(super) struct Reach {
    pub(super) class_of: Vec<usize>,
    pub(super) states: Vec<State>,
}

const MOST_ELEMENTS: usize = 512;
const MOST_STATES: usize = 20_000;

struct Class {
    size: u16,
    change: Change,
    must: bool,
    before: SortedSet<usize>,
}

/// None: too many to look at, or a result that is not computed.
pub(super) fn reach(start: u64, elements: &[Element], before: &dyn Fn(usize, usize) -> bool) -> Option<Reach> {
    let count = elements.len();
    if count > MOST_ELEMENTS {
        return None;
    }
    let (class_of, classes) = classes(elements, before);
    if fewest(&classes) > MOST_STATES {
        return None;
    }
    // Counts of each class; counts at the last plain store; the value.
    let empty = vec![0u16; classes.len()];
    let mut seen: HashSet<(Vec<u16>, Vec<u16>, u64)> = HashSet::new();
    let mut open = vec![(empty.clone(), empty, start)];
    let mut states = Vec::new();
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if seen.len() > MOST_STATES || limits::is_over() {
            return None;
        }
        let (counts, base, value) = state;
        let there = |class: usize| counts[class] == classes[class].size;
        if (0..classes.len()).all(|class| !classes[class].must || there(class)) {
            let chain = (0..classes.len()).map(|class| counts[class] - base[class] == classes[class].size).collect();
            states.push(State { value, seen: chain, full: (0..classes.len()).all(there) });
        }
        for (index, class) in classes.iter().enumerate() {
            if counts[index] == class.size || !class.before.iter().all(|other| there(*other)) {
                continue;
            }
            let after = class.change.apply(value)?;
            let base = if matches!(class.change, Change::Store(_)) { counts.clone() } else { base.clone() };
            let mut counts = counts.clone();
            counts[index] += 1;
            open.push((counts, base, after));
        }
    }
    let states: SortedSet<State> = states.into_iter().collect();
    Some(Reach { class_of, states: states.into_iter().collect() })
}

/// There are at least so many prefixes: of writes that nothing comes before, any number of each class is one. It saves the
/// search where many lanes add to one place, each several times.
fn fewest(classes: &[Class]) -> usize {
    let first = classes.iter().filter(|class| class.before.is_empty());
    first.fold(1, |fewest: usize, class| fewest.saturating_mul(usize::from(class.size) + 1))
}

/// Writes that no order tells apart.
fn classes(elements: &[Element], before: &dyn Fn(usize, usize) -> bool) -> (Vec<usize>, Vec<Class>) {
    let all = 0..elements.len();
    let mut found: SortedMap<(String, Vec<usize>, Vec<usize>), usize> = SortedMap::new();
    let mut class_of = Vec::with_capacity(elements.len());
    let mut classes: Vec<Class> = Vec::new();
    let mut neighbours = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let preds: Vec<usize> = all.clone().filter(|other| *other != index && before(*other, index)).collect();
        let succs: Vec<usize> = all.clone().filter(|other| *other != index && before(index, *other)).collect();
        let key = (format!("{element:?}"), preds.clone(), succs);
        let class = *found.entry(key).or_insert(classes.len());
        if class == classes.len() {
            classes.push(Class { size: 0, change: element.change, must: element.must, before: SortedSet::new() });
            neighbours.push(preds);
        }
        classes[class].size += 1;
        class_of.push(class);
    }
    for (class, preds) in neighbours.into_iter().enumerate() {
        classes[class].before = preds.into_iter().map(|other| class_of[other]).collect();
    }
    (class_of, classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(operand: u64, must: bool) -> Element {
        Element { change: Change::Modify { operation: Atomic::Add, ty: Ty::U32, operand }, must }
    }

    fn store(value: u64) -> Element {
        Element { change: Change::Store(value), must: false }
    }

    fn values(reach: &Reach) -> Vec<u64> {
        let mut values: Vec<u64> = reach.states.iter().map(|state| state.value).collect();
        values.dedup();
        values
    }

    #[test]
    fn a_counter_has_as_many_values_as_there_are_subsets_to_tell_apart() {
        let found = reach(0, &[add(1, false), add(1, false), add(1, true)], &|_, _| false).expect("few states");
        assert_eq!(values(&found), [1, 2, 3]);
        let full: Vec<&State> = found.states.iter().filter(|state| state.value == 3).collect();
        assert!(full.len() == 1 && full[0].seen.iter().all(|seen| *seen) && full[0].full);
        // The next round of the first, which comes after all.
        let rounds = [add(1, false), add(1, true), add(1, false)];
        let found = reach(0, &rounds, &|a, b| a < 2 && b == 2).expect("few states");
        assert_eq!(values(&found), [1, 2, 3]);
        assert!(found.states.iter().filter(|state| state.value >= 2).all(|state| state.seen[0] && state.seen[1]));
    }

    #[test]
    fn prefixes_are_counted_before_they_are_looked_for() {
        // Lane `index % 16` adds 1 again and again: 16 lanes have 2^16 prefixes of their first writes alone.
        let adds: Vec<Element> = (0..64).map(|_| add(1, false)).collect();
        let in_lane = |lanes: usize| move |a: usize, b: usize| a < b && a % lanes == b % lanes;
        let (_, classes) = classes(&adds, &in_lane(16));
        assert_eq!(fewest(&classes), 1 << 16);
        assert!(reach(0, &adds, &in_lane(16)).is_none());
        assert_eq!(reach(0, &adds[..8], &in_lane(2)).expect("few states").states.len(), 25);
    }

    #[test]
    fn a_plain_store_ends_the_chain_before_it() {
        let found = reach(0, &[store(1), store(2)], &|a, b| a < b).expect("few states");
        assert_eq!(values(&found), [0, 1, 2]);
        let of = |value: u64| found.states.iter().find(|state| state.value == value).expect("a state");
        assert_eq!((of(1).seen.clone(), of(2).seen.clone()), (vec![true, false], vec![false, true]));
    }

    #[test]
    fn writes_in_any_order_leave_either_value() {
        let found = reach(0, &[store(1), store(2)], &|_, _| false).expect("few states");
        assert!(found.states.iter().filter(|state| state.full).map(|state| state.value).eq([1, 2]));
    }
}
