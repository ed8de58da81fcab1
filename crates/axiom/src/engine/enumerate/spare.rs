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
use crate::evaluate::{Adjoint, Memory};
use crate::execution::Execution;

/// What is larger is given back: the memory of a process is limited, and a large test takes long anyway.
const MOST_BYTES: usize = 1 << 20;
const MOST_EVENTS: usize = 256;

/// What a search works on. All of it but the evaluator's memory and the execution belongs to the current choice of traces.
pub(super) struct Work {
    /// While no search has it.
    evaluator: Memory,
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
    /// What the last search of this thread left, and the memory of its evaluator. A search that another one starts while it runs
    /// finds nothing here.
    pub(super) fn take() -> (Box<Work>, Memory) {
        let new = || Work {
            evaluator: Memory::default(),
            execution: report::empty(),
            filled: Filled::default(),
            mask: Relation::default(),
            candidate: Candidate::default(),
            written: Vec::new(),
            values: Values::default(),
            reads: Reads::default(),
            orders: Orders::default(),
        };
        let mut work = SPARE.take().unwrap_or_else(|| Box::new(new()));
        let evaluator = std::mem::take(&mut work.evaluator);
        (work, evaluator)
    }
}

impl Search<'_, '_> {
    /// Leaves its memory to the next search.
    pub(super) fn leave(self) {
        let Search { evaluator, mut work, .. } = self;
        work.evaluator = evaluator.into_memory();
        if work.evaluator.size() > MOST_BYTES || work.candidate.events.len() > MOST_EVENTS {
            return;
        }
        work.filled.is_current = false;
        // These know candidates by number, or events.
        work.orders.adjoint = Adjoint::default();
        work.reads.pairs.clear();
        SPARE.set(Some(work));
    }
}
