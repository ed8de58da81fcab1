//! The persist memory order of a run, computed as it goes, and the check at each arrival in NVM.
//!
//! By the cumulative reading, a persist W is ordered after
//! * all persists that its warp issued before its last oFence or dFence ahead of W, and
//! * all persists that a release had in program order or in its own order, if an acquire ahead of W reads from it and their
//!   scopes include each other,
//!
//! and what is ordered before these. Per warp two sets are enough: what is ordered before its next persist, and what it has
//! issued so far with what is ordered before that.
//!
//! A persist that has arrived can break no promise any more and is forgotten. So sets have only persists on their way, and the
//! number of a persist is free again when it has arrived. Stores that share an entry of the buffer arrive together and share a
//! number; what counts for the check is the order of the last of them.

use super::{PERSISTS, WARPS};
use crate::persist_buffer::buffer::Scope;
use crate::persist_buffer::warps::Warp;

/// The number of a persist on its way.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Persist(pub(super) u8);

/// No persist yet: the data of a new entry.
impl Default for Persist {
    fn default() -> Persist {
        Persist(u8::MAX)
    }
}

/// A set of persists on their way.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(super) struct Persists(pub(super) u16);

impl Persists {
    pub(super) const NONE: Persists = Persists(0);

    pub(super) fn of(persist: Persist) -> Persists {
        Persists(1 << persist.0)
    }

    pub(super) fn contains(self, persist: Persist) -> bool {
        self.0 >> persist.0 & 1 == 1
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn includes(self, others: Persists) -> bool {
        others.0 & !self.0 == 0
    }

    pub(super) fn add(&mut self, others: Persists) {
        self.0 |= others.0;
    }

    pub(super) fn without(self, others: Persists) -> Persists {
        Persists(self.0 & !others.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Persist> {
        (0..PERSISTS as u8).map(Persist).filter(move |persist| self.contains(*persist))
    }
}

/// A promise that the hardware broke.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A persist is durable and another that is ordered before it is not (C1).
    Order,
    /// A dFence is complete and an earlier persist of its warp, or one that is ordered before such a persist, is not durable (C2).
    Durability,
    /// Something is buffered or waits, and the hardware can do nothing.
    Stuck,
}

/// Where an acquire reads from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The initial value, or a release whose scope or whose reader's scope is too narrow.
    Unrelated,
    /// The latest release of a warp of the same block.
    SameBlock(Warp),
    /// The latest device-scoped release of a warp.
    Device(Warp),
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Monitor {
    /// Per warp: what is ordered before its next persist.
    pub(super) before: [Persists; WARPS],
    /// Per warp: its persists so far, and what is ordered before them.
    pub(super) issued: [Persists; WARPS],
    /// Per warp: what its latest release has stored with its flag, for readers of the same block.
    pub(super) released: [Option<Persists>; WARPS],
    /// The same of its latest device-scoped release, for readers of other blocks.
    pub(super) released_to_device: [Option<Persists>; WARPS],
    /// Per persist on its way: what is ordered before the last store that it has.
    pub(super) preceding: [Persists; PERSISTS],
}

impl Monitor {
    fn sets(&mut self) -> impl Iterator<Item = &mut Persists> {
        let released = self.released.iter_mut().chain(&mut self.released_to_device).flatten();
        self.before.iter_mut().chain(&mut self.issued).chain(&mut self.preceding).chain(released)
    }

    pub(super) fn store(&mut self, warp: Warp, persist: Persist) {
        let at = usize::from(warp.0);
        self.preceding[usize::from(persist.0)] = self.before[at];
        let before = self.before[at];
        self.issued[at].add(before);
        self.issued[at].add(Persists::of(persist));
    }

    pub(super) fn fence(&mut self, warp: Warp) {
        let at = usize::from(warp.0);
        self.before[at].add(self.issued[at]);
    }

    /// What a release of the warp would store with its flag.
    pub(super) fn to_release(&self, warp: Warp) -> Persists {
        let at = usize::from(warp.0);
        let mut set = self.before[at];
        set.add(self.issued[at]);
        set
    }

    pub(super) fn release(&mut self, warp: Warp, scope: Scope) {
        let at = usize::from(warp.0);
        let set = self.to_release(warp);
        self.released[at] = Some(set);
        if scope == Scope::Device {
            self.released_to_device[at] = Some(set);
        }
    }

    pub(super) fn content(&self, source: Source) -> Persists {
        let set = match source {
            Source::Unrelated => None,
            Source::SameBlock(warp) => self.released[usize::from(warp.0)],
            Source::Device(warp) => self.released_to_device[usize::from(warp.0)],
        };
        set.unwrap_or_default()
    }

    pub(super) fn acquire(&mut self, warp: Warp, source: Source) {
        self.before[usize::from(warp.0)].add(self.content(source));
    }

    /// A dFence of the warp is complete.
    pub(super) fn complete_durability(&mut self, warp: Warp) -> Result<(), Violation> {
        if !self.issued[usize::from(warp.0)].is_empty() {
            return Err(Violation::Durability);
        }
        self.fence(warp);
        Ok(())
    }

    /// Whether something else that is ordered before the persist has not arrived.
    pub(super) fn is_early(&self, persist: Persist) -> bool {
        !self.preceding[usize::from(persist.0)].without(Persists::of(persist)).is_empty()
    }

    /// The persist has arrived in NVM.
    pub(super) fn arrive(&mut self, persist: Persist) -> Result<(), Violation> {
        if self.is_early(persist) {
            return Err(Violation::Order);
        }
        self.forget(persist);
        Ok(())
    }

    pub(super) fn forget(&mut self, persist: Persist) {
        self.sets().for_each(|set| *set = set.without(Persists::of(persist)));
        self.preceding[usize::from(persist.0)] = Persists::NONE;
    }

    /// From now on the two arrive together: what is said of one is said of the other.
    pub(super) fn unite(&mut self, persist: Persist, with: Persist) {
        self.sets().filter(|set| set.contains(persist)).for_each(|set| set.add(Persists::of(with)));
        self.forget(persist);
    }
}

#[cfg(test)]
mod tests {
    use super::{Monitor, Persist, Source, Violation};
    use crate::persist_buffer::buffer::Scope;
    use crate::persist_buffer::warps::Warp;

    const X: Persist = Persist(0);
    const Y: Persist = Persist(1);
    const T0: Warp = Warp(0);
    const T1: Warp = Warp(1);
    const T2: Warp = Warp(2);

    /// A thread without a persist of its own passes the order on.
    #[test]
    fn order_is_cumulative() {
        let mut monitor = Monitor::default();
        monitor.store(T0, X);
        monitor.release(T0, Scope::Block);
        monitor.acquire(T1, Source::SameBlock(T0));
        monitor.release(T1, Scope::Block);
        monitor.acquire(T2, Source::SameBlock(T1));
        monitor.store(T2, Y);
        assert_eq!(monitor.clone().arrive(Y), Err(Violation::Order));
        assert_eq!(monitor.arrive(X), Ok(()));
        assert_eq!(monitor.arrive(Y), Ok(()));
    }

    #[test]
    fn a_release_orders_nothing_without_an_acquire() {
        let mut monitor = Monitor::default();
        monitor.store(T0, X);
        monitor.release(T0, Scope::Block);
        monitor.store(T0, Y);
        assert_eq!(monitor.arrive(Y), Ok(()));
    }

    /// The store to Y is overwritten in its entry by a store that nothing is ordered before. So its arrival shows nothing; but a
    /// dFence promises it, and with it what it comes after.
    #[test]
    fn a_durability_fence_promises_what_its_persists_come_after() {
        let mut monitor = Monitor::default();
        monitor.store(T0, X);
        monitor.release(T0, Scope::Block);
        monitor.acquire(T1, Source::SameBlock(T0));
        monitor.store(T1, Y);
        monitor.store(T2, Y);
        assert_eq!(monitor.arrive(Y), Ok(()));
        assert_eq!(monitor.complete_durability(T1), Err(Violation::Durability));
        assert_eq!(monitor.complete_durability(T2), Ok(()));
    }
}
