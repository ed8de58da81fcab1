//! A list that mostly has one item, which then takes no allocation.

use std::ops::Deref;

#[derive(Clone, Debug)]
pub(crate) enum Few<T> {
    One([T; 1]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    pub(crate) fn one(item: T) -> Few<T> {
        Few::One([item])
    }
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few::Many(Vec::new())
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Few<T> {
        Few::Many(items)
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::One(item) => item,
            Few::Many(items) => items,
        }
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}
