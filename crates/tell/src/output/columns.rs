//! A plain table: columns as wide as they need to be, the first one shortened where a terminal is too narrow.

use super::width::{Width, shortened};

/// The first column keeps so much, however narrow the terminal.
const SHORTEST: usize = 16;

/// `paint` colours a cell, given its row and column. The last column is not padded.
pub(crate) fn columns(
    headings: &[&str],
    rows: &[Vec<String>],
    width: Width,
    paint: impl Fn(usize, usize, &str) -> String,
) -> String {
    Columns::new(headings, width).lines(rows, paint)
}

/// A table that is written as its rows come. A column is as wide as its cells so far.
pub(crate) struct Columns {
    headings: Vec<String>,
    width: Width,
    widths: Vec<usize>,
    /// The headings are written.
    begun: bool,
}

impl Columns {
    pub(crate) fn new(headings: &[&str], width: Width) -> Columns {
        let widths = headings.iter().map(|heading| heading.chars().count()).collect();
        Columns { headings: headings.iter().map(|&heading| heading.to_owned()).collect(), width, widths, begun: false }
    }

    /// At least so wide.
    pub(crate) fn reserve(&mut self, widths: &[usize]) {
        self.widths.iter_mut().zip(widths).for_each(|(width, wanted)| *width = (*width).max(*wanted));
    }

    pub(crate) fn lines(&mut self, rows: &[Vec<String>], paint: impl Fn(usize, usize, &str) -> String) -> String {
        let mut rows = rows.to_vec();
        for (column, width) in self.widths.iter_mut().enumerate().skip(1) {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            *width = cells.max().unwrap_or(0).max(*width);
        }
        let others: usize = self.widths.iter().skip(1).map(|width| width + 2).sum();
        let room = self.width.left(others, SHORTEST);
        for first in rows.iter_mut().filter_map(|row| row.first_mut()) {
            *first = shortened(first, room);
        }
        if let Some(width) = self.widths.first_mut() {
            let cells = rows.iter().filter_map(|row| row.first()).map(|cell| cell.chars().count());
            *width = cells.max().unwrap_or(0).max((*width).min(room));
        }
        let mut text = String::new();
        if !self.begun {
            text.push_str(&self.line(&self.headings, &|_, cell| cell.to_owned()));
            self.begun = true;
        }
        for (number, row) in rows.iter().enumerate() {
            text.push_str(&self.line(row, &|column, cell| paint(number, column, cell)));
        }
        text
    }

    fn line(&self, cells: &[String], paint: &dyn Fn(usize, &str) -> String) -> String {
        let mut text = String::new();
        for (column, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            text.push_str(&paint(column, cell));
            text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
        }
        format!("{}\n", text.trim_end())
    }
}
