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
    let mut rows = rows.to_vec();
    let longest = |rows: &[Vec<String>], column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(headings.get(column).map(|heading| heading.chars().count())).max().unwrap_or(0)
    };
    let others: usize = (1..headings.len()).map(|column| longest(&rows, column) + 2).sum();
    let room = width.left(others, SHORTEST);
    for first in rows.iter_mut().filter_map(|row| row.first_mut()) {
        *first = shortened(first, room);
    }
    let widths: Vec<usize> = (0..headings.len()).map(|column| longest(&rows, column)).collect();
    let line = |cells: &[String], paint: &dyn Fn(usize, &str) -> String| {
        let mut text = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            text.push_str(&paint(column, cell));
            text.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        format!("{}\n", text.trim_end())
    };
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let mut text = line(&headings, &|_, cell| cell.to_owned());
    for (number, row) in rows.iter().enumerate() {
        text.push_str(&line(row, &|column, cell| paint(number, column, cell)));
    }
    text
}
