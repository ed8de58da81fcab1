//! Changes after which a program may go other ways: a barrier or a wait more, another parity or count, an instruction that
//! stands elsewhere or not at all. Nothing follows from one for another, so each is tried by itself, with whatever the
//! `space` adds to it.

mod corrected;
mod meeting;
pub(crate) mod moved;
mod put;
mod replaced;
pub(super) mod together;

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Arch, Statement};
use fencepost_syntax::sorted::SharedSort as _;

use super::Fixing;
use super::costs::Costs;
use super::space::{Space, gaps, plain};
use crate::edit::{Change, Edit};
use crate::scene::anchor::{Anchor, Side, instruction, instruction_at, position};
use crate::scene::statement::{Role, has, role};

/// A change, and what it costs: each of its parts, and all together.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) edits: Vec<Edit>,
    pub(super) each: Vec<u32>,
    pub(super) cost: u32,
}

impl Path {
    pub(super) fn none() -> Path {
        Path::new(Vec::new())
    }

    /// Whether it is about an mbarrier whose address and parity are computed, as those of a stage are in every round.
    pub(super) fn is_of_round(&self) -> bool {
        self.edits.iter().all(|edit| match &edit.change {
            Change::Poll { wait, .. } => wait.contains("[%") && wait.contains("], %"),
            Change::Insert { at } => at.iter().all(|(_, text)| text.starts_with("mbarrier.") && text.contains("[%")),
            _ => false,
        }) && !self.edits.is_empty()
    }

    /// Whether it is other words in the place of some, and nothing that comes, goes elsewhere or is not there any more.
    fn is_of_words(&self) -> bool {
        let is_word = |edit: &Edit| matches!(edit.change, Change::Replace { .. } | Change::Count { .. });
        self.edits.iter().all(is_word)
    }

    /// What is tried first of what costs as much for each thread: words are mistaken more often than lines.
    pub(super) fn rank(&self) -> (u32, bool) {
        (self.cost / self.threads().len().max(1) as u32, !self.is_of_words())
    }

    /// Whether it is a loop that waits, or several.
    pub(super) fn waits(&self) -> bool {
        self.edits.iter().all(|edit| matches!(edit.change, Change::Poll { .. }))
    }

    /// The threads that it changes; none where a part of it is about what all of them share.
    pub(super) fn threads(&self) -> Vec<ThreadId> {
        let of_each: Vec<Vec<ThreadId>> = self.edits.iter().map(|edit| edit.change.threads()).collect();
        if of_each.iter().any(Vec::is_empty) { Vec::new() } else { of_each.concat() }
    }

    pub(super) fn new(pieces: Vec<(Edit, u32)>) -> Path {
        let (edits, each): (Vec<Edit>, Vec<u32>) = pieces.into_iter().unzip();
        let cost = each.iter().sum();
        Path { edits, each, cost }
    }
}

/// All of them, the cheapest first.
pub(super) fn paths(test: &Test, space: &Space, fixing: &Fixing<'_>) -> Vec<Path> {
    let (costs, is_kept) = (fixing.costs, fixing.is_kept);
    let maker = Maker { test, costs, is_kept };
    let mut found = Vec::new();
    for (at, thread) in test.litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let thread_id = ThreadId(at as u32);
        for own in thread.body.iter().filter_map(instruction) {
            if !is_kept(own.span()) && position(&test.litmus, thread_id, own.span()).is_some() {
                maker.corrections(thread_id, own, &mut found);
                maker.arrivals(thread_id, own, &mut found);
                maker.replacements(thread_id, own, space, &mut found);
            }
        }
        maker.moves(thread_id, &mut found);
        maker.pieces(thread_id, &mut found);
    }
    maker.counts(&mut found);
    maker.messages(&mut found);
    maker.together(&mut found);
    maker.barriers(&mut found);
    found.retain(|path| !path.edits.iter().any(|edit| edit.change.touches(&test.litmus, is_kept)));
    found.shared_sort_by_key(|path| path.cost);
    found
}

/// Those of them that leave every access where it is, and every barrier a barrier: what `check` says is missing is a matter of
/// synchronisation.
pub(super) fn of_synchronisation(test: &Test, space: &Space, fixing: &Fixing<'_>) -> Vec<Path> {
    let own = |thread: ThreadId, span: Span| instruction_at(&test.litmus, thread, span).map(|(_, own)| own);
    let is_synchronisation = |edit: &Edit| match &edit.change {
        Change::Move { span, to, .. } => own(to.thread, *span).is_some_and(|it| role(it).is_some() || waits(it)),
        Change::Replace { thread, span, by } => {
            own(*thread, *span).and_then(role) != Some(Role::Meets) || by.starts_with("bar")
        }
        _ => true,
    };
    let mut found = paths(test, space, fixing);
    found.retain(|path| path.edits.iter().all(is_synchronisation));
    found
}

fn waits(found: &Instruction) -> bool {
    found.opcode.node == "mbarrier" && (has(found, "try_wait") || has(found, "test_wait"))
}

struct Maker<'m> {
    test: &'m Test,
    costs: &'m Costs,
    is_kept: &'m dyn Fn(Span) -> bool,
}

impl Maker<'_> {
    /// Whether something may be put there.
    fn is_open(&self, anchor: &Anchor) -> bool {
        !anchor.is_inside(&self.test.litmus, self.is_kept)
    }

    fn add(&self, found: &mut Vec<Path>, change: Change, row: &str) {
        found.push(Path::new(vec![(plain(change), self.costs.of(row, "-").max(1))]));
    }
}

/// All gaps of a thread, and its end: what orders nothing there may be waited for, or meet with others.
fn gaps_and_end(body: &[Statement], thread: ThreadId) -> Vec<Anchor> {
    let mut all = gaps(body, thread);
    let last = body.last().and_then(instruction);
    let leaves = |it: &&Instruction| matches!(it.opcode.node.as_str(), "bra" | "ret" | "exit") && it.guard.is_none();
    if let Some(last) = last.filter(|it| !leaves(it)) {
        all.push(Anchor { thread, span: last.span(), side: Side::After });
    }
    all
}
