//! What ends a search from outside: the clock, somebody who cancels it, and the memory it may hold.
//!
//! A model over thousands of events takes seconds to evaluate once, so limits cannot wait for the next node of a search:
//! whatever loops over pairs of events asks the watch now and then and gives up in the middle. What was computed then is
//! not to be believed. To make that safe without an error in the type of every operator, a watch *remembers* that it
//! ended something: an engine asks [`Watch::ended`] before it reports an execution and before it says that it saw
//! everything, and answers with the limit instead.
//!
//! A watch is of one search. The limits of the thread's whole work ([`fencepost_syntax::limits`]) end it too.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fencepost_syntax::limits;

use crate::engine::{Limits, Stop};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Ended {
    Time,
    Memory,
    Cancelled,
    Work,
}

impl From<limits::Ended> for Ended {
    fn from(ended: limits::Ended) -> Ended {
        match ended {
            limits::Ended::Time => Ended::Time,
            limits::Ended::Memory => Ended::Memory,
            limits::Ended::Cancelled => Ended::Cancelled,
            limits::Ended::Work => Ended::Work,
        }
    }
}

/// Clones share what they remember.
#[derive(Clone, Debug, Default)]
pub struct Watch<'a> {
    deadline: Option<Instant>,
    memory: Option<u64>,
    cancelled: Option<&'a AtomicBool>,
    ended: Rc<Cell<Option<Ended>>>,
}

impl<'a> Watch<'a> {
    pub fn new(limits: &Limits<'a>) -> Watch<'a> {
        Watch { deadline: limits.deadline, memory: limits.memory, cancelled: limits.cancelled, ended: Rc::default() }
    }

    /// Whether it is time to give up; remembered if it is.
    pub fn is_over(&self) -> bool {
        if self.ended.get().is_some() {
            return true;
        }
        if self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.ended.set(Some(Ended::Cancelled));
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.ended.set(Some(Ended::Time));
        } else if limits::is_over() {
            self.ended.set(limits::ended().map(Ended::from));
        }
        self.ended.get().is_some()
    }

    /// Whether so many bytes are more than may be held at once; remembered if they are.
    pub fn is_too_much(&self, bytes: u64) -> bool {
        let most = [self.memory, limits::memory()].into_iter().flatten().min();
        let is_too_much = most.is_some_and(|limit| bytes > limit);
        if is_too_much && self.ended.get().is_none() {
            self.ended.set(Some(Ended::Memory));
        }
        is_too_much
    }

    /// Why something was given up, if anything was.
    pub fn ended(&self) -> Option<Stop> {
        self.ended.get().map(|ended| match ended {
            Ended::Time => Stop::Time,
            Ended::Memory => Stop::Memory,
            Ended::Cancelled => Stop::Cancelled,
            Ended::Work => Stop::Work,
        })
    }
}
