//! The cheapest ways from one access to the other: program order and synchronisation cost next to nothing, what could be
//! made synchronisation by a change of the program costs what the change costs.

use std::collections::BTreeMap;

use fencepost_program::program::Place;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::instruction::Operand;
use fencepost_syntax::litmus::{Dialect, Statement};

use super::anchor::{Anchor, Side};
use super::edit::{Change, Edit, Semantics};
use super::scene::Scene;
use super::{flag, gates, message, pipelined, wait};

/// A point of a thread: an event, or behind its last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Node {
    Event(EventId),
    End(ThreadId),
}

/// What a link is, so that a way that does not help can be avoided.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Program,
    Synchronised,
    Message(EventId, EventId),
    Wait,
    /// A wait for an arrive.
    Arrival(EventId),
    Move(EventId),
    /// In the order of two operations of the tensor core.
    Pipelined,
    Barrier,
    Grid,
}

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) kind: Kind,
    pub(super) cost: u32,
    pub(super) edits: Vec<Edit>,
}

/// A way, and the changes that make it one.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) from: EventId,
    pub(super) to: EventId,
    pub(super) edits: Vec<Edit>,
    pub(super) cost: u32,
}

/// A step of program order, and one of synchronisation: both are there already.
const STEP: u32 = 1;
pub(super) const BARRIER: u32 = 3000;
const CLUSTER_BARRIER: u32 = 3500;
const GRID_WAIT: u32 = 1500;
const STRONG: u32 = 4000;
/// Ways that are looked at from one access to the other.
const WAYS: usize = 4;

/// Cheapest first, both directions.
pub(super) fn plans(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Plan> {
    let mut found = Vec::new();
    for (from, to) in [pair, (pair.1, pair.0)] {
        found.extend(gates::halves_plan(scene, from, to));
        let links = links(scene, from, to);
        let mut banned: Vec<Kind> = Vec::new();
        for _ in 0..WAYS {
            let Some(path) = cheapest(&links, from, to, &banned) else { break };
            let dearest = path.iter().filter(|link| link.cost > STEP).max_by_key(|link| link.cost);
            let dearest = dearest.map(|link| link.kind);
            found.extend(plan(scene, from, to, path));
            match dearest {
                Some(kind) => banned.push(kind),
                None => break,
            }
        }
    }
    found.extend(strong(scene, pair));
    found.sort_by_key(|plan| plan.cost);
    found
}

/// The way with the fences its proxies need; None if nothing is to be done.
fn plan(scene: &Scene<'_>, from: EventId, to: EventId, links: Vec<Link>) -> Option<Plan> {
    let gates = gates::needed(scene, from, to, &links);
    let waits = links.iter().filter(|link| link.kind == Kind::Wait).flat_map(|link| link.edits.clone());
    let mut edits: Vec<Edit> = waits.collect();
    edits.extend(gates.leaving);
    edits.extend(links.iter().filter(|link| link.kind != Kind::Wait).flat_map(|link| made(scene, link)));
    edits.extend(gates.entering);
    if edits.is_empty() {
        return None;
    }
    let steps: u32 = links.iter().filter(|link| link.edits.is_empty()).map(|link| link.cost.min(STEP)).sum();
    let cost = edits.iter().map(|edit| edit.cost).sum::<u32>() + steps;
    Some(Plan { from, to, edits, cost })
}

/// The changes of a link. Those of barriers are made only here: there is one between any two points of a CTA.
fn made(scene: &Scene<'_>, link: &Link) -> Vec<Edit> {
    match link.kind {
        Kind::Barrier => barrier(scene, link).into_iter().collect(),
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
        for relation in ["synchronizes-with", "warp-synchronizes"] {
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
    barriers(scene, &mut add);
    links.extend(wait::links(scene, from, to));
    links.extend(pipelined::links(scene, from, to));
    links.extend(wait::arrivals(scene, from, to));
    links.extend(flag::links(scene, from, to));
    links.extend(message::links(scene, from, to));
    links.extend(relaxed_barriers(scene));
    links.extend(grid(scene, from, to));
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
        let reason = format!("{} is relaxed, so the barrier orders no memory", scene.called(*from));
        let edit = Edit { change, reason, section: "9.7.15.3", cost: 1000 };
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
    let (dependent, own) = (scene.name(to), scene.name(from));
    let reason = if triggers {
        format!("{dependent}'s kernel may start before {own}'s has ended")
    } else {
        format!("{dependent}'s kernel starts when {own}'s has exited, which orders no memory: only a wait for it does")
    };
    let edit = Edit::insert(anchor, "griddepcontrol.wait", reason, "9.7.15.14", GRID_WAIT);
    let (start, end) = (Node::Event(from), Node::Event(scene.at(to)));
    Some(Link { from: start, to: end, kind: Kind::Grid, cost: GRID_WAIT, edits: vec![edit] })
}

fn barriers(scene: &Scene<'_>, add: &mut impl FnMut(Node, Node, Kind, u32)) {
    if scene.test.litmus.dialect != Dialect::Ptx {
        return;
    }
    let threads: Vec<(ThreadId, Place)> =
        scene.unfolding.threads.iter().enumerate().map(|(at, thread)| (ThreadId(at as u32), thread.place)).collect();
    for (one, place) in &threads {
        for (other, their) in threads.iter().filter(|(other, _)| other != one) {
            let Some(cost) = barrier_cost(&threads, *place, *their) else { continue };
            let main = scene.main_events(*one);
            let starts = main.iter().map(|event| Node::Event(*event)).chain([Node::End(*one)]);
            let ends = scene.main_events(*other);
            for start in starts {
                ends.iter().for_each(|end| add(start, Node::Event(*end), Kind::Barrier, cost));
            }
        }
    }
}

/// What it costs that a thread of each place meet; None where they cannot.
fn barrier_cost(threads: &[(ThreadId, Place)], a: Place, b: Place) -> Option<u32> {
    let (Place::Gpu { gpu, cluster, cta }, Place::Gpu { gpu: gpu_b, cluster: cluster_b, cta: cta_b }) = (a, b) else {
        return None;
    };
    if gpu != gpu_b || cluster != cluster_b {
        return None;
    }
    if cta == cta_b {
        return Some(BARRIER);
    }
    let inside = |place: &Place| matches!(place, Place::Gpu { gpu: g, cluster: c, .. } if *g == gpu && *c == cluster);
    // All threads of the cluster would have to take part.
    (threads.iter().filter(|(_, place)| inside(place)).count() == 2).then_some(CLUSTER_BARRIER)
}

fn barrier(scene: &Scene<'_>, link: &Link) -> Option<Edit> {
    let thread = |node: Node| match node {
        Node::Event(event) => scene.thread(event),
        Node::End(thread) => Some(thread),
    };
    let (one, other) = (thread(link.from)?, thread(link.to)?);
    let from = match link.from {
        Node::Event(event) => scene.anchor(event, Side::After)?,
        Node::End(thread) => end(scene, thread)?,
    };
    let Node::Event(to) = link.to else { return None };
    let to = scene.anchor(to, Side::Before)?;
    let text = if link.cost == BARRIER {
        let place = scene.unfolding.threads.get(one.index())?.place;
        let threads = scene.unfolding.threads.iter().enumerate().filter(|(_, thread)| thread.place == place);
        let threads: Vec<usize> = threads.map(|(at, _)| at).collect();
        let id = unused_barrier(scene, &threads);
        if threads.len() > 2 { format!("bar.sync {id}, 64;") } else { format!("bar.sync {id};") }
    } else {
        "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;".to_owned()
    };
    let after = match link.from {
        Node::Event(event) => format!("its line {}", scene.line(event)),
        Node::End(_) => "that".to_owned(),
    };
    let (one, other) = (scene.thread_name(one), scene.thread_name(other));
    let reason = format!("nothing synchronises {one} with {other} after {after}");
    let section = if link.cost == BARRIER { "9.7.15.1" } else { "9.7.15.3" };
    let change = Change::Insert { at: vec![(from, text.clone()), (to, text)] };
    Some(Edit { change, reason, section, cost: link.cost })
}

/// Behind the last event of a thread.
pub(super) fn end(scene: &Scene<'_>, thread: ThreadId) -> Option<Anchor> {
    scene.anchor(*scene.main_events(thread).last()?, Side::After)
}

/// The smallest barrier number that these threads do not use.
fn unused_barrier(scene: &Scene<'_>, threads: &[usize]) -> i128 {
    let bodies = threads.iter().filter_map(|at| scene.test.litmus.threads.get(*at));
    let barriers = bodies.flat_map(|thread| &thread.body).filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } if instruction.opcode.node.starts_with("bar") => Some(instruction),
        _ => None,
    });
    let used: Vec<i128> = barriers
        .filter_map(|instruction| match instruction.operands.first()?.node {
            Operand::Integer(id) => Some(id),
            _ => None,
        })
        .collect();
    (0..16).find(|id| !used.contains(id)).unwrap_or(15)
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
        let reason = if weak {
            format!("{} is weak", scene.called(id))
        } else {
            format!("the scope of {} is too narrow", scene.called(id))
        };
        let semantics = weak.then_some(Semantics::Relaxed);
        let change = Change::Strengthen { thread: event.thread?, span: event.span, semantics, scope: Some(scope) };
        edits.push(Edit { change, reason, section: "8.7", cost: if weak { STRONG } else { 1500 } });
    }
    let cost = edits.iter().map(|edit| edit.cost).sum();
    (!edits.is_empty()).then_some(Plan { from: pair.0, to: pair.1, edits, cost })
}

/// Dijkstra's algorithm; ties go to the smaller node, so that the same test gives the same way.
fn cheapest(links: &[Link], from: EventId, to: EventId, banned: &[Kind]) -> Option<Vec<Link>> {
    let mut out: BTreeMap<Node, Vec<&Link>> = BTreeMap::new();
    for link in links.iter().filter(|link| !banned.contains(&link.kind)) {
        out.entry(link.from).or_default().push(link);
    }
    let (start, goal) = (Node::Event(from), Node::Event(to));
    let mut best: BTreeMap<Node, (u32, Option<&Link>)> = BTreeMap::from([(start, (0, None))]);
    let mut open: std::collections::BTreeSet<(u32, Node)> = [(0, start)].into();
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
