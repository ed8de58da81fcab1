//! Tensor memory: allocation, `tcgen05.ld/st/cp/mma/commit` and their fences (9.7.18).

use std::rc::Rc;

use crate::code::op::{Op, Pc, Place, Source, Space, TensorOperand};
use crate::footprint::Bytes;
use crate::footprint::tcgen05::{CtaGroup, Kind as MmaKind, Mma, Stationary, shared_descriptor};
use crate::footprint::tensor_memory::{Cells, CopyShape, MoveShape, Packing, TensorAddress, moved, shifted};
use crate::order::record::{Handle, Kind, Path, StrandId, StrandKind, Tensor};
use crate::order::{Cta, Known, Region};
use crate::report::{Doubt, Finding, Protocol};
use crate::run::Run;
use crate::run::warp::{Block, lanes};

/// Which columns of a CTA's tensor memory are allocated, and by which instruction.
#[derive(Default)]
pub(in crate::run) struct Memory {
    allocated: Vec<(u32, u32)>,
    relinquished: bool,
    /// What those knew who came to an operation of the pair of CTAs, one after the other.
    met: Vec<Known>,
}

impl Memory {
    /// The first place for this many columns, aligned to their number.
    fn place(&self, columns: u32) -> Option<u32> {
        let mut at = 0;
        while at + columns <= 512 {
            if self.allocated.iter().all(|(start, size)| at + columns <= *start || start + size <= at) {
                return Some(at);
            }
            at += columns.max(32);
        }
        None
    }

    fn holds(&self, cells: &Cells) -> bool {
        let columns = cells.column..cells.column + cells.columns;
        columns
            .clone()
            .all(|column| self.allocated.iter().any(|(start, size)| (*start..start + size).contains(&column)))
    }
}

impl Run<'_> {
    pub(in crate::run) fn tcgen05(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        match op {
            Op::Tcgen05Alloc { to, columns, group } => self.alloc(warp, pc, active, *to, *columns, *group),
            Op::Tcgen05Dealloc { at, columns, group } => self.dealloc(warp, pc, active, *at, *columns, *group),
            Op::Tcgen05Relinquish => {
                let cta = self.warps[warp].cta as usize;
                self.tensor[cta].relinquished = true;
            }
            Op::Tcgen05Load { at, offset, shape, repeat, to, half_split } => {
                self.tensor_move(warp, pc, active, (*at, *offset), shape, *repeat, *half_split, Kind::Read);
                self.tokens(warp, active, to, 0);
            }
            Op::Tcgen05Store { at, offset, shape, repeat, half_split, .. } => {
                self.tensor_move(warp, pc, active, (*at, *offset), shape, *repeat, *half_split, Kind::Write);
            }
            Op::Tcgen05WaitLoad => self.tensor_wait(warp, active, true),
            Op::Tcgen05WaitStore => self.tensor_wait(warp, active, false),
            Op::Tcgen05Copy { at, offset, descriptor, shape, multicast, group } => {
                self.tensor_copy(warp, pc, active, (*at, *offset), *descriptor, (shape, multicast), *group);
            }
            Op::Tcgen05Shift { at, group } => self.shift(warp, pc, active, *at, *group),
            Op::Tcgen05Mma { .. } => self.mma(warp, pc, active, op),
            Op::Tcgen05Commit { at, multicast, .. } => self.tensor_commit(warp, pc, active, *at, *multicast),
            Op::Tcgen05Before => {
                let time = self.order.time(warp as u32);
                self.order.change(warp as u32, active, |views, _| views.times.tensor_out = time);
            }
            Op::Tcgen05After => {
                self.order.change(warp as u32, active, |views, _| views.tensor_after());
            }
            _ => {}
        }
    }

    /// The CTAs whose tensor memory takes part.
    fn pair(&self, cta: Cta, group: u8) -> Vec<Cta> {
        let peer =
            Some(cta ^ 1).filter(|peer| group == 2 && self.order.cluster_of(*peer) == self.order.cluster_of(cta));
        match peer {
            Some(peer) if peer < self.launch.ctas() => vec![cta & !1, cta | 1],
            _ => vec![cta],
        }
    }

    fn tensor_error(&mut self, warp: usize, pc: Pc, lane: u32, why: String) {
        let thread = self.thread(warp, lane);
        self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::TensorMemory(why) });
    }

    /// An operation of a pair of CTAs is one of both: each comes to it with a warp, and both go on together (9.7.18.5).
    /// False if the other has yet to come.
    fn meet_peer(&mut self, warp: usize, active: u32, index: u32) -> bool {
        let cta = self.warps[warp].cta;
        let Some(known) = self.tensor[(cta ^ 1) as usize].met.get(index as usize).cloned() else {
            self.blocking = Some((active, Block::Pair { index }));
            return false;
        };
        self.order.change(warp as u32, active, |views, _| Rc::make_mut(&mut views.known).include_execution(&known));
        self.warps[warp].meeting = None;
        true
    }

    pub(in crate::run) fn peer_has_come(&self, cta: Cta, index: u32) -> bool {
        self.tensor.get((cta ^ 1) as usize).is_some_and(|peer| peer.met.len() > index as usize)
    }

    /// The number of the pair's operation that this warp has come to.
    fn come_to_peer(&mut self, warp: usize, active: u32) -> u32 {
        let (cta, sent) = (self.warps[warp].cta, self.order.sent(warp as u32, active));
        let met = &mut self.tensor[cta as usize].met;
        met.push(sent);
        let index = met.len() as u32 - 1;
        self.warps[warp].meeting = Some(index);
        index
    }

    fn alloc(&mut self, warp: usize, pc: Pc, active: u32, to: Place, columns: Source, group: u8) {
        let lane = active.trailing_zeros();
        if let Some(index) = self.warps[warp].meeting {
            return self.end_alloc(warp, pc, active, to, Some(index));
        }
        self.effect(warp, pc, active);
        self.decide(warp, pc, active, columns);
        self.check_uniform(warp, pc, active, columns);
        let count = self.warps[warp].get(columns, lane) as u32;
        if !(32..=512).contains(&count) || !count.is_power_of_two() {
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
        let Some(column) = self.tensor[cta as usize].place(count) else {
            // On a GPU the instruction waits until columns are free.
            return self.tensor_error(warp, pc, lane, format!("{count} columns are not free"));
        };
        self.tensor[cta as usize].allocated.push((column, count));
        let record = self.record(warp, pc, Kind::Allocate, Path::TensorThread);
        self.touch_columns(warp, record, lane, cta, column, count);
        self.warps[warp].allocating = column;
        let index = is_pair.then(|| self.come_to_peer(warp, active));
        self.end_alloc(warp, pc, active, to, index);
    }

    /// The address is written when the columns are there, in both CTAs of a pair.
    fn end_alloc(&mut self, warp: usize, pc: Pc, active: u32, to: Place, pair: Option<u32>) {
        if pair.is_some_and(|index| !self.meet_peer(warp, active, index)) {
            return;
        }
        let (lane, column) = (active.trailing_zeros(), self.warps[warp].allocating);
        let Some((region, offset)) = self.region_at(warp, pc, lane, to, 4) else { return };
        let write = self.record(warp, pc, Kind::Write, Path::Generic);
        self.touch_lane(warp, write, lane, region, offset, 4);
        self.memory.put(region, offset, &column.to_le_bytes(), 0);
    }

    /// An allocation for a pair of CTAs needs both to have started.
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

    fn dealloc(&mut self, warp: usize, pc: Pc, active: u32, at: Source, columns: Source, group: u8) {
        let lane = active.trailing_zeros();
        if self.pair(self.warps[warp].cta, group).len() > 1 {
            let index = match self.warps[warp].meeting {
                Some(index) => index,
                None => {
                    self.effect(warp, pc, active);
                    self.come_to_peer(warp, active)
                }
            };
            if !self.meet_peer(warp, active, index) {
                return;
            }
        } else {
            self.effect(warp, pc, active);
        }
        for operand in [at, columns] {
            self.decide(warp, pc, active, operand);
            self.check_uniform(warp, pc, active, operand);
        }
        let column = self.warps[warp].get(at, lane) as u32 & 0xffff;
        let count = self.warps[warp].get(columns, lane) as u32;
        let cta = self.warps[warp].cta;
        let own = &mut self.tensor[cta as usize].allocated;
        let Some(index) = own.iter().position(|(start, size)| *start == column && *size == count) else {
            let why = format!("{count} columns at {column} were not allocated together");
            return self.tensor_error(warp, pc, lane, why);
        };
        own.swap_remove(index);
        let record = self.record(warp, pc, Kind::Deallocate, Path::TensorThread);
        self.touch_columns(warp, record, lane, cta, column, count);
    }

    fn tensor_address(&mut self, warp: usize, pc: Pc, lane: u32, (at, offset): (Source, i64)) -> TensorAddress {
        self.decide(warp, pc, 1 << lane, at);
        TensorAddress::from_bits((self.warps[warp].get(at, lane) as u32).wrapping_add(offset as u32))
    }

    #[allow(clippy::too_many_arguments)]
    fn touch_cells(&mut self, warp: usize, pc: Pc, lane: u32, record: u32, strand: StrandId, cta: Cta, cells: &Cells) {
        if !self.tensor[cta as usize].holds(cells) {
            let why = format!("columns {} to {} are not allocated", cells.column, cells.column + cells.columns - 1);
            return self.tensor_error(warp, pc, lane, why);
        }
        for range in cells.ranges() {
            let bytes = Bytes::new(u64::from(range.start), u64::from(range.end - range.start));
            self.touch_strand(record, strand, lane, Region::Tensor(cta), bytes, 0);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor_move(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        at: (Source, i64),
        shape: &str,
        repeat: u32,
        half_split: Option<Source>,
        kind: Kind,
    ) {
        self.effect(warp, pc, active);
        let lane = active.trailing_zeros();
        for operand in [Some(at.0), half_split].into_iter().flatten() {
            self.decide(warp, pc, active, operand);
            self.check_uniform(warp, pc, active, operand);
        }
        let address = self.tensor_address(warp, pc, lane, at);
        let split = half_split.map_or(0, |source| self.warps[warp].get(source, lane) as u32);
        let Some(shape) = MoveShape::from_modifier(shape, split) else {
            return self.doubt(Doubt::Footprint { pc, why: format!("the shape {shape} is not known") });
        };
        let number = warp as u32 % self.warps_per_cta;
        let cells = match moved(address, shape, repeat, Packing::Cells, number) {
            Ok(cells) => cells,
            Err(why) => return self.tensor_error(warp, pc, lane, why),
        };
        let tensor = if kind == Kind::Read { Tensor::Load } else { Tensor::Store };
        let strand = self.order.strand(StrandKind::Tcgen05(tensor), warp as u32, active, true);
        let record = self.strand_record(warp, pc, kind, Path::TensorMemory(strand));
        let cta = self.warps[warp].cta;
        for cells in cells {
            self.touch_cells(warp, pc, lane, record, strand, cta, &cells);
        }
        let groups = &mut self.warps[warp].groups;
        if kind == Kind::Read { groups.tensor_loads.push(strand) } else { groups.tensor_stores.push(strand) }
    }

    fn tensor_wait(&mut self, warp: usize, active: u32, load: bool) {
        let time = self.order.time(warp as u32);
        let groups = &mut self.warps[warp].groups;
        let all = std::mem::take(if load { &mut groups.tensor_loads } else { &mut groups.tensor_stores });
        let (done, left) = all.into_iter().partition(|strand| self.order.strand_at(*strand).lanes & active != 0);
        let done: Vec<StrandId> = done;
        if !done.is_empty() {
            self.order.change(warp as u32, active, |views, _| views.times.waited = time);
        }
        for strand in done {
            self.order.complete(strand, Handle::Lanes { warp: warp as u32, lanes: active, time, each: false });
        }
        let groups = &mut self.warps[warp].groups;
        *(if load { &mut groups.tensor_loads } else { &mut groups.tensor_stores }) = left;
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor_copy(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        at: (Source, i64),
        descriptor: Source,
        (shape, multicast): (&str, &str),
        group: u8,
    ) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let address = self.tensor_address(warp, pc, lane, at);
            self.decide(warp, pc, 1 << lane, descriptor);
            let bits = self.warps[warp].get(descriptor, lane);
            let found = CopyShape::from_modifiers(&[shape, multicast]).and_then(|shape| {
                let source = shared_descriptor(bits)?.bytes(&shape.source())?;
                Ok((source, shape.destination(address)?))
            });
            let (source, cells) = match found {
                Ok(found) => found,
                Err(why) => return self.doubt(Doubt::Footprint { pc, why }),
            };
            let tensor = Tensor::Copy { is_4x256b: shape == "4x256b", group, follows_mma: self.version >= 94 };
            let strand = self.order.strand(StrandKind::Tcgen05(tensor), warp as u32, 1 << lane, false);
            let read = self.strand_record(warp, pc, Kind::Read, Path::Async(strand));
            let write = self.strand_record(warp, pc, Kind::Write, Path::TensorMemory(strand));
            for cta in self.pair(self.warps[warp].cta, group) {
                for range in &source {
                    self.touch_strand(read, strand, lane, Region::Shared(cta), *range, 0);
                }
                self.touch_cells(warp, pc, lane, write, strand, cta, &cells);
            }
            self.warps[warp].groups.tensor.push((strand, lane));
        }
    }

    fn shift(&mut self, warp: usize, pc: Pc, active: u32, at: Source, group: u8) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let address = self.tensor_address(warp, pc, lane, (at, 0));
            let cells = match shifted(address) {
                Ok(cells) => cells,
                Err(why) => return self.tensor_error(warp, pc, lane, why),
            };
            let strand = self.order.strand(StrandKind::Tcgen05(Tensor::Shift { group }), warp as u32, 1 << lane, false);
            let record = self.strand_record(warp, pc, Kind::Write, Path::TensorMemory(strand));
            for cta in self.pair(self.warps[warp].cta, group) {
                self.touch_cells(warp, pc, lane, record, strand, cta, &cells);
            }
            self.warps[warp].groups.tensor.push((strand, lane));
        }
    }

    fn mma(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        let Op::Tcgen05Mma { accumulator, offset, a, b, instruction, kind, group, accumulate, scales, .. } = op else {
            return;
        };
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let address = self.tensor_address(warp, pc, lane, (*accumulator, *offset));
            for source in [*b, *instruction].iter().chain(accumulate) {
                self.decide(warp, pc, 1 << lane, *source);
            }
            let descriptor = self.warps[warp].get(*instruction, lane) as u32;
            let pair = if *group == 2 { CtaGroup::Two } else { CtaGroup::One };
            let mma = MmaKind::from_modifier(&format!("kind::{kind}"))
                .ok_or_else(|| format!("the kind {kind} is not known"))
                .and_then(|kind| Mma::new(kind, pair, Stationary::No, descriptor));
            let mma = match mma {
                Ok(mma) => mma,
                Err(why) => return self.tensor_error(warp, pc, lane, why),
            };
            if let Err(why) = self.multiply(warp, pc, lane, &mma, address, a, *b, scales, *group) {
                self.doubt(Doubt::Footprint { pc, why });
                return;
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn multiply(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        mma: &Mma,
        address: TensorAddress,
        a: &TensorOperand,
        b: Source,
        scales: &[Source],
        group: u8,
    ) -> Result<(), String> {
        let mut shared = shared_descriptor(self.warps[warp].get(b, lane))?.bytes(&mma.b())?;
        let mut read_cells = Vec::new();
        match a {
            TensorOperand::Descriptor(a) => {
                self.decide(warp, pc, 1 << lane, *a);
                shared.extend(shared_descriptor(self.warps[warp].get(*a, lane))?.bytes(&mma.a())?);
            }
            TensorOperand::TensorMemory(at, offset) => {
                let at = self.tensor_address(warp, pc, lane, (*at, *offset));
                read_cells.extend(mma.a_in_tensor_memory(at)?);
            }
        }
        for (index, source) in scales.iter().enumerate() {
            let at = self.tensor_address(warp, pc, lane, (*source, 0));
            read_cells.push(if index == 0 { mma.scale_a(at)? } else { mma.scale_b(at)? });
        }
        let written = mma.d(address)?;
        let column = address.column | address.lane << 16;
        let tensor = Tensor::Mma { accumulator: column, shape: (mma.m, mma.n), group };
        let strand = self.order.strand(StrandKind::Tcgen05(tensor), warp as u32, 1 << lane, false);
        let read = self.strand_record(warp, pc, Kind::Read, Path::Async(strand));
        let read_tensor = self.strand_record(warp, pc, Kind::Read, Path::TensorMemory(strand));
        let write = self.strand_record(warp, pc, Kind::Write, Path::TensorMemory(strand));
        for cta in self.pair(self.warps[warp].cta, group) {
            for range in &shared {
                self.touch_strand(read, strand, lane, Region::Shared(cta), *range, 0);
            }
            for cells in &read_cells {
                self.touch_cells(warp, pc, lane, read_tensor, strand, cta, cells);
            }
            for cells in &written {
                self.touch_cells(warp, pc, lane, write, strand, cta, cells);
            }
        }
        self.warps[warp].groups.tensor.push((strand, lane));
        Ok(())
    }

    /// An arrival when all earlier operations of the lane are complete.
    fn tensor_commit(&mut self, warp: usize, pc: Pc, active: u32, at: Place, multicast: Option<Source>) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let at = self.commit_place(warp, lane, at);
            let Some((own, offset)) = self.mbarrier_at(warp, pc, lane, at) else { continue };
            let time = self.order.time(warp as u32);
            self.order.change(warp as u32, 1 << lane, |views, _| views.times.tensor_out = time);
            let strands: Vec<StrandId> = self.warps[warp]
                .groups
                .tensor
                .iter()
                .filter(|(_, by)| *by == lane)
                .map(|(strand, _)| *strand)
                .collect();
            let ctas = match multicast {
                None => vec![own],
                Some(mask) => {
                    self.decide(warp, pc, 1 << lane, mask);
                    let mask = self.warps[warp].get(mask, lane) as u32 & 0xffff;
                    let per = self.launch.ctas_per_cluster().max(1);
                    let first = self.warps[warp].cta / per * per;
                    (0..per).filter(|rank| mask & (1 << rank) != 0).map(|rank| first + rank).collect()
                }
            };
            for cta in ctas {
                let commit = self.order.strand(StrandKind::Tcgen05(Tensor::Load), warp as u32, 1 << lane, false);
                self.hand_out(warp, lane, (cta, offset));
                self.complete_by_strand(warp, pc, (cta, offset), commit, 0, 1);
                let Some(Handle::Phase { object, phase, lanes }) = self.order.strand_at(commit).done.first().copied()
                else {
                    continue;
                };
                for strand in &strands {
                    let known = self.order.strand_at(*strand).done.iter().any(|handle| match handle {
                        Handle::Phase { object: own, .. } => *own == object,
                        Handle::Lanes { .. } => false,
                    });
                    if !known {
                        self.order.complete(*strand, Handle::Phase { object, phase, lanes });
                    }
                }
                // A later commit of the thread tells of this one too (reading).
                self.warps[warp].groups.tensor.push((commit, lane));
            }
        }
    }

    /// Compilers give `tcgen05.commit` without a state space an address of the shared window, which no generic address is.
    fn commit_place(&self, warp: usize, lane: u32, at: Place) -> Place {
        let address = self.warps[warp].get(at.base, lane).wrapping_add(at.offset as u64);
        let shared = at.space == Space::Generic && address < 1 << 32;
        Place { space: if shared { Space::SharedCluster } else { at.space }, ..at }
    }

    /// A commit is a fence before the synchronisation, and its arrival hands over what is complete.
    fn hand_out(&mut self, warp: usize, lane: u32, at: (Cta, u64)) {
        let views = Rc::clone(self.order.views(warp as u32, lane));
        let (cta, time) = (self.warps[warp].cta, self.order.time(warp as u32));
        let sent = views.sent(cta, warp as u32, 1 << lane, time);
        self.hand_over_execution(at, &sent);
    }
}
