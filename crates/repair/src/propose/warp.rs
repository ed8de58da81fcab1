//! A race that is one only if `bar.warp.sync` does not order the asynchronous operations of its lanes: everything else is
//! there, so that this is the reason that is told.

use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::Diagnosis;
use fencepost_report::piece::Piece;
use fencepost_report::reason::Ordering;
use fencepost_syntax::sorted::SharedSort as _;

use crate::scene::Scene;

/// The reading it is about.
pub(crate) const READING: &str = "warp-sync-async";
const SECTION: &str = sections::BAR_WARP_SYNC;

pub(crate) fn explain(scene: &Scene<'_>, diagnosis: &mut Diagnosis) {
    let events = scene.execution.events.iter().copied();
    let mut met: Vec<EventId> = events.filter(|id| scene.has(*id, Tag::BarrierWarp)).collect();
    met.shared_sort_by_key(|id| scene.line(*id));
    met.dedup_by_key(|id| scene.line(*id));
    let Some(at) = met.first() else { return };
    let lines = met.iter().map(|id| scene.line(*id)).collect();
    let reason = Ordering::WarpBarrier { lines, reading: READING.to_owned(), section: SECTION.to_owned() };
    diagnosis.reasons = vec![reason.into()];
    if !diagnosis.confirmed {
        diagnosis.missing = vec![scene.missing(*at, Piece::OtherWarpBarrier, SECTION)];
    }
}
