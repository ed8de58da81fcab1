//! Early questions of an mbarrier: an answer that only saves a later wait.
//!
//! The run takes every first answer for no. A lane that branches on it goes where no leads; with yes it would have gone the
//! other way. The run stands for both if the lane waits for the same phase and then comes, after nothing but computation, to a
//! place that the other way leads to after nothing but computation: from there on both do the same, and what they have written
//! meanwhile depends on time. With yes the question itself is the wait, so it must order as much and know as much of the phase
//! before.

use crate::code::op::{Op, Order, Pc, Scope};
use crate::code::places_of_computation;
use crate::report::{Cause, Doubt, Rule};
use crate::run::Run;
use crate::run::taint::CLOCK;
use crate::run::warp::{Fragment, Peek, lanes};

impl Run<'_> {
    /// Lanes go on as an answer says that may be another one: those in `active` execute the instruction, or branch.
    pub(in crate::run) fn branch_on_answer(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        mask: u32,
        active: u32,
        op: &Op,
    ) {
        let pc = fragment.pc;
        for lane in lanes(mask) {
            let Some(asked_by) = self.owe(warp, pc, lane) else { continue };
            let taken = active & (1 << lane) != 0;
            let (places, written) = match op {
                Op::Branch { to } if !taken => places_of_computation(&self.code, *to),
                _ if taken => places_of_computation(&self.code, pc + 1),
                // With the other answer the instruction itself is executed.
                _ => (vec![(pc, 0)], Vec::new()),
            };
            let own = &mut self.warps[warp];
            let start = own.changed.len();
            own.joining |= 1 << lane;
            let alike = |peek: &&mut Peek| {
                (peek.pc, peek.asked_by, peek.start) == (pc, asked_by, start) && *peek.places == places[..]
            };
            match own.peeks.iter_mut().find(alike) {
                Some(peek) => peek.mask |= 1 << lane,
                None => {
                    let (places, written) = (places.into(), written.into());
                    own.peeks.push(Peek { pc, asked_by, mask: 1 << lane, start, places, written });
                }
            }
        }
    }

    /// A lane that has had an answer must wait before it does anything else. Whose answer it was, if it is the only open one.
    fn owe(&mut self, warp: usize, pc: Pc, lane: u32) -> Option<Pc> {
        let asked = self.warps[warp].asked[lane as usize];
        // The wait is over: what an earlier answer was, or how often it was asked, may not decide anything now.
        if asked.times == 0 || asked.question.is_none() || self.warps[warp].several & (1 << lane) != 0 {
            self.doubt(Doubt::Decided { pc, by: Cause::Wait });
            return None;
        }
        self.warps[warp].owes[lane as usize] = Some((asked.address, asked.state));
        Some(asked.pc)
    }

    /// A lane has waited for what it asked. The last answer leads where the first one of the same instruction would have led;
    /// an earlier question must have told as much.
    pub(in crate::run) fn has_waited(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        phase: i64,
        order: Order,
        scope: Scope,
    ) {
        let own = &mut self.warps[warp];
        own.peeks.iter_mut().filter(|peek| peek.asked_by == pc).for_each(|peek| peek.mask &= !(1 << lane));
        let asked_by = own.peeks.iter().find(|peek| peek.mask & (1 << lane) != 0).map(|peek| peek.asked_by);
        self.forget_peeks(warp, 0);
        let question = self.warps[warp].peeked[lane as usize];
        let (Some(by), Some(question)) = (asked_by, question) else { return };
        if question.known.is_some_and(|known| phase > i64::from(known)) {
            self.doubt(Doubt::Matching { pc: by, rule: Rule::PhaseUnknown });
        }
        if (order.acquires() && !question.order.acquires()) || question.scope < scope {
            self.doubt(Doubt::Decided { pc: by, by: Cause::Wait });
        }
    }

    pub(in crate::run) fn forget_peeks(&mut self, warp: usize, mask: u32) {
        let own = &mut self.warps[warp];
        own.peeks.iter_mut().for_each(|peek| peek.mask &= !mask);
        own.peeks.retain(|peek| peek.mask != 0);
        own.joining = own.peeks.iter().fold(0, |mask, peek| mask | peek.mask);
        own.forget_changes();
    }

    /// Lanes that have branched on an answer come to an instruction: where the other way leads too, or not.
    pub(in crate::run) fn rejoin(&mut self, warp: usize, fragment: &Fragment) {
        let peeks = self.warps[warp].peeks.clone();
        let mut joined = 0;
        for peek in peeks.iter().filter(|peek| peek.mask & fragment.mask != 0) {
            let mask = peek.mask & fragment.mask;
            if let Some((_, count)) = peek.places.iter().find(|(pc, _)| *pc == fragment.pc) {
                self.depend_on_answer(warp, mask, peek, *count);
                joined |= mask;
            }
        }
        for peek in &mut self.warps[warp].peeks {
            let met = peek.places.iter().any(|(pc, _)| *pc == fragment.pc);
            peek.mask &= if met { !fragment.mask } else { u32::MAX };
        }
        self.forget_peeks(warp, 0);
        let own = &mut self.warps[warp];
        let done = joined & !own.joining;
        lanes(done).for_each(|lane| own.owes[lane as usize] = None);
        let left = own.joining & fragment.mask;
        if left != 0 && !waits_or_computes(&self.code[fragment.pc as usize].op) {
            let first = self.warps[warp].peeks.iter().find(|peek| peek.mask & left != 0).map(|peek| peek.pc);
            self.doubt(Doubt::Decided { pc: first.unwrap_or(fragment.pc), by: Cause::Wait });
            self.forget_peeks(warp, left);
        }
    }

    /// What either way has written depends on which one it was.
    fn depend_on_answer(&mut self, warp: usize, mask: u32, peek: &Peek, count: usize) {
        let time = self.taints.class(CLOCK);
        for register in &peek.written[..count] {
            self.add_taint(warp, *register, mask, time);
        }
        for lane in lanes(mask) {
            for register in self.warps[warp].differing(lane, peek.start) {
                self.add_taint(warp, register, 1 << lane, time);
            }
        }
    }
}

/// Whether a lane on its way to a wait, or from there, may do this without anybody noticing.
fn waits_or_computes(op: &Op) -> bool {
    let reads = matches!(op, Op::Load(access, _) if access.order == Order::Weak);
    let asks = matches!(op, Op::Branch { .. } | Op::MbarrierWait { .. } | Op::Nothing | Op::Clock { .. });
    let addresses = matches!(op, Op::IsSpace { .. } | Op::MapAddress { .. } | Op::CtaRank { .. });
    reads || asks || addresses || op.computed().is_some()
}
