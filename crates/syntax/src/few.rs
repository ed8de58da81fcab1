//! A list that is short nearly always: its first items lie in it, and only more of them are allocated.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Up to `N` items without an allocation.
#[derive(Clone)]
pub enum Few<T, const N: usize> {
    Here { length: usize, items: [T; N] },
    Allocated(Vec<T>),
}

impl<T: Copy + Default, const N: usize> Few<T, N> {
    pub fn new() -> Few<T, N> {
        Few::Here { length: 0, items: [T::default(); N] }
    }

    /// So many times the same.
    pub fn filled(item: T, length: usize) -> Few<T, N> {
        if length <= N { Few::Here { length, items: [item; N] } } else { Few::Allocated(vec![item; length]) }
    }

    pub fn push(&mut self, item: T) {
        self.insert(self.len(), item);
    }

    /// Panics if `at` is behind the end, as `Vec::insert` does.
    pub fn insert(&mut self, at: usize, item: T) {
        match self {
            Few::Here { length, items } if *length < N => {
                items.copy_within(at..*length, at + 1);
                items[at] = item;
                *length += 1;
            }
            Few::Here { items, .. } => {
                let mut more = Vec::with_capacity(2 * N);
                more.extend_from_slice(items);
                more.insert(at, item);
                *self = Few::Allocated(more);
            }
            Few::Allocated(items) => items.insert(at, item),
        }
    }

    pub fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        match self {
            Few::Here { length, items } => {
                let mut kept = 0;
                for at in 0..*length {
                    if is_kept(&items[at]) {
                        items[kept] = items[at];
                        kept += 1;
                    }
                }
                *length = kept;
            }
            Few::Allocated(items) => items.retain(is_kept),
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for Few<T, N> {
    fn default() -> Few<T, N> {
        Few::new()
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::Here { length, items } => &items[..*length],
            Few::Allocated(items) => items,
        }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::Here { length, items } => &mut items[..*length],
            Few::Allocated(items) => items,
        }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for Few<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T, N> {
        let mut few = Few::new();
        items.into_iter().for_each(|item| few.push(item));
        few
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a Few<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Few<T, N> {
    fn eq(&self, other: &Few<T, N>) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for Few<T, N> {}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Few<T, N> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(to)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn holds_what_a_vector_holds() {
        for inserted in [&[0][..], &[0, 0, 1], &[0, 1, 1, 0, 2, 5]] {
            let (mut few, mut vector) = (Few::<usize, 3>::new(), Vec::new());
            for (item, &at) in inserted.iter().enumerate() {
                few.insert(at, item);
                vector.insert(at, item);
                assert_eq!(*few, *vector);
            }
            few.push(9);
            vector.push(9);
            few.reverse();
            vector.reverse();
            few.retain(|item| *item != 1);
            vector.retain(|item| *item != 1);
            assert_eq!(*few, *vector);
            assert_eq!(vector.into_iter().collect::<Few<usize, 3>>(), few);
        }
    }
}
