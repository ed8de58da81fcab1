//! A wait that asks once and goes on whatever the answer is (PTX ISA 9.7.15.16).

use fencepost_program::sections;
use fencepost_report::reason::{Arriving, MbarrierUse};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use crate::edit::{Change, Edit};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::mbarrier_uses::{Kind, Use, Uses};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;
/// How far behind a wait the branch back may stand: `@%p bra DONE; bra WAIT;`.
const NEAR: usize = 3;

fn statement<'s>(scene: &'s Scene<'_>, own: &Use) -> Option<&'s Instruction> {
    scene.body(own.thread).get(own.at).and_then(instruction)
}

fn uses_as(kind: Kind) -> MbarrierUse {
    match kind {
        Kind::Wait => MbarrierUse::Wait,
        Kind::Arrive => MbarrierUse::Arrive,
        Kind::Complete => MbarrierUse::Complete,
    }
}

/// Waits that no branch repeats.
pub(crate) fn plans(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let mut found = Vec::new();
    for own in uses.all.iter().filter(|own| own.kind == Kind::Wait) {
        let Some(instruction) = statement(scene, own) else { continue };
        let Some(Operand::Register(answer)) = instruction.operands.first().map(|operand| &operand.node) else {
            continue;
        };
        if is_repeated(scene, own) {
            continue;
        }
        let span = instruction.span();
        let at = scene.site_at(own.thread, span);
        let reason = Arriving::AskedOnce { at, uses: uses_as(own.kind), mbarrier: own.name.clone() };
        let body = scene.test.litmus.threads.get(own.thread.index()).map(|thread| &thread.body);
        let before = own.at.checked_sub(1).and_then(|at| body?.get(at));
        found.push(match before {
            Some(Statement::Label(label)) => {
                let behind = Anchor { thread: own.thread, span, side: Side::After };
                Edit::insert(behind, &format!("@!{answer} bra {}", label.node), reason, SECTION, COST)
            }
            _ => {
                let text = scene.test.instruction_text(span);
                let label = format!("WAIT{}", span.start);
                let by = format!("{label}: {};\n@!{answer} bra {label};", text.trim_end_matches(';').trim());
                let change = Change::Replace { thread: own.thread, span, by };
                Edit::new(change, reason, SECTION, COST)
            }
        });
    }
    found
}

fn is_repeated(scene: &Scene<'_>, own: &Use) -> bool {
    let body = scene.body(own.thread);
    let is_before = |label: &str| {
        let at = body.iter().position(|it| matches!(it, Statement::Label(found) if found.node == label));
        at.is_some_and(|at| at < own.at)
    };
    let mut near = body.iter().skip(own.at + 1).take(NEAR).filter_map(instruction);
    near.any(|it| {
        let back = |operand: &Operand| matches!(operand, Operand::Symbol(label) if is_before(label));
        it.opcode.node == "bra" && it.operands.iter().any(|operand| back(&operand.node))
    })
}
