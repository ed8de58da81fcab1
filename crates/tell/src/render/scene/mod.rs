//! What is drawn: boxes with their text, columns with their place, edges with their relation. Both formats write this.

pub(crate) mod boxes;
pub(crate) mod composition;
pub(crate) mod other_edges;
pub(crate) mod palette;
pub(crate) mod proxy_marks;
pub(crate) mod text;

use fencepost_program::program::Place;
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::sorted::SortedSet;

use crate::render::Fate;
use crate::render::scene::palette::Relation;
use crate::render::scene::proxy_marks::{Gate, Mark};
use crate::render::scene::text::Line;

pub(crate) struct Scene {
    pub(crate) title: String,
    pub(crate) caption: Vec<String>,
    pub(crate) columns: Vec<Column>,
    /// Init writes first, then column by column in program order.
    pub(crate) nodes: Vec<Node>,
    /// Nodes without a column.
    pub(crate) inits: Vec<usize>,
    pub(crate) edges: Vec<Edge>,
    /// Barrier operations that met: drawn side by side where possible.
    pub(crate) meetings: Vec<Vec<usize>>,
}

pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) thread: ThreadId,
    pub(crate) place: Place,
    /// How the thread ended, if it did not exit.
    pub(crate) ending: Option<String>,
    /// Its nodes in program order.
    pub(crate) nodes: Vec<usize>,
    pub(crate) kind: ColumnKind,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ColumnKind {
    Thread,
    /// The asynchronous operations of the thread in the column before.
    Strands,
}

pub(crate) struct Node {
    /// At least one; the first is its name.
    pub(crate) events: Vec<EventId>,
    /// `a: st.release.gpu [flag], 1`; what it did to memory.
    pub(crate) lines: Vec<Line>,
    pub(crate) role: Role,
    /// Its line in the source.
    pub(crate) line: Option<u32>,
    /// The write half of a read-modify-write, or a completion: drawn directly under the box before it.
    pub(crate) joined: bool,
    /// Of a box of a strand: that of its issue.
    pub(crate) anchor: Option<usize>,
    pub(crate) highlighted: bool,
    /// What a crash made of it.
    pub(crate) fate: Option<Fate>,
}

impl Node {
    pub(crate) fn new(events: Vec<EventId>, lines: Vec<Line>, role: Role) -> Node {
        Node { events, lines, role, line: None, joined: false, anchor: None, highlighted: false, fate: None }
    }

    pub(crate) fn event(&self) -> EventId {
        *self.events.first().expect("invariant: a box shows an event")
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
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
pub(crate) struct Edge {
    pub(crate) relation: Relation,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// As the model names it.
    pub(crate) label: String,
    pub(crate) heads: Heads,
    pub(crate) highlighted: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Heads {
    Forward,
    Both,
    None,
}

impl Scene {
    /// Whether an end of an edge had not happened when the power failed.
    pub(crate) fn is_ahead(&self, edge: &Edge) -> bool {
        [edge.from, edge.to].iter().any(|node| self.nodes[*node].fate == Some(Fate::Ahead))
    }

    /// The relations drawn, in legend order.
    pub(crate) fn relations(&self) -> Vec<&Relation> {
        let drawn: SortedSet<&Relation> = self.edges.iter().map(|edge| &edge.relation).collect();
        drawn.into_iter().collect()
    }

    /// The proxies drawn, in legend order.
    pub(crate) fn marks(&self) -> SortedSet<Mark> {
        self.nodes.iter().flat_map(|node| &node.lines).filter_map(|line| line.mark).collect()
    }

    /// The shapes of fences between proxies that are drawn, in legend order.
    pub(crate) fn gates(&self) -> SortedSet<Gate> {
        let gates = self.nodes.iter().filter_map(|node| match node.role {
            Role::Gate(gate) => Some(gate.legend()),
            _ => None,
        });
        gates.collect()
    }
}

pub(crate) fn is_init(scene: &Scene, node: usize) -> bool {
    scene.nodes[node].role == Role::Init
}
