//! Loops that nothing can end: a warp that is in the state in which it was before, after nothing but computation and
//! reads of memory that nobody has written since, does the same again for ever.
//!
//! A state is kept and compared with those behind it; after twice as many instructions another one is kept (Brent). So a
//! loop is found whatever its length, and whatever happened before it. Instructions that the state does not tell all
//! about (waits for mbarriers, whose first answer is a choice of this engine, and clocks) end a comparison: a loop with
//! one of them is never called endless.

use std::collections::HashMap;

use fencepost_syntax::sorted::SharedSort as _;

use crate::code::op::{Op, Pc, Space};
use crate::order::Cta;
use crate::run::Run;
use crate::run::synchronise::barrier::Named;
use crate::run::warp::{Block, Fragment, Warp};

/// Instructions of a warp, since the last that is more than computation and reading, before a state is kept.
const QUIET: u64 = 2048;

/// What decides how a warp goes on, as long as nobody else does anything.
pub(super) struct State {
    registers: Vec<[u64; 32]>,
    carry: [u64; 32],
    fragments: Vec<(Pc, u32, Option<Block>)>,
    exited: u32,
}

impl State {
    fn of(warp: &Warp) -> State {
        let (carry, exited, fragments) = (warp.carry, warp.exited, places(warp));
        State { registers: warp.registers.clone(), carry, fragments, exited }
    }

    fn is(&self, warp: &Warp) -> bool {
        self.exited == warp.exited
            && self.fragments == places(warp)
            && self.carry == warp.carry
            && self.registers == warp.registers
    }
}

/// Where its lanes stand, and what they wait for, in whatever generation.
fn places(warp: &Warp) -> Vec<(Pc, u32, Option<Block>)> {
    let block = |own: &Fragment| match own.blocked {
        Some(Block::Barrier { id, .. }) => Some(Block::Barrier { id, generation: 0 }),
        other => other,
    };
    let mut places: Vec<_> = warp.fragments.iter().map(|own| (own.pc, own.mask, block(own))).collect();
    places.shared_sort_by_key(|(pc, mask, _)| (*pc, *mask));
    places
}

/// A state that a warp was in.
pub(in crate::run) struct Seen {
    state: State,
    /// How often memory had been written, and what threads have to themselves.
    memory: (u64, u64),
    /// Lanes that have gone on since.
    ran: u32,
    /// The next one is kept after so many instructions of the warp.
    until: u64,
    span: u64,
}

/// Rounds of several warps, and the states that they were in at one of them.
#[derive(Default)]
pub(super) struct Rounds {
    states: Vec<(usize, State)>,
    barriers: HashMap<(Cta, u32), Named>,
    memory: (u64, u64),
    loud: u64,
    pub(super) count: u32,
}

/// Rounds of all warps in which nothing is written before a state is kept.
const ROUNDS: u32 = 64;

/// Whether the state of a warp tells all about what such an instruction does, and it does nothing to others.
pub(in crate::run) fn is_quiet(op: &Op) -> bool {
    match op {
        Op::Store(access, _) => access.place.space == Space::Local,
        Op::Compute { .. }
        | Op::SetPredicate { .. }
        | Op::Set { .. }
        | Op::Convert { .. }
        | Op::InsertField { .. }
        | Op::MoveHalves { .. }
        | Op::AddCarry { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Opaque { .. }
        | Op::ToGeneric { .. }
        | Op::FromGeneric { .. }
        | Op::IsSpace { .. }
        | Op::MapAddress { .. }
        | Op::CtaRank { .. }
        | Op::Load(..)
        // One that writes is noticed by what it writes.
        | Op::Atomic { .. }
        | Op::AtomicVector { .. }
        | Op::Fence { .. }
        | Op::Shuffle { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::ReduceWarp { .. }
        | Op::Elect { .. }
        | Op::SyncWarp { .. }
        | Op::Nothing => true,
        _ => false,
    }
}

impl Run<'_> {
    fn written_so_far(&self) -> (u64, u64) {
        (self.memory.version, self.memory.local_version)
    }

    /// These lanes of a warp have gone on: whether the warp is in a loop that only somebody else can end, and which lanes go round.
    pub(super) fn goes_round(&mut self, warp: usize, ran: u32) -> Option<u32> {
        let (own, memory) = (&self.warps[warp], self.written_so_far());
        if own.steps - own.loud < QUIET || self.flags_of.ghost.is_some() {
            if !self.seen.is_empty() {
                self.seen.remove(&warp);
            }
            return None;
        }
        let mut span = QUIET;
        if let Some(seen) = self.seen.get_mut(&warp).filter(|seen| seen.memory == memory) {
            seen.ran |= ran;
            let free = own.fragments.iter().filter(|own| own.blocked.is_none());
            // Lanes that are ready and have not had a turn may change everything.
            let all_ran = free.fold(0, |mask, own| mask | own.mask) & !seen.ran == 0;
            if all_ran && seen.state.is(own) {
                return Some(seen.ran);
            }
            if own.steps < seen.until {
                return None;
            }
            span = seen.span * 2;
        }
        let seen = Seen { state: State::of(own), memory, ran: 0, until: own.steps + span, span };
        self.seen.insert(warp, seen);
        None
    }

    /// Until somebody writes, these lanes of a warp need not be run, nor asked what they want to read.
    pub(super) fn rest(&mut self, warp: usize, ran: u32) {
        self.seen.remove(&warp);
        let version = self.memory.version;
        let goes_round = |own: &&mut Fragment| match own.blocked {
            None => true,
            Some(Block::Question) => own.mask & !ran == 0,
            _ => false,
        };
        let lanes = self.warps[warp].fragments.iter_mut().filter(goes_round);
        lanes.for_each(|own| own.blocked = Some(Block::Loop { version }));
    }

    /// Nobody can go on, and some ask memory again and again: whether they were in the same state before, so that they
    /// will ask for ever. What counts its rounds never is.
    pub(super) fn polls_for_ever(&self, rounds: &mut Rounds) -> bool {
        self.count_round(rounds);
        let same = |(warp, state): &(usize, State)| state.is(&self.warps[*warp]);
        if !rounds.states.is_empty() && rounds.states.iter().all(same) {
            return true;
        }
        if rounds.count.is_power_of_two() {
            let polls = |own: &Warp| own.fragments.iter().any(|own| matches!(own.blocked, Some(Block::Memory { .. })));
            let polling = self.warps.iter().enumerate().filter(|(_, own)| polls(own));
            rounds.states = polling.map(|(index, own)| (index, State::of(own))).collect();
        }
        false
    }

    fn count_round(&self, rounds: &mut Rounds) {
        let memory = self.written_so_far();
        if rounds.memory != memory {
            *rounds = Rounds { memory, ..Rounds::default() };
        }
        if rounds.loud != self.loud {
            rounds.states.clear();
            rounds.loud = self.loud;
        }
        rounds.count += 1;
    }

    /// Every warp has had its turn, and waits at a barrier or for a write: whether all of them were there before in the same
    /// state, so that they meet at barriers for ever.
    pub(super) fn go_round_together(&self, rounds: &mut Rounds) -> bool {
        self.count_round(rounds);
        if rounds.count < ROUNDS {
            return false;
        }
        let waits = |own: &Fragment| {
            let at_barrier = matches!(own.blocked, Some(Block::Barrier { .. } | Block::Lanes { .. } | Block::Aligned));
            at_barrier || matches!(own.blocked, Some(Block::Loop { .. } | Block::Memory { .. }))
        };
        if !self.warps.iter().flat_map(|own| &own.fragments).all(waits) {
            return false;
        }
        let same = |(warp, state): &(usize, State)| state.is(&self.warps[*warp]);
        let barrier = |(key, now): (&(Cta, u32), &Named)| match rounds.barriers.get(key) {
            Some(before) => before.same_place(now),
            None => now.progress().0 == 0,
        };
        if !rounds.states.is_empty() && rounds.states.iter().all(same) && self.barriers.iter().all(barrier) {
            return true;
        }
        if rounds.count.is_power_of_two() {
            let live = self.warps.iter().enumerate().filter(|(_, own)| !own.is_done());
            rounds.states = live.map(|(index, own)| (index, State::of(own))).collect();
            rounds.barriers = self.barriers.clone();
        }
        false
    }
}
