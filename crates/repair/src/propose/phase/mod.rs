//! What kernels lack that go through the phases of an mbarrier in a loop (PTX ISA 9.7.15.16): a wait whose parity has to
//! change from round to round, an arrival of every round, the bytes of a round, the parity that the first round starts with.
//!
//! One example of a race shows one pair of rounds, so that ways through it lead to waits for one phase only. Here the text of
//! the loop is what is looked at: who waits on which mbarrier, who arrives, and where a parity comes from. Each guess is one
//! forgotten or mistaken line, and is checked like any other change, with more rounds than the test has too (`rounds`).

pub(crate) mod alternating_parity;
pub(crate) mod buffer_release;
mod expected_arrivals;
mod hanging_wait;
pub(crate) mod idle_wait;
mod missing_wait;
mod parity;
mod uninitialised;
mod wrong_mbarrier;

use fencepost_program::EventId;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Change, Edit, Polled};
use crate::scene::Scene;
use crate::scene::anchor::Anchor;
use crate::scene::loops::{self, innermost};
use crate::scene::mbarrier_uses::Uses;
use crate::verify::rounds;

/// Changes that are tried for one race, and for one execution that never ends.
const MOST: usize = 64;
/// Of those that are tried before smaller ones.
const FIRST: usize = 6;
/// The size of one instruction that is put in.
const INSERTED: u32 = 6;

/// What is odd in the text by itself: a number of bytes that is not what is copied, loops that count to different numbers, a wait
/// whose answer nobody looks at.
pub(crate) fn odd(scene: &Scene<'_>) -> Vec<Edit> {
    let uses = Uses::new(scene);
    let mut found = wrong_mbarrier::asked_once(scene, &uses);
    found.extend(rounds::apart(scene));
    found.extend(expected_arrivals::mistaken(scene, &uses));
    found.truncate(FIRST);
    found
}

/// What a race in a loop may come from.
pub(crate) fn likely(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let loops = loops::loops_of(&scene.test.litmus);
    let uses = Uses::new(scene);
    if loops.is_empty() || uses.is_empty() {
        return Vec::new();
    }
    let mut found = mistaken(scene, &loops, &uses);
    found.extend(missing_wait::missing(scene, &loops, &uses, pair));
    found.truncate(MOST);
    found
}

/// What a wait that never ends may come from, the smallest first.
pub(crate) fn hung(scene: &Scene<'_>) -> Vec<Edit> {
    let loops = loops::loops_of(&scene.test.litmus);
    let uses = Uses::new(scene);
    let mut found = expected_arrivals::counts(scene, &uses);
    found.extend(uninitialised::tokens(scene, &uses));
    found.extend(uninitialised::objects(scene, &uses));
    found.extend(parity::constants(scene, &loops, &uses));
    found.extend(mistaken(scene, &loops, &uses));
    found.extend(hanging_wait::asynchronous(scene));
    found.extend(expected_arrivals::missing(scene, &uses));
    // An address that has to be computed makes an arrival no less likely.
    found.shared_sort_by_key(|edit| match &edit.change {
        Change::Insert { .. } => INSERTED,
        _ => edit.size(),
    });
    found.truncate(MOST);
    odd(scene).into_iter().chain(found).collect()
}

/// One line that is not as it should be, beside what is odd by itself.
fn mistaken(scene: &Scene<'_>, loops: &[loops::Loop], uses: &Uses) -> Vec<Edit> {
    let mut found = parity::mistaken(scene, loops, uses);
    found.extend(wrong_mbarrier::mistaken(scene, loops, uses));
    found
}

/// A wait with one parity that stands in a loop is right in one of two rounds only.
pub(crate) fn polled(scene: &Scene<'_>, anchor: &Anchor) -> Polled {
    let litmus = &scene.test.litmus;
    let at = crate::scene::anchor::position(litmus, anchor.thread, anchor.span);
    let around = at.and_then(|at| innermost(&loops::loops_of(litmus), anchor.thread, at));
    if around.is_some() { Polled::EveryRound } else { Polled::Once }
}
