//! Where everything is, and the distances that it is placed by. Text sizes are those of a monospace font at 12 px (0.6 em
//! per character); no font is measured, so that the picture is the same on every machine.

use std::collections::BTreeSet;

use super::geometry::{Path, Point, Rect};

pub(super) const CHARACTER: f64 = 7.3;
pub(super) const LINE: f64 = 16.0;
pub(super) const MARGIN: f64 = 18.0;
pub(super) const LANE: f64 = 13.0;
pub(super) const FRAME_STEP: f64 = 9.0;
pub(super) const SLOT: f64 = 15.0;

pub(super) struct Frame {
    pub(super) rect: Rect,
    pub(super) label: String,
    pub(super) level: Level,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Gpu,
    Cluster,
    Cta,
}

pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// One per node.
    pub(super) boxes: Vec<Rect>,
    /// Column headers, one per column: the extent of the column and the header's baseline.
    pub(super) headers: Vec<Rect>,
    pub(super) frames: Vec<Frame>,
    /// Where the note about a thread that did not exit stands.
    pub(super) endings: Vec<Point>,
    /// One per edge.
    pub(super) paths: Vec<Path>,
    pub(super) labels: Vec<Option<Label>>,
    /// Channel tops, one per row and one below the last.
    pub(super) channels: Vec<f64>,
    /// Between the init writes and the frames.
    pub(super) strip: (f64, f64),
    /// Below the last row.
    pub(super) ground: f64,
    /// Where captions and the legend start.
    pub(super) footer: f64,
}

/// Columns of a terminal the text takes: letters of East Asian scripts and emoji are twice as wide.
pub(super) fn characters(text: &str) -> usize {
    text.chars()
        .map(|character| if character as u32 >= 0x1100 && !matches!(character as u32, 0x2000..=0x2bff) { 2 } else { 1 })
        .sum()
}

/// How far out a lane is from the column's frames.
pub(super) fn lane_offset(lane: usize) -> f64 {
    9.0 + lane as f64 * LANE
}

pub(super) fn frame_reserve(layout: &Layout) -> f64 {
    let levels: BTreeSet<Level> = layout.frames.iter().map(|frame| frame.level).collect();
    levels.len() as f64 * FRAME_STEP
}

pub(super) fn slot_y(layout: &Layout, channel: usize, slot: usize) -> f64 {
    layout.channels[channel] + 13.0 + slot as f64 * SLOT
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Label {
    pub(super) centre: Point,
    pub(super) rect: Rect,
}
