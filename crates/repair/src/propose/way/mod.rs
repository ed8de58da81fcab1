//! The cheapest ways from one access to the other: program order and synchronisation cost next to nothing, what could be
//! made synchronisation by a change of the program costs what the change costs.

pub(crate) mod issue_order;
pub(crate) mod link;
pub(crate) mod message;

use fencepost_check::model::role::Relation;
use fencepost_program::program::Place;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Meeting, Reason, Scoping, Strength, Waiting};
use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use crate::edit::{Change, Edit, Semantics};
use crate::propose::barrier::participants::{self, With};
use crate::propose::flag::unread;
use crate::propose::way::link::{Kind, Link, Node, Plan, end};
use crate::propose::{proxy_fence, wait};
use crate::scene::Scene;
use crate::scene::anchor::Side;

/// A step of program order, and one of synchronisation: both are there already.
const STEP: u32 = 1;
pub(crate) const BARRIER: u32 = 3000;
const CLUSTER_BARRIER: u32 = 3500;
const GRID_WAIT: u32 = 1500;
const STRONG: u32 = 4000;
/// More than any way costs: the order skips what the reader has waited for, and is the last thing that is meant.
pub(crate) const SKIPPED: u32 = 100_000;
/// Ways that are looked at from one access to the other.
const WAYS: usize = 4;

/// Links of a way from the first event to the second.
type Links = fn(&Scene<'_>, EventId, EventId) -> Vec<Link>;

/// Who knows links that the test does not have, or not for this way; barriers come last, because they stand where these end.
const MADE: &[Links] = &[
    wait::links,
    issue_order::links,
    wait::arrivals,
    unread::links,
    message::links,
    |scene, _, _| relaxed_barriers(scene),
    |scene, from, to| grid(scene, from, to).into_iter().collect(),
];

/// Cheapest first, both directions.
pub(crate) fn plans(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Plan> {
    let mut found = Vec::new();
    for (from, to) in [pair, (pair.1, pair.0)] {
        let links = links(scene, from, to);
        let mut banned: Vec<Kind> = Vec::new();
        let later = if skips(scene, from, to) { SKIPPED } else { 0 };
        for _ in 0..WAYS {
            let Some(path) = cheapest(&links, from, to, &banned) else { break };
            let dearest = path.iter().filter(|link| link.cost > STEP).max_by_key(|link| link.cost);
            let dearest = dearest.map(|link| link.kind);
            let alike = plan(scene, (from, to), &path, With::Alike);
            let alone = plan(scene, (from, to), &path, With::Nobody);
            let is_other = |alone: &Plan| alike.as_ref().is_none_or(|alike| alike.edits != alone.edits);
            let alone = alone.filter(is_other);
            let ranked = |plan: Plan| Plan { cost: plan.cost + later, ..plan };
            found.extend(alike.into_iter().chain(alone).map(ranked));
            match dearest {
                Some(kind) => banned.push(kind),
                None => break,
            }
        }
    }
    found.extend(strong(scene, pair));
    found.shared_sort_by_key(|plan| plan.cost);
    found
}

/// Whether the order would have a thread read what comes next instead of what it has waited for: an earlier write is ordered
/// before the read already, and nothing else of the thread has read it.
fn skips(scene: &Scene<'_>, from: EventId, to: EventId) -> bool {
    let location = scene.event(to).location();
    let same = |id: EventId| scene.event(id).location() == location;
    let is_read = scene.has(to, Tag::Read) && !scene.has(to, Tag::Mbarrier) && scene.is_main(to);
    if !is_read || !scene.event(from).is_write() || !same(from) {
        return false;
    }
    let is_first = |id: EventId| {
        let waited = scene.event(id).is_write() && same(id) && id != from && !scene.event(id).is_init();
        let earlier = scene.thread(id) == scene.thread(from) && scene.at(id) < scene.at(from);
        waited && earlier && scene.holds(Relation::BaseCausality, id, to)
    };
    let own = scene.thread(to).map(|thread| scene.main_events(thread)).unwrap_or_default();
    let is_read_before = |id: EventId| {
        own.iter().any(|read| {
            *read < to && scene.has(*read, Tag::Read) && same(*read) && scene.holds(Relation::BaseCausality, id, *read)
        })
    };
    scene.execution.events.iter().any(|id| is_first(*id) && !is_read_before(*id))
}

/// The way with the fences its proxies need; None if nothing is to be done.
fn plan(scene: &Scene<'_>, (from, to): (EventId, EventId), links: &[Link], with: With) -> Option<Plan> {
    let gates = proxy_fence::needed(scene, from, to, links);
    let waits = links.iter().filter(|link| link.kind == Kind::Wait).flat_map(|link| link.edits.clone());
    let mut edits: Vec<Edit> = waits.collect();
    edits.extend(gates.leaving);
    edits.extend(links.iter().filter(|link| link.kind != Kind::Wait).flat_map(|link| made(scene, link, with)));
    edits.extend(gates.entering);
    if edits.is_empty() {
        return None;
    }
    let steps: u32 = links.iter().filter(|link| link.edits.is_empty()).map(|link| link.cost.min(STEP)).sum();
    let cost = edits.iter().map(|edit| edit.cost).sum::<u32>() + steps;
    Some(Plan { from, to, edits, cost })
}

/// The changes of a link. Those of barriers are made only here: there is one between any two points of a CTA.
fn made(scene: &Scene<'_>, link: &Link, with: With) -> Vec<Edit> {
    match link.kind {
        Kind::Barrier => barrier(scene, link, with).into_iter().collect(),
        _ => link.edits.clone(),
    }
}

fn links(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let mut links = Vec::new();
    let mut add = |from: Node, to: Node, kind: Kind, cost: u32| {
        links.push(Link { from, to, kind, cost, edits: Vec::new() });
    };
    let events = &scene.execution.events;
    for thread in (0..scene.unfolding.threads.len()).map(|at| ThreadId(at as u32)) {
        let main = scene.main_events(thread);
        main.windows(2).for_each(|two| add(Node::Event(two[0]), Node::Event(two[1]), Kind::Program, STEP));
        if let Some(last) = main.last() {
            add(Node::Event(*last), Node::End(thread), Kind::Program, STEP);
        }
    }
    for &event in events {
        for relation in [Relation::SynchronizesWith, Relation::WarpSynchronizes] {
            if !scene.is_between(event, from, to) {
                continue;
            }
            for other in scene.after(relation, event) {
                add(Node::Event(event), Node::Event(other), Kind::Synchronised, STEP);
            }
        }
        if scene.event(event).completes.contains(&from) {
            add(Node::Event(from), Node::Event(event), Kind::Synchronised, STEP);
        }
        let speaks = scene.event(event).strand.as_ref().is_some_and(|strand| strand.after.contains(&from));
        if speaks && scene.has(event, Tag::Completion) {
            add(Node::Event(from), Node::Event(event), Kind::Synchronised, STEP);
        }
    }
    if !scene.is_main(to) {
        add(Node::Event(scene.at(to)), Node::Event(to), Kind::Synchronised, STEP);
    }
    let others: Vec<Link> = MADE.iter().flat_map(|made| made(scene, from, to)).collect();
    let barriers = barriers(scene, (from, to), links.iter().chain(&others));
    links.extend(barriers);
    links.extend(others);
    links
}

/// `barrier.cluster.arrive.relaxed` meets its waits and orders nothing.
fn relaxed_barriers(scene: &Scene<'_>) -> Vec<Link> {
    let relaxed = |(from, to): &(EventId, EventId)| {
        let event = scene.event(*from);
        let change = Change::Strengthen {
            thread: event.thread?,
            span: event.span,
            semantics: Some(Semantics::Release),
            scope: None,
        };
        let reason = Strength::RelaxedBarrier { at: scene.site(*from) };
        let edit = Edit::new(change, reason, sections::BARRIER_CLUSTER, 1000);
        let kind = Kind::Message(*from, *to);
        Some(Link { from: Node::Event(*from), to: Node::Event(*to), kind, cost: 1000, edits: vec![edit] })
    };
    let pairs = scene.execution.barriers.synchronises.iter();
    pairs.filter(|(from, _)| scene.has(*from, Tag::Relaxed)).filter_map(relaxed).collect()
}

/// A dependent grid that does not wait.
fn grid(scene: &Scene<'_>, from: EventId, to: EventId) -> Option<Link> {
    let kernel = |id: EventId| scene.thread(id).and_then(|thread| scene.unfolding.threads.get(thread.index())?.kernel);
    let pair = (kernel(from)?, kernel(to)?);
    if !scene.unfolding.dependent_launches.contains(&pair) {
        return None;
    }
    let anchor = scene.anchor(scene.at(to), Side::Before)?;
    let triggers = scene.execution.events.iter().any(|id| kernel(*id) == Some(pair.0) && scene.has(*id, Tag::Trigger));
    let (dependent, before) = (scene.named(to), scene.named(from));
    let reason = match triggers {
        true => Waiting::KernelMayStartEarly { dependent, before },
        false => Waiting::KernelExitOrdersNothing { dependent, before },
    };
    let edit = Edit::insert(anchor, "griddepcontrol.wait", reason, sections::GRIDDEPCONTROL, GRID_WAIT);
    let (start, end) = (Node::Event(from), Node::Event(scene.at(to)));
    Some(Link { from: start, to: end, kind: Kind::Grid, cost: GRID_WAIT, edits: vec![edit] })
}

/// Two threads may meet anywhere. The cheapest way meets where it comes into the one, and leaves the other or ends: every step
/// in program order costs something.
fn barriers<'l>(
    scene: &Scene<'_>,
    (from, to): (EventId, EventId),
    others: impl Iterator<Item = &'l Link>,
) -> Vec<Link> {
    let mut links = Vec::new();
    if scene.test.litmus.dialect != Dialect::Ptx {
        return links;
    }
    let (mut starts, mut ends) = (SortedSet::from([Node::Event(from)]), SortedSet::from([Node::Event(to)]));
    for link in others.filter(|link| link.kind != Kind::Program) {
        starts.insert(link.to);
        ends.insert(link.from);
    }
    let of_thread = |nodes: &SortedSet<Node>, thread: ThreadId| -> Vec<Node> {
        let main = scene.main_events(thread).into_iter().map(Node::Event);
        main.chain([Node::End(thread)]).filter(|node| nodes.contains(node)).collect()
    };
    let threads: Vec<(ThreadId, Place)> =
        scene.unfolding.threads.iter().enumerate().map(|(at, thread)| (ThreadId(at as u32), thread.place)).collect();
    for (one, place) in &threads {
        for (other, their) in threads.iter().filter(|(other, _)| other != one) {
            let Some(cost) = barrier_cost(*place, *their) else { continue };
            // All threads of a cluster have to take part: more than two for the accesses, not for ways through others.
            let of_pair = (Some(*one), Some(*other)) == (scene.thread(from), scene.thread(to));
            let inside = threads.iter().filter(|(_, own)| barrier_cost(*own, *place).is_some()).count();
            if cost == CLUSTER_BARRIER && !of_pair && inside > 2 {
                continue;
            }
            let ends = of_thread(&ends, *other);
            for from in of_thread(&starts, *one) {
                let link = |to: &Node| Link { from, to: *to, kind: Kind::Barrier, cost, edits: Vec::new() };
                links.extend(ends.iter().filter(|to| matches!(to, Node::Event(_))).map(link));
            }
        }
    }
    links
}

/// What it costs that a thread of each place meet; None where they cannot.
fn barrier_cost(a: Place, b: Place) -> Option<u32> {
    match (a, b) {
        (Place::Gpu { .. }, Place::Gpu { .. }) if a == b => Some(BARRIER),
        (Place::Gpu { gpu, cluster, .. }, Place::Gpu { gpu: its, cluster: their, .. }) => {
            ((gpu, cluster) == (its, their)).then_some(CLUSTER_BARRIER)
        }
        _ => None,
    }
}

fn barrier(scene: &Scene<'_>, link: &Link, with: With) -> Option<Edit> {
    let thread = |node: Node| match node {
        Node::Event(event) => scene.thread(event),
        Node::End(thread) => Some(thread),
    };
    let (one, other) = (thread(link.from)?, thread(link.to)?);
    let (from, is_setup) = match link.from {
        Node::Event(event) => (participants::behind(scene, event)?, scene.has(event, Tag::MbarrierInit)),
        Node::End(thread) => (end(scene, thread)?, false),
    };
    let Node::Event(to) = link.to else { return None };
    let to = scene.anchor(to, Side::Before)?;
    let (text, places) = participants::barrier(scene, (from, to), is_setup, with)?;
    let after = match link.from {
        Node::Event(event) => Some(scene.site(event)),
        Node::End(_) => None,
    };
    let with = (places.len() == 2).then(|| scene.thread_named(other));
    let reason = Meeting::NotSynchronised { thread: scene.thread_named(one), with, after };
    let section = if link.cost == BARRIER { sections::BAR } else { sections::BARRIER_CLUSTER };
    let change = Change::Insert { at: places.into_iter().map(|place| (place, text.clone())).collect() };
    Some(Edit::new(change, reason, section, link.cost))
}

/// Both accesses strong, for those that are meant to race: flags and counters.
fn strong(scene: &Scene<'_>, pair: (EventId, EventId)) -> Option<Plan> {
    let plain = |id: EventId| {
        scene.is_main(id)
            && scene.has(id, Tag::Generic)
            && !scene.has(id, Tag::Mbarrier)
            && scene.statement(id).is_some()
    };
    if !plain(pair.0) || !plain(pair.1) || !scene.same_address(pair.0, pair.1) {
        return None;
    }
    // Two weak accesses are meant to be ordered, unless one is polled.
    let polled = |id: EventId| scene.has(id, Tag::Read) && message::is_polled(scene, id);
    if [pair.0, pair.1].iter().all(|id| scene.has(*id, Tag::Weak) && !polled(*id)) {
        return None;
    }
    let scope = scene.common(pair.0, pair.1);
    let mut edits = Vec::new();
    for id in [pair.0, pair.1] {
        let event = scene.event(id);
        let weak = event.tags.has(Tag::Weak);
        if !weak && event.scope.is_some_and(|own| own >= scope) {
            continue;
        }
        let at = scene.site(id);
        let reason: Reason = if weak { Strength::Weak { at }.into() } else { Scoping::ScopeNarrow { at }.into() };
        let semantics = weak.then_some(Semantics::Relaxed);
        let change = Change::Strengthen { thread: event.thread?, span: event.span, semantics, scope: Some(scope) };
        edits.push(Edit::new(change, reason, sections::MORALLY_STRONG, if weak { STRONG } else { 1500 }));
    }
    let cost = edits.iter().map(|edit| edit.cost).sum();
    (!edits.is_empty()).then_some(Plan { from: pair.0, to: pair.1, edits, cost })
}

/// Dijkstra's algorithm; ties go to the smaller node, so that the same test gives the same way.
fn cheapest(links: &[Link], from: EventId, to: EventId, banned: &[Kind]) -> Option<Vec<Link>> {
    let mut out: SortedMap<Node, Vec<&Link>> = SortedMap::new();
    for link in links.iter().filter(|link| !banned.contains(&link.kind)) {
        out.entry(link.from).or_default().push(link);
    }
    let (start, goal) = (Node::Event(from), Node::Event(to));
    let mut best: SortedMap<Node, (u32, Option<&Link>)> = SortedMap::from([(start, (0, None))]);
    let mut open: SortedSet<(u32, Node)> = [(0, start)].into();
    while let Some((cost, node)) = open.pop_first() {
        if node == goal {
            break;
        }
        for link in out.get(&node).into_iter().flatten() {
            let total = cost + link.cost;
            if best.get(&link.to).is_none_or(|(known, _)| total < *known) {
                if let Some((known, _)) = best.insert(link.to, (total, Some(link))) {
                    open.remove(&(known, link.to));
                }
                open.insert((total, link.to));
            }
        }
    }
    let mut path = Vec::new();
    let mut node = goal;
    while node != start {
        let (_, link) = best.get(&node)?;
        let link = (*link)?;
        path.push(link.clone());
        node = link.from;
    }
    path.reverse();
    Some(path)
}
