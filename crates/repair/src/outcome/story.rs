//! What is said of an outcome that must not be: the accesses that it comes about with, why it may be, and what is missing.

use fencepost_check::write::report;
use fencepost_program::EventId;
use fencepost_report::CauseKind;
use fencepost_report::piece::Piece;
use fencepost_report::reason::{Communication, CycleStep, NamedBy, NamedSite, Outcome, Reason};
use fencepost_report::{Cause, Diagnosis, Missing};
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::Edit;
use crate::outcome::cycle::{self, Cycle, Step};
use crate::scene::Scene;

/// What was found: two accesses, why the outcome may be, what is missing, and whether that was checked.
pub(crate) struct Story {
    pub(crate) kind: CauseKind,
    pub(crate) pair: (EventId, EventId),
    pub(crate) reasons: Vec<Reason>,
    pub(crate) missing: Vec<Missing>,
    pub(crate) confirmed: bool,
}

impl Story {
    pub(crate) fn cause(self, scene: &Scene<'_>) -> Option<Cause> {
        let (first, second) = self.pair;
        let diagnosis = Diagnosis {
            first: scene.access(first)?,
            second: scene.access(second)?,
            why: String::new(),
            reasons: self.reasons,
            missing: self.missing,
            confirmed: self.confirmed,
            under: None,
        };
        let access = |id: EventId| report::access(scene.test, scene.unfolding, scene.event(id), scene.event(id).span);
        let location = scene.location(first).or(scene.location(second)).map(|location| location.name.to_string());
        Some(Cause { kind: self.kind, first: access(first), second: access(second), location, diagnosis })
    }
}

/// A read and a write that it misses, with what the search for races has found.
pub(crate) fn of_missed_write(scene: &Scene<'_>, pair: (EventId, EventId), edits: &[Edit]) -> Story {
    let story = Outcome::Misses { read: scene.site(pair.0), write: scene.site(pair.1) };
    let reasons = [story.into()].into_iter().chain(Edit::reasons(edits)).collect();
    Story { kind: CauseKind::MissedWrite, pair, reasons, missing: pieces(scene, edits), confirmed: true }
}

fn pieces(scene: &Scene<'_>, edits: &[Edit]) -> Vec<Missing> {
    let mut missing = Edit::all_missing(edits, scene);
    missing.shared_sort_by_key(|missing| missing.line);
    missing
}

/// The story of a cycle and the pieces that break it.
pub(crate) fn of_cycle(scene: &Scene<'_>, cycle: &Cycle, edits: &[Edit]) -> Option<Story> {
    let (kind, pair) = cycle.pair(scene)?;
    let step = |edge: &cycle::Edge| {
        let step = match edge.step {
            Step::Misses => Communication::Misses,
            Step::Overwritten => Communication::Overwritten,
            Step::Seen => Communication::Seen,
            Step::Synchronizes | Step::Program => return None,
        };
        Some(CycleStep { step, from: named(scene, cycle, edge.from), to: named(scene, cycle, edge.to) })
    };
    let mut steps: Vec<&cycle::Edge> = cycle.communication().collect();
    steps.shared_sort_by_key(|edge| edge.step);
    let steps = steps.into_iter().filter_map(step).collect();
    let mut reasons = vec![Outcome::CriticalCycle { steps }.into()];
    if edits.is_empty() {
        reasons.push(Outcome::NothingRulesOut.into());
        let between = cycle.open(scene).into_iter().map(|pair| unordered(scene, pair)).collect();
        return Some(Story { kind, pair, reasons, missing: between, confirmed: false });
    }
    reasons.extend(Edit::reasons(edits));
    Some(Story { kind, pair, reasons, missing: pieces(scene, edits), confirmed: true })
}

/// By its line, where nothing else of the cycle stands in it.
fn named(scene: &Scene<'_>, cycle: &Cycle, id: EventId) -> NamedSite {
    let beside = |other: EventId| {
        let same = scene.thread(other) == scene.thread(id) && scene.line(other) == scene.line(id);
        same && scene.event(other).span != scene.event(id).span
    };
    let by = if cycle.edges.iter().any(|edge| beside(edge.from)) { NamedBy::Text } else { NamedBy::Line };
    NamedSite { at: scene.site(id), by }
}

/// What is missing where no change is known that brings it.
fn unordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let what = Piece::OrderOfLines { first: scene.site(first), second: scene.site(second) };
    scene.missing(first, what, "8.8, 8.9.3")
}
