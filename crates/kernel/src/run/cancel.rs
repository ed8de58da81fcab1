//! `clusterlaunchcontrol`: a running cluster asks for the work of one that has not started (9.7.15.18, 9.7.15.19).
//!
//! Which requests succeed is not the launch's choice. In a kernel that asks, the second half of the clusters waits until
//! nobody else can go on, so that a run sees requests that are granted and requests that are refused.

use super::Run;
use super::taint;
use super::warp::lanes;
use crate::code::op::{Op, Pc, Place, Register, Source};
use crate::footprint::Bytes;
use crate::order::Region;
use crate::order::record::{Kind, Path, StrandKind};
use crate::report::{Finding, Protocol};

/// An answer is opaque to the kernel; here: whether it was granted, and the first CTA of the cluster.
const BYTES: u64 = 16;

impl Run<'_> {
    /// The clusters that wait at first.
    pub(super) fn hold_back(&mut self) {
        if self.code.iter().any(|instruction| matches!(instruction.op, Op::TryCancel { .. })) {
            let clusters = self.launch.ctas() / self.launch.ctas_per_cluster().max(1);
            self.not_started = (clusters.div_ceil(2)..clusters).collect();
        }
    }

    pub(super) fn has_started(&self, warp: usize) -> bool {
        self.not_started.is_empty() || !self.not_started.contains(&self.order.cluster_of(self.warps[warp].cta))
    }

    /// Starts a cluster that waits. False if none does.
    pub(super) fn start_another(&mut self) -> bool {
        self.not_started.pop_front().is_some()
    }

    pub(super) fn try_cancel(&mut self, warp: usize, pc: Pc, active: u32, to: Place, mbarrier: Place, all: bool) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let (Some((Region::Shared(own), offset)), Some((_, at))) =
                (self.region_at(warp, pc, lane, to, BYTES), self.mbarrier_at(warp, pc, lane, mbarrier))
            else {
                continue;
            };
            self.check_refused(warp, pc, lane);
            let answer = self.grant();
            let taint = self.taints.class(taint::ENVIRONMENT);
            let per = self.launch.ctas_per_cluster().max(1);
            let receivers = if all { own / per * per..own / per * per + per } else { own..own + 1 };
            for receiver in receivers {
                let strand = self.order.strand(StrandKind::Bulk, warp as u32, 1 << lane, false);
                let record = self.strand_record(warp, pc, Kind::Write, Path::Async(strand));
                let region = Region::Shared(receiver);
                self.touch_strand(record, strand, lane, region, Bytes::new(offset, BYTES), 0);
                self.memory.put(region, offset, &answer, taint);
                self.complete_by_strand(warp, pc, (receiver, at), strand, BYTES as i64, 0);
            }
        }
    }

    /// Takes a cluster that has not started, which then never does.
    fn grant(&mut self) -> [u8; BYTES as usize] {
        let mut answer = [0; BYTES as usize];
        let Some(cluster) = self.not_started.pop_back() else { return answer };
        let per = self.launch.ctas_per_cluster().max(1);
        let (first, _) = self.place_of(cluster * per);
        answer[..4].copy_from_slice(&1u32.to_le_bytes());
        for (index, number) in first.iter().enumerate() {
            answer[4 + 4 * index..8 + 4 * index].copy_from_slice(&number.to_le_bytes());
        }
        for warp in self.warps.iter_mut().filter(|warp| warp.cta / per == cluster) {
            warp.fragments.clear();
            warp.exited = u32::MAX;
        }
        answer
    }

    /// Who has looked at a refusal may not ask again (9.7.15.18).
    fn check_refused(&mut self, warp: usize, pc: Pc, lane: u32) {
        if self.refused.contains(&self.warps[warp].cta) {
            let thread = self.thread(warp, lane);
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::CancelAfterRefusal });
            // What follows is undefined.
            self.stopped = true;
        }
    }

    pub(super) fn is_cancelled(&mut self, warp: usize, active: u32, to: Register, answer: [Source; 2]) {
        for lane in lanes(active) {
            let granted = self.warps[warp].get(answer[0], lane) & 1;
            if granted == 0 {
                let cta = self.warps[warp].cta;
                self.refused.insert(cta);
            }
            self.warps[warp].set(to, lane, granted);
        }
        let taint = self.taint_of_all(warp, &answer, active);
        self.set_taint(warp, to, active, taint);
    }

    pub(super) fn first_cta(
        &mut self,
        warp: usize,
        active: u32,
        to: &[Option<Register>],
        axes: &[u8],
        from: [Source; 2],
    ) {
        let taint = self.taint_of_all(warp, &from, active);
        for (to, axis) in to.iter().zip(axes) {
            let Some(to) = to else { continue };
            for lane in lanes(active) {
                let [low, high] = from.map(|half| self.warps[warp].get(half, lane));
                let numbers = [low >> 32, high & 0xffff_ffff, high >> 32];
                let value = numbers.get(usize::from(*axis)).copied().unwrap_or(0);
                self.warps[warp].set(*to, lane, value);
            }
            self.set_taint(warp, *to, active, taint);
        }
    }
}
