//! The expression of a definition, which may be read when it is first asked for. A compiled model has hundreds of definitions,
//! and who judges one execution asks for a few of them.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::tree::Expression;
use crate::span::Spanned;

/// Something that expressions can be read from later.
pub trait Stored: Send + Sync {
    /// What is stored at this place.
    fn read(&self, at: usize) -> Spanned<Expression>;
}

/// An expression that is there, or stored.
#[derive(Clone)]
pub struct Late {
    expression: OnceLock<Spanned<Expression>>,
    stored: Option<(Arc<dyn Stored>, usize)>,
}

impl Late {
    /// Read from there when it is first asked for.
    pub fn stored(at: usize, stored: Arc<dyn Stored>) -> Late {
        Late { expression: OnceLock::new(), stored: Some((stored, at)) }
    }

    pub fn into_expression(self) -> Spanned<Expression> {
        let _ = self.deref();
        self.expression.into_inner().expect("invariant: it was asked for")
    }
}

impl From<Spanned<Expression>> for Late {
    fn from(expression: Spanned<Expression>) -> Late {
        Late { expression: expression.into(), stored: None }
    }
}

impl Deref for Late {
    type Target = Spanned<Expression>;

    fn deref(&self) -> &Spanned<Expression> {
        self.expression.get_or_init(|| {
            let (stored, at) = self.stored.as_ref().expect("invariant: what is not there is stored");
            stored.read(*at)
        })
    }
}

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        **self == **other
    }
}

impl Eq for Late {}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::span::Span;

    struct Counting(AtomicUsize);

    impl Stored for Counting {
        fn read(&self, at: usize) -> Spanned<Expression> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Spanned::new(Expression::Universe, Span::new(at as u32, at as u32))
        }
    }

    #[test]
    fn what_is_stored_is_read_once_and_only_when_it_is_asked_for() {
        let stored = Arc::new(Counting(AtomicUsize::new(0)));
        let late = Late::stored(3, Arc::clone(&stored) as Arc<dyn Stored>);
        let unread = late.clone();
        assert_eq!(stored.0.load(Ordering::Relaxed), 0);
        assert_eq!((late.span.start, &late.node), (3, &Expression::Universe));
        assert_eq!(late.clone().into_expression(), *late);
        assert_eq!(stored.0.load(Ordering::Relaxed), 1);
        assert_eq!(unread, Late::from((*late).clone()));
    }
}
