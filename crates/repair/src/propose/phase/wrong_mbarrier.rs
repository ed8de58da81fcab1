//! A wait or an arrival that names another mbarrier than it should, and a wait that asks once and goes on whatever the answer
//! is (PTX ISA 9.7.15.16).

use fencepost_program::sections;
use fencepost_report::reason::{Arriving, MbarrierUse};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Change, Edit};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::loops::{Loop, innermost};
use crate::scene::mbarrier_uses::{Kind, Use, Uses, address};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;
/// How far behind a wait the branch back may stand: `@%p bra DONE; bra WAIT;`.
const NEAR: usize = 3;

fn statement<'s>(scene: &'s Scene<'_>, own: &Use) -> Option<&'s Instruction> {
    scene.test.litmus.threads.get(own.thread.index())?.body.get(own.at).and_then(instruction)
}

fn uses_as(kind: Kind) -> MbarrierUse {
    match kind {
        Kind::Wait => MbarrierUse::Wait,
        Kind::Arrive => MbarrierUse::Arrive,
        Kind::Complete => MbarrierUse::Complete,
    }
}

/// Another object of as many stages. One that nobody does this with is most likely meant.
pub(crate) fn mistaken(scene: &Scene<'_>, loops: &[Loop], uses: &Uses) -> Vec<Edit> {
    let mut found: Vec<(bool, Edit)> = Vec::new();
    for own in &uses.all {
        let Some(instruction) = statement(scene, own) else { continue };
        let within = innermost(loops, own.thread, own.at);
        let names = uses.names().into_iter().filter(|name| *name != own.name);
        for name in names.filter(|name| uses.stages(name) == uses.stages(&own.name)) {
            let is_used = uses.of(name, own.kind).next().is_some();
            let by = uses.operand(scene, name, own.thread, within);
            let Some(by) = by.and_then(|operand| renamed(scene, instruction, &operand)) else { continue };
            let reason = Arriving::WrongMbarrier {
                at: scene.site_at(own.thread, instruction.span()),
                uses: uses_as(own.kind),
                mbarrier: own.name.clone(),
                meant: name.to_owned(),
            };
            let change = Change::Replace { thread: own.thread, span: instruction.span(), by };
            found.push((is_used, Edit::new(change, reason, SECTION, COST)));
        }
    }
    found.shared_sort_by_key(|(is_used, _)| *is_used);
    found.into_iter().map(|(_, edit)| edit).collect()
}

/// The instruction with another mbarrier.
fn renamed(scene: &Scene<'_>, instruction: &Instruction, operand: &str) -> Option<String> {
    let old = format!("[{}]", address(scene, instruction)?);
    let text = scene.test.instruction_text(instruction.span());
    let at = text.rfind(&old)?;
    let (head, tail) = (text.get(..at)?, text.get(at + old.len()..)?);
    Some(format!("{head}[{operand}]{};", tail.trim_end_matches(';').trim_end()))
}

/// Waits that no branch repeats.
pub(crate) fn asked_once(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
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
    let Some(body) = scene.test.litmus.threads.get(own.thread.index()).map(|thread| &thread.body) else { return true };
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
