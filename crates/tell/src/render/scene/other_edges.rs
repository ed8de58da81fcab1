//! The edges that program order and memory do not give: how strands hang together with their thread, what launches order,
//! and the pairs that race.

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::{EventId, KernelId};
use fencepost_report::finding::FindingKind;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::render::scene::palette::{Meaning, Relation};
use crate::render::scene::proxy_marks;
use crate::render::scene::text::Words;
use crate::render::scene::{Column, ColumnKind, Edge, Heads, Scene};
use crate::render::{Options, RacingPair};

type Index = SortedMap<EventId, usize>;

/// From the issue to the operation, through it to its completion, and from there to who waits for it.
pub(crate) fn strands(scene: &mut Scene, words: &Words<'_>, index: &Index) {
    let mut found: SortedSet<(Relation, usize, usize, String)> = SortedSet::new();
    for (at, node) in scene.nodes.iter().enumerate() {
        if let (Some(issue), false) = (node.anchor, node.joined) {
            found.insert((Relation::Issue, issue, at, "issue".to_owned()));
        }
        for event in node.events.iter().filter_map(|id| words.event(*id)) {
            let after = event.strand.iter().flat_map(|strand| &strand.after);
            for before in after.filter_map(|id| index.get(id).copied()).filter(|before| *before != at) {
                let same = scene.nodes.get(before).is_some_and(|other| other.anchor == node.anchor);
                let label = if same { String::new() } else { "so".to_owned() };
                found.insert((Relation::Then, before, at, label));
            }
            for (before, label) in completed(scene, words, index, &event.completes) {
                found.insert((Relation::Done, before, at, label));
            }
        }
    }
    let edges = found.into_iter().filter(|(_, from, to, _)| from != to);
    scene.edges.extend(edges.map(|(relation, from, to, label)| Edge {
        relation,
        from,
        to,
        label,
        heads: Heads::Forward,
        highlighted: false,
    }));
}

/// The strand boxes an event waits for; `.read` forms wait for what they read only.
fn completed(scene: &Scene, words: &Words<'_>, index: &Index, events: &[EventId]) -> Vec<(usize, String)> {
    let boxes: SortedSet<usize> = events.iter().filter_map(|id| index.get(id).copied()).collect();
    let is_left = |id: &EventId| words.event(*id).is_some_and(|event| event.is_write()) && !events.contains(id);
    let label = |at: usize| match scene.nodes.get(at) {
        Some(node) if node.events.iter().any(is_left) => "reads done",
        _ => "done",
    };
    boxes.into_iter().map(|at| (at, label(at).to_owned())).collect()
}

/// The end of a kernel and the start of one behind it; or where a dependent one waits for it.
pub(crate) fn launches(scene: &mut Scene, unfolding: &Unfolding) {
    let order: SortedSet<(KernelId, KernelId)> = unfolding.kernel_order.iter().copied().collect();
    let follows = |pair: &(KernelId, KernelId)| {
        let middle = order.iter().filter(|(from, _)| *from == pair.0).map(|(_, to)| *to);
        middle.into_iter().any(|middle| middle != pair.1 && order.contains(&(middle, pair.1)))
    };
    let mut edges = Vec::new();
    for (from, to) in order.iter().filter(|pair| !follows(pair)) {
        let ends = kernel_nodes(scene, unfolding, *from).into_iter().filter_map(|nodes| nodes.last().copied());
        for last in ends {
            let starts = kernel_nodes(scene, unfolding, *to).into_iter().filter_map(|nodes| nodes.first().copied());
            edges.extend(starts.map(|first| (last, first)));
        }
    }
    for (from, to) in &unfolding.dependent_launches {
        let ends = kernel_nodes(scene, unfolding, *from).into_iter().filter_map(|nodes| nodes.last().copied());
        for last in ends {
            let waits = kernel_nodes(scene, unfolding, *to).into_iter().flatten();
            let is_wait = |at: &usize| {
                let event = scene.nodes.get(*at).and_then(|node| node.events.first());
                let event = event.and_then(|id| unfolding.events.get(id.index()));
                event.is_some_and(|event| event.has(Tag::GridWait))
            };
            edges.extend(waits.filter(is_wait).map(|wait| (last, wait)));
        }
    }
    scene.edges.extend(edges.into_iter().map(|(from, to)| Edge {
        relation: Relation::Launch,
        from,
        to,
        label: "launch".to_owned(),
        heads: Heads::Forward,
        highlighted: false,
    }));
}

/// Per thread of the kernel its boxes in program order.
fn kernel_nodes(scene: &Scene, unfolding: &Unfolding, kernel: KernelId) -> Vec<Vec<usize>> {
    let threads = scene.columns.iter().filter(|column| column.kind == ColumnKind::Thread);
    let is_of = |column: &&Column| {
        unfolding.threads.get(column.thread.index()).is_some_and(|thread| thread.kernel == Some(kernel))
    };
    threads.filter(is_of).map(|column| column.nodes.clone()).collect()
}

/// A thick line without heads: neither access comes first.
pub(crate) fn races(scene: &mut Scene, words: &Words<'_>, index: &Index, options: &Options) {
    for RacingPair { flag, kind, first, second } in &options.races {
        let (Some(&from), Some(&to)) = (index.get(first), index.get(second)) else { continue };
        for node in [from, to] {
            if let Some(node) = scene.nodes.get_mut(node) {
                node.highlighted = true;
            }
        }
        let is_known = !matches!(kind, FindingKind::Race | FindingKind::Noted);
        let name = if is_known { kind.word().to_owned() } else { flag.clone() };
        let relation = Relation::Named(name, Meaning::Finding(*kind));
        let known = |edge: &Edge| edge.relation == relation && (edge.from, edge.to) == (from, to);
        if from == to || scene.edges.iter().any(known) {
            continue;
        }
        let label = race_label(words, (flag, *kind), *first, *second);
        scene.edges.push(Edge { relation, from, to, label, heads: Heads::None, highlighted: true });
    }
}

fn race_label(words: &Words<'_>, (flag, kind): (&str, FindingKind), first: EventId, second: EventId) -> String {
    let (Some(a), Some(b)) = (words.event(first), words.event(second)) else { return flag.to_owned() };
    if kind == FindingKind::ExitBeforeAccess {
        let access = if a.has(Tag::Exit) { second } else { first };
        return words.place(access).map_or(flag.to_owned(), |place| format!("{place} may be gone"));
    }
    let what = if kind == FindingKind::DataRace { "race" } else { flag };
    match words.place(first) {
        Some(place) if a.location().is_some() && b.location().is_some() => {
            match (proxy_marks::proxy(a), proxy_marks::proxy(b)) {
                ("generic", "generic") => format!("{what} on {place}"),
                ("tensor memory", "tensor memory") => format!("{what} on {place}\nboth in tensor memory"),
                (one, other) if one == other => format!("{what} on {place}\nboth {one}"),
                (one, other) => format!("{what} on {place}\n{one} / {other}"),
            }
        }
        _ => what.to_owned(),
    }
}
