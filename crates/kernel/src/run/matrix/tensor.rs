//! `tcgen05.ld/st/cp/mma/commit` and their fences (9.7.18).

use std::rc::Rc;

use crate::code::op::{Op, Pc, Place, Source, Space, TensorOperand};
use crate::footprint::Bytes;
use crate::footprint::tcgen05::{CtaGroup, Kind as MmaKind, Mma, Stationary, shared_descriptor};
use crate::footprint::tensor_memory::{Cells, CopyShape, MoveShape, Packing, TensorAddress, moved, shifted};
use crate::order::record::{Handle, Kind, Path, StrandId, StrandKind, Tensor};
use crate::order::{Cta, Region};
use crate::report::{Doubt, Finding, Protocol};
use crate::run::Run;
use crate::run::warp::lanes;

impl Run<'_> {
    pub(in crate::run) fn tcgen05(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        self.check_group(warp, pc, active, op);
        match op {
            Op::Tcgen05Alloc { to, columns, group } => self.alloc(warp, pc, active, *to, *columns, *group),
            Op::Tcgen05Dealloc { at, columns, group } => self.dealloc(warp, pc, active, *at, *columns, *group),
            Op::Tcgen05Relinquish { .. } => self.relinquish(warp, pc, active),
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
    pub(super) fn pair(&self, cta: Cta, group: u8) -> Vec<Cta> {
        let peer =
            Some(cta ^ 1).filter(|peer| group == 2 && self.order.cluster_of(*peer) == self.order.cluster_of(cta));
        match peer {
            Some(peer) if peer < self.launch.ctas() => vec![cta & !1, cta | 1],
            _ => vec![cta],
        }
    }

    pub(super) fn tensor_error(&mut self, warp: usize, pc: Pc, lane: u32, why: String) {
        let thread = self.thread(warp, lane);
        self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::TensorMemory(why) });
    }

    fn tensor_address(&mut self, warp: usize, pc: Pc, lane: u32, (at, offset): (Source, i64)) -> TensorAddress {
        self.decide_columns(warp, pc, 1 << lane, at);
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
        self.decide_columns(warp, pc, active, at.0);
        half_split.into_iter().for_each(|operand| self.decide(warp, pc, active, operand));
        for operand in [Some(at.0), half_split].into_iter().flatten() {
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
                    self.touch_shared(warp, pc, lane, read, strand, Region::Shared(cta), *range);
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
            // The instruction descriptor has two bits of the addresses of scale factors (9.7.18.10).
            self.decide_columns(warp, pc, 1 << lane, *instruction);
            for source in [*b].iter().chain(accumulate) {
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
                self.touch_shared(warp, pc, lane, read, strand, Region::Shared(cta), *range);
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
            let ctas = self.receivers(warp, pc, lane, multicast, own);
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
