//! Changes that threads with the same text need alike: a wait for groups of copies, a commit (PTX ISA 9.7.10.28.3.3,
//! 9.7.10.28.6.2). What one of them lacks all of them lack.

use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Reason, Waiting};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Change, Edit, Whole};
use crate::propose::wait;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, body, instruction, position};
use crate::scene::loops::is_quiet;
use crate::scene::site::number;
use crate::scene::statement::{self, Role};

const COST: u32 = 0;
/// Numbers of groups that a wait which is put in may leave in flight.
const MOST_LEFT: i128 = 2;
/// Places that are tried for a wait.
const PLACES: usize = 4;

/// Threads of a CTA with the same instructions, but for their operands.
struct Alike {
    threads: Vec<ThreadId>,
}

pub(crate) fn changes(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Vec<Edit>> {
    let mut found = Vec::new();
    let mut seen: Vec<Vec<ThreadId>> = Vec::new();
    // What is read has to be read before it is overwritten: who reads says when.
    let mut accesses = [pair.0, pair.1];
    accesses.shared_sort_by_key(|access| scene.event(*access).is_write());
    for access in accesses {
        let Some(thread) = scene.thread(access) else { continue };
        let alike = Alike { threads: alike(scene, thread) };
        if seen.contains(&alike.threads) {
            continue;
        }
        found.extend(alike.fewer(scene, thread));
        found.extend(alike.commits(scene, thread));
        found.extend(alike.waits(scene, (thread, access), pair));
        seen.push(alike.threads);
    }
    found
}

/// A commit behind the copies of each thread by itself that are in no group.
pub(crate) fn uncommitted(scene: &Scene<'_>) -> Vec<Edit> {
    let threads = (0..scene.test.litmus.threads.len()).map(ThreadId::new);
    let one = |thread: ThreadId| Alike { threads: vec![thread] }.commits(scene, thread);
    threads.flat_map(one).flatten().collect()
}

fn alike(scene: &Scene<'_>, thread: ThreadId) -> Vec<ThreadId> {
    let all = (0..scene.test.litmus.threads.len()).map(ThreadId::new);
    all.filter(|other| *other == thread || is_alike(scene, thread, *other)).collect()
}

/// Whether they are threads of one CTA with the same instructions.
pub(crate) fn is_alike(scene: &Scene<'_>, one: ThreadId, other: ThreadId) -> bool {
    scene.home(one) == scene.home(other) && has_same_words(scene, one, other)
}

/// Whether two threads have the same instructions, but for their operands.
pub(crate) fn has_same_words(scene: &Scene<'_>, one: ThreadId, other: ThreadId) -> bool {
    let litmus = &scene.test.litmus;
    let words = |statement: &Statement| {
        let spelled = |found: &Instruction| {
            let words = found.modifiers.iter().map(|word| word.node.clone());
            [found.opcode.node.clone()].into_iter().chain(words).collect::<Vec<_>>()
        };
        instruction(statement).map(spelled)
    };
    body(litmus, one).iter().map(words).eq(body(litmus, other).iter().map(words))
}

impl Alike {
    /// The span of a statement in each of the threads.
    fn spans(&self, scene: &Scene<'_>, at: usize) -> Vec<(ThreadId, Span)> {
        let litmus = &scene.test.litmus;
        let span = |thread: &ThreadId| Some((*thread, instruction(body(litmus, *thread).get(at)?)?.span()));
        let found = self.threads.iter().filter_map(span);
        found.filter(|(thread, span)| position(litmus, *thread, *span) == Some(at)).collect()
    }

    fn put(&self, scene: &Scene<'_>, (at, side): (usize, Side), text: &str, why: (&Reason, &'static str)) -> Vec<Edit> {
        let spans = self.spans(scene, at);
        if spans.len() < self.threads.len() {
            return Vec::new();
        }
        let anchor = |(thread, span)| (Anchor { thread, span, side }, format!("{text};"));
        let change = Change::Insert { at: spans.into_iter().map(anchor).collect() };
        vec![Edit::new(change, why.0.clone(), why.1, COST)]
    }

    /// Waits that leave fewer groups in flight.
    fn fewer(&self, scene: &Scene<'_>, thread: ThreadId) -> Vec<Vec<Edit>> {
        let mut found = Vec::new();
        // The last wait is the likeliest: others keep what is reused in order.
        for (at, own) in instructions(scene, thread).into_iter().rev() {
            let waits = statement::has(own, "wait_group");
            let Some(Operand::Integer(newest)) = own.operands.last().map(|it| &it.node).filter(|_| waits) else {
                continue;
            };
            let wait = scene.site_at(thread, own.span());
            let reason = |whole: Whole| match whole {
                Whole::AsIs => Waiting::LeavesGroups { wait: wait.clone(), groups: number(*newest) },
                Whole::Everything => Waiting::WaitsForReads { wait: wait.clone() },
            };
            for (left, whole) in self.covered(own, *newest) {
                let one = |(thread, span)| {
                    let change = Change::Wait { thread, span, newest: left, whole };
                    Edit::new(change, reason(whole), statement::section(own), COST)
                };
                found.push(self.spans(scene, at).into_iter().map(one).collect());
            }
        }
        found
    }

    /// Fewer groups in flight, and of a wait for reads all that its groups do.
    fn covered(&self, wait: &Instruction, newest: i128) -> Vec<(i128, Whole)> {
        let reads = statement::has(wait, "read");
        let whole = reads.then_some((newest, Whole::Everything));
        whole.into_iter().chain((0..newest).rev().map(|left| (left, Whole::AsIs))).collect()
    }

    /// A commit behind copies that are in no group.
    fn commits(&self, scene: &Scene<'_>, thread: ThreadId) -> Vec<Vec<Edit>> {
        let all = instructions(scene, thread);
        let mut found = Vec::new();
        for (index, (at, own)) in all.iter().enumerate() {
            let Some(group) = wait::group_of(own) else { continue };
            let next = all.iter().skip(index + 1).map(|(_, it)| *it).find(|it| !is_quiet(it));
            let goes_on = |it: &Instruction| wait::group_of(it).is_some() || wait::is_commit(it, group);
            if next.is_some_and(goes_on) {
                continue;
            }
            let reason = Waiting::Uncommitted { copy: scene.site_at(thread, own.span()) }.into();
            found.push(self.put(scene, (*at, Side::After), group.commit, (&reason, group.section)));
        }
        found
    }

    /// A wait for the groups before what tells others of them, and before the access.
    fn waits(
        &self,
        scene: &Scene<'_>,
        (thread, access): (ThreadId, EventId),
        pair: (EventId, EventId),
    ) -> Vec<Vec<Edit>> {
        let all = instructions(scene, thread);
        let copy = if scene.is_main(pair.0) { pair.1 } else { pair.0 };
        let racing = position(&scene.test.litmus, thread, scene.event(scene.at(access)).span);
        let Some(group) = all.iter().find_map(|(_, it)| wait::group_of(it)) else { return Vec::new() };
        let meets = |it: &Instruction| matches!(statement::role(it), Some(Role::Meets | Role::Tells));
        let places = all.iter().filter(|(at, it)| meets(it) || Some(*at) == racing && wait::group_of(it).is_none());
        let mut found = Vec::new();
        for (at, own) in places.take(PLACES) {
            let reason = Waiting::CopiesNotAwaited { before: scene.site_at(thread, own.span()) }.into();
            for left in (0..=MOST_LEFT).rev() {
                let text = format!("{} {left}", group.waits_until(scene.event(copy).is_write()));
                found.push(self.put(scene, (*at, Side::Before), &text, (&reason, group.section)));
            }
        }
        found
    }
}

fn instructions<'s>(scene: &'s Scene<'_>, thread: ThreadId) -> Vec<(usize, &'s Instruction)> {
    let all = body(&scene.test.litmus, thread).iter().enumerate();
    all.filter_map(|(at, statement)| Some((at, instruction(statement)?))).collect()
}
