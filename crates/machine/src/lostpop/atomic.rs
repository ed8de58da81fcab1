//! Read-modify-writes and final memory: our extension, which neither Lean nor the appendix has.
//!
//! A read-modify-write is a read and a write. The write is accepted in the step that satisfies the read. (Accepting it
//! later would change nothing: whatever reaches the thread in between is placed before the write in either case.) From
//! then on no step may order another write to the address between the write that was read and the new one, if that write
//! and the read-modify-write are in each other's scope: one of CTA scope is not atomic towards other CTAs (PTX ISA 8.10.3,
//! atomicity of morally strong operations). All writes to an address that have propagated everywhere are ordered
//! pairwise, so in a final state this is the statement that no such write comes between.
//!
//! A step is disabled if it would complete such a triple. Runs that can then not go on are no runs: two read-modify-writes
//! that read one write, for example, or one that read a write after which another is already ordered and seen.
//!
//! The final value of a location is written by the last write in the system-scope order. That order need not be
//! transitive: three threads that write one address can be ordered in a cycle, since a write that arrives at a thread is
//! compared with that thread's writes only. A run in which some location has no last write is discarded, as coherence
//! demands of every model with a final memory; its reads cannot show it (no later read of that address can be satisfied).

use fencepost_program::LocationId;
use fencepost_program::value::Value;

use crate::lostpop::LostPop;
use crate::lostpop::rules::Difference;
use crate::lostpop::state::{State, View};
use crate::machine::{Ending, Stuck};
use crate::pack::members;
use crate::requests::{AtomicHalf, ThreadSet};

impl LostPop<'_> {
    fn is_before_everywhere(&self, state: &State, a: u32, b: u32) -> bool {
        state.is_before(a, b, self.tree.top())
    }

    /// The accepted writes of read-modify-writes, each with the write that its read saw.
    fn atomic_pairs(&self, state: &State) -> impl Iterator<Item = (u32, u32)> {
        members(state.active & self.atomic_writes).filter_map(|write| match self.face(state, write).atomic {
            Some(AtomicHalf::Write(read)) => {
                let read = self.slot(read);
                state.source(read).map(|source| (source, write))
            }
            _ => None,
        })
    }

    /// Whether ordering `a` before `b` puts a third write between the halves of a read-modify-write.
    fn parts(&self, state: &State, a: u32, b: u32) -> bool {
        self.atomic_pairs(state).any(|(source, write)| {
            let parts = |other: u32| self.pair(state, other, write).mutual;
            (b == write && a != source && parts(a) && self.is_before_everywhere(state, source, a))
                || (a == source && b != write && parts(b) && self.is_before_everywhere(state, b, write))
        })
    }

    pub(super) fn would_part_atomic(&self, state: &State, slot: u32, to: u32) -> bool {
        if self.atomic_writes == 0 || !self.face(state, slot).is_write() {
            return false;
        }
        let face = self.face(state, slot);
        let is_parted = |other: u32| {
            let present = self.face(state, other);
            present.thread == to as usize
                && present.is_write()
                && present.conflicts(face)
                && !self.is_before_everywhere(state, slot, other)
                && !self.is_before_everywhere(state, other, slot)
                && self.parts(state, slot, other)
        };
        members(state.active & !(1 << slot)).any(is_parted)
    }

    /// Whether a read may be satisfied with a write, as far as read-modify-writes are concerned: the new write will come
    /// after everything its thread has seen, so none of that may come after the write that is read; and no other
    /// read-modify-write may have read it. Both of those in whose scope it is, and that are in its own.
    pub(super) fn keeps_atomic(&self, state: &State, read: u32, write: u32) -> bool {
        let face = self.face(state, read);
        if self.atomic_writes == 0 || face.atomic.is_none() {
            return true;
        }
        let mut after = state.clone();
        after.satisfy(read, write);
        let Some(half) = self.atomic_write(&after, face.thread) else { return true };
        let parts = |other: u32| self.pairs.of(state.event(other).index(), half.index()).mutual;
        let is_seen = |other: u32| state.propagated(other) >> face.thread & 1 == 1;
        let comes_between = |other: u32| {
            let seen = self.face(state, other);
            seen.is_write()
                && seen.location == face.location
                && is_seen(other)
                && parts(other)
                && (self.is_before_everywhere(state, write, other) || self.is_before_everywhere(state, read, other))
        };
        !members(state.active & !(1 << write)).any(comes_between)
            && !self.atomic_pairs(state).any(|(source, other)| source == write && parts(other))
    }

    /// The last write to a location: every other is ordered before it, and there is no cycle. None if there is none.
    pub(super) fn last_write(&self, state: &State, location: LocationId) -> Option<u32> {
        let is_here = |slot: &u32| {
            let face = self.face(state, *slot);
            face.is_write() && face.location == Some(location)
        };
        let mut left: Vec<u32> = members(state.active).filter(is_here).collect();
        // Peel off writes that nothing left is ordered before; a total order without a cycle peels completely.
        let mut last = None;
        while !left.is_empty() {
            let is_first =
                |slot: &u32| left.iter().all(|other| other == slot || self.is_before_everywhere(state, *slot, *other));
            let first = left.iter().position(is_first)?;
            last = Some(left.remove(first));
        }
        last
    }

    pub(super) fn end(&self, state: &State) -> Ending {
        let system = ThreadSet(self.tree.system().0);
        let is_quiet = |slot: u32| {
            let face = self.face(state, slot);
            !face.is_memory() || system.is_in(ThreadSet(state.propagated(slot)))
        };
        let needs_all = self.atomic_writes != 0 || !self.rules.lean(Difference::FinalState);
        let has_open_read = members(state.active).any(|slot| self.face(state, slot).is_read());
        if has_open_read || (needs_all && !members(state.active).all(is_quiet)) {
            return Ending::Stuck(Stuck::Deadlock);
        }
        let view = View { machine: self, state };
        let walk = self.walk(&view);
        let memory = |location: LocationId| -> Option<Value> {
            let last = self.last_write(state, location)?;
            walk.written(state.event(last))
        };
        walk.ending(memory)
    }
}
