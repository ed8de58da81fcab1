//! A state of LOST-POP: the active requests, how far each has propagated, where it is a predecessor, and the order
//! constraints.
//!
//! A request is named by its slot in the program and not by when it was accepted, and what is left of a satisfied read is
//! the write it read from: all interleavings that lead to one situation are one state. (In the Lean implementation ids
//! follow the order of acceptance.) The fields lie in one vector, because copying a state is what an exploration does
//! most.

use fencepost_program::{EventId, ThreadId};

use crate::lostpop::LostPop;
use crate::pack::{Reader, Writer, bits_for, members, words_for};
use crate::requests::{Level, Sources};

/// Fields: `last` per thread, then `event`, `source`, `propagated`, `predecessor` per slot, then `order` per level and slot.
#[derive(PartialEq, Eq, Debug)]
pub struct State {
    fields: Vec<u64>,
    threads: u32,
    slots: u32,
    /// Slots with an accepted request that is no satisfied read.
    pub(super) active: u64,
    /// Of these, those with a read, and those with a write.
    pub(super) reads: u64,
    pub(super) writes: u64,
}

/// Copying reuses the vector.
impl Clone for State {
    fn clone(&self) -> State {
        State { fields: self.fields.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &State) {
        self.fields.clone_from(&other.fields);
        (self.active, self.reads, self.writes) = (other.active, other.reads, other.writes);
    }
}

impl State {
    pub(super) fn empty(machine: &LostPop<'_>) -> State {
        let (threads, slots) = (machine.requests.threads.len(), machine.slots as usize);
        let fields = threads + slots * (4 + machine.tree.levels() as usize);
        let (threads, slots) = (threads as u32, machine.slots);
        State { fields: vec![0; fields], threads, slots, active: 0, reads: 0, writes: 0 }
    }

    #[inline]
    fn at(&self, field: u32, slot: u32) -> usize {
        (self.threads + field * self.slots + slot) as usize
    }

    /// The last accepted request of a thread.
    pub(super) fn last(&self, thread: usize) -> Option<EventId> {
        let last = self.fields[thread];
        (last != 0).then(|| EventId(last as u32 - 1))
    }

    pub(super) fn set_last(&mut self, thread: usize, event: EventId) {
        self.fields[thread] = u64::from(event.0) + 1;
    }

    /// The request in a slot, once accepted; meaningless before.
    pub(super) fn event(&self, slot: u32) -> EventId {
        EventId(self.fields[self.at(0, slot)] as u32)
    }

    pub(super) fn set_event(&mut self, slot: u32, event: EventId) {
        let at = self.at(0, slot);
        self.fields[at] = u64::from(event.0);
    }

    /// Of a satisfied read: the slot of the write.
    #[inline]
    pub(super) fn source(&self, slot: u32) -> Option<u32> {
        let source = self.fields[self.at(1, slot)];
        (source != 0).then(|| source as u32 - 1)
    }

    fn set_source(&mut self, slot: u32, source: Option<u32>) {
        let at = self.at(1, slot);
        self.fields[at] = source.map_or(0, |source| u64::from(source) + 1);
    }

    /// The threads a request has propagated to.
    #[inline]
    pub(super) fn propagated(&self, slot: u32) -> u64 {
        self.fields[self.at(2, slot)]
    }

    pub(super) fn set_propagated(&mut self, slot: u32, threads: u64) {
        let at = self.at(2, slot);
        self.fields[at] = threads;
    }

    /// The threads a write is a predecessor at.
    #[inline]
    pub(super) fn predecessor(&self, slot: u32) -> u64 {
        self.fields[self.at(3, slot)]
    }

    #[inline]
    pub(super) fn is_predecessor(&self, slot: u32, thread: usize) -> bool {
        self.predecessor(slot) >> thread & 1 == 1
    }

    pub(super) fn make_predecessor(&mut self, slot: u32, thread: usize) {
        let at = self.at(3, slot);
        self.fields[at] |= 1 << thread;
    }

    pub(super) fn set_predecessor(&mut self, slot: u32, threads: u64) {
        let at = self.at(3, slot);
        self.fields[at] = threads;
    }

    /// The requests that `a` is ordered before at the set of this level of `a`'s thread. What holds at a level holds at
    /// the levels below it.
    #[inline]
    pub(super) fn after(&self, a: u32, level: Level) -> u64 {
        self.fields[self.at(4 + u32::from(level.0), a)]
    }

    #[inline]
    pub(super) fn is_before(&self, a: u32, b: u32, level: Level) -> bool {
        self.after(a, level) >> b & 1 == 1
    }

    /// Orders `a` before the members of `later` at this level of `a`'s thread and everything inside.
    pub(super) fn add(&mut self, a: u32, later: u64, level: Level) {
        for level in 0..=u32::from(level.0) {
            let at = self.at(4 + level, a);
            self.fields[at] |= later;
        }
    }

    /// The highest level at which `a` is before `b`.
    pub(super) fn highest(&self, a: u32, b: u32, levels: u32) -> Option<Level> {
        (0..levels as u8).rev().map(Level).find(|level| self.is_before(a, b, *level))
    }

    /// Removes a satisfied read, and its edges.
    pub(super) fn satisfy(&mut self, read: u32, write: u32) {
        self.set_source(read, Some(write));
        self.set_propagated(read, 0);
        self.active &= !(1 << read);
        self.reads &= !(1 << read);
        let order = self.at(4, 0);
        let slots = self.slots as usize;
        for rows in self.fields[order..].chunks_exact_mut(slots) {
            rows[read as usize] = 0;
            rows.iter_mut().for_each(|row| *row &= !(1 << read));
        }
    }

    /// Enters what the last requests of the threads imply.
    fn fill(&mut self, machine: &LostPop<'_>) {
        (self.active, self.reads, self.writes) = (machine.init_slots, 0, machine.init_slots);
        for thread in 0..self.threads as usize {
            let mut at = self.last(thread);
            while let Some(event) = at {
                let slot = machine.slot(event);
                self.set_event(slot, event);
                self.activate(machine, slot, event);
                at = machine.parent[event.index()];
            }
        }
    }

    pub(super) fn activate(&mut self, machine: &LostPop<'_>, slot: u32, event: EventId) {
        let face = &machine.faces[event.index()];
        self.active |= 1 << slot;
        self.reads |= u64::from(face.is_read()) << slot;
        self.writes |= u64::from(face.is_write()) << slot;
    }
}

/// A state with its machine: where reads got their values from.
#[derive(Copy, Clone)]
pub(super) struct View<'a> {
    pub(super) machine: &'a LostPop<'a>,
    pub(super) state: &'a State,
}

impl Sources for View<'_> {
    #[inline]
    fn source(&self, read: EventId) -> Option<EventId> {
        let slot = self.machine.slot(read);
        // A slot may hold a request of another branch.
        let is_here = self.state.event(slot) == read;
        let write = if is_here { self.state.source(slot)? } else { return None };
        Some(self.state.event(write))
    }

    fn last(&self, thread: ThreadId) -> Option<EventId> {
        self.state.last(thread.index())
    }
}

/// How a state is laid out in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) words: u32,
    /// Per thread, bits for the number of its last request.
    last: Vec<u32>,
    slot: u32,
    threads: u32,
    /// Slots that may hold a read, a memory operation, and a write.
    reads: u64,
    memory: u64,
    writes: u64,
    /// Slots whose rows of the order are stored.
    rows: u64,
}

impl Layout {
    pub(super) fn new(machine: &LostPop<'_>) -> Layout {
        let last: Vec<u32> = machine.nodes.iter().map(|nodes| bits_for(nodes.len() as u64)).collect();
        let slots = machine.slots;
        let of = |is: fn(&crate::requests::Request) -> bool| {
            let chosen = machine.requests.requests.iter().filter(|request| is(request));
            chosen.fold(0, |set, request| set | request.slot.bit()) & !machine.implied
        };
        let mut layout = Layout {
            words: 0,
            last,
            slot: bits_for(u64::from(slots)),
            threads: machine.requests.threads.len() as u32,
            reads: of(|request| request.is_read()),
            memory: of(|request| !request.is_fence()),
            writes: of(|request| request.is_write()),
            rows: of(|_| true),
        };
        let bits = layout.last.iter().sum::<u32>()
            + layout.reads.count_ones() * layout.slot
            + layout.memory.count_ones() * layout.threads
            + layout.writes.count_ones() * layout.threads
            + layout.rows.count_ones() * slots * machine.tree.levels();
        layout.words = words_for(u64::from(bits));
        layout
    }
}

impl LostPop<'_> {
    pub(super) fn pack_state(&self, state: &State, words: &mut [u64]) {
        let layout = &self.layout;
        let mut writer = Writer::new(words);
        for (thread, bits) in layout.last.iter().enumerate() {
            writer.put(state.last(thread).map_or(0, |event| u64::from(self.node_of[event.index()]) + 1), *bits);
        }
        for slot in members(layout.reads) {
            writer.put(state.source(slot).map_or(0, |source| u64::from(source) + 1), layout.slot);
        }
        members(layout.memory).for_each(|slot| writer.put(state.propagated(slot), layout.threads));
        members(layout.writes).for_each(|slot| writer.put(state.predecessor(slot), layout.threads));
        for level in (0..self.tree.levels() as u8).map(Level) {
            members(layout.rows).for_each(|slot| writer.put(state.after(slot, level), self.slots));
        }
    }

    pub(super) fn unpack_state(&self, words: &[u64], state: &mut State) {
        let layout = &self.layout;
        let mut reader = Reader::new(words);
        for (thread, bits) in layout.last.iter().enumerate() {
            state.fields[thread] = match reader.take(*bits) {
                0 => 0,
                number => u64::from(self.nodes[thread][number as usize - 1].0) + 1,
            };
        }
        state.fill(self);
        for slot in members(layout.reads) {
            let source = (reader.take(layout.slot) as u32).checked_sub(1);
            state.set_source(slot, source);
            let satisfied = u64::from(source.is_some()) << slot;
            state.active &= !satisfied;
            state.reads &= !satisfied;
        }
        members(layout.memory).for_each(|slot| state.set_propagated(slot, reader.take(layout.threads)));
        members(layout.writes).for_each(|slot| state.set_predecessor(slot, reader.take(layout.threads)));
        for level in 0..self.tree.levels() {
            for slot in members(layout.rows) {
                let at = state.at(4 + level, slot);
                state.fields[at] = reader.take(self.slots);
            }
        }
        self.imply(state);
    }

    /// Enters what is known of init writes without looking: they are everywhere, and before all else at their location.
    fn imply(&self, state: &mut State) {
        for init in members(self.implied) {
            let mut later = 0;
            for other in members((state.reads | state.writes) & !self.init_slots) {
                later |= u64::from(self.pair(state, init, other).conflict) << other;
            }
            for level in 0..self.tree.levels() {
                let at = state.at(4 + level, init);
                state.fields[at] = later;
            }
        }
    }
}
