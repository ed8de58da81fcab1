//! Asynchronous copies: `cp.async`, bulk and tensor copies, `st.async` (9.7.10.26 to 9.7.10.28).

use std::rc::Rc;

use super::Run;
use super::taint;
use super::warp::lanes;
use crate::code::SHARED_START;
use crate::code::op::{Completion, Op, Pc, Place, ReplaceField, Scope, Source, Space, Tensor, TensorMode};
use crate::footprint::Bytes;
use crate::footprint::tensor_copy::{Direction, Global, Piece, Shape, TensorCopy};
use crate::footprint::tensor_map::{Field, TensorMap};
use crate::memory::{At, Content};
use crate::order::record::{Handle, Kind, Path, Record, StrandId, StrandKind};
use crate::order::{Cta, Region};
use crate::report::Finding;

/// A tensor map, its address, and where it lies if threads can write there.
type Map = (TensorMap, u64, Option<(Region, u64)>);

impl Run<'_> {
    pub(super) fn asynchronous(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        if matches!(op, Op::CopyAsyncWait { .. } | Op::BulkWait { .. } | Op::WgmmaWait { .. }) {
            self.watch_wait(warp, pc);
        }
        match op {
            Op::CopyAsync { to, from, bytes, source_bytes, ignore } => {
                self.copy_async(warp, pc, active, *to, *from, *bytes, *source_bytes, *ignore);
            }
            Op::CopyAsyncCommit => self.commit(warp, active, false),
            Op::BulkCommit => self.commit(warp, active, true),
            Op::CopyAsyncWait { pending } => self.wait_copies(warp, active, *pending),
            Op::BulkWait { pending, reads_only } => self.wait_bulk(warp, active, *pending, *reads_only),
            Op::CopyAsyncArrive { at, no_increment } => self.copy_arrive(warp, pc, active, *at, *no_increment),
            Op::BulkLoad { to, from, bytes, completion, multicast } => {
                self.bulk(warp, pc, active, *to, *from, *bytes, *completion, *multicast, None);
            }
            Op::BulkStore { to, from, bytes, completion, reduce } => {
                self.bulk(warp, pc, active, *to, *from, *bytes, *completion, None, *reduce);
            }
            Op::TensorPrefetch { tensor } => self.tensor_prefetch(warp, pc, active, tensor),
            Op::TensorLoad { to, tensor, completion, multicast } => {
                self.tensor_load(warp, pc, active, *to, tensor, *completion, *multicast);
            }
            Op::TensorStore { tensor, from, reduce } => self.tensor_store(warp, pc, active, tensor, *from, *reduce),
            Op::StoreAsync { to, ty, from, mbarrier, reduce } => {
                self.store_async(warp, pc, active, *to, ty.bytes(), from, *mbarrier, *reduce);
            }
            Op::TensormapReplace { at, field, index, value } => {
                self.replace_field(warp, pc, active, *at, *field, *index, *value);
            }
            Op::TensormapCopyFence { to, from, scope } => self.copy_map(warp, pc, active, *to, *from, *scope),
            Op::WgmmaFence => self.warps[warp].groups.registers.fence(),
            Op::WgmmaCommit => self.commit_wgmma(warp),
            Op::WgmmaWait { pending } => self.wait_wgmma(warp, active, *pending),
            Op::Wgmma { shape, types, accumulators, a, b, transposes } => {
                self.wgmma(warp, pc, active, (shape, types), accumulators, a, *b, transposes);
            }
            _ => self.tcgen05(warp, pc, active, op),
        }
    }

    pub(super) fn strand_record(&mut self, warp: usize, pc: Pc, kind: Kind, path: Path) -> u32 {
        self.record_of_elements(warp, pc, kind, path, 0)
    }

    /// Of a reduction each element is a strong access (9.7.10.28.4.2).
    fn record_of_elements(&mut self, warp: usize, pc: Pc, kind: Kind, path: Path, size: u8) -> u32 {
        let strong = (kind == Kind::Atomic).then_some(crate::code::op::Scope::Gpu);
        let record = Record {
            pc,
            cta: self.warps[warp].cta,
            warp: warp as u32,
            time: self.order.time(warp as u32),
            kind,
            path,
            strong,
            size,
            commutes: None,
            returns: false,
        };
        self.covered.strands += 1;
        self.order.record(record)
    }

    pub(super) fn touch_strand(
        &mut self,
        record: u32,
        strand: StrandId,
        lane: u32,
        region: Region,
        range: Bytes,
        map: u64,
    ) {
        let views = self.order.strand_views(strand);
        self.touch_views(record, &views, lane, region, range.start, range.len, map);
    }

    #[allow(clippy::too_many_arguments)]
    fn copy_async(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        to: Place,
        from: Place,
        bytes: u32,
        source_bytes: Option<Source>,
        ignore: Option<Source>,
    ) {
        self.effect(warp, pc, active);
        for (mask, _) in self.order.groups(warp as u32, active) {
            let strand = self.order.strand(StrandKind::CopyAsync, warp as u32, mask, false);
            let read = self.strand_record(warp, pc, Kind::Read, Path::GenericStrand(strand));
            let write = self.strand_record(warp, pc, Kind::Write, Path::GenericStrand(strand));
            for lane in lanes(mask) {
                self.warps[warp].groups.open_copies[lane as usize].push(strand);
                let ignored = ignore.is_some_and(|source| self.warps[warp].get(source, lane) & 1 != 0);
                for source in [source_bytes, ignore].into_iter().flatten() {
                    self.decide(warp, pc, 1 << lane, source);
                }
                let length = source_bytes.map_or(bytes, |source| self.warps[warp].get(source, lane) as u32);
                if length > bytes {
                    let (thread, why) = (self.thread(warp, lane), format!("{length} bytes do not fit in {bytes}"));
                    self.find(2, pc, Finding::BadOperand { pc, thread, why });
                }
                let length = length.min(bytes);
                let length = if ignored { 0 } else { length };
                let Some((region, offset)) = self.region_at(warp, pc, lane, to, u64::from(bytes)) else { continue };
                if self.is_misaligned(warp, pc, lane, offset, bytes) {
                    continue;
                }
                let mut data = Content::default();
                if length > 0 {
                    let Some((source, at)) = self.region_at(warp, pc, lane, from, u64::from(length)) else { continue };
                    if self.is_misaligned(warp, pc, lane, at, bytes) {
                        continue;
                    }
                    self.touch_strand(read, strand, lane, source, Bytes::new(at, u64::from(length)), 0);
                    data = self.memory.content(source, at, u64::from(length));
                }
                data.append(&Content::zero(u64::from(bytes - length)));
                self.touch_strand(write, strand, lane, region, Bytes::new(offset, u64::from(bytes)), 0);
                self.memory.put_content(region, offset, &data);
            }
        }
    }

    pub(super) fn is_misaligned(&mut self, warp: usize, pc: Pc, lane: u32, address: u64, bytes: u32) -> bool {
        let aligned = address.is_multiple_of(u64::from(bytes.max(1)));
        if !aligned {
            let thread = self.thread(warp, lane);
            self.find(2, pc, Finding::Misaligned { pc, thread, address, bytes });
        }
        !aligned
    }

    fn commit(&mut self, warp: usize, active: u32, bulk: bool) {
        let groups = &mut self.warps[warp].groups;
        for lane in lanes(active) {
            let lane = lane as usize;
            if bulk {
                let open = std::mem::take(&mut groups.open_bulk[lane]);
                groups.bulk[lane].push_back(open);
            } else {
                let open = std::mem::take(&mut groups.open_copies[lane]);
                groups.copies[lane].push_back(open);
            }
        }
    }

    fn wait_copies(&mut self, warp: usize, active: u32, pending: Option<u32>) {
        let mut done: Vec<(StrandId, u32)> = Vec::new();
        for lane in lanes(active) {
            let groups = &mut self.warps[warp].groups;
            if pending.is_none() {
                for strand in groups.open_copies[lane as usize].drain(..) {
                    note(&mut done, strand, lane);
                }
            }
            while groups.copies[lane as usize].len() > pending.unwrap_or(0) as usize {
                for strand in groups.copies[lane as usize].pop_front().unwrap_or_default() {
                    note(&mut done, strand, lane);
                }
            }
        }
        self.complete_lanes(warp, &done, false);
    }

    fn wait_bulk(&mut self, warp: usize, active: u32, pending: u32, reads_only: bool) {
        let mut done: Vec<(StrandId, u32)> = Vec::new();
        for lane in lanes(active) {
            let groups = &mut self.warps[warp].groups.bulk[lane as usize];
            let count = groups.len().saturating_sub(pending as usize);
            if reads_only {
                for strand in groups.iter().take(count).flatten() {
                    note(&mut done, *strand, lane);
                }
            } else {
                for strand in groups.drain(..count).flatten() {
                    note(&mut done, strand, lane);
                }
            }
        }
        self.complete_lanes(warp, &done, reads_only);
    }

    fn complete_lanes(&mut self, warp: usize, done: &[(StrandId, u32)], reads_only: bool) {
        let time = self.order.time(warp as u32);
        let waited = done.iter().fold(0, |lanes, (_, mask)| lanes | mask);
        if waited != 0 {
            self.order.change(warp as u32, waited, |views, _| views.times.waited = time);
        }
        for (strand, mask) in done {
            let handle = Handle::Lanes { warp: warp as u32, lanes: *mask, time, each: true };
            if reads_only {
                self.order.complete_reads(*strand, handle);
            } else {
                self.order.complete(*strand, handle);
            }
        }
    }

    /// `cp.async.mbarrier.arrive`: an arrival when the copies of the lane so far are complete.
    fn copy_arrive(&mut self, warp: usize, pc: Pc, active: u32, at: Place, no_increment: bool) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some(mbarrier) = self.mbarrier_at(warp, pc, lane, at) else { continue };
            self.check_own(warp, pc, lane, mbarrier.0);
            let strand = self.order.strand(StrandKind::CopyAsync, warp as u32, 1 << lane, false);
            let groups = &self.warps[warp].groups;
            let mut all: Vec<StrandId> = groups.open_copies[lane as usize].clone();
            all.extend(groups.copies[lane as usize].iter().flatten().copied());
            // Without `.noinc` the pending count grows by one first: the arrival is not one of those awaited.
            let arrivals = u32::from(no_increment);
            self.complete_by_strand(warp, pc, mbarrier, strand, 0, arrivals);
            let handle = self.order.strand_at(strand).done.first().copied();
            if let Some(handle) = handle {
                for other in all {
                    self.order.complete(other, handle);
                }
            }
        }
    }

    /// The CTAs that a multicast goes to, or the one of the address.
    pub(super) fn receivers(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        multicast: Option<Source>,
        own: Cta,
    ) -> Vec<Cta> {
        let Some(mask) = multicast else { return vec![own] };
        self.decide(warp, pc, 1 << lane, mask);
        let mask = self.warps[warp].get(mask, lane) as u32 & 0xffff;
        let per = self.launch.ctas_per_cluster().max(1);
        let first = self.warps[warp].cta / per * per;
        if mask >> per != 0 {
            let why = format!("the mask {mask:#x} names a CTA outside the cluster, which has {per}");
            let thread = self.thread(warp, lane);
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
        }
        (0..per).filter(|rank| mask & (1 << rank) != 0).map(|rank| first + rank).collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn bulk(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        to: Place,
        from: Place,
        bytes: Source,
        completion: Completion,
        multicast: Option<Source>,
        reduce: Option<u8>,
    ) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            self.decide(warp, pc, 1 << lane, bytes);
            let length = self.warps[warp].get(bytes, lane) & 0xffff_ffff;
            let thread = self.thread(warp, lane);
            if length == 0 || !length.is_multiple_of(16) {
                let why = format!("the size is {length} bytes; it must be a multiple of 16");
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
                continue;
            }
            let (Some((source, at)), Some((target, offset))) =
                (self.region_at(warp, pc, lane, from, length), self.region_at(warp, pc, lane, to, length))
            else {
                continue;
            };
            if !at.is_multiple_of(16) || !offset.is_multiple_of(16) {
                let why = "an address is no multiple of 16".to_owned();
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
                continue;
            }
            let mut data = self.memory.content(source, at, length);
            if reduce.is_some() {
                data = data.with(self.taints.class(taint::FLOAT));
            }
            let own = if let Region::Shared(cta) = target { cta } else { 0 };
            if let Region::Shared(receiver) = target
                && multicast.is_none()
            {
                self.check_receiver(warp, pc, lane, (to, from), receiver);
            }
            let receivers = self.receivers(warp, pc, lane, multicast, own);
            // The source is read once, and any of the receivers is told of that.
            let reader = self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false);
            let read = self.strand_record(warp, pc, Kind::Read, Path::Async(reader));
            self.touch_strand(read, reader, lane, source, Bytes::new(at, length), 0);
            for receiver in receivers {
                let target = if let Region::Shared(_) = target { Region::Shared(receiver) } else { target };
                let is_many = multicast.is_some();
                let strand =
                    if is_many { self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false) } else { reader };
                let kind = if reduce.is_some() { Kind::Atomic } else { Kind::Write };
                let write = self.record_of_elements(warp, pc, kind, Path::Async(strand), reduce.unwrap_or(0));
                self.touch_strand(write, strand, lane, target, Bytes::new(offset, length), 0);
                self.memory.put_content(target, offset, &data);
                self.finish(warp, pc, lane, strand, completion, receiver, is_many, length);
                if is_many {
                    self.tell_reader(reader, strand);
                }
            }
        }
    }

    pub(in crate::run) fn misplaced(&mut self, warp: usize, pc: Pc, lane: u32, why: &str) {
        let thread = self.thread(warp, lane);
        self.find(2, pc, Finding::BadOperand { pc, thread, why: why.to_owned() });
    }

    /// Where `st.async` and `red.async` may go (9.7.10.12, 9.7.15.7).
    fn check_store_async(&mut self, warp: usize, pc: Pc, lane: u32, receiver: Cta, mbarrier: Cta, reduce: bool) {
        let why = if mbarrier != receiver {
            "its mbarrier is in another CTA than its destination"
        } else if reduce && receiver == self.warps[warp].cta {
            "red.async does not go to the shared memory of its own CTA"
        } else if !reduce && self.launch.ctas_per_cluster() < 2 {
            "st.async needs a cluster of more than one CTA"
        } else {
            return;
        };
        self.misplaced(warp, pc, lane, why);
    }

    /// Whose shared memory a bulk copy may write (9.7.10.28.4.1).
    fn check_receiver(&mut self, warp: usize, pc: Pc, lane: u32, (to, from): (Place, Place), receiver: Cta) {
        let own = self.warps[warp].cta;
        if to.space == Space::Shared && receiver != own {
            self.misplaced(warp, pc, lane, "a copy to .shared::cta goes to its own CTA");
        } else if to.space == Space::SharedCluster && from.space == Space::Shared && receiver == own {
            self.misplaced(warp, pc, lane, "a copy from .shared::cta to .shared::cluster goes to another CTA");
        }
    }

    /// Whoever is told of the end of one copy of a multicast knows that the source has been read.
    fn tell_reader(&mut self, reader: StrandId, copy: StrandId) {
        for handle in self.order.strand_at(copy).done.clone() {
            self.order.complete(reader, handle);
        }
    }

    /// How the end of a bulk operation is told.
    #[allow(clippy::too_many_arguments)]
    fn finish(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        strand: StrandId,
        completion: Completion,
        receiver: Cta,
        multicast: bool,
        bytes: u64,
    ) {
        match completion {
            Completion::BulkGroup => self.warps[warp].groups.open_bulk[lane as usize].push(strand),
            Completion::Mbarrier(place) | Completion::MbarrierOfPair(place) => {
                let Some((cta, at)) = self.mbarrier_at(warp, pc, lane, place) else { return };
                let pair = matches!(completion, Completion::MbarrierOfPair(_));
                if !multicast && cta != receiver && !(pair && cta ^ 1 == receiver) {
                    // 9.7.10.28.4.1, 9.7.10.28.5.3.
                    self.misplaced(warp, pc, lane, "its mbarrier is in another CTA than its destination");
                }
                let cta = match completion {
                    _ if !multicast => cta,
                    Completion::MbarrierOfPair(_) => (receiver & !1) | (cta & 1),
                    _ => receiver,
                };
                self.complete_by_strand(warp, pc, (cta, at), strand, bytes as i64, 0);
            }
        }
    }

    /// The tensor map at an address, its address for the order, and the strand's read of it.
    fn map(&mut self, warp: usize, pc: Pc, lane: u32, source: Source) -> Option<Map> {
        self.decide(warp, pc, 1 << lane, source);
        let address = self.warps[warp].get(source, lane);
        let thread = self.thread(warp, lane);
        let (bytes, place, taint) =
            match self.memory.resolve(Space::Generic, address, 128, self.warps[warp].cta, thread) {
                Ok(At::Memory(region, offset)) => {
                    let taint = self.memory_taint(At::Memory(region, offset), 128, 0);
                    (self.memory.bytes(region, offset, 128), Some((region, offset)), taint)
                }
                Ok(At::Param(offset)) => {
                    (self.memory.parameter_bytes(offset, 128).map(<[u8]>::to_vec).unwrap_or_default(), None, 0)
                }
                Ok(At::Local(_)) => return None,
                Err(fault) => {
                    self.find(2, pc, Finding::OutOfBounds { pc, thread, fault });
                    return None;
                }
            };
        if taint != 0 {
            self.decided(pc, taint);
        }
        let map = <[u8; 128]>::try_from(bytes.as_slice()).ok().and_then(|bytes| TensorMap::from_bytes(&bytes));
        let Some(map) = map.filter(|map| map.rank > 0) else {
            let why = "the address is not that of a tensor map: give one in the launch".to_owned();
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
            return None;
        };
        Some((map, address, place))
    }

    fn coordinates(&mut self, warp: usize, pc: Pc, lane: u32, tensor: &Tensor) -> (Vec<i32>, Vec<u16>) {
        for source in tensor.coordinates.iter().chain(&tensor.offsets) {
            self.decide(warp, pc, 1 << lane, *source);
        }
        let own = &self.warps[warp];
        let coordinates = tensor.coordinates.iter().map(|source| own.get(*source, lane) as i32).collect();
        (coordinates, tensor.offsets.iter().map(|source| own.get(*source, lane) as u16).collect())
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor_load(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        to: Place,
        tensor: &Tensor,
        completion: Completion,
        multicast: Option<Source>,
    ) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((map, address, place)) = self.map(warp, pc, lane, tensor.map) else { continue };
            let Some((Region::Shared(own), offset)) = self.region_at(warp, pc, lane, to, 16) else { continue };
            let (coordinates, offsets) = self.coordinates(warp, pc, lane, tensor);
            let copy = TensorCopy {
                map: &map,
                shape: shape(tensor.mode),
                direction: Direction::Load,
                coordinates: &coordinates,
                offsets: &offsets,
                shared: offset,
            };
            let Some((pieces, bytes)) = self.pieces(warp, pc, lane, &copy) else { continue };
            let is_many = multicast.is_some();
            let reader = self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false);
            // A bulk group may follow the copy too, and tells when the map has been read (9.7.10.28.5.3).
            let mapped = match place {
                Some(_) => self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false),
                None => reader,
            };
            if place.is_some() {
                self.warps[warp].groups.open_bulk[lane as usize].push(mapped);
            }
            self.read_map(warp, pc, lane, mapped, place, address);
            let read = self.strand_record(warp, pc, Kind::Read, Path::Async(reader));
            self.touch_global(warp, pc, lane, read, reader, &pieces, false);
            for receiver in self.receivers(warp, pc, lane, multicast, own) {
                let strand =
                    if is_many { self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false) } else { reader };
                let write = self.strand_record(warp, pc, Kind::Write, Path::Async(strand));
                let region = Region::Shared(receiver);
                for range in crate::footprint::join(pieces.iter().map(|piece| piece.shared).collect()) {
                    self.touch_shared(warp, pc, lane, write, strand, region, range);
                }
                for piece in &pieces {
                    self.copy_in(warp, region, piece);
                }
                self.finish(warp, pc, lane, strand, completion, receiver, is_many, bytes);
                for reader in [is_many.then_some(reader), place.map(|_| mapped)].into_iter().flatten() {
                    self.tell_reader(reader, strand);
                }
            }
        }
    }

    /// `cp.async.bulk.prefetch.tensor` reads no data that anybody could see, and the map (9.7.10.28.5.5).
    fn tensor_prefetch(&mut self, warp: usize, pc: Pc, active: u32, tensor: &Tensor) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((_, address, place)) = self.map(warp, pc, lane, tensor.map) else { continue };
            let reader = self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false);
            self.read_map(warp, pc, lane, reader, place, address);
        }
    }

    fn pieces(&mut self, warp: usize, pc: Pc, lane: u32, copy: &TensorCopy) -> Option<(Vec<Piece>, u64)> {
        let mut pieces = Vec::new();
        let found = copy.visit(&mut |piece| pieces.push(piece)).and_then(|()| copy.transaction());
        match found {
            Ok(bytes) => Some((pieces, bytes)),
            Err(why) => {
                let thread = self.thread(warp, lane);
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
                None
            }
        }
    }

    fn read_map(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        strand: StrandId,
        place: Option<(Region, u64)>,
        address: u64,
    ) {
        if let Some((region, offset)) = place {
            let record = self.strand_record(warp, pc, Kind::Read, Path::Tensormap(strand));
            self.touch_strand(record, strand, lane, region, Bytes::new(offset, 128), address);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn touch_global(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        record: u32,
        strand: StrandId,
        pieces: &[Piece],
        same_value: bool,
    ) {
        let ranges = pieces.iter().filter_map(|piece| match piece.global {
            Global::Bytes(bytes) => Some(bytes),
            Global::Fill | Global::Padding => None,
        });
        let thread = self.thread(warp, lane);
        for range in crate::footprint::join(ranges.collect()) {
            match self.memory.resolve(Space::Global, range.start, range.len, self.warps[warp].cta, thread) {
                Ok(At::Memory(region, offset)) => {
                    let views = self.order.strand_views(strand);
                    self.touch_with(record, &views, lane, region, offset, range.len, 0, same_value);
                }
                Ok(_) => {}
                Err(fault) => {
                    self.find(2, pc, Finding::OutOfBounds { pc, thread, fault });
                    return;
                }
            }
        }
    }

    /// Whether a copy out leaves global memory as it is, with values that are the same in every run: the lanes of a warp that
    /// store one tile each start a copy.
    fn copies_what_is_there(&mut self, warp: usize, region: Region, pieces: &[Piece]) -> bool {
        pieces.iter().all(|piece| {
            let Global::Bytes(bytes) = piece.global else { return true };
            let content = self.memory.content(region, piece.shared.start, bytes.len);
            let there = self.memory.resolve(Space::Global, bytes.start, bytes.len, self.warps[warp].cta, 0);
            let Ok(at @ At::Memory(target, offset)) = there else { return false };
            let taint = self.memory_taint(at, bytes.len, 0);
            self.taints.is_token(taint) && self.memory.content(target, offset, bytes.len) == content
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn touch_shared(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        record: u32,
        strand: StrandId,
        region: Region,
        range: Bytes,
    ) {
        let length = self.memory.buffer(region).map_or(0, |buffer| buffer.data.len() as u64);
        let start = u64::from(SHARED_START);
        if range.start < start || range.end() > length {
            let thread = self.thread(warp, lane);
            let near = range.start as i64 - start as i64;
            let near = Some(("shared memory".to_owned(), near, length.saturating_sub(start)));
            let fault = crate::memory::Fault { space: Space::Shared, address: range.start, bytes: range.len, near };
            self.find(2, pc, Finding::OutOfBounds { pc, thread, fault });
            return;
        }
        self.touch_strand(record, strand, lane, region, range, 0);
    }

    fn copy_in(&mut self, warp: usize, region: Region, piece: &Piece) {
        let data = match piece.global {
            Global::Bytes(bytes) => self.global_bytes(warp, bytes),
            Global::Fill | Global::Padding => Content::zero(piece.shared.len),
        };
        self.memory.put_content(region, piece.shared.start, &data);
    }

    fn global_bytes(&self, warp: usize, bytes: Bytes) -> Content {
        match self.memory.resolve(Space::Global, bytes.start, bytes.len, self.warps[warp].cta, 0) {
            Ok(At::Memory(region, offset)) => self.memory.content(region, offset, bytes.len),
            _ => Content::zero(bytes.len),
        }
    }

    fn tensor_store(&mut self, warp: usize, pc: Pc, active: u32, tensor: &Tensor, from: Place, reduce: bool) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((map, address, place)) = self.map(warp, pc, lane, tensor.map) else { continue };
            let Some((region, offset)) = self.region_at(warp, pc, lane, from, 16) else { continue };
            let (coordinates, offsets) = self.coordinates(warp, pc, lane, tensor);
            let copy = TensorCopy {
                map: &map,
                shape: shape(tensor.mode),
                direction: Direction::Store,
                coordinates: &coordinates,
                offsets: &offsets,
                shared: offset,
            };
            let Some((pieces, _)) = self.pieces(warp, pc, lane, &copy) else { continue };
            let strand = self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false);
            self.read_map(warp, pc, lane, strand, place, address);
            let read = self.strand_record(warp, pc, Kind::Read, Path::Async(strand));
            let (kind, size) = if reduce { (Kind::Atomic, map.element.bits() as u8 / 8) } else { (Kind::Write, 0) };
            let write = self.record_of_elements(warp, pc, kind, Path::Async(strand), size);
            for range in crate::footprint::join(pieces.iter().map(|piece| piece.shared).collect()) {
                self.touch_shared(warp, pc, lane, read, strand, region, range);
            }
            let same_value = !reduce && self.copies_what_is_there(warp, region, &pieces);
            self.touch_global(warp, pc, lane, write, strand, &pieces, same_value);
            for piece in &pieces {
                if let Global::Bytes(bytes) = piece.global {
                    let mut data = self.memory.content(region, piece.shared.start, bytes.len);
                    if reduce {
                        data = data.with(self.taints.class(taint::FLOAT));
                    }
                    if let Ok(At::Memory(target, at)) =
                        self.memory.resolve(Space::Global, bytes.start, bytes.len, self.warps[warp].cta, 0)
                    {
                        self.memory.put_content(target, at, &data);
                    }
                }
            }
            self.warps[warp].groups.open_bulk[lane as usize].push(strand);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn store_async(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        to: Place,
        size: u32,
        from: &[Source],
        mbarrier: Place,
        reduce: bool,
    ) {
        self.effect(warp, pc, active);
        let bytes = u64::from(size) * from.len() as u64;
        for lane in lanes(active) {
            let Some((region, offset)) = self.region_at(warp, pc, lane, to, bytes) else { continue };
            if self.is_misaligned(warp, pc, lane, offset, bytes as u32) {
                continue;
            }
            let Some(at) = self.mbarrier_at(warp, pc, lane, mbarrier) else { continue };
            if let Region::Shared(receiver) = region {
                self.check_store_async(warp, pc, lane, receiver, at.0, reduce);
            }
            let strand = self.order.strand(StrandKind::StoreAsync, warp as u32, 1 << lane, false);
            let kind = if reduce { Kind::Atomic } else { Kind::Write };
            // Unlike bulk copies it writes through the generic proxy.
            let record = Record {
                pc,
                cta: self.warps[warp].cta,
                warp: warp as u32,
                time: self.order.time(warp as u32),
                kind,
                path: Path::GenericStrand(strand),
                strong: reduce.then_some(crate::code::op::Scope::Cluster),
                size: size as u8,
                commutes: None,
                returns: false,
            };
            self.covered.strands += 1;
            let record = self.order.record(record);
            self.touch_strand(record, strand, lane, region, Bytes::new(offset, bytes), 0);
            for (index, source) in from.iter().enumerate() {
                let value = self.warps[warp].get(*source, lane);
                let taint = self.taint_of_all(warp, &[*source], 1 << lane);
                let sum = if reduce { self.taints.class(taint::FLOAT) } else { 0 };
                let taint = self.union(taint, sum);
                let start = offset + index as u64 * u64::from(size);
                self.memory.put(region, start, &value.to_le_bytes()[..size as usize], taint);
            }
            self.complete_by_strand(warp, pc, at, strand, bytes as i64, 0);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn replace_field(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        at: Place,
        field: ReplaceField,
        index: Source,
        value: Source,
    ) {
        self.effect(warp, pc, active);
        let field = match field {
            ReplaceField::GlobalAddress => Field::GlobalAddress,
            ReplaceField::Rank => Field::Rank,
            ReplaceField::BoxDim => Field::BoxDim,
            ReplaceField::GlobalDim => Field::GlobalDim,
            ReplaceField::GlobalStride => Field::GlobalStride,
            ReplaceField::ElementStride => Field::ElementStride,
            ReplaceField::Elemtype => Field::ElemType,
            ReplaceField::InterleaveLayout => Field::InterleaveLayout,
            ReplaceField::SwizzleMode => Field::SwizzleMode,
            ReplaceField::FillMode => Field::FillMode,
        };
        for lane in lanes(active) {
            let Some((region, offset)) = self.region_at(warp, pc, lane, at, 128) else { continue };
            let record = self.record(warp, pc, Kind::Write, Path::Generic);
            self.touch_lane(warp, record, lane, region, offset, 128);
            let taint = self.taint_of_all(warp, &[index, value], 1 << lane);
            let old = self.memory_taint(At::Memory(region, offset), 128, 0);
            let taint = self.union(taint, old);
            let (index, value) = (self.warps[warp].get(index, lane) as u32, self.warps[warp].get(value, lane));
            let bytes = self.memory.bytes(region, offset, 128);
            let map = <[u8; 128]>::try_from(bytes.as_slice()).ok().and_then(|bytes| TensorMap::from_bytes(&bytes));
            let mut map = map.unwrap_or_default();
            if let Err(why) = map.replace(field, index, value) {
                let thread = self.thread(warp, lane);
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
                continue;
            }
            self.memory.put(region, offset, &map.to_bytes(), taint);
        }
    }

    /// `tensormap.cp_fenceproxy`: a copy by the warp, and a release fence of the tensormap proxy.
    fn copy_map(&mut self, warp: usize, pc: Pc, active: u32, to: Place, from: Place, scope: Scope) {
        self.effect(warp, pc, active);
        let cta = self.warps[warp].cta;
        let lane = active.trailing_zeros();
        let (Some((source, at)), Some((target, offset))) =
            (self.region_at(warp, pc, lane, from, 128), self.region_at(warp, pc, lane, to, 128))
        else {
            return;
        };
        let read = self.record(warp, pc, Kind::Read, Path::Generic);
        let write = self.record(warp, pc, Kind::Write, Path::Generic);
        // The copy is one of the whole warp: it comes after what each lane did before (reading, as for `wgmma`).
        let mut views = (**self.order.views(warp as u32, lane)).clone();
        views.known = Rc::new(self.order.sent(warp as u32, active));
        let views = Rc::new(views);
        self.touch_views(read, &views, lane, source, at, 128, 0);
        self.touch_views(write, &views, lane, target, offset, 128, 0);
        let data = self.memory.content(source, at, 128);
        self.memory.put_content(target, offset, &data);
        self.order.tick(warp as u32);
        let time = self.order.time(warp as u32);
        self.order.change(warp as u32, active, |views, _| views.release_maps(cta, scope, time));
        // The instruction is one of the whole warp: what a lane copied is released by each.
        self.order.sync_warp(warp as u32, active);
    }
}

fn note(done: &mut Vec<(StrandId, u32)>, strand: StrandId, lane: u32) {
    match done.iter_mut().find(|(own, _)| *own == strand) {
        Some((_, mask)) => *mask |= 1 << lane,
        None => done.push((strand, 1 << lane)),
    }
}

fn shape(mode: TensorMode) -> Shape {
    match mode {
        TensorMode::Tile => Shape::Tile,
        TensorMode::Gather4 => Shape::FourRows,
        TensorMode::Im2col => Shape::Im2col,
    }
}
