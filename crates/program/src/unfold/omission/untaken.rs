//! Writes on the way of a branch that was not taken.
//!
//! Who reads an older value for want of such a write depends on the branch (see the head of `omission`). The traces that went the other way
//! from the same beginning tell what is written there; the ways end where both come if they come anywhere, at the nearest
//! postdominator of the branch. Branches that the same reads decide, one after the other, are one: their ways go to where those
//! of the last meet. Where on the way taken the write would have come is for `place` to say.

use fencepost_syntax::limits;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, ThreadId, TraceId};
use crate::unfold::omission::LeftOut;
use crate::unfold::omission::place::{Other, Written};
use crate::unfold::omission::possible::Possible;
use crate::unfold::omission::way::{Parted, Way};
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::{TraceEnd, Unfolding};

/// Of the ways that traces took, so many are looked at for each branch.
const MOST_WAYS: usize = 32;

impl Runner<'_> {
    /// A branch was decided.
    pub(crate) fn note_parted(&self, state: &mut State, reads: &Reads) {
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
type Ways<'a> = SortedMap<Option<EventId>, [Vec<Way<'a>>; 2]>;

/// What each trace leaves out at such branches of what a possible one makes.
pub(crate) fn left_out(unfolding: &Unfolding, parted: &[(TraceId, Parted)], possible: &Possible) -> LeftOut {
    let mut branches = SortedMap::<(ThreadId, usize, u32), Ways<'_>>::new();
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
    let mut seen = SortedSet::new();
    let is_write = |id: &EventId| unfolding.events[id.index()].is_write();
    let with_writes = ways.filter(|way| way.trace.events[way.from..].iter().any(is_write));
    // What follows the ways is best told by who comes to the end.
    let (ended, others): (Vec<Way<'a>>, Vec<Way<'a>>) = with_writes.partition(|way| way.trace.end == TraceEnd::Exit);
    let different = ended.into_iter().chain(others).filter(|way| seen.insert(way.events())).take(MOST_WAYS);
    different.map(|way| Other::new(unfolding, way)).collect()
}
