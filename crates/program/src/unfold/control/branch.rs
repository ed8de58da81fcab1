//! The two ways of a branch, from where they part to where they meet.

use fencepost_syntax::sorted::SortedSet;

use crate::program::def_use::target;
use crate::program::{Instruction, Operation};

/// Where the ways of a branch meet for the first time. Jumps go forward between a branch and its join, so that the first of
/// the places reached that are not followed yet is behind no other.
pub(crate) fn follow(code: &[Instruction], branch: usize, ways: (usize, usize)) -> Option<usize> {
    let mut reached = SortedSet::from([ways.0, ways.1]);
    loop {
        let at = reached.pop_first()?;
        // A jump back; what is under a guard is its own first way.
        if at < branch || (at == branch && ways.1 != branch) {
            return None;
        }
        if reached.is_empty() {
            return Some(at);
        }
        let instruction = code.get(at)?;
        reached.extend(onward(instruction, at, code.len())?);
    }
}

/// The two ways of a branch.
pub(crate) struct Ways {
    /// Where they meet for the first time.
    pub(crate) at: usize,
    /// What lies on each before.
    pub(crate) between: [SortedSet<usize>; 2],
    /// The same in order and without jumps, where neither has a branch.
    pub(crate) straight: Option<[Vec<usize>; 2]>,
    /// They are under guards, which are no difference between them.
    pub(crate) is_converted: bool,
}

impl Ways {
    pub(crate) fn new(code: &[Instruction], branch: usize, starts: (usize, usize)) -> Option<Ways> {
        let at = follow(code, branch, starts)?;
        let straight = way(code, starts.0, at).zip(way(code, starts.1, at)).map(|(one, other)| [one, other]);
        Some(Ways {
            at,
            between: [starts.0, starts.1].map(|from| reached(code, from, at)),
            straight,
            is_converted: false,
        })
    }
}

/// What can be reached before the place where the ways meet, to which all jumps go forward.
pub(crate) fn reached(code: &[Instruction], from: usize, to: usize) -> SortedSet<usize> {
    let mut found = SortedSet::new();
    let mut todo = vec![from];
    while let Some(at) = todo.pop() {
        if at != to && found.insert(at) {
            todo.extend(code.get(at).and_then(|instruction| onward(instruction, at, code.len())).into_iter().flatten());
        }
    }
    found
}

/// Where it goes on from an instruction if it does, without a jump back.
fn onward(instruction: &Instruction, at: usize, end: usize) -> Option<Vec<usize>> {
    let is_back = target(&instruction.operation).is_some_and(|target| target <= at);
    (!is_back).then(|| leads_to(instruction, at, end))
}

/// Where it goes on from an instruction if it does.
pub(crate) fn leads_to(instruction: &Instruction, at: usize, end: usize) -> Vec<usize> {
    let to = match &instruction.operation {
        Operation::Exit => end,
        operation => match target(operation) {
            Some(target) => target,
            None => return vec![at + 1],
        },
    };
    let stays = instruction.guard.is_some() || matches!(instruction.operation, Operation::BranchIf { .. });
    if stays { vec![at + 1, to] } else { vec![to] }
}

/// The instructions on a way without branches.
pub(crate) fn way(code: &[Instruction], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut at = from;
    while at != to {
        let instruction = code.get(at)?;
        match instruction.operation {
            Operation::BranchIf { .. } => return None,
            Operation::Branch { .. } | Operation::Exit if instruction.guard.is_some() => return None,
            Operation::Branch { target } => at = target.0 as usize,
            Operation::Exit => at = code.len(),
            Operation::Nothing => at += 1,
            _ => {
                found.push(at);
                at += 1;
            }
        }
    }
    Some(found)
}
