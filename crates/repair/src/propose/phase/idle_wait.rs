//! An mbarrier that others arrive on and nobody looks at (PTX ISA 9.7.15.16). In a ring this is one forgotten line, and leads to
//! so many executions that it is tried before anything else.

use fencepost_program::program::LocationRole;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, LocationId};
use fencepost_report::reason::Arriving;
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedMap;

use crate::edit::{Change, Edit};
use crate::propose::phase;
use crate::propose::wait::poll;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::{Scene, slots};

const COST: u32 = 0;
/// How far before the access the wait may belong.
const NEAR: usize = 3;
const MOST: usize = 6;

/// A wait for each mbarrier that nobody waits on, before the later access and before the earlier.
pub(crate) fn likely(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut found = Vec::new();
    for (location, arrivals) in unheard(scene) {
        let Some(object) = scene.unfolding.locations.get(location.index()) else { continue };
        let name = object.name.split('@').next().unwrap_or_default();
        found.extend(arrivals.iter().filter_map(|told| own(scene, *told, name)));
        for access in [pair.1, pair.0] {
            let own = object.owner.is_none_or(|owner| owner == scene.place(access));
            let tells = arrivals.iter().any(|id| scene.thread(*id) == scene.thread(access) && scene.is_main(*id));
            // A thread that tells all of them that it is done does not wait for itself.
            let widest = arrivals.iter().copied().max_by_key(|id| scene.common(*id, access));
            let (Some(told), true, false) = (widest, own, tells) else { continue };
            let at = scene.at(access);
            let reason = Arriving::NobodyWaits { arrival: scene.site(told), mbarrier: name.to_owned() };
            for place in places(scene, at) {
                let wait = poll(scene, (told, at), name, 0);
                let polled = phase::polled(scene, &place);
                let change = Change::Poll { at: place, wait, label: format!("WAIT{}", at.0), polled };
                found.push(Edit::new(change, reason.clone(), sections::MBARRIER, COST));
            }
        }
    }
    found.truncate(MOST);
    found
}

/// The thread that commits its own `tcgen05` operations and goes on with the fence that belongs behind a wait for them (PTX ISA
/// 9.7.18.6.4): the wait between the two.
fn own(scene: &Scene<'_>, told: EventId, name: &str) -> Option<Edit> {
    let commit = scene.at(told);
    let next = scene.between(commit, None).into_iter().next()?;
    let waited = next.modifiers.iter().any(|word| word.node == "fence::after_thread_sync");
    if scene.is_main(told) || !scene.has(told, Tag::Tcgen05) || !waited {
        return None;
    }
    let at = scene.anchor(commit, Side::After)?;
    let wait = poll(scene, (told, commit), name, 0);
    let reason = Arriving::NoWaitForCommit { commit: scene.site(told), mbarrier: name.to_owned() };
    let change = Change::Poll { at, wait, label: format!("WAIT{}", commit.0), polled: phase::polled(scene, &at) };
    Some(Edit::new(change, reason, "9.7.18.6.4, 9.7.15.16", COST))
}

/// Before the bytes of the access are announced, then before it, then further up.
pub(crate) fn places(scene: &Scene<'_>, at: EventId) -> Vec<Anchor> {
    let Some(anchor) = scene.anchor(at, Side::Before) else { return Vec::new() };
    let announced = announced(scene, at).map(|span| Anchor { span, ..anchor });
    let near = slots::near(&scene.test.litmus, &anchor, NEAR);
    let above = near.into_iter().filter(|place| place.span < anchor.span);
    announced.into_iter().chain([anchor]).chain(above).collect()
}

fn announced(scene: &Scene<'_>, at: EventId) -> Option<Span> {
    let thread = scene.thread(at)?;
    let own = position(&scene.test.litmus, thread, scene.event(at).span)?;
    let body = scene.body(thread);
    let before = instruction(body.get(own.checked_sub(1)?)?)?;
    let announces = before.modifiers.iter().any(|word| word.node == "expect_tx");
    announces.then(|| before.span())
}

/// The mbarriers that somebody arrives on and nobody waits for in this execution, with the arrivals.
fn unheard(scene: &Scene<'_>) -> SortedMap<LocationId, Vec<EventId>> {
    let mut arrivals: SortedMap<LocationId, Vec<EventId>> = SortedMap::new();
    let mut heard = Vec::new();
    for id in scene.execution.events.iter().copied().filter(|id| scene.has(*id, Tag::Mbarrier)) {
        let (Some(location), Some(object)) = (scene.event(id).location(), scene.location(id)) else { continue };
        if scene.has(id, Tag::MbarrierWait) {
            heard.push(location);
        } else if scene.has(id, Tag::Write) && !scene.has(id, Tag::MbarrierInit) && scene.thread(id).is_some() {
            let is_mbarrier = object.role == LocationRole::Mbarrier || scene.event(id).rmw_partner.is_some();
            arrivals.entry(location).or_default().extend(is_mbarrier.then_some(id));
        }
    }
    arrivals.retain(|location, all| !heard.contains(location) && !all.is_empty());
    arrivals
}
