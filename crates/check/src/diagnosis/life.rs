//! Tensor memory that is used outside its life (PTX ISA 9.7.18.7): no synchronisation makes that right.

use fencepost_program::EventId;
use fencepost_program::tag::Tag;

use super::scene::Scene;
use super::words;

/// Why, where the two are about columns that are not the program's at the time.
pub(super) fn why(scene: &Scene<'_>, flag: &str, (first, second): (EventId, EventId)) -> Option<String> {
    let freed = |id: EventId| scene.has(id, Tag::Deallocation);
    match flag {
        "unallocated-access-race" => {
            let place = words::place(scene, first);
            Some(format!(
                "{place} goes through an address that no tcgen05.alloc gave: it was read before the allocation wrote it (PTX ISA 9.7.18.7.1)"
            ))
        }
        "deallocated-twice-race" => Some("the columns are deallocated twice (PTX ISA 9.7.18.7.1)".to_owned()),
        _ => {
            let (dealloc, other) = match (freed(first), freed(second)) {
                (true, false) => (first, second),
                (false, true) => (second, first),
                _ => return None,
            };
            let is_after = scene.holds("base-of-threads", dealloc, scene.at(other));
            is_after.then(|| {
                format!(
                    "{} comes after the columns are deallocated: they may be another CTA's then (PTX ISA 9.7.18.7.1)",
                    words::place(scene, other)
                )
            })
        }
    }
}
