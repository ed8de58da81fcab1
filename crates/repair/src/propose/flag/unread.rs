//! A flag that one thread releases and the other never looks at (PTX ISA 8.8, 8.9.4): a loop that acquires it is missing.

use fencepost_check::model::role::Relation;
use fencepost_program::program::{LocationRole, Space};
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Meeting;
use fencepost_syntax::instruction::Operand;

use crate::edit::{Change, Edit, Polled, scope_word};
use crate::propose::wait::value;
use crate::propose::way::link::{Kind, Link, Node};
use crate::scene::Scene;
use crate::scene::anchor::Side;

const POLL: u32 = 2300;

/// Releases behind the access that the other thread could wait for, and does not.
pub(crate) fn links(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let (Some(own), Some(waiter)) = (scene.thread(from), scene.thread(to)) else { return Vec::new() };
    let mut links = Vec::new();
    if own == waiter {
        return links;
    }
    // Another thread may tell of it, behind a barrier.
    let is_flag = |id: &EventId| {
        let told = match scene.thread(*id) {
            Some(teller) if teller == own => *id > scene.at(from),
            Some(teller) => teller != waiter,
            None => false,
        };
        told && scene.is_main(*id) && scene.has(*id, Tag::Write) && is_flag(scene, *id, to)
    };
    for write in scene.execution.events.iter().copied().filter(is_flag) {
        if reads(scene, waiter, write) || is_heard_beside(scene, waiter, write) {
            continue;
        }
        let Some(start) = scene.before(Relation::ReleasePattern, write).into_iter().next() else { continue };
        for event in scene.main_events(waiter).into_iter().filter(|id| *id <= scene.at(to)) {
            let edit = poll(scene, write, event);
            links.extend(edit.map(|edit| Link {
                from: Node::Event(start),
                to: Node::Event(event),
                kind: Kind::Arrival(write),
                cost: POLL,
                edits: vec![edit],
            }));
        }
    }
    links
}

/// Strong, of the generic proxy, and where the other thread can read it by its name.
pub(crate) fn is_flag(scene: &Scene<'_>, write: EventId, to: EventId) -> bool {
    let Some(location) = scene.location(write) else { return false };
    let near = location.owner.is_none_or(|owner| owner == scene.place(to));
    near && location.role != LocationRole::Mbarrier && scene.has(write, Tag::Generic) && !scene.has(write, Tag::Weak)
}

/// What a `red` reads nobody sees.
fn reads(scene: &Scene<'_>, thread: ThreadId, write: EventId) -> bool {
    let location = scene.event(write).location();
    let mut own = scene.main_events(thread).into_iter();
    let reads = |id: EventId| scene.has(id, Tag::Read) && !scene.has(id, Tag::NoReturn);
    own.any(|id| reads(id) && scene.event(id).location() == location)
}

/// Whether another thread of the CTA waits for it, on behalf of all: what is missing is a barrier with that one.
fn is_heard_beside(scene: &Scene<'_>, waiter: ThreadId, write: EventId) -> bool {
    let threads = &scene.unfolding.threads;
    let place = |id: usize| threads.get(id).map(|thread| thread.place);
    let is_beside = |id: &usize| *id != waiter.index() && place(*id) == place(waiter.index());
    let others = (0..threads.len()).filter(is_beside).map(ThreadId::new);
    others.filter(|id| scene.thread(write) != Some(*id)).any(|id| reads(scene, id, write))
}

/// Until the flag has the last value that it gets, or the first where the thread itself goes on with it.
fn poll(scene: &Scene<'_>, write: EventId, before: EventId) -> Option<Edit> {
    let anchor = scene.anchor(before, Side::Before)?;
    let statement = scene.statement(write)?;
    let bits = statement.modifiers.iter().rev().find_map(|word| bits(&word.node))?;
    let address = statement.operands.iter().find_map(|operand| match &operand.node {
        Operand::Address(_) => Some(scene.test.source.slice(operand.span)),
        _ => None,
    })?;
    // Registers are the other thread's own.
    let name = address.trim_start_matches('[').trim_start();
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then_some(())?;
    let space = space_word(scene.space(write))?;
    let last = value(scene, awaited(scene, write, scene.thread(before)?)?)?;
    let scope = scope_word(scene.common(write, before));
    let load = format!("ld.acquire.{scope}.{space}.u{bits} %seen, {address}");
    let wait = format!("{load};\nsetp.eq.u{bits} %waited, %seen, {last}");
    let (reader, flag) = (scene.named(before), scene.variable(write));
    let reason = Meeting::FlagNotRead { reader, flag, write: scene.site(write) };
    let change = Change::Poll { at: anchor, wait, label: format!("WAIT{}", before.0), polled: Polled::Once };
    Some(Edit::new(change, reason, "8.8, 8.9.4", POLL))
}

/// The state space of a load or store that others can see.
pub(crate) fn space_word(space: Space) -> Option<&'static str> {
    match space {
        Space::Global => Some("global"),
        Space::Shared => Some("shared"),
        _ => None,
    }
}

/// Of the type of a load or a store.
pub(crate) fn bits(word: &str) -> Option<u32> {
    word.strip_prefix(['b', 'u', 's']).and_then(|rest| rest.parse().ok())
}

/// The write whose value is waited for: that which no other overwrites, or where the waiting thread writes too, that which
/// overwrites nothing but the initial value.
pub(crate) fn awaited(scene: &Scene<'_>, write: EventId, waiter: ThreadId) -> Option<EventId> {
    let location = scene.event(write).location();
    let of_flag = |id: EventId| scene.has(id, Tag::Write) && scene.event(id).location() == location;
    let goes_on = scene.main_events(waiter).into_iter().any(of_flag);
    let co = &scene.execution.co;
    let mut own = scene.execution.events.iter().copied().filter(|id| of_flag(*id) && !scene.event(*id).is_init());
    own.find(|id| match goes_on {
        false => co.iter().all(|(earlier, _)| earlier != id),
        true => co.iter().all(|(earlier, later)| later != id || scene.event(*earlier).is_init()),
    })
}
