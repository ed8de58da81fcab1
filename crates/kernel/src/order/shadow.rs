//! Shadow memory: who last wrote and who has read each cell, as far as a later access may still race with it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use fencepost_syntax::sorted::SharedSort as _;

use super::record::RecordId;
use super::views::{Cta, Domain};

/// A memory of its own: addresses in it are bytes, or cells of tensor memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Region {
    Global(u32),
    Shared(Cta),
    Tensor(Cta),
}

impl Region {
    pub fn domain(self) -> Domain {
        match self {
            Region::Global(_) => Domain::Global,
            Region::Shared(cta) | Region::Tensor(cta) => Domain::Shared(cta),
        }
    }
}

/// Accesses that are forgotten behind a write, by the number of their list.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum StandsFor {
    #[default]
    None,
    List(u32),
    /// More than are kept.
    Many,
}

/// One access of some lanes to some bytes of a cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) record: RecordId,
    pub(super) lanes: u32,
    /// Which of the four bytes.
    pub(super) bytes: u8,
    /// Of a write that may be observed.
    pub(super) stands_for: StandsFor,
}

/// Mostly one entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    first: Option<Entry>,
    rest: Vec<Entry>,
}

impl Entries {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(self.rest.iter())
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Forgets one of the oldest where there are more. Whether it did.
    pub(super) fn keep_at_most(&mut self, most: usize) -> bool {
        let crowded = self.len() > most;
        if crowded && !self.rest.is_empty() {
            self.first = Some(self.rest.swap_remove(0));
        }
        crowded
    }

    /// Keeps what `keep` says, which may also take lanes away.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Entry) -> bool) {
        if !self.rest.is_empty() {
            self.rest.retain_mut(&mut keep);
        }
        if let Some(first) = &mut self.first
            && !keep(first)
        {
            self.first = self.rest.pop();
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        for own in self.first.iter_mut().chain(self.rest.iter_mut()) {
            if own.record == entry.record && own.bytes == entry.bytes {
                own.lanes |= entry.lanes;
                if own.stands_for != entry.stands_for {
                    own.stands_for = StandsFor::Many;
                }
                return;
            }
        }
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.rest.push(entry);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) writers: Entries,
    pub(super) readers: Entries,
    /// What the last write came after, and so stands for: asked only where a write of the same value is let pass.
    pub(super) before: Vec<Entry>,
}

const PAGE: usize = 256;

/// Pages of cells, made when they are touched.
#[derive(Default)]
pub(super) struct Shadow {
    pages: HashMap<(Region, u64), Box<[Cell; PAGE]>, BuildHasherDefault<PageHasher>>,
}

/// Pages are looked up at every access: a product and a rotation for each number of the key.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

impl Shadow {
    /// Every entry of every cell, in no order that means anything.
    pub(super) fn visit(&self, mut see: impl FnMut(Region, u64, &Entry)) {
        let mut pages: Vec<_> = self.pages.iter().collect();
        pages.shared_sort_by_key(|(key, _)| **key);
        for ((region, page), cells) in pages {
            for (index, cell) in cells.iter().enumerate() {
                let number = page * PAGE as u64 + index as u64;
                cell.writers.iter().chain(cell.readers.iter()).for_each(|entry| see(*region, number, entry));
            }
        }
    }

    /// The cell with this number: of four bytes, or one of tensor memory.
    pub(super) fn cells(&mut self, region: Region, first: u64, last: u64, mut visit: impl FnMut(u64, &mut Cell)) {
        let mut cell = first;
        while cell <= last {
            let page = cell / PAGE as u64;
            let end = last.min((page + 1) * PAGE as u64 - 1);
            let cells = self.pages.entry((region, page)).or_insert_with(|| {
                let cells: Vec<Cell> = vec![Cell::default(); PAGE];
                cells.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("a page has {PAGE} cells"))
            });
            while cell <= end {
                visit(cell, &mut cells[(cell % PAGE as u64) as usize]);
                cell += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_record_are_one() {
        let mut entries = Entries::default();
        entries.push(Entry { record: 1, lanes: 1, bytes: 15, stands_for: StandsFor::None });
        entries.push(Entry { record: 1, lanes: 2, bytes: 15, stands_for: StandsFor::None });
        entries.push(Entry { record: 2, lanes: 4, bytes: 3, stands_for: StandsFor::None });
        assert_eq!(entries.len(), 2);
        entries.retain(|entry| entry.record != 1);
        let left: Vec<Entry> = entries.iter().copied().collect();
        assert_eq!(left, [Entry { record: 2, lanes: 4, bytes: 3, stands_for: StandsFor::None }]);
        entries.retain(|_| false);
        assert_eq!(entries.len(), 0);
    }

    #[test]
    fn the_newest_entries_are_kept() {
        let mut entries = Entries::default();
        for record in 1..=6 {
            entries.push(Entry { record, lanes: 1, bytes: 15, stands_for: StandsFor::None });
            assert_eq!(entries.keep_at_most(4), record > 4);
            assert!(entries.len() <= 4 && entries.iter().any(|entry| entry.record == record));
        }
    }

    #[test]
    fn cells_are_visited_over_pages() {
        let mut shadow = Shadow::default();
        let mut seen = Vec::new();
        shadow.cells(Region::Shared(0), 254, 258, |cell, _| seen.push(cell));
        assert_eq!(seen, [254, 255, 256, 257, 258]);
        assert_eq!(shadow.pages.len(), 2);
    }
}
