//! Where everything is, and the distances that it is placed by. Text sizes are those of a monospace font at 12 px (0.6 em
//! per character); no font is measured, so that the picture is the same on every machine.

pub(crate) mod arrangement;
pub(crate) mod geometry;
pub(crate) mod labels;
pub(crate) mod legend;
pub(crate) mod plan;
pub(crate) mod route;
pub(crate) mod rows;

use fencepost_syntax::sorted::SortedSet;

use crate::render::layout::geometry::{Path, Point, Rect};

pub(crate) const CHARACTER: f64 = 7.3;
pub(crate) const LINE: f64 = 16.0;
pub(crate) const MARGIN: f64 = 18.0;
pub(crate) const LANE: f64 = 13.0;
pub(crate) const FRAME_STEP: f64 = 9.0;
pub(crate) const SLOT: f64 = 15.0;

pub(crate) struct Frame {
    pub(crate) rect: Rect,
    pub(crate) label: String,
    pub(crate) level: Level,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    Gpu,
    Cluster,
    Cta,
}

pub(crate) struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// One per node.
    pub(crate) boxes: Vec<Rect>,
    /// Column headers, one per column: the extent of the column and the header's baseline.
    pub(crate) headers: Vec<Rect>,
    pub(crate) frames: Vec<Frame>,
    /// Where the note about a thread that did not exit stands.
    pub(crate) endings: Vec<Point>,
    /// One per edge.
    pub(crate) paths: Vec<Path>,
    pub(crate) labels: Vec<Option<Label>>,
    /// Channel tops, one per row and one below the last.
    pub(crate) channels: Vec<f64>,
    /// Between the init writes and the frames.
    pub(crate) strip: (f64, f64),
    /// Below the last row.
    pub(crate) ground: f64,
    /// Where captions and the legend start.
    pub(crate) footer: f64,
}

/// Columns of a terminal the text takes: letters of East Asian scripts and emoji are twice as wide.
pub(crate) fn characters(text: &str) -> usize {
    text.chars()
        .map(|character| if character as u32 >= 0x1100 && !matches!(character as u32, 0x2000..=0x2bff) { 2 } else { 1 })
        .sum()
}

/// How far out a lane is from the column's frames.
pub(crate) fn lane_offset(lane: usize) -> f64 {
    9.0 + lane as f64 * LANE
}

pub(crate) fn frame_reserve(layout: &Layout) -> f64 {
    let levels: SortedSet<Level> = layout.frames.iter().map(|frame| frame.level).collect();
    levels.len() as f64 * FRAME_STEP
}

pub(crate) fn slot_y(layout: &Layout, channel: usize, slot: usize) -> f64 {
    layout.channels[channel] + 13.0 + slot as f64 * SLOT
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Label {
    pub(crate) centre: Point,
    pub(crate) rect: Rect,
}
