//! A race that is one only if `bar.warp.sync` does not order the asynchronous operations of its lanes: everything else is
//! there, so that this is what is to be said.

use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::{Diagnosis, Missing};

use crate::scene::Scene;

/// The reading it is about.
pub(crate) const READING: &str = "warp-sync-async";
const SECTION: &str = sections::BAR_WARP_SYNC;

pub(crate) fn diagnose(scene: &Scene<'_>, pair: (EventId, EventId)) -> Option<Diagnosis> {
    let (first, second) = (scene.access(pair.0)?, scene.access(pair.1)?);
    let events = scene.execution.events.iter().copied();
    let mut met: Vec<EventId> = events.filter(|id| scene.has(*id, Tag::BarrierWarp)).collect();
    met.sort_by_key(|id| scene.line(*id));
    met.dedup_by_key(|id| scene.line(*id));
    let at = *met.first()?;
    let lines: Vec<String> = met.iter().map(|id| scene.line(*id).to_string()).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let lines = fencepost_check::phrase::listed(&lines);
    let why = format!(
        "bar.warp.sync (lines {lines}) is on the way between them; whether it orders the asynchronous operations of its lanes \
         too, and not only their accesses, is the reading {READING} (PTX ISA {SECTION})"
    );
    let text =
        "a barrier that orders them under every reading instead of `bar.warp.sync`: `bar.sync`, or an arrive on an \
                mbarrier and a wait"
            .to_owned();
    let thread = scene.name(at).to_owned();
    let missing = vec![Missing { text, thread, line: scene.line(at), section: SECTION.to_owned() }];
    Some(Diagnosis { first, second, why, missing, confirmed: false, under: None })
}
