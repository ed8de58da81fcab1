//! Ordering points of which nothing is left to say, for searches that go through few states.
//!
//! Both searches that use this let an ordering point leave the head at once, and know two kinds: an `OFence` holds back the
//! later persists of its warps, a `DFence` makes its warps wait besides.

use super::buffer::{PersistBuffer, Point};
use super::warps::Warps;

impl<D> PersistBuffer<D> {
    /// Drops the bits of warps that have another ordering point before their next persist, or that persist nothing more
    /// (`silent`): what holds them back is not felt. A warp that waits keeps its bit, which says for how long.
    pub(super) fn drop_weaker_points(&mut self, silent: Warps) {
        // Going backwards: the warps whose next entry is an ordering point.
        let mut next = silent;
        for entry in self.entries.iter_mut().rev() {
            let warps = entry.warps;
            match entry.point() {
                Some(point) => {
                    let dropped = if point == Point::DFence { Warps::NONE } else { next };
                    entry.warps = warps.without(dropped);
                    next = next | warps;
                }
                None => next = next.without(warps),
            }
        }
        self.entries.retain(|entry| !entry.warps.is_empty());
    }

    /// An oFence and a dFence are what is left of ordering points in a row.
    pub(super) fn join_points(&mut self) {
        let mut at = 1;
        while at < self.entries.len() {
            let (Some(first), Some(second)) = (self.entries[at - 1].point(), self.entries[at].point()) else {
                at += 1;
                continue;
            };
            if first == second {
                let warps = self.entries[at].warps;
                self.entries[at - 1].warps = self.entries[at - 1].warps | warps;
                self.entries.remove(at);
                at = at.saturating_sub(1).max(1);
            } else if first == Point::DFence {
                self.entries.swap(at - 1, at);
                at = at.saturating_sub(1).max(1);
            } else {
                at += 1;
            }
        }
    }
}
