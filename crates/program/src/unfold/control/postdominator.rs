//! Where the ways of a branch meet: the nearest instruction that every way from it to the end goes through.

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::program::{Instruction, Operation};
use crate::unfold::control::branch::leads_to;

/// Where the ways of each branch meet if both come to the end, of those with some event on them.
pub(crate) fn meetings(code: &[Instruction]) -> SortedMap<usize, usize> {
    let end = code.len();
    let next = |at: usize| leads_to(&code[at], at, end);
    let branches: Vec<usize> = (0..end).filter(|at| next(*at).len() > 1 || code[*at].guard.is_some()).collect();
    if branches.is_empty() {
        return SortedMap::new();
    }
    let nearest = postdominators(code);
    let has_event = |branch: usize, meeting: usize| {
        let mut found = SortedSet::new();
        let mut todo = next(branch);
        // What is under a guard is its own way.
        todo.extend((todo.len() == 1).then_some(branch));
        while let Some(at) = todo.pop() {
            if at != meeting && at != end && found.insert(at) {
                todo.extend(next(at));
            }
        }
        found.into_iter().any(|at| is_event(&code[at].operation))
    };
    let met = branches.into_iter().filter_map(|branch| Some((branch, nearest[branch]?)));
    met.filter(|(branch, meeting)| has_event(*branch, *meeting)).collect()
}

fn is_event(operation: &Operation) -> bool {
    let is_jump = matches!(operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit);
    !is_jump && !matches!(operation, Operation::Local { .. } | Operation::Nothing)
}

/// Per instruction the nearest one, or the end, that every way from it to the end goes through: the usual fixpoint over a
/// tree, in which what comes later in the postorder from the end is nearer to the root.
fn postdominators(code: &[Instruction]) -> Vec<Option<usize>> {
    let end = code.len();
    let mut before = vec![Vec::new(); end + 1];
    (0..end).for_each(|at| leads_to(&code[at], at, end).into_iter().for_each(|to| before[to].push(at)));
    let (mut order, mut rank) = (Vec::new(), vec![None; end + 1]);
    let mut seen = vec![false; end + 1];
    let mut todo = vec![(end, 0)];
    seen[end] = true;
    while let Some((at, done)) = todo.pop() {
        if let Some(&from) = before[at].get(done) {
            todo.push((at, done + 1));
            if !std::mem::replace(&mut seen[from], true) {
                todo.push((from, 0));
            }
        } else {
            rank[at] = Some(order.len());
            order.push(at);
        }
    }
    let mut nearest = vec![None; end + 1];
    nearest[end] = Some(end);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &at in order.iter().rev().skip(1) {
            let known = leads_to(&code[at], at, end).into_iter().filter(|to| nearest[*to].is_some());
            let new = known.reduce(|one, other| common(one, other, &nearest, &rank));
            if new != nearest[at] {
                nearest[at] = new;
                changed = true;
            }
        }
    }
    nearest
}

fn common(mut one: usize, mut other: usize, nearest: &[Option<usize>], rank: &[Option<usize>]) -> usize {
    while one != other {
        let lower = if rank[one] < rank[other] { &mut one } else { &mut other };
        match nearest[*lower] {
            Some(up) if up != *lower => *lower = up,
            _ => return nearest.len() - 1,
        }
    }
    one
}
