//! A thread that uses a buffer and never says that it is done: where the other waits on an mbarrier before it goes on, the
//! thread's own arrival on it is missing, and the mbarrier has to wait for one arrival more (PTX ISA 9.7.15.16).

use fencepost_program::program::{LocationRole, Place};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::LocationInfo;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Arriving;
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Change, Edit, scope_word};
use crate::propose::way::link::Plan;
use crate::propose::{adjust, proxy_fence};
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::{Scene, statement};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 2300;
/// Of an arrive and a count.
pub(crate) const SIZE: u32 = 8;

pub(crate) fn plans(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Plan> {
    let mut found = Vec::new();
    for (from, to) in [pair, (pair.1, pair.0)] {
        let (Some(user), Some(waiter)) = (scene.thread(from), scene.thread(to)) else { continue };
        if user == waiter {
            continue;
        }
        for wait in waits(scene, waiter, scene.at(to)) {
            let Some(location) = scene.location(wait).filter(|location| location.role == LocationRole::Mbarrier) else {
                continue;
            };
            if !arrives(scene, user, location) {
                found.extend(plan(scene, from, to, location));
            }
        }
    }
    found
}

/// The waits of a thread before this event, one per mbarrier, the last first.
fn waits(scene: &Scene<'_>, thread: ThreadId, before: EventId) -> Vec<EventId> {
    let main = scene.main_events(thread);
    let mut found: Vec<EventId> =
        main.into_iter().rev().filter(|id| *id < before && scene.has(*id, Tag::MbarrierWait)).collect();
    let mut seen = Vec::new();
    found.retain(|id| {
        let location = scene.event(*id).location();
        let new = !seen.contains(&location);
        seen.push(location);
        new
    });
    found
}

/// Whether the thread arrives there in this execution. What its asynchronous operations tell the mbarrier is about them.
fn arrives(scene: &Scene<'_>, thread: ThreadId, location: &LocationInfo) -> bool {
    let own = |id: &&EventId| {
        let arrives = scene.has(**id, Tag::Write) && !scene.has(**id, Tag::MbarrierInit);
        scene.thread(**id) == Some(thread) && scene.is_main(**id) && arrives
    };
    let mut writes = scene.execution.events.iter().filter(own);
    writes.any(|id| scene.location(*id).is_some_and(|found| found.name == location.name))
}

fn plan(scene: &Scene<'_>, from: EventId, to: EventId, location: &LocationInfo) -> Option<Plan> {
    let name = location.name.split('@').next().unwrap_or_default().to_owned();
    let mut edits = Vec::new();
    let anchor = done(scene, from)?;
    // Behind the access, as the arrive is; the one that stands there already is left out again.
    let gates = proxy_fence::needed(scene, from, to, &[]);
    for mut gate in gates.leaving {
        if let Change::Insert { at } = &mut gate.change {
            at.iter_mut().for_each(|(place, _)| *place = anchor);
        }
        edits.push(gate);
    }
    let (waiter, user) = (scene.named(to), scene.named(from));
    let reason = Arriving::NeverArrives { waiter, user, mbarrier: name.clone() };
    let own = scene.place(from);
    let text = match (location.owner.unwrap_or(own), own) {
        (owner, own) if owner == own => format!("mbarrier.arrive.shared::cta.b64 _, [{name}]"),
        (Place::Gpu { cta, .. }, _) => {
            let scope = scope_word(scene.common(from, to));
            format!(
                "mapa.shared::cluster.u32 %peer, {name}, {};\nmbarrier.arrive.release.{scope}.shared::cluster.b64 _, [%peer]",
                rank(scene, cta)
            )
        }
        (Place::Host, _) => return None,
    };
    edits.push(Edit::insert(anchor, &text, reason.clone(), SECTION, COST));
    let count = Change::Count { inits: adjust::inits(scene, &name), name, by: 1 };
    edits.push(Edit::new(count, reason, SECTION, COST));
    edits.extend(gates.entering);
    Some(Plan { from, to, edits, cost: COST })
}

/// The rank of a CTA in its cluster: the smallest has rank 0.
pub(crate) fn rank(scene: &Scene<'_>, cta: u32) -> usize {
    let mut all: Vec<u32> = scene
        .unfolding
        .threads
        .iter()
        .filter_map(|thread| match thread.place {
            Place::Gpu { cta, .. } => Some(cta),
            Place::Host => None,
        })
        .collect();
    all.shared_sort();
    all.dedup();
    all.iter().position(|own| *own == cta).unwrap_or(0)
}

/// Where the access is over, and behind the waits and fences that stand there.
fn done(scene: &Scene<'_>, from: EventId) -> Option<Anchor> {
    let thread = scene.thread(from)?;
    let main = scene.main_events(thread);
    let over = main.into_iter().find(|id| scene.event(*id).completes.contains(&from)).unwrap_or(scene.at(from));
    let litmus = &scene.test.litmus;
    let body = &litmus.threads.get(thread.index())?.body;
    let at = position(litmus, thread, scene.event(over).span)?;
    let covers = |statement: &&Statement| instruction(statement).is_some_and(statement::is_cover);
    let behind = body.iter().skip(at + 1).take_while(covers).count();
    let span = instruction(body.get(at + behind)?)?.span();
    Some(Anchor { thread, span, side: Side::After })
}
