//! The limits of the work that this thread does: time, memory, and whether the user asked to stop.
//!
//! Work can be limited without a clock, too: engines count what they do ([`count`]), and [`enter_work`] ends them after so
//! much of it. The same work then ends at the same place on every machine, however busy that is.
//!
//! Every phase asks them: parsers, lowering, unfolding, engines, diagnosis and output. They belong to the thread and are
//! not passed along, because a loop that turns out to be quadratic may lie anywhere; a parameter of every function was
//! tried in the engines (`axiom::watch`, which asks here too) and reaches only what somebody thought of.
//!
//! A phase that sees [`is_over`] returns at once with whatever it has. That is not to be believed, so limits *remember*
//! within one [`enter`] that they ended something: whoever answers asks [`ended`] first, and answers with the limit.
//!
//! No IO happens here. Who measures the memory of the process says so through [`Signals`].
//!
//! ```
//! use std::time::{Duration, Instant};
//! use fencepost_syntax::limits::{self, Ended};
//!
//! let work = limits::enter(Some(Instant::now()), None);
//! assert!(limits::is_over());
//! assert_eq!(limits::ended(), Some(Ended::Time));
//! drop(work);
//! assert!(!limits::is_over());
//! ```

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Which limit ended something.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    Time,
    Memory,
    Cancelled,
    /// All the work that was allowed is done ([`enter_work`]).
    Work,
}

/// What others tell the work of one or more threads.
#[derive(Debug, Default)]
pub struct Signals {
    /// The user asked to stop.
    pub cancelled: Arc<AtomicBool>,
    /// The process holds more memory than it may.
    pub full: AtomicBool,
    /// The bytes that it may hold; 0 while that is not known.
    pub memory: AtomicU64,
    /// Steps that were done, for whoever shows progress.
    pub steps: AtomicU64,
}

#[derive(Clone, Default)]
struct Limits {
    deadline: Option<Instant>,
    signals: Option<Arc<Signals>>,
    /// The work that is done when all that was allowed is.
    work: Option<u64>,
    ended: Option<Ended>,
}

thread_local! {
    static CURRENT: RefCell<Limits> = RefCell::default();
    static TICKS: Cell<u32> = const { Cell::new(0) };
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Until it is dropped, the limits that were entered hold.
#[must_use]
pub struct Entered {
    before: Limits,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = std::mem::take(&mut self.before));
    }
}

/// From here on this thread works under these limits, and under those that it worked under before.
pub fn enter(deadline: Option<Instant>, signals: Option<Arc<Signals>>) -> Entered {
    CURRENT.with_borrow_mut(|current| {
        let before = current.clone();
        current.deadline = [before.deadline, deadline].into_iter().flatten().min();
        current.signals = signals.or(before.signals.clone());
        Entered { before }
    })
}

/// From here on this thread does no more than so much work, and no more than it was allowed before.
pub fn enter_work(most: u64) -> Entered {
    // The limits are asked at the same places whatever came before.
    TICKS.set(0);
    CURRENT.with_borrow_mut(|current| {
        let before = current.clone();
        let own = work().saturating_add(most);
        current.work = Some(before.work.map_or(own, |outer| outer.min(own)));
        Entered { before }
    })
}

/// Whether the work of this thread is limited without a clock.
pub fn is_of_work() -> bool {
    CURRENT.with_borrow(|current| current.work.is_some())
}

/// The work that this thread has done: about a microsecond each.
pub fn work() -> u64 {
    WORK.get()
}

/// So much work more is done.
#[inline]
pub fn count(work: u64) {
    WORK.set(WORK.get().saturating_add(work));
}

/// The signals that this thread obeys, for the threads that it starts.
pub fn signals() -> Option<Arc<Signals>> {
    CURRENT.with_borrow(|current| current.signals.clone())
}

/// Whether it is time to give up; remembered if it is. Reads the clock: for loops whose bodies are larger than that. Counts as
/// work.
pub fn is_over() -> bool {
    count(1);
    CURRENT.with_borrow_mut(|current| {
        if current.ended.is_none() {
            current.ended = current.now_over();
        }
        current.ended.is_some()
    })
}

/// The same, for small loop bodies: asks now and then.
#[inline]
pub fn tick() -> bool {
    const SELDOM: u32 = 128;
    let ticks = TICKS.with(|ticks| {
        ticks.set(ticks.get().wrapping_add(1));
        ticks.get()
    });
    ticks.is_multiple_of(SELDOM) && is_over()
}

/// So many steps more are done: for whoever shows progress.
pub fn worked(steps: u64) {
    CURRENT.with_borrow(|current| {
        if let Some(signals) = &current.signals {
            signals.steps.fetch_add(steps, Ordering::Relaxed);
        }
    });
}

/// The bytes that the process may hold, if there is a limit.
pub fn memory() -> Option<u64> {
    CURRENT.with_borrow(|current| current.signals.as_ref().and_then(|signals| signals.limit()))
}

/// Which limit ended something since the limits were entered, if one did.
pub fn ended() -> Option<Ended> {
    CURRENT.with_borrow(|current| current.ended)
}

impl Signals {
    /// The bytes that the process may hold, if that is known.
    pub fn limit(&self) -> Option<u64> {
        Some(self.memory.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }
}

impl Limits {
    fn now_over(&self) -> Option<Ended> {
        if let Some(signals) = &self.signals {
            if signals.cancelled.load(Ordering::Relaxed) {
                return Some(Ended::Cancelled);
            }
            if signals.full.load(Ordering::Relaxed) {
                return Some(Ended::Memory);
            }
        }
        if self.work.is_some_and(|most| work() >= most) {
            return Some(Ended::Work);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Ended::Time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn inner_limits_only_tighten_and_end_with_their_work() {
        let far = Instant::now() + Duration::from_secs(1000);
        let outer = enter(Some(far), None);
        let inner = enter(Some(Instant::now()), None);
        assert!(is_over() && ended() == Some(Ended::Time));
        let innermost = enter(Some(far), None);
        assert!(is_over(), "a later deadline inside an earlier one");
        drop(innermost);
        drop(inner);
        assert!(!is_over() && ended().is_none());
        drop(outer);
    }

    #[test]
    fn work_ends_without_a_clock_and_only_for_what_was_entered() {
        let outer = enter_work(10);
        let inner = enter_work(100);
        count(9);
        assert!(is_over() && ended() == Some(Ended::Work), "an inner limit only tightens");
        drop(inner);
        drop(outer);
        let _again = enter_work(10);
        assert!(!is_over() && ended().is_none());
    }

    #[test]
    fn memory_that_was_short_once_is_remembered() {
        let signals = Arc::new(Signals { memory: 100.into(), ..Signals::default() });
        let _entered = enter(None, Some(signals.clone()));
        assert!(!is_over() && memory() == Some(100));
        signals.full.store(true, Ordering::Relaxed);
        assert!(is_over());
        signals.full.store(false, Ordering::Relaxed);
        assert!(is_over() && ended() == Some(Ended::Memory));
    }

    #[test]
    fn who_asks_often_learns_of_a_request_to_stop() {
        let signals = Arc::new(Signals::default());
        let _entered = enter(None, Some(signals.clone()));
        signals.cancelled.store(true, Ordering::Relaxed);
        assert!((0..1000).any(|_| tick()));
        assert_eq!(ended(), Some(Ended::Cancelled));
    }
}
