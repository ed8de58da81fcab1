//! The proposers that the search asks, in its order. A new one is a row here: the search knows none of them by name.

use fencepost_program::EventId;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Edit, size};
use crate::propose::barrier::left_out;
use crate::propose::flag::read_once;
use crate::propose::phase::{buffer_release, idle_wait};
use crate::propose::way::link::Plan;
use crate::propose::{adjust, kernel_line, phase, same_text, tcgen05};
use crate::scene::{Scene, loops};

/// The two accesses of a race.
type Pair = (EventId, EventId);

pub(crate) struct Proposer {
    /// The opcodes that its changes are about: it is not asked about a test that has none of them. Without any it always is.
    pub(crate) about: &'static [&'static str],
    /// Its changes are no guesses: they are checked however many were, unless this size, what is left of them where some of their
    /// pieces stand in the test already, is too large.
    pub(crate) no_guess: Option<u32>,
    pub(crate) propose: fn(&Scene<'_>, Pair) -> Vec<Plan>,
}

const fn about(about: &'static [&'static str], propose: fn(&Scene<'_>, Pair) -> Vec<Plan>) -> Proposer {
    Proposer { about, no_guess: None, propose }
}

const fn always(propose: fn(&Scene<'_>, Pair) -> Vec<Plan>) -> Proposer {
    about(&[], propose)
}

/// What is seldom meant so: another number than it should be, a copy in no group, a wait that nobody asks or repeats.
pub(crate) const LIKELY: &[Proposer] = &[
    about(&["mbarrier", "bra"], |scene, pair| each(pair, phase::odd(scene))),
    about(&["cp", "wgmma"], |scene, pair| each(pair, same_text::uncommitted(scene))),
    about(&["tcgen05"], |scene, pair| each(pair, tcgen05::freed(scene, pair))),
    about(&["bar", "barrier"], |scene, pair| each(pair, adjust::only_arriving(scene))),
    about(&["mbarrier", "cp", "tcgen05"], |scene, pair| each(pair, idle_wait::likely(scene, pair))),
    always(|scene, pair| each(pair, read_once::likely(scene, pair))),
    always(|scene, pair| whole(pair, [read_once::together(scene)])),
    about(&["ld"], |scene, pair| whole(pair, read_once::unlooked(scene))),
];

/// Smaller changes than the best way through the synchronisation, if any is.
pub(crate) const SMALLER: &[Proposer] = &[
    Proposer { about: &["mbarrier"], no_guess: Some(buffer_release::SIZE), propose: buffer_release::plans },
    always(|scene, pair| each(pair, adjust::words(scene, pair))),
    always(|scene, pair| each(pair, adjust::moves(scene, pair))),
    always(|scene, pair| whole(pair, kernel_line::together(scene, pair))),
    about(&["tcgen05"], |scene, pair| each(pair, adjust::handed(scene, pair))),
    about(&["fence"], |scene, pair| each(pair, adjust::halves(scene, pair))),
    about(&["bar", "barrier"], |scene, pair| each(pair, left_out::copies(scene, pair))),
];

/// One forgotten or mistaken line of a kernel with loops, the smallest first (`kernel_line`).
pub(crate) fn lines(scene: &Scene<'_>, pair: Pair) -> Vec<Plan> {
    if loops::all(&scene.test.litmus).is_empty() {
        return Vec::new();
    }
    let mut found = each(pair, phase::likely(scene, pair));
    found.extend(each(pair, adjust::words(scene, pair)));
    found.extend(each(pair, adjust::moves(scene, pair)));
    found.extend(whole(pair, same_text::all(scene, pair)));
    found.extend(each(pair, kernel_line::met(scene, pair)));
    found.shared_sort_by_key(|plan| size(&plan.edits));
    found
}

/// Each edit by itself.
fn each((from, to): Pair, edits: impl IntoIterator<Item = Edit>) -> Vec<Plan> {
    edits.into_iter().map(|edit| Plan { from, to, edits: vec![edit], cost: 0 }).collect()
}

/// The edits of each together.
fn whole((from, to): Pair, all: impl IntoIterator<Item = Vec<Edit>>) -> Vec<Plan> {
    let all = all.into_iter().filter(|edits| !edits.is_empty());
    all.map(|edits| Plan { from, to, edits, cost: 0 }).collect()
}
