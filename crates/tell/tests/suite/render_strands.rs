//! Pictures of asynchronous operations: strands beside their thread, gates, phases, races between proxies; and the
//! pictures of the documentation, which are those that are drawn now.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::check;
use fencepost_check::{Models, Options, Test, load};
use fencepost_syntax::Source;
use fencepost_tell::render::{self, Format};

use crate::render_support;
use render_support::well_formed;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn drawn(file: &str, model: &str, format: Format) -> String {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let (mut tests, diagnostics) = load(&Source::new(file, text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    let test: Test = tests.remove(0);
    let model = Models::shipped(model).unwrap();
    let checked = check(&test, &model, &Options::default());
    let picture = render::picture(&test, &model, &checked, format).unwrap();
    assert_eq!(Some(&picture), render::picture(&test, &model, &checked, format).as_ref(), "deterministic");
    picture
}

/// A stage is read, handed back and refilled.
const RACE: &str = "corpus/wild/w03-b2-stage-refill.litmus";
const GATE: &str = "corpus/wild/w03-b2-stage-refill-fixed.litmus";
const HALF_GATES: &str = "corpus/wild/w09-e1-map-of-earlier-kernel-fixed.litmus";
const BRACKETS: &str = "corpus/wild/w16-i1-tensor-store-not-waited-fixed.litmus";

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

struct Shape {
    class: String,
    events: Vec<u32>,
    /// Left, top, right, bottom of its background, if that is a rectangle.
    area: Option<[f64; 4]>,
}

/// The boxes of a picture.
fn shapes(svg: &str) -> Vec<Shape> {
    let lines: Vec<&str> = svg.lines().collect();
    let mut shapes = Vec::new();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("<g class=\"event")) {
        let events = attribute(pair[0], "data-events").or(attribute(pair[0], "data-event")).unwrap();
        let number = |name| attribute(pair[1], name).and_then(|value| value.parse::<f64>().ok());
        let area = number("x").zip(number("y")).zip(number("width").zip(number("height")));
        shapes.push(Shape {
            class: attribute(pair[0], "class").unwrap().to_owned(),
            events: events.split(' ').map(|event| event.parse().unwrap()).collect(),
            area: area.map(|((x, y), (width, height))| [x, y, x + width, y + height]),
        });
    }
    shapes
}

fn count(svg: &str, class: &str) -> usize {
    shapes(svg).iter().filter(|shape| shape.class == class).count()
}

fn edges(svg: &str, relation: &str) -> Vec<(u32, u32)> {
    let start = format!("<g class=\"edge\" data-relation=\"{relation}\"");
    let end = |line: &str, name| attribute(line, name).unwrap().parse().unwrap();
    svg.lines()
        .filter(|line| line.starts_with(&start))
        .map(|line| (end(line, "data-from"), end(line, "data-to")))
        .collect()
}

#[test]
fn a_copy_is_one_box_beside_the_instruction_that_issues_it() {
    let svg = drawn(RACE, "ptx", Format::Svg);
    well_formed(&svg).unwrap();
    assert_eq!((count(&svg, "event strand"), count(&svg, "event completion")), (2, 2));
    let shapes = shapes(&svg);
    let issues = edges(&svg, "issue");
    assert_eq!(issues.len(), 2);
    for (issue, strand) in issues {
        let of = |event: u32| shapes.iter().find(|shape| shape.events.contains(&event)).unwrap();
        let (left, right) = (of(issue).area.unwrap(), of(strand).area.unwrap());
        assert_eq!(of(strand).events.len(), 4, "two elements read and written");
        assert!(left[2] < right[0] && left[1] == right[1], "in one row, to the right");
        assert!(right[2] - right[0] < left[2] - left[0], "narrower");
    }
    let all: Vec<u32> = shapes.iter().flat_map(|shape| shape.events.iter().copied()).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no event twice");
}

#[test]
fn mbarriers_are_described_by_phases_and_proxies_by_marks() {
    let svg = drawn(RACE, "ptx", Format::Svg);
    let says = |words: &str| svg.contains(words);
    assert!(says(">init full: phase 0, 1 of 1 pending<") && says(">full: phase 0, 0 of 1 pending, 16 B<"));
    assert!(says(">full: complete_tx 16 B<") && says(">full: true, phase 0 complete<"));
    assert!(says(">rf: phase 0 complete<"));
    assert!(says(">R g1[0], g1[1] = 1<tspan") && says(">W s[0], s[1] = 1<tspan"));
    assert!(says(">through the async proxy<"));
    // What does not occur is not explained.
    assert!(!says("tensor memory<") && !says(">gate: proxy fence<") && !says("half gate"));
}

#[test]
fn the_racing_pair_is_marked_with_both_proxies() {
    let svg = drawn(RACE, "ptx", Format::Svg);
    assert_eq!(edges(&svg, "data-race").len(), 1);
    assert!(svg.contains(">race on s[0]<") && svg.contains(">generic / async<"));
    assert!(svg.contains("(line 9, generic proxy) and P1&apos;s cp.async.bulk"));
    let dot = drawn(RACE, "ptx", Format::Dot);
    assert!(dot.contains("dir=none") && dot.contains("label=\"issue\"") && dot.contains("rounded,filled,dashed"));
}

#[test]
fn fences_between_proxies_are_gates() {
    let svg = drawn(GATE, "ptx", Format::Svg);
    assert_eq!(count(&svg, "event gate"), 1);
    assert!(svg.contains(">gate: generic ↔ async, shared::cta<") && svg.contains(">gate: proxy fence<"));
    assert!(drawn(GATE, "ptx", Format::Dot).contains("shape=hexagon"));
    let svg = drawn(HALF_GATES, "ptx", Format::Svg);
    assert_eq!(count(&svg, "event half-gate"), 2);
    assert!(svg.contains(">half gate: generic → tensormap, release.gpu<"));
    assert!(svg.contains(">half gate: generic → tensormap, acquire.gpu, map<"));
    assert!(svg.contains(">R map = new<tspan"), "a tensor map is named by what it describes");
    let svg = drawn(BRACKETS, "ptx", Format::Svg);
    assert_eq!(count(&svg, "event bracket"), 2);
    assert!(svg.contains(">done<") && svg.contains(">in tensor memory<"));
}

#[test]
fn no_box_covers_another() {
    for file in [RACE, GATE, HALF_GATES, BRACKETS] {
        let svg = drawn(file, "ptx", Format::Svg);
        well_formed(&svg).unwrap();
        let areas: Vec<[f64; 4]> = shapes(&svg).iter().filter_map(|shape| shape.area).collect();
        assert!(areas.len() > 8, "{file}");
        for (at, a) in areas.iter().enumerate() {
            let covers = |b: &&[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
            assert!(areas.iter().skip(at + 1).find(covers).is_none(), "{file}: {a:?}");
        }
    }
}

/// `UPDATE=1` draws them anew.
#[test]
fn the_pictures_of_the_documentation_are_drawn_like_that() {
    let pictures =
        [(RACE, "ptx", "docs/pictures/w3.svg"), ("examples/mailbox-fixed.litmus", "ptx-7.5", "docs/mailbox-fixed.svg")];
    for (file, model, path) in pictures {
        let svg = drawn(file, model, Format::Svg);
        let path = root().join(path);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &svg).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(known == svg, "{}: run with UPDATE=1 and look at it", path.display());
    }
}

/// Threads of the host have a frame as those of a GPU have; the names of two races do not cover each other.
#[test]
fn host_and_device_have_frames_and_the_plates_of_races_lie_apart() {
    let svg = drawn("corpus/compound/mp-host-to-device-gpu.litmus", "cmm", Format::Svg);
    assert!(svg.contains(">host<") && svg.contains(">GPU 0<"), "{svg}");
    assert!(!svg.contains("generic proxy"), "nothing goes through another proxy");
    let svg = drawn("corpus/c11/mp-narrow-scope.litmus", "rc11-scoped", Format::Svg);
    let plates = svg.lines().filter(|line| line.contains("rx=\"4\"") && line.contains("#d81b60"));
    let side = |tag: &str, name| attribute(tag, name).and_then(|value| value.parse::<f64>().ok()).unwrap();
    let plates: Vec<[f64; 4]> = plates
        .map(|tag| [side(tag, "x"), side(tag, "y"), side(tag, "width"), side(tag, "height")])
        .map(|[x, y, width, height]| [x, y, x + width, y + height])
        .collect();
    let [a, b] = plates.as_slice() else { panic!("two races: {plates:?}") };
    assert!(a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1], "{plates:?}");
    assert!(svg.contains(">b: atomic_store(y, 1, release, work_group)<"), "the order is not cut off: {svg}");
    assert!(svg.contains(">A race: behaviour is undefined, every outcome is possible<"), "{svg}");
}

/// Of reads that one write follows, the last of a column has the arrow.
#[test]
fn from_read_is_drawn_once_per_column_and_write() {
    let text = "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n ld.relaxed.gpu.u32 %r1, [x] | st.relaxed.gpu.u32 [x], 1 ;\n \
                ld.relaxed.gpu.u32 %r2, [x] | ;\n ld.relaxed.gpu.u32 %r3, [x] | ;\nexists (P0:%r3=0)\n";
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    let model = Models::shipped("ptx-7.5").unwrap();
    let checked = check(&tests[0], &model, &Options::default());
    let svg = render::picture(&tests[0], &model, &checked, Format::Svg).unwrap();
    let arrows = edges(&svg, "fr");
    assert_eq!(arrows.len(), 1, "{svg}");
    assert_eq!(arrows[0].0, 3, "event 0 is the initial write, 1 to 3 are the reads");
}
