//! Branches that were turned into guards: `@p a; @!p b` are the two ways of one branch, and so are `@!p bra` around `a` and
//! `@p bra` around `b`, one after the other. What stands on both ways is done in any case.
//!
//! Only who comes in at the first guard goes one of the ways, so nothing may jump between them.

use crate::ids::RegisterId;
use crate::program::def_use::defined;
use crate::program::{Instruction, Operation, Polarity};
use crate::unfold::control::branch::Ways;

/// Consecutive instructions, or blocks of them, on one predicate or its negation.
pub(crate) struct Run {
    /// Where the predicate is looked at, ascending.
    pub(crate) heads: Vec<usize>,
    /// By whether the condition of the first fails or holds.
    pub(crate) ways: Ways,
}

/// What is done if the predicate is this.
struct Block {
    predicate: RegisterId,
    polarity: Polarity,
    body: Vec<usize>,
    next: usize,
}

/// The runs with something for both values of the predicate.
pub(crate) fn runs(code: &[Instruction]) -> Vec<Run> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let (heads, blocks) = blocks(code, at);
        found.extend(run(code, heads, &blocks));
        at = blocks.last().map_or(at + 1, |block| block.next);
    }
    found
}

fn blocks(code: &[Instruction], first: usize) -> (Vec<usize>, Vec<Block>) {
    let (mut heads, mut blocks) = (Vec::new(), Vec::<Block>::new());
    let mut at = first;
    while let Some(block) = block(code, at) {
        if blocks.first().is_some_and(|first| first.predicate != block.predicate) {
            break;
        }
        heads.push(at);
        at = block.next;
        let sets_it = block.body.iter().any(|at| defined(&code[*at].operation).contains(&block.predicate));
        blocks.push(block);
        if sets_it {
            break;
        }
    }
    (heads, blocks)
}

/// An instruction under a guard, or those that a branch leads around.
fn block(code: &[Instruction], at: usize) -> Option<Block> {
    let instruction = code.get(at)?;
    let (predicate, polarity) = instruction.guard?;
    let Operation::Branch { target } = instruction.operation else {
        let body = vec![at];
        return is_plain(&instruction.operation).then_some(Block { predicate, polarity, body, next: at + 1 });
    };
    let (body, next): (Vec<usize>, usize) = ((at + 1..target.0 as usize).collect(), target.0 as usize);
    let is_straight = |at: &usize| code.get(*at).is_some_and(|one| one.guard.is_none() && is_plain(&one.operation));
    let polarity = match polarity {
        Polarity::NonZero => Polarity::Zero,
        Polarity::Zero => Polarity::NonZero,
    };
    (!body.is_empty() && body.iter().all(is_straight)).then_some(Block { predicate, polarity, body, next })
}

fn is_plain(operation: &Operation) -> bool {
    !matches!(operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit | Operation::Trap)
}

fn run(code: &[Instruction], heads: Vec<usize>, blocks: &[Block]) -> Option<Run> {
    let (_, holds) = code.get(*heads.first()?)?.guard?;
    let of = |is_wanted: &dyn Fn(Polarity) -> bool| -> Vec<usize> {
        blocks.iter().filter(|block| is_wanted(block.polarity)).flat_map(|block| block.body.clone()).collect()
    };
    let straight = [of(&|polarity| polarity != holds), of(&|polarity| polarity == holds)];
    let end = blocks.last()?.next;
    if straight.iter().any(Vec::is_empty) || is_entered(code, &heads, end) {
        return None;
    }
    let between = straight.each_ref().map(|way| way.iter().copied().collect());
    let ways = Ways { at: end, between, straight: Some(straight), is_converted: true };
    Some(Run { heads, ways })
}

/// Whether something else jumps behind the first head.
fn is_entered(code: &[Instruction], heads: &[usize], end: usize) -> bool {
    let first = heads.first().copied().unwrap_or(end);
    let others = code.iter().enumerate().filter(|(at, _)| !heads.contains(at));
    let mut targets = others.filter_map(|(_, instruction)| match instruction.operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => Some(target.0 as usize),
        _ => None,
    });
    targets.any(|target| first < target && target < end)
}
