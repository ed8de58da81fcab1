//! Where the fences of `tcgen05` and its deallocation belong (PTX ISA 9.7.18.6.4, 9.7.18.7.1).

use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::reason::Waiting;
use fencepost_syntax::instruction::Instruction;

use crate::edit::{Change, Edit, Moved};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::slots::Stop;
use crate::scene::statement::{Here, Role, instructions, role, spelled};

const COST: u32 = 0;

/// A deallocation that stands before what still uses the columns: behind everything its thread does (PTX ISA 9.7.18.7.1).
pub(crate) fn freed(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let frees = |access: &EventId| scene.has(*access, Tag::Deallocation);
    let Some(access) = [pair.0, pair.1].into_iter().find(frees) else { return Vec::new() };
    let (span, thread) = (scene.event(scene.at(access)).span, scene.thread(access));
    let own: Vec<Here<'_>> = instructions(scene).into_iter().filter(|here| Some(here.thread) == thread).collect();
    let Some(at) = own.iter().position(|here| here.span().start == span.start) else { return Vec::new() };
    let leaves = |here: &&Here<'_>| matches!(here.opcode(), "ret" | "exit");
    let last = own.iter().skip(at + 1).take_while(|here| !leaves(here)).last();
    let edit = |last: &Here<'_>| {
        let reason = Waiting::DeallocatesTooEarly { deallocation: own[at].site(scene) };
        let to = Anchor { thread: last.thread, span: last.span(), side: Side::After };
        let change = Change::Move { span: own[at].span(), to, what: Moved::Synchronisation };
        Edit::new(change, reason, sections::TCGEN05_ALLOC, COST)
    };
    last.map(edit).into_iter().collect()
}

/// A `tcgen05.commit` with `.sync_restrict` tells only that the products have read those factors.
pub(crate) fn restricted(scene: &Scene<'_>, here: Here<'_>) -> Option<Edit> {
    let word = here.instruction.modifiers.iter().find(|word| word.node.starts_with("sync_restrict"))?;
    if here.opcode() != "tcgen05" || !here.has("commit") {
        return None;
    }
    let by = format!("{};", spelled(scene, here).replacen(&format!(".{}", word.node), "", 1));
    let reason = Waiting::TellsOfReadsOnly { commit: here.site(scene) };
    let change = Change::Replace { thread: here.thread, span: here.span(), by };
    Some(Edit::new(change, reason, sections::TCGEN05_PATTERNS, COST))
}

/// Whether a commit would take the place of an arrive behind `tcgen05.fence::before_thread_sync`: such an arrive hands over what
/// the thread has waited for, and it is the wait that is missing.
pub(crate) fn is_handed_over(scene: &Scene<'_>, edit: &Edit) -> bool {
    let Change::Replace { thread, span, by } = &edit.change else { return false };
    let Some(at) = position(&scene.test.litmus, *thread, *span) else { return false };
    let body = scene.body(*thread);
    let before = body.iter().take(at).rev().find_map(instruction);
    let hands = |it: &Instruction| it.modifiers.iter().any(|word| word.node == "fence::before_thread_sync");
    by.contains("tcgen05.commit") && before.is_some_and(hands)
}

/// Whether the instruction passes other threads, or what they tell.
fn synchronises(instruction: &Instruction) -> bool {
    let has = |word: &str| instruction.modifiers.iter().any(|found| found.node == word);
    let waits = instruction.opcode.node == "mbarrier" && (has("try_wait") || has("test_wait"));
    waits || matches!(role(instruction), Some(Role::Meets | Role::Tells))
}

/// A fence of `tcgen05` belongs to the synchronisation that it stands beside (PTX ISA 9.7.18.6.4): one with operations on its
/// other side is needed where it is, and is not moved to other synchronisation.
pub(crate) fn is_bound(scene: &Scene<'_>, here: Here<'_>, stop: &Stop) -> bool {
    let behind = here.has("fence::after_thread_sync") && stop.anchor.side == Side::Before;
    let before = here.has("fence::before_thread_sync") && stop.anchor.side == Side::After;
    let body = scene.body(here.thread);
    let at = |at: &usize| body.get(*at).and_then(instruction);
    if !behind && !before || !stop.passed.iter().filter_map(at).any(synchronises) {
        return false;
    }
    let uses = |it: &Instruction| it.opcode.node == "tcgen05" && role(it).is_none();
    let rest: Vec<&Instruction> = match behind {
        true => body.iter().skip(here.at + 1).filter_map(instruction).collect(),
        false => body.iter().take(here.at).rev().filter_map(instruction).collect(),
    };
    rest.into_iter().take_while(|it| !synchronises(it)).any(uses)
}
