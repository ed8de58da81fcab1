//! Which registers are read before they are written again, at each instruction.
//!
//! Of an instruction that is not known here, every register counts as read: more is live then, never less.

use crate::code::Instruction;
use crate::code::op::{Op, Pc, Register, Source};

pub(in crate::run) struct Liveness {
    words: usize,
    live: Vec<u64>,
}

impl Liveness {
    pub(in crate::run) fn new(code: &[Instruction], registers: u32) -> Liveness {
        let words = (registers as usize).div_ceil(64);
        let mut liveness = Liveness { words, live: vec![0; words * code.len()] };
        let facts: Vec<(Vec<Register>, Vec<Register>, Vec<Pc>)> = code
            .iter()
            .enumerate()
            .map(|(pc, instruction)| {
                let (reads, writes) = accessed(instruction);
                (reads, writes, successors(code, pc))
            })
            .collect();
        let mut changed = true;
        let mut row = vec![0u64; words];
        while changed {
            changed = false;
            for (pc, (reads, writes, next)) in facts.iter().enumerate().rev() {
                row.fill(0);
                for to in next {
                    let from = &liveness.live[*to as usize * words..][..words];
                    row.iter_mut().zip(from).for_each(|(own, other)| *own |= other);
                }
                writes.iter().for_each(|register| row[*register as usize / 64] &= !(1 << (register % 64)));
                reads.iter().for_each(|register| row[*register as usize / 64] |= 1 << (register % 64));
                let own = &mut liveness.live[pc * words..][..words];
                if *own != *row {
                    own.copy_from_slice(&row);
                    changed = true;
                }
            }
        }
        liveness
    }

    pub(in crate::run) fn is_live(&self, pc: Pc, register: Register) -> bool {
        let word = self.live.get(pc as usize * self.words + register as usize / 64);
        word.is_some_and(|word| word & (1 << (register % 64)) != 0)
    }
}

/// Whether a loop has both instructions.
pub(in crate::run) fn in_one_loop(code: &[Instruction], a: Pc, b: Pc) -> bool {
    reaches(code, a, b) && reaches(code, b, a)
}

fn reaches(code: &[Instruction], from: Pc, to: Pc) -> bool {
    let (mut seen, mut open) = (vec![false; code.len()], successors(code, from as usize));
    while let Some(pc) = open.pop() {
        if pc == to {
            return true;
        }
        if !std::mem::replace(&mut seen[pc as usize], true) {
            open.extend(successors(code, pc as usize));
        }
    }
    false
}

fn successors(code: &[Instruction], pc: usize) -> Vec<Pc> {
    let own = &code[pc];
    let next = (pc + 1 < code.len()).then_some(pc as Pc + 1);
    match &own.op {
        Op::Branch { to } if own.guard.is_none() => vec![*to],
        Op::Branch { to } => next.into_iter().chain([*to]).collect(),
        Op::BranchIndexed { to, .. } => next.into_iter().chain(to.iter().copied()).collect(),
        Op::Exit | Op::Trap if own.guard.is_none() => Vec::new(),
        _ => next.into_iter().collect(),
    }
    .into_iter()
    .filter(|to| (*to as usize) < code.len())
    .collect()
}

fn accessed(instruction: &Instruction) -> (Vec<Register>, Vec<Register>) {
    let register = |source: &Source| match source {
        Source::Register(register) => Some(*register),
        Source::Constant(_) | Source::Shared(_) => None,
    };
    let (mut reads, mut writes): (Vec<Register>, Vec<Register>) = match &instruction.op {
        Op::Compute { to, from, .. } => (from.iter().filter_map(register).collect(), vec![*to]),
        Op::Opaque { to, from, .. } => (from.iter().filter_map(register).collect(), to.clone()),
        Op::Convert { to, from, .. } | Op::ToGeneric { to, from, .. } | Op::FromGeneric { to, from, .. } => {
            (register(from).into_iter().collect(), vec![*to])
        }
        Op::SetPredicate { to, complement, left, right, with, .. } => (
            [left, right, with].into_iter().filter_map(register).collect(),
            [*to, *complement].into_iter().flatten().collect(),
        ),
        Op::Load(access, to) => {
            (register(&access.place.base).into_iter().collect(), to.iter().flatten().copied().collect())
        }
        Op::Store(access, from) => (from.iter().chain([&access.place.base]).filter_map(register).collect(), Vec::new()),
        Op::Atomic { access, to, from, .. } => {
            (from.iter().chain([&access.place.base]).filter_map(register).collect(), to.iter().copied().collect())
        }
        Op::Shuffle { to, valid, from, lane, clamp, mask, .. } => (
            [from, lane, clamp, mask].into_iter().filter_map(register).collect(),
            [Some(*to), *valid].into_iter().flatten().collect(),
        ),
        Op::Vote { to, from, mask, .. } => ([from, mask].into_iter().filter_map(register).collect(), vec![*to]),
        Op::Branch { .. } | Op::Exit | Op::Trap | Op::Nothing | Op::Fence { .. } => (Vec::new(), Vec::new()),
        _ => (instruction.registers.to_vec(), Vec::new()),
    };
    if let Some(guard) = instruction.guard {
        // What the guard leaves out keeps its value.
        writes.clear();
        reads.push(guard.register);
    }
    (reads, writes)
}
