//! A round of a waiting loop that is run for its own sake: a lane is given a value, and goes on with its CTA until nobody
//! can. If everybody is then where he was, in the same state, the lane waits as long as it is given such values.
//!
//! Everything is put back afterwards, barriers and what lanes know included: that a round took place adds nothing to the
//! order of what comes behind it, for in another run there is none. What a round accesses is checked against all that
//! came before and against another round, and must lie before the end of the round for every thread of the CTA:
//! then it lies before all that comes behind.

use std::collections::HashMap;
use std::rc::Rc;

use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use super::super::Run;
use super::super::synchronise::barrier::Named;
use super::super::warp::{Block, Fragment, Warp, lanes};
use super::symbol::{NodeId, QuestionId};
use crate::code::op::{Op, Order, Pc, Register, Source};
use crate::memory::{At, Change};
use crate::order::{Cta, Region, Views};
use crate::report::{Covered, Doubt, Finding};

/// Turns of every warp of the CTA.
const MOST_TURNS: u32 = 8;

/// An access of the round to memory of its CTA.
struct Access {
    warp: u32,
    lane: u32,
    time: u32,
    start: u64,
    len: u64,
    writes: bool,
}

#[derive(Default)]
pub(in crate::run) struct Ghost {
    warp: usize,
    lane: u32,
    value: u64,
    /// Nothing is checked yet: the value may lead out of the loop, and then this round is none.
    pub(in crate::run) dry: bool,
    escaped: bool,
    saved: Option<Box<State>>,
    accesses: Vec<Access>,
    decisions: Vec<(NodeId, u64)>,
    /// Accesses before the first decision that depends on the value.
    undecided: Option<usize>,
    /// The question that the value was given to.
    question: QuestionId,
    /// Other warps of the CTA may have moved.
    met: bool,
}

/// Whether a lane is stuck with some value, and who has to move before it may be otherwise.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stuck {
    Nowhere,
    UntilWarpMoves,
    UntilCtaMoves,
}

impl Ghost {
    pub(super) fn given(&self, warp: usize, lane: u32) -> Option<u64> {
        ((self.warp, self.lane) == (warp, lane)).then_some(self.value)
    }

    pub(super) fn decide(&mut self, node: NodeId, value: u64) {
        self.undecided.get_or_insert(self.accesses.len());
        self.decisions.push((node, value));
    }
}

/// What lanes of a warp know, by groups that know the same.
type Groups = Vec<(u32, Rc<Views>)>;

/// What is put back, besides what memory and symbols undo themselves. Warps from the moment on at which they may move.
struct State {
    warps: SortedMap<usize, (Warp, Groups)>,
    barriers: HashMap<(Cta, u32), Named>,
    findings: SortedMap<(u8, Pc, u32), Finding>,
    doubts: SortedSet<Doubt>,
    flags: SortedSet<Pc>,
    covered: Covered,
    questions: usize,
    decisions: usize,
    sc_fences: Vec<Rc<crate::order::Message>>,
}

/// A round that was tried: what it decided, the question, and whether it is kept as one that leads back.
struct Tried {
    decisions: Vec<(NodeId, u64)>,
    question: QuestionId,
    returned: bool,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum End {
    Returned,
    Escaped,
    Stuck,
}

impl Run<'_> {
    /// The values with which the lane comes back to its question; and whether with another it is stuck for now.
    pub(super) fn try_values(
        &mut self,
        warp: usize,
        index: usize,
        lane: u32,
        now: u64,
        values: &SortedSet<u64>,
    ) -> (SortedSet<u64>, Stuck) {
        let (mut again, mut stuck) = (SortedSet::new(), Stuck::Nowhere);
        // What leads the same way as a value that was tried is not tried.
        let mut tried: Vec<Tried> = Vec::new();
        for value in std::iter::once(&now).chain(values.iter().filter(|value| **value != now)) {
            if again.contains(value) {
                continue;
            }
            let alike = |own: &&Tried| {
                let mut decisions = own.decisions.iter();
                !own.decisions.is_empty() && decisions.all(|one| self.decides_alike(*one, own.question, *value))
            };
            if let Some(Tried { question, returned, .. }) = tried.iter().find(alike) {
                if *returned {
                    again.insert(*value);
                    if let Some(given) = &mut self.flags_of.questions[*question as usize].forced {
                        given.insert(*value);
                    }
                }
                continue;
            }
            let (end, ghost) = self.round(warp, index, lane, *value, true);
            let mut returned = end == End::Returned;
            if returned {
                let (second, _) = self.checked_rounds(warp, index, lane, *value, &ghost);
                returned = second == End::Returned;
            }
            if returned {
                again.insert(*value);
            }
            if end == End::Stuck {
                stuck = stuck.max(if ghost.met { Stuck::UntilCtaMoves } else { Stuck::UntilWarpMoves });
            }
            tried.push(Tried { decisions: ghost.decisions, question: ghost.question, returned });
        }
        (again, stuck)
    }

    fn decides_alike(&self, (node, outcome): (NodeId, u64), question: QuestionId, value: u64) -> bool {
        let read = |own: QuestionId| {
            if own == question { value } else { self.flags_of.questions.get(own as usize).map_or(0, |own| own.value) }
        };
        self.flags_of.symbols.value(node, &read) == Some(outcome)
    }

    /// Two rounds in which accesses are checked: those of a round are ordered with those of the round before it too.
    fn checked_rounds(&mut self, warp: usize, index: usize, lane: u32, value: u64, dry: &Ghost) -> (End, Ghost) {
        let region = Region::Shared(self.warps[warp].cta);
        let ranges: SortedSet<(u64, u64)> = dry.accesses.iter().map(|own| (own.start, own.len)).collect();
        let cells: Vec<_> = ranges.iter().map(|(start, len)| self.order.save_cells(region, *start, *len)).collect();
        let ended = self.round(warp, index, lane, value, false);
        cells.into_iter().for_each(|cells| self.order.restore_cells(region, cells));
        ended
    }

    /// Whether every thread of the CTA comes after all that the round has accessed.
    fn all_behind(&self, ghost: &Ghost) -> bool {
        if ghost.accesses.is_empty() {
            return true;
        }
        let last: SortedMap<(u32, u32), u32> =
            ghost.accesses.iter().map(|own| ((own.warp, own.lane), own.time)).collect();
        let first = self.warps[ghost.warp].cta * self.warps_per_cta;
        (first..first + self.warps_per_cta).all(|warp| {
            let alive = self.warps[warp as usize].alive();
            self.order.groups(warp, alive).iter().all(|(mask, views)| {
                last.iter().all(|((other, lane), time)| {
                    let others = if *other == warp { mask & !(1 << lane) } else { *mask };
                    others == 0 || views.known.base.threads.knows(*other, *lane, *time)
                })
            })
        })
    }

    /// One round without any check, or two with them.
    fn round(&mut self, warp: usize, index: usize, lane: u32, value: u64, dry: bool) -> (End, Ghost) {
        let question = self.flags_of.questions.len() as QuestionId;
        let ghost = Ghost { warp, lane, value, dry, question, ..Ghost::default() };
        self.flags_of.ghost = Some(ghost);
        self.save(warp);
        self.memory.begin();
        self.flags_of.symbols.begin();
        let mut end = End::Stuck;
        for _ in 0..if dry { 1 } else { 2 } {
            let at = if dry { Some(index) } else { self.waiting_question(warp, lane) };
            let Some(at) = at else { break };
            self.admit(warp, at);
            self.run_cta(self.warps[warp].cta);
            end = self.ended();
            if !dry && end == End::Returned {
                let ghost = self.flags_of.ghost.take().unwrap_or_default();
                if !self.all_behind(&ghost) {
                    end = End::Stuck;
                }
                self.flags_of.ghost = Some(ghost);
            }
            if end != End::Returned {
                break;
            }
        }
        let mut ghost = self.flags_of.ghost.take().unwrap_or_default();
        self.restore(&mut ghost, end);
        (end, ghost)
    }

    fn waiting_question(&self, warp: usize, lane: u32) -> Option<usize> {
        let asks = |own: &Fragment| matches!(own.blocked, Some(Block::Question | Block::Turn));
        let is = |own: &Fragment| asks(own) && own.mask == 1 << lane;
        self.warps[warp].fragments.iter().position(is)
    }

    fn save(&mut self, warp: usize) {
        self.overs.begin_round();
        let cta = self.warps[warp].cta;
        let warps = SortedMap::from([(warp, (self.warps[warp].clone(), self.order.all_groups(warp as u32)))]);
        let barriers = self.barriers.iter().filter(|((own, _), _)| *own == cta);
        let state = State {
            warps,
            barriers: barriers.map(|(key, named)| (*key, named.clone())).collect(),
            findings: self.findings.clone(),
            doubts: self.doubts.clone(),
            flags: self.flags.clone(),
            covered: self.covered.clone(),
            questions: self.flags_of.questions.len(),
            decisions: self.flags_of.decisions.len(),
            sc_fences: self.sc_fences.clone(),
        };
        if let Some(ghost) = &mut self.flags_of.ghost {
            ghost.saved = Some(Box::new(state));
        }
    }

    /// A barrier may let the other warps of the CTA go on.
    fn save_others(&mut self, cta: Cta) {
        if let Some(ghost) = &mut self.flags_of.ghost {
            ghost.met = true;
        }
        let first = (cta * self.warps_per_cta) as usize;
        for warp in first..first + self.warps_per_cta as usize {
            let own = (self.warps[warp].clone(), self.order.all_groups(warp as u32));
            if let Some(saved) = self.flags_of.ghost.as_mut().and_then(|ghost| ghost.saved.as_mut()) {
                saved.warps.entry(warp).or_insert(own);
            }
        }
    }

    fn run_cta(&mut self, cta: Cta) {
        let first = (cta * self.warps_per_cta) as usize;
        for _ in 0..MOST_TURNS {
            let mut progress = false;
            for warp in first..first + self.warps_per_cta as usize {
                let moves = |ghost: &Ghost| ghost.saved.as_ref().is_some_and(|saved| saved.warps.contains_key(&warp));
                if self.flags_of.ghost.as_ref().is_some_and(moves) {
                    progress |= self.turn(warp);
                }
                if self.stopped {
                    return;
                }
            }
            if !progress {
                return;
            }
        }
        if let Some(ghost) = &mut self.flags_of.ghost {
            ghost.escaped = true;
        }
    }

    /// An instruction that others may notice, or that may notice others, is no part of a round.
    pub(in crate::run) fn escapes(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) -> bool {
        if self.flags_of.ghost.is_none() {
            if let Some(moves) = self.flags_of.moves.get_mut(warp) {
                *moves += 1;
            }
            self.note_step(warp, pc, active, op);
            return false;
        }
        let permitted = match op {
            Op::Load(..) => true,
            Op::Store(access, _) => access.order == Order::Weak,
            Op::Atomic { .. } => self.is_attempt(warp, active, op),
            Op::Barrier { .. } => {
                self.save_others(self.warps[warp].cta);
                true
            }
            Op::Opaque { .. } | Op::Clock { .. } | Op::IsSpace { .. } | Op::MapAddress { .. } | Op::CtaRank { .. } => {
                true
            }
            Op::Fence { .. } | Op::SyncWarp { .. } | Op::Shuffle { .. } | Op::Vote { .. } | Op::Match { .. } => true,
            Op::ReduceWarp { .. } | Op::Elect { .. } | Op::ActiveMask { .. } => true,
            Op::Branch { .. } | Op::BranchIndexed { .. } => true,
            other => other.computed().is_some(),
        };
        if !permitted {
            self.escape();
        }
        !permitted
    }

    pub(in crate::run) fn escape(&mut self) {
        if let Some(ghost) = &mut self.flags_of.ghost {
            ghost.escaped = true;
            self.stopped = true;
        }
    }

    /// An access of a round. False if it is to memory that others see.
    pub(in crate::run) fn in_round(
        &mut self,
        (warp, lane): (usize, u32),
        at: At,
        len: u64,
        writes: bool,
        asked: bool,
    ) -> bool {
        let cta = self.warps[warp].cta;
        let time = self.order.time(warp as u32);
        // Who else is in the cluster may see shared memory.
        let alone = self.launch.ctas_per_cluster() <= 1;
        if self.flags_of.ghost.is_none() {
            return true;
        }
        if let (At::Memory(region, start), true) = (at, writes)
            && !self.flags_of.over(region, start, len).is_empty()
        {
            self.escape();
            return false;
        }
        let Some(ghost) = &mut self.flags_of.ghost else { return true };
        match at {
            At::Memory(Region::Shared(owner), start) if owner == cta && alone && !asked => {
                ghost.accesses.push(Access { warp: warp as u32, lane, time, start, len, writes });
                true
            }
            At::Memory(..) if asked => true,
            At::Param(_) => true,
            At::Local(_) if !writes => true,
            _ => {
                self.escape();
                false
            }
        }
    }

    fn ended(&mut self) -> End {
        let Some(ghost) = &self.flags_of.ghost else { return End::Stuck };
        if ghost.escaped {
            return End::Escaped;
        }
        if self.stopped {
            return End::Stuck;
        }
        let Some(saved) = &ghost.saved else { return End::Stuck };
        let warps = saved.warps.iter().all(|(warp, (before, _))| self.same_warp(before, &self.warps[*warp]));
        let barriers = self.barriers.iter().filter(|((cta, _), _)| *cta == self.warps[ghost.warp].cta).all(
            |(key, now)| match saved.barriers.get(key) {
                Some(before) => before.same_place(now),
                None => now.progress().0 == 0,
            },
        );
        if warps && barriers && self.memory_is_same(ghost) { End::Returned } else { End::Stuck }
    }

    fn same_warp(&self, before: &Warp, now: &Warp) -> bool {
        let Some(liveness) = &self.flags_of.liveness else { return false };
        let key = |own: &Fragment| {
            let block = own.blocked.map(|block| match block {
                Block::Barrier { id, .. } => Block::Barrier { id, generation: 0 },
                other => other,
            });
            (own.pc, own.mask, format!("{block:?}"))
        };
        let sorted = |warp: &Warp| {
            let mut keys: Vec<_> = warp.fragments.iter().map(key).collect();
            keys.shared_sort();
            keys
        };
        if before.exited != now.exited
            || before.carry != now.carry
            || before.carry_taint != now.carry_taint
            || sorted(before) != sorted(now)
        {
            return false;
        }
        let differs = |register: &Register| {
            let at = *register as usize;
            before.registers[at] != now.registers[at]
                || before.undefined[at] != now.undefined[at]
                || before.taint[at] != now.taint[at]
        };
        let changed: Vec<Register> = (0..now.registers.len() as Register).filter(differs).collect();
        now.fragments.iter().all(|fragment| {
            changed.iter().filter(|register| liveness.is_live(fragment.pc, **register)).all(|register| {
                lanes(fragment.mask).all(|lane| {
                    let source = Source::Register(*register);
                    before.get(source, lane) == now.get(source, lane)
                        && (before.undefined_lanes(source) ^ now.undefined_lanes(source)) & (1 << lane) == 0
                        && before.taint_of(source, 1 << lane) == now.taint_of(source, 1 << lane)
                })
            })
        })
    }

    /// What the round changed in memory, each round overwrites before it reads it or decides anything.
    fn memory_is_same(&self, ghost: &Ghost) -> bool {
        let before_decision = ghost.undecided.unwrap_or(ghost.accesses.len());
        let overwritten = |byte: u64| {
            let first = ghost.accesses.iter().position(|own| (own.start..own.start + own.len).contains(&byte));
            first.is_some_and(|at| ghost.accesses[at].writes && at < before_decision)
        };
        let dead = |change: &Change| (change.offset..change.offset + change.old.bytes.len() as u64).all(overwritten);
        self.memory.local_is_same()
            && self.memory.changes().iter().all(|change| !self.memory.differs(change) || dead(change))
    }

    fn restore(&mut self, ghost: &mut Ghost, end: End) {
        let Some(saved) = ghost.saved.take() else { return };
        self.memory.undo();
        for (warp, (own, groups)) in saved.warps {
            let (steps, lane_steps) = (self.warps[warp].steps, self.warps[warp].lane_steps);
            self.warps[warp] = Warp { steps, lane_steps, ..own };
            self.order.set_groups(warp as u32, groups);
        }
        let cta = self.warps[ghost.warp].cta;
        self.barriers.retain(|(own, _), _| *own != cta);
        self.barriers.extend(saved.barriers);
        self.flags_of.symbols.undo();
        self.flags = saved.flags;
        self.covered = saved.covered;
        self.sc_fences = saved.sc_fences;
        self.blocking = None;
        self.stopped = false;
        // Of a round that leads back everything counts.
        if end != End::Returned {
            self.findings = saved.findings;
            self.doubts = saved.doubts;
            self.flags_of.questions.truncate(saved.questions);
            self.flags_of.decisions.truncate(saved.decisions);
        }
    }
}
