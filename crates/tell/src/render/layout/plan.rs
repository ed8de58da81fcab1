//! How each edge will run, before any coordinate is known: the number of lanes decides how wide the gutters between
//! columns and how high the channels between rows must be.
//!
//! Edges never cross a box: they run in gutters (beside columns) and channels (between rows) only. Between neighbouring
//! columns an edge is one curve inside the gutter; to a distant column it passes the columns between through a channel;
//! inside a column it bends out to the side and back.

use crate::render::layout::rows::Rows;
use crate::render::scene::palette::Relation;
use crate::render::scene::{ColumnKind, Scene};

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// From a box straight down to the next box of the column.
    Down,
    /// Out and back on one side of a column; `lane` 0 is closest.
    Beside { side: Side, lane: usize },
    /// Through the gutter between neighbours.
    Neighbour,
    /// Through channel `channel` (above row `channel`) past the columns between.
    Across { channel: usize, slot: usize },
    /// Between an init write above and an event, along a lane beside the event's column.
    Above { side: Side, lane: usize },
    /// Between two init writes.
    Top,
}

pub(crate) struct Plan {
    /// One per edge of the scene.
    pub(crate) ways: Vec<Way>,
    /// How many edges run in each channel.
    pub(crate) slots: Vec<usize>,
    /// How many lanes lie left and right of each column.
    pub(crate) lanes: Vec<(usize, usize)>,
}

impl Plan {
    pub(crate) fn new(scene: &Scene, rows: &Rows) -> Plan {
        let mut plan =
            Plan { ways: Vec::new(), slots: vec![0; rows.count + 1], lanes: vec![(0, 0); scene.columns.len()] };
        for edge in &scene.edges {
            let way = match (rows.cell_of[edge.from], rows.cell_of[edge.to]) {
                (Some(from), Some(to)) => {
                    let (a, b) = (&rows.cells[from], &rows.cells[to]);
                    match a.column.abs_diff(b.column) {
                        0 if edge.to == edge.from + 1 && is_straight(&edge.relation) => Way::Down,
                        0 => plan.beside(a.column, outer(scene, a.column)),
                        1 => Way::Neighbour,
                        _ => plan.across(a.row, b.row),
                    }
                }
                (Some(cell), None) | (None, Some(cell)) => {
                    let column = rows.cells[cell].column;
                    plan.above(column, outer(scene, column))
                }
                (None, None) => Way::Top,
            };
            plan.ways.push(way);
        }
        plan
    }

    fn beside(&mut self, column: usize, side: Side) -> Way {
        Way::Beside { side, lane: self.take_lane(column, side) }
    }

    fn above(&mut self, column: usize, side: Side) -> Way {
        Way::Above { side, lane: self.take_lane(column, side) }
    }

    fn take_lane(&mut self, column: usize, side: Side) -> usize {
        let lanes = &mut self.lanes[column];
        let lane = match side {
            Side::Left => &mut lanes.0,
            Side::Right => &mut lanes.1,
        };
        *lane += 1;
        *lane - 1
    }

    /// The emptiest channel next to either row; of equals, one between the rows.
    fn across(&mut self, from: usize, to: usize) -> Way {
        let (upper, lower) = (from.min(to), from.max(to));
        let candidates = [lower, upper + 1, upper, lower + 1];
        let channel = candidates.into_iter().min_by_key(|channel| self.slots[*channel]).unwrap_or(lower);
        let slot = self.slots[channel];
        self.slots[channel] += 1;
        Way::Across { channel, slot }
    }
}

/// Whether an edge to the box below is a straight line: program order, and the order of what stands beside it.
fn is_straight(relation: &Relation) -> bool {
    matches!(relation, Relation::Po | Relation::Rmw | Relation::Then)
}

/// The side of a column that looks away from the middle: edges to other columns mostly use the other one. Between a
/// thread and its strands are only the edges that connect them.
fn outer(scene: &Scene, column: usize) -> Side {
    let is_lane = |at: usize| scene.columns.get(at).is_some_and(|column| column.kind == ColumnKind::Strands);
    let columns = scene.columns.len();
    match () {
        () if is_lane(column) => Side::Right,
        () if is_lane(column + 1) => Side::Left,
        () if column * 2 < columns.saturating_sub(1) || columns == 1 => Side::Left,
        () => Side::Right,
    }
}
