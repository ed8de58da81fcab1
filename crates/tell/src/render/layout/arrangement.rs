//! Puts everything in its place: columns, init writes, rows and frames; then the edges, their names and the footer.

use fencepost_program::program::Place;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;

use crate::render::layout::geometry::{Point, Rect};
use crate::render::layout::labels;
use crate::render::layout::legend;
use crate::render::layout::plan::{Plan, Side, Way};
use crate::render::layout::route;
use crate::render::layout::rows::Rows;
use crate::render::layout::{
    CHARACTER, FRAME_STEP, Frame, LANE, LINE, Layout, Level, MARGIN, SLOT, characters, lane_offset,
};
use crate::render::scene::text::Line;
use crate::render::scene::{ColumnKind, Node, Scene, is_init};

const PADDING: f64 = 9.0;
const FRAME_LABEL: f64 = 17.0;
const HEADER: f64 = 24.0;
const CHANNEL: f64 = 30.0;
const INIT_STRIP: f64 = 40.0;
const NARROWEST_GUTTER: f64 = 64.0;
/// Between a thread and its strands.
const LANE_GUTTER: f64 = 52.0;
/// Of a gutter, beside the name of an edge in it: where edges leave and arrive.
const GUTTER_ENDS: f64 = 34.0;
const INIT_GAP: f64 = 22.0;

impl Layout {
    pub(crate) fn new(scene: &Scene) -> Layout {
        let rows = Rows::new(scene);
        let plan = Plan::new(scene, &rows);
        let mut layout = Layout {
            width: 0.0,
            height: 0.0,
            boxes: vec![Rect::default(); scene.nodes.len()],
            headers: Vec::new(),
            frames: Vec::new(),
            endings: Vec::new(),
            paths: Vec::new(),
            labels: Vec::new(),
            channels: Vec::new(),
            strip: (0.0, 0.0),
            ground: 0.0,
            footer: 0.0,
        };
        let levels = levels(scene);
        layout.place_columns(scene, &rows, &plan, levels.len());
        let top = layout.place_inits(scene, &rows, &plan);
        layout.place_rows(scene, &rows, &plan, top + levels.len() as f64 * FRAME_LABEL);
        layout.place_frames(scene, &levels, top);
        layout.paths = route::paths(scene, &rows, &plan, &layout);
        layout.labels = labels::place(scene, &layout);
        layout.place_footer(scene);
        layout
    }

    /// Horizontal extents: columns as wide as their text, gutters as wide as their lanes and frames.
    fn place_columns(&mut self, scene: &Scene, rows: &Rows, plan: &Plan, levels: usize) {
        let frame = levels as f64 * FRAME_STEP;
        let gutters = gutters(scene, rows);
        let mut x = MARGIN;
        for (index, column) in scene.columns.iter().enumerate() {
            let texts = column.nodes.iter().flat_map(|node| node_widths(&scene.nodes[*node]));
            let ending = column.ending.as_ref().map_or(0, |ending| characters(ending));
            let widest = texts.chain([characters(&column.name), ending, 12]).max().unwrap_or(12);
            let (left, right) = plan.lanes[index];
            // No frame comes between a thread and its strands, nor between threads of one CTA; lanes keep their distance.
            let is_lane = |at: usize| scene.columns.get(at).is_some_and(|it| it.kind == ColumnKind::Strands);
            let together = |at: usize, other: Option<usize>, lanes: usize| {
                let place = |at: usize| scene.columns.get(at).map(|it| it.place);
                lanes == 0 && other.is_some_and(|other| place(at) == place(other))
            };
            let is_open = is_lane(index) || together(index, index.checked_sub(1), left);
            let before = if is_open { 0.0 } else { frame };
            let behind = if is_lane(index + 1) || together(index, Some(index + 1), right) { 0.0 } else { frame };
            x += before + lanes(left) + overhang(scene, rows, plan, index, Side::Left);
            let width = widest as f64 * CHARACTER + 2.0 * PADDING;
            self.headers.push(Rect { x, y: 0.0, width, height: HEADER });
            x += width + behind + lanes(right) + overhang(scene, rows, plan, index, Side::Right);
            if index + 1 < scene.columns.len() {
                x += gutters[index];
            }
        }
        self.width = x + MARGIN;
    }

    /// Init writes stand in a row at the top, each above those that read it as far as there is room; returns where the
    /// frames may start.
    fn place_inits(&mut self, scene: &Scene, rows: &Rows, plan: &Plan) -> f64 {
        let top = MARGIN + if scene.title.is_empty() { 0.0 } else { 26.0 };
        if scene.inits.is_empty() {
            return top;
        }
        let height = LINE + 8.0;
        let mut wanted: Vec<(i64, usize)> =
            scene.inits.iter().map(|node| (self.pull(scene, rows, plan, *node) as i64, *node)).collect();
        wanted.shared_sort();
        let mut x = MARGIN;
        for (pull, node) in &wanted {
            let widest = scene.nodes[*node].lines.iter().map(line_width).max().unwrap_or(0);
            let width = widest as f64 * CHARACTER + 2.0 * PADDING;
            x = x.max(*pull as f64 - width / 2.0);
            self.boxes[*node] = Rect { x, y: top, width, height };
            x += width + INIT_GAP;
        }
        // Push back to the left what would stick out on the right.
        let mut limit = self.width.max(x - INIT_GAP + MARGIN) - MARGIN;
        let packed: f64 = wanted.iter().map(|(_, node)| self.boxes[*node].width + INIT_GAP).sum::<f64>() - INIT_GAP;
        if packed + 2.0 * MARGIN <= self.width {
            limit = self.width - MARGIN;
        }
        for (_, node) in wanted.iter().rev() {
            let rect = &mut self.boxes[*node];
            rect.x = rect.x.min(limit - rect.width);
            limit = rect.x - INIT_GAP;
        }
        let right = wanted.iter().map(|(_, node)| self.boxes[*node].right()).fold(0.0, f64::max);
        self.width = self.width.max(right + MARGIN);
        let used = scene.edges.iter().any(|edge| is_init(scene, edge.from) || is_init(scene, edge.to));
        let strip = if used { INIT_STRIP } else { 16.0 };
        self.strip = (top + height, top + height + strip);
        self.strip.1
    }

    /// Where an init write would like to be: above the lanes its edges take.
    fn pull(&self, scene: &Scene, rows: &Rows, plan: &Plan, init: usize) -> f64 {
        let mut places = Vec::new();
        for (edge, way) in scene.edges.iter().zip(&plan.ways) {
            let other = if edge.from == init { edge.to } else { edge.from };
            let touches = edge.from == init || edge.to == init;
            if let (true, Way::Above { side, .. }, Some(cell)) = (touches, way, rows.cell_of[other]) {
                let header = self.headers[rows.cells[cell].column];
                places.push(if *side == Side::Left { header.x - LANE } else { header.right() + LANE });
            }
        }
        let middle = (self.width - MARGIN) / 2.0;
        if places.is_empty() { middle } else { places.iter().sum::<f64>() / places.len() as f64 }
    }

    fn place_rows(&mut self, scene: &Scene, rows: &Rows, plan: &Plan, top: f64) {
        self.headers.iter_mut().for_each(|header| header.y = top);
        let mut y = top + HEADER;
        for row in 0..=rows.count {
            self.channels.push(y);
            let slots = plan.slots.get(row).copied().unwrap_or(0) as f64 * SLOT;
            let base = if row == 0 {
                6.0
            } else if row == rows.count {
                10.0
            } else {
                CHANNEL
            };
            y += if slots > 0.0 { base.max(16.0) + slots } else { base };
            let mut height: f64 = 0.0;
            for cell in rows.cells.iter().filter(|cell| cell.row == row) {
                let header = self.headers[cell.column];
                let mut bottom = y;
                for node in &cell.nodes {
                    let lines = scene.nodes[*node].lines.len().max(1) as f64;
                    let own = lines * LINE + 10.0;
                    self.boxes[*node] = Rect { x: header.x, y: bottom, width: header.width, height: own };
                    bottom += own + 9.0;
                }
                height = height.max(bottom - 9.0 - y);
            }
            y += height;
        }
        self.footer = y;
        self.ground = y;
        for (column, header) in scene.columns.iter().zip(&self.headers) {
            let last = column.nodes.last().map_or(header.bottom(), |node| self.boxes[*node].bottom());
            self.endings.push(Point { x: header.x + header.width / 2.0, y: last + 15.0 });
        }
        if scene.columns.iter().any(|column| column.ending.is_some()) {
            self.footer += 14.0;
        }
    }

    /// One frame per run of neighbouring threads of a GPU, a cluster, a CTA.
    fn place_frames(&mut self, scene: &Scene, levels: &[Level], top: f64) {
        for (depth, level) in levels.iter().enumerate() {
            let inset = (levels.len() - depth) as f64 * FRAME_STEP;
            let mut first = 0;
            while first < scene.columns.len() {
                let Some(key) = key(scene.columns[first].place, *level) else {
                    first += 1;
                    continue;
                };
                let same =
                    scene.columns[first..].iter().take_while(|column| self::key(column.place, *level) == Some(key));
                let last = first + same.count() - 1;
                let y = top + depth as f64 * FRAME_LABEL;
                let bottom = self.footer + inset;
                let x = self.headers[first].x - inset;
                let rect = Rect { x, y, width: self.headers[last].right() + inset - x, height: bottom - y };
                self.frames.push(Frame { rect, label: frame_label(key, *level), level: *level });
                first = last + 1;
            }
        }
        self.footer += levels.len() as f64 * FRAME_STEP + 10.0;
    }

    /// Captions, then the legend in as many rows as the width allows.
    fn place_footer(&mut self, scene: &Scene) {
        let longest = scene.caption.iter().chain([&scene.title]).map(|line| characters(line)).max().unwrap_or(0);
        self.width = self.width.max(longest as f64 * labels::CHARACTER + 2.0 * MARGIN);
        let legend = legend::entries(scene, self);
        let bottom = legend.last().map_or(self.footer, |entry| entry.at.y + 8.0);
        let caption = self.footer + scene.caption.len() as f64 * 18.0;
        self.height = bottom.max(caption) + MARGIN - 8.0;
    }
}

/// Letters that the number of the line takes from each side of a box.
const LINE_NUMBER: usize = 2;

fn node_widths(node: &Node) -> impl Iterator<Item = usize> {
    let number = if node.line.is_some() { 2 * LINE_NUMBER } else { 0 };
    node.lines.iter().enumerate().map(move |(index, line)| line_width(line) + if index == 0 { number } else { 0 })
}

/// Text and the name of the proxy behind it.
fn line_width(line: &Line) -> usize {
    characters(&line.text) + line.mark.map_or(0, |mark| characters(mark.name()) + 1)
}

/// The width of the gutter right of each column: room for the longest name of an edge that stays in it.
fn gutters(scene: &Scene, rows: &Rows) -> Vec<f64> {
    let lanes = scene.columns.iter().skip(1).map(|column| column.kind == ColumnKind::Strands).chain([false]);
    let mut widths: Vec<f64> = lanes.map(|is_lane| if is_lane { LANE_GUTTER } else { NARROWEST_GUTTER }).collect();
    for edge in &scene.edges {
        let (Some(from), Some(to)) = (rows.cell_of[edge.from], rows.cell_of[edge.to]) else { continue };
        let (a, b) = (rows.cells[from].column, rows.cells[to].column);
        if a.abs_diff(b) == 1 {
            let width = &mut widths[a.min(b)];
            *width = width.max(labels::widest(&edge.label) * labels::CHARACTER + GUTTER_ENDS);
        }
    }
    widths
}

/// How far the longest name on a lane beside the column sticks out.
fn overhang(scene: &Scene, rows: &Rows, plan: &Plan, column: usize, side: Side) -> f64 {
    let mut widest: f64 = 0.0;
    for (edge, way) in scene.edges.iter().zip(&plan.ways) {
        let here = |node: usize| rows.cell_of[node].is_some_and(|cell| rows.cells[cell].column == column);
        if matches!(way, Way::Beside { side: own, .. } if *own == side) && here(edge.from) {
            widest = widest.max(labels::widest(&edge.label) * CHARACTER / 2.0);
        }
    }
    (widest - LANE).max(0.0)
}

/// Room for the lanes on one side of a column.
fn lanes(count: usize) -> f64 {
    if count == 0 { 0.0 } else { lane_offset(count - 1) + 8.0 }
}

/// Which frames are worth drawing: none where there is a host only; clusters only where one has several CTAs.
fn levels(scene: &Scene) -> Vec<Level> {
    let places: SortedSet<Place> = scene.columns.iter().map(|column| column.place).collect();
    let gpu: Vec<(u32, u32, u32)> = places
        .iter()
        .filter_map(|place| match place {
            Place::Gpu { gpu, cluster, cta } => Some((*gpu, *cluster, *cta)),
            Place::Host => None,
        })
        .collect();
    if gpu.is_empty() {
        return Vec::new();
    }
    let clusters: SortedSet<(u32, u32)> = gpu.iter().map(|(gpu, cluster, _)| (*gpu, *cluster)).collect();
    let shared = clusters.len() < gpu.len();
    if shared { vec![Level::Gpu, Level::Cluster, Level::Cta] } else { vec![Level::Gpu, Level::Cta] }
}

/// Threads of the host stand in one frame beside those of the GPUs.
const HOST: (u32, u32, u32) = (u32::MAX, 0, 0);

fn key(place: Place, level: Level) -> Option<(u32, u32, u32)> {
    let Place::Gpu { gpu, cluster, cta } = place else { return (level == Level::Gpu).then_some(HOST) };
    Some(match level {
        Level::Gpu => (gpu, 0, 0),
        Level::Cluster => (gpu, cluster, 0),
        Level::Cta => (gpu, cluster, cta),
    })
}

fn frame_label((gpu, cluster, cta): (u32, u32, u32), level: Level) -> String {
    match level {
        Level::Gpu if (gpu, cluster, cta) == HOST => "host".to_owned(),
        Level::Gpu => format!("GPU {gpu}"),
        Level::Cluster => format!("cluster {cluster}"),
        Level::Cta => format!("CTA {cta}"),
    }
}
