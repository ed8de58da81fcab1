//! An instruction of memory or synchronisation, or a loop that waits, a little further up or down.

use fencepost_program::ThreadId;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::Statement;

use super::{Maker, Path};
use crate::edit::{Change, Moved};
use crate::fix::space::computes;
use crate::scene::anchor::instruction;
use crate::scene::slots::{UnitKind, course, units};
use crate::scene::statement::{has, named};

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
            let is_bound =
                unit.kind == UnitKind::Instruction && first.guard.is_some() || own.iter().any(|it| asks(body, it));
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

/// Whether an instruction loads the answer to a request that cancels a launch (PTX ISA 9.7.15.18). Before the request there is
/// no answer, and what a program makes of none is not to be seen in its final states.
fn asks(body: &[Statement], own: &Instruction) -> bool {
    let queries = |it: &&Instruction| it.opcode.node == "clusterlaunchcontrol" && has(it, "query_cancel");
    let mut queries = body.iter().filter_map(instruction).filter(queries);
    let loaded = own.operands.first().filter(|_| own.opcode.node == "ld").map(|it| &it.node);
    loaded.is_some() && queries.any(|it| it.operands.iter().skip(1).any(|of| Some(&of.node) == loaded))
}

fn share_a_register(one: &Instruction, other: &Instruction) -> bool {
    let registers = |found: &Instruction| -> Vec<String> {
        let mut all = Vec::new();
        found.operands.iter().for_each(|operand| named(&operand.node, &mut all));
        all.extend(found.guard.iter().map(|guard| guard.register.node.to_string()));
        all
    };
    let own = registers(one);
    registers(other).iter().any(|register| own.contains(register))
}

#[cfg(test)]
mod tests {
    use fencepost_check::{Models, Options, load};
    use fencepost_syntax::Source;

    use crate::fix;
    use crate::fix::{Costs, FixAnswer, Fixing};

    /// The branch is mistaken: to look before the request, when no answer is there yet, mends nothing.
    #[test]
    fn what_asks_again_after_a_refusal_is_not_repaired_by_looking_too_early() {
        for name in ["clc-ask-after-refusal", "clc-ask-in-spite-of-refusal"] {
            let file = format!("../../corpus/async/cluster/{name}.litmus");
            let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
            let (tests, _) = load(&Source::new(name, text.expect("the file")));
            let (model, costs, options) =
                (Models::shipped("ptx").expect("a model"), Costs::default(), Options::default());
            let fixing = Fixing { options: &options, costs: &costs, said: &|_| None, is_kept: &|_| false };
            let fixed = fix(&tests[0], &model, &fixing).report;
            assert_eq!(fixed.answer, FixAnswer::NoRepair, "{name}: {:?}", fixed.repair);
        }
    }
}
