//! The curves. Every piece lies in a gutter or a channel (see [`crate::render::layout::plan`]), so no edge runs over a box; ends that
//! share a side of a box are spread over it in the order of where they go, so that they do not cross at the box.

use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::render::layout::geometry::{Path, Piece, Point, Rect};
use crate::render::layout::plan::{Plan, Side, Way};
use crate::render::layout::rows::Rows;
use crate::render::layout::{self, Layout};
use crate::render::scene::{self, Heads, Scene};

/// One end of an edge: which edge, and whether it is the end with the main head.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct End {
    edge: usize,
    target: bool,
}

pub(crate) fn paths(scene: &Scene, rows: &Rows, plan: &Plan, layout: &Layout) -> Vec<Path> {
    let ports = ports(scene, rows, plan, layout);
    let router = Router { scene, rows, plan, layout, ports };
    (0..scene.edges.len()).map(|edge| router.path(edge)).collect()
}

struct Router<'a> {
    scene: &'a Scene,
    rows: &'a Rows,
    plan: &'a Plan,
    layout: &'a Layout,
    ports: SortedMap<End, f64>,
}

impl Router<'_> {
    fn path(&self, index: usize) -> Path {
        let edge = &self.scene.edges[index];
        let (from, to) = (self.layout.boxes[edge.from], self.layout.boxes[edge.to]);
        let mut path = match &self.plan.ways[index] {
            Way::Down => {
                let mut path = Path::from(Point { x: centre(from), y: from.bottom() });
                path.line(Point { x: centre(to), y: to.y });
                path
            }
            Way::Top => {
                let mut path = Path::from(Point { x: from.right(), y: from.y + from.height / 2.0 });
                path.sideways(Point { x: to.x, y: to.y + to.height / 2.0 });
                path
            }
            Way::Beside { side, lane } => self.beside(index, *side, *lane),
            Way::Neighbour => {
                let (start, side) = self.port(index, false);
                let mut path = Path::from(start);
                let (end, _) = self.port(index, true);
                debug_assert!(side == Side::Right || end.x < start.x, "invariant: neighbours face each other");
                path.sideways(end);
                path
            }
            Way::Across { channel, slot } => self.across(index, *channel, *slot),
            Way::Above { side, lane } => self.above(index, *side, *lane),
        };
        let samples = path.samples();
        if let ([.., before, tip], Heads::Forward | Heads::Both) = (samples.as_slice(), edge.heads) {
            path.heads.push((*tip, *before));
        }
        if let ([first, second, ..], Heads::Both) = (samples.as_slice(), edge.heads) {
            path.heads.push((*first, *second));
        }
        // A head needs the direction, not the previous point.
        for (tip, other) in &mut path.heads {
            let (x, y) = (tip.x - other.x, tip.y - other.y);
            let length = (x * x + y * y).sqrt().max(0.001);
            *other = Point { x: x / length, y: y / length };
        }
        path
    }

    /// Where an edge meets its box.
    fn port(&self, edge: usize, target: bool) -> (Point, Side) {
        let node = if target { self.scene.edges[edge].to } else { self.scene.edges[edge].from };
        let side = side_of(self.scene, self.rows, self.plan, End { edge, target });
        let rect = self.layout.boxes[node];
        let y = self.ports.get(&End { edge, target }).copied().unwrap_or(rect.y + rect.height / 2.0);
        (Point { x: edge_x(rect, side), y }, side)
    }

    fn beside(&self, edge: usize, side: Side, lane: usize) -> Path {
        let (start, _) = self.port(edge, false);
        let (end, _) = self.port(edge, true);
        let out = self.lane_x(start.x, side, lane);
        let mut path = Path::from(start);
        let (bend_a, bend_b) = turn(start, end);
        path.pieces.push(Piece::Curve(
            Point { x: out, y: start.y },
            Point { x: out, y: start.y },
            Point { x: out, y: bend_a },
        ));
        path.line(Point { x: out, y: bend_b });
        path.pieces.push(Piece::Curve(Point { x: out, y: end.y }, Point { x: out, y: end.y }, end));
        path
    }

    fn across(&self, edge: usize, channel: usize, slot: usize) -> Path {
        let (start, side) = self.port(edge, false);
        let (end, end_side) = self.port(edge, true);
        let y = layout::slot_y(self.layout, channel, slot);
        let column = |node: usize| self.rows.cell_of[node].map_or(0, |cell| self.rows.cells[cell].column);
        let (a, b) = (column(self.scene.edges[edge].from), column(self.scene.edges[edge].to));
        // The columns between: enter at the near edge of the first, leave at the far edge of the last.
        let (first, last) = if a < b { (a + 1, b - 1) } else { (a - 1, b + 1) };
        let near = edge_x(self.layout.headers[first], opposite(side));
        let far = edge_x(self.layout.headers[last], opposite(end_side));
        let mut path = Path::from(start);
        path.sideways(Point { x: near, y });
        path.line(Point { x: far, y });
        path.sideways(end);
        path
    }

    fn above(&self, edge: usize, side: Side, lane: usize) -> Path {
        let drawn = &self.scene.edges[edge];
        let from_init = scene::is_init(self.scene, drawn.from);
        let (init, target) = if from_init { (drawn.from, true) } else { (drawn.to, false) };
        let (end, _) = self.port(edge, target);
        let rect = self.layout.boxes[init];
        let x = self.ports.get(&End { edge, target: !target }).copied().unwrap_or(centre(rect));
        let out = self.lane_x(end.x, side, lane);
        let mut path = Path::from(Point { x, y: rect.bottom() });
        path.downward(Point { x: out, y: self.layout.strip.1 });
        path.line(Point { x: out, y: end.y - 12.0 });
        path.pieces.push(Piece::Curve(Point { x: out, y: end.y }, Point { x: out, y: end.y }, end));
        if from_init { path } else { reversed(&path) }
    }

    fn lane_x(&self, x: f64, side: Side, lane: usize) -> f64 {
        let distance = layout::lane_offset(lane) + layout::frame_reserve(self.layout);
        match side {
            Side::Left => x - distance,
            Side::Right => x + distance,
        }
    }
}

fn reversed(path: &Path) -> Path {
    let mut points = Path::from(path.end());
    let mut at = path.start;
    let mut pieces = Vec::new();
    for piece in &path.pieces {
        pieces.push(match *piece {
            Piece::Line(_) => Piece::Line(at),
            Piece::Curve(a, b, _) => Piece::Curve(b, a, at),
        });
        at = match *piece {
            Piece::Line(to) | Piece::Curve(_, _, to) => to,
        };
    }
    pieces.reverse();
    points.pieces = pieces;
    points
}

/// Where the straight part of a bend starts and ends.
fn turn(start: Point, end: Point) -> (f64, f64) {
    let corner = ((end.y - start.y).abs() / 2.0).min(14.0) * if end.y >= start.y { 1.0 } else { -1.0 };
    (start.y + corner, end.y - corner)
}

fn centre(rect: Rect) -> f64 {
    rect.x + rect.width / 2.0
}

fn edge_x(rect: Rect, side: Side) -> f64 {
    match side {
        Side::Left => rect.x,
        Side::Right => rect.right(),
    }
}

fn opposite(side: Side) -> Side {
    match side {
        Side::Left => Side::Right,
        Side::Right => Side::Left,
    }
}

/// Which side of its box an end uses.
fn side_of(scene: &Scene, rows: &Rows, plan: &Plan, end: End) -> Side {
    let edge = &scene.edges[end.edge];
    match plan.ways[end.edge] {
        Way::Beside { side, .. } | Way::Above { side, .. } => side,
        _ => {
            let column = |node: usize| rows.cell_of[node].map(|cell| rows.cells[cell].column);
            let (own, other) = if end.target { (edge.to, edge.from) } else { (edge.from, edge.to) };
            if column(own) < column(other) { Side::Right } else { Side::Left }
        }
    }
}

/// Where an end is heading, in tenths of a pixel, what decides between equals, and the end.
type Heading = (i64, i64, End);

/// Spreads the ends over the sides of their boxes: the y of each end at an event, the x of each end at an init write.
fn ports(scene: &Scene, rows: &Rows, plan: &Plan, layout: &Layout) -> SortedMap<End, f64> {
    // (node, side) → ends with the height they head for.
    let mut groups: SortedMap<(usize, Side), Vec<Heading>> = SortedMap::new();
    for (index, edge) in scene.edges.iter().enumerate() {
        if matches!(plan.ways[index], Way::Down | Way::Top) {
            continue;
        }
        for target in [false, true] {
            let (own, other) = if target { (edge.to, edge.from) } else { (edge.from, edge.to) };
            let end = End { edge: index, target };
            let there = layout.boxes[other];
            let here = layout.boxes[own];
            let (heading, tie) = match plan.ways[index] {
                Way::Across { channel, slot } => (layout::slot_y(layout, channel, slot), there.y),
                // The outermost lane turns off first: the box's upper ports are for the outer lanes of edges from above.
                Way::Above { lane, .. } if !scene::is_init(scene, own) => (f64::MIN / 1e300, -(lane as f64)),
                Way::Above { .. } => (there.x, there.y),
                Way::Beside { lane, .. } if there.y > here.y => (there.y, -(lane as f64)),
                Way::Beside { lane, .. } => (there.y, lane as f64),
                _ => (there.y, there.x),
            };
            let side = if scene::is_init(scene, own) { Side::Left } else { side_of(scene, rows, plan, end) };
            groups.entry((own, side)).or_default().push(((heading * 10.0) as i64, (tie * 10.0) as i64, end));
        }
    }
    let mut ports = SortedMap::new();
    for ((node, _), mut ends) in groups {
        ends.shared_sort();
        let rect = layout.boxes[node];
        let (origin, extent) = if scene::is_init(scene, node) { (rect.x, rect.width) } else { (rect.y, rect.height) };
        let count = ends.len() as f64;
        for (position, (_, _, end)) in ends.into_iter().enumerate() {
            ports.insert(end, origin + extent * (position as f64 + 1.0) / (count + 1.0));
        }
    }
    ports
}
