//! Critical cycles (Shasha and Snir 1988): an outcome that no interleaving of the threads has shows itself as a cycle of program
//! order and communication. Its pairs in program order are what may have happened the other way round: order all of them, and
//! the outcome is gone.

use std::collections::VecDeque;

use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_report::CauseKind;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::scene::Scene;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Step {
    /// A read, and a write that comes after the one that it reads: it misses that (`fr`).
    Misses,
    /// A write, and one that comes after it (`co`).
    Overwritten,
    /// A write, and a read of it (`rf`).
    Seen,
    /// What the threads do to each other beside memory: barriers, launches.
    Synchronizes,
    Program,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub(crate) step: Step,
    pub(crate) from: EventId,
    pub(crate) to: EventId,
}

/// Each edge starts where the one before ends, and the first where the last ends.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) edges: Vec<Edge>,
}

impl Cycle {
    /// The pairs in program order that are about two locations: one location has its order anyway.
    pub(crate) fn delays(&self, scene: &Scene<'_>) -> Vec<(EventId, EventId)> {
        let program = self.edges.iter().filter(|edge| edge.step == Step::Program);
        let pairs = program.map(|edge| (edge.from, edge.to));
        let location = |id: EventId| scene.event(id).location();
        pairs.filter(|(from, to)| location(*from).is_none() || location(*from) != location(*to)).collect()
    }

    /// The pairs that nothing keeps in order; all of its pairs if each has something.
    pub(crate) fn open(&self, scene: &Scene<'_>) -> Vec<(EventId, EventId)> {
        let (ordered, open): (Vec<_>, Vec<_>) =
            self.delays(scene).into_iter().partition(|pair| is_ordered(scene, *pair));
        if open.is_empty() { ordered } else { open }
    }

    pub(crate) fn communication(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(|edge| !matches!(edge.step, Step::Program | Step::Synchronizes))
    }

    /// The read and the write that it misses; without one, what is closest to that. Of several, one about what is handed over
    /// rather than about what is asked for.
    pub(crate) fn pair(&self, scene: &Scene<'_>) -> Option<(CauseKind, (EventId, EventId))> {
        let flag = |edge: &Edge| scene.event(edge.from).location().is_some_and(|at| is_flag(scene, at));
        let edge = self.communication().min_by_key(|edge| (edge.step, flag(edge)))?;
        let kind = match edge.step {
            Step::Misses => CauseKind::MissedWrite,
            Step::Overwritten => CauseKind::Overwritten,
            Step::Seen | Step::Synchronizes | Step::Program => CauseKind::EarlyRead,
        };
        Some((kind, (edge.from, edge.to)))
    }
}

/// The shortest cycle through each pair that communicates, each once, the shortest first. None where the threads' accesses
/// can be put into one order.
pub(crate) fn cycles(scene: &Scene<'_>) -> Vec<Cycle> {
    let mut edges = communication(scene);
    edges.shared_sort();
    let graph = Graph::new(scene, &edges);
    let mut known = SortedSet::new();
    let mut found: Vec<Cycle> = edges.iter().filter_map(|edge| graph.cycle(*edge)).collect();
    found.retain(|cycle| {
        let mut edges = cycle.edges.clone();
        edges.shared_sort();
        known.insert(edges)
    });
    found.shared_sort_by_key(|cycle| cycle.edges.len());
    found
}

/// What a read misses: every write behind the one that it reads.
pub(crate) fn missed(scene: &Scene<'_>) -> Vec<(EventId, EventId)> {
    let execution = scene.execution;
    let mut found = Vec::new();
    for (source, read) in &execution.rf {
        let own = scene.event(*read).rmw_partner;
        let after = execution.co.iter().filter(|(from, to)| from == source && Some(*to) != own);
        found.extend(after.map(|(_, write)| (*read, *write)));
    }
    found.retain(|(read, write)| scene.thread(*read) != scene.thread(*write));
    found
}

fn communication(scene: &Scene<'_>) -> Vec<Edge> {
    let execution = scene.execution;
    let apart =
        |(from, to): &&(EventId, EventId)| !scene.event(*from).is_init() && scene.thread(*from) != scene.thread(*to);
    let edge = |step: Step| move |(from, to): &(EventId, EventId)| Edge { step, from: *from, to: *to };
    let seen = execution.rf.iter().filter(apart).map(edge(Step::Seen));
    let overwritten = execution.co.iter().filter(apart).map(edge(Step::Overwritten));
    let missed = missed(scene);
    seen.chain(overwritten).chain(missed.iter().map(edge(Step::Misses))).collect()
}

struct Graph {
    next: SortedMap<EventId, Vec<Edge>>,
}

impl Graph {
    fn new(scene: &Scene<'_>, communication: &[Edge]) -> Graph {
        let mut next: SortedMap<EventId, Vec<Edge>> = SortedMap::new();
        let mut add = |edge: Edge| next.entry(edge.from).or_default().push(edge);
        communication.iter().for_each(|edge| add(*edge));
        for from in scene.execution.events.iter().copied().filter(|id| !scene.event(*id).is_init()) {
            for to in scene.after(Relation::SynchronizesWith, from) {
                if scene.thread(from) != scene.thread(to) {
                    add(Edge { step: Step::Synchronizes, from, to });
                }
            }
            program(scene, from).into_iter().for_each(&mut add);
        }
        Graph { next }
    }

    /// The shortest way from the end of an edge to its start, and the edge.
    fn cycle(&self, first: Edge) -> Option<Cycle> {
        let mut came: SortedMap<EventId, Edge> = SortedMap::new();
        let mut queue = VecDeque::from([first.to]);
        while let Some(here) = queue.pop_front() {
            for edge in self.next.get(&here).into_iter().flatten() {
                if edge.to != first.to && !came.contains_key(&edge.to) {
                    came.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        let mut edges = Vec::new();
        let mut here = first.from;
        while here != first.to {
            let edge = came.get(&here)?;
            edges.push(*edge);
            here = edge.from;
        }
        edges.push(first);
        edges.reverse();
        Some(Cycle { edges })
    }
}

/// Everything behind an event in program order, and what it starts. Elements of one vector are in no order (PTX ISA 8.2.4).
fn program(scene: &Scene<'_>, from: EventId) -> Vec<Edge> {
    let Some(thread) = scene.thread(from) else { return Vec::new() };
    let edge = |to: EventId| Edge { step: Step::Program, from, to };
    if !scene.is_main(from) {
        return Vec::new();
    }
    let group = scene.event(from).group;
    let matters =
        |id: &EventId| scene.has(*id, Tag::Read) || scene.has(*id, Tag::Write) || scene.event(*id).is_barrier();
    let later = scene.main_events(thread).into_iter().filter(|id| *id > from && matters(id));
    let later = later.filter(|id| group.is_none() || scene.event(*id).group != group);
    let started = scene.execution.events.iter().copied().filter(|id| scene.at(*id) == from && *id != from);
    later.chain(started).map(edge).collect()
}

pub(crate) fn is_flag(scene: &Scene<'_>, location: fencepost_program::LocationId) -> bool {
    let asks = |id: &&EventId| {
        let event = scene.event(**id);
        event.location() == Some(location)
            && (event.rmw_partner.is_some() || event.tags.has(Tag::Mbarrier) || is_compared(scene, **id))
    };
    scene.execution.events.iter().any(|id| asks(&id))
}

/// Whether what an instruction loads is compared with something.
fn is_compared(scene: &Scene<'_>, read: EventId) -> bool {
    let Some(load) = scene.statement(read).filter(|it| it.opcode.node == "ld") else { return false };
    let Some(Operand::Register(loaded)) = load.operands.first().map(|operand| &operand.node) else { return false };
    let uses = |it: &Instruction| {
        let is = |operand: &Operand| matches!(operand, Operand::Register(name) if name == loaded);
        it.opcode.node == "setp" && it.operands.iter().any(|operand| is(&operand.node))
    };
    scene.between(read, None).into_iter().any(uses)
}

/// Whether a release, an acquire or a fence keeps the first before the second.
fn is_ordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> bool {
    let has = |id: EventId, half: Tag| scene.has(id, half) || scene.has(id, Tag::AcqRel);
    let fences = |it: &Instruction| matches!(it.opcode.node.as_str(), "fence" | "membar");
    has(first, Tag::Acquire)
        || has(second, Tag::Release)
        || scene.between(scene.at(first), Some(scene.at(second))).into_iter().any(fences)
}
