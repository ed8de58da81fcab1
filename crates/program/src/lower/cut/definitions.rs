//! Which definitions of a register reach an instruction. Only of registers that code writes more than once: a register of a
//! compiler has one definition, and one that a person moves step by step has several, each of which ends the one before.

use fencepost_syntax::sorted::SortedMap;

use crate::ids::RegisterId;
use crate::program::def_use::defined;
use crate::program::{Instruction, Operation};

/// More definitions of one register are not told apart.
const MOST: usize = 63;

/// The definitions of one thread. Definition 0 of a register is what it holds at the start, the others follow in the order
/// of the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// The number of the definition that an instruction is of a register.
    numbers: SortedMap<(RegisterId, usize), usize>,
    /// Per instruction, the definitions that reach it, as bits. Not there: all.
    reaching: SortedMap<RegisterId, Vec<u64>>,
}

impl Definitions {
    pub(crate) fn new(code: &[Instruction]) -> Definitions {
        let mut places: SortedMap<RegisterId, Vec<usize>> = SortedMap::new();
        for (at, instruction) in code.iter().enumerate() {
            for register in defined(&instruction.operation) {
                let own = places.entry(register).or_default();
                if own.last() != Some(&at) {
                    own.push(at);
                }
            }
        }
        let mut found = Definitions::default();
        for (register, places) in places {
            let numbered = (1..).zip(&places).map(|(number, at)| ((register, *at), number));
            found.numbers.extend(numbered);
            if (2..=MOST).contains(&places.len()) {
                found.reaching.insert(register, reaching(code, &places));
            }
        }
        found
    }

    /// How many definitions a register has, its first value included.
    pub(crate) fn count(&self, register: RegisterId) -> usize {
        let own = self.numbers.range((register, 0)..=(register, usize::MAX));
        own.map(|(_, number)| *number).max().unwrap_or(0) + 1
    }

    pub(crate) fn number(&self, register: RegisterId, at: usize) -> usize {
        self.numbers.get(&(register, at)).copied().unwrap_or(0)
    }

    /// Whether a definition reaches the instruction.
    pub(crate) fn reaches(&self, register: RegisterId, number: usize, at: usize) -> bool {
        self.reaching.get(&register).and_then(|masks| masks.get(at)).is_none_or(|mask| mask >> number & 1 == 1)
    }
}

/// The definitions at these places, and 0, before each instruction.
fn reaching(code: &[Instruction], places: &[usize]) -> Vec<u64> {
    let mut before = vec![0u64; code.len() + 1];
    let mut left = vec![(0, 1u64)];
    while let Some((at, mask)) = left.pop() {
        if at >= code.len() || mask & !before[at] == 0 {
            continue;
        }
        before[at] |= mask;
        let own = places.iter().position(|place| *place == at).map_or(0, |index| 1u64 << (index + 1));
        // Under a guard the older value may stay.
        let kept = if own == 0 || code[at].guard.is_some() { before[at] } else { 0 };
        left.extend(successors(code, at).into_iter().map(|next| (next, kept | own)));
    }
    before
}

fn successors(code: &[Instruction], at: usize) -> Vec<usize> {
    let target = match &code[at].operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => Some(target.0 as usize),
        _ => None,
    };
    let leaves = matches!(code[at].operation, Operation::Branch { .. } | Operation::Exit | Operation::Trap);
    let next = (!leaves || code[at].guard.is_some()).then_some(at + 1);
    next.into_iter().chain(target).collect()
}
