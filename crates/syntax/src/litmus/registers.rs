//! What can only be settled when the whole test is read: which bare names are registers, and the order of x86 operands.

use super::tree::{Declaration, Statement, Thread};
use crate::instruction::{Instruction, Operand};
use crate::span::Spanned;

/// Names that `P0:p = 0` or `.reg .pred p` declare are registers wherever they stand in that thread.
pub(super) fn resolve(declarations: &[Spanned<Declaration>], threads: &mut [Thread]) {
    for (index, thread) in threads.iter_mut().enumerate() {
        let own = |owner: u32| usize::try_from(owner).is_ok_and(|owner| owner == index);
        let names: Vec<&str> = declarations
            .iter()
            .filter_map(|declaration| match &declaration.node {
                Declaration::Register { thread, register, .. } if own(*thread) => Some(register.node.as_str()),
                Declaration::TypedRegister { thread, register, .. } if thread.is_none_or(own) => Some(&register.node),
                _ => None,
            })
            .filter(|name| !name.starts_with('%'))
            .collect();
        if !names.is_empty() {
            for instruction in instructions(thread) {
                instruction.operands.iter_mut().for_each(|operand| name(&mut operand.node, &names));
            }
        }
    }
}

/// AT&T's operand order to Intel's.
pub(super) fn reverse_operands(threads: &mut [Thread]) {
    threads.iter_mut().flat_map(instructions).for_each(|instruction| instruction.operands.reverse());
}

fn instructions(thread: &mut Thread) -> impl Iterator<Item = &mut Instruction> {
    thread.body.iter_mut().filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        Statement::Label(_) => None,
    })
}

fn name(operand: &mut Operand, names: &[&str]) {
    match operand {
        Operand::Symbol(symbol) if names.iter().any(|pattern| covers(pattern, symbol)) => {
            *operand = Operand::Register(std::mem::take(symbol));
        }
        Operand::Address(address) => {
            name(&mut address.base.node, names);
            address.rest.iter_mut().for_each(|item| name(&mut item.node, names));
        }
        Operand::Vector(items) | Operand::List(items) => items.iter_mut().for_each(|item| name(&mut item.node, names)),
        Operand::Pair(first, second) => {
            name(&mut first.node, names);
            name(&mut second.node, names);
        }
        Operand::Negated(inner) => name(&mut inner.node, names),
        _ => {}
    }
}

/// `p<4>` covers `p0` to `p3`; any other name covers itself.
fn covers(pattern: &str, symbol: &str) -> bool {
    let range = pattern.strip_suffix('>').and_then(|head| head.split_once('<'));
    let Some((base, count)) = range else { return pattern == symbol };
    let number = symbol.strip_prefix(base).and_then(|digits| digits.parse::<u32>().ok());
    number.is_some_and(|number| count.parse::<u32>().is_ok_and(|count| number < count))
}
