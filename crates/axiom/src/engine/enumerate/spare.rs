//! Memory that a search leaves to the next one of its thread. A small test is searched in less time than it takes to allocate
//! and free what its search works on; the tests of a folder need about the same.
//!
//! Every candidate of a search begins with the vectors of the one before and reads nothing of them. The first candidate of the
//! next search does the same.

use std::cell::Cell;

use super::orders::Orders;
use super::reads::Reads;
use super::report::{self, Filled};
use super::values::Values;
use super::{Search, Written};
use crate::base::Candidate;
use crate::bits::Relation;
use crate::execution::Execution;

/// What is larger is given back: the memory of a process is limited, and a large test takes long anyway.
const MOST_BYTES: usize = 1 << 27;
const MOST_EVENTS: usize = 1024;

/// What a search works on. All of it but the execution belongs to the current choice of traces.
pub(super) struct Work {
    pub(super) execution: Execution,
    pub(super) filled: Filled,
    /// The pairs that do not count as raising the flag.
    pub(super) mask: Relation,
    pub(super) candidate: Candidate,
    /// By location.
    pub(super) written: Vec<Written>,
    pub(super) values: Values,
    pub(super) reads: Reads,
    pub(super) orders: Orders,
}

thread_local! {
    static SPARE: Cell<Option<Box<Work>>> = const { Cell::new(None) };
}

impl Work {
    /// What the last search of this thread left. A search that another one starts while it runs finds nothing here.
    pub(super) fn take() -> Box<Work> {
        let new = || Work {
            execution: report::empty(),
            filled: Filled::default(),
            mask: Relation::default(),
            candidate: Candidate::default(),
            written: Vec::new(),
            values: Values::default(),
            reads: Reads::default(),
            orders: Orders::default(),
        };
        SPARE.take().unwrap_or_else(|| Box::new(new()))
    }
}

impl Search<'_, '_> {
    /// Leaves its memory to the next search.
    pub(super) fn leave(self) {
        let Search { mut work, .. } = self;
        if work.orders.adjoint.size() > MOST_BYTES || work.candidate.events.len() > MOST_EVENTS {
            return;
        }
        work.filled.is_current = false;
        // These know candidates by number, or events.
        work.orders.adjoint.forget();
        work.reads.pairs.clear();
        SPARE.set(Some(work));
    }
}
