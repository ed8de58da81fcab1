//! Where the name of each edge stands: on the edge, off the boxes, apart from the other names.

use crate::render::layout::geometry::{Path, Point, Rect};
use crate::render::layout::{Label, Layout, characters};
use crate::render::scene::palette::Relation;
use crate::render::scene::{Edge, Heads, Scene};

const HEIGHT: f64 = 12.0;
pub(crate) const CHARACTER: f64 = 6.6;
const BOLD: f64 = 7.2;
/// From one line of a name to the next.
pub(crate) const LEADING: f64 = 13.0;
/// Around the name of a race.
const PLATE: f64 = 6.0;

/// Greedy, in edge order: each label takes the place along its edge that disturbs least.
pub(crate) fn place(scene: &Scene, layout: &Layout) -> Vec<Option<Label>> {
    let samples: Vec<Vec<Point>> = layout.paths.iter().map(Path::samples).collect();
    let mut taken: Vec<Rect> = Vec::new();
    let mut labels = Vec::new();
    for (index, edge) in scene.edges.iter().enumerate() {
        let is_silent = edge.label.is_empty() || matches!(edge.relation, Relation::Po | Relation::Rmw);
        if is_silent && !edge.highlighted {
            labels.push(None);
            continue;
        }
        let size = size(edge);
        let points = spaced(&samples[index]);
        let middle = points.len() as f64 / 2.0;
        let best = points.iter().enumerate().min_by_key(|(at, point)| {
            let rect = around(**point, size);
            let off_centre = (*at as f64 - middle).abs() / points.len() as f64 * 40.0;
            disturbance(layout, &taken, &samples, index, rect) + off_centre as u64
        });
        let label = best.map(|(_, point)| Label { centre: *point, rect: around(*point, size) });
        taken.extend(label.as_ref().map(|label| label.rect));
        labels.push(label);
    }
    labels
}

/// How much room a name takes: that of a race stands on a plate, in bold, in one line or two.
fn size(edge: &Edge) -> (f64, f64) {
    let (widest, lines) = (widest(&edge.label), edge.label.split('\n').count() as f64);
    let height = HEIGHT + (lines - 1.0) * LEADING;
    if edge.heads == Heads::None {
        (widest * BOLD + 2.0 * PLATE, height + PLATE)
    } else {
        (widest * CHARACTER + 4.0, height)
    }
}

/// Letters of the longest line.
pub(crate) fn widest(label: &str) -> f64 {
    label.split('\n').map(characters).max().unwrap_or(0) as f64
}

fn around(point: Point, (width, height): (f64, f64)) -> Rect {
    Rect { x: point.x - width / 2.0, y: point.y - height / 2.0, width, height }
}

fn disturbance(layout: &Layout, taken: &[Rect], samples: &[Vec<Point>], own: usize, rect: Rect) -> u64 {
    let boxes = layout.boxes.iter().filter(|other| other.overlaps(rect)).count() as u64;
    let headers = layout.headers.iter().filter(|other| other.overlaps(rect)).count() as u64;
    let names = taken.iter().filter(|other| other.overlaps(rect)).count() as u64;
    let crossed = samples.iter().enumerate().filter(|(index, _)| *index != own);
    let crossed = crossed.filter(|(_, points)| points.iter().any(|point| inside(rect, *point))).count() as u64;
    let outside = u64::from(rect.x < 0.0 || rect.right() > layout.width);
    boxes * 1000 + headers * 600 + names * 800 + outside * 900 + crossed * 25
}

fn inside(rect: Rect, point: Point) -> bool {
    rect.overlaps(Rect { x: point.x - 1.0, y: point.y - 1.0, width: 2.0, height: 2.0 })
}

/// Points at equal distances along a sampled path, the ends left out.
fn spaced(points: &[Point]) -> Vec<Point> {
    const STEPS: usize = 32;
    let lengths: Vec<f64> = points.windows(2).map(|pair| distance(pair[0], pair[1])).collect();
    let total: f64 = lengths.iter().sum();
    let mut spaced = Vec::new();
    for step in 1..STEPS {
        let mut left = total * step as f64 / STEPS as f64;
        for (pair, length) in points.windows(2).zip(&lengths) {
            if left <= *length {
                let t = if *length > 0.0 { left / length } else { 0.0 };
                spaced.push(Point {
                    x: pair[0].x + (pair[1].x - pair[0].x) * t,
                    y: pair[0].y + (pair[1].y - pair[0].y) * t,
                });
                break;
            }
            left -= length;
        }
    }
    spaced
}

fn distance(a: Point, b: Point) -> f64 {
    let (x, y) = (a.x - b.x, a.y - b.y);
    (x * x + y * y).sqrt()
}
