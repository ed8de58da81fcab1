//! Which row of the grid each box is in. A thread's instructions take one row each, from the top; barrier operations
//! that met stand side by side where that is possible (crossed barriers have no such arrangement), and an asynchronous
//! operation stands beside the instruction that issues it: as each has an issue of its own, no two come to overlap.

use crate::render::scene::Scene;

/// The boxes of one instruction: one, or the two halves of a read-modify-write.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) row: usize,
    pub(crate) nodes: Vec<usize>,
}

pub(crate) struct Rows {
    pub(crate) cells: Vec<Cell>,
    /// The cell of each node; None for init writes.
    pub(crate) cell_of: Vec<Option<usize>>,
    pub(crate) count: usize,
}

impl Rows {
    pub(crate) fn new(scene: &Scene) -> Rows {
        let mut rows = Rows { cells: Vec::new(), cell_of: vec![None; scene.nodes.len()], count: 0 };
        for (column, drawn) in scene.columns.iter().enumerate() {
            let first = rows.cells.len();
            for &node in &drawn.nodes {
                let joined = scene.nodes[node].joined && rows.cells.len() > first;
                if !joined {
                    let row = rows.cells.len() - first;
                    rows.cells.push(Cell { column, row, nodes: Vec::new() });
                }
                let cell = rows.cells.len() - 1;
                rows.cells[cell].nodes.push(node);
                rows.cell_of[node] = Some(cell);
            }
        }
        rows.align(scene);
        rows.place_strands(scene);
        rows.count = rows.cells.iter().map(|cell| cell.row + 1).max().unwrap_or(0);
        rows
    }

    fn place_strands(&mut self, scene: &Scene) {
        for at in 0..self.cells.len() {
            let first = self.cells[at].nodes.first();
            let issue = first.and_then(|node| scene.nodes[*node].anchor).and_then(|issue| self.cell_of[issue]);
            if let Some(issue) = issue {
                self.cells[at].row = self.cells[issue].row;
            }
        }
    }

    /// Pushes cells down until each meeting is in one row; gives up where that would never end.
    fn align(&mut self, scene: &Scene) {
        let simple: Vec<usize> = self.cells.iter().map(|cell| cell.row).collect();
        let deepest = self.cells.len();
        loop {
            let mut moved = false;
            for meeting in &scene.meetings {
                let cells: Vec<usize> = meeting.iter().filter_map(|node| self.cell_of[*node]).collect();
                let row = cells.iter().map(|cell| self.cells[*cell].row).max().unwrap_or(0);
                for cell in cells {
                    moved |= self.cells[cell].row != row;
                    self.cells[cell].row = row;
                }
            }
            for next in 1..self.cells.len() {
                let (column, row) = (self.cells[next - 1].column, self.cells[next - 1].row);
                if self.cells[next].column == column && self.cells[next].row <= row {
                    self.cells[next].row = row + 1;
                    moved = true;
                }
            }
            if !moved {
                return;
            }
            if self.cells.iter().any(|cell| cell.row > deepest) {
                self.cells.iter_mut().zip(simple).for_each(|(cell, row)| cell.row = row);
                return;
            }
        }
    }
}
