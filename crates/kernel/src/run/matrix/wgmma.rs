//! `wgmma` (9.7.17): an operation of four warps, each of which starts its part.
//!
//! Reading: a group of operations is one of the warpgroup, and whoever waits for it knows that all four parts are complete.
//! CUTLASS lets one thread of a warpgroup free a stage that all four warps have read.

use crate::code::op::{Pc, Source, WgmmaOperand};
use crate::footprint::matrix::{Descriptor, Major, WgmmaShape};
use crate::order::Region;
use crate::order::record::{Handle, Kind, Path, StrandId, StrandKind};
use crate::report::{Doubt, Finding, Protocol};
use crate::run::Run;
use crate::run::warp::{Block, Fragment, Product};

/// Warps of a warpgroup.
pub(in crate::run) const WARPS: usize = 4;

impl Run<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(in crate::run) fn wgmma(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        (shape, types): (&str, &[String]),
        accumulators: &[u32],
        a: &WgmmaOperand,
        b: Source,
        transposes: &[Source],
    ) {
        self.effect(warp, pc, active);
        let first = active.trailing_zeros();
        let mut words: Vec<&str> = vec![shape];
        words.extend(types.iter().map(String::as_str));
        let tile = match WgmmaShape::from_modifiers(&words) {
            Ok(tile) => tile,
            Err(why) => return self.doubt(Doubt::Footprint { pc, why }),
        };
        let strand = self.order.strand(StrandKind::Wgmma, warp as u32, active, true);
        let record = self.strand_record(warp, pc, Kind::Read, Path::Async(strand));
        let transpose = |index: usize| transposes.get(index).map_or(0, |source| self.warps[warp].get(*source, first));
        let (of_a, of_b) = match a {
            WgmmaOperand::Descriptor(_) => (transpose(0), transpose(1)),
            WgmmaOperand::Registers(_) => (0, transpose(0)),
        };
        let mut operands = vec![(b, tile.b(Major::from_transpose(of_b)))];
        if let WgmmaOperand::Descriptor(a) = a {
            operands.push((*a, tile.a(Major::from_transpose(of_a))));
        }
        let region = Region::Shared(self.warps[warp].cta);
        for (source, tile) in operands {
            self.decide(warp, pc, active, source);
            self.check_uniform(warp, pc, active, source);
            let bits = self.warps[warp].get(source, first);
            match Descriptor::from_bits(bits).bytes(&tile) {
                Ok(ranges) => {
                    for range in ranges {
                        self.touch_shared(warp, pc, first, record, strand, region, range);
                    }
                }
                Err(why) => self.doubt(Doubt::Footprint { pc, why }),
            }
        }
        self.warps[warp].groups.wgmma_open.push(strand);
        let of_a = match a {
            WgmmaOperand::Descriptor(a) => self.warps[warp].get(*a, first),
            WgmmaOperand::Registers(_) => 0,
        };
        let descriptors = [of_a, self.warps[warp].get(b, first)];
        self.warps[warp].groups.products.push(Product { pc, strand, descriptors });
        self.note_product(warp, pc, active, strand, (shape, accumulators, a));
        self.tokens(warp, active, accumulators, 0);
    }

    pub(in crate::run) fn commit_wgmma(&mut self, warp: usize) {
        let groups = &mut self.warps[warp].groups;
        let open = std::mem::take(&mut groups.wgmma_open);
        groups.wgmma.push(open);
    }

    /// The other warps of the warpgroup.
    pub(in crate::run) fn warpgroup(&self, warp: usize) -> impl Iterator<Item = usize> + use<> {
        let per_cta = self.warps_per_cta as usize;
        let (first, index) = (warp / per_cta * per_cta, warp % per_cta);
        let start = first + index / WARPS * WARPS;
        let end = (start + WARPS).min(first + per_cta);
        (start..end).filter(move |other| *other != warp)
    }

    /// Whether the others have started their parts of the first so many operations of this warp, or never will.
    pub(in crate::run) fn parts_have_started(&self, warp: usize, count: usize) -> bool {
        let others = self.warpgroup(warp);
        others.into_iter().all(|other| {
            let own = &self.warps[other];
            own.is_done() || own.groups.products.len() >= count
        })
    }

    pub(in crate::run) fn wait_wgmma(&mut self, warp: usize, active: u32, pending: u32) {
        let groups = &self.warps[warp].groups;
        let count = groups.wgmma.len().saturating_sub(pending as usize);
        let first = groups.products_done;
        let last = first + groups.wgmma[..count].iter().map(Vec::len).sum::<usize>();
        if !groups.parts_missing && !self.parts_have_started(warp, last) {
            self.blocking = Some((active, Block::Products { count: last as u32 }));
            return;
        }
        let time = self.order.time(warp as u32);
        let groups = &mut self.warps[warp].groups;
        (groups.products_done, groups.parts_missing) = (last, false);
        let done: Vec<StrandId> = groups.wgmma.drain(..count).flatten().collect();
        let products = groups.products[first..last].to_vec();
        groups.registers.complete(&done);
        if !done.is_empty() {
            self.order.change(warp as u32, active, |views, _| views.times.waited = time);
        }
        let handle = Handle::Lanes { warp: warp as u32, lanes: active, time, each: false };
        done.into_iter().for_each(|strand| self.order.complete(strand, handle));
        for other in self.warpgroup(warp) {
            for (index, product) in products.iter().enumerate() {
                let part = self.warps[other].groups.products.get(first + index);
                let Some(Product { strand, .. }) = part.filter(|own| own.pc == product.pc).copied() else { continue };
                self.order.complete(strand, handle);
                // The others have come to where they start their parts.
                let (views, own) = (self.order.strand_views(strand), self.order.strand_at(strand));
                let sent = views.sent(own.cta, other as u32, own.lanes, own.time);
                self.order.change(warp as u32, active, |views, _| views.come_after(&sent));
            }
        }
    }

    /// A `wgmma` is executed by all four warps of a warpgroup, with the same descriptors (9.7.17.5.2). Of warps that only end,
    /// it is assumed that they take part.
    pub(in crate::run) fn check_products(&mut self) {
        let all: Vec<Vec<Product>> =
            self.warps.iter_mut().map(|warp| std::mem::take(&mut warp.groups.products)).collect();
        for (warp, products) in all.iter().enumerate() {
            let others: Vec<usize> = self.warpgroup(warp).collect();
            for (index, product) in products.iter().enumerate() {
                let mut missing = (WARPS - 1).saturating_sub(others.len()) as u32;
                let mut differ = false;
                for other in &others {
                    match all[*other].get(index) {
                        Some(part) if part.pc == product.pc => differ |= part.descriptors != product.descriptors,
                        None if self.warps[*other].effects == [0; 32] => self.order.idle = true,
                        _ => missing += 1,
                    }
                }
                let what = if missing > 0 { Protocol::Warpgroup { missing } } else { Protocol::DifferentDescriptors };
                if missing > 0 || differ {
                    let thread = self.thread(warp, 0);
                    self.find(3, product.pc, Finding::Protocol { pc: product.pc, thread, what });
                }
            }
        }
    }

    /// Lets warps go on that wait for parts which nobody starts: the operation is then one of this warp alone.
    pub(in crate::run) fn go_on_alone(&mut self) -> bool {
        let waits = |fragment: &&mut Fragment| matches!(fragment.blocked, Some(Block::Products { .. }));
        let mut any = false;
        for warp in &mut self.warps {
            for fragment in warp.fragments.iter_mut().filter(waits) {
                fragment.blocked = None;
                warp.groups.parts_missing = true;
                any = true;
            }
        }
        any
    }
}
