//! An outcome that comes about where a read misses a write, as if the two raced.

use fencepost_program::EventId;

use crate::edit::{self, Edit};
use crate::outcome::cycle;
use crate::outcome::story::{self, Story};
use crate::propose::catalogue::{WAYS, offered};
use crate::scene::Scene;
use crate::search;
use crate::verify::Verifier;

/// Missed writes that are looked at as races are.
const MOST_PAIRS: usize = 3;

/// The search for what a race lacks, about a read and the write that it misses.
pub(crate) fn cured(scene: &Scene<'_>, verifier: &Verifier<'_>) -> Option<Story> {
    let mut pairs = cycle::missed(scene);
    // About the data rather than about the lock or the counter that guards it.
    let flag = |id: EventId| scene.event(id).location().is_some_and(|at| cycle::is_flag(scene, at));
    pairs.sort_by_cached_key(|(read, _)| flag(*read));
    pairs.truncate(MOST_PAIRS);
    let mut found: Vec<((EventId, EventId), Vec<Edit>)> = Vec::new();
    for (read, write) in pairs {
        let pair = (write, read);
        let plans = offered(WAYS, scene, pair);
        if let search::Outcome::Cured(cure) = search::search(scene, verifier, pair, &plans, &[]) {
            found.push(((read, write), cure.edits));
        }
    }
    let (pair, edits) = found.into_iter().min_by_key(|(_, edits)| edit::size(edits))?;
    Some(story::of_missed_write(scene, pair, &edits))
}
