//! Instructions of several lanes at once: shuffles, votes, elections, `bar.warp.sync` (9.7.9, 9.7.14).

use super::flag::symbol::Operand;
use super::taint;
use super::warp::{Block, Fragment, lanes};
use super::{Elect, Run};
use crate::code::op::{Aligned, Op, Pc, Register, Shuffle, Source, Vote};
use crate::code::ty::Ty;
use crate::report::{Cause, Doubt, Finding, Protocol, Rule};

impl Run<'_> {
    pub(super) fn collective(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        let mask = match op {
            Op::SyncWarp { mask }
            | Op::Shuffle { mask, .. }
            | Op::Vote { mask, .. }
            | Op::Match { mask, .. }
            | Op::ReduceWarp { mask, .. }
            | Op::Elect { mask, .. } => *mask,
            Op::ActiveMask { to } => {
                for lane in lanes(active) {
                    self.warps[warp].set(*to, lane, u64::from(active));
                }
                // Which lanes are together is the schedule's business.
                let class = if active == self.warps[warp].alive() { 0 } else { self.taints.class(taint::ENVIRONMENT) };
                self.set_taint(warp, *to, active, class);
                return;
            }
            _ => return,
        };
        self.decide(warp, pc, active, mask);
        let first = active.trailing_zeros();
        let members = self.warps[warp].get(mask, first) as u32;
        // Lanes with another mask come after these.
        let alike = lanes(active).filter(|lane| self.warps[warp].get(mask, *lane) as u32 == members);
        let alike = alike.fold(0, |mask, lane| mask | 1 << lane);
        let needed = members & self.warps[warp].alive();
        if alike & !members != 0 {
            let thread = self.thread(warp, (alike & !members).trailing_zeros());
            let why = format!("the lane is not in the mask {members:#x}");
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
        }
        if let Op::SyncWarp { .. } = op {
            self.arrive_warp(warp, active, alike, needed, members);
            return;
        }
        if needed & !active != 0 {
            self.blocking = Some((active, Block::Lanes { mask: members }));
            return;
        }
        if alike != active {
            // The others wait at this instruction for their own.
            self.together(warp, pc, alike & members, op);
            self.blocking = Some((active & !alike, Block::Lanes { mask: 0 }));
            if let Some((left, _)) = self.blocking {
                self.together(warp, pc, left, op);
                self.blocking = None;
            }
            return;
        }
        self.together(warp, pc, active & members, op);
    }

    /// Answers of waits differ from lane to lane: what several make together is nobody's own.
    fn check_answers(&mut self, warp: usize, pc: Pc, members: u32, op: &Op) {
        let (Op::Shuffle { from, .. } | Op::Vote { from, .. } | Op::Match { from, .. } | Op::ReduceWarp { from, .. }) =
            op
        else {
            return;
        };
        let taint = self.taint_of_all(warp, &[*from], members);
        if members.count_ones() > 1 && self.taints.classes(taint) & taint::WAIT != 0 {
            self.doubt(Doubt::Decided { pc, by: Cause::Wait });
        }
    }

    fn arrive_warp(&mut self, warp: usize, active: u32, alike: u32, needed: u32, members: u32) {
        let waiting: u32 = self.waiting_in_warp(warp, members);
        if needed & !(waiting | alike) == 0 {
            self.order.sync_warp(warp as u32, (waiting | alike) & members);
            for fragment in &mut self.warps[warp].fragments {
                if fragment.blocked == Some(Block::SyncWarp { mask: members }) {
                    fragment.blocked = None;
                    fragment.pc += 1;
                }
            }
            if alike != active {
                self.blocking = Some((active & !alike, Block::Lanes { mask: 0 }));
            }
            return;
        }
        self.blocking = Some((alike, Block::SyncWarp { mask: members }));
    }

    fn waiting_in_warp(&self, warp: usize, members: u32) -> u32 {
        let fragments = self.warps[warp].fragments.iter();
        fragments
            .filter(|own| own.blocked == Some(Block::SyncWarp { mask: members }))
            .fold(0, |mask, own| mask | own.mask)
    }

    /// Lanes that ended may make the rest complete.
    pub(super) fn leave_sync_warp(&mut self, warp: usize, members: u32) -> bool {
        let waiting = self.waiting_in_warp(warp, members);
        let needed = members & self.warps[warp].alive();
        if needed & !waiting != 0 {
            return false;
        }
        self.order.sync_warp(warp as u32, waiting & members);
        true
    }

    /// An operand of an instruction of the whole warp is the same in each of its lanes.
    pub(super) fn check_uniform(&mut self, warp: usize, pc: Pc, active: u32, source: Source) {
        let first = self.warps[warp].get(source, active.trailing_zeros().min(31));
        let differs = |lane: &u32| self.warps[warp].get(source, *lane) != first;
        if let Some(lane) = lanes(active).find(differs) {
            let thread = self.thread(warp, lane);
            let why = "an operand differs between lanes of a warp, which execute this together".to_owned();
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
        }
    }

    /// An `.aligned` instruction is one of all threads of the warp, and undefined if any has ended (9.7.16, 9.7.17, 9.7.18.5). Only
    /// barriers wait for those of the warp that have not ended (9.7.15.1, 9.7.15.3): lanes may leave them out if they have ended
    /// by then. One that has done nothing visible since it left the others may as well have; of any other, somebody must know.
    pub(super) fn check_whole(&mut self, warp: usize, pc: Pc, active: u32, of: Aligned) {
        let own = &self.warps[warp];
        let ended = own.launched & own.exited;
        if ended == 0 {
            return;
        }
        if !matches!(of, Aligned::Barrier | Aligned::Cluster) {
            let thread = self.thread(warp, active.trailing_zeros());
            let what = Protocol::Ended { lanes: ended, of };
            // Beside whatever else is wrong with it.
            return self.find(4, pc, Finding::Protocol { pc, thread, what });
        }
        let did: Vec<(u32, u32)> = lanes(ended).map(|lane| (lane, own.apart[lane as usize])).collect();
        let knows = |(lane, time): &(u32, u32)| {
            let groups = self.order.groups(warp as u32, active);
            *time == 0 || groups.iter().all(|(_, views)| views.known.execution.knows(warp as u32, *lane, *time))
        };
        if !did.iter().all(knows) {
            self.doubt(Doubt::Matching { pc, rule: Rule::LanesEnd });
        }
    }

    /// Lanes of a warp that stand at different `.aligned` instructions, where nobody can go on: each is executed by all that
    /// live, or the behaviour is undefined.
    pub(super) fn find_diverged(&mut self) -> bool {
        let mut found = Vec::new();
        for (index, warp) in self.warps.iter().enumerate() {
            let waits = |fragment: &&Fragment| fragment.blocked == Some(Block::Aligned);
            let places: Vec<&Fragment> = warp.fragments.iter().filter(waits).collect();
            if let [first, second, ..] = places[..] {
                found.push((index, first.pc.min(second.pc), first.mask, warp.alive() & !first.mask));
            }
        }
        for (warp, pc, mask, missing) in &found {
            let Some(of) = self.code[*pc as usize].aligned else { continue };
            let thread = self.thread(*warp, mask.trailing_zeros().min(31));
            let what = Protocol::Diverged { missing: *missing, of };
            self.find(3, *pc, Finding::Protocol { pc: *pc, thread, what });
        }
        !found.is_empty()
    }

    fn together(&mut self, warp: usize, pc: Pc, members: u32, op: &Op) {
        self.check_answers(warp, pc, members, op);
        match op {
            Op::Shuffle { how, to, valid, from, lane, clamp, .. } => {
                self.shuffle(warp, members, *how, (*to, *valid), *from, *lane, *clamp);
            }
            Op::Vote { how, to, from, negated, .. } => {
                let taint = self.taint_of_all(warp, &[*from], members);
                let own = &mut self.warps[warp];
                let on = lanes(members).filter(|lane| (own.get(*from, *lane) & 1 != 0) != *negated);
                let on = on.fold(0u32, |mask, lane| mask | 1 << lane);
                let value = match how {
                    Vote::All => u64::from(on == members),
                    Vote::Any => u64::from(on != 0),
                    Vote::Uniform => u64::from(on == 0 || on == members),
                    Vote::Ballot => u64::from(on),
                };
                for lane in lanes(members) {
                    own.set(*to, lane, value);
                }
                self.set_taint(warp, *to, members, taint);
            }
            Op::Match { all, bits, to, same, from, .. } => {
                let taint = self.taint_of_all(warp, &[*from], members);
                let ty = Ty { kind: crate::code::ty::Kind::Bits, bits: *bits };
                let values: Vec<(u32, u64)> =
                    lanes(members).map(|lane| (lane, ty.cut(self.warps[warp].get(*from, lane)))).collect();
                let everywhere = values.iter().all(|(_, value)| *value == values[0].1);
                for (lane, value) in &values {
                    let equal = values
                        .iter()
                        .filter(|(_, other)| other == value)
                        .fold(0u32, |mask, (lane, _)| mask | 1 << lane);
                    let result = if *all { if everywhere { members } else { 0 } } else { equal };
                    self.warps[warp].set(*to, *lane, u64::from(result));
                    if let Some(same) = same {
                        self.warps[warp].set(*same, *lane, u64::from(everywhere));
                    }
                }
                for to in [Some(to), same.as_ref()].into_iter().flatten() {
                    self.set_taint(warp, *to, members, taint);
                }
            }
            Op::ReduceWarp { operation, ty, to, from, .. } => {
                let taint = self.taint_of_all(warp, &[*from], members);
                let values: Vec<u64> = lanes(members).map(|lane| self.warps[warp].get(*from, lane)).collect();
                let mut value = values.first().copied().unwrap_or(0);
                for other in values.iter().skip(1) {
                    value = super::compute::atomic(*operation, *ty, value, *other, 0).unwrap_or(0);
                }
                for lane in lanes(members) {
                    self.warps[warp].set(*to, lane, value);
                }
                self.set_taint(warp, *to, members, taint);
            }
            Op::Elect { to, elected, .. } => {
                let leader = match self.options.elect {
                    Elect::Lane(lane) if members & (1 << lane) != 0 => lane,
                    Elect::First | Elect::Lane(_) => members.trailing_zeros(),
                    Elect::Last => 31 - members.leading_zeros().min(31),
                };
                for lane in lanes(members) {
                    if let Some(to) = to {
                        self.warps[warp].set(*to, lane, u64::from(leader));
                    }
                    self.warps[warp].set(*elected, lane, u64::from(lane == leader));
                }
                let written: Vec<Register> = to.iter().copied().chain([*elected]).collect();
                written.iter().for_each(|to| self.set_taint(warp, *to, members, 0));
                self.note_elected(warp, members, leader, &written);
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn shuffle(
        &mut self,
        warp: usize,
        members: u32,
        how: Shuffle,
        (to, valid): (u32, Option<u32>),
        from: Source,
        by: Source,
        clamp: Source,
    ) {
        let taint = self.sources_of(warp, &[from, by, clamp], members);
        let (own_undefined, of_source) = (self.undefined_in(warp, &[by, clamp]), self.undefined_in(warp, &[from]));
        let mut undefined = own_undefined & members;
        let mut results = Vec::with_capacity(32);
        let mut nodes = Vec::new();
        let plain = self.tracks() && taint != 0 && self.taint_of_all(warp, &[by, clamp], members) == 0;
        for lane in lanes(members) {
            let own = &self.warps[warp];
            let (by, clamp) = (own.get(by, lane) as u32 & 31, own.get(clamp, lane) as u32);
            let (bound, segment) = (clamp & 31, (clamp >> 8) & 31);
            let most = (lane & segment) | (bound & !segment);
            let least = lane & segment;
            let (source, inside) = match how {
                Shuffle::Up => {
                    let source = lane.wrapping_sub(by);
                    (source, (source as i32) >= most as i32)
                }
                Shuffle::Down => (lane + by, lane + by <= most),
                Shuffle::Butterfly => (lane ^ by, lane ^ by <= most),
                Shuffle::Index => {
                    let source = least | (by & !segment);
                    (source, source <= most)
                }
            };
            let source = if inside { source & 31 } else { lane };
            // What a lane outside the mask has, or one at its end, is not defined (9.7.10.6).
            if members & !of_source & (1 << source) == 0 {
                undefined |= 1 << lane;
            }
            if let (true, Some(Operand::Node(node))) = (plain, self.operand(warp, from, source)) {
                nodes.push((lane, node));
            }
            results.push((lane, own.get(from, source), inside));
        }
        for (lane, value, inside) in results {
            self.warps[warp].set(to, lane, value & 0xffff_ffff);
            if let Some(valid) = valid {
                self.warps[warp].set(valid, lane, u64::from(inside));
            }
        }
        for register in [Some(to), valid].into_iter().flatten() {
            self.set_taint(warp, register, members, taint);
            self.set_undefined(warp, register, if register == to { undefined } else { own_undefined & members });
        }
        self.set_symbols(warp, to, &nodes);
    }
}
