//! A set as a sorted vector.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt::{Debug, Formatter};
use std::iter::Peekable;
use std::ops::RangeBounds;
use std::slice::Iter;

use super::{covered, settle};

/// A set in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    items: Vec<T>,
}

impl<T> SortedSet<T> {
    pub const fn new() -> SortedSet<T> {
        SortedSet { items: Vec::new() }
    }

    pub const fn len(&self) -> usize {
        self.items.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn clear(&mut self) {
        self.items.clear();
    }

    pub fn iter(&self) -> Iter<'_, T> {
        self.items.iter()
    }

    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }

    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }

    pub fn pop_first(&mut self) -> Option<T> {
        (!self.items.is_empty()).then(|| self.items.remove(0))
    }

    pub fn pop_last(&mut self) -> Option<T> {
        self.items.pop()
    }

    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }
}

impl<T: Ord> SortedSet<T> {
    fn place<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        match self.items.last() {
            Some(last) if last.borrow() < item => Err(self.items.len()),
            _ => self.items.binary_search_by(|at| at.borrow().cmp(item)),
        }
    }

    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(item).is_ok()
    }

    /// Whether it was not there.
    pub fn insert(&mut self, item: T) -> bool {
        let place = self.place(&item);
        if let Err(place) = place {
            self.items.insert(place, item);
        }
        place.is_err()
    }

    /// Whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(item).map(|place| self.items.remove(place)).is_ok()
    }

    pub fn range<Q: Ord + ?Sized>(&self, items: impl RangeBounds<Q>) -> Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        let places = covered(&items, |is_before| self.items.partition_point(|item| is_before(item.borrow())));
        self.items[places].iter()
    }

    fn merged<'a>(&'a self, other: &'a SortedSet<T>, wanted: [bool; 3]) -> Merged<'a, T> {
        Merged { one: self.iter().peekable(), other: other.iter().peekable(), wanted }
    }

    pub fn union<'a>(&'a self, other: &'a SortedSet<T>) -> impl Iterator<Item = &'a T> {
        self.merged(other, [true, true, true])
    }

    pub fn intersection<'a>(&'a self, other: &'a SortedSet<T>) -> impl Iterator<Item = &'a T> {
        self.merged(other, [false, true, false])
    }

    pub fn difference<'a>(&'a self, other: &'a SortedSet<T>) -> impl Iterator<Item = &'a T> {
        self.merged(other, [true, false, false])
    }

    pub fn is_subset(&self, other: &SortedSet<T>) -> bool {
        self.len() <= other.len() && self.difference(other).next().is_none()
    }

    pub fn is_superset(&self, other: &SortedSet<T>) -> bool {
        other.is_subset(self)
    }

    pub fn is_disjoint(&self, other: &SortedSet<T>) -> bool {
        self.intersection(other).next().is_none()
    }

    pub fn append(&mut self, other: &mut SortedSet<T>) {
        self.extend(other.items.drain(..));
    }
}

/// Two sets side by side: items of the first only, of both, of the second only, as wanted.
struct Merged<'a, T> {
    one: Peekable<Iter<'a, T>>,
    other: Peekable<Iter<'a, T>>,
    wanted: [bool; 3],
}

impl<'a, T: Ord> Iterator for Merged<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            let order = match (self.one.peek(), self.other.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.cmp(other),
            };
            let item = match order {
                Ordering::Less => self.one.next(),
                Ordering::Greater => self.other.next(),
                Ordering::Equal => self.one.next().and(self.other.next()),
            };
            if self.wanted[(order as i8 + 1) as usize] {
                return item;
            }
        }
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> SortedSet<T> {
        SortedSet::new()
    }
}

impl<T: Debug> Debug for SortedSet<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> SortedSet<T> {
        let mut items: Vec<T> = items.into_iter().collect();
        settle(&mut items, T::cmp);
        SortedSet { items }
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> SortedSet<T> {
        items.into_iter().collect()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| {
            self.insert(item);
        });
    }
}

impl<'a, T: Ord + Copy + 'a> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, items: I) {
        self.extend(items.into_iter().copied());
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.items.iter()
    }
}
