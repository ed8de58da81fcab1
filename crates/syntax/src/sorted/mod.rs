//! Maps and sets as sorted vectors, with the interface of the ordered collections of the standard library.
//!
//! A test has few threads, locations and registers, so its tables have few entries: binary search in one allocation is
//! faster than a tree, and a tree costs the compiler six thousand lines of intermediate code per type of entry. Insertion
//! moves what is behind it; a table that may get tens of thousands of entries in no order belongs into a tree.

mod map;
mod set;
mod sort;

use std::cmp::Ordering;

pub use map::{Entry, SortedMap, VacantEntry};
pub use set::SortedSet;
pub use sort::SharedSort;

/// Sorts items, of which those that `compare` calls equal are reduced to the last one.
fn settle<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    if items.is_sorted_by(|one, other| compare(one, other).is_lt()) {
        return;
    }
    sort::sort(&mut sort::Slice { items, compare: &compare });
    let mut kept: Vec<T> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match kept.last_mut() {
            Some(last) if compare(last, &item).is_eq() => *last = item,
            _ => kept.push(item),
        }
    }
    *items = kept;
}

/// The places that a range of keys covers, given how the keys at hand compare with a key.
fn covered<K: Ord + ?Sized>(
    range: &impl std::ops::RangeBounds<K>,
    before: impl Fn(&dyn Fn(&K) -> bool) -> usize,
) -> std::ops::Range<usize> {
    use std::ops::Bound;
    let from = match range.start_bound() {
        Bound::Included(least) => before(&|key| key < least),
        Bound::Excluded(least) => before(&|key| key <= least),
        Bound::Unbounded => 0,
    };
    let to = match range.end_bound() {
        Bound::Included(greatest) => before(&|key| key <= greatest),
        Bound::Excluded(greatest) => before(&|key| key < greatest),
        Bound::Unbounded => before(&|_| true),
    };
    from..to.max(from)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{SortedMap, SortedSet};

    /// A small generator (xorshift): numbers below `below`.
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    fn same_map(sorted: &SortedMap<u64, u64>, tree: &BTreeMap<u64, u64>) {
        assert_eq!(sorted.len(), tree.len());
        assert!(sorted.iter().eq(tree.iter()));
        assert!(sorted.iter().rev().eq(tree.iter().rev()));
        assert!(sorted.keys().eq(tree.keys()) && sorted.values().eq(tree.values()));
        assert_eq!(sorted.first_key_value(), tree.first_key_value());
    }

    #[test]
    fn maps_behave_like_trees() {
        for seed in 1..200 {
            let mut random = numbers(seed);
            let pairs: Vec<(u64, u64)> = (0..random(40)).map(|at| (random(20), at)).collect();
            let mut sorted: SortedMap<u64, u64> = pairs.iter().copied().collect();
            let mut tree: BTreeMap<u64, u64> = pairs.into_iter().collect();
            same_map(&sorted, &tree);
            for step in 0..60 {
                let key = random(24);
                match random(7) {
                    0 | 1 => assert_eq!(sorted.insert(key, step), tree.insert(key, step)),
                    2 => assert_eq!(sorted.remove(&key), tree.remove(&key)),
                    3 => {
                        let one = *sorted.entry(key).and_modify(|value| *value += 1).or_insert(step);
                        let other = *tree.entry(key).and_modify(|value| *value += 1).or_insert(step);
                        assert_eq!(one, other);
                    }
                    4 => {
                        sorted.retain(|at, _| at % 5 != key % 5);
                        tree.retain(|at, _| at % 5 != key % 5);
                    }
                    5 => {
                        let end = key + random(9);
                        assert!(sorted.range(key..end).eq(tree.range(key..end)));
                        assert!(
                            sorted.range(..=key).eq(tree.range(..=key)) && sorted.range(key..).eq(tree.range(key..))
                        );
                    }
                    _ => {
                        let more: Vec<(u64, u64)> = (0..random(4)).map(|_| (random(24), step)).collect();
                        sorted.extend(more.iter().copied());
                        tree.extend(more);
                    }
                }
                assert_eq!((sorted.get(&key), sorted.contains_key(&key)), (tree.get(&key), tree.contains_key(&key)));
                same_map(&sorted, &tree);
            }
        }
    }

    #[test]
    fn sets_behave_like_trees() {
        for seed in 1..300 {
            let mut random = numbers(seed);
            let one: Vec<u64> = (0..random(20)).map(|_| random(16)).collect();
            let other: Vec<u64> = (0..random(20)).map(|_| random(16)).collect();
            let (mut a, b): (SortedSet<u64>, SortedSet<u64>) =
                (one.iter().copied().collect(), other.iter().copied().collect());
            let (mut tree_a, tree_b): (BTreeSet<u64>, BTreeSet<u64>) =
                (one.into_iter().collect(), other.into_iter().collect());
            assert!(a.iter().eq(tree_a.iter()) && b.iter().eq(tree_b.iter()));
            assert!(a.union(&b).eq(tree_a.union(&tree_b)));
            assert!(a.intersection(&b).eq(tree_a.intersection(&tree_b)));
            assert!(a.difference(&b).eq(tree_a.difference(&tree_b)));
            assert_eq!(a.is_subset(&b), tree_a.is_subset(&tree_b));
            assert_eq!(a.is_disjoint(&b), tree_a.is_disjoint(&tree_b));
            assert_eq!(a.cmp(&b), tree_a.cmp(&tree_b));
            assert_eq!((a.first(), a.last()), (tree_a.first(), tree_a.last()));
            for _ in 0..30 {
                let item = random(16);
                match random(4) {
                    0 | 1 => assert_eq!(a.insert(item), tree_a.insert(item)),
                    2 => assert_eq!(a.remove(&item), tree_a.remove(&item)),
                    _ => assert_eq!(a.pop_first(), tree_a.pop_first()),
                }
                assert!(a.iter().eq(tree_a.iter()));
                assert!(a.range(item..).eq(tree_a.range(item..)));
                assert_eq!(a.contains(&item), tree_a.contains(&item));
            }
        }
    }
}
