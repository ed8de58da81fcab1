//! Accesses and proxies in plain words.

use fencepost_check::look::proxy::{Proxy, operation_name};
use fencepost_program::EventId;
use fencepost_program::program::{HostCall, Place, Scope, Space};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;
use fencepost_report::{Missing, RacingAccess};

use crate::edit::Edit;
use crate::scene::Scene;

/// "P1's bulk copy of line 16".
pub(crate) fn operation(scene: &Scene<'_>, id: EventId) -> String {
    let name = operation_name(scene.event(id), &scene.text(id));
    let name = name.strip_prefix("the ").unwrap_or(name);
    format!("{}'s {name} of line {}", scene.name(id), scene.line(id))
}

/// The state space of a load or store that others can see.
pub(crate) fn space(space: Space) -> Option<&'static str> {
    match space {
        Space::Global => Some("global"),
        Space::Shared => Some("shared"),
        _ => None,
    }
}

/// What two threads share that have this scope in common.
pub(crate) fn shared(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "a CTA",
        Scope::Cluster => "a cluster",
        Scope::Gpu => "a GPU",
        Scope::Sys => "the system",
    }
}

/// "writes s", "updates s".
pub(crate) fn verb(scene: &Scene<'_>, id: EventId) -> String {
    let event = scene.event(id);
    if event.tags.has(Tag::Exit) {
        return "exits, and the shared memory of its CTA may go with it".to_owned();
    }
    if event.is_barrier() {
        return "is at the barrier of its cluster".to_owned();
    }
    if event.tags.has(Tag::Cancel) {
        return "asks to cancel a launch".to_owned();
    }
    if event.tags.has(Tag::Issue) && event.tags.has(Tag::Stray) {
        return "starts an asynchronous operation".to_owned();
    }
    let verb = match () {
        () if event.rmw_partner.is_some() => "updates",
        () if event.is_write() => "writes",
        () => "reads",
    };
    format!("{verb} {}", scene.variable(id))
}

/// "P1's bulk copy of line 16 writes s", "P0 reads s in line 8".
pub(crate) fn access(scene: &Scene<'_>, id: EventId) -> String {
    let event = scene.event(id);
    let verb = verb(scene, id);
    if event.strand.is_some() {
        format!("{} {verb}", operation(scene, id))
    } else {
        format!("{} {verb} in line {}", scene.name(id), scene.line(id))
    }
}

/// "P0's line 8", "P1's bulk copy of line 16".
pub(crate) fn place(scene: &Scene<'_>, id: EventId) -> String {
    if scene.is_main(id) { format!("{}'s line {}", scene.name(id), scene.line(id)) } else { operation(scene, id) }
}

/// The reasons of all pieces, each once.
pub(crate) fn reasons(edits: &[Edit]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for edit in edits {
        if !reasons.contains(&edit.reason.as_str()) {
            reasons.push(&edit.reason);
        }
    }
    reasons.join("; ")
}

pub(crate) fn why(scene: &Scene<'_>, (from, to): (EventId, EventId), edits: &[Edit]) -> String {
    let reasons = reasons(edits);
    if reasons.is_empty() {
        return reasons;
    }
    if scene.holds("base-causality", from, to) {
        let (first, own) = (place(scene, from), Proxy::of(scene.event(from)).name());
        let reasons = reasons.replace(&format!("from the {own} of {first} to"), &format!("from its {own} to"));
        return format!("{first} comes first in base causality order, but {reasons}");
    }
    reasons
}

/// There are ways that small changes would open, and none of them orders the two.
pub(crate) fn unsolved(scene: &Scene<'_>, (first, second): (EventId, EventId), is_late: bool) -> String {
    for (from, to) in [(first, second), (second, first)] {
        if scene.holds("base-causality", from, to) {
            let first = place(scene, from);
            return format!(
                "{first} comes first in base causality order, but not through both proxies (PTX ISA 8.9.5)"
            );
        }
    }
    let what = both(scene, (first, second));
    match is_late {
        true => format!("nothing orders {what} (PTX ISA 8.9.5); the time limit left no time for what would"),
        false => format!("nothing orders {what}, and no small change that was tried does (PTX ISA 8.9.5)"),
    }
}

/// Two accesses, or one of two rounds.
fn both(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> String {
    let [one, other] = [first, second].map(|id| place(scene, id));
    if one == other { format!("{one} in one round and in another") } else { format!("{one} and {other}") }
}

/// What is missing where no change is known that brings it.
pub(crate) fn order(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let text = format!("an order between {}", both(scene, (first, second)));
    let (thread, line) = (scene.name(first).to_owned(), scene.line(first));
    Missing { text, thread, line, section: sections::CAUSALITY_ORDER.to_owned() }
}

/// There is no way that a small change would open.
pub(crate) fn nothing(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> String {
    let (a, b) = (scene.name(first), scene.name(second));
    if let Some(wait) = missed(scene, (first, second)) {
        let name = scene.name(wait);
        let line = scene.line(wait);
        return format!(
            "{name}'s wait in line {line} may come before the launch by another host thread, and then waits for nothing"
        );
    }
    if let Some(updates) = two_atomics(scene, (first, second)) {
        return updates;
    }
    let asynchronous = [first, second].into_iter().find(|id| !scene.is_main(*id));
    match asynchronous {
        Some(id) if scene.has(id, Tag::Tcgen05) && scene.thread(first) == scene.thread(second) => {
            let what = operation(scene, id);
            format!(
                "nothing waits for {what}: `tcgen05.commit`, a wait for its mbarrier and a fence are missing (PTX ISA 9.7.18.6.4)"
            )
        }
        Some(id) if scene.thread(first) == scene.thread(second) => {
            format!("nothing waits for {} before the other access (PTX ISA 9.7.10.28.1)", operation(scene, id))
        }
        _ if scene.thread(first) == scene.thread(second) => "nothing orders the two accesses".to_owned(),
        _ if !speaks(scene, first) || !speaks(scene, second) => {
            format!("{a} and {b} do not synchronise at all: there is no flag, atomic or barrier that both use")
        }
        _ => {
            let how = match (scene.place(first), scene.place(second)) {
                (a, b) if a == b && a != Place::Host => "no barrier and no release and acquire",
                _ => "no release and acquire in each other's scope",
            };
            format!("{how} leads from {a} to {b} or back (PTX ISA 8.9.5)")
        }
    }
}

/// Two updates that would be atomic for each other in one proxy (PTX ISA 8.7).
fn two_atomics(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<String> {
    let [one, other] = [first, second].map(|id| scene.event(id));
    let updates = |event: &Event| event.rmw_partner.is_some() && !event.tags.has(Tag::Weak);
    if !updates(one) || !updates(other) || Proxy::of(one) == Proxy::of(other) {
        return None;
    }
    let [a, b] = [first, second].map(|id| place(scene, id));
    Some(format!(
        "{a} updates in the {}, {b} in the {}: two atomic operations of different proxies are not atomic for each other \
         (PTX ISA 8.7)",
        Proxy::of(one).name(),
        Proxy::of(other).name()
    ))
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
    if two_atomics(scene, (first, second)).is_some() {
        let (thread, line) = (scene.name(first).to_owned(), scene.line(first));
        let text =
            "one proxy for both updates (both `red` or `atom`, or both bulk reductions), or an order between them";
        return Some(Missing { text: text.to_owned(), thread, line, section: sections::MORALLY_STRONG.to_owned() });
    }
    let scope = crate::edit::scope_word(scene.common(first, second));
    let (one, other) = (scene.name(first), scene.name(second));
    let (from, to) = (scene.line(first), scene.line(second));
    let text = format!(
        "a release of scope .{scope} in {one} behind line {from} and an acquire in {other} before line {to} that observes it, \
         or the other way round"
    );
    Some(Missing { text, thread: one.to_owned(), line: from, section: "8.8, 8.9.4".to_owned() })
}

/// A wait for an asynchronous operation of the thread itself, where there is nothing to build on.
fn completion(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<Missing> {
    let started = [first, second].into_iter().filter(|id| !scene.is_main(*id)).min_by_key(|id| scene.at(*id))?;
    let what = operation(scene, started);
    let (text, section) = if scene.has(started, Tag::Tcgen05) {
        let text = format!(
            "`tcgen05.commit` behind {what}, a wait for its mbarrier and `tcgen05.fence::after_thread_sync` before the other"
        );
        (text, sections::TCGEN05_PATTERNS)
    } else {
        (
            format!("a wait for {what} before the other access: for its group or for its mbarrier"),
            sections::COMPLETION_MECHANISMS,
        )
    };
    Some(Missing {
        text,
        thread: scene.name(started).to_owned(),
        line: scene.line(started),
        section: section.to_owned(),
    })
}

pub(crate) fn mixed(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> String {
    format!(
        "{} and {} overlap only in part: the memory model gives such a race no meaning (PTX ISA 8.7.2)",
        access(scene, first),
        access(scene, second)
    )
}

/// What accesses of different bytes lack.
pub(crate) fn one_width(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let text = format!(
        "accesses of the same width and place in lines {} and {}, or an order between them",
        scene.line(first),
        scene.line(second)
    );
    let (thread, line) = (scene.name(first).to_owned(), scene.line(first));
    Missing { text, thread, line, section: sections::MIXED_SIZE_RACES.to_owned() }
}

impl<'a> Scene<'a> {
    pub(crate) fn access(&self, id: EventId) -> Option<RacingAccess> {
        let event = self.unfolding.events.get(id.index())?;
        let is_none = |event: &Event| {
            let tags = event.tags;
            tags.has(Tag::Exit) || event.is_barrier() || tags.has(Tag::Issue)
        };
        Some(RacingAccess {
            what: verb(self, id),
            proxy: if is_none(event) { "none" } else { Proxy::of(event).name() }.to_owned(),
            asynchronous: event.strand.is_some(),
        })
    }
}
