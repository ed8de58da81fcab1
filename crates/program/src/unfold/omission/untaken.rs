//! Writes on the way of a branch that was not taken.
//!
//! Who reads an older value for want of such a write depends on the branch (see the head of `omission`). The traces that went the other way
//! from the same beginning tell what is written there; the ways end where both come if they come anywhere, at the nearest
//! postdominator of the branch. Branches that the same reads decide, one after the other, are one: their ways go to where those
//! of the last meet. Where on the way taken the write would have come is for `place` to say.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::limits;

use crate::ids::{EventId, ThreadId, TraceId};
use crate::program::{Instruction, Operation};
use crate::unfold::control::leads_to;
use crate::unfold::omission::LeftOut;
use crate::unfold::omission::place::{Other, Written};
use crate::unfold::omission::possible::Possible;
use crate::unfold::omission::way::{Parted, Way};
use crate::unfold::run::Runner;
use crate::unfold::state::{Reads, State};
use crate::unfolding::{TraceEnd, Unfolding};

/// Of the ways that traces took, so many are looked at for each branch.
const MOST_WAYS: usize = 32;

/// Where the ways of each branch meet if both come to the end, of those with some event on them.
pub(crate) fn meetings(code: &[Instruction]) -> BTreeMap<usize, usize> {
    let end = code.len();
    let next = |at: usize| leads_to(&code[at], at, end);
    let branches: Vec<usize> = (0..end).filter(|at| next(*at).len() > 1 || code[*at].guard.is_some()).collect();
    if branches.is_empty() {
        return BTreeMap::new();
    }
    let nearest = postdominators(code);
    let has_event = |branch: usize, meeting: usize| {
        let mut found = BTreeSet::new();
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

impl Runner<'_> {
    /// A branch was decided.
    pub(super) fn note_parted(&self, state: &mut State, reads: &Reads) {
        let Some(&meeting) = self.flow.meetings.get(&state.at).filter(|_| !reads.is_empty()) else { return };
        for parted in state.parted.iter_mut().filter(|parted| parted.to.is_some() && parted.reads == *reads) {
            (parted.meeting, parted.to) = (meeting, None);
        }
        let is_repeated = state.parted.iter().any(|parted| parted.reads == *reads);
        let (branch, visit, from) = (state.at, state.runs[state.at], state.path.len());
        let reads = reads.clone();
        state.parted.push(Parted { branch, visit, reads, is_repeated, way: None, meeting, from, to: None });
    }
}

/// The ways that meet here have met.
pub(crate) fn meet(state: &mut State, at: usize) {
    let events = state.path.len();
    let open = state.parted.iter_mut().filter(|parted| parted.to.is_none() && parted.meeting == at);
    open.for_each(|parted| parted.to = Some(events));
}

pub(crate) fn went(state: &mut State, way: usize) {
    let at = state.at;
    if let Some(parted) = state.parted.last_mut().filter(|parted| parted.branch == at && parted.way.is_none()) {
        parted.way = Some(way);
    }
}

/// The ways of one branch, by the last event before it. A trace is compared with those that went the other way, from there first:
/// a comparison that fails with one value of a read succeeds with another, so that its other way may begin elsewhere.
type Ways<'a> = BTreeMap<Option<EventId>, [Vec<Way<'a>>; 2]>;

/// What each trace leaves out at such branches of what a possible one makes.
pub(super) fn left_out(unfolding: &Unfolding, parted: &[(TraceId, Parted)], possible: &Possible) -> LeftOut {
    let mut branches = BTreeMap::<(ThreadId, usize, u32), Ways<'_>>::new();
    for (id, parted) in parted {
        let thread = unfolding.traces[id.index()].thread;
        let way = Way::new(unfolding, *id, parted).zip(parted.way);
        if let Some((way, which)) = way {
            let branch = branches.entry((thread, parted.branch, parted.visit)).or_default();
            branch.entry(way.before(way.from)).or_default()[which].push(way);
        }
    }
    let written = Written::new(unfolding, !branches.is_empty());
    let mut found = LeftOut::new();
    for branch in branches.values() {
        for ways in branch.values() {
            for (own, other) in [(0, 1), (1, 0)] {
                let Some(first) = ways[own].first() else { continue };
                let any = branch.values().filter(|_| !first.is_repeated).flat_map(|ways| &ways[other]).copied();
                let all = ways[other].iter().copied().chain(any);
                let others = others_of(unfolding, all.filter(|way| possible.has(way.id)));
                for way in &ways[own] {
                    if limits::is_over() {
                        return found;
                    }
                    let taken = Other::new(unfolding, *way);
                    for other in &others {
                        for place in other.left_out_by(&taken, &written) {
                            found.entry((way.id, place)).or_default().insert(other.id());
                        }
                    }
                }
            }
        }
    }
    found
}

/// The ways with writes on them or behind, of those with the same events one.
fn others_of<'a>(unfolding: &'a Unfolding, ways: impl Iterator<Item = Way<'a>>) -> Vec<Other<'a>> {
    let mut seen = BTreeSet::new();
    let is_write = |id: &EventId| unfolding.events[id.index()].is_write();
    let with_writes = ways.filter(|way| way.trace.events[way.from..].iter().any(is_write));
    // What follows the ways is best told by who comes to the end.
    let (ended, others): (Vec<Way<'a>>, Vec<Way<'a>>) = with_writes.partition(|way| way.trace.end == TraceEnd::Exit);
    let different = ended.into_iter().chain(others).filter(|way| seen.insert(way.events())).take(MOST_WAYS);
    different.map(|way| Other::new(unfolding, way)).collect()
}
