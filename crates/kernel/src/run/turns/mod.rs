//! Which warp runs next, what unblocks it, and when nothing can go on.

mod late;

pub use late::Late;

use fencepost_syntax::limits::{self, Ended};

use crate::report::{Doubt, Finding, Stuck, Waiting};
use crate::run::Run;
use crate::run::warp::{Block, Fragment};

/// How often those who poll memory are let go on though nothing has changed: some stop after a number of questions.
const PATIENCE: u32 = 4096;
/// Instructions of a warp before another one's turn.
const QUANTUM: u32 = 20_000;

impl Run<'_> {
    pub(in crate::run) fn schedule(&mut self) {
        let order = self.turns();
        let (mut patience, mut version) = (0, self.memory.version);
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
            if self.memory.version != version {
                (patience, version) = (0, self.memory.version);
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
            patience += 1;
            if patience > PATIENCE || !self.release_pollers() {
                self.hang();
                return;
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
            left = left.saturating_sub(self.advance(warp, index).max(1));
            if limits::is_over() {
                self.stopped = true;
                self.doubt(match limits::ended() {
                    Some(Ended::Memory) => Doubt::Memory,
                    Some(Ended::Cancelled) => Doubt::Cancelled,
                    _ => Doubt::Time,
                });
            }
        }
        limits::worked(self.warps[warp].steps - before);
        let total: u64 = self.warps.iter().map(|warp| warp.steps).sum();
        if total > self.options.steps {
            self.stopped = true;
            self.doubt(Doubt::Steps);
        }
        self.warps[warp].steps != before
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
        fragments.sort_by_key(|fragment| fragment.pc);
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
            Block::Memory { version } => self.memory.version != version,
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

    /// Lanes that poll memory may go on with the answer they have.
    fn release_pollers(&mut self) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            for fragment in &mut warp.fragments {
                if let Some(Block::Memory { .. }) = fragment.blocked {
                    fragment.blocked = None;
                    any = true;
                }
            }
        }
        any
    }

    fn hang(&mut self) {
        if self.find_diverged() {
            return;
        }
        let mut stuck = Vec::new();
        for index in 0..self.warps.len() {
            let warp = &self.warps[index];
            for fragment in &warp.fragments {
                let why = self.waiting(warp.cta, warp.alive(), fragment);
                stuck.push(Stuck {
                    cta: warp.cta,
                    warp: index as u32 % self.warps_per_cta,
                    lanes: fragment.mask,
                    pc: fragment.pc,
                    why,
                });
            }
        }
        let pc = stuck.first().map_or(0, |stuck| stuck.pc);
        self.find(1, pc, Finding::Hang { stuck });
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
            None => Waiting::Steps,
        }
    }
}

/// Whether the lanes of two fragments at one instruction wait for each other, or for nothing.
fn mergeable(a: &Fragment, b: &Fragment) -> bool {
    let meets = |block: Option<Block>| matches!(block, None | Some(Block::Lanes { .. } | Block::Aligned));
    meets(a.blocked) && meets(b.blocked)
}
