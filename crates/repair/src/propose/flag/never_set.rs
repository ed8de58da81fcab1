//! A loop that nobody ends: it waits for a flag that no thread sets (PTX ISA 8.8, 8.9.4), or for a predicate that nothing in it
//! computes.

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::TraceEnd;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Meeting, Reason};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use crate::edit::{Edit, scope_word};
use crate::propose::flag::unread::{bits, space_word};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction, instruction_at};

const COST: u32 = 0;
/// How far behind a read its result is compared.
const NEAR: usize = 3;

/// A thread that goes round for good: what it reads in vain, and where it branches back.
struct Spin {
    thread: ThreadId,
    reads: Vec<EventId>,
    branch: Span,
}

fn spins(scene: &Scene<'_>) -> Vec<Spin> {
    let mut found = Vec::new();
    for (thread, trace) in scene.execution.traces.iter().enumerate() {
        if let Some(TraceEnd::Spin { reads, span }) = scene.unfolding.traces.get(trace.index()).map(|it| &it.end) {
            found.push(Spin { thread: ThreadId::new(thread), reads: reads.clone(), branch: *span });
        }
    }
    found
}

/// What may end such a loop, the likeliest first.
pub(crate) fn likely(scene: &Scene<'_>) -> Vec<Edit> {
    let spins = spins(scene);
    let stuck: Vec<ThreadId> = spins.iter().map(|spin| spin.thread).collect();
    spins.iter().flat_map(|spin| spin.reads.iter().flat_map(|read| writes(scene, &stuck, *read))).collect()
}

/// Why such a loop does not end.
pub(crate) fn why(scene: &Scene<'_>) -> Option<Reason> {
    let unwritten = |read: &EventId| !scene.has(*read, Tag::Mbarrier) && !others_write(scene, *read);
    for spin in spins(scene) {
        if let Some(read) = spin.reads.iter().copied().find(unwritten) {
            return Some(reason(scene, read).into());
        }
        let guard = instruction_at(&scene.test.litmus, spin.thread, spin.branch).and_then(|(_, it)| it.guard.as_ref());
        if let (true, Some(guard)) = (spin.reads.is_empty(), guard) {
            let (branch, register) = (scene.site_at(spin.thread, spin.branch), guard.register.node.clone());
            return Some(Meeting::GoesRoundForGood { branch, register: register.into() }.into());
        }
    }
    None
}

fn reason(scene: &Scene<'_>, read: EventId) -> Meeting {
    Meeting::FlagNeverSet { read: scene.site(read), flag: scene.variable(read) }
}

/// Whether another thread writes there, in this execution.
fn others_write(scene: &Scene<'_>, read: EventId) -> bool {
    let location = scene.event(read).location();
    let writes = |id: &&EventId| scene.has(**id, Tag::Write) && scene.event(**id).location() == location;
    let mut all = scene.execution.events.iter().filter(writes);
    all.any(|id| scene.thread(*id).is_some_and(|thread| Some(thread) != scene.thread(read)))
}

/// The write at the end of each thread that is not stuck: as another thread writes it, or with what the loop compares with.
fn writes(scene: &Scene<'_>, stuck: &[ThreadId], read: EventId) -> Vec<Edit> {
    let waiter = scene.thread(read);
    if scene.has(read, Tag::Mbarrier) {
        return Vec::new();
    }
    let mut texts = known(scene, read);
    let threads = (0..scene.test.litmus.threads.len()).map(ThreadId::new);
    let mut found = Vec::new();
    for thread in threads.filter(|thread| Some(*thread) != waiter && !stuck.contains(thread)) {
        let last = scene.main_events(thread).last().copied();
        let (Some(last), Some(anchor)) = (last, end(scene, thread)) else { continue };
        let fresh = compared(scene, read).and_then(|value| release(scene, read, last, value));
        texts.extend(fresh.filter(|text| !texts.contains(text)));
        for text in &texts {
            found.push(Edit::insert(anchor, text, reason(scene, read), "8.8, 8.9.4", COST));
        }
    }
    found
}

/// Behind the last instruction of a thread, or before the one that leaves it.
fn end(scene: &Scene<'_>, thread: ThreadId) -> Option<Anchor> {
    let last = scene.body(thread).iter().rev().find_map(instruction)?;
    let leaves = matches!(last.opcode.node.as_str(), "ret" | "exit");
    Some(Anchor { thread, span: last.span(), side: if leaves { Side::Before } else { Side::After } })
}

/// How threads release what is waited for: the same text does it for those that are like them.
fn known(scene: &Scene<'_>, read: EventId) -> Vec<String> {
    let location = scene.event(read).location();
    let mut found = Vec::new();
    // Of all traces: an execution that is stuck has not come to everything.
    for event in &scene.unfolding.events {
        let releases = event.tags.has(Tag::Write) && event.location() == location && event.strand.is_none();
        let Some(thread) = event.thread.filter(|_| releases) else { continue };
        let Some((_, it)) = instruction_at(&scene.test.litmus, thread, event.span) else { continue };
        let has = |word: &str| it.modifiers.iter().any(|found| found.node == word);
        let text = scene.test.instruction_text(event.span).trim_end_matches(';').trim().to_owned();
        if (has("release") || has("acq_rel")) && it.guard.is_none() && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// `st.release.gpu.global.u32 [flag], 1`.
fn release(scene: &Scene<'_>, read: EventId, writer: EventId, value: i128) -> Option<String> {
    let statement = scene.statement(read)?;
    let bits = statement.modifiers.iter().rev().find_map(|word| bits(&word.node))?;
    let address = statement.operands.iter().find(|operand| matches!(operand.node, Operand::Address(_)))?;
    let address = scene.test.source.slice(address.span);
    // Registers are the other thread's own.
    let name = address.trim_start_matches('[').trim_start();
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then_some(())?;
    let space = space_word(scene.space(read))?;
    let near = scene.location(read)?.owner.is_none_or(|owner| owner == scene.place(writer));
    let scope = scope_word(scene.common(read, writer));
    near.then(|| format!("st.release.{scope}.{space}.u{bits} {address}, {value}"))
}

/// A value with which the loop of a read ends.
fn compared(scene: &Scene<'_>, read: EventId) -> Option<i128> {
    let thread = scene.thread(read)?;
    let (own, it) = instruction_at(&scene.test.litmus, thread, scene.event(read).span)?;
    let result = &it.operands.first()?.node;
    let body = scene.body(thread);
    let near: Vec<&Statement> = body.iter().skip(own + 1).take(NEAR).collect();
    let compares =
        |it: &&Instruction| it.opcode.node == "setp" && it.operands.get(1).map(|it| &it.node) == Some(result);
    let compares = near.iter().filter_map(|statement| instruction(statement)).find(compares)?;
    let Operand::Integer(value) = compares.operands.get(2)?.node else { return None };
    let branch = near.iter().filter_map(|statement| instruction(statement)).find(|it| it.opcode.node == "bra")?;
    let goes_on_if = branch.guard.as_ref()?.negated;
    let is_equal = match compares.modifiers.first()?.node.as_str() {
        "eq" => goes_on_if,
        "ne" | "lt" => !goes_on_if,
        _ => return None,
    };
    // Anything else ends a loop that waits while it is equal.
    Some(if is_equal { value } else { i128::from(value == 0) })
}
