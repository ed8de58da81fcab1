//! Memory that a search leaves to the next one of its thread. A small test is searched in less time than it takes to allocate
//! and free what its search works on; the tests of a folder need about the same.
//!
//! Every candidate of a search begins with the vectors of the one before and reads nothing of them. The first candidate of the
//! next search does the same.

use std::cell::Cell;

use super::Search;
use super::orders::Orders;
use super::reads::Reads;
use super::report::{self, Filled};
use super::values::Values;
use crate::base::Candidate;
use crate::bits::Relation;
use crate::evaluate::{Adjoint, Memory};
use crate::execution::Execution;

/// What is larger is given back: the memory of a process is limited, and a large test takes long anyway.
const MOST_BYTES: usize = 1 << 20;
const MOST_EVENTS: usize = 256;

/// The fields of a search that hold vectors.
pub(super) struct Spare {
    pub(super) evaluator: Memory,
    pub(super) execution: Execution,
    pub(super) filled: Filled,
    pub(super) mask: Relation,
    pub(super) candidate: Candidate,
    pub(super) values: Values,
    pub(super) reads: Reads,
    pub(super) orders: Orders,
}

thread_local! {
    static SPARE: Cell<Option<Box<Spare>>> = const { Cell::new(None) };
}

impl Spare {
    /// What the last search of this thread left. A search that another one starts while it runs finds nothing here.
    pub(super) fn take() -> Box<Spare> {
        let new = || Spare {
            evaluator: Memory::default(),
            execution: report::empty(),
            filled: Filled::default(),
            mask: Relation::default(),
            candidate: Candidate::default(),
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
        let Search { evaluator, execution, mut filled, mask, candidate, values, mut reads, mut orders, .. } = self;
        let evaluator = evaluator.into_memory();
        if evaluator.size() > MOST_BYTES || candidate.events.len() > MOST_EVENTS {
            return;
        }
        filled.is_current = false;
        // These know candidates by number, or events.
        orders.adjoint = Adjoint::default();
        reads.pairs.clear();
        SPARE.set(Some(Box::new(Spare { evaluator, execution, filled, mask, candidate, values, reads, orders })));
    }
}
