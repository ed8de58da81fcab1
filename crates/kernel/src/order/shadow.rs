//! Shadow memory: who last wrote and who has read each cell, as far as a later access may still race with it.

use std::collections::HashMap;

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

/// One access of some lanes to some bytes of a cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub record: RecordId,
    pub lanes: u32,
    /// Which of the four bytes.
    pub bytes: u8,
}

/// Mostly one entry.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    first: Option<Entry>,
    rest: Option<Box<Vec<Entry>>>,
}

impl Entries {
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }

    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Keeps what `keep` says, which may also take lanes away.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut Entry) -> bool) {
        if let Some(rest) = &mut self.rest {
            rest.retain_mut(&mut keep);
        }
        if let Some(first) = &mut self.first
            && !keep(first)
        {
            self.first = self.rest.as_mut().and_then(|rest| rest.pop());
        }
        if self.rest.as_ref().is_some_and(|rest| rest.is_empty()) {
            self.rest = None;
        }
    }

    pub fn push(&mut self, entry: Entry) {
        for own in self.first.iter_mut().chain(self.rest.iter_mut().flat_map(|rest| rest.iter_mut())) {
            if own.record == entry.record && own.bytes == entry.bytes {
                own.lanes |= entry.lanes;
                return;
            }
        }
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.rest.get_or_insert_default().push(entry);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub writers: Entries,
    pub readers: Entries,
}

const PAGE: usize = 256;

/// Pages of cells, made when they are touched.
#[derive(Default)]
pub struct Shadow {
    pages: HashMap<(Region, u64), Box<[Cell; PAGE]>>,
}

impl Shadow {
    /// The cell with this number: of four bytes, or one of tensor memory.
    pub fn cells(&mut self, region: Region, first: u64, last: u64, mut visit: impl FnMut(u64, &mut Cell)) {
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

    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_record_are_one() {
        let mut entries = Entries::default();
        entries.push(Entry { record: 1, lanes: 1, bytes: 15 });
        entries.push(Entry { record: 1, lanes: 2, bytes: 15 });
        entries.push(Entry { record: 2, lanes: 4, bytes: 3 });
        assert_eq!(entries.len(), 2);
        entries.retain(|entry| entry.record != 1);
        let left: Vec<Entry> = entries.iter().copied().collect();
        assert_eq!(left, [Entry { record: 2, lanes: 4, bytes: 3 }]);
        entries.retain(|_| false);
        assert!(entries.is_empty() && entries.len() == 0);
    }

    #[test]
    fn cells_are_visited_over_pages() {
        let mut shadow = Shadow::default();
        let mut seen = Vec::new();
        shadow.cells(Region::Shared(0), 254, 258, |cell, _| seen.push(cell));
        assert_eq!(seen, [254, 255, 256, 257, 258]);
        assert_eq!(shadow.pages(), 2);
    }
}
