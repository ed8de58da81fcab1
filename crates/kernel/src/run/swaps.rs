//! What depends on the order of strong writes: compare-and-swaps that fail, and what unordered writes leave in memory.
//!
//! A compare-and-swap that fails writes nothing (9.7.15.5). One run shows that it has failed; that it fails in every execution
//! follows if what it read and compared is determined: no write is unordered with it, and none of the values depends on
//! anything that is not. Other swaps that fail in every execution are no writes. So the swaps that may succeed are the
//! least set that is closed under these rules. This is the induction of docs/kernels.md: the first swap that succeeds
//! though it should not would have read what no write before it has left.
//!
//! Two strong writes that are not ordered do not race, and who comes after both finds what the later one left. That is
//! determined if they are additions, or another operation of which the order does not matter, or stores of one value.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fencepost_syntax::sorted::SortedSet;

use super::Run;
use super::taint::Read;
use crate::code::op::Pc;
use crate::memory::Taint;
use crate::order::record::{Kind, RecordId};
use crate::order::{Region, Touched};
use crate::report::Doubt;

/// The compare-and-swaps of a warp at one instruction.
type Swap = (u32, Pc);

/// Those of them that have failed.
#[derive(Default)]
struct Attempts {
    /// As strong reads.
    reads: SortedSet<u32>,
    /// What they have compared depends on this.
    taints: SortedSet<Taint>,
}

/// Why what lies in memory is not determined.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub(super) enum Left {
    /// A compare-and-swap has failed there.
    ByAttempt,
    ByUnorderedWrites,
}

#[derive(Default)]
pub(super) struct Swaps {
    failed: BTreeMap<Swap, Attempts>,
    /// What is read differs if one of these swaps succeeds: the number of the read, and the swap.
    depends: BTreeSet<(u32, u32, Pc)>,
    /// There were more.
    cut: bool,
    /// What is left at a place is a source like a strong read.
    left: HashMap<(Region, u64, Left), Source>,
}

#[derive(Copy, Clone)]
struct Source {
    read: u32,
    taint: Taint,
    /// How many there were before at the same place.
    number: u32,
}

/// What is done later at a place does not change what was decided before. Of one place so many sources are told apart.
const MOST_SOURCES: u32 = 4;

/// Strong reads times swaps that are told apart.
const MOST_DEPENDENCES: usize = 1 << 18;

impl Run<'_> {
    fn swap_of(&self, attempt: RecordId) -> Swap {
        let record = self.order.record_at(attempt);
        (record.warp, record.pc)
    }

    fn awaits_swap(&mut self, read: u32, swap: Swap) {
        if self.swaps.depends.len() < MOST_DEPENDENCES {
            self.swaps.depends.insert((read, swap.0, swap.1));
        } else {
            self.swaps.cut = true;
        }
    }

    /// A strong read that these attempts come before, perhaps.
    pub(super) fn read_beside(&mut self, read: u32, touched: &Touched) {
        for attempt in &touched.attempts {
            let swap = self.swap_of(*attempt);
            self.awaits_swap(read, swap);
        }
    }

    /// An access disturbs strong reads before it, or would.
    pub(super) fn disturb(&mut self, record: RecordId, touched: &Touched) {
        let swap = (self.order.record_at(record).kind == Kind::Attempt).then(|| self.swap_of(record));
        for disturbed in &touched.disturbed {
            let Some(read) = self.reads.get(disturbed).copied() else { continue };
            match swap {
                Some(swap) => self.awaits_swap(read, swap),
                None => self.taints.reads[read as usize].racy = true,
            }
        }
    }

    /// A compare-and-swap has failed, which has read so.
    pub(super) fn swap_failed(&mut self, attempt: RecordId, read: u32, compared: Taint) {
        let swap = self.swap_of(attempt);
        let attempts = self.swaps.failed.entry(swap).or_default();
        attempts.reads.insert(read);
        attempts.taints.insert(compared);
    }

    /// What is there depends on what was done there, and in which order.
    fn source_of(&mut self, pc: Pc, (region, at): (Region, u64), why: Left) -> (u32, Taint) {
        let known = self.swaps.left.get(&(region, at, why)).copied();
        let has_decided = |own: &Source| self.taints.reads[own.read as usize].decides.is_some();
        if let Some(own) = known.filter(|own| own.number + 1 >= MOST_SOURCES || !has_decided(own)) {
            return (own.read, own.taint);
        }
        let taint = self.taints.read(Read { pc, parts: 1, racy: false, decides: None });
        let number = known.map_or(0, |own| own.number + 1);
        let source = Source { read: (self.taints.reads.len() - 1) as u32, taint, number };
        self.swaps.left.insert((region, at, why), source);
        (source.read, source.taint)
    }

    /// What an attempt leaves there: what was there, unless it swaps.
    pub(super) fn left_by_attempt(&mut self, attempt: RecordId, at: (Region, u64)) -> Taint {
        let swap = self.swap_of(attempt);
        let (read, taint) = self.source_of(swap.1, at, Left::ByAttempt);
        self.awaits_swap(read, swap);
        taint
    }

    /// What a strong write leaves there: what it wrote, unless others come behind it.
    pub(super) fn left_by_write(&mut self, pc: Pc, at: (Region, u64), touched: &Touched) -> Taint {
        if !touched.undetermined && touched.attempts.is_empty() {
            return 0;
        }
        let (read, taint) = self.source_of(pc, at, Left::ByUnorderedWrites);
        self.taints.reads[read as usize].racy |= touched.undetermined;
        self.read_beside(read, touched);
        taint
    }

    /// Which swaps may succeed in another execution, and what depends on them.
    pub(super) fn check_swaps(&mut self) {
        let mut may_swap: SortedSet<Swap> = SortedSet::new();
        loop {
            let before = may_swap.len();
            for (swap, attempts) in &self.swaps.failed {
                let is_racy = |read: &u32| self.taints.reads[*read as usize].racy;
                let is_open = |taint: &Taint| !self.taints.is_determined(*taint);
                if self.swaps.cut || attempts.reads.iter().any(is_racy) || attempts.taints.iter().any(is_open) {
                    may_swap.insert(*swap);
                }
            }
            for (read, ..) in self.swaps.depends.iter().filter(|(_, warp, pc)| may_swap.contains(&(*warp, *pc))) {
                self.taints.reads[*read as usize].racy = true;
            }
            if may_swap.len() == before {
                break;
            }
        }
        for race in std::mem::take(&mut self.order.swap_races) {
            if may_swap.contains(&race.swap) || !self.swaps.failed.contains_key(&race.swap) {
                self.doubt(Doubt::MaySwap { pc: race.swap.1, with: race.with });
            }
        }
        for (pc, with, cap) in std::mem::take(&mut self.order.capped) {
            self.doubt(Doubt::Unobserved { pc, with, cap });
        }
    }
}
