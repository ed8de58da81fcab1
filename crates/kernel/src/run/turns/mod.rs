//! Which warp runs next, what unblocks it, and when nothing can go on.

mod late;
pub(super) mod repeat;

pub use late::Late;

use fencepost_syntax::limits::{self, Ended};
use fencepost_syntax::sorted::SharedSort as _;

use crate::code::op::Pc;
use crate::report::{Cause, Doubt, Finding, Protocol, Stuck, Waiting};
use crate::run::Run;
use crate::run::flag::liveness::in_one_loop;
use crate::run::synchronise::backoff::may_lead_back;
use crate::run::warp::{Block, Fragment, lanes};
use repeat::Rounds;

/// How often those who poll memory are let go on though nothing has changed: some stop after a number of questions.
const PATIENCE: u32 = 4096;
/// Instructions that are run behind an access out of bounds, which would have ended the kernel, or to what is no mbarrier; or as
/// many as before it.
const BEHIND_FAULT: u64 = 1_000_000;
/// Instructions of a warp before another one's turn.
const QUANTUM: u32 = 20_000;

impl Run<'_> {
    pub(in crate::run) fn schedule(&mut self) {
        let order = self.turns();
        let (mut rounds, mut together) = (Rounds::default(), Rounds::default());
        loop {
            let mut progress = false;
            for &warp in &order {
                if !self.has_started(warp) {
                    continue;
                }
                progress |= self.turn(warp);
                if self.stopped {
                    return;
                }
            }
            if self.warps.iter().all(crate::run::warp::Warp::is_done) {
                return;
            }
            if progress && self.go_round_together(&mut together) {
                return self.hang(Some(Waiting::Round));
            }
            if progress || self.answer_questions() {
                continue;
            }
            if self.take_turn() || self.take_last_tickets() || self.release_held() {
                continue;
            }
            if self.stopped {
                return;
            }
            if self.start_another() || self.go_on_alone() {
                continue;
            }
            // Whoever polls a bounded number of times goes on without an answer.
            if self.polls_for_ever(&mut rounds) {
                return self.hang(None);
            }
            if rounds.count > PATIENCE {
                return self.give_up_polling();
            }
            if !self.release_pollers() {
                return self.hang(None);
            }
        }
    }

    fn turns(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.warps.len()).collect();
        let mut state = self.options.seed;
        if state != 0 {
            for index in (1..order.len()).rev() {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                order.swap(index, (state % (index as u64 + 1)) as usize);
            }
        }
        order
    }

    /// Runs a warp until it blocks. True if it did anything.
    pub(in crate::run) fn turn(&mut self, warp: usize) -> bool {
        let before = self.warps[warp].steps;
        let mut left = QUANTUM;
        while left > 0 && !self.stopped {
            let Some(index) = self.choose(warp) else { break };
            let mask = self.warps[warp].fragments[index].mask;
            left = left.saturating_sub(self.advance(warp, index).max(1));
            if limits::is_over() {
                self.end_by_limit();
            }
            if let Some(ran) = self.goes_round(warp, mask) {
                self.rest(warp, ran);
            }
        }
        limits::worked(self.warps[warp].steps - before);
        self.count_steps();
        self.warps[warp].steps != before
    }

    /// Time or memory is over, or somebody asked to stop.
    pub(in crate::run) fn end_by_limit(&mut self) {
        self.stopped = true;
        self.doubt(match limits::ended() {
            Some(Ended::Memory) => Doubt::Memory,
            Some(Ended::Cancelled) => Doubt::Cancelled,
            _ => Doubt::Time,
        });
    }

    fn count_steps(&mut self) {
        let total: u64 = self.warps.iter().map(|warp| warp.steps).sum();
        if total > self.options.steps {
            self.stopped = true;
            self.doubt(Doubt::Steps);
        }
        // What is no mbarrier answers no question: who waits for it would go on to the limit.
        let is_fault = |own: &Finding| match own {
            Finding::OutOfBounds { .. } | Finding::Misaligned { .. } => true,
            Finding::Protocol { what, .. } => *what == Protocol::NotAnMbarrier,
            _ => false,
        };
        if self.faulted.is_none() && self.findings.values().any(is_fault) {
            self.faulted = Some(total);
        }
        if self.faulted.is_some_and(|at| total > at + at.max(BEHIND_FAULT)) {
            self.stopped = true;
            self.doubt(Doubt::Fault);
        }
    }

    /// The fragment with the lowest instruction that can go on: those behind meet it there.
    fn choose(&mut self, warp: usize) -> Option<usize> {
        self.merge(warp);
        for index in 0..self.warps[warp].fragments.len() {
            if self.warps[warp].fragments[index].blocked.is_some() {
                self.try_unblock(warp, index);
            }
        }
        self.merge(warp);
        self.warps[warp].turns += 1;
        let turn = self.warps[warp].turns;
        let fragments = &self.warps[warp].fragments;
        let ready = fragments.iter().enumerate().filter(|(_, fragment)| fragment.blocked.is_none());
        // Now and then those further on: lanes behind may be waiting for what they do.
        if turn % 8 == 7 {
            return ready.max_by_key(|(_, fragment)| fragment.pc).map(|(index, _)| index);
        }
        ready.min_by_key(|(_, fragment)| fragment.pc).map(|(index, _)| index)
    }

    /// Lanes that stand at the same instruction go on together.
    fn merge(&mut self, warp: usize) {
        let fragments = &mut self.warps[warp].fragments;
        if fragments.len() < 2 {
            return;
        }
        fragments.shared_sort_by_key(|fragment| fragment.pc);
        let mut merged: Vec<Fragment> = Vec::with_capacity(fragments.len());
        for fragment in fragments.drain(..) {
            match merged.last_mut() {
                Some(last) if last.pc == fragment.pc && mergeable(last, &fragment) => {
                    last.mask |= fragment.mask;
                    last.blocked = None;
                }
                _ => merged.push(fragment),
            }
        }
        *fragments = merged;
    }

    fn try_unblock(&mut self, warp: usize, index: usize) {
        let fragment = self.warps[warp].fragments[index].clone();
        let Some(block) = fragment.blocked else { return };
        let free = match block {
            Block::Barrier { id, generation } => self.leave_barrier(warp, &fragment, id, generation),
            Block::Cluster { phase } => self.leave_cluster(warp, &fragment, phase),
            Block::Mbarrier { object, phase } => self.phase_is_complete(object, phase),
            Block::Products { count } => self.parts_have_started(warp, count as usize),
            Block::Memory { version } | Block::Loop { version } => self.memory.version != version,
            Block::SyncWarp { mask } => self.leave_sync_warp(warp, mask),
            Block::Columns { count } => self.has_columns(warp, count),
            Block::Pair { index } => self.peer_has_come(self.warps[warp].cta, index),
            Block::Held => self.released,
            Block::Lanes { mask } => mask & self.warps[warp].alive() & !fragment.mask == 0,
            Block::Aligned => fragment.mask == self.warps[warp].alive(),
            Block::Question | Block::Ticket | Block::Turn => false,
        };
        if free && let Some(fragment) = self.warps[warp].fragments.get_mut(index) {
            fragment.blocked = None;
            // At a barrier the instruction is over; a question is asked again.
            if matches!(block, Block::Barrier { .. } | Block::Cluster { .. } | Block::SyncWarp { .. }) {
                fragment.pc += 1;
            }
        }
    }

    /// Lanes that poll memory may go on with the answer they have, as if they had not asked before.
    fn release_pollers(&mut self) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            for fragment in &mut warp.fragments {
                if let Some(Block::Memory { .. }) = fragment.blocked {
                    fragment.blocked = None;
                    lanes(fragment.mask).for_each(|lane| warp.asked[lane as usize].times = 0);
                    any = true;
                }
            }
        }
        any
    }

    /// Those who poll count their rounds, or look at a clock: whether they stop is not known.
    fn give_up_polling(&mut self) {
        let fragments = self.warps.iter().flat_map(|warp| &warp.fragments);
        let polling: Vec<_> =
            fragments.filter(|own| matches!(own.blocked, Some(Block::Memory { .. }))).map(|own| own.pc).collect();
        polling.into_iter().for_each(|pc| self.doubt(Doubt::Polls { pc }));
        self.stopped = true;
    }

    /// A branch that may end a loop in which somebody waits or goes round: on the number of rounds, on a clock, or on a value that
    /// this run has made up. Which value it has in an execution is not known, or not for ever the same.
    fn may_go_on(&self) -> Option<Pc> {
        let made_up = self.doubts.iter().filter_map(|doubt| match doubt {
            Doubt::Decided { by: Cause::Read | Cause::Atomic | Cause::Wait, .. } => None,
            Doubt::Decided { pc, by } => Some((*pc, *by)),
            _ => None,
        });
        let stuck = || self.warps.iter().flat_map(|warp| &warp.fragments);
        let may_leave = |(branch, by): &(Pc, Cause)| {
            stuck().any(|own| match own.blocked {
                Some(Block::Mbarrier { .. }) => *by == Cause::Clock && may_lead_back(&self.code, *branch, own.pc),
                Some(Block::Memory { .. } | Block::Loop { .. }) => in_one_loop(&self.code, *branch, own.pc),
                _ => false,
            })
        };
        made_up.into_iter().find(may_leave).map(|(branch, _)| branch)
    }

    /// For a reason that all have, or each for its own.
    fn hang(&mut self, all: Option<Waiting>) {
        if self.find_diverged() {
            return;
        }
        if let Some(pc) = self.may_go_on() {
            return self.doubt(Doubt::Polls { pc });
        }
        let stuck = self.standing(all.as_ref());
        let pc = stuck.first().map_or(0, |stuck| stuck.pc);
        self.find(1, pc, Finding::Hang { stuck });
    }

    /// Where each warp stands, and what it waits for: the same for all, or each for its own.
    pub(in crate::run) fn standing(&self, all: Option<&Waiting>) -> Vec<Stuck> {
        let started = (0..self.warps.len()).filter(|index| self.has_started(*index));
        let of_warp = |index: usize| {
            let warp = &self.warps[index];
            warp.fragments.iter().map(move |fragment| Stuck {
                cta: warp.cta,
                warp: index as u32 % self.warps_per_cta,
                lanes: fragment.mask,
                pc: fragment.pc,
                why: all.cloned().unwrap_or_else(|| self.waiting(warp.cta, warp.alive(), fragment)),
            })
        };
        started.flat_map(of_warp).collect()
    }

    fn waiting(&self, cta: u32, alive: u32, fragment: &Fragment) -> Waiting {
        match fragment.blocked {
            Some(Block::Barrier { id, .. }) => {
                let (arrived, expected) = self.barriers.get(&(cta, id)).map_or((0, 0), |named| named.progress());
                Waiting::Barrier { id, arrived, expected }
            }
            Some(Block::Cluster { .. }) => Waiting::Cluster,
            Some(Block::Lanes { mask } | Block::SyncWarp { mask }) => {
                Waiting::Lanes { missing: mask & alive & !fragment.mask }
            }
            Some(Block::Aligned) => Waiting::Lanes { missing: alive & !fragment.mask },
            Some(Block::Mbarrier { object, phase }) => self.waiting_for_phase(object, phase),
            Some(Block::Products { .. }) => Waiting::Products,
            Some(Block::Pair { .. }) => Waiting::Peer,
            Some(Block::Columns { count }) => Waiting::Columns { count },
            Some(Block::Memory { .. } | Block::Question | Block::Ticket | Block::Turn | Block::Held) => Waiting::Memory,
            Some(Block::Loop { .. }) => Waiting::Loop,
            None => Waiting::Nothing,
        }
    }
}

/// Whether the lanes of two fragments at one instruction wait for each other, or for nothing.
fn mergeable(a: &Fragment, b: &Fragment) -> bool {
    let meets = |block: Option<Block>| matches!(block, None | Some(Block::Lanes { .. } | Block::Aligned));
    meets(a.blocked) && meets(b.blocked)
}
