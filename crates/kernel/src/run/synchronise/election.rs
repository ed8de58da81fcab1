//! Whether it matters which lane `elect.sync` elects: any of its mask, and the same for the same mask (9.7.15.15).
//!
//! Lanes of a warp that synchronise together or not at all are alike: two of them stand for all (the argument is in
//! docs/kernels.md, "Elections"), if what the elected lane does alone uses nothing that another lane has otherwise, and what is
//! due to the election decides who goes where, and nothing else. In a run with the first lane elected, what lane 0 does for
//! another reason looks like the work of the elected lane. It does not in the run with the last, so both must pass.

use fencepost_syntax::sorted::SortedSet;

use crate::code::op::{Access, Op, Order, Register, Source, Space};
use crate::code::{Entry, Guard, Instruction};
use crate::dependence::results;
use crate::run::Run;
use crate::run::warp::{Fragment, Warp};

pub(in crate::run) struct Elections {
    /// What each instruction reads, its guard left out, and writes.
    accessed: Vec<(Vec<Register>, Vec<Register>)>,
    warps: Vec<State>,
    pub(in crate::run) found: Elected,
}

/// What a run has seen of elections.
#[derive(Clone, Default, Debug)]
pub struct Elected {
    /// Each lane may do something else where it is elected.
    pub matters: bool,
    /// The lanes among which one was.
    pub masks: SortedSet<u32>,
    /// Lanes that stand for all.
    pub stand: u32,
    /// All lanes of each warp are alike.
    pub alike: bool,
}

/// A warp.
#[derive(Clone, Default)]
struct State {
    leader: Option<u32>,
    /// Lanes that have synchronised together so far; none: all.
    parts: Vec<u32>,
    /// Registers that the elected lane has written alone.
    own: Vec<bool>,
    /// Registers whose value in a lane may depend on who was elected.
    depends: Vec<bool>,
    /// Those of them that depend on more than whether the lane itself was: on the number of the elected lane, or on what the
    /// lanes have different values of.
    uneven: Vec<bool>,
}

impl State {
    fn due_to_election(&self, register: Register) -> bool {
        self.own[register as usize] || self.depends[register as usize]
    }

    /// Whether the way of the lanes may depend on which lane was elected, and not only on whether each of them was.
    fn is_led_by_number(&self, guard: Register) -> bool {
        self.due_to_election(guard) && self.uneven[guard as usize]
    }

    /// These lanes synchronise without the others.
    fn part(&mut self, whole: u32, active: u32) {
        if self.parts.is_empty() {
            self.parts.push(whole);
        }
        for index in 0..self.parts.len() {
            let (inside, outside) = (self.parts[index] & active, self.parts[index] & !active);
            if inside != 0 && outside != 0 {
                self.parts[index] = inside;
                self.parts.push(outside);
            }
        }
    }
}

impl Elections {
    /// None: nobody elects.
    pub(in crate::run) fn new(entry: &Entry, warps: usize) -> Option<Elections> {
        entry.code.iter().find(|own| matches!(own.op, Op::Elect { .. }))?;
        let accessed = entry.code.iter().map(accessed).collect();
        Some(Elections { accessed, warps: vec![State::default(); warps], found: Elected::default() })
    }

    pub(in crate::run) fn done(mut self) -> Elected {
        let parts = self.warps.iter().filter(|own| own.leader.is_some()).flat_map(|own| &own.parts);
        let ends = |part: &u32| 1 << part.trailing_zeros().min(31) | 1 << (31 - part.leading_zeros().min(31));
        self.found.stand = parts.fold(0, |lanes, part| lanes | ends(part));
        self.found.alike = self.found.stand == 0;
        self.found
    }
}

impl Run<'_> {
    /// Some lanes of a fragment execute an instruction.
    pub(in crate::run) fn note_election_step(&mut self, warp: usize, fragment: &Fragment, active: u32) {
        let Some(elections) = self.elections.as_mut().filter(|own| !own.found.matters) else { return };
        let instruction = &self.code[fragment.pc as usize];
        if active == 0 {
            // Nobody does it here; with another lane elected, somebody may.
            let state = &elections.warps[warp];
            let is_led = |guard: Guard| state.leader.is_some() && state.is_led_by_number(guard.register);
            elections.found.matters = instruction.guard.is_some_and(is_led);
            return;
        }
        // Whoever comes first waits for the rest.
        if instruction.aligned.is_some() && active != self.warps[warp].alive() {
            return;
        }
        let (reads, writes) = &elections.accessed[fragment.pc as usize];
        let (state, lanes) = (&mut elections.warps[warp], &self.warps[warp]);
        let active = if meet_all(&instruction.op, lanes, active) { lanes.launched } else { active };
        let step = Step { instruction, reads, writes, fragment: fragment.mask, active };
        let Some(leader) = state.leader else {
            if active != lanes.launched && synchronises(&instruction.op) {
                state.part(lanes.launched, active);
            }
            return;
        };
        elections.found.matters = step.is_led_by_number(state) || !step.is_even(state, lanes, leader);
        step.note(state, lanes, leader);
    }

    pub(in crate::run) fn note_elected(&mut self, warp: usize, members: u32, leader: u32, to: &[Register]) {
        let Some(elections) = &mut self.elections else { return };
        let state = &mut elections.warps[warp];
        let registers = self.warps[warp].registers.len();
        state.own.resize(registers, false);
        state.depends.resize(registers, false);
        state.uneven.resize(registers, false);
        let before = state.leader.replace(leader);
        elections.found.masks.insert(members);
        elections.found.matters |= before.is_some_and(|before| before != leader);
        // The predicate comes last.
        for (index, register) in to.iter().map(|register| *register as usize).enumerate() {
            (state.own[register], state.depends[register]) = (false, true);
            state.uneven[register] = index + 1 < to.len();
        }
    }
}

struct Step<'a> {
    instruction: &'a Instruction,
    reads: &'a [Register],
    writes: &'a [Register],
    fragment: u32,
    active: u32,
}

impl Step<'_> {
    fn guard(&self) -> Option<Register> {
        self.instruction.guard.map(|guard| guard.register)
    }

    /// Whether the way of the lanes is decided by more than whether each of them was elected.
    fn is_led_by_number(&self, state: &State) -> bool {
        let index = matches!(self.instruction.op, Op::BranchIndexed { .. });
        self.guard().is_some_and(|guard| state.is_led_by_number(guard))
            || index && self.reads.iter().any(|register| state.due_to_election(*register))
    }

    /// Whether it would be the same if another lane were elected.
    fn is_even(&self, state: &State, warp: &Warp, leader: u32) -> bool {
        let op = &self.instruction.op;
        if self.active == 1 << leader {
            return !is_private(op) && (computes(op) || self.is_anybodys(state, warp));
        }
        if only_computes(op) {
            return true;
        }
        if self.reads.iter().any(|register| state.due_to_election(*register)) {
            return false;
        }
        // Some lanes without the others: by their numbers.
        let by_lanes =
            self.fragment & (1 << leader) != 0 && self.guard().is_none_or(|guard| !state.due_to_election(guard));
        self.active == warp.launched || by_lanes
    }

    /// Whether the elected lane, alone, has nothing to do it with that another lane would not have.
    fn is_anybodys(&self, state: &State, warp: &Warp) -> bool {
        // Where it came alone, guards decide what it does; else the election may.
        let guard = self.guard().filter(|_| self.fragment == self.active);
        let mut reads = self.reads.iter().copied().chain(guard);
        reads.all(|register| state.own[register as usize] || is_same(state, warp, register))
    }

    /// What its results are due to.
    fn note(&self, state: &mut State, warp: &Warp, leader: u32) {
        if ![1 << leader, warp.launched].contains(&self.active) && synchronises(&self.instruction.op) {
            state.part(warp.launched, self.active);
        }
        let anybodys = self.active != 1 << leader || self.is_anybodys(state, warp);
        let reads_it = self.reads.iter().any(|register| state.due_to_election(*register));
        let guard = self.guard().is_some_and(|guard| state.due_to_election(guard));
        let is_even = |register: Register| !state.uneven[register as usize] && is_lane_by_lane(state, warp, register);
        let reads_even = self.reads.iter().all(|register| is_even(*register));
        let others = warp.launched & !(1 << leader);
        for register in self.writes {
            // What stays in the lanes that do not write it counts, too.
            let stays_even = !state.uneven[*register as usize] && is_lane_by_lane(state, warp, *register);
            let register = *register as usize;
            let before = state.own[register] || state.depends[register];
            state.uneven[register] = match () {
                () if self.active == 1 << leader => !(anybodys && stays_even),
                () if self.active == warp.launched => reads_it && !reads_even,
                () => !(self.active == others && stays_even && reads_even),
            };
            (state.own[register], state.depends[register]) = match () {
                () if self.active == 1 << leader => (anybodys, before || !anybodys),
                () if self.active == warp.launched => (false, reads_it),
                () => (false, before || reads_it || guard || self.fragment & (1 << leader) == 0),
            };
        }
    }
}

/// Whether a register has the same in all lanes, but for who is elected.
fn is_lane_by_lane(state: &State, warp: &Warp, register: Register) -> bool {
    state.due_to_election(register) || is_same(state, warp, register)
}

/// Whether all lanes have the same in a register.
fn is_same(state: &State, warp: &Warp, register: Register) -> bool {
    let (index, whole) = (register as usize, warp.launched);
    let values = &warp.registers[index];
    let first = values[whole.trailing_zeros().min(31) as usize];
    let all_or_none = |lanes: u32| lanes & whole == 0 || lanes & whole == whole;
    !state.depends[index]
        && all_or_none(warp.taint[index].0)
        && all_or_none(warp.undefined[index])
        && (0..32).all(|lane| whole & (1 << lane) == 0 || values[lane] == first)
}

/// Whether lanes that come to it wait for all of the warp.
fn meet_all(op: &Op, warp: &Warp, active: u32) -> bool {
    let (Op::SyncWarp { mask }
    | Op::Shuffle { mask, .. }
    | Op::Vote { mask, .. }
    | Op::Match { mask, .. }
    | Op::ReduceWarp { mask, .. }
    | Op::Elect { mask, .. }) = op
    else {
        return false;
    };
    let mask = warp.get(*mask, active.trailing_zeros().min(31)) as u32;
    mask & warp.launched == warp.launched
}

/// Instructions that leave no trace but in registers, and in where the lanes are.
fn only_computes(op: &Op) -> bool {
    computes(op) || matches!(op, Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Exit)
}

fn computes(op: &Op) -> bool {
    op.computed().is_some() || matches!(op, Op::IsSpace { .. } | Op::MapAddress { .. } | Op::CtaRank { .. })
}

/// Whether others may learn by it that a lane has come so far, or a lane of others: anything but plain accesses.
fn synchronises(op: &Op) -> bool {
    match op {
        Op::Load(access, _) | Op::Store(access, _) => access.order != Order::Weak,
        Op::MbarrierInit { .. } => false,
        _ => !only_computes(op),
    }
}

/// Memory of the lane, and the carry: no other lane has the same.
fn is_private(op: &Op) -> bool {
    let is_local = |access: &Access| access.place.space == Space::Local;
    match op {
        Op::Load(access, _) | Op::Store(access, _) => is_local(access) || access.place.space == Space::Generic,
        Op::AddCarry { .. } => true,
        _ => false,
    }
}

fn accessed(instruction: &Instruction) -> (Vec<Register>, Vec<Register>) {
    let op = &instruction.op;
    let writes = match op {
        Op::MbarrierWait { to, .. } | Op::MbarrierPending { to, .. } | Op::Clock { to } | Op::ActiveMask { to } => {
            vec![*to]
        }
        Op::MbarrierArrive { token, .. } => token.iter().copied().collect(),
        Op::Elect { to, elected, .. } => to.iter().copied().chain([*elected]).collect(),
        other => results(other).1,
    };
    // Of these it is known that they may read what they write.
    let sources: Option<Vec<Source>> = match op {
        Op::Compute { from, .. } => Some(from.to_vec()),
        Op::Opaque { from, .. } => Some(from.clone()),
        Op::Convert { from, .. } | Op::ToGeneric { from, .. } | Op::FromGeneric { from, .. } => Some(vec![*from]),
        Op::SetPredicate { left, right, with, .. } => Some(vec![*left, *right, *with]),
        Op::Load(access, _) => Some(vec![access.place.base]),
        Op::Atomic { access, from, .. } => Some(from.iter().copied().chain([access.place.base]).collect()),
        _ => None,
    };
    let reads = match sources {
        Some(sources) => sources
            .into_iter()
            .filter_map(|source| if let Source::Register(register) = source { Some(register) } else { None })
            .collect(),
        None if computes(op) => instruction.registers.to_vec(),
        None => {
            let guard = instruction.guard.map(|guard| guard.register);
            let named = instruction.registers.iter().copied();
            named.filter(|register| !writes.contains(register) && Some(*register) != guard).collect()
        }
    };
    (reads, writes)
}
