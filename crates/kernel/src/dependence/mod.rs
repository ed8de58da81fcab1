//! Which registers a load decides, and whether a fence is executed or not by what was loaded (H6 of docs/kernels.md).

pub(crate) mod placement;

use crate::code::op::{Op, Register, Space};
use crate::code::{Entry, Instruction};

/// Whether a branch on a loaded value, or a guard, may leave out a fence or the commit of a group. Parameters and constants
/// are no loads: they are the launch's.
pub(crate) fn loads_decide_fences(entry: &Entry) -> bool {
    let is_fence = |instruction: &Instruction| {
        matches!(
            instruction.op,
            Op::Fence { .. } | Op::FenceProxyAsync(_) | Op::CopyAsyncCommit | Op::BulkCommit | Op::WgmmaCommit
        )
    };
    if !entry.code.iter().any(is_fence) {
        return false;
    }
    let loaded = loaded(entry);
    let by_load = |instruction: &Instruction| instruction.guard.is_some_and(|guard| loaded[guard.register as usize]);
    let between = |a: usize, b: usize| {
        let end = a.max(b).min(entry.code.len());
        entry.code[a.min(b).min(end)..end].iter().any(is_fence)
    };
    entry.code.iter().enumerate().any(|(pc, own)| match &own.op {
        Op::Branch { to } => by_load(own) && between(pc, *to as usize),
        Op::BranchIndexed { to, .. } => {
            let decided = own.registers.iter().any(|register| loaded[*register as usize]);
            decided && to.iter().any(|to| between(pc, *to as usize))
        }
        _ => is_fence(own) && by_load(own),
    })
}

/// For each register, whether something that was loaded reaches it, in whatever order instructions are executed.
fn loaded(entry: &Entry) -> Vec<bool> {
    let mut loaded = vec![false; entry.registers as usize];
    loop {
        let mut changed = false;
        for instruction in entry.code.iter() {
            let reads = instruction.registers.iter().copied().chain(instruction.guard.map(|guard| guard.register));
            let reached = reads.into_iter().any(|register| loaded[register as usize]);
            let (from_memory, written) = results(&instruction.op);
            if from_memory || reached {
                for register in written {
                    changed |= !std::mem::replace(&mut loaded[register as usize], true);
                }
            }
        }
        if !changed {
            return loaded;
        }
    }
}

/// Whether an instruction reads memory, and the registers that it writes.
pub(crate) fn results(op: &Op) -> (bool, Vec<Register>) {
    if let Some(computed) = op.computed() {
        return (false, computed);
    }
    match op {
        Op::Load(access, to) => {
            let is_load = !matches!(access.place.space, Space::Param | Space::Const);
            (is_load, to.iter().flatten().copied().collect())
        }
        Op::Atomic { to, .. } => (true, to.iter().copied().collect()),
        Op::LoadMatrix { to, .. } | Op::WmmaLoad { to, .. } | Op::Tcgen05Load { to, .. } => (true, to.clone()),
        Op::Unmodelled { to, .. } => (true, to.clone()),
        Op::AtomicVector { to, .. } => (true, to.iter().flatten().copied().collect()),
        Op::IsCancelled { to, .. } => (true, vec![*to]),
        Op::FirstCta { to, .. } => (true, to.iter().flatten().copied().collect()),
        Op::Wgmma { accumulators, .. } => (true, accumulators.clone()),
        Op::Shuffle { to, valid, .. } => (false, [Some(*to), *valid].into_iter().flatten().collect()),
        Op::Vote { to, .. } | Op::ReduceWarp { to, .. } | Op::CtaRank { to, .. } => (false, vec![*to]),
        Op::Match { to, same, .. } => (false, [Some(*to), *same].into_iter().flatten().collect()),
        Op::Barrier { to, .. } => (false, to.iter().copied().collect()),
        Op::IsSpace { to, .. } | Op::MapAddress { to, .. } => (false, vec![*to]),
        _ => (false, Vec::new()),
    }
}
