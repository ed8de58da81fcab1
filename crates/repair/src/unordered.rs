//! Two accesses that no known change orders: why nothing does, and what would be needed in general.

use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::program::{HostCall, Place};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;
use fencepost_report::piece::Piece;
use fencepost_report::reason::Ordering;
use fencepost_report::{Diagnosis, Missing};

use crate::propose::way::link::Plan;
use crate::scene::{Scene, site};

/// There are ways that small changes would open, and none of them orders the two.
pub(crate) fn unsolved(scene: &Scene<'_>, (first, second): (EventId, EventId), is_late: bool) -> Ordering {
    for (from, to) in [(first, second), (second, first)] {
        if scene.holds(Relation::BaseCausality, from, to) {
            return Ordering::NotThroughBothProxies { first: scene.site(from) };
        }
    }
    let (first, second) = (scene.site(first), scene.site(second));
    match is_late {
        true => Ordering::NothingOrdersInTime { first, second },
        false => Ordering::NothingOrders { first, second },
    }
}

/// What is missing where no change is known that brings it.
pub(crate) fn order(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let what = Piece::OrderBetween { first: scene.site(first), second: scene.site(second) };
    scene.missing(first, what, sections::CAUSALITY_ORDER)
}

/// There is no way that a small change would open.
pub(crate) fn nothing(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Ordering {
    if let Some(wait) = missed(scene, (first, second)) {
        return Ordering::LaunchMissed { wait: scene.site(wait) };
    }
    if two_atomics(scene, (first, second)) {
        return Ordering::AtomicsOfTwoProxies {
            first: scene.site(first),
            first_proxy: scene.proxy(first),
            second: scene.site(second),
            second_proxy: scene.proxy(second),
        };
    }
    let is_one_thread = scene.thread(first) == scene.thread(second);
    let asynchronous = [first, second].into_iter().find(|id| !scene.is_main(*id));
    let threads = || (scene.named(first), scene.named(second));
    match asynchronous {
        Some(id) if scene.has(id, Tag::Tcgen05) && is_one_thread => {
            Ordering::TensorOperationNotAwaited { operation: scene.site(id) }
        }
        Some(id) if is_one_thread => Ordering::NotAwaitedBeforeOther { operation: scene.site(id) },
        _ if is_one_thread => Ordering::NothingOrdersTheTwo,
        _ if !speaks(scene, first) || !speaks(scene, second) => {
            let (first, second) = threads();
            Ordering::NoSynchronisation { first, second }
        }
        _ => {
            let is_one_cta = scene.place(first) == scene.place(second) && scene.place(first) != Place::Host;
            let (first, second) = threads();
            match is_one_cta {
                true => Ordering::NoBarrierOrMessage { first, second },
                false => Ordering::NoMessageInScope { first, second },
            }
        }
    }
}

/// Two updates that would be atomic for each other in one proxy (PTX ISA 8.7).
fn two_atomics(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> bool {
    let [one, other] = [first, second].map(|id| scene.event(id));
    let updates = |event: &Event| event.rmw_partner.is_some() && !event.tags.has(Tag::Weak);
    updates(one) && updates(other) && proxy_of(one) != proxy_of(other)
}

/// A host's wait before one of the accesses that missed the launch it should wait for.
fn missed(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<EventId> {
    let before = |access: EventId| {
        let own = scene.thread(access).map(|thread| scene.main_events(thread)).unwrap_or_default();
        own.into_iter().find(|id| *id < access && matches!(scene.event(*id).call, Some(HostCall::Missed(_))))
    };
    before(first).or_else(|| before(second))
}

/// Whether the thread of this event has anything that could tell another thread something.
fn speaks(scene: &Scene<'_>, id: EventId) -> bool {
    let tells = |event: EventId| {
        let access = scene.has(event, Tag::Read) || scene.has(event, Tag::Write);
        scene.has(event, Tag::Barrier) || access && !scene.has(event, Tag::Weak)
    };
    // An asynchronous release is one too.
    let own = |thread| scene.execution.events.iter().any(|event| scene.thread(*event) == Some(thread) && tells(*event));
    scene.thread(id).is_none_or(own)
}

/// The pair of operations that would order them, where there is nothing to build on.
pub(crate) fn pair(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<Missing> {
    if scene.event(second).is_init() {
        return None;
    }
    if scene.thread(first) == scene.thread(second) {
        return completion(scene, (first, second));
    }
    if two_atomics(scene, (first, second)) {
        return Some(scene.missing(first, Piece::OneProxy, sections::MORALLY_STRONG));
    }
    let scope = site::scope(scene.common(first, second));
    let what = Piece::Message { scope, from: scene.site(first), to: scene.site(second) };
    Some(scene.missing(first, what, "8.8, 8.9.4"))
}

/// A wait for an asynchronous operation of the thread itself, where there is nothing to build on.
fn completion(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<Missing> {
    let started = [first, second].into_iter().filter(|id| !scene.is_main(*id)).min_by_key(|id| scene.at(*id))?;
    let operation = scene.site(started);
    Some(match scene.has(started, Tag::Tcgen05) {
        true => scene.missing(started, Piece::TensorCompletion { operation }, sections::TCGEN05_PATTERNS),
        false => scene.missing(started, Piece::Completion { operation }, sections::COMPLETION_MECHANISMS),
    })
}

/// Accesses of different bytes (PTX ISA 8.7.2).
fn mixed(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Ordering {
    Ordering::OverlapInPart { first: scene.access_site(first), second: scene.access_site(second) }
}

/// Accesses of different bytes: one width is all that they lack.
pub(crate) fn of_different_sizes(scene: &Scene<'_>, pair: (EventId, EventId), diagnosis: &mut Diagnosis) -> Vec<Plan> {
    diagnosis.reasons = vec![mixed(scene, pair).into()];
    diagnosis.missing = vec![one_width(scene, pair)];
    Vec::new()
}

fn one_width(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let what = Piece::OneWidth { first: scene.site(first), second: scene.site(second) };
    scene.missing(first, what, sections::MIXED_SIZE_RACES)
}
