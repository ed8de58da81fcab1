//! A part of a tree that may be read when it is first asked for: the expression of a definition. A compiled model has hundreds
//! of definitions, and who judges one execution asks for a few of them.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Something that parts can be read from later.
pub trait Stored<T>: Send + Sync {
    /// What is stored at this place.
    fn read(&self, at: usize) -> T;
}

/// A part that is there, or stored.
#[derive(Clone)]
pub struct Late<T> {
    part: OnceLock<T>,
    stored: Option<(Arc<dyn Stored<T>>, usize)>,
}

impl<T> Late<T> {
    /// Read from there when it is first asked for.
    pub fn stored(at: usize, stored: Arc<dyn Stored<T>>) -> Late<T> {
        Late { part: OnceLock::new(), stored: Some((stored, at)) }
    }

    pub fn into_inner(self) -> T {
        let _ = self.deref();
        self.part.into_inner().expect("invariant: it was asked for")
    }
}

impl<T> From<T> for Late<T> {
    fn from(part: T) -> Late<T> {
        Late { part: part.into(), stored: None }
    }
}

impl<T> Deref for Late<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.part.get_or_init(|| {
            let (stored, at) = self.stored.as_ref().expect("invariant: what is not there is stored");
            stored.read(*at)
        })
    }
}

impl<T: PartialEq> PartialEq for Late<T> {
    fn eq(&self, other: &Late<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Late<T> {}

impl<T: fmt::Debug> fmt::Debug for Late<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counting(AtomicUsize);

    impl Stored<String> for Counting {
        fn read(&self, at: usize) -> String {
            self.0.fetch_add(1, Ordering::Relaxed);
            at.to_string()
        }
    }

    #[test]
    fn what_is_stored_is_read_once_and_only_when_it_is_asked_for() {
        let stored = Arc::new(Counting(AtomicUsize::new(0)));
        let late = Late::stored(3, Arc::clone(&stored) as Arc<dyn Stored<String>>);
        let unread = late.clone();
        assert_eq!(stored.0.load(Ordering::Relaxed), 0);
        assert_eq!(late.as_str(), "3");
        assert_eq!(late.clone().into_inner(), *late);
        assert_eq!(stored.0.load(Ordering::Relaxed), 1);
        assert_eq!(unread, Late::from((*late).clone()));
    }
}
