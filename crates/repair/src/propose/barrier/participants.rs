//! Who passes a barrier that is put in (PTX ISA 9.7.15.1, 9.7.15.3), and where: that of a cluster is for all its threads, and in a
//! CTA threads with the same text are meant alike.

use fencepost_axiom::base::narrowest_common;
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::SharedSort as _;

use crate::propose::same_text;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::loops::is_quiet;

const CLUSTER: &str = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";

/// Who takes part beside the two threads of the accesses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum With {
    /// Threads with their text, and behind the setup of an mbarrier all threads of the CTA.
    Alike,
    /// Nobody, where the barrier allows it.
    Nobody,
}

/// A barrier from one thread to another: its text, and where each thread passes it.
pub(crate) fn barrier(
    scene: &Scene<'_>,
    (from, to): (Anchor, Anchor),
    is_setup: bool,
    with: With,
) -> Option<(String, Vec<Anchor>)> {
    let is_cluster = scene.home(from.thread) != scene.home(to.thread);
    let near = |thread: ThreadId| {
        let (own, its) = (scene.home(from.thread), scene.home(thread));
        if is_cluster { narrowest_common(own, its) <= Scope::Cluster } else { own == its }
    };
    let all: Vec<ThreadId> = (0..scene.unfolding.threads.len()).map(ThreadId::new).filter(|own| near(*own)).collect();
    let is_meant = |thread: ThreadId| match with {
        _ if is_cluster || [from.thread, to.thread].contains(&thread) => true,
        With::Alike if is_setup => !scene.body(thread).is_empty(),
        With::Alike => [from.thread, to.thread].into_iter().any(|own| same_text::is_alike(scene, own, thread)),
        With::Nobody => false,
    };
    let threads: Vec<ThreadId> = all.iter().copied().filter(|thread| is_meant(*thread)).collect();
    let text = match is_cluster {
        true => CLUSTER.to_owned(),
        false => named(scene, &all, threads.len()),
    };
    let mut places = vec![from, to];
    for thread in threads.into_iter().filter(|own| ![from.thread, to.thread].contains(own)) {
        places.push(beside(scene, (from, to), thread, is_cluster)?);
    }
    // Of several races with one mistake it is one text; two threads are told in the order of the accesses.
    if places.len() > 2 {
        places.shared_sort_by_key(|anchor| anchor.thread);
    }
    Some((text, places))
}

/// Behind the access; behind all of the setup that it is part of: the other mbarriers and their fence are meant by the barrier too.
pub(crate) fn behind(scene: &Scene<'_>, event: EventId) -> Option<Anchor> {
    let own = scene.anchor(event, Side::After)?;
    if !scene.has(event, Tag::MbarrierInit) {
        return Some(own);
    }
    let at = position(&scene.test.litmus, own.thread, own.span)?;
    let rest = scene.body(own.thread).iter().skip(at + 1).map_while(instruction);
    let setup = rest.take_while(|it| sets_up(it) || is_quiet(it) && it.opcode.node != "bra");
    let last = setup.filter(|it| sets_up(it)).last();
    Some(last.map_or(own, |last| Anchor { span: last.span(), ..own }))
}

fn sets_up(instruction: &Instruction) -> bool {
    let has = |word: &str| instruction.modifiers.iter().any(|found| found.node == word);
    match instruction.opcode.node.as_str() {
        "mbarrier" => has("init"),
        "fence" => has("mbarrier_init") || has("proxy") && has("async"),
        _ => false,
    }
}

/// Where a thread passes it that has none of the accesses: where its like does, else behind as many barriers of the kind.
fn beside(scene: &Scene<'_>, (from, to): (Anchor, Anchor), thread: ThreadId, is_cluster: bool) -> Option<Anchor> {
    let own = scene.body(thread);
    for anchor in [to, from] {
        if same_text::has_same_words(scene, anchor.thread, thread) {
            let at = position(&scene.test.litmus, anchor.thread, anchor.span)?;
            let span = instruction(own.get(at)?)?.span();
            return Some(Anchor { thread, span, side: anchor.side });
        }
    }
    let meets = |it: &Instruction| {
        let has = |word: &str| it.modifiers.iter().any(|found| found.node == word);
        if is_cluster { it.opcode.node == "barrier" && has("wait") } else { matches!(it.opcode.node.as_str(), "bar") }
    };
    let at = position(&scene.test.litmus, from.thread, from.span)? + usize::from(from.side == Side::After);
    let passed = scene.body(from.thread).iter().take(at).filter_map(instruction).filter(|it| meets(it)).count();
    let mut all = own.iter().filter_map(instruction);
    match passed.checked_sub(1) {
        None => all.next().map(|first| Anchor { thread, span: first.span(), side: Side::Before }),
        Some(before) => {
            let met = own.iter().filter_map(instruction).filter(|it| meets(it)).nth(before);
            met.or(all.next_back()).map(|last| Anchor { thread, span: last.span(), side: Side::After })
        }
    }
}

/// The first that none of them uses, and for whom if not for all threads of the CTA.
fn named(scene: &Scene<'_>, all: &[ThreadId], number: usize) -> String {
    let barriers = all.iter().flat_map(|thread| scene.body(*thread)).filter_map(instruction);
    let barriers: Vec<&Instruction> = barriers.filter(|it| it.opcode.node.starts_with("bar")).collect();
    let id = |it: &&Instruction| match it.operands.first().map(|operand| &operand.node) {
        Some(Operand::Integer(id)) => Some(*id),
        _ => None,
    };
    let used: Vec<i128> = barriers.iter().filter_map(id).collect();
    let id = (0..16).find(|id| !used.contains(id)).unwrap_or(15);
    if number == all.len() { format!("bar.sync {id};") } else { format!("bar.sync {id}, {};", 32 * number) }
}
