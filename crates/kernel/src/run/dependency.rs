//! Which reads the value of a register depends on, lane by lane: an access that depends on a read comes when that is over.
//!
//! Only where CTAs of a cluster access each other's shared memory, and only for that ([`super::over`]). The rules are those of
//! `fencepost check`: an operand that cannot matter is none (8.10.4), and a branch that leads back decides all behind it.
//! What is not followed exactly (other branches, guards, shuffles, local memory) is marked, and proves nothing.

use std::rc::Rc;

use super::Run;
use super::flag::liveness::in_one_loop;
use super::register_reads::{AccessId, Dependencies, Dependency, MOST_KEPT};
use super::warp::lanes;
use crate::code::Instruction;
use crate::code::op::{Combine, Function, Op, Pc, Register, Source};
use crate::dependence::results;
use crate::order::clock::Time;
use crate::order::{Certainty, Known};

impl Run<'_> {
    fn dependencies(&self, warp: usize) -> Option<&Dependencies> {
        self.warps[warp].dependencies.as_deref()
    }

    fn set_dependency(&mut self, warp: usize, to: Register, lane: u32, dependency: Dependency) {
        if let Some(own) = &mut self.warps[warp].dependencies {
            own.set(to, lane, dependency);
        }
    }

    pub(super) fn dependency_of(&self, warp: usize, source: Source, lane: u32) -> Dependency {
        match (source, self.dependencies(warp)) {
            (Source::Register(register), Some(own)) => own.of(register, lane),
            _ => Dependency::default(),
        }
    }

    pub(super) fn control_of(&self, warp: usize, lane: u32) -> Dependency {
        self.dependencies(warp).map_or_else(Dependency::default, |own| own.control[lane as usize])
    }

    /// Too many reads are not followed: any of them may be used from now on.
    fn both(&mut self, at: (usize, u32), a: Dependency, b: Dependency) -> Dependency {
        let (latest, unclear) = (a.latest.max(b.latest), a.unclear || b.unclear);
        match self.overs.sets.union(a.reads, b.reads) {
            Some(reads) => Dependency { latest, reads, unclear },
            None => {
                self.use_reads(at, a.reads, Certainty::Seen);
                self.use_reads(at, b.reads, Certainty::Seen);
                Dependency { latest, reads: 0, unclear: true }
            }
        }
    }

    pub(super) fn depends_on(&mut self, warp: usize, lane: u32, sources: &[Source]) -> Dependency {
        sources.iter().fold(Dependency::default(), |all, source| {
            let own = self.dependency_of(warp, *source, lane);
            if own.is_none() { all } else { self.both((warp, lane), all, own) }
        })
    }

    /// The same of what is done there: branches before it decide it, too.
    pub(super) fn act_depends_on(&mut self, warp: usize, lane: u32, sources: &[Source]) -> Dependency {
        let own = self.depends_on(warp, lane, sources);
        let control = self.control_of(warp, lane);
        let mut all = self.both((warp, lane), own, control);
        all.unclear |= self.overs.guarded & (1 << lane) != 0;
        all
    }

    /// A lane has read something: it goes on with this value.
    pub(super) fn read_into(&mut self, warp: usize, lane: u32, to: Register, read: Option<AccessId>) {
        if !self.overs.on {
            return;
        }
        let latest = self.order.time(warp as u32);
        let known = Rc::clone(&self.order.views(warp as u32, lane).known);
        let reads = read.map_or(0, |read| self.overs.sets.one(read));
        let unclear = self.overs.guarded & (1 << lane) != 0;
        let Some(own) = &mut self.warps[warp].dependencies else { return };
        own.set(to, lane, Dependency { latest, reads, unclear });
        let kept = &mut own.known[lane as usize];
        if !kept.back().is_some_and(|(_, last)| Rc::ptr_eq(last, &known)) {
            kept.push_back((latest, known));
            if kept.len() > MOST_KEPT {
                kept.pop_front();
            }
        }
    }

    /// What a lane knew at a read of that time; None if that is not kept.
    pub(super) fn known_at(&self, warp: usize, lane: u32, time: Time) -> Option<Rc<Known>> {
        let kept = &self.dependencies(warp)?.known[lane as usize];
        kept.iter().rev().find(|(from, _)| *from <= time).map(|(_, known)| Rc::clone(known))
    }

    /// Lanes whose guard depends on reads, for the instruction under way. As behind a branch, what it does or leaves out may use
    /// them.
    pub(super) fn note_guard(&mut self, warp: usize, mask: u32, guard: Register) {
        self.overs.guarded = 0;
        for lane in lanes(mask) {
            let dependency = self.dependency_of(warp, Source::Register(guard), lane);
            if !dependency.is_none() {
                self.overs.guarded |= 1 << lane;
                self.use_reads((warp, lane), dependency.reads, Certainty::Seen);
            }
        }
    }

    /// A branch on a value that depends on reads. One that leads back decides all that follows (docs/models/ptx.md,
    /// "Dependencies"); of others that is not followed.
    pub(super) fn note_branch(&mut self, warp: usize, pc: Pc, mask: u32, op: &Op, guard: Register) {
        let leads_back = self.overs.guarded & mask != 0 && self.leads_back(pc, op);
        for lane in lanes(mask & self.overs.guarded) {
            let by = self.dependency_of(warp, Source::Register(guard), lane);
            let certainty = if leads_back && !by.unclear { Certainty::Certain } else { Certainty::Seen };
            self.use_reads((warp, lane), by.reads, certainty);
            let control = self.control_of(warp, lane);
            let decided = match certainty {
                Certainty::Certain => self.both((warp, lane), control, by),
                Certainty::Seen => Dependency { unclear: true, ..control },
            };
            if let Some(own) = &mut self.warps[warp].dependencies {
                own.control[lane as usize] = decided;
            }
        }
    }

    /// Whether a branch is one of a loop.
    fn leads_back(&mut self, pc: Pc, op: &Op) -> bool {
        let Op::Branch { to } = op else { return false };
        let code = &self.code;
        *self.overs.loops.entry(pc).or_insert_with(|| *to <= pc && in_one_loop(code, *to, pc))
    }

    /// What registers depend on behind an instruction. Loads, atomics and operations on mbarriers say so themselves.
    pub(super) fn note_dependency(&mut self, warp: usize, active: u32, instruction: &Instruction) {
        let written = match &instruction.op {
            Op::Load(..) | Op::Store(..) | Op::Atomic { .. } | Op::AtomicVector { .. } => return,
            Op::MbarrierArrive { .. } | Op::MbarrierWait { .. } | Op::Fence { .. } => return,
            op => op.computed(),
        };
        let (Some(written), Some(sources)) = (written, mattering(&instruction.op)) else {
            return self.note_unclear(warp, active, instruction);
        };
        for lane in lanes(active) {
            let mut dependency = self.depends_on(warp, lane, &sources);
            dependency.unclear |= self.overs.guarded & (1 << lane) != 0;
            written.iter().for_each(|to| self.set_dependency(warp, *to, lane, dependency));
        }
    }

    /// An instruction whose results are not followed: all that it names may depend on all that it names.
    fn note_unclear(&mut self, warp: usize, active: u32, instruction: &Instruction) {
        let (from_memory, written) = results(&instruction.op);
        let mut any = from_memory || self.overs.guarded & active != 0;
        for register in instruction.registers.iter() {
            for lane in 0..32 {
                let dependency = self.dependency_of(warp, Source::Register(*register), lane);
                any |= !dependency.is_none();
                self.use_reads((warp, lane), dependency.reads, Certainty::Seen);
            }
        }
        if any {
            let unclear = Dependency { unclear: true, ..Dependency::default() };
            for register in instruction.registers.iter().chain(&written) {
                lanes(active).for_each(|lane| self.set_dependency(warp, *register, lane, unclear));
            }
        }
    }

    /// Local memory is not followed.
    pub(super) fn store_local(&mut self, warp: usize, lane: u32, from: &[Source]) {
        let dependency = self.act_depends_on(warp, lane, from);
        self.use_reads((warp, lane), dependency.reads, Certainty::Seen);
        if let (Some(own), false) = (&mut self.warps[warp].dependencies, dependency.is_none()) {
            own.local |= 1 << lane;
        }
    }

    /// What does not come from memory that threads share.
    pub(super) fn load_local(&mut self, warp: usize, lane: u32, to: Register) {
        let is_local = |own: &Dependencies| own.local & (1 << lane) != 0;
        let unclear = self.dependencies(warp).is_some_and(is_local) || self.overs.guarded & (1 << lane) != 0;
        self.set_dependency(warp, to, lane, Dependency { unclear, ..Dependency::default() });
    }
}

/// The operands that the results depend on, whatever their values are (8.10.4); None where that is not followed.
fn mattering(op: &Op) -> Option<Vec<Source>> {
    use Function as F;
    let zero = Source::Constant(0);
    Some(match op {
        Op::Compute { function, from: [a, b, c], .. } => match function {
            F::Subtract | F::Xor if a == b => Vec::new(),
            F::And | F::Multiply | F::MultiplyLow | F::MultiplyHigh | F::MultiplyWide if *a == zero || *b == zero => {
                Vec::new()
            }
            F::MultiplyAddLow | F::MultiplyAddHigh | F::MultiplyAddWide | F::FusedMultiplyAdd => {
                if *a == zero || *b == zero {
                    return None;
                }
                vec![*a, *b, *c]
            }
            F::Select if a == b => vec![*a],
            F::Select => vec![*a, *b, *c],
            F::Move | F::Not | F::Negate => vec![*a],
            F::Add | F::Subtract | F::And | F::Or | F::Xor | F::Multiply | F::MultiplyLow => vec![*a, *b],
            F::MultiplyHigh | F::MultiplyWide | F::Minimum | F::Maximum => vec![*a, *b],
            F::ShiftLeft | F::ShiftRight | F::Divide | F::Remainder => vec![*a, *b],
            _ => return None,
        },
        Op::SetPredicate { combine: Combine::None, left, right, .. } | Op::Set { left, right, .. } => {
            if left == right {
                Vec::new()
            } else {
                vec![*left, *right]
            }
        }
        Op::SetPredicate { left, right, with: Source::Register(with), .. } if left != right => {
            vec![*left, *right, Source::Register(*with)]
        }
        Op::Convert { from, .. } | Op::ToGeneric { from, .. } | Op::FromGeneric { from, .. } => vec![*from],
        Op::Unpack { from, .. } => vec![*from],
        Op::Pack { from, .. } => from.clone(),
        Op::Nothing => Vec::new(),
        _ => return None,
    })
}
