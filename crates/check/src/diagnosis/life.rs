//! Tensor memory that is used outside its life (PTX ISA 9.7.18.7): no synchronisation makes that right.

use fencepost_program::EventId;
use fencepost_program::placement;
use fencepost_program::tag::Tag;

use super::scene::Scene;
use super::words;
use crate::race::{ARRIVE_TWICE, CANCEL_AGAIN, MISPLACED, WAIT_ALONE, WINDOW};

/// Why, where the two are about columns that are not the program's at the time.
pub(super) fn why(scene: &Scene<'_>, flag: &str, (first, second): (EventId, EventId)) -> Option<String> {
    let freed = |id: EventId| scene.has(id, Tag::Deallocation);
    match flag {
        "unallocated-access-race" => {
            let place = words::place(scene, first);
            let how = origin(scene, first);
            Some(format!("{place} goes through an address that no tcgen05.alloc gave{how} (PTX ISA 9.7.18.7.1)"))
        }
        ARRIVE_TWICE => Some(format!(
            "{} arrives again before the thread has waited: a thread arrives once per phase (PTX ISA 9.7.15.3)",
            words::place(scene, second)
        )),
        WAIT_ALONE => Some(format!(
            "{} waits for no phase: the thread has not arrived since its last wait (PTX ISA 9.7.15.3)",
            words::place(scene, second)
        )),
        MISPLACED => {
            let (rule, section) = placement::misplaced(&scene.test.program, scene.unfolding, second)?;
            Some(format!("{} {} (PTX ISA {section})", words::place(scene, second), rule.words()))
        }
        WINDOW => Some(format!(
            "{} reaches {} of another CTA as `.shared::cta`, which is the window of its own CTA: say `.shared::cluster`, or \
             leave the state space out of a generic address (PTX ISA 5.1.7)",
            words::place(scene, second),
            scene.variable(second)
        )),
        CANCEL_AGAIN => Some(format!(
            "{} asks again after {} has seen that nothing was cancelled: then there is nothing left (PTX ISA 9.7.15.18.1)",
            words::place(scene, second),
            words::place(scene, first)
        )),
        "deallocated-twice-race" => Some("the columns are deallocated twice (PTX ISA 9.7.18.7.1)".to_owned()),
        _ => {
            let (dealloc, other) = match (freed(first), freed(second)) {
                (true, false) => (first, second),
                (false, true) => (second, first),
                (true, true) => {
                    let (one, other) = (words::place(scene, first), words::place(scene, second));
                    let why = format!("{one} and {other} both deallocate the columns: one may (PTX ISA 9.7.18.7.1)");
                    return Some(why);
                }
                (false, false) => return None,
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

/// Where the address came from: what a load behind it has read.
fn origin(scene: &Scene<'_>, access: EventId) -> String {
    let behind = |id: EventId| scene.event(id).address_deps.clone();
    let reads = behind(access).into_iter().chain(behind(scene.at(access)));
    let mut sources =
        reads.filter_map(|read| scene.execution.rf.iter().find(|(_, to)| *to == read)).map(|(from, _)| *from);
    let Some(source) = sources.next() else { return String::new() };
    let opcode = scene.statement(source).map(|statement| statement.opcode.node.as_str());
    match scene.thread(source) {
        None => ": it was read before the allocation wrote it".to_owned(),
        Some(_) if opcode == Some("tcgen05") => {
            format!(": it is beyond the columns that {} was given", words::place(scene, source))
        }
        Some(_) => format!(": {} wrote it", words::place(scene, source)),
    }
}
