//! A barrier that a thread leaves out: other threads of its CTA, or of its cluster, pass it more often (PTX ISA 9.7.15.1,
//! 9.7.15.3). Who only arrives is waited for.

use fencepost_program::program::Scope;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Meeting;

use crate::edit::Edit;
use crate::propose::way::link;
use crate::scene::anchor::{Anchor, Side};
use crate::scene::statement::{Here, Role, instructions, role, section, spelled};
use crate::scene::{Scene, slots};

const COST: u32 = 0;
/// Changes that are tried for one race.
const MOST: usize = 32;
/// How far from the access a barrier may belong.
const FAR: usize = 12;
/// One barrier more, at every place where it may belong.
pub(crate) fn copies(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let everything = instructions(scene);
    let meets: Vec<Here<'_>> =
        everything.into_iter().filter(|here| role(here.instruction) == Some(Role::Meets)).collect();
    let mut found = Vec::new();
    for (thread, anchor) in meeting(scene, pair) {
        for (other, text) in left_out(scene, &meets, thread) {
            let reason = Meeting::BarrierLeftOut { thread: scene.thread_named(thread), barrier: other.site(scene) };
            let mut places: Vec<Anchor> =
                if text.starts_with("barrier.cluster.wait") { unawaited(&meets, thread) } else { Vec::new() };
            places.push(anchor);
            places.extend(slots::near(&scene.test.litmus, &anchor, FAR));
            let section = section(other.instruction);
            let put = |place| Edit::insert(place, &text, reason.clone(), section, COST);
            found.extend(places.into_iter().map(put));
        }
    }
    found.truncate(MOST);
    found
}

/// The barriers that another thread which this one could meet has more often, each with an example.
fn left_out<'h>(scene: &Scene<'_>, meets: &[Here<'h>], thread: ThreadId) -> Vec<(Here<'h>, String)> {
    let number = |thread: ThreadId, text: &str| {
        meets.iter().filter(|here| here.thread == thread && spelled(scene, **here) == text).count()
    };
    let mut found: Vec<(Here<'h>, String)> = Vec::new();
    for here in meets.iter().filter(|here| here.instruction.guard.is_none() && together(scene, thread, here)) {
        let text = spelled(scene, *here);
        let often = number(here.thread, &text);
        let waited = here.has("arrive").then(|| text.replacen("arrive", "sync", 1));
        for text in [Some(text), waited.filter(|_| here.opcode() == "bar")].into_iter().flatten() {
            let known = found.iter().any(|(_, known)| *known == text);
            if !known && number(thread, &text) < often {
                found.push((*here, text));
            }
        }
    }
    found
}

fn together(scene: &Scene<'_>, thread: ThreadId, here: &Here<'_>) -> bool {
    let place = |thread: ThreadId| scene.home(thread);
    let (own, other) = (place(thread), place(here.thread));
    let near = match here.opcode() {
        "bar" => own == other,
        _ => fencepost_axiom::base::narrowest_common(own, other) <= Scope::Cluster,
    };
    thread != here.thread && near
}

/// Behind the arrivals of a thread at the barrier of its cluster that it does not wait for.
fn unawaited(meets: &[Here<'_>], thread: ThreadId) -> Vec<Anchor> {
    let own: Vec<&Here<'_>> = meets.iter().filter(|here| here.thread == thread && here.opcode() == "barrier").collect();
    let mut found = Vec::new();
    for (at, here) in own.iter().enumerate().filter(|(_, here)| here.has("arrive")) {
        if own.get(at + 1).is_none_or(|next| !next.has("wait")) {
            found.push(Anchor { thread, span: here.span(), side: Side::After });
        }
    }
    found
}

/// The threads that a barrier may be missing from, those of the accesses first, and where.
fn meeting(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<(ThreadId, Anchor)> {
    let mut found: Vec<(ThreadId, Anchor)> = Vec::new();
    for access in [pair.0, pair.1] {
        let at = scene.thread(access).zip(scene.anchor(scene.at(access), Side::Before));
        found.extend(at.filter(|(thread, _)| found.iter().all(|(known, _)| known != thread)));
    }
    for thread in (0..scene.unfolding.threads.len() as u32).map(ThreadId) {
        let is_new = found.iter().all(|(known, _)| *known != thread);
        found.extend(link::end(scene, thread).filter(|_| is_new).map(|anchor| (thread, anchor)));
    }
    found
}
