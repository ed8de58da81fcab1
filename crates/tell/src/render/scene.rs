//! What is drawn: boxes with their text, columns with their place, edges with their relation. Both formats write this.

use std::collections::BTreeSet;

use fencepost_program::program::Place;
use fencepost_program::{EventId, ThreadId};

use super::marks::{Gate, Mark};
use super::palette::Relation;
use super::text::Line;

pub(super) struct Scene {
    pub(super) title: String,
    pub(super) caption: Vec<String>,
    pub(super) columns: Vec<Column>,
    /// Init writes first, then column by column in program order.
    pub(super) nodes: Vec<Node>,
    /// Nodes without a column.
    pub(super) inits: Vec<usize>,
    pub(super) edges: Vec<Edge>,
    /// Barrier operations that met: drawn side by side where possible.
    pub(super) meetings: Vec<Vec<usize>>,
}

pub(super) struct Column {
    pub(super) name: String,
    pub(super) thread: ThreadId,
    pub(super) place: Place,
    /// How the thread ended, if it did not exit.
    pub(super) ending: Option<String>,
    /// Its nodes in program order.
    pub(super) nodes: Vec<usize>,
    pub(super) kind: ColumnKind,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum ColumnKind {
    Thread,
    /// The asynchronous operations of the thread in the column before.
    Strands,
}

pub(super) struct Node {
    /// At least one; the first is its name.
    pub(super) events: Vec<EventId>,
    /// `a: st.release.gpu [flag], 1`; what it did to memory.
    pub(super) lines: Vec<Line>,
    pub(super) role: Role,
    /// Its line in the source.
    pub(super) line: Option<u32>,
    /// The write half of a read-modify-write, or a completion: drawn directly under the box before it.
    pub(super) joined: bool,
    /// Of a box of a strand: that of its issue.
    pub(super) anchor: Option<usize>,
    pub(super) highlighted: bool,
}

impl Node {
    pub(super) fn new(events: Vec<EventId>, lines: Vec<Line>, role: Role) -> Node {
        Node { events, lines, role, line: None, joined: false, anchor: None, highlighted: false }
    }

    pub(super) fn event(&self) -> EventId {
        *self.events.first().expect("invariant: a box shows an event")
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Init,
    Read,
    Write,
    Fence,
    Gate(Gate),
    Barrier,
    /// Starts an asynchronous operation.
    Issue,
    /// Waits for asynchronous operations, or for a grid.
    Wait,
    /// The accesses of an asynchronous operation.
    Strand,
    /// Tells an mbarrier of its end.
    Completion,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Edge {
    pub(super) relation: Relation,
    pub(super) from: usize,
    pub(super) to: usize,
    /// As the model names it.
    pub(super) label: String,
    pub(super) heads: Heads,
    pub(super) highlighted: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Heads {
    Forward,
    Both,
    None,
}

impl Scene {
    /// The relations drawn, in legend order.
    pub(super) fn relations(&self) -> Vec<&Relation> {
        let drawn: BTreeSet<&Relation> = self.edges.iter().map(|edge| &edge.relation).collect();
        drawn.into_iter().collect()
    }

    /// The proxies drawn, in legend order.
    pub(super) fn marks(&self) -> BTreeSet<Mark> {
        self.nodes.iter().flat_map(|node| &node.lines).filter_map(|line| line.mark).collect()
    }

    /// The shapes of fences between proxies that are drawn, in legend order.
    pub(super) fn gates(&self) -> BTreeSet<Gate> {
        let gates = self.nodes.iter().filter_map(|node| match node.role {
            Role::Gate(gate) => Some(gate.legend()),
            _ => None,
        });
        gates.collect()
    }
}

pub(super) fn is_init(scene: &Scene, node: usize) -> bool {
    scene.nodes[node].role == Role::Init
}
