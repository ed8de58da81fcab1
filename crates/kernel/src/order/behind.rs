//! Strong reads that shadow memory has forgotten behind a later access to the same bytes.
//!
//! A write that is not ordered with the later access does not race with it if both are strong; but it need not be ordered with
//! the read either, which then might have returned what it wrote. So of each access it is kept which reads are forgotten
//! behind it.

use std::collections::{HashMap, HashSet};

use super::clock::Lane;
use super::record::{Record, RecordId};

#[derive(Default)]
pub(super) struct Behind {
    forgotten: HashMap<RecordId, Vec<(RecordId, u32)>>,
}

impl Behind {
    /// These lanes of the earlier access are forgotten behind the later one.
    pub(super) fn forget(&mut self, later: RecordId, (earlier, lanes): (RecordId, u32), record: &Record) {
        if record.strong.is_none() || !(record.returns || self.forgotten.contains_key(&earlier)) {
            return;
        }
        let list = self.forgotten.entry(later).or_default();
        match list.iter_mut().find(|(own, _)| *own == earlier) {
            Some((_, own)) => *own |= lanes,
            None => list.push((earlier, lanes)),
        }
    }

    /// Reads behind an access that do not come before another. With `once` they are not asked for again: what comes
    /// before is still kept.
    pub(super) fn unordered(
        &mut self,
        access: RecordId,
        once: bool,
        mut comes_before: impl FnMut(RecordId, Lane) -> bool,
    ) -> Vec<RecordId> {
        let Some(first) = self.forgotten.get(&access) else { return Vec::new() };
        let (mut open, mut seen, mut found, mut kept) = (first.clone(), HashSet::new(), Vec::new(), Vec::new());
        while let Some((read, lanes)) = open.pop() {
            if !seen.insert((read, lanes)) {
                continue;
            }
            // What lies behind one that comes before comes before, too.
            if (0..32).filter(|lane| lanes & (1 << lane) != 0).all(|lane| comes_before(read, lane)) {
                kept.push((read, lanes));
                continue;
            }
            found.push(read);
            open.extend(self.forgotten.get(&read).into_iter().flatten().copied());
        }
        if once {
            self.forgotten.insert(access, kept);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::Scope;
    use crate::order::record::{Kind, Path};

    #[test]
    fn reads_are_found_behind_each_other() {
        let strong = Some(Scope::Gpu);
        let record = |returns| Record {
            pc: 0,
            cta: 0,
            warp: 0,
            time: 0,
            kind: Kind::Read,
            path: Path::Generic,
            strong,
            size: 4,
            commutes: None,
            returns,
        };
        let mut behind = Behind::default();
        behind.forget(2, (1, 1), &record(true));
        behind.forget(3, (2, 1), &record(true));
        // A store returns nothing, and stands for what is behind it.
        behind.forget(4, (3, 1), &record(true));
        behind.forget(5, (4, 1), &record(false));
        behind.forget(6, (9, 1), &record(false));
        assert_eq!(behind.unordered(5, false, |_, _| false), [4, 3, 2, 1]);
        assert!(behind.unordered(6, false, |_, _| false).is_empty());
        // The first two come before: they are kept for another write.
        assert_eq!(behind.unordered(5, true, |read, _| read <= 2), [4, 3]);
        assert_eq!(behind.unordered(5, true, |_, _| false), [2, 1]);
        assert!(behind.unordered(5, true, |_, _| false).is_empty());
    }
}
