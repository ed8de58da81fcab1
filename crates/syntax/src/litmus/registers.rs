//! What can only be settled when the whole test is read: which bare names are registers, and the order of x86 operands.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Arch, Declaration, Statement, Thread};
use crate::instruction::{Instruction, Operand};
use crate::short::ShortText;
use crate::span::Spanned;

/// Names that `P0:p = 0` or `.reg .pred p` declare are registers wherever they stand in that thread.
pub(super) fn resolve(declarations: &[Spanned<Declaration>], threads: &mut [Thread]) {
    let mut declared: BTreeMap<Option<u32>, Names> = BTreeMap::new();
    for declaration in declarations {
        let (owner, register) = match &declaration.node {
            Declaration::Register { thread, register, .. } => (Some(*thread), &register.node),
            Declaration::TypedRegister { thread, register, .. } => (*thread, &register.node),
            Declaration::Location { .. }
            | Declaration::Alias { .. }
            | Declaration::Version { .. }
            | Declaration::Target { .. }
            | Declaration::Multimem { .. }
            | Declaration::Launch { .. }
            | Declaration::Stream { .. }
            | Declaration::Event { .. } => continue,
        };
        if !register.starts_with('%') {
            declared.entry(owner).or_default().insert(register);
        }
    }
    for (index, thread) in threads.iter_mut().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let own = u32::try_from(index).ok().and_then(|index| declared.get(&Some(index)));
        let names: Vec<&Names> = declared.get(&None).into_iter().chain(own).collect();
        if !names.is_empty() {
            for instruction in instructions(thread) {
                instruction.operands.iter_mut().for_each(|operand| name(&mut operand.node, &names));
            }
        }
    }
}

/// Declared names, and the lengths of ranges: `p<4>` covers `p0` to `p3`.
#[derive(Default)]
struct Names {
    exact: BTreeSet<String>,
    ranges: BTreeMap<String, u32>,
}

impl Names {
    fn insert(&mut self, register: &str) {
        match register.strip_suffix('>').and_then(|head| head.split_once('<')) {
            Some((base, count)) => {
                let count = count.parse().unwrap_or(0);
                let longest = self.ranges.entry(base.to_owned()).or_default();
                *longest = count.max(*longest);
            }
            None => {
                self.exact.insert(register.to_owned());
            }
        }
    }

    fn cover(&self, symbol: &str) -> bool {
        let digits = symbol.bytes().rev().take_while(u8::is_ascii_digit).take(10).count();
        let in_range = |split: usize| {
            let (base, number) = symbol.split_at(symbol.len() - split);
            let plain = split == 1 || !number.starts_with('0');
            let count = self.ranges.get(base).copied().unwrap_or(0);
            plain && number.parse::<u32>().is_ok_and(|number| number < count)
        };
        self.exact.contains(symbol) || (1..=digits).any(in_range)
    }
}

/// Symbolic registers of x86 (`%x`) that the braces do not give to their thread: misspelt ones, mostly.
pub(super) fn undeclared_symbolic(
    declarations: &[Spanned<Declaration>],
    threads: &[Thread],
) -> Vec<(ShortText, crate::span::Span)> {
    let is_symbolic = |operand: &Spanned<Operand>| match &operand.node {
        Operand::Register(name) => name.starts_with("%"),
        Operand::Address(address) => [&*address.base]
            .into_iter()
            .chain(&address.rest)
            .any(|operand| matches!(&operand.node, Operand::Register(name) if name.starts_with("%"))),
        _ => false,
    };
    let has_symbolic = |statement: &Statement| match statement {
        Statement::Instruction { instruction, .. } => instruction.operands.iter().any(is_symbolic),
        Statement::Label(_) | Statement::C(_) => false,
    };
    let is_x86 = |thread: &&Thread| matches!(thread.arch, Arch::X86 | Arch::X86_64);
    if !threads.iter().filter(is_x86).flat_map(|thread| &thread.body).any(has_symbolic) {
        return Vec::new();
    }
    let declared: BTreeSet<(u32, &str)> = declarations
        .iter()
        .filter_map(|declaration| match &declaration.node {
            Declaration::Register { thread, register, .. } => Some((*thread, register.node.as_str())),
            Declaration::TypedRegister { thread: Some(thread), register, .. } => {
                Some((*thread, register.node.as_str()))
            }
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for (index, thread) in (0..).zip(threads).filter(|(_, thread)| matches!(thread.arch, Arch::X86 | Arch::X86_64)) {
        for statement in &thread.body {
            let Statement::Instruction { instruction, .. } = statement else { continue };
            for operand in &instruction.operands {
                let mut named: Vec<&Spanned<Operand>> = vec![operand];
                if let Operand::Address(address) = &operand.node {
                    named.push(&address.base);
                    named.extend(&address.rest);
                }
                let symbolic = named.iter().filter_map(|operand| match &operand.node {
                    Operand::Register(name) if name.starts_with("%") => Some((name.clone(), operand.span)),
                    _ => None,
                });
                found.extend(symbolic.filter(|(name, _)| !declared.contains(&(index, name.as_str()))));
            }
        }
    }
    found
}

/// AT&T's operand order to Intel's.
pub(super) fn reverse_operands(threads: &mut [Thread]) {
    let x86 = threads.iter_mut().filter(|thread| matches!(thread.arch, Arch::X86 | Arch::X86_64));
    x86.flat_map(instructions).for_each(|instruction| instruction.operands.reverse());
}

fn instructions(thread: &mut Thread) -> impl Iterator<Item = &mut Instruction> {
    thread.body.iter_mut().filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        Statement::Label(_) | Statement::C(_) => None,
    })
}

fn name(operand: &mut Operand, names: &[&Names]) {
    match operand {
        Operand::Symbol(symbol) if names.iter().any(|names| names.cover(symbol)) => {
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
        Operand::Negated(inner) | Operand::Offset(inner, _) => name(&mut inner.node, names),
        _ => {}
    }
}
