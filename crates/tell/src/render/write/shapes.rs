//! The shapes of boxes in SVG. Events are rounded boxes; a gate is a bar between two posts, half a gate has one post, and
//! a `tcgen05` fence is a bracket that holds what lies on its side of a synchronisation. Accesses through another proxy
//! than the generic one have a band in its colour and its name behind them.

use crate::render::Fate;
use crate::render::layout::LINE;
use crate::render::layout::geometry::{Point, Rect};
use crate::render::scene::proxy_marks::Gate;
use crate::render::scene::text::LineKind;
use crate::render::scene::{Node, Role};
use crate::render::write::escape::xml;
use crate::render::write::markup::{MONO, SANS, line, number};

const GATE_FILL: &str = "#fdf2d0";
const GATE_STROKE: &str = "#8a5a00";
/// The fill and the stroke of persists that a crash leaves, and of those it does not.
const DURABLE: (&str, &str) = ("#e6f4ea", "#188038");
const LOST: (&str, &str) = ("#fce8e6", "#c5221f");
const BRACKET: &str = "#6d28d9";
/// How far the posts of a gate stand out of its bar.
const POST: f64 = 5.0;

pub(crate) fn write_node(out: &mut String, node: &Node, rect: Rect) {
    let faded = if node.fate == Some(Fate::Ahead) { " opacity=\"0.35\"" } else { "" };
    line(
        out,
        format_args!("<g class=\"{}\" data-event=\"{}\"{}{faded}>", class(node.role), node.event().0, events(node)),
    );
    match node.role {
        Role::Gate(gate) => write_gate(out, gate, rect, node.highlighted),
        _ => write_box(out, node, rect),
    }
    let top = rect.y + (rect.height - node.lines.len() as f64 * LINE) / 2.0;
    write_bands(out, node, rect, top);
    if let Some(number_of_line) = node.line {
        // Beside the band of a proxy, if there is one.
        let band = if node.lines.first().is_some_and(|line| line.mark.is_some()) { 4.0 } else { 0.0 };
        let (x, y) = (number(rect.x + 6.0 + band), number(top + 11.0));
        let style = format!("font-family=\"{SANS}\" font-size=\"9\" fill=\"#80868b\"");
        line(out, format_args!("<text class=\"line\" x=\"{x}\" y=\"{y}\" {style}>{number_of_line}</text>"));
    }
    let is_beside = matches!(node.role, Role::Strand | Role::Completion);
    for (index, content) in node.lines.iter().enumerate() {
        let at = Point { x: rect.x + rect.width / 2.0, y: top + 12.0 + index as f64 * LINE };
        let fill = match node.role {
            _ if content.kind == LineKind::Program => "#202124",
            _ if index + 1 == node.lines.len() && node.fate == Some(Fate::Durable) => DURABLE.1,
            _ if index + 1 == node.lines.len() && node.fate == Some(Fate::Lost) => LOST.1,
            Role::Gate(Gate::Whole | Gate::Release | Gate::Acquire) if index > 0 => GATE_STROKE,
            Role::Gate(_) => "#202124",
            _ if is_beside || node.joined || index > 0 => "#1967d2",
            _ => "#202124",
        };
        let mark = content.mark.map_or(String::new(), |mark| {
            let style = format!("font-family=\"{SANS}\" font-size=\"10\" fill=\"{}\"", mark.colour());
            format!("<tspan dx=\"7\" {style}>{}</tspan>", mark.name())
        });
        line(
            out,
            format_args!(
                "<text x=\"{}\" y=\"{}\" font-family=\"{MONO}\" text-anchor=\"middle\" fill=\"{fill}\">{}{mark}</text>",
                number(at.x),
                number(at.y),
                xml(&content.text)
            ),
        );
    }
    out.push_str("</g>\n");
}

fn class(role: Role) -> &'static str {
    match role {
        Role::Gate(Gate::Whole) => "event gate",
        Role::Gate(Gate::Release | Gate::Acquire) => "event half-gate",
        Role::Gate(Gate::Before | Gate::After) => "event bracket",
        Role::Strand => "event strand",
        Role::Completion => "event completion",
        _ => "event",
    }
}

/// All events of a box that shows several.
fn events(node: &Node) -> String {
    if node.events.len() == 1 {
        return String::new();
    }
    let all: Vec<String> = node.events.iter().map(|event| event.0.to_string()).collect();
    format!(" data-events=\"{}\"", all.join(" "))
}

fn write_box(out: &mut String, node: &Node, rect: Rect) {
    let (fill, stroke) = match node.role {
        Role::Init => ("#f1f3f4", "#9aa0a6"),
        Role::Read => ("#ffffff", "#5f6368"),
        Role::Write => ("#fffaf0", "#5f6368"),
        Role::Fence | Role::Gate(_) => ("#f3e8fd", "#9334e6"),
        Role::Barrier => ("#e0f2f1", "#00897b"),
        Role::Issue | Role::Wait => ("#e8f0fe", "#3f6ba8"),
        Role::Strand => ("#f5f9ff", "#3f6ba8"),
        Role::Completion => ("#e6f4ea", "#2e7d32"),
    };
    let (fill, stroke) = match node.fate {
        Some(Fate::Durable) => DURABLE,
        Some(Fate::Lost) => LOST,
        Some(Fate::Ahead) | None => (fill, stroke),
    };
    let (stroke, width) = match node.fate {
        Some(Fate::Durable | Fate::Lost) => (stroke, "2"),
        _ if node.highlighted => ("#202124", "2.2"),
        _ => (stroke, "1.1"),
    };
    let radius = if node.role == Role::Completion { 12 } else { 6 };
    let is_dashed = node.role == Role::Strand && !node.highlighted || node.fate == Some(Fate::Lost);
    let dash = if is_dashed { " stroke-dasharray=\"5 3\"" } else { "" };
    line(
        out,
        format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{width}\"{dash}/>",
            number(rect.x),
            number(rect.y),
            number(rect.width),
            number(rect.height)
        ),
    );
}

/// A band in the colour of the proxy at the left of each access that goes through one.
fn write_bands(out: &mut String, node: &Node, rect: Rect, top: f64) {
    for (index, content) in node.lines.iter().enumerate() {
        let Some(mark) = content.mark else { continue };
        line(
            out,
            format_args!(
                "<rect class=\"proxy\" x=\"{}\" y=\"{}\" width=\"5\" height=\"{}\" fill=\"{}\"/>",
                number(rect.x),
                number(top + index as f64 * LINE + 1.0),
                number(LINE - 2.0),
                mark.colour()
            ),
        );
    }
}

/// Also the sample in the legend.
pub(crate) fn write_gate(out: &mut String, gate: Gate, rect: Rect, highlighted: bool) {
    let width = if highlighted { 3.0 } else { 1.8 };
    let (left, right, top, bottom) = (rect.x, rect.right(), rect.y, rect.bottom());
    if let Gate::Before | Gate::After = gate {
        // Open towards what it holds.
        let (from, to) = if gate == Gate::Before { (top, bottom) } else { (bottom, top) };
        let turn = from + (to - from) * 0.35;
        line(
            out,
            format_args!(
                "<path d=\"M{0} {2}L{0} {3}L{1} {3}L{1} {2}\" fill=\"#f5f0ff\" stroke=\"{BRACKET}\" stroke-width=\"{4}\"/>",
                number(left),
                number(right),
                number(turn),
                number(to),
                number(width)
            ),
        );
        return;
    }
    line(
        out,
        format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{GATE_FILL}\"/>",
            number(left),
            number(top),
            number(rect.width),
            number(rect.height)
        ),
    );
    for y in [top, bottom] {
        let path = format!("M{} {}L{} {}", number(left), number(y), number(right), number(y));
        line(
            out,
            format_args!("<path d=\"{path}\" stroke=\"{GATE_STROKE}\" stroke-width=\"{}\"/>", number(width * 0.7)),
        );
    }
    let posts = [(left, gate != Gate::Acquire), (right, gate != Gate::Release)];
    for (x, _) in posts.into_iter().filter(|(_, stands)| *stands) {
        let reach = POST.min(rect.height / 3.0);
        let path = format!("M{0} {1}L{0} {2}", number(x), number(top - reach), number(bottom + reach));
        line(
            out,
            format_args!("<path d=\"{path}\" stroke=\"{GATE_STROKE}\" stroke-width=\"{}\"/>", number(width * 2.4)),
        );
    }
}
