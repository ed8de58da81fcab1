//! The buffer of one SM: a FIFO of persists and ordering points, three masks of warps, and the lines in flight.
//!
//! Source: Pandey, Kamath, Basu, "Scoped Buffered Persistency Model for GPUs" (ASPLOS 2023), section 6.1. Where the text leaves
//! a choice, this takes the one of the published artifact, which allows more:
//! * eviction looks for fences and acquires of the line's *own* warps ahead of it, and passes releases;
//! * a store to a line that is in flight gets a new entry at once; only a store that hits an entry can be made to wait;
//! * a warp that issues a device-scoped acquire waits as one that issues a release does.
//!
//! Nothing here has a time: whoever owns the buffer says when the head is drained, when a line is evicted and when a flush is
//! acknowledged. A line is durable when its flush is acknowledged. Flushes of one line are acknowledged in order, because they
//! take the same way to the same memory partition.

use std::collections::VecDeque;

use super::rules::{Merge, Rule, Rules};
use super::warps::{Warp, Warps};

/// A cache line of NVM.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line(pub u32);

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    Block,
    Device,
}

/// An ordering point (section 6: "oFence/dFence/pAcq/pRel").
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Point {
    OFence,
    DFence,
    Acquire(Scope),
    Release(Scope),
}

impl Point {
    pub fn is_fence(self) -> bool {
        matches!(self, Point::OFence | Point::DFence)
    }

    pub fn is_release(self) -> bool {
        matches!(self, Point::Release(_))
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind<D> {
    /// A dirty line of the L1 cache, with what was stored to it.
    Persist(Line, D),
    Point(Point),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Entry<D> {
    pub kind: Kind<D>,
    /// The warps that stored to the line, or issued the operation.
    pub warps: Warps,
}

impl<D> Entry<D> {
    pub fn line(&self) -> Option<Line> {
        match self.kind {
            Kind::Persist(line, _) => Some(line),
            Kind::Point(_) => None,
        }
    }

    pub fn data_mut(&mut self) -> Option<&mut D> {
        match &mut self.kind {
            Kind::Persist(_, data) => Some(data),
            Kind::Point(_) => None,
        }
    }

    pub fn point(&self) -> Option<Point> {
        match self.kind {
            Kind::Persist(..) => None,
            Kind::Point(point) => Some(point),
        }
    }
}

/// A line on its way to NVM.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Flight<D> {
    pub line: Line,
    pub data: D,
}

/// Why an operation does not happen now. It may be tried again when the buffer has changed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stall {
    /// It would break the persist order. The warp is in the eviction delay mask until nothing is in flight.
    Ordered,
    /// There is no room for an entry.
    Full,
}

/// The buffer of an SM. `D` is what the owner keeps with a dirty line: its data, or the names of the stores to it.
#[derive(PartialEq, Eq, Debug)]
pub struct PersistBuffer<D> {
    pub(crate) rules: Rules,
    pub(crate) entries: VecDeque<Entry<D>>,
    /// The lines in flight, oldest first. Their number is the acknowledgement counter (ACTR).
    pub(crate) in_flight: Vec<Flight<D>>,
    /// Order delay mask (ODM): warps whose dFence or device-scoped operation is in the buffer.
    pub(crate) order_delay: Warps,
    /// Eviction delay mask (EDM): warps that wait until nothing is in flight.
    pub(crate) eviction_delay: Warps,
    /// Flush status mask (FSM): warps whose later persists wait until nothing is in flight.
    pub(crate) flush_status: Warps,
}

impl<D: Copy> Clone for PersistBuffer<D> {
    fn clone(&self) -> Self {
        let mut buffer = PersistBuffer::new(self.rules);
        buffer.clone_from(self);
        buffer
    }

    /// Keeps the memory of the queues: an exploration copies a state per transition.
    fn clone_from(&mut self, source: &Self) {
        self.rules = source.rules;
        self.entries.clone_from(&source.entries);
        self.in_flight.clone_from(&source.in_flight);
        self.order_delay = source.order_delay;
        self.eviction_delay = source.eviction_delay;
        self.flush_status = source.flush_status;
    }
}

impl<D> PersistBuffer<D> {
    pub fn new(rules: Rules) -> PersistBuffer<D> {
        PersistBuffer {
            rules,
            entries: VecDeque::new(),
            in_flight: Vec::new(),
            order_delay: Warps::NONE,
            eviction_delay: Warps::NONE,
            flush_status: Warps::NONE,
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry<D>> {
        self.entries.iter()
    }

    pub fn in_flight(&self) -> &[Flight<D>] {
        &self.in_flight
    }

    /// ODM, EDM and FSM.
    pub fn masks(&self) -> [Warps; 3] {
        [self.order_delay, self.eviction_delay, self.flush_status]
    }

    /// Whether nothing is buffered or in flight.
    pub fn is_idle(&self) -> bool {
        self.entries.is_empty() && self.in_flight.is_empty()
    }

    /// Whether a warp waits, and may issue nothing.
    pub fn is_stalled(&self, warp: Warp) -> bool {
        self.rules.has(Rule::OrderDelay) && self.order_delay.contains(warp)
            || self.rules.has(Rule::EvictionDelay) && self.eviction_delay.contains(warp)
    }

    fn is_full(&self) -> bool {
        self.rules.capacity.is_some_and(|most| self.entries.len() >= most as usize)
    }

    fn position(&self, line: Line) -> Option<usize> {
        self.entries.iter().position(|entry| entry.line() == Some(line))
    }

    /// Whether the warp issued an ordering point after the entry: a store of it must not join the entry then, because it would
    /// persist together with what it is ordered after.
    fn has_point_behind(&self, at: usize, warp: Warp) -> bool {
        let stops = |point: Point| !point.is_release() || self.rules.has(Rule::ReleaseBehindHit);
        let mut behind = self.entries.range(at + 1..);
        behind.any(|entry| entry.warps.contains(warp) && entry.point().is_some_and(stops))
    }

    /// Whether a store may happen now.
    pub fn check_store(&self, warp: Warp, line: Line) -> Result<(), Stall> {
        match self.position(line) {
            Some(at) if self.rules.has(Rule::OrderBehindHit) && self.has_point_behind(at, warp) => Err(Stall::Ordered),
            None if self.is_full() => Err(Stall::Full),
            _ => Ok(()),
        }
    }

    /// Stores to a line ("Persist operation"). The answer is the data of its entry, for the caller to change: that of the
    /// entry that the store joins, or the default in a new one.
    pub fn store(&mut self, warp: Warp, line: Line) -> Result<&mut D, Stall>
    where
        D: Default,
    {
        if let Err(stall) = self.check_store(warp, line) {
            if stall == Stall::Ordered {
                self.eviction_delay.insert(warp);
            }
            return Err(stall);
        }
        let at = self.position(line).unwrap_or_else(|| {
            self.entries.push_back(Entry { kind: Kind::Persist(line, D::default()), warps: warp.into() });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[at];
        if self.rules.has(Rule::CoalescedWarp) {
            entry.warps.insert(warp);
        }
        Ok(entry.data_mut().expect("invariant: the entry has a line"))
    }

    /// The entry that an ordering point joins.
    fn merge_target(&self, warp: Warp, point: Point) -> Option<usize> {
        let is_alike = |entry: &Entry<D>| entry.point() == Some(point);
        match self.rules.merge {
            Merge::Paper => self.entries.back().filter(|last| is_alike(last)).map(|_| self.entries.len() - 1),
            Merge::Artifact => {
                let stops = |entry: &Entry<D>| is_alike(entry) || entry.warps.contains(warp);
                self.entries.iter().rposition(stops).filter(|at| is_alike(&self.entries[*at]))
            }
        }
    }

    /// Whether an ordering point may be issued now.
    pub fn check_point(&self, warp: Warp, point: Point) -> Result<(), Stall> {
        let fits = !self.is_full() || self.merge_target(warp, point).is_some();
        if fits { Ok(()) } else { Err(Stall::Full) }
    }

    /// Whether the warp that issues it waits until what it has stored is durable.
    pub(super) fn delays(&self, point: Point) -> bool {
        match point {
            Point::DFence | Point::Release(Scope::Device) => true,
            Point::Acquire(Scope::Device) => self.rules.has(Rule::AcquireDelay),
            Point::OFence | Point::Acquire(Scope::Block) | Point::Release(Scope::Block) => false,
        }
    }

    /// Issues an ordering point. The operation is complete when the warp is not stalled any more: at once, or for a dFence or a
    /// device-scoped operation when everything before it is durable. Only then may a release's flag become visible.
    pub fn issue(&mut self, warp: Warp, point: Point) -> Result<(), Stall> {
        self.check_point(warp, point)?;
        match self.merge_target(warp, point) {
            Some(at) => self.entries[at].warps.insert(warp),
            None => self.entries.push_back(Entry { kind: Kind::Point(point), warps: warp.into() }),
        }
        if self.delays(point) {
            self.order_delay.insert(warp);
        }
        Ok(())
    }

    /// Whether the head may leave the buffer now.
    pub fn can_drain(&self) -> bool {
        match self.entries.front() {
            None => false,
            Some(Entry { kind: Kind::Point(_), .. }) => true,
            Some(Entry { kind: Kind::Persist(..), warps }) => {
                self.has_window() && !(self.rules.has(Rule::FlushStatusAtHead) && warps.meets(self.flush_status))
            }
        }
    }

    /// "Each SM tries to maintain a fixed number of outstanding persists" (section 6.2), unless it needs room.
    fn has_window(&self) -> bool {
        self.is_full() || self.rules.window.is_none_or(|most| self.in_flight.len() < most as usize)
    }

    /// Takes the head out, if it may leave: a line is flushed, an ordering point holds back what its warps persist later.
    pub fn drain(&mut self) {
        if !self.can_drain() {
            return;
        }
        let Some(Entry { kind, warps }) = self.entries.pop_front() else { return };
        match kind {
            Kind::Persist(line, data) => self.in_flight.push(Flight { line, data }),
            Kind::Point(point) => self.pass(point, warps),
        }
    }

    fn pass(&mut self, point: Point, warps: Warps) {
        let holds_back = match point {
            Point::OFence | Point::DFence => Rule::FenceHoldsBack,
            Point::Acquire(_) => Rule::AcquireHoldsBack,
            Point::Release(_) => Rule::ReleaseHoldsBack,
        };
        if self.rules.has(holds_back) {
            self.flush_status = self.flush_status | warps;
        }
        if self.delays(point) {
            // "its ODM bits are reset, and the same bits are set in the EDM"
            self.order_delay = self.order_delay.without(warps);
            self.eviction_delay = self.eviction_delay | warps;
        }
        self.reset_at_zero();
    }

    fn reset_at_zero(&mut self) {
        if self.in_flight.is_empty() {
            self.flush_status = Warps::NONE;
            self.eviction_delay = Warps::NONE;
        }
    }

    /// Drains the head as long as it may leave: the policy that flushes as early as order and window allow.
    pub fn drain_all(&mut self) {
        while self.can_drain() {
            self.drain();
        }
    }

    /// Whether a line may leave the buffer out of its turn ("Eviction").
    pub fn can_evict(&self, line: Line) -> bool {
        let Some(at) = self.position(line) else { return false };
        let warps = self.entries[at].warps;
        let holds =
            |entry: &Entry<D>| entry.warps.meets(warps) && entry.point().is_some_and(|point| !point.is_release());
        let is_held_back = self.rules.has(Rule::FlushStatusAtEviction) && warps.meets(self.flush_status);
        let is_behind = self.rules.has(Rule::OrderAheadOfEviction) && self.entries.range(..at).any(holds);
        !is_held_back && !is_behind
    }

    /// Evicts a line for the sake of a warp, which waits if the line must stay.
    pub fn evict(&mut self, warp: Warp, line: Line) -> Result<(), Stall> {
        if !self.can_evict(line) {
            self.eviction_delay.insert(warp);
            return Err(Stall::Ordered);
        }
        self.flush_early(line);
        Ok(())
    }

    /// Flushes a line that may be evicted.
    pub(crate) fn flush_early(&mut self, line: Line) {
        let entry = self.position(line).and_then(|at| self.entries.remove(at));
        if let Some(Entry { kind: Kind::Persist(line, data), .. }) = entry {
            self.in_flight.push(Flight { line, data });
        }
    }

    /// The oldest flush of a line is acknowledged: its data is durable, and is the answer.
    pub fn acknowledge(&mut self, line: Line) -> Option<D> {
        let at = self.in_flight.iter().position(|flight| flight.line == line)?;
        let flight = self.in_flight.remove(at);
        if !self.rules.has(Rule::ResetAtZero) {
            self.flush_status = Warps::NONE;
        }
        self.reset_at_zero();
        Some(flight.data)
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, PersistBuffer, Point, Scope, Stall};
    use crate::persist_buffer::rules::{Merge, Rules};
    use crate::persist_buffer::warps::{Warp, Warps};

    const W0: Warp = Warp(0);
    const W1: Warp = Warp(1);
    const X: Line = Line(0);
    const Y: Line = Line(1);
    const Z: Line = Line(2);

    fn buffer(rules: Rules) -> PersistBuffer<u32> {
        PersistBuffer::new(rules)
    }

    fn paper() -> PersistBuffer<u32> {
        buffer(Rules::new(Merge::Paper))
    }

    fn put(buffer: &mut PersistBuffer<u32>, warp: Warp, line: Line, value: u32) {
        *buffer.store(warp, line).expect("the store is not stalled") = value;
    }

    fn lines(buffer: &PersistBuffer<u32>) -> Vec<u32> {
        buffer.in_flight().iter().map(|flight| flight.line.0).collect()
    }

    #[test]
    fn unordered_stores_to_a_line_become_one_persist_with_the_last_value() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        put(&mut pb, W1, X, 2);
        assert_eq!(pb.entries().map(|entry| entry.warps).collect::<Vec<_>>(), [Warps(0b11)]);
        pb.drain();
        assert_eq!((pb.acknowledge(X), pb.is_idle()), (Some(2), true));
    }

    /// The example of section 6.1: pX = a; pY = b; oFence; pX = c.
    #[test]
    fn a_store_waits_for_the_entry_of_its_line_that_is_ahead_of_its_fence() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        put(&mut pb, W0, Y, 2);
        assert_eq!(pb.issue(W0, Point::OFence), Ok(()));
        assert_eq!(pb.store(W0, X), Err(Stall::Ordered));
        assert!(pb.is_stalled(W0));
        assert_eq!(pb.check_store(W1, X), Ok(()), "another warp has no fence here");
        pb.drain_all();
        assert!(pb.is_stalled(W0), "both lines are in flight");
        assert_eq!((pb.acknowledge(Y), pb.is_stalled(W0)), (Some(2), true));
        assert_eq!((pb.acknowledge(X), pb.is_stalled(W0)), (Some(1), false));
        put(&mut pb, W0, X, 3);
    }

    /// Section 6: pX of one warp, then oFence and pY of another.
    #[test]
    fn a_fence_orders_no_persists_of_other_warps() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        assert_eq!(pb.issue(W1, Point::OFence), Ok(()));
        put(&mut pb, W1, Y, 1);
        put(&mut pb, W0, Z, 1);
        pb.drain_all();
        assert_eq!(lines(&pb), [0], "the persist behind the fence waits, and what is behind it");
        assert!(!pb.can_evict(Y) && pb.can_evict(Z));
        pb.acknowledge(X);
        pb.drain_all();
        assert_eq!(lines(&pb), [1, 2]);
    }

    #[test]
    fn an_eviction_passes_nothing_that_orders_its_warps() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        assert_eq!(pb.issue(W1, Point::Acquire(Scope::Block)), Ok(()));
        put(&mut pb, W1, Y, 1);
        assert_eq!(pb.evict(W1, Y), Err(Stall::Ordered));
        assert!(pb.is_stalled(W1));
        put(&mut pb, W0, Z, 1);
        assert_eq!(pb.evict(W1, Z), Ok(()));
        assert_eq!(lines(&pb), [2]);
    }

    #[test]
    fn a_device_release_waits_for_what_is_before_it_and_a_block_release_does_not() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        assert_eq!(pb.issue(W0, Point::Release(Scope::Block)), Ok(()));
        assert!(!pb.is_stalled(W0));
        assert_eq!(pb.issue(W0, Point::Release(Scope::Device)), Ok(()));
        assert!(pb.is_stalled(W0) && !pb.is_stalled(W1));
        assert_eq!(pb.masks(), [Warps(1), Warps(0), Warps(0)]);
        pb.drain_all();
        assert_eq!(pb.masks(), [Warps(0), Warps(1), Warps(1)]);
        pb.acknowledge(X);
        assert!(!pb.is_stalled(W0));
    }

    #[test]
    fn an_acquire_joins_only_the_last_entry_or_in_the_artifact_an_older_one() {
        for (merge, entries) in [(Merge::Paper, 4), (Merge::Artifact, 3)] {
            let mut pb = buffer(Rules::new(merge));
            assert_eq!(pb.issue(W0, Point::Acquire(Scope::Block)), Ok(()));
            put(&mut pb, W0, X, 1);
            assert_eq!(pb.issue(W0, Point::Release(Scope::Block)), Ok(()));
            assert_eq!(pb.issue(W1, Point::Acquire(Scope::Block)), Ok(()));
            assert_eq!(pb.entries().count(), entries, "{merge:?}");
            assert_eq!(pb.issue(W0, Point::Acquire(Scope::Block)), Ok(()));
            let last = pb.entries().last().map(|entry| (entry.point(), entry.warps));
            let alone = (Some(Point::Acquire(Scope::Block)), Warps(1));
            let joined = (Some(Point::Acquire(Scope::Block)), Warps(0b11));
            assert_eq!(last, Some(if merge == Merge::Paper { joined } else { alone }));
        }
    }

    #[test]
    fn a_full_buffer_stalls_new_lines_and_flushes_beyond_its_window() {
        let mut pb = buffer(Rules::new(Merge::Paper).with_capacity(2).with_window(1));
        put(&mut pb, W0, X, 1);
        put(&mut pb, W0, Y, 1);
        assert_eq!(pb.store(W0, Z), Err(Stall::Full));
        assert_eq!(pb.issue(W0, Point::OFence), Err(Stall::Full));
        put(&mut pb, W0, X, 2);
        pb.drain_all();
        assert_eq!(lines(&pb), [0], "the window has room for one line");
        put(&mut pb, W0, Z, 1);
        assert!(pb.can_drain(), "the buffer is full again");
    }

    #[test]
    fn flushes_of_one_line_are_acknowledged_in_order() {
        let mut pb = paper();
        put(&mut pb, W0, X, 1);
        pb.drain();
        put(&mut pb, W0, X, 2);
        pb.drain();
        assert_eq!((pb.acknowledge(X), pb.acknowledge(X), pb.acknowledge(X)), (Some(1), Some(2), None));
    }
}
