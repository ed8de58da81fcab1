//! Columns of tensor memory: `tcgen05.alloc`, `.dealloc` and `.relinquish_alloc_permit` (9.7.18.7.1).
//!
//! An allocation waits until there are columns for it. Which columns it gets, and which of two allocations comes first, nothing
//! determines: one run stands for all only if this allocation has room beside every other that need not be over, or waits for
//! those that it must wait for in every run. So columns that somebody has freed count as taken unless the allocating warp knows
//! of that, or cannot have its own without it.

use std::rc::Rc;

use crate::code::op::{Op, Pc, Place, Source};
use crate::footprint::tensor_memory::Cells;
use crate::order::clock::Clock;
use crate::order::record::{Kind, Path};
use crate::order::{Cta, Known, Region};
use crate::report::{Doubt, Finding, Protocol, Rule};
use crate::run::Run;
use crate::run::taint::COLUMNS as COLUMNS_GIVEN;
use crate::run::warp::Block;

const COLUMNS: u32 = 512;
const TOGETHER: &str = "tcgen05.alloc and .dealloc of a pair of CTAs are over in both before either goes on";
/// Allocations of a CTA that are kept.
const MOST: usize = 4096;

/// The tensor memory of a CTA.
#[derive(Default)]
pub(in crate::run) struct Memory {
    allocations: Vec<Allocation>,
    relinquished: bool,
    /// The operations of the pair of CTAs that it has come to, one after the other, and what those knew who came.
    met: Vec<(Together, Known)>,
}

/// What a pair of CTAs does together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Together {
    Allocate { columns: u32 },
    Deallocate { columns: u32 },
}

struct Allocation {
    column: u32,
    count: u32,
    pc: Pc,
    /// Warp and time.
    by: (u32, u32),
    /// When it was freed, and what was known then.
    freed: Option<(u32, u32, Known)>,
}

impl Allocation {
    fn overlaps(&self, column: u32, count: u32) -> bool {
        column < self.column + self.count && self.column < column + count
    }

    /// Whether one who knows this knows that the allocation was made.
    fn is_known(&self, known: &Clock) -> bool {
        known.knows_any_of(self.by.0, u32::MAX, self.by.1)
    }

    /// Whether it is over for one who knows this and asks for so many columns: it is known to be freed, or it came first and
    /// leaves no room for both.
    fn is_over(&self, known: &Clock, count: u32) -> bool {
        let Some((warp, time, _)) = &self.freed else { return false };
        known.knows_any_of(*warp, u32::MAX, *time) || (self.is_known(known) && self.count + count > COLUMNS)
    }
}

impl Memory {
    /// The first place for this many columns beside those that are taken, aligned to their number.
    fn place(&self, count: u32, taken: impl Fn(&Allocation) -> bool) -> Option<u32> {
        let taken: Vec<&Allocation> = self.allocations.iter().filter(|own| taken(own)).collect();
        let starts = (0..COLUMNS).step_by(count.max(32) as usize).take_while(|at| at + count <= COLUMNS);
        starts.into_iter().find(|at| taken.iter().all(|own| !own.overlaps(*at, count)))
    }

    pub(super) fn holds(&self, cells: &Cells) -> bool {
        let live = || self.allocations.iter().filter(|own| own.freed.is_none());
        (cells.column..cells.column + cells.columns).all(|column| live().any(|own| own.overlaps(column, 1)))
    }
}

impl Run<'_> {
    /// All `tcgen05` instructions of a kernel have one value of `.cta_group` (9.7.18.5).
    pub(super) fn check_group(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        let (Some(own), Some(first)) = (group_of(op), self.tensor_group) else { return };
        if own != first {
            let why =
                format!("it has .cta_group::{own}, and another tcgen05 instruction of the kernel .cta_group::{first}");
            self.tensor_error(warp, pc, active.trailing_zeros(), why);
        }
    }

    /// An operation of a pair of CTAs is one of both: each comes to it with a warp, and both go on together (9.7.18.5). That each
    /// then knows that the other has come is not written there; CUTLASS relies on it. False if the other has yet to come.
    fn meet_peer(&mut self, warp: usize, pc: Pc, active: u32, index: u32) -> bool {
        let cta = self.warps[warp].cta;
        let Some((theirs, known)) = self.tensor[(cta ^ 1) as usize].met.get(index as usize).cloned() else {
            self.blocking = Some((active, Block::Pair { index }));
            return false;
        };
        self.order.change(warp as u32, active, |views, _| Rc::make_mut(&mut views.known).include_execution(&known));
        let own = self.tensor[cta as usize].met.get(index as usize).map(|(own, _)| *own);
        if own.is_some_and(|own| own != theirs) {
            let why =
                "the other CTA of the pair comes to another operation, or with another number of columns".to_owned();
            self.tensor_error(warp, pc, active.trailing_zeros(), why);
        }
        self.assumed.insert(TOGETHER);
        self.warps[warp].meeting = None;
        true
    }

    pub(in crate::run) fn peer_has_come(&self, cta: Cta, index: u32) -> bool {
        self.tensor.get((cta ^ 1) as usize).is_some_and(|peer| peer.met.len() > index as usize)
    }

    /// The number of the pair's operation that this warp has come to.
    fn come_to_peer(&mut self, warp: usize, active: u32, what: Together) -> u32 {
        let (cta, sent) = (self.warps[warp].cta, self.order.sent(warp as u32, active));
        let met = &mut self.tensor[cta as usize].met;
        met.push((what, sent));
        let index = met.len() as u32 - 1;
        self.warps[warp].meeting = Some(index);
        index
    }

    pub(super) fn alloc(&mut self, warp: usize, pc: Pc, active: u32, to: Place, columns: Source, group: u8) {
        let lane = active.trailing_zeros();
        if let Some(index) = self.warps[warp].meeting {
            return self.end_alloc(warp, pc, active, to, Some(index));
        }
        self.effect(warp, pc, active);
        self.decide(warp, pc, active, columns);
        self.check_uniform(warp, pc, active, columns);
        let count = self.warps[warp].get(columns, lane) as u32;
        if !(32..=COLUMNS).contains(&count) || !count.is_power_of_two() {
            let why = format!("{count} columns are asked for; it must be a power of two from 32 to 512");
            return self.tensor_error(warp, pc, lane, why);
        }
        let cta = self.warps[warp].cta;
        self.check_peers(warp, pc, lane, group);
        let is_pair = self.pair(cta, group).len() > 1;
        if group == 2 && !is_pair {
            return self.tensor_error(warp, pc, lane, "the CTA has no peer in its cluster".to_owned());
        }
        if self.tensor[cta as usize].relinquished {
            let why = "an allocation after the right to allocate was given up".to_owned();
            return self.tensor_error(warp, pc, lane, why);
        }
        let known = self.order.sent(warp as u32, active).execution;
        self.check_size(warp, pc, lane, count, &known);
        let Some(column) = self.free_columns(warp, pc, active, count, &known) else {
            self.blocking = Some((active, Block::Columns { count }));
            return;
        };
        if self.tensor[cta as usize].allocations.len() >= MOST {
            self.tensor[cta as usize].allocations.retain(|own| own.freed.is_none());
            self.doubt(Doubt::Crowded);
        }
        let by = (warp as u32, self.order.time(warp as u32));
        self.tensor[cta as usize].allocations.push(Allocation { column, count, pc, by, freed: None });
        let record = self.record(warp, pc, Kind::Allocate, Path::TensorThread);
        self.touch_columns(warp, record, lane, cta, column, count);
        self.warps[warp].allocating = column;
        let index = is_pair.then(|| self.come_to_peer(warp, active, Together::Allocate { columns: count }));
        self.end_alloc(warp, pc, active, to, index);
    }

    /// Columns for an allocation; none if it has to wait for some.
    fn free_columns(&mut self, warp: usize, pc: Pc, active: u32, count: u32, known: &Clock) -> Option<u32> {
        let memory = &self.tensor[self.warps[warp].cta as usize];
        let sure = memory.place(count, |own| !own.is_over(known, count));
        let column = sure.or_else(|| memory.place(count, |own| own.freed.is_none()))?;
        // It comes after those whose columns it gets.
        let before = memory.allocations.iter().filter(|own| own.overlaps(column, count));
        let before: Vec<Known> =
            before.filter_map(|own| own.freed.as_ref()).map(|(_, _, known)| known.clone()).collect();
        if sure.is_none() {
            self.doubt(Doubt::Matching { pc, rule: Rule::Columns });
        }
        self.order.change(warp as u32, active, |views, _| {
            before.iter().for_each(|known| Rc::make_mut(&mut views.known).include_execution(known));
        });
        Some(column)
    }

    pub(in crate::run) fn has_columns(&self, warp: usize, count: u32) -> bool {
        self.tensor[self.warps[warp].cta as usize].place(count, |own| own.freed.is_none()).is_some()
    }

    /// No allocation of a CTA is larger than one before it, in whatever order they come (9.7.18.7.1).
    fn check_size(&mut self, warp: usize, pc: Pc, lane: u32, count: u32, known: &Clock) {
        let memory = &self.tensor[self.warps[warp].cta as usize];
        let bad = |own: &&Allocation| own.count < count || (own.count > count && !own.is_known(known));
        if let Some(other) = memory.allocations.iter().find(bad).map(|own| own.count) {
            let why =
                format!("an allocation of {} columns may come after one of {}", count.max(other), count.min(other));
            self.tensor_error(warp, pc, lane, why);
        }
    }

    /// The address is written when the columns are there, in both CTAs of a pair.
    fn end_alloc(&mut self, warp: usize, pc: Pc, active: u32, to: Place, pair: Option<u32>) {
        if pair.is_some_and(|index| !self.meet_peer(warp, pc, active, index)) {
            return;
        }
        let (lane, column) = (active.trailing_zeros(), self.warps[warp].allocating);
        let Some((region, offset)) = self.region_at(warp, pc, lane, to, 4) else { return };
        if let Region::Shared(owner) = region {
            self.check_own(warp, pc, lane, owner);
        }
        let write = self.record(warp, pc, Kind::Write, Path::Generic);
        self.touch_lane(warp, write, lane, region, offset, 4);
        let class = self.taints.class(COLUMNS_GIVEN);
        self.memory.put(region, offset, &column.to_le_bytes(), class);
    }

    /// The warp must make sure that the other CTA has been launched (9.7.18.7.1).
    fn check_peers(&mut self, warp: usize, pc: Pc, lane: u32, group: u8) {
        let own = self.warps[warp].cta;
        let views = Rc::clone(self.order.views(warp as u32, lane));
        for peer in self.pair(own, group).into_iter().filter(|peer| *peer != own) {
            let first = peer * self.warps_per_cta;
            if !(first..first + self.warps_per_cta).any(|warp| views.known.execution.knows_any(warp)) {
                let thread = self.thread(warp, lane);
                let what = Protocol::AccessBeforeStart { owner: peer };
                self.find(3, pc, Finding::Protocol { pc, thread, what });
            }
        }
    }

    fn touch_columns(&mut self, warp: usize, record: u32, lane: u32, cta: Cta, column: u32, count: u32) {
        for row in 0..128u64 {
            self.touch_lane(warp, record, lane, Region::Tensor(cta), row * 512 + u64::from(column), u64::from(count));
        }
    }

    pub(super) fn dealloc(&mut self, warp: usize, pc: Pc, active: u32, at: Source, columns: Source, group: u8) {
        let lane = active.trailing_zeros();
        if self.pair(self.warps[warp].cta, group).len() > 1 {
            let index = match self.warps[warp].meeting {
                Some(index) => index,
                None => {
                    self.effect(warp, pc, active);
                    let columns = self.warps[warp].get(columns, lane) as u32;
                    self.come_to_peer(warp, active, Together::Deallocate { columns })
                }
            };
            if !self.meet_peer(warp, pc, active, index) {
                return;
            }
        } else {
            self.effect(warp, pc, active);
        }
        self.decide_columns(warp, pc, active, at);
        self.decide(warp, pc, active, columns);
        [at, columns].into_iter().for_each(|operand| self.check_uniform(warp, pc, active, operand));
        let column = self.warps[warp].get(at, lane) as u32 & 0xffff;
        let count = self.warps[warp].get(columns, lane) as u32;
        let cta = self.warps[warp].cta;
        let (sent, time) = (self.order.sent(warp as u32, active), self.order.time(warp as u32));
        let mut live = self.tensor[cta as usize].allocations.iter_mut().filter(|own| own.freed.is_none());
        let Some(own) = live.find(|own| (own.column, own.count) == (column, count)) else {
            let why = format!("{count} columns at {column} were not allocated together");
            return self.tensor_error(warp, pc, lane, why);
        };
        own.freed = Some((warp as u32, time, sent));
        let record = self.record(warp, pc, Kind::Deallocate, Path::TensorThread);
        self.touch_columns(warp, record, lane, cta, column, count);
    }

    /// An address of tensor memory is determined, up to which columns an allocation gets.
    pub(super) fn decide_columns(&mut self, warp: usize, pc: Pc, active: u32, source: Source) {
        let taint = self.warps[warp].taint_of(source, active);
        let is_address = self.taints.classes(taint) == COLUMNS_GIVEN && !self.taints.has_reads(taint);
        if !is_address || self.warps[warp].undefined_lanes(source) & active != 0 {
            self.decide(warp, pc, active, source);
        }
    }

    /// The right to allocate is given up for the whole CTA: no allocation may come later, in any run.
    pub(super) fn relinquish(&mut self, warp: usize, pc: Pc, active: u32) {
        let cta = self.warps[warp].cta as usize;
        let known = self.order.sent(warp as u32, active).execution;
        if self.tensor[cta].allocations.iter().any(|own| !own.is_known(&known)) {
            let why = "an allocation of this CTA may come after the right to allocate is given up".to_owned();
            self.tensor_error(warp, pc, active.trailing_zeros(), why);
        }
        self.tensor[cta].relinquished = true;
    }

    /// All columns are freed before the kernel ends (9.7.18.7.1).
    pub(in crate::run) fn check_columns(&mut self) {
        for cta in 0..self.tensor.len() {
            let kept = self.tensor[cta].allocations.iter().filter(|own| own.freed.is_none());
            let kept: Vec<(u32, u32, Pc, u32)> = kept.map(|own| (own.column, own.count, own.pc, own.by.0)).collect();
            for (column, count, pc, warp) in kept {
                let thread = self.thread(warp as usize, 0);
                let what = Protocol::ColumnsKept { column, count };
                self.find(3, pc, Finding::Protocol { pc, thread, what });
            }
        }
    }
}

/// The `.cta_group` of a `tcgen05` instruction.
pub(in crate::run) fn group_of(op: &Op) -> Option<u8> {
    match op {
        Op::Tcgen05Alloc { group, .. }
        | Op::Tcgen05Dealloc { group, .. }
        | Op::Tcgen05Relinquish { group }
        | Op::Tcgen05Copy { group, .. }
        | Op::Tcgen05Shift { group, .. }
        | Op::Tcgen05Mma { group, .. }
        | Op::Tcgen05Commit { group, .. } => Some(*group),
        _ => None,
    }
}
