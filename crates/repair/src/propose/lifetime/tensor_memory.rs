//! Tensor memory that is used outside its life (PTX ISA 9.7.18.7): no synchronisation makes that right.

use fencepost_program::EventId;
use fencepost_program::placement;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::Missing;
use fencepost_report::finding::FindingKind;

use crate::scene::Scene;
use crate::words;

/// Why, where the two are about columns that are not the program's at the time.
pub(crate) fn why(scene: &Scene<'_>, kind: FindingKind, (first, second): (EventId, EventId)) -> Option<String> {
    let freed = |id: EventId| scene.has(id, Tag::Deallocation);
    match kind {
        FindingKind::UnallocatedAccessRace => {
            let place = words::place(scene, first);
            let how = origin(scene, first);
            Some(format!("{place} goes through an address that no tcgen05.alloc gave{how} (PTX ISA 9.7.18.7.1)"))
        }
        FindingKind::ClusterArriveTwice => Some(format!(
            "{} arrives again before the thread has waited: a thread arrives once per phase (PTX ISA 9.7.15.3)",
            words::place(scene, second)
        )),
        FindingKind::ClusterWaitAlone => Some(format!(
            "{} waits for no phase: the thread has not arrived since its last wait (PTX ISA 9.7.15.3)",
            words::place(scene, second)
        )),
        FindingKind::MisplacedOperand => {
            let (rule, section) = placement::misplaced(&scene.test.program, scene.unfolding, second)?;
            Some(format!("{} {} (PTX ISA {section})", words::place(scene, second), rule.words()))
        }
        FindingKind::OutsideWindow => Some(format!(
            "{} reaches {} of another CTA as `.shared::cta`, which is the window of its own CTA: say `.shared::cluster`, or \
             leave the state space out of a generic address (PTX ISA 5.1.7)",
            words::place(scene, second),
            scene.variable(second)
        )),
        FindingKind::CancelAfterRefusal => {
            let (asks, saw) = if scene.has(first, Tag::Cancel) { (first, second) } else { (second, first) };
            Some(format!(
                "{} asks again after {} has seen that nothing was cancelled: then there is nothing left (PTX ISA 9.7.15.18)",
                words::place(scene, asks),
                words::place(scene, saw)
            ))
        }
        FindingKind::DeallocatedTwiceRace => Some("the columns are deallocated twice (PTX ISA 9.7.18.7.1)".to_owned()),
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

/// What is missing, where it can be said without a change that was checked.
pub(crate) fn lacks(scene: &Scene<'_>, kind: FindingKind, (first, second): (EventId, EventId)) -> Option<Missing> {
    let asks = if scene.has(first, Tag::Cancel) { first } else { second };
    let (at, text, section) = match kind {
        FindingKind::UnallocatedAccessRace => {
            (first, "an address that `tcgen05.alloc` has written, read behind it".to_owned(), sections::TCGEN05_ALLOC)
        }
        FindingKind::DeallocatedTwiceRace => {
            (second, "one `tcgen05.dealloc` of the columns has to go".to_owned(), sections::TCGEN05_ALLOC)
        }
        FindingKind::ClusterArriveTwice => {
            (second, "`barrier.cluster.wait` between the two arrives".to_owned(), sections::BARRIER_CLUSTER)
        }
        FindingKind::ClusterWaitAlone => {
            (second, "`barrier.cluster.arrive` before the wait".to_owned(), sections::BARRIER_CLUSTER)
        }
        FindingKind::MisplacedOperand => {
            let (rule, section) = placement::misplaced(&scene.test.program, scene.unfolding, second)?;
            (second, format!("another operand: this one {}", rule.words()), section)
        }
        FindingKind::OutsideWindow => {
            (second, "`.shared::cluster` instead of `.shared::cta`".to_owned(), sections::SHARED_SPACE)
        }
        FindingKind::CancelAfterRefusal => (
            asks,
            "a branch that leaves the request out where the answer was a refusal".to_owned(),
            sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL,
        ),
        _ => {
            let dealloc = [first, second].into_iter().find(|id| scene.has(*id, Tag::Deallocation))?;
            let other = if dealloc == first { second } else { first };
            let text = match scene.has(other, Tag::Deallocation) {
                true => "one `tcgen05.dealloc` of the columns has to go".to_owned(),
                false => format!("the deallocation belongs behind {}", words::place(scene, other)),
            };
            (dealloc, text, sections::TCGEN05_ALLOC)
        }
    };
    let (thread, line) = (scene.name(at).to_owned(), scene.line(at));
    Some(Missing { text: format!("{text} ({})", words::place(scene, at)), thread, line, section: section.to_owned() })
}
