//! An instruction of memory or synchronisation, or a loop that waits, a little further up or down.

use fencepost_program::ThreadId;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use super::{Maker, Path};
use crate::edit::{Change, Moved};
use crate::fix::space::computes;
use crate::scene::anchor::instruction;
use crate::scene::slots::{UnitKind, course, units};

/// How far an instruction is moved.
const FAR: usize = 6;

impl Maker<'_> {
    /// Over nothing whose registers it uses.
    pub(super) fn moves(&self, thread: ThreadId, found: &mut Vec<Path>) {
        let body = &self.test.litmus.threads[thread.index()].body;
        // Of `wgmma` the registers are in flight too.
        let has_flight = body.iter().filter_map(instruction).any(|it| it.opcode.node == "wgmma");
        for unit in units(body).into_iter().filter(|unit| unit.kind != UnitKind::Wall) {
            let own: Vec<&Instruction> = body[unit.first..=unit.last].iter().filter_map(instruction).collect();
            let Some(first) = own.first() else { continue };
            let is_worth = own.iter().any(|it| !computes(it) || has_flight && it.opcode.node == "mov");
            let is_bound = unit.kind == UnitKind::Instruction && first.guard.is_some();
            if !is_worth || is_bound || own.iter().any(|it| (self.is_kept)(it.span())) {
                continue;
            }
            self.move_unit(thread, body, unit.first, &own, found);
        }
    }

    fn move_unit(
        &self,
        thread: ThreadId,
        body: &[Statement],
        place: usize,
        own: &[&Instruction],
        found: &mut Vec<Path>,
    ) {
        let is_access = own.iter().any(|it| matches!(it.opcode.node.as_str(), "ld" | "st" | "atom" | "red"));
        for stop in course(&self.test.litmus, thread, place, FAR).unwrap_or_default() {
            let passed = || stop.passed.iter().filter_map(|at| instruction(body.get(*at)?));
            let shares = |other: &Instruction| own.iter().any(|it| share_a_register(it, other));
            if passed().any(shares) || passed().all(computes) {
                continue;
            }
            let what = if is_access { Moved::Access } else { Moved::Synchronisation };
            self.add(found, Change::Move { span: own[0].span(), to: stop.anchor, what }, "move");
        }
    }
}

fn share_a_register(one: &Instruction, other: &Instruction) -> bool {
    let registers = |found: &Instruction| -> Vec<String> {
        let mut all = Vec::new();
        found.operands.iter().for_each(|operand| named(&operand.node, &mut all));
        all.extend(found.guard.iter().map(|guard| guard.register.node.clone()));
        all
    };
    let own = registers(one);
    registers(other).iter().any(|register| own.contains(register))
}

/// The registers of an operand. Those of an address count too: it may be computed between.
pub(crate) fn named(operand: &Operand, all: &mut Vec<String>) {
    match operand {
        Operand::Register(name) => all.push(name.clone()),
        Operand::Address(address) => {
            named(&address.base.node, all);
            address.rest.iter().for_each(|part| named(&part.node, all));
        }
        Operand::Offset(inner, _) | Operand::Negated(inner) => named(&inner.node, all),
        Operand::Pair(one, other) => [one, other].iter().for_each(|part| named(&part.node, all)),
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| named(&part.node, all)),
        Operand::Symbol(_) | Operand::Integer(_) | Operand::Float(_) | Operand::Sink | Operand::Text(_) => {}
    }
}
