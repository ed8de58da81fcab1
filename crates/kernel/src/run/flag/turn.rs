//! Threads that take turns at a place in memory: locks and queues (docs/kernels.md, "Locks and queues").
//!
//! All atomic operations on such a place are morally strong, so that coherence orders them, and each reads what the one
//! before it left (8.10.3). Which order that is, nothing determines: there is a run for each ([`crate::slice::orders`]). In
//! a run everybody who comes to such an operation waits until nobody else can go on; then one of them is let go, and
//! the next choice is made when again nobody can. Given the order, results are determined, and every operation
//! hears what those before it have published (8.9.2).
//!
//! Of a lock that is held every further attempt fails. A round of the loop around it is tried for each attempt as for a
//! wait for a flag ([`super::ghost`]): it must lead back to the attempt.

use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use super::super::Run;
use super::super::taint::Read;
use super::super::warp::{Block, Fragment, lanes};
use super::{Place, knows};
use crate::code::op::{Access, Atomic, Op, Pc, Register, Scope, Source, Space};
use crate::memory::At;
use crate::order::clock::View;
use crate::order::{Cta, Region, in_scope};
use crate::report::Doubt;

/// How threads take turns at a place.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Turn {
    /// Taken by an atomic operation that finds `free` and leaves `held`, and that is tried again where it finds `held`;
    /// given back by a write of `free`.
    Lock { free: u64, held: u64 },
    /// Nothing but atomic operations.
    Queue,
}

/// Where threads take turns, and in which order.
#[derive(Clone, Default, Debug)]
pub struct Turns {
    pub places: SortedMap<Place, Turn>,
    /// The number of the one who is let go, choice by choice; behind the last of them the first who waits.
    pub choices: Vec<u32>,
}

/// What a run has seen of them.
#[derive(Clone, Default, Debug)]
pub struct Taken {
    /// The choices: which one, and of how many.
    pub choices: Vec<(u32, u32)>,
    /// What was done under locks, in the order of this run.
    pub sections: Vec<Section>,
    /// There were more.
    pub cut: bool,
    /// Places at which threads do something else than take turns.
    pub refused: SortedSet<Place>,
}

/// From taking a lock to giving it back.
#[derive(Clone, Debug)]
pub struct Section {
    pub place: Place,
    pub cta: Cta,
    pub warp: u32,
    pub lane: u32,
    time: u32,
    pub take: Pc,
    pub give: Option<Pc>,
    /// The thread that gives it back is the one that took it.
    pub own: bool,
    /// Fences of the thread between taking the lock and its first access or barrier.
    pub first_fences: Vec<Pc>,
    /// Fences between its last access or barrier and giving the lock back.
    pub last_fences: Vec<Pc>,
    /// Barriers of the CTA that it passes.
    pub barriers: u32,
    begun: bool,
    /// Fences since the last access or barrier, and before it.
    fences: Vec<Pc>,
    before_access: Vec<Pc>,
}

impl Section {
    /// An access or a barrier.
    fn go_on(&mut self) {
        let fences = std::mem::take(&mut self.fences);
        if !self.begun {
            self.begun = true;
            self.first_fences.clone_from(&fences);
        }
        self.before_access = fences;
    }
}

/// What was done to a place so far, to know whether it is one for turns.
#[derive(Clone, Default)]
pub(super) struct Uses {
    held: Option<u64>,
    pub(super) not_lock: bool,
    pub(super) not_queue: bool,
    written: bool,
}

/// A write of one lane to a place that is looked after.
pub(super) struct Written {
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) time: u32,
    pub(super) cta: Cta,
    /// The operation, its operands, and whether somebody gets the result; None: a store.
    pub(super) atomic: Option<(Atomic, [u64; 2], bool)>,
    pub(super) after: u64,
    pub(super) scope: Option<Scope>,
    /// It writes exactly this place, and what it writes is determined.
    pub(super) plain: bool,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Role {
    Take(u64),
    Give,
    Other,
}

fn role(free: u64, held: Option<u64>, atomic: Option<(Atomic, [u64; 2], bool)>, after: u64) -> Role {
    let may_hold = |value: u64| value != free && held.is_none_or(|held| held == value);
    match atomic {
        Some((Atomic::CompareAndSwap, [from, to], true)) if from == free && may_hold(to) => Role::Take(to),
        Some((Atomic::Exchange, [to, _], true)) if may_hold(to) => Role::Take(to),
        Some((Atomic::Exchange, [to, _], _)) if to == free => Role::Give,
        Some((Atomic::CompareAndSwap, [from, to], _)) if Some(from) == held && to == free => Role::Give,
        None if after == free => Role::Give,
        _ => Role::Other,
    }
}

impl Uses {
    fn note(&mut self, start: u64, written: &Written) {
        self.written = true;
        let strong = written.scope.is_some() && written.plain;
        // What a compare-and-swap that fails has read, coherence does not tell.
        let exchanges = written.atomic.is_some_and(|(operation, ..)| operation != Atomic::CompareAndSwap);
        self.not_queue |= !strong || !exchanges;
        match role(start, self.held, written.atomic, written.after) {
            Role::Take(held) if strong => self.held = Some(held),
            Role::Give if strong && self.held.is_some() => {}
            _ => self.not_lock = true,
        }
    }

    /// Something wrote here that is not understood.
    pub(super) fn spoil(&mut self) {
        (self.not_lock, self.not_queue) = (true, true);
    }

    pub(super) fn kind(&self, start: u64) -> Option<Turn> {
        match self.held {
            Some(held) if !self.not_lock => Some(Turn::Lock { free: start, held }),
            _ if self.written && !self.not_queue => Some(Turn::Queue),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(in crate::run) struct State {
    pub(in crate::run) taken: Taken,
    /// Who holds each lock: the number of the section.
    holders: SortedMap<(Region, u64), usize>,
    /// Who has operated on each place, with what scope.
    users: SortedMap<(Region, u64), SortedSet<(Cta, Scope)>>,
    /// The operations on queues: who, and when.
    operations: Vec<(u32, u32, u32)>,
    /// Who waited at a queue while how many of them were done.
    waited: SortedMap<(usize, u32), usize>,
    /// The instruction under way.
    pub(super) pc: Pc,
}

const MOST_SECTIONS: usize = 256;

impl Run<'_> {
    fn turns_on(&self) -> bool {
        !self.options.turns.places.is_empty()
    }

    /// Whether the order of the operations on a place is that of this run.
    pub(in crate::run) fn in_turn(&self, at: (Region, u64)) -> bool {
        self.turns_on() && self.options.turns.places.keys().any(|place| (place.0, place.1) == at)
    }

    /// The place at which an operation of a lane needs its turn.
    fn turn_place(&self, warp: usize, lane: u32, op: &Op) -> Option<(Place, Turn)> {
        let Op::Atomic { access, operation, to, from } = op else { return None };
        self.turn_of(warp, lane, access, *operation, *to, *from)
    }

    fn turn_of(
        &self,
        warp: usize,
        lane: u32,
        access: &Access,
        operation: Atomic,
        to: Option<Register>,
        from: [Source; 2],
    ) -> Option<(Place, Turn)> {
        let place = self.asked_place(warp, lane, access)?;
        let kind = *self.options.turns.places.get(&place)?;
        let Turn::Lock { free, held } = kind else { return Some((place, kind)) };
        let operands = from.map(|source| access.ty.cut(self.warps[warp].get(source, lane)));
        let is_attempt = role(free, Some(held), Some((operation, operands, to.is_some())), free) == Role::Take(held);
        is_attempt.then_some((place, kind))
    }

    /// Lanes that wait for their turn.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::run) fn must_take_turn(
        &self,
        warp: usize,
        active: u32,
        access: &Access,
        operation: Atomic,
        to: Option<Register>,
        from: [Source; 2],
    ) -> u32 {
        if !self.turns_on() {
            return 0;
        }
        let admitted = self.warps[warp].admitted;
        let waits = |lane: &u32| {
            admitted & (1 << lane) == 0 && self.turn_of(warp, *lane, access, operation, to, from).is_some()
        };
        lanes(active).filter(waits).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Whether this is an attempt to take a lock, which may be part of a round.
    pub(super) fn is_attempt(&self, warp: usize, active: u32, op: &Op) -> bool {
        let is_lock = |lane: u32| matches!(self.turn_place(warp, lane, op), Some((_, Turn::Lock { .. })));
        self.turns_on() && lanes(active).all(is_lock)
    }

    /// In a round an attempt finds that the lock is held, and changes nothing.
    pub(in crate::run) fn failed_attempt(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        access: &Access,
        to: Option<Register>,
        at: At,
    ) {
        let (Some((id, held)), Some(to)) = (self.question(warp, pc, lane, access, 0), to) else {
            return self.escape();
        };
        let taint = self.taints.read(Read { pc, parts: 1, racy: false, decides: None });
        self.warps[warp].set(to, lane, held);
        self.set_taint(warp, to, 1 << lane, taint);
        self.load_symbol(warp, lane, to, at, access, Some(id));
    }

    /// Nobody can go on: one of those who wait for their turn is let go.
    pub(in crate::run) fn take_turn(&mut self) -> bool {
        if !self.turns_on() {
            return false;
        }
        self.part_turns();
        let code = std::rc::Rc::clone(&self.code);
        let mut ready = Vec::new();
        for warp in 0..self.warps.len() {
            for (index, fragment) in self.warps[warp].fragments.iter().enumerate() {
                let lane = fragment.mask.trailing_zeros();
                if fragment.blocked != Some(Block::Turn) {
                    continue;
                }
                let Some((place, kind)) = self.turn_place(warp, lane, &code[fragment.pc as usize].op) else { continue };
                if self.is_free(place, kind) {
                    ready.push((warp, lane, index, fragment.pc, place, kind));
                }
            }
        }
        ready.shared_sort_by_key(|(warp, lane, ..)| (*warp, *lane));
        let number = self.flags_of.turns.taken.choices.len();
        let chosen = self.options.turns.choices.get(number).copied().unwrap_or(0);
        let Some((warp, lane, index, pc, place, kind)) = ready.get(chosen as usize).copied() else { return false };
        for (warp, lane, _, pc, place, kind) in &ready {
            if *kind == Turn::Queue && !self.comes_later(*warp, *lane) {
                self.refuse(*place, *pc);
            }
        }
        self.flags_of.turns.taken.choices.push((chosen, ready.len() as u32));
        // Whoever has not started yet might have been first.
        let all_there = self.not_started.is_empty();
        let waits = match kind {
            // A run that credits all that it has seen proves nothing.
            Turn::Lock { .. } if !self.flags_of.on => true,
            Turn::Lock { held, .. } => {
                let (again, _) = self.try_values(warp, index, lane, held, &SortedSet::from([held]));
                again.contains(&held)
            }
            Turn::Queue => true,
        };
        if matches!(kind, Turn::Lock { .. }) {
            self.flags.insert(pc);
        }
        if !all_there || !waits {
            self.refuse(place, pc);
        }
        self.admit(warp, index);
        true
    }

    /// What a thread does behind an operation on a queue need not depend on it. Whoever has come to the queue by what others did
    /// behind theirs might come before them in another execution, unless causality order says that it does not.
    fn comes_later(&mut self, warp: usize, lane: u32) -> bool {
        let state = &mut self.flags_of.turns;
        let done = state.operations.len();
        // The operation that came next was done while the thread waited.
        let since = state.waited.insert((warp, lane), done).map_or(0, |waited| waited + 1).min(done);
        let known = &self.order.views(warp as u32, lane).known.base.threads;
        let own = (warp as u32, lane);
        let later = |(warp, lane, time): &(u32, u32, u32)| (*warp, *lane) == own || known.knows(*warp, *lane, *time);
        state.operations[since..].iter().all(later)
    }

    fn is_free(&self, place: Place, kind: Turn) -> bool {
        let Turn::Lock { free, .. } = kind else { return true };
        self.memory.read(At::Memory(place.0, place.1), u32::from(place.2), 0) == free
    }

    /// Each lane takes its own turn.
    fn part_turns(&mut self) {
        for warp in &mut self.warps {
            let mut parted = Vec::with_capacity(warp.fragments.len());
            for fragment in warp.fragments.drain(..) {
                if fragment.blocked == Some(Block::Turn) && fragment.mask.count_ones() > 1 {
                    parted.extend(lanes(fragment.mask).map(|lane| Fragment { mask: 1 << lane, ..fragment.clone() }));
                } else {
                    parted.push(fragment);
                }
            }
            warp.fragments = parted;
        }
    }

    /// An instruction of these lanes: what lies between taking a lock and giving it back.
    pub(super) fn note_step(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        if !self.turns_on() {
            return;
        }
        let state = &mut self.flags_of.turns;
        state.pc = pc;
        for number in state.holders.values() {
            let Some(section) = state.taken.sections.get_mut(*number) else { continue };
            if section.warp != warp as u32 || active & (1 << section.lane) == 0 {
                continue;
            }
            match op {
                Op::Fence { .. } => section.fences.push(pc),
                Op::Barrier { .. } => {
                    section.barriers += 1;
                    section.go_on();
                }
                Op::Load(access, _) if access.place.space == Space::Param => {}
                other if other.computed().is_some() => {}
                Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Nothing => {}
                _ => section.go_on(),
            }
        }
    }

    /// A write to a place that is looked after: that it is one for turns, and that threads keep to the rules of the lock.
    pub(super) fn note_use(&mut self, key: (Region, u64), written: &Written, known: &View) {
        let Some((size, log)) = self.flags_of.logs.get_mut(&key) else { return };
        let place = (key.0, key.1, *size);
        log.uses.note(log.start, written);
        let Some(kind) = self.options.turns.places.get(&place).copied() else { return };
        let pc = self.flags_of.turns.pc;
        if kind == Turn::Queue {
            self.flags_of.turns.operations.push((written.warp, written.lane, written.time));
        }
        if let Some(scope) = written.scope {
            self.flags_of.turns.users.entry(key).or_default().insert((written.cta, scope));
        }
        let kept = written.plain
            && written.scope.is_some()
            && match kind {
                Turn::Queue => written.atomic.is_some_and(|(operation, ..)| operation != Atomic::CompareAndSwap),
                Turn::Lock { free, held } => match role(free, Some(held), written.atomic, written.after) {
                    Role::Take(_) => self.lock_is_taken(place, written, pc),
                    Role::Give => self.lock_is_given(key, written, known, pc),
                    Role::Other => false,
                },
            };
        if !kept {
            self.refuse(place, pc);
        }
    }

    fn refuse(&mut self, place: Place, pc: Pc) {
        self.flags_of.turns.taken.refused.insert(place);
        self.doubt(Doubt::Flags { pc });
    }

    fn lock_is_taken(&mut self, place: Place, written: &Written, pc: Pc) -> bool {
        let state = &mut self.flags_of.turns;
        let section = Section {
            place,
            cta: written.cta,
            warp: written.warp,
            lane: written.lane,
            time: written.time,
            take: pc,
            give: None,
            own: false,
            first_fences: Vec::new(),
            last_fences: Vec::new(),
            barriers: 0,
            begun: false,
            fences: Vec::new(),
            before_access: Vec::new(),
        };
        if state.taken.sections.len() >= MOST_SECTIONS {
            state.taken.cut = true;
            return false;
        }
        state.taken.sections.push(section);
        state.holders.insert((place.0, place.1), state.taken.sections.len() - 1).is_none()
    }

    /// Only one who knows that the lock was taken gives it back: so coherence has the one before the other (8.10.1).
    fn lock_is_given(&mut self, key: (Region, u64), written: &Written, known: &View, pc: Pc) -> bool {
        let state = &mut self.flags_of.turns;
        let Some(number) = state.holders.remove(&key) else { return false };
        let Some(section) = state.taken.sections.get_mut(number) else { return false };
        section.give = Some(pc);
        section.own = (section.warp, section.lane) == (written.warp, written.lane);
        section.last_fences = std::mem::take(&mut section.before_access);
        if !section.begun {
            section.first_fences.clear();
        }
        let taken = (section.warp, section.lane, section.time);
        knows(known, (written.warp, written.lane, written.time), taken)
    }

    /// All operations on a place must include each other in their scopes (8.7).
    pub(super) fn check_turns(&mut self) {
        let per = self.launch.ctas_per_cluster();
        let mut doubts = Vec::new();
        for (key, users) in &self.flags_of.turns.users {
            let mutual =
                users.iter().all(|(cta, scope)| users.iter().all(|(other, _)| in_scope(*scope, *cta, *other, per)));
            if !mutual {
                let section = self.flags_of.turns.taken.sections.iter().find(|own| (own.place.0, own.place.1) == *key);
                doubts.push(Doubt::Flags { pc: section.map_or(self.flags_of.turns.pc, |own| own.take) });
            }
        }
        doubts.into_iter().for_each(|doubt| self.doubt(doubt));
    }
}
