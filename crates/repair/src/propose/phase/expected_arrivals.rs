//! What a phase waits for and nobody brings: an arrival that is missing, bytes that are not announced, a count that is too
//! large (PTX ISA 9.7.15.16).

use fencepost_program::ThreadId;
use fencepost_program::mbarrier::State;
use fencepost_program::program::Place;
use fencepost_program::sections;
use fencepost_program::unfolding::TraceEnd;
use fencepost_report::reason::{Announcing, Arriving, Reason};
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::edit::apply::counted;
use crate::edit::{Change, Edit};
use crate::propose::phase::{buffer_release, hanging_wait};
use crate::propose::{adjust, wait};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side};
use crate::scene::loops::{self, Loop, innermost, inside};
use crate::scene::mbarrier_uses::{Kind, Use, Uses, address, is_wait, name_of};
use crate::scene::site::number;
use crate::scene::statement::has;

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;

/// A part of a thread that is done once in each round, or the whole of one without a loop.
#[derive(Copy, Clone)]
struct Part {
    thread: ThreadId,
    within: Option<Loop>,
}

/// The loops that use mbarriers or copy, and the threads that have none.
fn parts(scene: &Scene<'_>) -> Vec<Part> {
    let loops = loops::loops_of(&scene.test.litmus);
    let mut found = Vec::new();
    for thread in (0..scene.test.litmus.threads.len()).map(|at| ThreadId(at as u32)) {
        // An outer loop has the rounds of the inner.
        let inner = |own: &&Loop| own.thread == thread && innermost(&loops, thread, own.first) == Some(**own);
        let own: Vec<Part> = loops.iter().filter(inner).map(|own| Part { thread, within: Some(*own) }).collect();
        match own.is_empty() {
            true => found.push(Part { thread, within: None }),
            false => found.extend(own),
        }
    }
    found
}

/// The bytes of all copies of a part that tell an mbarrier of them, by how that is written.
fn copied(scene: &Scene<'_>, part: Part) -> Vec<(String, i128)> {
    let mut found: Vec<(String, i128)> = Vec::new();
    for (_, instruction) in inside(&scene.test.litmus, part.thread, part.within) {
        let Some((operand, bytes)) = copies(scene, instruction) else { continue };
        match found.iter_mut().find(|(known, _)| *known == operand) {
            Some((_, all)) => *all += bytes,
            None => found.push((operand, bytes)),
        }
    }
    found
}

/// The bytes of the copies between an arrival and the next on the same mbarrier.
fn copied_behind(scene: &Scene<'_>, part: Part, own: &Instruction, operand: &str) -> i128 {
    let all = inside(&scene.test.litmus, part.thread, part.within).into_iter().map(|(_, instruction)| instruction);
    let arrives = |it: &&Instruction| arrives_on(scene, it, operand);
    let behind = all.skip_while(|it| it.span() != own.span()).skip(1).take_while(|it| !arrives(it));
    behind.filter_map(|it| copies(scene, it)).filter(|(to, _)| to == operand).map(|(_, bytes)| bytes).sum()
}

/// The mbarrier that a bulk copy tells of its bytes, and how many.
fn copies(scene: &Scene<'_>, instruction: &Instruction) -> Option<(String, i128)> {
    let tells = instruction.modifiers.iter().any(|word| word.node.starts_with("mbarrier::complete_tx"));
    let bytes = instruction.operands.iter().find_map(|operand| match operand.node {
        Operand::Integer(bytes) => Some(bytes),
        _ => None,
    });
    let copy = instruction.opcode.node == "cp" && has(instruction, "bulk") && !has(instruction, "tensor");
    (tells && copy).then_some(())?;
    Some((address(scene, instruction)?, bytes?))
}

fn arrives_on(scene: &Scene<'_>, it: &Instruction, operand: &str) -> bool {
    let arrives = it.opcode.node == "mbarrier" && (has(it, "arrive") || has(it, "expect_tx"));
    arrives && address(scene, it).as_deref() == Some(operand)
}

/// Arrivals of a part on an mbarrier that is written so, as instructions of its own.
fn arrivals<'s>(scene: &'s Scene<'_>, part: Part, operand: &str) -> Vec<&'s Instruction> {
    let all = inside(&scene.test.litmus, part.thread, part.within).into_iter().map(|(_, instruction)| instruction);
    all.filter(|it| arrives_on(scene, it, operand)).collect()
}

fn edit(change: Change, reason: impl Into<Reason>) -> Edit {
    Edit::new(change, reason, SECTION, COST)
}

/// Arrivals that are there and say too little: without the bytes of the round, or before its `cp.async` are done.
pub(crate) fn mistaken(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let mut found = Vec::new();
    for part in parts(scene) {
        for (operand, bytes) in copied(scene, part) {
            for own in arrivals(scene, part, &operand) {
                let near = copied_behind(scene, part, own, &operand);
                let all = [near, bytes].into_iter().filter(|bytes| *bytes > 0);
                found.extend(all.filter_map(|bytes| announced(scene, part, own, bytes)));
            }
        }
        found.extend(told_too_early(scene, uses, part));
    }
    found
}

fn announced(scene: &Scene<'_>, part: Part, own: &Instruction, bytes: i128) -> Option<Edit> {
    let text = scene.test.instruction_text(own.span());
    let text = text.trim_end_matches(';').trim();
    let (at, copied) = (scene.site_at(part.thread, own.span()), number(bytes));
    let (by, reason) = match own.operands.last().map(|operand| &operand.node) {
        _ if own.guard.is_some() => return None,
        Some(Operand::Integer(told)) if has(own, "expect_tx") && *told != bytes => {
            let (head, _) = text.rsplit_once(',')?;
            (format!("{head}, {bytes};"), Announcing::AnnouncesOther { at, announced: number(*told), copied })
        }
        Some(Operand::Address(_)) if !has(own, "expect_tx") && has(own, "arrive") => {
            let by = text.replacen("mbarrier.arrive", "mbarrier.arrive.expect_tx", 1);
            (format!("{by}, {bytes};"), Announcing::AnnouncesNone { at, copied })
        }
        _ => return None,
    };
    Some(edit(Change::Replace { thread: part.thread, span: own.span(), by }, reason))
}

/// A plain arrive behind `cp.async` does not wait for them.
fn told_too_early(scene: &Scene<'_>, uses: &Uses, part: Part) -> Vec<Edit> {
    let all = inside(&scene.test.litmus, part.thread, part.within);
    let copies =
        |it: &Instruction| it.opcode.node == "cp" && has(it, "async") && !has(it, "bulk") && !has(it, "mbarrier");
    let waits = |it: &Instruction| it.opcode.node == "cp" && (has(it, "wait_group") || has(it, "wait_all"));
    let Some(first) = all.iter().position(|(_, it)| copies(it)) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, own) in all.iter().skip(first).take_while(|(_, it)| !waits(it)) {
        let plain =
            own.opcode.node == "mbarrier" && has(own, "arrive") && !has(own, "expect_tx") && own.guard.is_none();
        let known = uses.all.iter().any(|it| it.thread == part.thread && it.at == *at && it.kind == Kind::Arrive);
        let (true, Some(operand)) = (plain && known, address(scene, own)) else { continue };
        let reason = Arriving::ArrivesBeforeCopies { arrival: scene.site_at(part.thread, own.span()) };
        let by = format!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{operand}];");
        found.push(edit(Change::Replace { thread: part.thread, span: own.span(), by }, reason));
    }
    found
}

/// What the stuck threads wait for: the mbarrier, and how many arrivals it lacks.
fn awaited<'s>(scene: &Scene<'s>) -> Vec<(ThreadId, &'s str, u32)> {
    let mut found: Vec<(ThreadId, &str, u32)> = Vec::new();
    for trace in scene.execution.traces.iter().filter_map(|it| scene.unfolding.traces.get(it.index())) {
        let TraceEnd::Spin { reads, .. } = &trace.end else { continue };
        for read in reads {
            let state = wait::value(scene, *read).map(State::unpack);
            let (Some(thread), Some(name), Some(state)) = (scene.thread(*read), name_of(scene, *read), state) else {
                continue;
            };
            let new = found.iter().all(|(_, known, _)| *known != name);
            found.extend((is_wait(scene, *read) && new).then_some((thread, name, state.pending)));
        }
    }
    found
}

/// An initial count that fewer arrive for.
pub(crate) fn counts(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let mut found = Vec::new();
    for (_, name, pending) in awaited(scene) {
        let named =
            |it: &&fencepost_program::unfolding::LocationInfo| it.name.split(['[', '@', '+']).next() == Some(name);
        let Some(location) = scene.unfolding.locations.iter().find(named) else { continue };
        let whole = location.name.split('@').next().unwrap_or_default();
        let (inits, by) = (adjust::inits(scene, whole), -i128::from(pending));
        let arrives = uses.of(name, Kind::Arrive).chain(uses.of(name, Kind::Complete)).next().is_some();
        if !arrives || pending == 0 || counted(scene, whole, &inits).is_none_or(|count| count + by < 1) {
            continue;
        }
        let reason = Arriving::CountTooLarge { mbarrier: name.to_owned() };
        found.push(edit(Change::Count { name: whole.to_owned(), by, inits }, reason));
    }
    found
}

/// An arrival of every round that is not there, on what some thread waits for.
pub(crate) fn missing(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let (mut found, mut last) = (Vec::new(), Vec::new());
    for (waiter, name, _) in awaited(scene) {
        let reason = Arriving::TooFewArrive { waiter: scene.thread_named(waiter), mbarrier: name.to_owned() };
        for part in parts(scene) {
            if uses.has(name, Kind::Arrive, part.thread, part.within) {
                found.extend(repeated(scene, uses, (part, name), &reason));
                continue;
            }
            let Some(operand) = uses.operand(scene, name, part.thread, part.within) else { continue };
            found.extend(untold(scene, part, &operand, &reason));
            let remote = owner(scene, name).is_some_and(|owner| scene.home(part.thread) != owner);
            let text = match (remote, owner(scene, name)) {
                (true, Some(Place::Gpu { cta, .. })) => {
                    let peer =
                        format!("mapa.shared::cluster.u32 %peer, {operand}, {};", buffer_release::rank(scene, cta));
                    format!("{peer}\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%peer]")
                }
                (true, _) => continue,
                (false, _) => format!("mbarrier.arrive.shared::cta.b64 _, [{operand}]"),
            };
            let Some(tail) = loops::tail(&scene.test.litmus, part.thread, part.within) else { continue };
            let put = Edit::insert(tail, &text, reason.clone(), SECTION, COST);
            // Nobody arrives for himself who waits for others.
            if part.thread == waiter { last.push(put) } else { found.push(put) }
        }
    }
    found.extend(hanging_wait::arrivals(scene));
    found.extend(last);
    found
}

/// A thread without loops that arrives once too few: the same again, before one of its waits or at its end.
fn repeated(scene: &Scene<'_>, uses: &Uses, (part, name): (Part, &str), reason: &Arriving) -> Vec<Edit> {
    let all = inside(&scene.test.litmus, part.thread, part.within);
    let own = |kind: Kind, at: usize, name: Option<&str>| {
        let is = |it: &Use| it.thread == part.thread && it.at == at && name.is_none_or(|name| it.name == name);
        uses.of_kind(kind).any(is)
    };
    let arrival = all.iter().find(|(at, _)| own(Kind::Arrive, *at, Some(name))).map(|(_, it)| it.span());
    let (Some(arrival), true) = (arrival, part.within.is_none()) else { return Vec::new() };
    let text = scene.test.instruction_text(arrival);
    let waits = all.iter().filter(|(at, _)| own(Kind::Wait, *at, None)).map(|(_, it)| (it.span(), Side::Before));
    let end = all.last().map(|(_, it)| (it.span(), Side::After));
    let put = |(span, side)| {
        let at = Anchor { thread: part.thread, span, side };
        Edit::insert(at, text.trim_end_matches(';').trim(), reason.clone(), SECTION, COST)
    };
    waits.chain(end).map(put).collect()
}

fn owner(scene: &Scene<'_>, name: &str) -> Option<Place> {
    let mut named = scene.unfolding.locations.iter().filter(|it| it.name.split(['[', '@', '+']).next() == Some(name));
    let first = named.next()?.owner?;
    // Each CTA has one of its own, or this is the only one.
    named.all(|it| it.owner == Some(first)).then_some(first)
}

/// `cp.async` whose end no mbarrier is told of.
fn untold(scene: &Scene<'_>, part: Part, operand: &str, reason: &Arriving) -> Option<Edit> {
    let all = inside(&scene.test.litmus, part.thread, part.within);
    let copies =
        |it: &Instruction| it.opcode.node == "cp" && has(it, "async") && !has(it, "bulk") && !has(it, "mbarrier");
    let (_, last) = all.into_iter().rfind(|(_, it)| copies(it) && it.operands.len() > 1)?;
    let at = Anchor { thread: part.thread, span: last.span(), side: Side::After };
    let text = format!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{operand}]");
    Some(Edit::insert(at, &text, reason.clone(), SECTION, COST))
}
