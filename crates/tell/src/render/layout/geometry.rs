//! Points, rectangles and the curves between them.

#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn overlaps(self, other: Rect) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Piece {
    Line(Point),
    Curve(Point, Point, Point),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path {
    pub(crate) start: Point,
    pub(crate) pieces: Vec<Piece>,
    /// Arrow heads: the tip and the direction it points to.
    pub(crate) heads: Vec<(Point, Point)>,
}

impl Path {
    pub(crate) fn from(start: Point) -> Path {
        Path { start, pieces: Vec::new(), heads: Vec::new() }
    }

    pub(crate) fn end(&self) -> Point {
        self.pieces.last().map_or(self.start, |piece| match piece {
            Piece::Line(to) | Piece::Curve(_, _, to) => *to,
        })
    }

    pub(crate) fn line(&mut self, to: Point) {
        self.pieces.push(Piece::Line(to));
    }

    /// A curve that leaves and arrives horizontally.
    pub(crate) fn sideways(&mut self, to: Point) {
        let from = self.end();
        let reach = (to.x - from.x) * 0.5;
        self.pieces.push(Piece::Curve(Point { x: from.x + reach, y: from.y }, Point { x: to.x - reach, y: to.y }, to));
    }

    /// A curve that leaves and arrives vertically.
    pub(crate) fn downward(&mut self, to: Point) {
        let from = self.end();
        let reach = (to.y - from.y) * 0.6;
        self.pieces.push(Piece::Curve(Point { x: from.x, y: from.y + reach }, Point { x: to.x, y: to.y - reach }, to));
    }

    /// Points along the path, ends included.
    pub(crate) fn samples(&self) -> Vec<Point> {
        const STEPS: usize = 24;
        let mut points = vec![self.start];
        let mut at = self.start;
        for piece in &self.pieces {
            for step in 1..=STEPS {
                let t = step as f64 / STEPS as f64;
                points.push(match *piece {
                    Piece::Line(to) => blend(at, to, t),
                    Piece::Curve(a, b, to) => {
                        let (first, middle, last) = (blend(at, a, t), blend(a, b, t), blend(b, to, t));
                        blend(blend(first, middle, t), blend(middle, last, t), t)
                    }
                });
            }
            at = match *piece {
                Piece::Line(to) | Piece::Curve(_, _, to) => to,
            };
        }
        points
    }
}

fn blend(a: Point, b: Point, t: f64) -> Point {
    Point { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }
}
