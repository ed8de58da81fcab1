//! Which branches an event depends on, and which an exit.
//!
//! An instruction under a guard is one behind a branch around it. Syntactically an event depends on all branches before it.
//! An implementation may remove a dependency in name only (PTX ISA 8.10.4): what is done on either way does not depend on
//! the branch. Where a model asks for real dependencies, a branch whose ways meet again ([`Join`]) is decided only for what
//! lies between: from there on what depends on it are the registers that one of the ways sets. And what both ways do alike
//! (the same instructions at their beginnings, or at their ends and with registers that neither set before) depends on it no
//! more than what is behind. All ways out of a thread meet at its end.
//!
//! A way that writes memory leaves to the branch what the thread reads there later: there is no event for a write that was
//! not made.
//!
//! A way that need not come to the meeting point leaves everything behind to the branch: a jump back, a wait, and an access
//! through a register, which may be one to nowhere, unless both ways have it. So a loop decides what follows it.
//!
//! An exit depends, in every model, on the branches that decide whether the thread gets there and which barriers it takes
//! part in before ([`leaves`]): all else that a way does happens or not beside an exit that comes in any case.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{LocationId, RegisterId, ThreadId};
use crate::program::{AddressOperand, Feature, FenceCover, Instruction, Operation, Program};
use crate::unfold::Dependencies;
use crate::unfold::flow::{defined, target, used};
use crate::unfold::state::{Reads, State};

/// A location, or None where it may be any.
type Somewhere = Option<LocationId>;

/// Where the ways of a branch meet.
#[derive(Clone, Default, Debug)]
struct Join {
    at: usize,
    /// Registers whose value there depends on the way.
    registers: BTreeSet<RegisterId>,
    /// Instructions on the ways that both have.
    alike: BTreeSet<usize>,
    /// What one of the ways writes and the other does not.
    writes: BTreeSet<Somewhere>,
}

/// The joins of a thread, by branch.
#[derive(Clone, Debug)]
pub(crate) struct Joins {
    /// None where every branch decides all that follows.
    events: BTreeMap<usize, Join>,
    /// Of the branches that do not decide whether or how the thread exits: where their ways meet.
    exits: BTreeMap<usize, usize>,
    /// What may read memory, and where.
    readers: BTreeMap<usize, Somewhere>,
    /// Where the thread ends.
    end: usize,
}

/// The reads that decided a branch so far.
#[derive(Clone, Default)]
pub(crate) struct Control {
    /// For whatever follows.
    lasting: Reads,
    /// Of branches whose ways have not met yet.
    pending: Vec<(usize, Reads)>,
    /// For what reads memory there.
    memory: BTreeMap<Somewhere, Reads>,
    /// For the exit: lasting, and of branches whose ways have not met yet.
    exit: Reads,
    before_exit: Vec<(usize, Reads)>,
}

impl Control {
    /// The reads that this instruction depends on.
    pub(crate) fn of(&self, at: usize, joins: &Joins) -> Reads {
        let is_alike = |branch: &usize| joins.events.get(branch).is_some_and(|join| join.alike.contains(&at));
        let pending = self.pending.iter().filter(|(branch, _)| !is_alike(branch)).flat_map(|(_, reads)| reads);
        let reader = joins.readers.get(&at);
        let is_read = |place: &Somewhere| reader.is_some_and(|read| may_meet(*place, *read));
        let memory = self.memory.iter().filter(|(place, _)| is_read(place)).flat_map(|(_, reads)| reads);
        self.lasting.iter().chain(pending).chain(memory).copied().collect()
    }

    /// Those that decided where the thread is, whatever the instruction.
    pub(crate) fn all(&self) -> Reads {
        self.lasting.iter().chain(self.pending.iter().flat_map(|(_, reads)| reads)).copied().collect()
    }

    /// Those that decided that the thread, which is at its end, has exited as it did.
    pub(crate) fn of_exit(&self) -> Reads {
        self.exit.iter().chain(self.before_exit.iter().flat_map(|(_, reads)| reads)).copied().collect()
    }

    /// A branch is taken or not, or an instruction under a guard done or not.
    pub(crate) fn decide(&mut self, branch: usize, reads: &Reads, joins: &Joins) {
        if reads.is_empty() {
            return;
        }
        if joins.events.contains_key(&branch) {
            self.pending.push((branch, reads.clone()));
        } else {
            self.lasting.extend(reads);
        }
        if joins.exits.contains_key(&branch) {
            self.before_exit.push((branch, reads.clone()));
        } else {
            self.exit.extend(reads);
        }
    }
}

/// Ends the branches whose ways meet here.
pub(crate) fn meet(state: &mut State, joins: &Joins) {
    meet_at(state, state.at, joins);
}

/// Ends those whose ways meet at the end of the thread.
pub(crate) fn meet_at_end(state: &mut State, joins: &Joins) {
    meet_at(state, joins.end, joins);
}

fn meet_at(state: &mut State, at: usize, joins: &Joins) {
    state.control.before_exit.retain(|(branch, _)| joins.exits.get(branch) != Some(&at));
    if state.control.pending.is_empty() {
        return;
    }
    for (branch, reads) in std::mem::take(&mut state.control.pending) {
        let Some(join) = joins.events.get(&branch).filter(|join| join.at == at) else {
            state.control.pending.push((branch, reads));
            continue;
        };
        for register in &join.registers {
            state.registers[register.index()].reads.extend(&reads);
        }
        for place in &join.writes {
            state.control.memory.entry(*place).or_default().extend(&reads);
        }
    }
}

fn may_meet(one: Somewhere, other: Somewhere) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Where the ways of each branch of a thread meet, of those where they must.
pub(crate) fn joins(program: &Program, id: ThreadId, dependencies: Dependencies) -> Joins {
    let code = &Code::new(program, id);
    let end = code.instructions.len();
    let branches = || (0..end).filter_map(|at| Some((at, ways(&code.instructions[at], at, end)?)));
    let events = match dependencies {
        Dependencies::Syntactic => BTreeMap::new(),
        Dependencies::Real => branches().filter_map(|(at, ways)| Some((at, code.join(at, ways, goes_on)?))).collect(),
    };
    let exits = branches().filter_map(|(at, ways)| Some((at, code.join(at, ways, leaves)?.at))).collect();
    let readers = (0..end).filter_map(|at| Some((at, code.reads(at)?))).collect();
    Joins { events, exits, readers, end }
}

/// Where it goes on if the condition fails and if it holds. The way through what is under a guard begins with itself.
fn ways(instruction: &Instruction, at: usize, end: usize) -> Option<(usize, usize)> {
    match (&instruction.operation, instruction.guard) {
        (Operation::BranchIf { target, .. }, None) | (Operation::Branch { target }, Some(_)) => {
            Some((at + 1, target.0 as usize))
        }
        (Operation::Exit, Some(_)) => Some((at + 1, end)),
        (Operation::BranchIf { .. }, Some(_)) | (_, None) => None,
        (_, Some(_)) => Some((at + 1, at)),
    }
}

/// Where the ways of a branch meet for the first time, and what lies between. Jumps go forward between a branch and its
/// join, so that the first of the places reached that are not followed yet is behind no other.
fn follow(code: &[Instruction], branch: usize, ways: (usize, usize)) -> Option<(usize, Vec<usize>)> {
    let mut reached = BTreeSet::from([ways.0, ways.1]);
    let mut between = Vec::new();
    loop {
        let at = reached.pop_first()?;
        // A jump back; what is under a guard is its own first way.
        if at < branch || (at == branch && ways.1 != branch) {
            return None;
        }
        if reached.is_empty() {
            return Some((at, between));
        }
        let instruction = code.get(at)?;
        between.push(at);
        reached.extend(onward(instruction, at, code.len())?);
    }
}

/// The instructions of a thread.
struct Code<'p> {
    program: &'p Program,
    instructions: &'p [Instruction],
    /// Whether an access is one of one location.
    is_scalar: bool,
}

impl<'p> Code<'p> {
    fn new(program: &'p Program, id: ThreadId) -> Code<'p> {
        let is_scalar = program.features.iter().all(|feature| feature.node != Feature::Span);
        Code { program, instructions: &program.threads[id.index()].code, is_scalar }
    }

    /// Where the ways of a branch meet, if both surely get there but for what both have.
    fn join(&self, branch: usize, ways: (usize, usize), surely: fn(&Operation) -> bool) -> Option<Join> {
        let code = self.instructions;
        let (at, between) = follow(code, branch, ways)?;
        let registers = between.iter().flat_map(|at| defined(&code[*at].operation)).collect();
        let mut join = Join { at, registers, ..Join::default() };
        self.alike(ways, &mut join);
        let apart: Vec<usize> = between.into_iter().filter(|at| !join.alike.contains(at)).collect();
        join.writes = apart.iter().filter_map(|at| self.writes(*at)).collect();
        apart.iter().all(|at| surely(&code[*at].operation)).then_some(join)
    }

    /// Where an instruction may write memory.
    fn writes(&self, at: usize) -> Option<Somewhere> {
        let operation = &self.instructions[at].operation;
        may_write(operation).then(|| self.place(operation))
    }

    /// Where it may read memory.
    fn reads(&self, at: usize) -> Option<Somewhere> {
        let operation = &self.instructions[at].operation;
        may_read(operation).then(|| self.place(operation))
    }

    fn place(&self, operation: &Operation) -> Somewhere {
        match operation {
            Operation::Load { address: AddressOperand::Static(address), .. }
            | Operation::Store { address: AddressOperand::Static(address), .. }
            | Operation::ReadModifyWrite { address: AddressOperand::Static(address), .. }
                if self.is_scalar =>
            {
                Some(self.program.addresses[address.index()].location)
            }
            _ => None,
        }
    }

    /// Finds what both ways have, where neither has a branch.
    fn alike(&self, ways: (usize, usize), join: &mut Join) {
        let code = self.instructions;
        let (Some(one), Some(other)) = (way(code, ways.0, join.at), way(code, ways.1, join.at)) else { return };
        let is_same = |(one, other): &(&usize, &usize)| same(&code[**one], &code[**other]);
        let begin = one.iter().zip(&other).take_while(is_same).count();
        let rest = one.len().min(other.len()) - begin;
        let end = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(is_same).count();
        join.alike.extend(one[..begin].iter().chain(&other[..begin]));
        join.registers.clear();
        let mut written = BTreeSet::new();
        for way in [&one, &other] {
            let between = &way[begin..way.len() - end];
            join.registers.extend(between.iter().flat_map(|at| defined(&code[*at].operation)));
            written.extend(between.iter().filter_map(|at| self.writes(*at)));
        }
        for (one, other) in one[one.len() - end..].iter().zip(&other[other.len() - end..]) {
            let instruction = &code[*one];
            let read = self.reads(*one);
            let is_apart = used(instruction).iter().any(|register| join.registers.contains(register))
                || read.is_some_and(|read| written.iter().any(|place| may_meet(*place, read)));
            for register in defined(&instruction.operation) {
                if is_apart {
                    join.registers.insert(register);
                } else if instruction.guard.is_none() {
                    join.registers.remove(&register);
                }
            }
            if is_apart {
                written.extend(self.writes(*one));
            } else {
                join.alike.extend([*one, *other]);
            }
        }
    }
}

/// Whatever is not known to leave memory alone may access it.
fn accesses_memory(operation: &Operation) -> bool {
    let is_jump =
        matches!(operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit | Operation::Trap);
    let is_local = matches!(operation, Operation::Barrier(_) | Operation::Local { .. } | Operation::Nothing);
    !is_jump && !is_local && !matches!(operation, Operation::Fence { .. })
}

fn may_write(operation: &Operation) -> bool {
    accesses_memory(operation) && !matches!(operation, Operation::Load { .. } | Operation::VectorLoad { .. })
}

fn may_read(operation: &Operation) -> bool {
    accesses_memory(operation) && !matches!(operation, Operation::Store { .. } | Operation::VectorStore { .. })
}

/// Whether a thread surely goes on from it.
fn goes_on(operation: &Operation) -> bool {
    let is_fixed = |address: &AddressOperand| matches!(address, AddressOperand::Static(_));
    match operation {
        Operation::Load { address, assume: None, .. }
        | Operation::ReadModifyWrite { address, assume: None, .. }
        | Operation::Store { address, .. }
        | Operation::VectorLoad { address, .. }
        | Operation::VectorStore { address, .. } => is_fixed(address),
        Operation::VectorUpdate(update) => is_fixed(&update.address),
        Operation::Fence { cover: FenceCover::Fixed(_), .. } | Operation::Local { .. } | Operation::Nothing => true,
        Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit => true,
        _ => false,
    }
}

/// Whether it neither keeps a thread from its end nor lets it take part in a barrier. An access to nowhere ends the whole
/// program.
fn leaves(operation: &Operation) -> bool {
    match operation {
        Operation::Load { assume, .. } | Operation::ReadModifyWrite { assume, .. } => assume.is_none(),
        Operation::Barrier(_) | Operation::MbarrierWait(_) | Operation::Mark { .. } | Operation::Trap => false,
        _ => true,
    }
}

/// Where it goes on from an instruction if it does, without a jump back.
fn onward(instruction: &Instruction, at: usize, end: usize) -> Option<Vec<usize>> {
    let to = match &instruction.operation {
        Operation::Exit => end,
        operation => match target(operation) {
            Some(target) if target <= at => return None,
            Some(target) => target,
            None => return Some(vec![at + 1]),
        },
    };
    let stays = instruction.guard.is_some() || matches!(instruction.operation, Operation::BranchIf { .. });
    Some(if stays { vec![at + 1, to] } else { vec![to] })
}

/// The instructions on a way without branches.
fn way(code: &[Instruction], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut at = from;
    while at != to {
        let instruction = code.get(at)?;
        match instruction.operation {
            Operation::BranchIf { .. } => return None,
            Operation::Branch { .. } | Operation::Exit if instruction.guard.is_some() => return None,
            Operation::Branch { target } => at = target.0 as usize,
            Operation::Exit => at = code.len(),
            Operation::Nothing => at += 1,
            _ => {
                found.push(at);
                at += 1;
            }
        }
    }
    Some(found)
}

fn same(one: &Instruction, other: &Instruction) -> bool {
    one.guard == other.guard && one.operation == other.operation
}
