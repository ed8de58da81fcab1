//! The proposers that the search asks. Of a kernel with loops it asks [`LINES`] first, the smallest change before others; then
//! [`LIKELY`], [`WAYS`], [`SMALLER`], [`SEVERAL`] and [`ALIKE`], as far as nothing better is known. Hangs ask [`HANGS`]. A new
//! proposer is a row here; a new way through the synchronisation is one of `way::MADE`, and a new mistake about phases a part of
//! `phase::likely`, `odd` or `hung`.

use fencepost_program::EventId;
use fencepost_report::finding::FindingKind;
use fencepost_report::reason::Reason;
use fencepost_report::{Diagnosis, Missing};

use crate::edit::Edit;
use crate::propose::barrier::left_out;
use crate::propose::flag::{never_set, read_once};
use crate::propose::lifetime::{cta, tensor_memory};
use crate::propose::phase::{buffer_release, idle_wait};
use crate::propose::way::link::Plan;
use crate::propose::{adjust, combined, kernel_line, phase, proxy_fence, same_text, tcgen05, way, wgmma};
use crate::scene::{Scene, statement};
use crate::unordered;

/// The two accesses of a race.
type Pair = (EventId, EventId);

/// What a proposer does.
type Propose = fn(&Scene<'_>, Pair) -> Vec<Plan>;
/// Says why a finding is one, and gives its changes.
type Diagnose = fn(&Scene<'_>, Pair, &mut Diagnosis) -> Vec<Plan>;

/// What is said of a finding of some kind, without a change.
type OfKind<T> = fn(&Scene<'_>, FindingKind, Pair) -> Option<T>;

pub(crate) struct Proposer {
    /// The opcodes that its changes are about: it is not asked about a test that has none of them. Without any it always is.
    about: &'static [&'static str],
    /// Its changes are no guesses: they are checked however many were, unless this size, what is left of them where some of their
    /// pieces stand in the test already, is too large.
    pub(crate) no_guess: Option<u32>,
    pub(crate) propose: Propose,
}

impl Proposer {
    pub(crate) fn is_for(&self, scene: &Scene<'_>) -> bool {
        self.about.is_empty() || statement::has_opcode(scene, self.about)
    }
}

const fn about(about: &'static [&'static str], propose: Propose) -> Proposer {
    Proposer { about, no_guess: None, propose }
}

const fn always(propose: Propose) -> Proposer {
    about(&[], propose)
}

/// The cheapest ways from one access to the other over the synchronisation that is there, and that which almost is.
pub(crate) const WAYS: &[Proposer] = &[always(way::plans)];

/// What is seldom meant so: another number than it should be, a copy in no group, a wait that nobody asks or repeats.
pub(crate) const LIKELY: &[Proposer] = &[
    about(&["mbarrier", "bra"], |scene, pair| each(pair, phase::odd(scene))),
    about(&["cp", "wgmma"], |scene, pair| each(pair, same_text::uncommitted(scene))),
    about(&["tcgen05"], |scene, pair| each(pair, tcgen05::freed(scene, pair))),
    about(&["bar", "barrier"], |scene, pair| each(pair, adjust::only_arriving(scene))),
    // An mbarrier may be declared, and told of by any asynchronous operation.
    always(|scene, pair| each(pair, idle_wait::likely(scene, pair))),
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

/// One forgotten or mistaken line of a kernel with loops (`kernel_line`).
pub(crate) const LINES: &[Proposer] = &[
    always(|scene, pair| each(pair, phase::likely(scene, pair))),
    always(|scene, pair| each(pair, adjust::words(scene, pair))),
    always(|scene, pair| each(pair, adjust::moves(scene, pair))),
    about(&["cp", "wgmma"], |scene, pair| whole(pair, same_text::changes(scene, pair))),
    always(|scene, pair| each(pair, kernel_line::met(scene, pair))),
];

/// Several changes, for races that no single way cures: what fits best first, and the first that helps is taken.
pub(crate) const SEVERAL: &[Proposer] = &[always(combined::plans)];

/// The same word in threads of the same text that speak for those of the race: the leaders of their CTAs with a lock.
pub(crate) const ALIKE: &[Proposer] =
    &[always(|scene, pair| whole(pair, kernel_line::said_alike(scene, &adjust::words(scene, pair))))];

/// What a wait that never ends may come from, the likeliest first.
pub(crate) const HANGS: &[fn(&Scene<'_>) -> Vec<Edit>] = &[phase::hung, never_set::likely];

/// Findings that are no matter of order between two accesses: each has its own reason, and its own changes.
pub(crate) const APART: &[(FindingKind, Diagnose)] = &[
    (FindingKind::ExitBeforeAccess, cta::diagnose),
    (FindingKind::AccessBeforeStart, cta::before_start),
    (FindingKind::WgmmaRegisterInFlight, wgmma::diagnose),
    (FindingKind::WgmmaNoFence, wgmma::unfenced),
    (FindingKind::MixedSizeRace, unordered::of_different_sizes),
];

/// Others with a reason of their own, and no changes.
pub(crate) const REASONS: &[OfKind<Reason>] =
    &[|scene, kind, pair| tensor_memory::why(scene, kind, pair).map(Reason::from)];

/// Why two accesses race that no change orders, where their proxies alone say so.
pub(crate) const PROXY_REASONS: &[fn(&Scene<'_>, Pair) -> Option<Reason>] =
    &[|scene, pair| proxy_fence::kernel_end_only(scene, pair).map(Reason::from)];

/// And changes that they alone ask for, without a search.
pub(crate) const PROXY_CHANGES: &[fn(&Scene<'_>, Pair) -> Option<Plan>] = &[proxy_fence::by_proxies];

/// Why a loop never ends that waits for no mbarrier.
pub(crate) const HANG_REASONS: &[fn(&Scene<'_>) -> Option<Reason>] = &[never_set::why];

/// What is said of a finding that no change is known to cure.
pub(crate) const GENERAL: &[OfKind<Missing>] = &[cta::general, tensor_memory::lacks];

/// Changes that come close to what is missing and are another mistake.
pub(crate) const OTHER_MISTAKES: &[fn(&Scene<'_>, &Edit) -> bool] = &[tcgen05::is_handed_over];

/// What these proposers have to offer, where the test is what they are about.
pub(crate) fn offered(proposers: &'static [Proposer], scene: &Scene<'_>, pair: Pair) -> Vec<Plan> {
    proposers.iter().filter(|proposer| proposer.is_for(scene)).flat_map(|own| (own.propose)(scene, pair)).collect()
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
