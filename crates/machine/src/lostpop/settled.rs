//! Steps that decide nothing, taken at once and alone: two reductions of LOST-POP besides `eager`, and why they are safe.
//!
//! Most of a state space is the order in which requests reach threads where nothing comes of it. A step `a` that is enabled
//! in a state may be explored alone there if every run from the state to an outcome can take it first, to the same outcome:
//! either `a` occurs in the run and commutes with all that comes before it, or putting it in front changes no outcome. Every
//! transition is taken once, so no run is infinite and nothing is postponed for ever.
//!
//! Everything below is about the Lean rules of observation; with the appendix's, nothing is settled. There, two conflicting
//! requests that have met are ordered once and for all, at system scope: the first of the two at a thread of the other's is
//! ordered before it, and what is ordered is not ordered again. And a request that is present, or has not gone far, only
//! ever *disables* steps of others (it stalls, is overtaken, is waited for, comes between), except that a
//! read is satisfied where it and its write have reached the *same* threads.
//!
//! **Satisfaction** (`Reduction::Satisfaction`). A read `r` that is everywhere has met every conflicting write: those that are
//! before it stay, and no others come. If a write `w` can satisfy it, every other write before `r` is before `w`; so no
//! other write ever can, whatever their order. In a run to an outcome `r` gets its value, hence from `w`. Taking `r`
//! away earlier disables nothing, adds no order and takes none but `r`'s own; a write that arrives at its thread is after `r`,
//! so that `r` does not make it a predecessor. Reads of read-modify-writes are left out: their writes do disable steps.
//!
//! **Propagation** (`Reduction::Propagation`). `r` can go to the thread `u`, and
//!
//! 1. *it decides no order there*: all requests of `u` that conflict with `r` are accepted and have an order with it, and
//!    none of them is a read after it (for which `r` would become a predecessor) or a read of a read-modify-write (which
//!    looks at what has arrived); and `u` is a thread where predecessors never get ordered late (see `eager`). So
//!    the step only enters `u` among the threads that `r` has reached, be it taken now or later.
//! 2. If `r` is a read, *it gets its value there or never*: for each write that may satisfy it, those not ordered after it,
//!    `u` has been reached by the write already. (Writes still to be accepted are ordered after `r` if `r` has reached their
//!    thread; if there are others, the step is not settled.) So a run to an outcome has the step.
//! 3. If `r` is a write, *no read wants it elsewhere*: reads of its location that have no value yet are ordered before it,
//!    and none is still to be accepted. In a run to an outcome without the step, some write never goes everywhere; all reads have
//!    their values then, and the writes to each location their order, so that going there changes nothing.
//!
//! **Whole threads.** In x86 and SC, 2 and 3 are weaker. Call a thread whole if each of its reads waits for predecessors
//! (`RR_P`), every write to the location becomes one, and at system scope. Once a write is ordered before a read of a whole thread, the
//! read goes nowhere until the write is everywhere. So if such a read has gone somewhere when it is satisfied, then by a write that
//! is everywhere: a write that was before it when it left was everywhere then, and one that came later found the read absent from its own thread,
//! where the read can go only afterwards. Otherwise it is alone at its thread, and so is the write, which is the thread's own. Hence
//! in 2, a read of a whole thread that can go anywhere gets its value everywhere (the thread's own writes before it are
//! everywhere already); and in 3, only reads of the write's own thread matter, and only while the write is nowhere else.

use fencepost_program::{EventId, LocationId};

use crate::lostpop::architecture::Kinds;
use crate::lostpop::rules::Difference;
use crate::lostpop::state::State;
use crate::lostpop::{LostPop, Reduction, Step};
use crate::pack::members;

/// What is known of the program, computed once.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// Per thread: whether it is whole.
    whole: Vec<bool>,
    /// Per event: what may still come after it in its thread.
    after: Vec<Ahead>,
    /// Per thread: what may come at all.
    from_start: Vec<Ahead>,
}

/// Locations that requests still to be accepted may read or write, as sets.
#[derive(Copy, Clone, Debug, Default)]
struct Ahead {
    reads: u64,
    writes: u64,
}

/// Locations as a set: there are no more than slots.
fn only(location: LocationId) -> u64 {
    1 << location.index()
}

impl LostPop<'_> {
    /// Whether conflicting requests are ordered when they meet, as the arguments here and of `eager` demand.
    pub(super) fn observes_as_lean(&self) -> bool {
        let points = [
            Difference::AcceptMarksPredecessors,
            Difference::AcceptObserves,
            Difference::PropagateOrders,
            Difference::PredecessorEdges,
        ];
        points.into_iter().all(|point| self.rules.lean(point))
    }

    pub(super) fn find_settled(&self) -> Settled {
        let threads = self.requests.threads.len();
        let mut settled = Settled {
            whole: (0..threads).map(|thread| self.is_whole(thread)).collect(),
            after: vec![Ahead::default(); self.faces.len()],
            from_start: vec![Ahead::default(); threads],
        };
        for (thread, nodes) in self.nodes.iter().enumerate() {
            for event in nodes {
                let face = &self.faces[event.index()];
                let Some(location) = face.location else { continue };
                let enter = |ahead: &mut Ahead| {
                    let of = if face.is_read() { &mut ahead.reads } else { &mut ahead.writes };
                    *of |= only(location);
                };
                enter(&mut settled.from_start[thread]);
                let mut at = *event;
                while let Some(before) = self.parent[at.index()] {
                    enter(&mut settled.after[before.index()]);
                    at = before;
                }
            }
        }
        settled
    }

    fn is_whole(&self, thread: usize) -> bool {
        let waits = |read: EventId, write: usize| {
            let pair = self.pairs.of(write, read.index());
            !(pair.conflict && self.faces[write].is_write()) || (pair.predecessor && pair.scope == self.tree.system())
        };
        let is_whole = |read: EventId| {
            let face = &self.faces[read.index()];
            !face.is_read()
                || (face.kinds.has(Kinds::READ_READ_PRED) && (0..self.faces.len()).all(|write| waits(read, write)))
        };
        self.predecessors_early[thread] && self.nodes[thread].iter().copied().all(is_whole)
    }

    /// What a thread has still to accept.
    fn ahead(&self, state: &State, thread: usize) -> Ahead {
        match state.last(thread) {
            Some(last) => self.settled.after[last.index()],
            None => self.settled.from_start[thread],
        }
    }

    /// Keeps the first of the steps that decides nothing, alone; answers whether there is one.
    pub(super) fn keep_settled(&self, state: &State, steps: &mut Vec<Step>) -> bool {
        let is_settled = |step: &Step| match *step {
            Step::Accept(_) => false,
            Step::Propagate { slot, to } => self.decides_no_order(state, slot, to as usize),
            Step::Satisfy { read, .. } => self.decides_no_value(state, read),
        };
        let Some(settled) = steps.iter().copied().find(is_settled) else { return false };
        steps.clear();
        steps.push(settled);
        true
    }

    fn decides_no_value(&self, state: &State, read: u32) -> bool {
        self.reduces(Reduction::Satisfaction)
            && self.rules.lean(Difference::Between)
            && self.face(state, read).atomic.is_none()
            && state.propagated(read) == self.tree.system().0
    }

    fn decides_no_order(&self, state: &State, slot: u32, to: usize) -> bool {
        if !self.reduces(Reduction::Propagation) || !self.predecessors_early[to] {
            return false;
        }
        let Some(location) = self.face(state, slot).location else { return false };
        !self.gets_order_at(state, slot, location, to)
            && match state.reads >> slot & 1 == 1 {
                true => self.is_satisfied_there(state, slot, location, to),
                false => self.is_wanted_by_nobody(state, slot, location),
            }
    }

    /// Whether a request meets something at a thread, now or later, that it has no order with, or that looks at what arrives.
    fn gets_order_at(&self, state: &State, slot: u32, location: LocationId, to: usize) -> bool {
        let ahead = self.ahead(state, to);
        let is_read = state.reads >> slot & 1 == 1;
        let conflicting = if is_read { ahead.writes } else { ahead.reads | ahead.writes };
        if conflicting & only(location) != 0 {
            return true;
        }
        let top = self.tree.top();
        members(state.active & self.thread_slots[to]).any(|other| {
            if !self.pair(state, slot, other).conflict {
                return false;
            }
            if state.reads >> other & 1 == 1 {
                return !state.is_before(other, slot, top) || self.face(state, other).atomic.is_some();
            }
            !state.is_before(other, slot, top) && !state.is_before(slot, other, top)
        })
    }

    /// Whether a read is satisfied only after it has reached the thread (2).
    fn is_satisfied_there(&self, state: &State, read: u32, location: LocationId, to: usize) -> bool {
        let top = self.tree.top();
        let is_there_or_later = |write: u32| {
            !self.pair(state, write, read).conflict
                || state.propagated(write) >> to & 1 == 1
                || state.is_before(read, write, top)
        };
        let comes_later = |thread: usize| {
            state.propagated(read) >> thread & 1 == 1 || self.ahead(state, thread).writes & only(location) == 0
        };
        self.settled.whole[self.owner[read as usize]]
            || (members(state.writes & !self.init_slots).all(is_there_or_later)
                && (0..self.requests.threads.len()).all(comes_later))
    }

    /// Whether no read takes its value from the write before the write is everywhere (3).
    fn is_wanted_by_nobody(&self, state: &State, write: u32, location: LocationId) -> bool {
        let top = self.tree.top();
        let owner = self.owner[write as usize];
        let is_alone = state.propagated(write) == 1 << owner;
        (0..self.requests.threads.len()).all(|thread| {
            let waits = self.settled.whole[thread] && !(is_alone && thread == owner);
            let is_earlier = |read| !self.pair(state, write, read).conflict || state.is_before(read, write, top);
            waits
                || (self.ahead(state, thread).reads & only(location) == 0
                    && members(state.reads & self.thread_slots[thread]).all(is_earlier))
        })
    }
}
