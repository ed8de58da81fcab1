//! Limits, checked every thousand search nodes: reading the clock costs more than a node.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::engine::{Limits, Stop};

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
    limits: &'a Limits<'a>,
    nodes: u32,
}

const INTERVAL: u32 = 1024;

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a Limits<'a>) -> Budget<'a> {
        Budget { limits, nodes: 0 }
    }

    /// Counts a search node of the given weight (its cost in units of a small evaluation).
    pub(super) fn tick(&mut self, weight: u32) -> Flow {
        self.nodes = self.nodes.saturating_add(weight);
        if self.nodes < INTERVAL {
            return Flow::Continue(());
        }
        self.nodes = 0;
        self.check()
    }

    pub(super) fn check(&self) -> Flow {
        if self.limits.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Flow::Break(End::Incomplete(Stop::Cancelled));
        }
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Flow::Break(End::Incomplete(Stop::Time));
        }
        Flow::Continue(())
    }

    pub(super) fn check_memory(&self, bytes: u64) -> Flow {
        match self.limits.memory {
            Some(limit) if bytes > limit => Flow::Break(End::Incomplete(Stop::Memory)),
            _ => Flow::Continue(()),
        }
    }
}
