//! Pictures of typical executions: well formed, complete, deterministic, and equal to those that somebody has looked at.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use fencepost_program::EventId;
use fencepost_program::program::{BarrierKind, Place};
use fencepost_program::unfolding::TraceEnd;
use fencepost_syntax::Span;
use fencepost_tell::render::{self, DerivedRelation, HighlightedEdge, Options};

use crate::render_support;
use render_support::*;

fn isa2() -> Built {
    Builder::new(&[("x", 0), ("y", 0), ("z", 0)])
        .thread("P0", gpu(0, 0))
        .write("st.weak x, 1", "x", 1)
        .write("st.release.cta y, 1", "y", 1)
        .thread("P1", gpu(0, 0))
        .read("ld.acquire.cta r0, y", "y", 1)
        .write("st.release.gpu z, 1", "z", 1)
        .thread("P2", gpu(0, 1))
        .read("ld.acquire.gpu r0, z", "z", 1)
        .read("ld.weak r1, x", "x", 0)
        .rf("b>c d>e x>f")
        .build()
}

fn aliases() -> Built {
    Builder::new(&[("x", 0), ("flag", 0)])
        .thread("T0", gpu(0, 0))
        .write("st.weak.u32 [x], 1", "x", 1)
        .fence("fence.proxy.alias")
        .read("ld.weak.u32 r1, [x_alias]", "x", 1)
        .write("st.weak.u32 [x_alias], 2", "x", 2)
        .write("st.weak.u32 [x], 3", "x", 3)
        .rf("a>c")
        .co("a>d d>e a>e")
        .build()
}

fn ten_threads() -> Built {
    let names: Vec<String> = (0..10).map(|index| format!("x{index}")).collect();
    let locations: Vec<(&str, i128)> = names.iter().map(|name| (name.as_str(), 0)).collect();
    let mut builder = Builder::new(&locations);
    let mut rf = String::new();
    for index in 0..10usize {
        let next = (index + 1) % 10;
        builder = builder
            .thread(&format!("P{index}"), gpu(0, index as u32 / 4))
            .write(&format!("st.relaxed.gpu x{index}, 1"), &names[index], 1)
            .read(&format!("ld.relaxed.gpu r0, x{next}"), &names[next], i128::from(next == 0));
        let read = char::from(b'a' + index as u8 * 2 + 1);
        rf.push_str(&if next == 0 { format!("a>{read} ") } else { format!("x{next}>{read} ") });
    }
    builder.rf(&rf).build()
}

fn stuck() -> Built {
    let end = TraceEnd::Spin { reads: vec![EventId(3)], span: Span::new(0, 0) };
    Builder::new(&[("lock", 0), ("x", 0)])
        .thread("T0", Place::Host)
        .rmw("xchg eax, [lock]", "lock", 0, 1)
        .thread("T1", Place::Host)
        .rmw("xchg eax, [lock]", "lock", 1, 1)
        .end(end)
        .rf("lock>a b>c")
        .co("b>d")
        .build()
}

fn cycle(name: &str, pairs: &[(&str, u32, u32)], built: &Built) -> (String, Options) {
    let highlight = pairs.iter().map(|(name, from, to)| HighlightedEdge {
        name: (*name).to_owned(),
        from: EventId(*from),
        to: EventId(*to),
    });
    let _ = built;
    let options = Options {
        title: format!("{name} under ptx-7.5"),
        caption: vec!["Forbidden by Causality (PTX ISA 8.10.6)".into(), "P1:r0=1 /\\ P1:r1=0".into()],
        highlight: highlight.collect(),
        relations: vec![DerivedRelation { name: "synchronizes-with".into(), pairs: vec![(EventId(3), EventId(4))] }],
        ..Options::default()
    };
    (name.to_owned(), options)
}

fn gallery() -> Vec<(String, Built, Options)> {
    let titled = |name: &str| Options { title: name.to_owned(), ..Options::default() };
    let built = message_passing();
    let (name, options) = cycle("MP", &[("causality", 2, 5), ("fr", 5, 2)], &built);
    vec![
        ("mp-plain".into(), message_passing(), titled("MP")),
        (name, built, options),
        ("sb".into(), store_buffering(), titled("SB+fence.sc")),
        ("iriw".into(), iriw(), titled("IRIW over two GPUs")),
        ("barrier".into(), barrier(), titled("A barrier with an arriver")),
        ("alias".into(), aliases(), titled("Alias fence")),
        ("isa2".into(), isa2(), titled("ISA2, mixed scopes")),
        ("ten".into(), ten_threads(), titled("Ring of ten threads")),
        ("stuck".into(), stuck(), titled("A lock never released")),
    ]
}

#[test]
fn every_picture_is_well_formed_and_deterministic() {
    for (name, built, options) in gallery() {
        let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &options);
        well_formed(&svg).unwrap_or_else(|error| panic!("{name}: {error}\n{svg}"));
        assert_eq!(svg, render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &options), "{name}");
        if let Some(folder) = std::env::var_os("GALLERY") {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.svg")), &svg).unwrap();
            let dot = render::dot(&built.unfolding, &|span| built.text(span), &built.execution, &options);
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.dot")), &dot).unwrap();
        }
    }
}

/// `data-relation from to` of every edge drawn.
fn edges(svg: &str) -> BTreeSet<(String, u32, u32)> {
    let attribute = |line: &str, name: &str| {
        let after = line.split_once(&format!("{name}=\"")).unwrap().1;
        after.split_once('"').unwrap().0.to_owned()
    };
    let lines = svg.lines().filter(|line| line.starts_with("<g class=\"edge\""));
    lines
        .map(|line| {
            let end = |name| attribute(line, name).parse().unwrap();
            (attribute(line, "data-relation"), end("data-from"), end("data-to"))
        })
        .collect()
}

#[test]
fn every_event_and_every_edge_is_drawn() {
    for (name, built, options) in gallery() {
        let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &options);
        let dot = render::dot(&built.unfolding, &|span| built.text(span), &built.execution, &options);
        for event in &built.execution.events {
            assert!(svg.contains(&format!("data-event=\"{}\"", event.0)), "{name}: event {}", event.0);
            assert!(dot.contains(&format!("e{} [label=", event.0)), "{name}: event {} in DOT", event.0);
        }
        let drawn = edges(&svg);
        for (write, read) in &built.execution.rf {
            assert!(drawn.contains(&("rf".into(), write.0, read.0)), "{name}: rf {} {}", write.0, read.0);
            assert!(dot.contains(&format!("e{} -> e{} [label=\"rf\"", write.0, read.0)), "{name}");
        }
        for (from, to) in &built.execution.sync_fence {
            assert!(drawn.contains(&("sync_fence".into(), from.0, to.0)), "{name}");
        }
        for edge in &options.highlight {
            assert!(drawn.contains(&(edge.name.clone(), edge.from.0, edge.to.0)), "{name}: {}", edge.name);
        }
    }
}

#[test]
fn from_read_and_coherence_are_drawn_without_what_follows() {
    let built = aliases();
    let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &Options::default());
    let drawn = edges(&svg);
    let of = |relation: &str| -> Vec<(u32, u32)> {
        drawn.iter().filter(|edge| edge.0 == relation).map(|edge| (edge.1, edge.2)).collect()
    };
    assert_eq!(of("co"), [(2, 5), (5, 6)]);
    assert_eq!(of("fr"), [(4, 5)]);
}

#[test]
fn hostile_names_stay_text() {
    let evil = "</text><script>alert('1')</script>\u{0}\"&]]>";
    let built = Builder::new(&[(evil, 0)])
        .thread(evil, gpu(0, 0))
        .write(evil, evil, 1)
        .thread("名前 \u{202e}", Place::Host)
        .read("ld \"\\N\" \\", evil, 1)
        .rf("a>b")
        .build();
    let options = Options {
        title: evil.to_owned(),
        caption: vec![evil.to_owned()],
        relations: vec![DerivedRelation { name: evil.to_owned(), pairs: vec![(EventId(1), EventId(2))] }],
        ..Options::default()
    };
    let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &options);
    well_formed(&svg).unwrap();
    assert!(!svg.contains("<script"));
    let dot = render::dot(&built.unfolding, &|span| built.text(span), &built.execution, &options);
    for line in dot.lines() {
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert_eq!(quotes % 2, 0, "{line}");
    }
}

#[test]
fn an_empty_execution_has_a_picture() {
    let built = Builder::new(&[]).build();
    let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &Options::default());
    well_formed(&svg).unwrap();
    let built = Builder::new(&[("x", 0)]).thread("P0", gpu(0, 0)).build();
    well_formed(&render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &Options::default()))
        .unwrap();
}

/// Crossed barriers cannot all be side by side; the picture gives up on alignment, not on drawing.
#[test]
fn crossed_barriers_still_have_a_picture() {
    let built = Builder::new(&[])
        .thread("P0", gpu(0, 0))
        .barrier("bar.sync 0", BarrierKind::Sync)
        .barrier("bar.sync 1", BarrierKind::Sync)
        .thread("P1", gpu(0, 0))
        .barrier("bar.sync 1", BarrierKind::Sync)
        .barrier("bar.sync 0", BarrierKind::Sync)
        .meet("a d")
        .meet("b c")
        .build();
    let svg = render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &Options::default());
    well_formed(&svg).unwrap();
    assert_eq!(edges(&svg).iter().filter(|edge| edge.0 == "syncbar").count(), 2);
}

#[test]
fn the_pictures_of_message_passing_are_those_somebody_looked_at() {
    let (_, built, options) = gallery().remove(1);
    snapshot("mp.svg", &render::svg(&built.unfolding, &|span| built.text(span), &built.execution, &options));
    snapshot("mp.dot", &render::dot(&built.unfolding, &|span| built.text(span), &built.execution, &options));
}
