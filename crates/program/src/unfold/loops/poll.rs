//! Whether a question in a loop is asked until the answer is yes.
//!
//! `mbarrier.try_wait` may answer no although the phase is over (PTX ISA 9.7.15.16.19). That makes no difference where
//! every no leads back to the question: an execution without the failed attempt is one too. Where the loop can be left
//! after a no, by a count of attempts or by a flag to stop, it does: the way out may be taken though the phase was over.

use std::ops::RangeInclusive;

use fencepost_syntax::sorted::SortedMap;

use crate::ids::RegisterId;
use crate::program::def_use::{defined, target};
use crate::program::{Instruction, LocalValue, Operand, Operation, Polarity};
use crate::table::comparison_operator;
use crate::value::Value;

/// So many steps are followed; beyond, the loop counts as one that may be left.
const MOST_STEPS: usize = 2_000;

/// The registers whose value the no decides. All others may hold anything.
type Known = SortedMap<RegisterId, Value>;
/// The next instruction, and what is known in front of it.
type Way = (usize, Known);

/// Whether every way from a no, the register `answer` being zero, comes back to the question `at` inside of the loop.
pub(crate) fn no_asks_again(
    code: &[Instruction],
    body: &RangeInclusive<usize>,
    at: usize,
    answer: Option<RegisterId>,
) -> bool {
    let known: Known = answer.map(|register| (register, Value(0))).into_iter().collect();
    let mut ways = SortedMap::new();
    let mut left = vec![(at + 1, known)];
    while let Some(here) = left.pop() {
        if ways.contains_key(&here) {
            continue;
        }
        let Some(mut next) = successors(code, &here) else { return false };
        next.retain(|way| way.0 != at || code[at].guard.is_some_and(|guard| holds(guard, &way.1) != Some(true)));
        if ways.len() > MOST_STEPS || next.iter().any(|(position, _)| !body.contains(position)) {
            return false;
        }
        left.extend(next.iter().cloned());
        ways.insert(here, next);
    }
    is_acyclic(ways)
}

/// A circle that does not ask is no way back.
fn is_acyclic(mut ways: SortedMap<Way, Vec<Way>>) -> bool {
    loop {
        let ends: Vec<Way> = ways.iter().filter(|(_, next)| next.is_empty()).map(|(here, _)| here.clone()).collect();
        if ends.is_empty() {
            return ways.is_empty();
        }
        ends.iter().for_each(|end| drop(ways.remove(end)));
        ways.values_mut().for_each(|next| next.retain(|way| !ends.contains(way)));
    }
}

/// Where the instruction leads; None: out of the program.
fn successors(code: &[Instruction], (position, known): &Way) -> Option<Vec<Way>> {
    let instruction = &code[*position];
    match instruction.guard.map(|guard| holds(guard, known)) {
        None | Some(Some(true)) => step(instruction, *position, known),
        Some(Some(false)) => Some(vec![(position + 1, known.clone())]),
        Some(None) => {
            let mut next = step(instruction, *position, known)?;
            next.push((position + 1, known.clone()));
            Some(next)
        }
    }
}

fn holds((register, polarity): (RegisterId, Polarity), known: &Known) -> Option<bool> {
    let is_zero = *known.get(&register)? == Value(0);
    Some(is_zero == (polarity == Polarity::Zero))
}

/// The same of an instruction that is executed.
fn step(instruction: &Instruction, position: usize, known: &Known) -> Option<Vec<Way>> {
    let value = |operand: &Operand| match operand {
        Operand::Register(register) => known.get(register).copied(),
        Operand::Constant(value) => Some(*value),
        Operand::Address(_) => None,
    };
    let mut after = without(instruction, known);
    match &instruction.operation {
        Operation::Exit => return None,
        Operation::Local { destination, ty, value: computed } => {
            let result = match computed {
                LocalValue::Operand(source) => value(source).map(|source| ty.wrap(source)),
                LocalValue::Unary(operator, source) => value(source).map(|source| operator.apply(*ty, source)),
                LocalValue::Binary(operator, left, right) => {
                    value(left).zip(value(right)).map(|(left, right)| operator.apply(*ty, left, right))
                }
                LocalValue::Select { condition, then, otherwise } => {
                    let chosen = value(condition).map(|value| if value == Value(0) { otherwise } else { then });
                    chosen.and_then(value).map(|chosen| ty.wrap(chosen))
                }
            };
            after.extend(result.map(|result| (*destination, result)));
        }
        Operation::Branch { target } => return Some(vec![(target.0 as usize, after)]),
        Operation::BranchIf { comparison, ty, left, right, target } => {
            let operator = comparison_operator(*comparison);
            let taken = value(left).zip(value(right)).map(|(left, right)| operator.apply(*ty, left, right) != Value(0));
            let target = target.0 as usize;
            return Some(match taken {
                Some(true) => vec![(target, after)],
                Some(false) => vec![(position + 1, after)],
                None => vec![(target, after.clone()), (position + 1, after)],
            });
        }
        _ => debug_assert!(target(&instruction.operation).is_none(), "branches are above"),
    }
    Some(vec![(position + 1, after)])
}

/// What is known after the instruction wrote its registers.
fn without(instruction: &Instruction, known: &Known) -> Known {
    let mut known = known.clone();
    for register in defined(&instruction.operation) {
        known.remove(&register);
    }
    known
}
