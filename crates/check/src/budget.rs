//! What a check may take: time, memory, and until somebody cancels it.
//!
//! One object for all parts of a check. It begins when the check does ([`Budget::begun`]); from then on every part has the
//! same deadline, or an earlier one of its own ([`Budget::within`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fencepost_axiom::engine::Limits;
use fencepost_machine::explore;

#[derive(Clone, Debug, Default)]
pub struct Budget {
    time: Option<Duration>,
    /// Known when it has begun.
    deadline: Option<Instant>,
    memory: Option<u64>,
    cancelled: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// Time for one check, and bytes.
    pub fn new(time: Option<Duration>, memory: Option<u64>) -> Budget {
        Budget { time, memory, ..Budget::default() }
    }

    pub fn of_time(time: Duration) -> Budget {
        Budget::new(Some(time), None)
    }

    /// Ends also when this flag is set.
    pub fn cancelled_by(self, cancelled: Arc<AtomicBool>) -> Budget {
        Budget { cancelled: Some(cancelled), ..self }
    }

    /// What was given for a check.
    pub fn time(&self) -> Option<Duration> {
        self.time
    }

    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// What is left after so much was spent before the check.
    pub fn less(&self, spent: Duration) -> Budget {
        Budget { time: self.time.map(|time| time.saturating_sub(spent)), ..self.clone() }
    }

    /// The clock runs from now on, unless it does already.
    pub fn begun(&self) -> Budget {
        Budget { deadline: self.end(), ..self.clone() }
    }

    fn end(&self) -> Option<Instant> {
        self.deadline.or_else(|| Instant::now().checked_add(self.time?))
    }

    /// The same, and over after this time at the latest.
    pub fn within(&self, most: Duration) -> Budget {
        let own = Instant::now().checked_add(most);
        Budget { deadline: [self.end(), own].into_iter().flatten().min(), ..self.clone() }
    }

    /// The time until the deadline, if there is one.
    pub fn left(&self) -> Option<Duration> {
        self.end().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    pub fn is_late(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }

    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.is_late()
    }

    /// How much longer what was found last may be judged.
    pub fn grace(&self) -> Duration {
        self.time.unwrap_or_default() / 5 + Duration::from_millis(300)
    }

    /// When all of it is over, whatever a part has done with its time.
    pub fn hard_end(&self) -> Option<Instant> {
        self.end()?.checked_add(self.grace())
    }

    /// Of one search.
    pub fn limits(&self) -> Limits<'_> {
        Limits { deadline: self.end(), memory: self.memory, cancelled: self.cancelled.as_deref(), work: None }
    }

    /// Of judging what a search has found: a little longer, so that what was found last counts.
    pub fn judging(&self) -> Limits<'_> {
        Limits { deadline: self.hard_end(), ..self.limits() }
    }

    /// Of one exploration of a machine.
    pub fn exploring(&self, states: u64, workers: u32) -> explore::Limits<'_> {
        let cancelled = self.cancelled.as_deref();
        explore::Limits { states, deadline: self.end(), memory: self.memory, cancelled, workers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_no_later_than_the_whole() {
        let whole = Budget::of_time(Duration::from_secs(10)).begun();
        assert_eq!(whole.within(Duration::from_secs(99)).limits().deadline, whole.limits().deadline);
        assert!(whole.within(Duration::from_secs(1)).left() <= Some(Duration::from_secs(1)));
        assert!(Budget::default().within(Duration::ZERO).is_late());
        assert_eq!(Budget::default().left(), None);
    }

    #[test]
    fn a_budget_that_has_begun_does_not_begin_again() {
        let begun = Budget::of_time(Duration::from_secs(10)).begun();
        assert_eq!(begun.begun().limits().deadline, begun.limits().deadline);
    }

    #[test]
    fn somebody_else_can_end_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let budget = Budget::default().cancelled_by(Arc::clone(&flag));
        assert!(!budget.is_over());
        flag.store(true, Ordering::Relaxed);
        assert!(budget.is_over() && !budget.is_late());
    }
}
