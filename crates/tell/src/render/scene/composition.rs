//! Composes the scene of an execution: the boxes, then the edges of each relation, then what is highlighted and what races.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::render::scene::boxes;
use crate::render::scene::other_edges;
use crate::render::scene::palette::Relation;
use crate::render::scene::text::{Line, Words};
use crate::render::scene::{ColumnKind, Edge, Heads, Role, Scene};
use crate::render::{Fate, Instructions, Options};

impl Scene {
    pub(crate) fn new(
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
        let words = Words::new(unfolding, execution, options);
        boxes::add(&mut scene, &words, text, execution);
        for node in &mut scene.nodes {
            node.fate = node.events.iter().find_map(|event| options.fates.get(event).copied());
            node.lines.extend(match node.fate {
                Some(Fate::Durable) => Some(Line::plain("durable".to_owned())),
                Some(Fate::Lost) => Some(Line::plain("lost".to_owned())),
                Some(Fate::Ahead) | None => None,
            });
        }
        let drawn = scene.nodes.iter().enumerate();
        let index: SortedMap<EventId, usize> =
            drawn.flat_map(|(node, drawn)| drawn.events.iter().map(move |event| (*event, node))).collect();
        scene.add_order(&index, &words, execution);
        scene.add_barriers(&index, execution);
        other_edges::strands(&mut scene, &words, &index);
        other_edges::launches(&mut scene, unfolding);
        scene.add_highlights(&index, options);
        other_edges::races(&mut scene, &words, &index, options);
        for relation in &options.relations {
            for pair in &relation.pairs {
                let drawn = Relation::of_name(&relation.name, &options.vocabulary);
                scene.add_labelled(&index, drawn, relation.name.clone(), *pair);
            }
        }
        scene.edges.shared_sort();
        // A highlighted edge sorts after its plain twin.
        scene.edges.reverse();
        scene.edges.dedup_by(|next, kept| (&next.relation, next.from, next.to) == (&kept.relation, kept.from, kept.to));
        scene.edges.reverse();
        scene
    }

    fn add(&mut self, index: &SortedMap<EventId, usize>, relation: Relation, pair: (EventId, EventId)) {
        let label = relation.name().to_owned();
        self.add_labelled(index, relation, label, pair);
    }

    fn add_labelled(
        &mut self,
        index: &SortedMap<EventId, usize>,
        relation: Relation,
        label: String,
        (from, to): (EventId, EventId),
    ) {
        let (Some(&from), Some(&to)) = (index.get(&from), index.get(&to)) else { return };
        // Between the elements of one box there is nothing to draw.
        if from != to || self.nodes[from].events.len() == 1 {
            self.edges.push(Edge { relation, from, to, label, heads: Heads::Forward, highlighted: false });
        }
    }

    /// Program order, reads-from, coherence, from-read, Fence-SC order.
    fn add_order(&mut self, index: &SortedMap<EventId, usize>, words: &Words<'_>, execution: &Execution) {
        let neighbours: Vec<(EventId, EventId, Relation)> = self
            .columns
            .iter()
            .filter(|column| column.kind == ColumnKind::Thread)
            .flat_map(|column| column.nodes.windows(2))
            .map(|pair| {
                let relation = if self.nodes[pair[1]].joined { Relation::Rmw } else { Relation::Po };
                (self.nodes[pair[0]].event(), self.nodes[pair[1]].event(), relation)
            })
            .collect();
        for (from, to, relation) in neighbours {
            self.add(index, relation, (from, to));
        }
        for (write, read) in &execution.rf {
            self.add_labelled(index, Relation::Rf, words.reads_from(*read), (*write, *read));
        }
        let co = reduced(&execution.co);
        let initial = |event: EventId| index.get(&event).is_none_or(|node| self.nodes[*node].role == Role::Init);
        // The operations on an mbarrier read from each other in coherence order: reads-from says it all.
        let told = |to: EventId| words.is_mbarrier(to) && words.event(to).is_some_and(|to| to.rmw_partner.is_some());
        let drawn: Vec<(EventId, EventId)> =
            co.iter().copied().filter(|(from, to)| !initial(*from) && !told(*to)).collect();
        for pair in drawn {
            self.add(index, Relation::Co, pair);
        }
        for pair in self.last_reads(index, words, execution, &co) {
            self.add(index, Relation::Fr, pair);
        }
        for pair in reduced(&execution.sync_fence) {
            self.add(index, Relation::SyncFence, pair);
        }
    }

    /// From-read, from each read to the write that overwrites what it returned. Of the boxes of one column that read what
    /// one write overwrites, only the last has an arrow: the others stand above it, and add nothing but lines.
    fn last_reads(
        &self,
        index: &SortedMap<EventId, usize>,
        words: &Words<'_>,
        execution: &Execution,
        co: &[(EventId, EventId)],
    ) -> Vec<(EventId, EventId)> {
        let column = |node: usize| self.columns.iter().position(|column| column.nodes.contains(&node));
        // By the column, the write that is read and the box of the one that follows: the last box, and the pair.
        type Place = (Option<usize>, EventId, usize);
        let mut last: SortedMap<Place, (usize, EventId, EventId)> = SortedMap::new();
        for (write, read) in &execution.rf {
            for (_, next) in co.iter().filter(|(from, _)| from == write) {
                let (Some(&node), Some(&target)) = (index.get(read), index.get(next)) else { continue };
                if !same_instruction(self, index, *read, *next) && !words.is_mbarrier(*next) {
                    let found = (node, *read, *next);
                    let place = (column(node), *write, target);
                    last.entry(place).and_modify(|known| *known = (*known).max(found)).or_insert(found);
                }
            }
        }
        last.into_values().map(|(_, read, write)| (read, write)).collect()
    }

    /// Barriers that wait for each other are joined by one line with two heads; where all of a group do, a chain from
    /// column to column says as much as all pairs.
    fn add_barriers(&mut self, index: &SortedMap<EventId, usize>, execution: &Execution) {
        let pairs: SortedSet<(usize, usize)> = execution
            .barriers
            .synchronises
            .iter()
            .filter_map(|(from, to)| Some((*index.get(from)?, *index.get(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        let mutual = |a: usize, b: usize| pairs.contains(&(a, b)) && pairs.contains(&(b, a));
        let mut chained: SortedSet<(usize, usize)> = SortedSet::new();
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

    fn add_highlights(&mut self, index: &SortedMap<EventId, usize>, options: &Options) {
        for wanted in &options.highlight {
            let (Some(&from), Some(&to)) = (index.get(&wanted.from), index.get(&wanted.to)) else { continue };
            self.nodes[from].highlighted = true;
            self.nodes[to].highlighted = true;
            let ends = |edge: &Edge| {
                (edge.from, edge.to) == (from, to) || edge.heads == Heads::Both && (edge.to, edge.from) == (from, to)
            };
            let named = Relation::of_name(&wanted.name, &options.vocabulary);
            let relation = self.highlighted_relation(named, (from, to));
            let known = self.edges.iter_mut().find(|edge| edge.relation == relation && ends(edge));
            match known {
                Some(edge) => edge.highlighted = true,
                None if from == to => {}
                None => {
                    let label = if relation == Relation::Then { "so" } else { &wanted.name }.to_owned();
                    self.edges.push(Edge { relation, from, to, label, heads: Heads::Forward, highlighted: true });
                }
            }
        }
    }

    /// Models call what comes before in a strand program order too; the picture has names of its own for it.
    fn highlighted_relation(&self, relation: Relation, (from, to): (usize, usize)) -> Relation {
        let is_beside = self.nodes[from].anchor.is_some() || self.nodes[to].anchor.is_some();
        if relation != Relation::Po || !is_beside {
            return relation;
        }
        let drawn = self.edges.iter().filter(|edge| (edge.from, edge.to) == (from, to)).map(|edge| &edge.relation);
        let known = drawn.into_iter().find(|it| matches!(it, Relation::Issue | Relation::Then | Relation::Done));
        known.cloned().unwrap_or(Relation::Then)
    }
}

fn barrier_edge(from: usize, to: usize, heads: Heads) -> Edge {
    Edge { relation: Relation::Syncbar, from, to, label: "syncbar".to_owned(), heads, highlighted: false }
}

/// `fr` from the read half to the write half of one instruction says nothing.
fn same_instruction(scene: &Scene, index: &SortedMap<EventId, usize>, read: EventId, write: EventId) -> bool {
    let (Some(&read), Some(&write)) = (index.get(&read), index.get(&write)) else { return false };
    write == read + 1 && scene.nodes[write].joined
}

/// A transitively closed relation without the pairs that follow from others.
fn reduced(pairs: &[(EventId, EventId)]) -> Vec<(EventId, EventId)> {
    let all: SortedSet<(EventId, EventId)> = pairs.iter().copied().collect();
    let between = |from: EventId, to: EventId| {
        let middles = all.range((from, EventId(0))..=(from, EventId(u32::MAX))).map(|(_, middle)| *middle);
        middles.into_iter().any(|middle| middle != to && middle != from && all.contains(&(middle, to)))
    };
    all.iter().copied().filter(|(from, to)| !between(*from, *to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduction_keeps_only_neighbours() {
        let pair = |a, b| (EventId(a), EventId(b));
        let closed = [pair(1, 2), pair(1, 3), pair(1, 4), pair(2, 3), pair(2, 4), pair(3, 4), pair(5, 4)];
        assert_eq!(reduced(&closed), [pair(1, 2), pair(2, 3), pair(3, 4), pair(5, 4)]);
    }
}
