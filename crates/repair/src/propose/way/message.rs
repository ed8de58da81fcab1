//! Messages from one thread to another that almost synchronise (PTX ISA 8.8, 8.9.4): a write that is read, and what its
//! ends lack: release or acquire semantics, a scope, or the right place in program order.

use fencepost_check::model::role::Relation;
use fencepost_program::program::Scope;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Position, Reason, Scoping, Strength};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedMap;

use crate::edit::{Change, Edit, Moved, Semantics};
use crate::propose::way::link::{Kind, Link, Node};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::site;

const SEMANTICS: u32 = 1000;
const SCOPE: u32 = 500;
const FROM_WEAK: u32 = 2500;
const MOVE: u32 = 2500;

/// The read stands for the write, and the threads differ.
#[derive(Copy, Clone)]
struct Message {
    write: EventId,
    read: EventId,
}

pub(crate) fn links(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let mut links = Vec::new();
    for message in messages(scene, from, to) {
        links.extend(repairs(scene, message));
        links.extend(later_sends(scene, message, from));
        links.extend(later_access(scene, message, to));
    }
    links
}

fn messages(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Message> {
    let apart = |id: EventId| ![from, to].contains(&id);
    let reads = scene.execution.events.iter().copied();
    let reads = reads.filter(|id| scene.has(*id, Tag::Read) && scene.is_main(*id) && apart(*id));
    let mut found = Vec::new();
    for read in reads {
        // An arrival is no wait, and a race about an mbarrier is not settled by its own messages.
        let arrives = scene.has(read, Tag::Mbarrier) && !scene.has(read, Tag::MbarrierWait);
        if arrives || scene.event(read).location() == scene.event(from).location() {
            continue;
        }
        // The access may move behind a later wait of its own thread; others come too late.
        if scene.thread(read) != scene.thread(to) && !scene.is_between(read, from, to) {
            continue;
        }
        let sources = scene.sources(read).into_iter().filter(|write| apart(*write));
        let sources = sources.filter(|write| scene.thread(*write) != scene.thread(read));
        found.extend(sources.map(|write| Message { write, read }));
    }
    found
}

/// What each instruction lacks, by its place.
#[derive(Default)]
struct Lacks {
    of: SortedMap<Span, (EventId, Option<Semantics>, Option<Scope>)>,
    /// What the two threads share: for operations that spell no scope.
    common: Option<Scope>,
}

impl Lacks {
    fn semantics(&mut self, scene: &Scene<'_>, id: EventId, semantics: Semantics) {
        self.of.entry(scene.event(id).span).or_insert((id, None, None)).1 = Some(semantics);
    }

    fn scope(&mut self, scene: &Scene<'_>, id: EventId, scope: Scope) {
        let event = scene.event(id);
        if event.scope.is_some_and(|own| own >= scope) && !event.tags.has(Tag::Weak) {
            return;
        }
        let entry = self.of.entry(event.span).or_insert((id, None, None));
        entry.2 = Some(scope);
        if event.tags.has(Tag::Weak) && entry.1.is_none() {
            entry.1 = Some(Semantics::Relaxed);
        }
    }

    fn edits(self, scene: &Scene<'_>) -> Option<Vec<Edit>> {
        let edit = |(span, (id, semantics, scope)): (Span, (EventId, Option<Semantics>, Option<Scope>))| {
            let event = scene.event(id);
            scene.statement(id)?;
            let weak = event.tags.has(Tag::Weak);
            let at = scene.site(id);
            let reason: Reason = match (semantics, scope) {
                (None, Some(shared)) => {
                    let scope = event.scope.map(site::scope);
                    Scoping::ScopeTooNarrow { at, scope, shared: site::scope(shared) }.into()
                }
                (Some(_), _) if weak => Strength::Weak { at }.into(),
                _ if event.tags.has(Tag::Volatile) => Strength::OnlyVolatile { at }.into(),
                _ => Strength::Relaxed { at }.into(),
            };
            let wider = scope.map_or(0, |scope| 100 * (1 + scope as u32));
            let cost = wider
                + match semantics {
                    _ if weak => FROM_WEAK,
                    Some(_) => SEMANTICS,
                    // What is there and reaches too near is mended before another is put in its place.
                    None => SCOPE,
                };
            let mbarrier = event.tags.has(Tag::Mbarrier);
            let section = match (semantics, mbarrier) {
                (None, true) => "9.7.15.16, 8.5",
                (None, false) => sections::SCOPE,
                (Some(_), true) => "9.7.15.16, 8.8",
                (Some(_), false) => sections::PATTERNS,
            };
            // A weak operation gets a scope with its semantics, a wait or an arrive spells its own out.
            let bare = weak || event.tags.has(Tag::Volatile);
            let scope = scope.or(self.common.filter(|_| bare && semantics.is_some()));
            let own = if event.tags.has(Tag::Release) { Semantics::Release } else { Semantics::Acquire };
            let semantics = semantics.or(mbarrier.then_some(own));
            let change = Change::Strengthen { thread: event.thread?, span, semantics, scope };
            Some(Edit::new(change, reason, section, cost))
        };
        self.of.into_iter().map(edit).collect()
    }
}

/// The ends a message may have: those of its patterns, and itself if it had the semantics.
fn starts(scene: &Scene<'_>, write: EventId) -> Vec<(EventId, bool)> {
    let patterns = scene.before(Relation::ReleasePattern, write).into_iter().map(|start| (start, true));
    let mut found: Vec<(EventId, bool)> = patterns.collect();
    if found.iter().all(|(start, _)| *start != write) && scene.is_main(write) {
        found.push((write, false));
    }
    found
}

/// What a `red` reads is no read operation (Table 20): an `atom` reads.
fn returning(scene: &Scene<'_>, read: EventId) -> Option<Edit> {
    let statement = scene.statement(read)?;
    if !scene.has(read, Tag::NoReturn) || statement.opcode.node != "red" {
        return None;
    }
    let reason = Strength::ReturnsNothing { at: scene.site(read) };
    let change = Change::Return { thread: scene.thread(read)?, span: scene.event(read).span };
    Some(Edit::new(change, reason, "8.11.1, 8.8", SEMANTICS))
}

fn ends(scene: &Scene<'_>, read: EventId) -> Vec<(EventId, bool)> {
    let patterns = scene.after(Relation::AcquirePattern, read).into_iter().map(|end| (end, true));
    let mut found: Vec<(EventId, bool)> = patterns.collect();
    if scene.has(read, Tag::NoReturn) {
        let own = scene.thread(read).map(|thread| scene.main_events(thread)).unwrap_or_default();
        let fences = own.into_iter().filter(|id| *id > read && acquires(scene, *id));
        found.extend(fences.map(|fence| (fence, true)));
    }
    if found.iter().all(|(end, _)| *end != read) {
        found.push((read, false));
    }
    found
}

fn acquires(scene: &Scene<'_>, id: EventId) -> bool {
    let acquiring = [Tag::Acquire, Tag::AcqRel, Tag::Sc].into_iter().any(|tag| scene.has(id, tag));
    scene.has(id, Tag::Fence) && !scene.has(id, Tag::ProxyFence) && acquiring
}

fn repairs(scene: &Scene<'_>, message: Message) -> Vec<Link> {
    let Message { write, read } = message;
    let returns = returning(scene, read);
    if scene.has(read, Tag::NoReturn) && returns.is_none() {
        return Vec::new();
    }
    let mut links = Vec::new();
    for (start, released) in starts(scene, write) {
        for (end, acquired) in ends(scene, read) {
            let Some(mut edits) = lacking(scene, message, (start, released), (end, acquired)) else { continue };
            edits.extend(returns.clone());
            if edits.is_empty() {
                continue;
            }
            let cost = edits.iter().map(|edit| edit.cost).sum();
            let kind = Kind::Message(write, read);
            links.push(Link { from: Node::Event(start), to: Node::Event(end), kind, cost, edits });
        }
    }
    links
}

fn lacking(
    scene: &Scene<'_>,
    message: Message,
    (start, released): (EventId, bool),
    (end, acquired): (EventId, bool),
) -> Option<Vec<Edit>> {
    let mut lacks = Lacks { common: Some(scene.common(message.write, message.read)), ..Lacks::default() };
    if !released {
        lacks.semantics(scene, message.write, Semantics::Release);
    }
    if !acquired {
        lacks.semantics(scene, message.read, Semantics::Acquire);
    }
    let scope = scene.common(message.write, message.read);
    for id in [start, message.write, message.read, end] {
        // Nobody wrote the scope of a completion.
        if scene.is_main(id) {
            lacks.scope(scene, id, scope);
        }
    }
    lacks.edits(scene)
}

/// The points of the sender's thread at which the access is over.
fn over(scene: &Scene<'_>, from: EventId) -> Vec<EventId> {
    if scene.is_main(from) {
        return vec![from];
    }
    let events = scene.execution.events.iter().copied();
    events.filter(|id| scene.event(*id).completes.contains(&from)).collect()
}

/// The message is sent before the access it should tell of: it belongs behind it.
fn later_sends(scene: &Scene<'_>, message: Message, from: EventId) -> Vec<Link> {
    let Message { write, read } = message;
    let sends = |id: EventId| {
        let opcode = scene.statement(id).map(|statement| statement.opcode.node.as_str());
        scene.is_main(id) && matches!(opcode, Some("mbarrier" | "st" | "red"))
    };
    if !sends(write) || scene.has(read, Tag::NoReturn) {
        return Vec::new();
    }
    let mut links = Vec::new();
    for point in over(scene, from) {
        let early = scene.thread(point) == scene.thread(write) && write < point;
        let (event, Some(thread)) = (scene.event(write), scene.thread(write)) else { continue };
        if !early || !comes_before(scene, thread, event.span, scene.event(point).span) {
            continue;
        }
        for (end, acquired) in ends(scene, read) {
            let released = scene.has(write, Tag::Release);
            let Some(mut edits) = lacking(scene, message, (write, released), (end, acquired)) else { continue };
            let to = Anchor { thread, span: scene.event(point).span, side: Side::After };
            let change = Change::Move { span: event.span, to, what: Moved::Synchronisation };
            let reason = Position::MessageTooEarly { at: scene.site(write) };
            edits.push(Edit::new(change, reason, section(scene, write), MOVE));
            let cost = edits.iter().map(|edit| edit.cost).sum();
            let (kind, start) = (Kind::Move(write), Node::Event(point));
            links.push(Link { from: start, to: Node::Event(end), kind, cost, edits });
        }
    }
    links
}

/// The access comes before the wait for it.
fn later_access(scene: &Scene<'_>, message: Message, to: EventId) -> Vec<Link> {
    let Message { write, read } = message;
    let access = scene.at(to);
    let early = scene.thread(access) == scene.thread(read) && access < read;
    let (Some(thread), true) = (scene.thread(access), early) else { return Vec::new() };
    if scene.has(read, Tag::NoReturn) || scene.has(access, Tag::Mbarrier) || scene.statement(access).is_none() {
        return Vec::new();
    }
    let Some(behind) = loop_end(scene, read) else { return Vec::new() };
    if !comes_before(scene, thread, scene.event(access).span, behind) {
        return Vec::new();
    }
    let mut links = Vec::new();
    for (start, released) in starts(scene, write) {
        let acquired = scene.holds(Relation::AcquirePattern, read, read);
        let Some(mut edits) = lacking(scene, message, (start, released), (read, acquired)) else { continue };
        let place = Anchor { thread, span: behind, side: Side::After };
        let change = Change::Move { span: scene.event(access).span, to: place, what: Moved::Access };
        let reason = Position::BeforeWait { access: scene.site(access), wait: scene.site(read) };
        edits.push(Edit::new(change, reason, section(scene, read), MOVE + 100));
        let cost = edits.iter().map(|edit| edit.cost).sum();
        links.push(Link { from: Node::Event(start), to: Node::Event(to), kind: Kind::Move(read), cost, edits });
    }
    links
}

/// Whether an instruction stands before another in the text: in a loop what comes earlier may stand behind it already.
fn comes_before(scene: &Scene<'_>, thread: ThreadId, first: Span, second: Span) -> bool {
    let at = |span: Span| crate::scene::anchor::position(&scene.test.litmus, thread, span);
    at(first).zip(at(second)).is_some_and(|(first, second)| first < second)
}

/// Whether a loop repeats the read.
pub(crate) fn is_polled(scene: &Scene<'_>, read: EventId) -> bool {
    loop_end(scene, read).is_some_and(|end| end != scene.event(read).span)
}

/// The branch that ends the polling loop of a read, or the read.
fn loop_end(scene: &Scene<'_>, read: EventId) -> Option<Span> {
    let thread = scene.test.litmus.threads.get(scene.thread(read)?.index())?;
    let at = crate::scene::anchor::position(&scene.test.litmus, scene.thread(read)?, scene.event(read).span)?;
    let near = thread.body.iter().skip(at + 1).take(3).filter_map(instruction);
    let branch =
        near.filter(|found| found.opcode.node == "bra").map(fencepost_syntax::instruction::Instruction::span).next();
    Some(branch.unwrap_or(scene.event(read).span))
}

fn section(scene: &Scene<'_>, id: EventId) -> &'static str {
    if scene.has(id, Tag::Mbarrier) { sections::MBARRIER } else { sections::PATTERNS }
}
