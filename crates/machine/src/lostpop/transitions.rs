//! The three transitions: accept, propagate, satisfy; when each is enabled and what it does.
//!
//! Sections in parentheses are those of Appendix A; where Lean differs, the option of [`super::rules`] decides.

use fencepost_program::{EventId, ThreadId};

use crate::lostpop::architecture::{Face, Kinds};
use crate::lostpop::pairs::Pair;
use crate::lostpop::rules::{Difference, Satisfaction};
use crate::lostpop::state::{State, View};
use crate::lostpop::{LostPop, Step};
use crate::pack::members;
use crate::requests::{AtomicHalf, Level, ThreadSet, Walk};

/// What a fence-like request still waits for.
#[derive(Copy, Clone, Default)]
struct Unfinished {
    reads: bool,
    /// Writes of its own thread.
    writes: bool,
    predecessors: bool,
}

impl LostPop<'_> {
    pub(super) fn face(&self, state: &State, slot: u32) -> &Face {
        &self.faces[state.event(slot).index()]
    }

    pub(super) fn pair(&self, state: &State, old: u32, new: u32) -> &Pair {
        self.pairs.of(state.event(old).index(), state.event(new).index())
    }

    pub(super) fn walk<'a>(&'a self, view: &'a View<'a>) -> Walk<'a, View<'a>> {
        Walk::new(self.requests, view)
    }

    /// Whether `a` is before `b` at the smallest set that contains the threads `t` and `u`.
    fn before_at_joint(&self, state: &State, a: u32, b: u32, t: usize, u: usize) -> bool {
        state.is_before(a, b, self.tree.around_joint(self.owner[a as usize], t, u))
    }

    /// Whether a request has reached every thread of the scope.
    fn covers(&self, state: &State, slot: u32, scope: ThreadSet) -> bool {
        scope.is_in(ThreadSet(state.propagated(slot)))
    }

    // Accept (A.2.1).

    pub(super) fn accepts(&self, state: &State, steps: &mut Vec<Step>) {
        let view = View { machine: self, state };
        for thread in (0..self.requests.threads.len()).map(ThreadId::new) {
            // The write of a read-modify-write comes with the value of its read.
            let alone = |event: &EventId| !matches!(self.requests.request(*event).atomic, Some(AtomicHalf::Write(_)));
            steps.extend(self.walk(&view).next(thread).filter(alone).map(Step::Accept));
        }
    }

    pub(super) fn accept(&self, state: &mut State, event: EventId) {
        let new = self.faces[event.index()];
        let slot = self.slot(event);
        let thread = new.thread;
        let observes_all = !self.rules.lean(Difference::AcceptObserves);
        let marks = new.is_read() && self.rules.lean(Difference::AcceptMarksPredecessors);
        for other in members(state.active) {
            let pair = *self.pairs.of(state.event(other).index(), event.index());
            if self.implied >> other & 1 == 1 {
                if pair.conflict {
                    state.add(other, 1 << slot, self.tree.top());
                }
                continue;
            }
            let is_seen = state.propagated(other) >> thread & 1 == 1;
            if let Some(level) = pair.ordered
                && (self.owner[other as usize] == thread || state.is_predecessor(other, thread))
            {
                state.add(other, 1 << slot, level);
            }
            if pair.conflict && (is_seen || observes_all) {
                state.add(other, 1 << slot, self.tree.top());
            }
            if marks && is_seen && pair.predecessor {
                state.make_predecessor(other, thread);
            }
        }
        if marks {
            self.drop_predecessors(state);
        }
        state.set_event(slot, event);
        state.activate(self, slot, event);
        state.set_propagated(slot, if new.is_memory() { 1 << thread } else { 0 });
        if self.requests.request(event).thread.is_some() {
            state.set_last(thread, event);
        }
    }

    // Propagate (A.2.2).

    pub(super) fn propagations(&self, state: &State, steps: &mut Vec<Step>) {
        let system = self.tree.system().0;
        let memory = state.reads | state.writes;
        for slot in members(memory) {
            let missing = system & !state.propagated(slot);
            if missing == 0 {
                continue;
            }
            let open = missing & !self.overtaken(state, slot, memory);
            if open == 0 || self.is_stalled(state, slot) {
                continue;
            }
            for to in members(open) {
                if !self.would_part_atomic(state, slot, to) {
                    steps.push(Step::Propagate { slot, to });
                }
            }
        }
    }

    /// The threads where it would overtake a request of another thread that is ordered before it (2b).
    fn overtaken(&self, state: &State, slot: u32, memory: u64) -> u64 {
        let level = if self.rules.lean(Difference::CrossThreadEdges) { self.tree.top() } else { Level(0) };
        let others = memory & !self.thread_slots[self.owner[slot as usize]];
        members(others)
            .filter(|other| state.is_before(*other, slot, level))
            .fold(0, |threads, other| threads | !state.propagated(other))
    }

    /// A request of its own thread stalls it: (2a) and the architecture's fence-like requests.
    fn is_stalled(&self, state: &State, slot: u32) -> bool {
        let thread = self.owner[slot as usize];
        let levels = self.tree.levels();
        members(state.active & self.thread_slots[thread]).any(|other| {
            if other != slot && !state.is_before(other, slot, Level(0)) {
                return false;
            }
            let earlier = self.face(state, other);
            if other != slot && earlier.is_memory() {
                let highest = state.highest(other, slot, levels).unwrap_or(Level(0));
                if !self.covers(state, other, self.tree.set(thread, highest)) {
                    return true;
                }
            }
            earlier.kinds != Kinds::NONE && self.is_held(state, other, slot)
        })
    }

    /// Whether a fence-like request holds another back.
    fn is_held(&self, state: &State, fence: u32, slot: u32) -> bool {
        let unfinished = self.unfinished(state, fence);
        let kinds = self.face(state, fence).kinds;
        let held = |with: Kinds, without: Kinds, after_write: Kinds| {
            (kinds.has(with) && (unfinished.reads || unfinished.predecessors))
                || (kinds.has(without) && unfinished.reads)
                || (kinds.has(after_write) && unfinished.writes)
        };
        if state.reads >> slot & 1 == 1 {
            held(Kinds::READ_READ_PRED, Kinds::READ_READ, Kinds::WRITE_READ)
        } else {
            held(Kinds::READ_WRITE_PRED, Kinds::READ_WRITE, Kinds::WRITE_WRITE)
        }
    }

    /// Over the memory operations of its thread and the predecessors there that are ordered before it at the innermost set
    /// and have not reached the scope the pair has.
    fn unfinished(&self, state: &State, fence: u32) -> Unfinished {
        let thread = self.owner[fence as usize];
        let own = self.thread_slots[thread];
        let mut found = Unfinished::default();
        for other in members((state.reads | state.writes) & !(1 << fence)) {
            let is_own = own >> other & 1 == 1;
            let is_predecessor = state.is_predecessor(other, thread);
            let level = self.tree.around_leaf(self.owner[other as usize], thread);
            if !(is_own || is_predecessor) || !state.is_before(other, fence, level) {
                continue;
            }
            let scope = self.pair(state, other, fence).scope;
            let is_read = state.reads >> other & 1 == 1;
            if is_read && !self.rules.lean(Difference::FenceWaits) {
                found.reads |= self.awaits_writes(state, other, scope);
            }
            if !self.covers(state, other, scope) {
                found.reads |= is_read;
                found.writes |= !is_read && is_own;
                found.predecessors |= is_predecessor;
            }
        }
        found
    }

    /// Whether a write ordered before the read has not reached the whole scope (A.5.2 (4)).
    fn awaits_writes(&self, state: &State, read: u32, scope: ThreadSet) -> bool {
        let top = self.tree.top();
        members(state.writes).any(|other| state.is_before(other, read, top) && !self.covers(state, other, scope))
    }

    /// The requests of `to` that `slot` gets ordered before by going there.
    fn observers(&self, state: &State, slot: u32, to: u32) -> u64 {
        let thread = self.owner[slot as usize];
        let present = state.active & self.thread_slots[to as usize] & !(1 << slot);
        let is_new = |other: &u32| {
            if !self.pair(state, slot, *other).conflict {
                return false;
            }
            if self.rules.lean(Difference::PropagateOrders) {
                !self.before_at_joint(state, slot, *other, thread, to as usize)
                    && !self.before_at_joint(state, *other, slot, thread, to as usize)
            } else {
                state.propagated(*other) >> thread & 1 == 0
            }
        };
        members(present).filter(is_new).fold(0, |set, other| set | 1 << other)
    }

    pub(super) fn propagate(&self, state: &mut State, slot: u32, to: u32) {
        let observers = self.observers(state, slot, to);
        state.set_propagated(slot, state.propagated(slot) | 1 << to);
        state.add(slot, observers, self.tree.top());
        if state.writes >> slot & 1 == 1 {
            let thread = self.owner[slot as usize];
            let level = self.tree.around_joint(thread, thread, to as usize);
            let all = self.rules.lean(Difference::PredecessorEdges);
            let later = if all { state.after(slot, level) } else { observers };
            let readers = later & state.reads & self.thread_slots[to as usize];
            if members(readers).any(|other| self.pair(state, slot, other).predecessor) {
                state.make_predecessor(slot, to as usize);
            }
        }
        self.order_predecessors(state, to as usize);
        self.drop_predecessors(state);
    }

    /// Forgets predecessors where nobody asks for them ([`Reduction::Predecessors`](super::Reduction)).
    fn drop_predecessors(&self, state: &mut State) {
        if self.no_predecessors_everywhere == 0 {
            return;
        }
        let system = self.tree.system().0;
        for write in members(state.writes) {
            let is_everywhere = state.propagated(write) == system;
            let unasked = if is_everywhere { self.no_predecessors_everywhere } else { self.no_predecessors };
            state.set_predecessor(write, state.predecessor(write) & !unasked);
        }
    }

    /// Predecessors are ordered with the requests of a thread as if they were its own.
    fn order_predecessors(&self, state: &mut State, thread: usize) {
        for write in members(state.writes) {
            if !state.is_predecessor(write, thread) {
                continue;
            }
            for other in members(state.active & self.thread_slots[thread] & !(1 << write) & !self.implied) {
                let pair = *self.pair(state, write, other);
                let Some(level) = pair.ordered else { continue };
                let is_known =
                    state.is_before(write, other, pair.around_old) || state.is_before(other, write, pair.around_new);
                if !is_known {
                    state.add(write, 1 << other, level);
                }
            }
        }
    }

    // Satisfy (A.2.3).

    pub(super) fn satisfactions(&self, state: &State, steps: &mut Vec<Step>) {
        for read in members(state.reads) {
            for write in members(state.writes) {
                if state.propagated(read) == state.propagated(write)
                    && self.can_satisfy(state, read, write)
                    && self.keeps_atomic(state, read, write)
                {
                    steps.push(Step::Satisfy { read, write });
                }
            }
        }
    }

    fn can_satisfy(&self, state: &State, read: u32, write: u32) -> bool {
        let (reader, writer) = (self.owner[read as usize], self.owner[write as usize]);
        let before = |a, b| self.before_at_joint(state, a, b, reader, writer);
        if !self.pair(state, write, read).conflict || !before(write, read) {
            return false;
        }
        if self.rules.satisfaction == Satisfaction::InOrder {
            let earlier = state.reads & self.thread_slots[reader] & !(1 << read);
            if members(earlier).any(|other| state.is_before(other, read, Level(0))) {
                return false;
            }
        }
        let lean = self.rules.lean(Difference::Between);
        let is_between = |other: u32| {
            self.pair(state, other, read).same_location
                && before(other, read)
                && (if lean { !before(other, write) } else { before(write, other) })
        };
        !members((state.reads | state.writes) & !(1 << read | 1 << write)).any(is_between)
    }

    pub(super) fn satisfy(&self, state: &mut State, read: u32, write: u32) {
        let is_atomic = self.face(state, read).atomic.is_some();
        state.satisfy(read, write);
        if is_atomic && let Some(half) = self.atomic_write(state, self.owner[read as usize]) {
            self.accept(state, half);
        }
    }

    /// The write of the read-modify-write whose read was the thread's last request and is now satisfied, if it writes.
    pub(super) fn atomic_write(&self, state: &State, thread: usize) -> Option<EventId> {
        let last = state.last(thread);
        let is_half = |event: &EventId| match self.requests.request(*event).atomic {
            Some(AtomicHalf::Write(read)) => last == Some(read),
            _ => false,
        };
        let view = View { machine: self, state };
        self.walk(&view).next(ThreadId::new(thread)).find(is_half)
    }
}
