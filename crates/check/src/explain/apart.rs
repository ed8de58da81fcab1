//! Why two accesses are not ordered, or not morally strong, in the ISA's terms: what is missing for the synchronisation
//! that almost was. This is a diagnosis for people; the verdict does not rest on it, so it may be silent.

use fencepost_axiom::base::{mutually_in_scope, narrowest_common};
use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};

use super::Context;
use super::name::scope_name;
use super::words::Family;

/// The part of an execution a diagnosis looks at.
#[derive(Copy, Clone)]
pub(super) struct Seen<'a> {
    pub(super) events: &'a [EventId],
    pub(super) rf: &'a [(EventId, EventId)],
}

/// A reason with the section of the ISA it rests on.
pub(super) struct Because {
    pub(super) text: String,
    pub(super) section: &'static str,
}

/// Why nothing puts `write` before `read` (or any other access of another thread).
pub(super) fn not_ordered(context: &Context<'_>, seen: Seen<'_>, write: EventId, read: EventId) -> Option<Because> {
    if context.family() != Family::Ptx {
        return None;
    }
    let thread = |id: EventId| context.event(id).and_then(|event| event.thread);
    let messages = seen.rf.iter().filter(|(from, to)| {
        thread(*from) == thread(write) && thread(*to) == thread(read) && *from >= write && *to < read
    });
    // Events of a thread ascend in program order; the last message says most.
    for (sent, received) in messages {
        if let Some(because) = broken_message(context, seen, write, *sent, *received, read) {
            return Some(because);
        }
    }
    None
}

/// `write … sent —rf→ received … read`: which end is no pattern, or which scope is too narrow.
fn broken_message(
    context: &Context<'_>,
    seen: Seen<'_>,
    write: EventId,
    sent: EventId,
    received: EventId,
    read: EventId,
) -> Option<Because> {
    let release = release_start(context, seen, write, sent);
    let acquire = acquire_end(context, seen, received, read);
    let (Some(first), Some(last)) = (release, acquire) else {
        let (id, kind, missing) =
            if release.is_none() { (sent, "release", "before it") } else { (received, "acquire", "after it") };
        let text = format!(
            "{} is no {kind} pattern: it is {}, and there is no {kind} fence {missing}",
            context.called(id),
            strength(context.event(id)?)
        );
        return Some(Because { text, section: "8.8" });
    };
    for (a, b) in [(sent, received), (first, last)] {
        if let Some(because) = not_morally_strong(context, a, b) {
            return Some(because);
        }
    }
    None
}

fn strength(event: &Event) -> &'static str {
    let has = |tag| event.tags.has(tag);
    match () {
        () if has(Tag::Weak) => "weak",
        () if has(Tag::Acquire) => "only an acquire",
        () if has(Tag::Release) => "only a release",
        () if has(Tag::Volatile) => "volatile",
        () => "relaxed",
    }
}

fn is_strong(event: &Event) -> bool {
    match event.kind {
        EventKind::Fence => !event.tags.has(Tag::ProxyFence),
        EventKind::Read { .. } | EventKind::Write { .. } => !event.tags.has(Tag::Weak) && event.thread.is_some(),
        EventKind::Barrier(_) => false,
    }
}

/// The first instruction of the release pattern that ends in `sent` and has `write` before it.
fn release_start(context: &Context<'_>, seen: Seen<'_>, write: EventId, sent: EventId) -> Option<EventId> {
    let event = context.event(sent)?;
    if !is_strong(event) {
        return None;
    }
    if event.tags.has(Tag::Release) || event.tags.has(Tag::AcqRel) {
        return Some(sent);
    }
    let fences = seen.events.iter().copied().filter(|id| *id > write && *id < sent);
    fences.rev().find(|id| fence_with(context, *id, sent, Tag::Release))
}

fn acquire_end(context: &Context<'_>, seen: Seen<'_>, received: EventId, read: EventId) -> Option<EventId> {
    let event = context.event(received)?;
    if !is_strong(event) || event.tags.has(Tag::NoReturn) {
        return None;
    }
    if event.tags.has(Tag::Acquire) || event.tags.has(Tag::AcqRel) {
        return Some(received);
    }
    let mut fences = seen.events.iter().copied().filter(|id| *id > received && *id < read);
    fences.find(|id| fence_with(context, *id, received, Tag::Acquire))
}

fn fence_with(context: &Context<'_>, id: EventId, of: EventId, half: Tag) -> bool {
    let Some(event) = context.event(id) else { return false };
    let same_thread = event.thread == context.event(of).and_then(|event| event.thread);
    let orders = [half, Tag::AcqRel, Tag::Sc].into_iter().any(|tag| event.tags.has(tag));
    same_thread && matches!(event.kind, EventKind::Fence) && !event.tags.has(Tag::ProxyFence) && orders
}

/// Why two operations are not morally strong (PTX ISA 8.7.1); None if they are.
pub(super) fn not_morally_strong(context: &Context<'_>, a: EventId, b: EventId) -> Option<Because> {
    let (first, second) = (context.event(a)?, context.event(b)?);
    for (id, event) in [(a, first), (b, second)] {
        if !is_strong(event) {
            let text =
                format!("{} is {}", context.called(id), if event.thread.is_none() { "not strong" } else { "weak" });
            return Some(Because { text, section: "8.7" });
        }
    }
    if let Some((x, y)) = proxies(first, second) {
        let text =
            format!("{} goes through the {x} proxy and {} through the {y} proxy", context.called(a), context.called(b));
        return Some(Because { text, section: "8.6, 8.7" });
    }
    if let (Some(x), Some(y)) = (generic(first), generic(second))
        && x != y
        && context.location_of(a) == context.location_of(b)
    {
        let text =
            format!("{} and {} use different virtual addresses of one location", context.called(a), context.called(b));
        return Some(Because { text, section: "8.6, 8.7" });
    }
    if mutually_in_scope(context.unfolding, first, second) {
        return None;
    }
    let place =
        |event: &Event| event.thread.and_then(|thread| context.unfolding.threads.get(thread.index())).map(|t| t.place);
    let needed = match (place(first)?, place(second)?) {
        (x, y) if first.thread != second.thread => narrowest_common(x, y),
        _ => Scope::Cta,
    };
    let (id, event) = if first.scope.is_none_or(|scope| scope < needed) { (a, first) } else { (b, second) };
    let own = event.scope.map_or("no scope", scope_name);
    let text = format!(
        "the scope of {} is too narrow: {own}, but the threads share only {}",
        context.called(id),
        shared(needed)
    );
    Some(Because { text, section: "8.5, 8.7" })
}

fn shared(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "a CTA (.cta)",
        Scope::Cluster => "a cluster (.cluster)",
        Scope::Gpu => "a GPU (.gpu)",
        Scope::Sys => "the system (.sys)",
    }
}

fn generic(event: &Event) -> Option<fencepost_program::AddressId> {
    match event.kind {
        EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
        EventKind::Fence | EventKind::Barrier(_) => None,
    }
}

/// The names of two different proxies.
fn proxies(a: &Event, b: &Event) -> Option<(&'static str, &'static str)> {
    let kind = |event: &Event| {
        let known = [(Tag::Surface, "surface"), (Tag::Texture, "texture"), (Tag::Constant, "constant")];
        known.into_iter().find(|(tag, _)| event.tags.has(*tag)).map_or("generic", |(_, name)| name)
    };
    (kind(a) != kind(b)).then(|| (kind(a), kind(b)))
}
