//! `setmaxnreg` (9.7.21.5): registers that a warpgroup gives to its CTA, or takes from it.
//!
//! All four warps of a warpgroup execute the same `setmaxnreg`, and synchronise before the next one. *The same* is one with the
//! same action and number (reading): Triton's partitions of a warpgroup have one each. How many registers the CTA has is not in
//! the module: that `.inc` gets its registers is assumed (check.rs).

use super::Run;
use super::matrix::wgmma::WARPS;
use crate::code::op::{Op, Pc};
use crate::report::{Finding, Protocol};

const REPEATED: &str = "warps need not synchronise before a setmaxnreg that leaves their registers as they are";

impl Run<'_> {
    pub(super) fn set_max_registers(&mut self, warp: usize, pc: Pc, active: u32, count: u64) {
        let thread = self.thread(warp, active.trailing_zeros());
        if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
            let why = format!("{count} registers are asked for; it must be a multiple of 8 from 24 to 256");
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
        }
        let known = self.order.sent(warp as u32, active).execution;
        let before = self.warps[warp].limits.len().checked_sub(1);
        let is_behind = |other: usize| match before.map(|index| self.warps[other].limits.get(index)) {
            None => true,
            Some(None) => false,
            Some(Some((_, time))) => known.knows_any_of(other as u32, u32::MAX, *time),
        };
        if !self.warpgroup(warp).all(is_behind) {
            // Compilers put a second one with the same number behind the first, which changes nothing.
            if before.is_some_and(|index| self.limit_of(self.warps[warp].limits[index].0) == Some(count)) {
                self.assumed.insert(REPEATED);
            } else {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::RegistersUnsynchronised });
            }
        }
        let time = self.order.time(warp as u32);
        self.warps[warp].limits.push((pc, time));
    }

    fn limit_of(&self, pc: Pc) -> Option<u64> {
        match self.code[pc as usize].op {
            Op::SetMaxRegisters { count, .. } => Some(count),
            _ => None,
        }
    }

    /// Each warp of a warpgroup has executed the same ones.
    pub(super) fn check_registers(&mut self) {
        let all: Vec<Vec<(Pc, u32)>> = self.warps.iter_mut().map(|warp| std::mem::take(&mut warp.limits)).collect();
        for (warp, own) in all.iter().enumerate() {
            let others: Vec<usize> = self.warpgroup(warp).collect();
            for (index, (pc, _)) in own.iter().enumerate() {
                let same = |other: &usize| {
                    all[*other]
                        .get(index)
                        .is_some_and(|(at, _)| self.code[*at as usize].op == self.code[*pc as usize].op)
                };
                let there = others.iter().filter(|other| same(other)).count();
                let missing = (WARPS - 1).saturating_sub(there) as u32;
                if missing > 0 {
                    let thread = self.thread(warp, 0);
                    let what = Protocol::RegistersOfPart { missing };
                    self.find(3, *pc, Finding::Protocol { pc: *pc, thread, what });
                }
            }
        }
    }
}
