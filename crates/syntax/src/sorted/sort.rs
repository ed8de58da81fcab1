//! Stable sorting with one body of code for all types of items.
//!
//! The sort of the standard library is compiled anew for each type of items and each comparison, some ten thousand bytes
//! each time: a fifth of the machine code of the engines before this module. Here a type of items brings a comparison and
//! an exchange. Where a search sorts in its inner loop, the standard library's sort is faster and stays.

use std::cmp::Ordering;

/// Sorts of slices, stable like those of the standard library.
pub trait SharedSort<T> {
    fn shared_sort(&mut self)
    where
        T: Ord;

    fn shared_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    fn shared_sort_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SharedSort<T> for [T] {
    fn shared_sort(&mut self)
    where
        T: Ord,
    {
        sort(&mut Slice { items: self, compare: T::cmp });
    }

    fn shared_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
        sort(&mut Slice { items: self, compare });
    }

    fn shared_sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        sort(&mut Slice { items: self, compare: |one: &T, other: &T| key(one).cmp(&key(other)) });
    }
}

/// Items of a type that the sort does not know, by their places.
pub(super) trait Places {
    fn len(&self) -> usize;
    fn compare(&mut self, one: usize, other: usize) -> Ordering;
    fn swap(&mut self, one: usize, other: usize);
}

pub(super) struct Slice<'a, T, F> {
    pub(super) items: &'a mut [T],
    pub(super) compare: F,
}

impl<T, F: FnMut(&T, &T) -> Ordering> Places for Slice<'_, T, F> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn compare(&mut self, one: usize, other: usize) -> Ordering {
        (self.compare)(&self.items[one], &self.items[other])
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.items.swap(one, other);
    }
}

/// Up to so many items, exchanging neighbours costs less than a table of places.
const FEW: usize = 16;

pub(super) fn sort(items: &mut dyn Places) {
    let len = items.len();
    let Some(unsorted) = (1..len).find(|at| items.compare(at - 1, *at).is_gt()) else { return };
    if len <= FEW {
        return insert_each(items, unsorted);
    }
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|one, other| items.compare(*one, *other));
    rearrange(items, &mut places);
}

/// Insertion sort of items whose first `sorted` are in order.
fn insert_each(items: &mut dyn Places, sorted: usize) {
    for end in sorted..items.len() {
        let mut at = end;
        while at > 0 && items.compare(at - 1, at).is_gt() {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Brings to each place the item that stands at `places[place]`, by exchanges.
fn rearrange(items: &mut dyn Places, places: &mut [usize]) {
    for start in 0..places.len() {
        let mut at = start;
        while places[at] != start {
            let from = std::mem::replace(&mut places[at], at);
            items.swap(at, from);
            at = from;
        }
        places[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use super::SharedSort as _;

    /// Random pairs of every length around the one from which places are sorted; second halves say where each was.
    #[test]
    fn sorts_as_the_standard_library_does() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for len in 0..60 {
            for values in [1, 3, 10, 1000] {
                let items: Vec<(u64, usize)> = (0..len).map(|at| (random(values), at)).collect();
                let (mut own, mut standard) = (items.clone(), items.clone());
                own.shared_sort_by_key(|(value, _)| *value);
                standard.sort_by_key(|(value, _)| *value);
                assert_eq!(own, standard);
                own.shared_sort_by(|one, other| other.cmp(one));
                standard.sort_by(|one, other| other.cmp(one));
                assert_eq!(own, standard);
                own.shared_sort();
                standard.sort();
                assert_eq!(own, standard);
            }
        }
    }
}
