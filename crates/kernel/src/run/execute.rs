//! One instruction after the other: guards, branches, and the file that knows each instruction.

use std::rc::Rc;

use super::Run;
use super::compute;
use super::flag::symbol::{Node, Operand};
use super::synchronise::barrier::Red;
use super::synchronise::mbarrier::Arrival;
use super::taint::{self, Class, MADE_UP, MANY, WAIT};
use super::turns::repeat::is_quiet;
use super::warp::{Block, Fragment, Parted, lanes};
use crate::code::op::{Op, Pc, Reduction, Register, Source, Space, Unknown};
use crate::memory::{At, Taint};
use crate::report::{Cause, Doubt, Finding};

impl Run<'_> {
    /// Runs a fragment until it blocks, ends, parts, or meets another. The number of instructions.
    pub(super) fn advance(&mut self, warp: usize, index: usize) -> u32 {
        let mut fragment = self.warps[warp].fragments.swap_remove(index);
        // Lanes further on are met where they stand.
        let meet = self.warps[warp].fragments.iter().map(|other| other.pc).filter(|pc| *pc > fragment.pc).min();
        let lower = self.warps[warp].fragments.iter().any(|other| other.blocked.is_none() && other.pc <= fragment.pc);
        let code = Rc::clone(&self.code);
        self.apart = fragment.mask != self.warps[warp].alive();
        let mut count = 0;
        loop {
            let instruction = &code[fragment.pc as usize];
            count += 1;
            self.order.tick(warp as u32);
            self.warps[warp].steps += 1;
            self.warps[warp].lane_steps += u64::from(fragment.mask.count_ones());
            if !self.warps[warp].parted.is_empty() {
                self.meet(warp, &fragment);
            }
            if self.warps[warp].joining & fragment.mask != 0 {
                self.rejoin(warp, &fragment);
            }
            let mut active = fragment.mask;
            let mut guarded = None;
            self.overs.guarded = 0;
            if let Some(guard) = instruction.guard {
                let values = &self.warps[warp].registers[guard.register as usize];
                let mut on = 0;
                for lane in lanes(fragment.mask) {
                    on |= u32::from((values[lane as usize] & 1 != 0) != guard.negated) << lane;
                }
                active = on;
                if self.overs.on {
                    self.note_guard(warp, fragment.mask, guard.register);
                    if matches!(instruction.op, Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Exit) {
                        self.note_branch(warp, fragment.pc, fragment.mask, &instruction.op, guard.register);
                    }
                }
                let taint = self.warps[warp].taint_of(Source::Register(guard.register), fragment.mask);
                let undefined = self.warps[warp].undefined[guard.register as usize] & fragment.mask;
                if taint != 0 || undefined != 0 {
                    let depends = (taint, undefined);
                    guarded = self.guarded(warp, &fragment, &instruction.op, depends, active, guard.register);
                }
            }
            if !self.of_products.is_empty() {
                self.note_registers(warp, fragment.pc, active, instruction);
            }
            if self.elections.is_some() {
                self.note_election_step(warp, &fragment, active);
            }
            match &instruction.op {
                Op::Branch { to } => {
                    let (taken, not) = (active, fragment.mask & !active);
                    if not == 0 {
                        fragment.pc = *to;
                    } else if taken == 0 {
                        fragment.pc += 1;
                    } else {
                        self.put(warp, Fragment { pc: *to, mask: taken, blocked: None });
                        self.put(warp, Fragment { pc: fragment.pc + 1, mask: not, blocked: None });
                        return count;
                    }
                }
                Op::BranchIndexed { index, to } => {
                    self.decide(warp, fragment.pc, active, *index);
                    if let (true, Source::Register(index)) = (self.overs.on, *index) {
                        self.note_guard(warp, fragment.mask, index);
                        self.note_branch(warp, fragment.pc, fragment.mask, &instruction.op, index);
                    }
                    self.branch_indexed(warp, &fragment, active, *index, to);
                    return count;
                }
                Op::Exit | Op::Trap if active != 0 && self.flags_of.ghost.is_some() => {
                    self.escape();
                    self.put(warp, fragment);
                    return count;
                }
                Op::Exit | Op::Trap if active != 0 => {
                    self.exit(warp, fragment.pc, active, matches!(instruction.op, Op::Trap));
                    let rest = fragment.mask & !active;
                    if rest != 0 {
                        self.put(warp, Fragment { pc: fragment.pc + 1, mask: rest, blocked: None });
                    }
                    return count;
                }
                op => {
                    if instruction.aligned.is_some() && active != 0 && active != self.warps[warp].alive() {
                        self.blocking = Some((active, Block::Aligned));
                    } else if active != 0 {
                        if let Some(of) = instruction.aligned {
                            self.check_whole(warp, fragment.pc, active, of);
                        }
                        self.execute(warp, fragment.pc, active, op);
                        if self.overs.on {
                            self.note_dependency(warp, active, instruction);
                        }
                    }
                    if let Some(parted) = guarded {
                        self.depend(warp, fragment.mask, &parted);
                    }
                    if let Some((mask, block)) = self.blocking.take() {
                        self.put(warp, Fragment { pc: fragment.pc, mask, blocked: Some(block) });
                        let rest = fragment.mask & !mask;
                        if rest != 0 {
                            self.put(warp, Fragment { pc: fragment.pc + 1, mask: rest, blocked: None });
                        }
                        return count;
                    }
                    fragment.pc += 1;
                }
            }
            let met = meet.is_some_and(|meet| fragment.pc >= meet);
            // An instruction may touch many cells, each of them with a long history.
            if fencepost_syntax::limits::tick() {
                self.end_by_limit();
            }
            if met || lower || count >= 4096 || self.stopped {
                self.put(warp, fragment);
                return count;
            }
        }
    }

    fn put(&mut self, warp: usize, fragment: Fragment) {
        self.warps[warp].fragments.push(fragment);
    }

    fn branch_indexed(&mut self, warp: usize, fragment: &Fragment, active: u32, index: Source, to: &[Pc]) {
        let mut parts: Vec<(Pc, u32)> = Vec::new();
        for lane in lanes(fragment.mask) {
            let target = if active & (1 << lane) == 0 {
                fragment.pc + 1
            } else {
                match to.get(self.warps[warp].get(index, lane) as usize) {
                    Some(target) => *target,
                    None => {
                        let (pc, thread) = (fragment.pc, self.thread(warp, lane));
                        let why = "the index is outside the list of labels".to_owned();
                        self.find(2, pc, Finding::BadOperand { pc, thread, why });
                        self.stopped = true;
                        return;
                    }
                }
            };
            match parts.iter_mut().find(|(pc, _)| *pc == target) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => parts.push((target, 1 << lane)),
            }
        }
        for (pc, mask) in parts {
            self.put(warp, Fragment { pc, mask, blocked: None });
        }
    }

    fn exit(&mut self, warp: usize, pc: Pc, active: u32, trap: bool) {
        if trap {
            let thread = self.thread(warp, active.trailing_zeros());
            self.find(2, pc, Finding::Trap { pc, thread });
            self.stopped = true;
        }
        for lane in lanes(active) {
            self.settle_debt(warp, pc, lane);
        }
        self.forget_peeks(warp, active);
        let cta = self.warps[warp].cta;
        let sent = self.order.sent(warp as u32, active);
        self.exits[cta as usize].include(&sent);
        self.warps[warp].exited |= active;
        for id in 0..16 {
            self.settle_barrier(cta, id);
        }
        let cluster = self.order.cluster_of(cta) as usize;
        self.settle_cluster(cluster);
    }

    /// A value decides where these lanes go, what they touch or how they synchronise: it must be the same in every run.
    pub(super) fn decide(&mut self, warp: usize, pc: Pc, lanes: u32, source: Source) {
        let taint = self.warps[warp].taint_of(source, lanes);
        if taint != 0 {
            self.decided_by(warp, pc, lanes, taint, source, u64::MAX);
            self.decided_answer(pc, taint);
        }
        if self.warps[warp].undefined_lanes(source) & lanes != 0 {
            self.doubt(Doubt::Decided { pc, by: Cause::Uninitialised });
        }
    }

    pub(super) fn decided(&mut self, pc: Pc, taint: Taint) {
        self.taints.decide(taint, pc);
        self.decided_class(pc, taint);
        self.decided_answer(pc, taint);
    }

    /// Only a branch may depend on an answer of a wait: anything else is not the same with both.
    fn decided_answer(&mut self, pc: Pc, taint: Taint) {
        if self.taints.classes(taint) & WAIT != 0 {
            self.doubt(Doubt::Decided { pc, by: Cause::Wait });
        }
    }

    /// The same of the value of a register, of which some bits decide.
    fn decided_by(&mut self, warp: usize, pc: Pc, mask: u32, taint: Taint, source: Source, bits: u64) {
        if !self.decided_by_symbols(warp, pc, mask, source, bits) {
            self.taints.decide(taint, pc);
        }
        self.decided_class(pc, taint);
    }

    fn decided_class(&mut self, pc: Pc, taint: Taint) {
        let classes = self.taints.classes(taint);
        let causes = [
            (taint::FLOAT, Cause::Float),
            (taint::ENVIRONMENT, Cause::Environment),
            (taint::CLOCK, Cause::Clock),
            (taint::STUB, Cause::Stub),
            (taint::UNKNOWN_DATA, Cause::Unknown),
            (taint::ATOMIC, Cause::Atomic),
            (taint::UNDEFINED, Cause::Uninitialised),
            (taint::TOKEN, Cause::Token),
            (taint::COLUMNS, Cause::Columns),
        ];
        if classes & (MADE_UP | taint::ATOMIC) != 0 {
            for (class, by) in causes {
                if classes & class != 0 {
                    self.doubt(Doubt::Decided { pc, by });
                }
            }
        }
        if classes & MANY != 0 {
            self.doubt(Doubt::Decided { pc, by: Cause::Read });
        }
    }

    /// These lanes do something that others can see.
    pub(super) fn effect(&mut self, warp: usize, pc: Pc, active: u32) {
        if self.warps[warp].asking & active != 0 {
            self.warps[warp].forget_rounds(active);
        }
        if self.apart {
            let time = self.order.time(warp as u32);
            lanes(active).for_each(|lane| self.warps[warp].apart[lane as usize] = time);
        }
        for lane in lanes(active) {
            self.warps[warp].effects[lane as usize] += 1;
            self.settle_debt(warp, pc, lane);
        }
    }

    fn settle_debt(&mut self, warp: usize, pc: Pc, lane: u32) {
        if self.warps[warp].owes[lane as usize].take().is_some() {
            self.doubt(Doubt::Decided { pc, by: Cause::Wait });
        }
    }

    /// A guard that is not determined: the results of computations depend on it, once they are there; anything else is
    /// decided by it.
    fn guarded(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        op: &Op,
        (taint, undefined): (Taint, u32),
        active: u32,
        guard: Register,
    ) -> Option<Parted> {
        let mask = fragment.mask;
        if let Some(skip) = &self.skips[fragment.pc as usize] {
            let (meet, written) = (skip.meet, Rc::clone(&skip.written));
            self.warps[warp].parted.push(Parted { meet, mask, written, taint, undefined });
            return None;
        }
        if let Some(written) = op.computed() {
            return Some(Parted { meet: fragment.pc + 1, mask, written: written.into(), taint, undefined });
        }
        let tainted = self.warps[warp].tainted_lanes(Source::Register(guard)) & mask;
        let backs_off = matches!(op, Op::Branch { .. }) && self.only_asks_again(warp, fragment.pc, tainted);
        if taint != 0 && !backs_off {
            self.decided_by(warp, fragment.pc, mask, taint, Source::Register(guard), 1);
            if self.taints.classes(taint) & WAIT != 0 {
                self.branch_on_answer(warp, fragment, tainted, active, op);
            }
        }
        if undefined != 0 {
            self.doubt(Doubt::Decided { pc: fragment.pc, by: Cause::Uninitialised });
        }
        None
    }

    /// What was written depends on the guard or branch that decided it.
    fn depend(&mut self, warp: usize, mask: u32, parted: &Parted) {
        for to in parted.written.iter() {
            if parted.taint != 0 {
                self.add_taint(warp, *to, mask, parted.taint);
            }
            self.warps[warp].undefined[*to as usize] |= parted.undefined & mask;
        }
    }

    /// Lanes come to where the two ways of a branch meet.
    fn meet(&mut self, warp: usize, fragment: &Fragment) {
        let mut parted = std::mem::take(&mut self.warps[warp].parted);
        for own in parted.iter_mut().filter(|own| own.meet == fragment.pc) {
            self.depend(warp, own.mask & fragment.mask, own);
            own.mask &= !fragment.mask;
        }
        parted.retain(|own| own.mask != 0);
        self.warps[warp].parted = parted;
    }

    pub(super) fn set_taint(&mut self, warp: usize, to: Register, mask: u32, taint: Taint) {
        if mask == 0 {
            return;
        }
        if self.tracks() {
            self.flags_of.symbols.clear(warp, to, mask);
        }
        self.warps[warp].undefined[to as usize] &= !mask;
        let (own, old) = self.warps[warp].taint[to as usize];
        if taint == 0 {
            if own != 0 {
                let left = own & !mask;
                self.warps[warp].taint[to as usize] = (left, if left == 0 { 0 } else { old });
            }
            return;
        }
        let kept = own & !mask;
        let taint = if kept == 0 { taint } else { self.union(taint, old) };
        self.warps[warp].taint[to as usize] = (kept | mask, taint);
    }

    pub(super) fn add_taint(&mut self, warp: usize, to: Register, mask: u32, taint: Taint) {
        if self.tracks() {
            self.flags_of.symbols.clear(warp, to, mask);
        }
        let (own, old) = self.warps[warp].taint[to as usize];
        let taint = self.union(taint, old);
        self.warps[warp].taint[to as usize] = (own | mask, taint);
    }

    /// The lanes for which any of these values depends on something beyond the launch.
    fn lanes_of(&self, warp: usize, from: &[Source]) -> u32 {
        from.iter().fold(0, |lanes, source| lanes | self.warps[warp].tainted_lanes(*source))
    }

    /// The lanes for which any of these values was never written.
    pub(super) fn undefined_in(&self, warp: usize, from: &[Source]) -> u32 {
        from.iter().fold(0, |lanes, source| lanes | self.warps[warp].undefined_lanes(*source))
    }

    /// A result of values that may not have been written, in some lanes.
    pub(super) fn set_undefined(&mut self, warp: usize, to: Register, mask: u32) {
        if mask != 0 {
            self.warps[warp].undefined[to as usize] |= mask;
        }
    }

    /// What the values depend on, for any of these lanes.
    pub(super) fn taint_of_all(&mut self, warp: usize, from: &[Source], mask: u32) -> Taint {
        let taint = self.sources_of(warp, from, mask);
        if self.undefined_in(warp, from) & mask == 0 {
            return taint;
        }
        let undefined = self.taints.class(taint::UNDEFINED);
        self.union(taint, undefined)
    }

    /// The same, but for [`Run::undefined_in`].
    pub(super) fn sources_of(&mut self, warp: usize, from: &[Source], mask: u32) -> Taint {
        let mut taint = 0;
        for source in from {
            let own = self.warps[warp].taint_of(*source, mask);
            if own != 0 {
                taint = self.union(taint, own);
            }
        }
        taint
    }

    fn execute(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        if self.escapes(warp, pc, active, op) {
            return;
        }
        let version = self.memory.version;
        self.execute_as(warp, pc, active, op);
        // A store of what is there already does nothing to others.
        let stores = matches!(op, Op::Store(access, _) if access.place.space != Space::Param);
        if !is_quiet(op) && (!stores || self.memory.version != version) {
            // What meets at a barrier is compared with all that wait there.
            self.loud += u64::from(!matches!(op, Op::Barrier { .. }));
            self.warps[warp].loud = self.warps[warp].steps;
        }
    }

    fn execute_as(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        match op {
            Op::Compute { function, ty, to, from } => self.compute(warp, active, *function, *ty, *to, from),
            Op::SetPredicate { .. } | Op::Set { .. } | Op::Convert { .. } | Op::InsertField { .. } => {
                self.compute_other(warp, active, op);
            }
            Op::MoveHalves { to, from } => self.move_halves(warp, active, *to, *from),
            Op::AddCarry { .. } | Op::Pack { .. } | Op::Unpack { .. } => self.compute_other(warp, active, op),
            Op::Opaque { to, from, why, commutes } => {
                let class = if *why == Unknown::Float { taint::FLOAT } else { taint::ENVIRONMENT };
                // Values first: a result may be an operand too.
                self.tokens_of(warp, pc, active, to, from, *commutes);
                self.mark(warp, active, to, from, class);
            }
            Op::Clock { to } => {
                let class = taint::CLOCK;
                self.opaque(warp, active, &[*to], &[], class);
                // Time goes on: whoever waits for it to pass does not wait for ever.
                let now = self.warps[warp].steps * 16;
                lanes(active).for_each(|lane| self.warps[warp].set(*to, lane, now));
            }
            Op::ToGeneric { .. }
            | Op::FromGeneric { .. }
            | Op::IsSpace { .. }
            | Op::MapAddress { .. }
            | Op::CtaRank { .. } => {
                self.address(warp, active, op);
            }
            Op::Load(access, to) => self.load(warp, pc, active, access, to),
            Op::Store(access, from) => self.store(warp, pc, active, access, from),
            Op::Atomic { access, operation, to, from } => self.atomic(warp, pc, active, access, *operation, *to, *from),
            Op::AtomicVector { access, operation, to, from } => {
                let (bytes, place) = (access.ty.bytes() * from.len() as u32, access.place);
                for lane in lanes(active) {
                    let address = self.warps[warp].get(place.base, lane).wrapping_add(place.offset as u64);
                    self.is_misaligned(warp, pc, lane, address, bytes);
                }
                for (index, source) in from.iter().enumerate() {
                    let mut access = access.clone();
                    access.place.offset += index as i64 * i64::from(access.ty.bytes());
                    let to = to.get(index).copied().flatten();
                    self.atomic(warp, pc, active, &access, *operation, to, [*source, Source::Constant(0)]);
                }
            }
            Op::StoreBulk { to, bytes } => self.store_bulk(warp, pc, active, *to, *bytes),
            Op::LoadMatrix { .. } | Op::StoreMatrix { .. } | Op::WmmaLoad { .. } | Op::WmmaStore { .. } => {
                self.fragment(warp, pc, active, op);
            }
            Op::Fence { .. }
            | Op::FenceProxyAsync(_)
            | Op::FenceProxyTensormapRelease { .. }
            | Op::FenceProxyTensormapAcquire { .. }
            | Op::FenceProxyAlias
            | Op::FenceMbarrierInit => self.fence(warp, pc, active, op),
            Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Exit | Op::Trap | Op::Nothing | Op::BulkPrefetch => {}
            Op::Call { name, results } => self.call(warp, pc, active, name, results),
            Op::SyncWarp { .. }
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::ReduceWarp { .. }
            | Op::Elect { .. }
            | Op::ActiveMask { .. } => self.collective(warp, pc, active, op),
            Op::Barrier { id, threads, arrive_only, from, negated, reduction, .. } => {
                let red = Red { from: *from, negated: *negated, reduces: *reduction != Reduction::None };
                self.barrier(warp, pc, active, *id, *threads, *arrive_only, red);
            }
            Op::ClusterArrive { order } => self.cluster_arrive(warp, pc, active, *order),
            Op::ClusterWait { .. } => self.cluster_wait(warp, pc, active),
            Op::MbarrierInit { at, count } => self.mbarrier_init(warp, pc, active, *at, *count),
            Op::MbarrierInvalidate { at } => self.mbarrier_invalidate(warp, pc, active, *at),
            Op::MbarrierArrive { at, count, expect, drop, no_complete, order, scope, token } => {
                let arrival = Arrival {
                    place: *at,
                    count: *count,
                    expect: *expect,
                    drop: *drop,
                    no_complete: *no_complete,
                    order: *order,
                    scope: *scope,
                    token: *token,
                };
                self.arrive(warp, pc, active, &arrival);
            }
            Op::MbarrierExpect { at, bytes, scope } => self.expect(warp, pc, active, (*at, *bytes), *scope, false),
            Op::MbarrierComplete { at, bytes, scope } => self.expect(warp, pc, active, (*at, *bytes), *scope, true),
            Op::MbarrierWait { at, to, state, parity, order, scope } => {
                self.mbarrier_wait(warp, pc, active, *at, *to, *state, *parity, *order, *scope);
            }
            Op::MbarrierPending { to, .. } => {
                let class = taint::ATOMIC;
                self.opaque(warp, active, &[*to], &[], class);
            }
            Op::SetMaxRegisters { count, .. } => self.set_max_registers(warp, pc, active, *count),
            Op::GridWait => self.grid_wait(warp, active),
            Op::GridLaunchDependents => self.grid_launch(warp, active),
            Op::Unmodelled { text, to } => {
                self.doubt(Doubt::Unmodelled { pc, text: text.clone() });
                let class = taint::STUB;
                self.opaque(warp, active, to, &[], class);
            }
            Op::TryCancel { to, mbarrier, all } => self.try_cancel(warp, pc, active, *to, *mbarrier, *all),
            Op::IsCancelled { to, answer } => self.is_cancelled(warp, active, *to, *answer),
            Op::FirstCta { to, axes, answer } => self.first_cta(warp, active, to, axes, *answer),
            _ => self.asynchronous(warp, pc, active, op),
        }
    }

    fn move_halves(&mut self, warp: usize, active: u32, to: [Option<Register>; 2], from: [Source; 2]) {
        let taints = from.map(|source| self.warps[warp].taint_of(source, active));
        let undefined = from.map(|source| self.warps[warp].undefined_lanes(source) & active);
        for lane in lanes(active) {
            let values = from.map(|source| self.warps[warp].get(source, lane));
            for (to, value) in to.iter().zip(values) {
                to.iter().for_each(|to| self.warps[warp].set(*to, lane, value));
            }
        }
        for ((to, taint), undefined) in to.iter().zip(taints).zip(undefined) {
            if let Some(to) = to {
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
            }
        }
    }

    fn call(&mut self, warp: usize, pc: Pc, active: u32, name: &str, results: &[(u64, u32)]) {
        if name == "__assertfail" {
            let thread = self.thread(warp, active.trailing_zeros());
            self.find(2, pc, Finding::Assertion { pc, thread, name: name.to_owned() });
            self.stopped = true;
            return;
        }
        if name != "vprintf" {
            self.doubt(Doubt::Stub { pc, name: name.to_owned() });
        }
        let stub = self.taints.class(taint::STUB);
        for lane in lanes(active) {
            let thread = self.thread(warp, lane);
            for (at, bytes) in results {
                (0..u64::from(*bytes)).for_each(|byte| self.memory.write(At::Local(at + byte), 1, 0, stub, thread));
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn compute(
        &mut self,
        warp: usize,
        active: u32,
        function: crate::code::op::Function,
        ty: crate::code::ty::Ty,
        to: Register,
        from: &[Source; 3],
    ) {
        let undefined_in = self.undefined_in(warp, from) & active;
        let not_written = if undefined_in == 0 { 0 } else { self.undefined_by(warp, function, from, undefined_in) };
        let nodes = if self.tracks() && self.sources_of(warp, from, active) != 0 {
            let make = |from: &[Operand]| Node::Function { function, ty, from: [from[0], from[1], from[2]] };
            self.symbols_of(warp, active, from, make)
        } else {
            Vec::new()
        };
        let own = &mut self.warps[warp];
        let mut undefined = 0u32;
        for lane in lanes(active) {
            let (a, b, c) = (own.get(from[0], lane), own.get(from[1], lane), own.get(from[2], lane));
            match compute::function(function, ty, a, b, c) {
                Some(value) => own.set(to, lane, value),
                None => {
                    own.set(to, lane, u64::MAX);
                    undefined |= 1 << lane;
                }
            }
        }
        let mut taint = self.sources_of(warp, from, active);
        if undefined != 0 {
            let class = self.taints.class(taint::ENVIRONMENT);
            taint = self.union(taint, class);
        }
        let own = if undefined == 0 { self.lanes_of(warp, from) } else { u32::MAX };
        self.set_taint(warp, to, active & !own, 0);
        self.set_taint(warp, to, active & own, taint);
        self.set_undefined(warp, to, not_written);
        self.set_symbols(warp, to, &nodes);
    }

    /// Of lanes with an operand that was never written, those whose result depends on it: not on what is not selected.
    fn undefined_by(&self, warp: usize, function: crate::code::op::Function, from: &[Source; 3], mask: u32) -> u32 {
        if function != crate::code::op::Function::Select {
            return mask;
        }
        let own = &self.warps[warp];
        let chosen = |lane: u32| if own.get(from[2], lane) & 1 != 0 { from[0] } else { from[1] };
        let depends =
            |lane: &u32| (own.undefined_lanes(chosen(*lane)) | own.undefined_lanes(from[2])) & (1 << lane) != 0;
        lanes(mask).filter(depends).fold(0, |mask, lane| mask | 1 << lane)
    }

    fn compute_other(&mut self, warp: usize, active: u32, op: &Op) {
        match op {
            Op::SetPredicate { compare, ty, combine, to, complement, left, right, with, with_negated } => {
                let taint = self.sources_of(warp, &[*left, *right, *with], active);
                let undefined = self.undefined_in(warp, &[*left, *right, *with]) & active;
                let tainted = self.lanes_of(warp, &[*left, *right, *with]);
                let node = |complement: bool| {
                    let (compare, ty, combine, with_negated) = (*compare, *ty, *combine, *with_negated);
                    move |from: &[Operand]| {
                        let from = [from[0], from[1], from[2]];
                        Node::Predicate { compare, ty, combine, from, with_negated, complement }
                    }
                };
                let tracked = self.tracks() && taint != 0;
                let from = [*left, *right, *with];
                let nodes = if tracked { self.symbols_of(warp, active, &from, node(false)) } else { Vec::new() };
                let others = if tracked { self.symbols_of(warp, active, &from, node(true)) } else { Vec::new() };
                let own = &mut self.warps[warp];
                for lane in lanes(active) {
                    let value = compute::compare(*compare, *ty, own.get(*left, lane), own.get(*right, lane));
                    let with = (own.get(*with, lane) & 1 != 0) != *with_negated;
                    if let Some(to) = to {
                        own.set(*to, lane, u64::from(compute::combine(*combine, value, with)));
                    }
                    if let Some(complement) = complement {
                        own.set(*complement, lane, u64::from(compute::combine(*combine, !value, with)));
                    }
                }
                for (to, nodes) in [(to, nodes), (complement, others)] {
                    if let Some(to) = to {
                        self.set_taint(warp, *to, active & !tainted, 0);
                        self.set_taint(warp, *to, active & tainted, taint);
                        self.set_undefined(warp, *to, undefined);
                        self.set_symbols(warp, *to, &nodes);
                    }
                }
            }
            Op::Set { compare, ty, to_ty, to, left, right } => {
                let taint = self.sources_of(warp, &[*left, *right], active);
                let undefined = self.undefined_in(warp, &[*left, *right]) & active;
                let own = &mut self.warps[warp];
                for lane in lanes(active) {
                    let value = compute::compare(*compare, *ty, own.get(*left, lane), own.get(*right, lane));
                    let one = if to_ty.kind == crate::code::ty::Kind::Float {
                        u64::from(1f32.to_bits())
                    } else {
                        to_ty.cut(u64::MAX)
                    };
                    own.set(*to, lane, if value { one } else { 0 });
                }
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
            }
            Op::Convert { to, from, to_ty, from_ty, saturate, round } => {
                let taint = self.sources_of(warp, &[*from], active);
                let undefined = self.undefined_in(warp, &[*from]) & active;
                let nodes = if self.tracks() && taint != 0 {
                    let (to_ty, from_ty, saturate, round) = (*to_ty, *from_ty, *saturate, *round);
                    let make = |from: &[Operand]| Node::Convert { to_ty, from_ty, saturate, round, from: from[0] };
                    self.symbols_of(warp, active, &[*from], make)
                } else {
                    Vec::new()
                };
                let own = &mut self.warps[warp];
                for lane in lanes(active) {
                    let value = compute::convert(*to_ty, *from_ty, *saturate, *round, own.get(*from, lane));
                    own.set(*to, lane, value);
                }
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
                self.set_symbols(warp, *to, &nodes);
            }
            Op::InsertField { ty, to, from } => {
                let taint = self.sources_of(warp, from, active);
                let undefined = self.undefined_in(warp, from) & active;
                let own = &mut self.warps[warp];
                for lane in lanes(active) {
                    let [a, b, c, d] = from.map(|source| own.get(source, lane));
                    own.set(*to, lane, compute::insert_field(*ty, a, b, c, d));
                }
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
            }
            Op::AddCarry { function, ty, to, from, takes, gives } => {
                let mut taint = self.sources_of(warp, from, active);
                let mut undefined = self.undefined_in(warp, from) & active;
                let (carried, of_carry) = self.warps[warp].carry_taint;
                if *takes {
                    undefined |= self.warps[warp].carry_undefined & active;
                    taint = if carried & active == 0 { taint } else { self.union(taint, of_carry) };
                }
                let own = &mut self.warps[warp];
                for lane in lanes(active) {
                    let [a, b, c] = from.map(|source| own.get(source, lane));
                    let carry = if *takes { own.carry[lane as usize] } else { 0 };
                    let (value, out) = compute::with_carry(*function, *ty, a, b, c, carry);
                    own.set(*to, lane, value);
                    if *gives {
                        own.carry[lane as usize] = out;
                    }
                }
                if *gives {
                    let kept = carried & !active;
                    let all = if kept == 0 { taint } else { self.union(taint, of_carry) };
                    let own = &mut self.warps[warp];
                    own.carry_taint = (if taint == 0 { kept } else { kept | active }, all);
                    own.carry_undefined = (own.carry_undefined & !active) | undefined;
                }
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
            }
            Op::Pack { to, from, bits } => {
                let taint = self.sources_of(warp, from, active);
                let undefined = self.undefined_in(warp, from) & active;
                let own = &mut self.warps[warp];
                let mask = if *bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                for lane in lanes(active) {
                    let mut value = 0;
                    for (index, source) in from.iter().enumerate() {
                        value |= (own.get(*source, lane) & mask) << (index as u32 * u32::from(*bits)).min(63);
                    }
                    own.set(*to, lane, value);
                }
                self.set_taint(warp, *to, active, taint);
                self.set_undefined(warp, *to, undefined);
            }
            Op::Unpack { to, from, bits } => {
                let taint = self.sources_of(warp, &[*from], active);
                let undefined = self.undefined_in(warp, &[*from]) & active;
                let own = &mut self.warps[warp];
                let mask = if *bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                for lane in lanes(active) {
                    let value = own.get(*from, lane);
                    for (index, to) in to.iter().enumerate() {
                        if let Some(to) = to {
                            own.set(*to, lane, (value >> (index as u32 * u32::from(*bits)).min(63)) & mask);
                        }
                    }
                }
                for to in to.iter().flatten() {
                    self.set_taint(warp, *to, active, taint);
                    self.set_undefined(warp, *to, undefined);
                }
            }
            _ => {}
        }
    }

    /// A result that is not computed stands for itself: equal operands of one instruction give equal tokens.
    fn tokens_of(&mut self, warp: usize, pc: Pc, active: u32, to: &[Register], from: &[Source], commutes: bool) {
        for lane in lanes(active) {
            let own = &self.warps[warp];
            // What several registers at once stand for depends on the lane.
            let place = if to.len() > 1 { u64::from(own.thread + lane) + 1 } else { 0 };
            let start = mix(u64::from(pc) + 1, place);
            // Products have many operands: a lighter mix, as each register has a full one behind it.
            let light = |token: u64, value: u64| (token.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let with = |token: u64, source: &Source| light(token, own.get(*source, lane));
            let mut token = match from {
                [a, b, rest @ ..] if commutes => {
                    let (a, b) = (own.get(*a, lane), own.get(*b, lane));
                    rest.iter().fold(light(light(start, a.min(b)), a.max(b)), with)
                }
                _ => from.iter().fold(start, with),
            };
            for to in to {
                token = mix(token, u64::from(*to));
                // A finite float: sums of tokens commute.
                self.warps[warp].set(*to, lane, 0x3f80_0000 | (token & 0x007f_ffff));
            }
        }
    }

    /// Results that are not computed: zero, and marked.
    pub(super) fn opaque(&mut self, warp: usize, active: u32, to: &[Register], from: &[Source], class: Class) {
        self.mark(warp, active, to, from, class);
        for to in to {
            lanes(active).for_each(|lane| self.warps[warp].set(*to, lane, 0));
        }
    }

    fn mark(&mut self, warp: usize, active: u32, to: &[Register], from: &[Source], class: Class) {
        let own = self.taints.class(class);
        let taint = self.sources_of(warp, from, active);
        let undefined = self.undefined_in(warp, from) & active;
        let taint = self.union(taint, own);
        for to in to {
            self.set_taint(warp, *to, active, taint);
            self.set_undefined(warp, *to, undefined);
        }
    }

    fn address(&mut self, warp: usize, active: u32, op: &Op) {
        let cta = self.warps[warp].cta;
        let (to, from, rank) = match op {
            Op::ToGeneric { to, from, .. } | Op::FromGeneric { to, from, .. } | Op::IsSpace { to, from, .. } => {
                (*to, *from, None)
            }
            Op::MapAddress { to, from, rank, .. } => (*to, *from, Some(*rank)),
            Op::CtaRank { to, from, .. } => (*to, *from, None),
            _ => return,
        };
        let sources = [from, rank.unwrap_or(Source::Constant(0))];
        let taint = self.sources_of(warp, &sources, active);
        let undefined = self.undefined_in(warp, &sources) & active;
        for lane in lanes(active) {
            let address = self.warps[warp].get(from, lane);
            let thread = self.thread(warp, lane);
            let value = match op {
                Op::ToGeneric { space, .. } => self.memory.to_generic(*space, address, cta, thread),
                Op::FromGeneric { space, bits, .. } => {
                    let value = self.memory.from_generic(*space, address);
                    if *bits == 32 { value & 0xffff_ffff } else { value }
                }
                Op::IsSpace { space, .. } => u64::from(self.memory.is_in(*space, address)),
                Op::MapAddress { rank, space, .. } => {
                    let rank = self.warps[warp].get(*rank, lane) as u32;
                    if *space == crate::code::op::Space::Generic {
                        let offset = self.memory.from_generic(crate::code::op::Space::Shared, address);
                        let mapped = self.memory.mapped(offset, rank);
                        self.memory.to_generic(crate::code::op::Space::SharedCluster, mapped, cta, thread)
                    } else {
                        self.memory.mapped(address, rank)
                    }
                }
                Op::CtaRank { space, .. } => u64::from(self.memory.rank_of(*space, address, cta)),
                _ => 0,
            };
            self.warps[warp].set(to, lane, value);
        }
        self.set_taint(warp, to, active, taint);
        self.set_undefined(warp, to, undefined);
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mut value = (a ^ b.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^= value >> 29;
    value = value.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 32)
}
