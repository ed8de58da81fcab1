//! What is drawn: boxes with their text, columns with their place, edges with their relation. Both formats write this.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{BarrierKind, Place};
use fencepost_program::unfolding::{Event, EventKind, TraceEnd, Unfolding};

use super::palette::Relation;
use super::{Instructions, Options};

/// Longer instructions are cut: a column stays a column.
const LONGEST_TEXT: usize = 44;

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
    pub(super) place: Place,
    /// How the thread ended, if it did not exit.
    pub(super) ending: Option<String>,
    /// Its nodes in program order.
    pub(super) nodes: Vec<usize>,
}

pub(super) struct Node {
    pub(super) event: EventId,
    /// `a: st.release.gpu [flag], 1`; what it did to memory.
    pub(super) lines: Vec<String>,
    pub(super) role: Role,
    /// The write half of a read-modify-write: drawn directly under its read half.
    pub(super) joined: bool,
    pub(super) highlighted: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Init,
    Read,
    Write,
    Fence,
    Barrier,
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
}

impl Scene {
    pub(super) fn new(
        unfolding: &Unfolding,
        text: &Instructions<'_>,
        execution: &Execution,
        options: &Options,
    ) -> Scene {
        let mut scene = Scene {
            title: options.title.clone(),
            caption: options.caption.clone(),
            columns: Vec::new(),
            nodes: Vec::new(),
            inits: Vec::new(),
            edges: Vec::new(),
            meetings: Vec::new(),
        };
        scene.add_nodes(unfolding, text, execution);
        let index: BTreeMap<EventId, usize> =
            scene.nodes.iter().enumerate().map(|(node, drawn)| (drawn.event, node)).collect();
        scene.add_order(&index, execution);
        scene.add_barriers(&index, execution);
        scene.add_highlights(&index, options);
        for relation in &options.relations {
            for pair in &relation.pairs {
                scene.add(&index, &relation.name, *pair);
            }
        }
        scene.edges.sort();
        // A highlighted edge sorts after its plain twin.
        scene.edges.reverse();
        scene.edges.dedup_by(|next, kept| (&next.relation, next.from, next.to) == (&kept.relation, kept.from, kept.to));
        scene.edges.reverse();
        scene
    }

    fn add_nodes(&mut self, unfolding: &Unfolding, text: &Instructions<'_>, execution: &Execution) {
        let values = execution.events.iter().zip(&execution.values);
        let values: BTreeMap<EventId, String> =
            values.filter_map(|(event, value)| Some((*event, value.as_ref()?.to_string()))).collect();
        let value = |event: EventId| values.get(&event).map_or("?", String::as_str);
        for location in &unfolding.locations {
            self.inits.push(self.nodes.len());
            let lines = vec![format!("init {} = {}", location.name, value(location.init))];
            self.nodes.push(Node { event: location.init, lines, role: Role::Init, joined: false, highlighted: false });
        }
        let mut letter = 0;
        for (thread, trace) in unfolding.threads.iter().zip(&execution.traces) {
            let Some(trace) = unfolding.traces.get(trace.index()) else { continue };
            let mut nodes = Vec::new();
            for event in &trace.events {
                let Some(info) = unfolding.events.get(event.index()) else { continue };
                let joined = matches!(info.kind, EventKind::Write { .. }) && info.rmw_partner.is_some();
                let mut lines = Vec::new();
                if !joined {
                    let mut line = format!("{}: {}", letters(letter), shortened(&text(info.span)));
                    if info.iteration > 0 {
                        line.push_str(&format!(" (iteration {})", info.iteration + 1));
                    }
                    lines.push(line);
                    letter += 1;
                }
                lines.extend(effect(unfolding, info, value(*event)));
                nodes.push(self.nodes.len());
                self.nodes.push(Node { event: *event, lines, role: role(info), joined, highlighted: false });
            }
            let ending = ending(&trace.end).map(str::to_owned);
            self.columns.push(Column { name: thread.name.clone(), place: thread.place, ending, nodes });
        }
    }

    fn add(&mut self, index: &BTreeMap<EventId, usize>, name: &str, (from, to): (EventId, EventId)) {
        if let (Some(from), Some(to)) = (index.get(&from), index.get(&to)) {
            let relation = Relation::of_name(name);
            let edge = Edge {
                relation,
                from: *from,
                to: *to,
                label: name.to_owned(),
                heads: Heads::Forward,
                highlighted: false,
            };
            self.edges.push(edge);
        }
    }

    /// Program order, reads-from, coherence, from-read, Fence-SC order.
    fn add_order(&mut self, index: &BTreeMap<EventId, usize>, execution: &Execution) {
        let neighbours: Vec<(EventId, EventId, &str)> = self
            .columns
            .iter()
            .flat_map(|column| column.nodes.windows(2))
            .map(|pair| {
                let name = if self.nodes[pair[1]].joined { "rmw" } else { "po" };
                (self.nodes[pair[0]].event, self.nodes[pair[1]].event, name)
            })
            .collect();
        for (from, to, name) in neighbours {
            self.add(index, name, (from, to));
        }
        for pair in &execution.rf {
            self.add(index, "rf", *pair);
        }
        let co = reduced(&execution.co);
        let initial = |event: EventId| index.get(&event).is_none_or(|node| self.nodes[*node].role == Role::Init);
        let drawn: Vec<(EventId, EventId)> = co.iter().copied().filter(|(from, _)| !initial(*from)).collect();
        for pair in drawn {
            self.add(index, "co", pair);
        }
        for (write, read) in &execution.rf {
            for (_, next) in co.iter().filter(|(from, _)| from == write) {
                if !same_instruction(self, index, *read, *next) {
                    self.add(index, "fr", (*read, *next));
                }
            }
        }
        for pair in reduced(&execution.sync_fence) {
            self.add(index, "sync_fence", pair);
        }
    }

    /// Barriers that wait for each other are joined by one line with two heads; where all of a group do, a chain from
    /// column to column says as much as all pairs.
    fn add_barriers(&mut self, index: &BTreeMap<EventId, usize>, execution: &Execution) {
        let pairs: BTreeSet<(usize, usize)> = execution
            .barriers
            .synchronises
            .iter()
            .filter_map(|(from, to)| Some((*index.get(from)?, *index.get(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        let mutual = |a: usize, b: usize| pairs.contains(&(a, b)) && pairs.contains(&(b, a));
        let mut chained: BTreeSet<(usize, usize)> = BTreeSet::new();
        for group in &execution.barriers.groups {
            let members: Vec<usize> = group.iter().filter_map(|event| index.get(event).copied()).collect();
            let all = members.iter().all(|a| members.iter().all(|b| a == b || mutual(*a, *b)));
            if all {
                let every = members.iter().flat_map(|a| members.iter().map(move |b| (*a, *b)));
                chained.extend(every);
                let links = members.windows(2).map(|pair| (pair[0], pair[1], Heads::Both));
                self.edges.extend(links.map(|link| barrier_edge(link.0, link.1, link.2)));
            }
            self.meetings.push(members);
        }
        for &(from, to) in pairs.iter().filter(|pair| !chained.contains(pair)) {
            if !mutual(from, to) {
                self.edges.push(barrier_edge(from, to, Heads::Forward));
            } else if from < to {
                self.edges.push(barrier_edge(from, to, Heads::Both));
            }
        }
    }

    fn add_highlights(&mut self, index: &BTreeMap<EventId, usize>, options: &Options) {
        for wanted in &options.highlight {
            let (Some(&from), Some(&to)) = (index.get(&wanted.from), index.get(&wanted.to)) else { continue };
            self.nodes[from].highlighted = true;
            self.nodes[to].highlighted = true;
            let relation = Relation::of_name(&wanted.name);
            let ends = |edge: &Edge| {
                (edge.from, edge.to) == (from, to) || edge.heads == Heads::Both && (edge.to, edge.from) == (from, to)
            };
            let known = self.edges.iter_mut().find(|edge| edge.relation == relation && ends(edge));
            match known {
                Some(edge) => edge.highlighted = true,
                None if from == to => {}
                None => {
                    let label = wanted.name.clone();
                    self.edges.push(Edge { relation, from, to, label, heads: Heads::Forward, highlighted: true });
                }
            }
        }
    }

    /// The relations drawn, in legend order.
    pub(super) fn relations(&self) -> Vec<&Relation> {
        let drawn: BTreeSet<&Relation> = self.edges.iter().map(|edge| &edge.relation).collect();
        drawn.into_iter().collect()
    }
}

fn barrier_edge(from: usize, to: usize, heads: Heads) -> Edge {
    Edge { relation: Relation::Syncbar, from, to, label: "syncbar".to_owned(), heads, highlighted: false }
}

/// `fr` from the read half to the write half of one instruction says nothing.
fn same_instruction(scene: &Scene, index: &BTreeMap<EventId, usize>, read: EventId, write: EventId) -> bool {
    let (Some(&read), Some(&write)) = (index.get(&read), index.get(&write)) else { return false };
    write == read + 1 && scene.nodes[write].joined
}

/// A transitively closed relation without the pairs that follow from others.
fn reduced(pairs: &[(EventId, EventId)]) -> Vec<(EventId, EventId)> {
    let all: BTreeSet<(EventId, EventId)> = pairs.iter().copied().collect();
    let between = |from: EventId, to: EventId| {
        let middles = all.range((from, EventId(0))..=(from, EventId(u32::MAX))).map(|(_, middle)| *middle);
        middles.into_iter().any(|middle| middle != to && middle != from && all.contains(&(middle, to)))
    };
    all.iter().copied().filter(|(from, to)| !between(*from, *to)).collect()
}

/// 0 → a, 25 → z, 26 → aa.
fn letters(mut number: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + (number % 26) as u8);
        number /= 26;
        if number == 0 {
            break;
        }
        number -= 1;
    }
    name.iter().rev().map(|byte| char::from(*byte)).collect()
}

fn shortened(instruction: &str) -> String {
    let words: Vec<&str> = instruction.split_whitespace().collect();
    let text = words.join(" ");
    let text = text.trim_end_matches(';').trim_end();
    if text.chars().count() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(LONGEST_TEXT - 1).collect();
    cut.push('…');
    cut
}

fn effect(unfolding: &Unfolding, event: &Event, value: &str) -> Option<String> {
    let name = |location: fencepost_program::LocationId| {
        unfolding.locations.get(location.index()).map_or("?", |location| location.name.as_str())
    };
    match &event.kind {
        EventKind::Read { location, .. } => Some(format!("R {} = {value}", name(*location))),
        EventKind::Write { location, .. } => Some(format!("W {} = {value}", name(*location))),
        EventKind::Barrier(barrier) if barrier.kind == BarrierKind::Red && value != "?" => Some(format!("→ {value}")),
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue => None,
    }
}

fn role(event: &Event) -> Role {
    match event.kind {
        EventKind::Read { .. } => Role::Read,
        EventKind::Write { .. } => Role::Write,
        EventKind::Fence | EventKind::Issue => Role::Fence,
        EventKind::Barrier(_) => Role::Barrier,
    }
}

fn ending(end: &TraceEnd) -> Option<&'static str> {
    match end {
        TraceEnd::Exit => None,
        TraceEnd::Spin { .. } => Some("spins for ever"),
        TraceEnd::Blocked { .. } => Some("waits for ever"),
        TraceEnd::Bound { .. } => Some("cut at the bound"),
        TraceEnd::Wild { .. } => Some("accesses no location"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_continue_after_z() {
        let names: Vec<String> = [0, 25, 26, 51, 52, 701, 702].into_iter().map(letters).collect();
        assert_eq!(names, ["a", "z", "aa", "az", "ba", "zz", "aaa"]);
    }

    #[test]
    fn reduction_keeps_only_neighbours() {
        let pair = |a, b| (EventId(a), EventId(b));
        let closed = [pair(1, 2), pair(1, 3), pair(1, 4), pair(2, 3), pair(2, 4), pair(3, 4), pair(5, 4)];
        assert_eq!(reduced(&closed), [pair(1, 2), pair(2, 3), pair(3, 4), pair(5, 4)]);
    }
}
