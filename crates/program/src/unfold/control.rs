//! Which branches an event depends on.
//!
//! Syntactically it depends on all before it. An implementation may remove a dependency in name only (PTX ISA 8.10.4): what
//! is done on either way does not depend on the branch. Where a model asks for real dependencies, a branch whose ways meet
//! again ([`Join`]) is decided only for what lies between: from there on what depends on it are the registers that one of
//! the ways sets. And what both ways do alike (the same instructions at their beginnings, or at their ends and with
//! registers that neither set before) depends on it no more than what is behind.
//!
//! A way that writes memory which the thread may read later leaves what it reads to the branch: there is no event for a
//! write that was not made. Such a branch is decided for all that follows.
//!
//! A way that need not come to the meeting point leaves everything behind to the branch: a jump back, an exit, a wait, and
//! an access through a register, which may be one to nowhere. So a loop decides what follows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::RegisterId;
use crate::program::{AddressOperand, FenceCover, Instruction, Operation, Thread};
use crate::unfold::flow::{defined, target, used};
use crate::unfold::state::{Reads, State};

/// Where the ways of a branch meet.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    at: usize,
    /// Registers whose value there depends on the way.
    registers: BTreeSet<RegisterId>,
    /// Instructions on the ways that both have.
    alike: BTreeSet<usize>,
}

/// The joins of a thread, by branch.
pub(crate) type Joins = BTreeMap<usize, Join>;

/// The reads that decided a branch so far.
#[derive(Clone, Default)]
pub(crate) struct Control {
    /// For whatever follows.
    lasting: Reads,
    /// Of branches whose ways have not met yet.
    pending: Vec<(usize, Reads)>,
}

impl Control {
    /// The reads that this instruction depends on.
    pub(crate) fn of(&self, at: usize, joins: &Joins) -> Reads {
        let is_alike = |branch: &usize| joins.get(branch).is_some_and(|join| join.alike.contains(&at));
        let pending = self.pending.iter().filter(|(branch, _)| !is_alike(branch)).flat_map(|(_, reads)| reads);
        self.lasting.iter().chain(pending).copied().collect()
    }

    /// All of them, whatever the instruction.
    pub(crate) fn all(&self) -> Reads {
        self.lasting.iter().chain(self.pending.iter().flat_map(|(_, reads)| reads)).copied().collect()
    }

    /// A branch is taken or not.
    pub(crate) fn decide(&mut self, branch: usize, reads: &Reads, joins: &Joins) {
        if joins.contains_key(&branch) {
            self.pending.push((branch, reads.clone()));
        } else {
            self.lasting.extend(reads);
        }
    }
}

/// Ends the branches whose ways meet here.
pub(crate) fn meet(state: &mut State, joins: &Joins) {
    if state.control.pending.is_empty() {
        return;
    }
    let at = state.at;
    let pending = std::mem::take(&mut state.control.pending);
    let ends = |branch: &usize| joins.get(branch).is_some_and(|join| join.at == at);
    for (branch, reads) in pending {
        if !ends(&branch) {
            state.control.pending.push((branch, reads));
            continue;
        }
        for register in joins.get(&branch).into_iter().flat_map(|join| &join.registers) {
            state.registers[register.index()].reads.extend(&reads);
        }
    }
}

/// Where the ways of each branch of a thread meet, of those where they must.
pub(crate) fn joins(thread: &Thread) -> Joins {
    let code = &thread.code;
    let branches = code.iter().enumerate().filter(|(_, instruction)| is_conditional(instruction));
    branches
        .filter_map(|(branch, instruction)| Some((branch, join(code, branch, target(&instruction.operation)?)?)))
        .collect()
}

fn is_conditional(instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::BranchIf { .. } => instruction.guard.is_none(),
        Operation::Branch { .. } => instruction.guard.is_some(),
        _ => false,
    }
}

/// Jumps go forward between a branch and its join, so that the first of the places reached that are not followed yet is
/// behind no other.
fn join(code: &[Instruction], branch: usize, target: usize) -> Option<Join> {
    let mut reached = BTreeSet::from([branch + 1, target]);
    let mut registers = BTreeSet::new();
    let mut writes = false;
    loop {
        let at = reached.pop_first()?;
        if at <= branch {
            return None;
        }
        if reached.is_empty() {
            if writes && behind(code, branch).iter().any(|instruction| may_read(&instruction.operation)) {
                return None;
            }
            let mut join = Join { at, registers, alike: BTreeSet::new() };
            alike(code, (branch, target), &mut join);
            return Some(join);
        }
        let instruction = code.get(at)?;
        registers.extend(defined(&instruction.operation));
        writes |= may_write(&instruction.operation);
        reached.extend(successors(instruction, at)?);
    }
}

/// What may follow a branch: all of the thread where something jumps back.
fn behind(code: &[Instruction], branch: usize) -> &[Instruction] {
    let back = |(at, instruction): (usize, &Instruction)| target(&instruction.operation).is_some_and(|to| to <= at);
    let loops = code.iter().enumerate().any(back);
    if loops { code } else { &code[branch + 1..] }
}

/// Whatever is not known to leave memory alone may access it.
fn accesses_memory(operation: &Operation) -> bool {
    let is_jump = matches!(operation, Operation::Branch { .. } | Operation::BranchIf { .. });
    !is_jump && !matches!(operation, Operation::Fence { .. } | Operation::Local { .. } | Operation::Nothing)
}

fn may_write(operation: &Operation) -> bool {
    accesses_memory(operation) && !matches!(operation, Operation::Load { .. } | Operation::VectorLoad { .. })
}

fn may_read(operation: &Operation) -> bool {
    accesses_memory(operation) && !matches!(operation, Operation::Store { .. } | Operation::VectorStore { .. })
}

/// Where it goes on from an instruction that surely goes on.
fn successors(instruction: &Instruction, at: usize) -> Option<Vec<usize>> {
    let is_fixed = |address: &AddressOperand| matches!(address, AddressOperand::Static(_));
    let next = vec![at + 1];
    match &instruction.operation {
        Operation::Load { address, assume: None, .. } | Operation::ReadModifyWrite { address, assume: None, .. } => {
            is_fixed(address).then_some(next)
        }
        Operation::Store { address, .. }
        | Operation::VectorLoad { address, .. }
        | Operation::VectorStore { address, .. } => is_fixed(address).then_some(next),
        Operation::VectorUpdate(update) => is_fixed(&update.address).then_some(next),
        Operation::Fence { cover: FenceCover::Fixed(_), .. } | Operation::Local { .. } | Operation::Nothing => {
            Some(next)
        }
        Operation::Branch { target } | Operation::BranchIf { target, .. } => {
            let target = target.0 as usize;
            let stays = instruction.guard.is_some() || matches!(instruction.operation, Operation::BranchIf { .. });
            (target > at).then(|| if stays { vec![at + 1, target] } else { vec![target] })
        }
        _ => None,
    }
}

/// Finds what both ways have, where neither has a branch.
fn alike(code: &[Instruction], (branch, target): (usize, usize), join: &mut Join) {
    let (Some(one), Some(other)) = (way(code, branch + 1, join.at), way(code, target, join.at)) else { return };
    let is_same = |(one, other): &(&usize, &usize)| same(&code[**one], &code[**other]);
    let begin = one.iter().zip(&other).take_while(is_same).count();
    let rest = one.len().min(other.len()) - begin;
    let end = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(is_same).count();
    join.alike.extend(one[..begin].iter().chain(&other[..begin]));
    join.registers.clear();
    for way in [&one, &other] {
        let between = &way[begin..way.len() - end];
        join.registers.extend(between.iter().flat_map(|at| defined(&code[*at].operation)));
    }
    for (one, other) in one[one.len() - end..].iter().zip(&other[other.len() - end..]) {
        let instruction = &code[*one];
        let is_apart = used(instruction).iter().any(|register| join.registers.contains(register));
        for register in defined(&instruction.operation) {
            if is_apart {
                join.registers.insert(register);
            } else if instruction.guard.is_none() {
                join.registers.remove(&register);
            }
        }
        if !is_apart {
            join.alike.extend([*one, *other]);
        }
    }
}

/// The instructions on a way without branches.
fn way(code: &[Instruction], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut at = from;
    while at != to {
        let instruction = code.get(at)?;
        match instruction.operation {
            _ if is_conditional(instruction) => return None,
            Operation::BranchIf { .. } => return None,
            Operation::Branch { target } => at = target.0 as usize,
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
