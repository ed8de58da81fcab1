//! Limits, checked every thousand search nodes: reading the clock costs more than a node. Work is counted in nodes, each
//! by the size of the candidate, and never in time: a search that is cut by it ends at the same place every time.

use std::ops::ControlFlow;

use fencepost_syntax::limits;

use crate::bits::Shape;
use crate::engine::{Limits, Stop};
use crate::watch::Watch;

/// Why the search ends before it has seen everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The visitor said so.
    Stopped,
    Incomplete(Stop),
}

pub(super) type Flow = ControlFlow<End>;

#[derive(Debug)]
pub(super) struct Budget<'a> {
    pub(super) watch: Watch<'a>,
    nodes: u64,
    /// What a node of the current candidate costs, in units of a small evaluation.
    scale: u64,
    /// Work left, if it is limited.
    left: Option<u64>,
    /// Bytes held for the current candidate, and those of the levels of its search.
    fixed: u64,
    levels: u64,
}

const INTERVAL: u64 = 1024;
/// Evaluating a model over a matrix of up to this many words costs about the same as over none: the rest is overhead.
const SMALL_MATRIX: u64 = 32;
/// Pairs of writes that a node looks at in passing.
const FEW_PAIRS: u64 = 32;

impl Drop for Budget<'_> {
    /// What was done since the limits were looked at last.
    fn drop(&mut self) {
        limits::count(self.nodes);
    }
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a Limits<'a>) -> Budget<'a> {
        Budget { watch: Watch::new(limits), nodes: 0, scale: 1, left: limits.work, fixed: 0, levels: 0 }
    }

    /// Nodes are now over candidates of this shape.
    pub(super) fn resize(&mut self, shape: Shape) {
        self.scale = (shape.matrix() as u64 / SMALL_MATRIX).max(1);
    }

    /// And so many pairs of writes are to be ordered. Each node looks at all of them, and so does what comes before the first.
    pub(super) fn weigh_pairs(&mut self, pairs: u64) -> Flow {
        let times = 1 + pairs / FEW_PAIRS;
        self.scale = self.scale.saturating_mul(times);
        if times == 1 { Flow::Continue(()) } else { self.tick(4) }
    }

    /// Counts a search node of the given weight (its cost in units of a small evaluation).
    pub(super) fn tick(&mut self, weight: u32) -> Flow {
        self.spend(weight);
        if self.nodes < INTERVAL {
            return Flow::Continue(());
        }
        let spent = std::mem::take(&mut self.nodes);
        limits::count(spent);
        if let Some(left) = &mut self.left {
            match left.checked_sub(spent) {
                Some(rest) => *left = rest,
                None => return Flow::Break(End::Incomplete(Stop::Work)),
            }
        }
        self.check()
    }

    /// Counts work within a search node; the next [`Budget::tick`] looks at the limits.
    pub(super) fn spend(&mut self, weight: u32) {
        self.nodes = self.nodes.saturating_add(u64::from(weight).saturating_mul(self.scale));
    }

    pub(super) fn check(&self) -> Flow {
        self.watch.is_over();
        self.ended()
    }

    /// Whether something was left unfinished before: nothing may be concluded from it.
    pub(super) fn ended(&self) -> Flow {
        match self.watch.ended() {
            Some(stop) => Flow::Break(End::Incomplete(stop)),
            None => Flow::Continue(()),
        }
    }

    /// A new candidate begins, for which so many bytes are held until it is done.
    pub(super) fn hold(&mut self, bytes: u64) -> Flow {
        self.fixed = bytes;
        self.levels = 0;
        self.enter(0)
    }

    /// So many bytes more are held until the candidate is done.
    pub(super) fn keep(&mut self, bytes: u64) -> Flow {
        self.fixed += bytes;
        self.enter(0)
    }

    /// The search goes a level deeper, for which so many bytes are held beside the rest.
    pub(super) fn enter(&mut self, bytes: u64) -> Flow {
        self.levels += bytes;
        self.watch.is_too_much(self.fixed + self.levels);
        self.ended()
    }

    pub(super) fn leave(&mut self, bytes: u64) {
        self.levels -= bytes;
    }
}
