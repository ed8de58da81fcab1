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

    pub(crate) fn push(&mut self, item: T) {
        *self = match std::mem::take(self) {
            Few::One([first]) => Few::Many(vec![first, item]),
            Few::Many(items) if items.is_empty() => Few::One([item]),
            Few::Many(mut items) => {
                items.push(item);
                Few::Many(items)
            }
        };
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
