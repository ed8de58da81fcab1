//! Writes a scene as DOT, for people who want Graphviz's layout or another tool's input. Clusters are GPUs, CTAs and
//! threads; edges other than program order do not pull ranks, so that columns stay columns.

use std::fmt::Write as _;

use fencepost_program::program::Place;
use fencepost_syntax::sorted::SharedSort as _;

use crate::render::Fate;
use crate::render::scene::palette::Relation;
use crate::render::scene::proxy_marks::Gate;
use crate::render::scene::{Column, Heads, Role, Scene};
use crate::render::write::escape;

pub(crate) fn write(scene: &Scene) -> String {
    let mut out = String::from("digraph execution {\n");
    let caption = scene.caption.iter().map(String::as_str);
    let label = escape::dot([scene.title.as_str()].into_iter().chain(caption).filter(|line| !line.is_empty()));
    let _ = writeln!(out, "  graph [label={label}, labelloc=t, fontname=\"Helvetica\", newrank=true, nodesep=0.6];");
    out.push_str(
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"monospace\", fontsize=11];\n",
    );
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    if !scene.inits.is_empty() {
        out.push_str("  { rank=min;\n");
        scene.inits.iter().for_each(|node| write_node(&mut out, scene, *node, 4));
        out.push_str("  }\n");
    }
    write_columns(&mut out, scene);
    for edge in &scene.edges {
        let style = edge.relation.style();
        let (from, to) = (scene.nodes[edge.from].event().0, scene.nodes[edge.to].event().0);
        let label = match edge.relation {
            Relation::Po if !edge.highlighted => "\"\"".to_owned(),
            _ => escape::dot(edge.label.split('\n')),
        };
        let mut attributes = format!("label={label}, color=\"{0}\", fontcolor=\"{0}\"", style.colour);
        match edge.heads {
            Heads::Forward => {}
            Heads::Both => attributes.push_str(", dir=both"),
            Heads::None => attributes.push_str(", dir=none"),
        }
        if !style.dash.is_empty() {
            attributes.push_str(", style=dashed");
        }
        if edge.highlighted {
            attributes.push_str(", penwidth=3");
        }
        if !matches!(edge.relation, Relation::Po | Relation::Rmw | Relation::Then) {
            attributes.push_str(", constraint=false");
        }
        let _ = writeln!(out, "  e{from} -> e{to} [{attributes}];");
    }
    out.push_str("}\n");
    out
}

fn write_node(out: &mut String, scene: &Scene, node: usize, indent: usize) {
    let drawn = &scene.nodes[node];
    let mut lines: Vec<String> = drawn
        .lines
        .iter()
        .map(|line| match line.mark {
            Some(mark) => format!("{} ({})", line.text, mark.name()),
            None => line.text.clone(),
        })
        .collect();
    if let (Some(first), Some(line)) = (lines.first_mut(), drawn.line) {
        first.push_str(&format!("  (line {line})"));
    }
    let label = escape::dot(lines.iter().map(String::as_str));
    let (fill, shape) = match drawn.role {
        Role::Init => ("#f1f3f4", ""),
        Role::Read => ("#ffffff", ""),
        Role::Write => ("#fffaf0", ""),
        Role::Fence => ("#f3e8fd", ""),
        Role::Gate(Gate::Whole) => ("#fdf2d0", ", shape=hexagon, style=filled"),
        Role::Gate(Gate::Release) => ("#fdf2d0", ", shape=house, style=filled"),
        Role::Gate(Gate::Acquire) => ("#fdf2d0", ", shape=invhouse, style=filled"),
        Role::Gate(Gate::Before | Gate::After) => ("#f5f0ff", ", shape=underline"),
        Role::Barrier => ("#e0f2f1", ""),
        Role::Issue | Role::Wait => ("#e8f0fe", ""),
        Role::Strand => ("#f5f9ff", ", style=\"rounded,filled,dashed\""),
        Role::Completion => ("#e6f4ea", ", shape=ellipse"),
    };
    let (fill, fate) = match drawn.fate {
        Some(Fate::Durable) => ("#e6f4ea", ", color=\"#188038\", penwidth=2"),
        Some(Fate::Lost) => ("#fce8e6", ", color=\"#c5221f\", penwidth=2, style=\"rounded,filled,dashed\""),
        Some(Fate::Ahead) => ("#ffffff", ", color=\"#dadce0\", fontcolor=\"#9aa0a6\""),
        None => (fill, ""),
    };
    let pen = if drawn.highlighted { ", penwidth=2.2" } else { fate };
    let _ = writeln!(out, "{:indent$}e{} [label={label}, fillcolor=\"{fill}\"{shape}{pen}];", "", drawn.event().0);
}

/// Nested clusters. Unlike columns, clusters of one CTA are gathered wherever the threads stand in the source.
fn write_columns(out: &mut String, scene: &Scene) {
    let mut places: Vec<Place> = scene.columns.iter().map(|column| column.place).collect();
    places.shared_sort();
    places.dedup();
    let mut open_gpu: Option<u32> = None;
    for place in places {
        let members = scene.columns.iter().enumerate().filter(|(_, column)| column.place == place);
        match place {
            Place::Host => members.for_each(|(index, column)| write_column(out, scene, index, column)),
            Place::Gpu { gpu, cluster, cta } => {
                if open_gpu != Some(gpu) {
                    if open_gpu.is_some() {
                        out.push_str("  }\n");
                    }
                    let _ = writeln!(out, "  subgraph cluster_gpu{gpu} {{ label=\"GPU {gpu}\"; color=\"#bdc1c6\";");
                    open_gpu = Some(gpu);
                }
                let of = if is_shared(scene, place) { format!(" of cluster {cluster}") } else { String::new() };
                let _ = writeln!(
                    out,
                    "  subgraph cluster_cta{gpu}_{cluster}_{cta} {{ label=\"CTA {cta}{of}\"; color=\"#a8c1ea\";"
                );
                members.for_each(|(index, column)| write_column(out, scene, index, column));
                out.push_str("  }\n");
            }
        }
    }
    if open_gpu.is_some() {
        out.push_str("  }\n");
    }
}

/// Whether another CTA is in the same cluster.
fn is_shared(scene: &Scene, place: Place) -> bool {
    let Place::Gpu { gpu, cluster, cta } = place else { return false };
    let shares = |other: Place| match other {
        Place::Gpu { gpu: own, cluster: one, cta: third } => (own, one) == (gpu, cluster) && third != cta,
        Place::Host => false,
    };
    scene.columns.iter().any(|column| shares(column.place))
}

fn write_column(out: &mut String, scene: &Scene, index: usize, column: &Column) {
    let name = match &column.ending {
        Some(ending) => escape::dot([column.name.as_str(), ending.as_str()]),
        None => escape::dot([column.name.as_str()]),
    };
    let _ = writeln!(out, "    subgraph cluster_thread{index} {{ label={name}; labelloc=t; color=\"#ffffff\";");
    column.nodes.iter().for_each(|node| write_node(out, scene, *node, 6));
    out.push_str("    }\n");
}
