//! Writes a laid-out scene as SVG 1.1: no scripts, no style sheet, no external fonts, so that it can be opened, embedded
//! in a page or put in a paper as it is. Arrow heads are polygons and label halos are drawn text: markers and
//! `paint-order` are missing from common converters. `data-` attributes name events and relations for tools.

use std::fmt::Write as _;

use crate::render::layout::geometry::{Path, Piece, Point, Rect};
use crate::render::layout::labels::LEADING;
use crate::render::layout::legend::{self, Sample};
use crate::render::layout::{Frame, Label, Layout, Level};
use crate::render::scene::palette::{Relation, Style};
use crate::render::scene::{ColumnKind, Edge, Heads, Scene};
use crate::render::write::escape::xml;
use crate::render::write::markup::{SANS, line, number};
use crate::render::write::shapes;

pub(crate) fn write(scene: &Scene, layout: &Layout) -> String {
    let mut out = String::new();
    let (width, height) = (number(layout.width), number(layout.height));
    line(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-size=\"12\">"
        ),
    );
    line(&mut out, format_args!("<title>{}</title>", xml(&scene.title)));
    line(&mut out, format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"));
    if !scene.title.is_empty() {
        let at = Point { x: 18.0, y: 28.0 };
        line(
            &mut out,
            format_args!(
                "{}",
                text(
                    at,
                    &scene.title,
                    &format!("font-family=\"{SANS}\" font-size=\"15\" font-weight=\"bold\" fill=\"#202124\"")
                )
            ),
        );
    }
    layout.frames.iter().for_each(|frame| write_frame(&mut out, frame));
    write_lanes(&mut out, scene, layout);
    write_headers(&mut out, scene, layout);
    // Thin order below, then the other edges, the highlighted ones on top; boxes above all lines, names above the boxes.
    let plain = |edge: &&usize| !scene.edges[**edge].highlighted;
    let order: Vec<usize> = (0..scene.edges.len()).collect();
    let drawn = order.iter().filter(plain).chain(order.iter().filter(|edge| scene.edges[**edge].highlighted));
    for &edge in drawn {
        write_edge(&mut out, scene, &scene.edges[edge], &layout.paths[edge]);
    }
    for (node, rect) in scene.nodes.iter().zip(&layout.boxes) {
        shapes::write_node(&mut out, node, *rect);
    }
    for (edge, label) in scene.edges.iter().zip(&layout.labels) {
        if let Some(label) = label {
            write_label(&mut out, edge, label);
        }
    }
    write_footer(&mut out, scene, layout);
    out.push_str("</svg>\n");
    out
}

fn text(at: Point, content: &str, attributes: &str) -> String {
    // Runs of spaces in an instruction are already single; `xml:space` is not needed.
    format!("<text x=\"{}\" y=\"{}\" {attributes}>{}</text>", number(at.x), number(at.y), xml(content))
}

fn write_frame(out: &mut String, frame: &Frame) {
    let (fill, stroke) = match frame.level {
        Level::Gpu => ("#f8f9fa", "#bdc1c6"),
        Level::Cluster => ("#f1f3f4", "#bdc1c6"),
        Level::Cta => ("#eef3fb", "#a8c1ea"),
    };
    let Rect { x, y, width, height } = frame.rect;
    line(
        out,
        format_args!(
            "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            number(x),
            number(y),
            number(width),
            number(height)
        ),
    );
    let at = Point { x: x + 8.0, y: y + 13.0 };
    line(
        out,
        format_args!(
            "{}",
            text(at, &frame.label, &format!("font-family=\"{SANS}\" font-size=\"11\" fill=\"#5f6368\""))
        ),
    );
}

/// The ground strands stand on.
fn write_lanes(out: &mut String, scene: &Scene, layout: &Layout) {
    let lanes = scene.columns.iter().zip(&layout.headers).filter(|(column, _)| column.kind == ColumnKind::Strands);
    for (_, header) in lanes {
        line(
            out,
            format_args!(
                "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#ffffff\" fill-opacity=\"0.55\" stroke=\"#c3d3ec\" stroke-dasharray=\"2 4\"/>",
                number(header.x - 6.0),
                number(header.y + 2.0),
                number(header.width + 12.0),
                number(layout.ground - header.y)
            ),
        );
    }
}

fn write_headers(out: &mut String, scene: &Scene, layout: &Layout) {
    for ((column, header), ending) in scene.columns.iter().zip(&layout.headers).zip(&layout.endings) {
        let at = Point { x: header.x + header.width / 2.0, y: header.y + 17.0 };
        let look = match column.kind {
            ColumnKind::Thread => "font-size=\"13\" font-weight=\"bold\" text-anchor=\"middle\" fill=\"#202124\"",
            ColumnKind::Strands => "font-size=\"11\" font-style=\"italic\" text-anchor=\"middle\" fill=\"#3f6ba8\"",
        };
        line(out, format_args!("{}", text(at, &column.name, &format!("font-family=\"{SANS}\" {look}"))));
        if let Some(words) = &column.ending {
            let style = format!(
                "font-family=\"{SANS}\" font-size=\"11\" font-style=\"italic\" text-anchor=\"middle\" fill=\"#c5221f\""
            );
            line(out, format_args!("{}", text(*ending, words, &style)));
        }
    }
}

fn data(path: &Path) -> String {
    let mut text = format!("M{} {}", number(path.start.x), number(path.start.y));
    let point = |point: Point| format!("{} {}", number(point.x), number(point.y));
    for piece in &path.pieces {
        let _ = match *piece {
            Piece::Line(to) => write!(text, "L{}", point(to)),
            Piece::Curve(a, b, to) => write!(text, "C{} {} {}", point(a), point(b), point(to)),
        };
    }
    text
}

fn write_edge(out: &mut String, scene: &Scene, edge: &Edge, path: &Path) {
    let style = edge.relation.style();
    let (from, to) = (scene.nodes[edge.from].event().0, scene.nodes[edge.to].event().0);
    line(
        out,
        format_args!(
            "<g class=\"edge\" data-relation=\"{}\" data-from=\"{from}\" data-to=\"{to}\"{}>",
            xml(edge.relation.name()),
            if scene.is_ahead(edge) { " opacity=\"0.35\"" } else { "" }
        ),
    );
    let data = data(path);
    if edge.highlighted {
        line(
            out,
            format_args!(
                "<path d=\"{data}\" fill=\"none\" stroke=\"#fdd663\" stroke-width=\"9\" stroke-opacity=\"0.75\" stroke-linecap=\"round\"/>"
            ),
        );
    }
    // Thin grey on amber would vanish.
    let colour = if edge.highlighted && edge.relation == Relation::Po { "#3c4043" } else { style.colour };
    let width = f64::from(style.width) / 10.0 + if edge.highlighted { 1.4 } else { 0.0 };
    let dash = if style.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", style.dash) };
    line(
        out,
        format_args!(
            "<path d=\"{data}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}/>",
            style.colour,
            number(width)
        ),
    );
    let size = if edge.highlighted {
        10.0
    } else if edge.relation == Relation::Po {
        6.0
    } else {
        8.0
    };
    for (tip, direction) in &path.heads {
        line(out, format_args!("<polygon points=\"{}\" fill=\"{}\"/>", head(*tip, *direction, size), colour));
    }
    out.push_str("</g>\n");
}

fn head(tip: Point, direction: Point, size: f64) -> String {
    let back = Point { x: tip.x - direction.x * size, y: tip.y - direction.y * size };
    let half = size * 0.42;
    let (across_x, across_y) = (-direction.y * half, direction.x * half);
    format!(
        "{},{} {},{} {},{}",
        number(tip.x),
        number(tip.y),
        number(back.x + across_x),
        number(back.y + across_y),
        number(back.x - across_x),
        number(back.y - across_y)
    )
}

fn write_label(out: &mut String, edge: &Edge, label: &Label) {
    if edge.heads == Heads::None {
        // A race is the news: its name stands on a plate.
        let Rect { x, y, width, height } = label.rect;
        line(
            out,
            format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#ffffff\" stroke=\"{}\"/>",
                number(x),
                number(y),
                number(width),
                number(height),
                edge.relation.style().colour
            ),
        );
    }
    let weight = if edge.highlighted { " font-weight=\"bold\"" } else { "" };
    let base = format!("font-family=\"{SANS}\" font-size=\"11\" text-anchor=\"middle\"{weight}");
    let halo = format!(
        "{base} stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" fill=\"#ffffff\" aria-hidden=\"true\""
    );
    let colour = if edge.relation == Relation::Po { "#3c4043" } else { edge.relation.style().colour };
    let above = (edge.label.split('\n').count() - 1) as f64 * LEADING / 2.0;
    for (row, words) in edge.label.split('\n').enumerate() {
        let at = Point { x: label.centre.x, y: label.centre.y + 4.0 - above + row as f64 * LEADING };
        line(out, format_args!("{}", text(at, words, &halo)));
        line(out, format_args!("{}", text(at, words, &format!("{base} fill=\"{colour}\""))));
    }
}

fn write_footer(out: &mut String, scene: &Scene, layout: &Layout) {
    for (index, caption) in scene.caption.iter().enumerate() {
        let at = Point { x: 18.0, y: layout.footer + 14.0 + index as f64 * 18.0 };
        let weight = if index == 0 { " font-weight=\"bold\"" } else { "" };
        line(out, format_args!("{}", text(at, caption, &format!("font-family=\"{SANS}\"{weight} fill=\"#202124\""))));
    }
    for entry in legend::entries(scene, layout) {
        let (x, y) = (entry.at.x, entry.at.y);
        match entry.sample {
            Sample::Relation(relation) => write_stroke(out, entry.at, relation.style()),
            Sample::Mark(mark) => line(
                out,
                format_args!(
                    "<rect x=\"{}\" y=\"{}\" width=\"5\" height=\"12\" fill=\"{}\"/>",
                    number(x + 14.0),
                    number(y - 6.0),
                    mark.colour()
                ),
            ),
            Sample::Gate(gate) => {
                shapes::write_gate(out, gate, Rect { x, y: y - 4.0, width: 22.0, height: 8.0 }, false);
            }
        }
        let at = Point { x: x + 28.0, y: y + 4.0 };
        line(
            out,
            format_args!(
                "{}",
                text(at, &entry.text, &format!("font-family=\"{SANS}\" font-size=\"11\" fill=\"#5f6368\""))
            ),
        );
    }
}

fn write_stroke(out: &mut String, at: Point, style: &Style) {
    let dash = if style.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", style.dash) };
    line(
        out,
        format_args!(
            "<path d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"{}\"{dash}/>",
            number(at.x),
            number(at.y),
            number(at.x + 22.0),
            number(at.y),
            style.colour,
            number(f64::from(style.width) / 10.0)
        ),
    );
}
