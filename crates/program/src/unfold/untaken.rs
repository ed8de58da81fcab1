//! Writes on the way that was not taken of a branch whose ways need not meet: one has a jump back, a wait, an asynchronous
//! operation or an access through a register of unknown value.
//!
//! Such a branch decides all that follows in its own thread (see `control`), and who reads elsewhere an older value for want
//! of a write depends on it as well (see `omission`). The traces that went the other way tell what is written there. The
//! ways end where both come if they come anywhere, at the nearest postdominator of the branch. The place of such a write is
//! behind what the way taken does that the other does too, and before the write or in a weaker form: another thread that got
//! to know of that on the way taken could have read the old value on the other way, too.
//!
//! What is written asynchronously is there when it is complete: behind the wait of its thread for it, or for who learns of
//! it from its mbarrier.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{EventId, LocationId, ThreadId, TraceId};
use crate::program::{Instruction, Operation, Scope};
use crate::tag::{Tag, Tags};
use crate::unfold::control::{leads_to, may_write};
use crate::unfold::run::Runner;
use crate::unfold::state::{Reads, State};
use crate::unfolding::{Event, EventKind, Omission, Trace, Unfolding};

/// Of the ways that traces took, so many are looked at for each branch.
const MOST_WAYS: usize = 32;

/// Such a branch on a run.
#[derive(Clone)]
pub(crate) struct Parted {
    branch: usize,
    /// How often the run had come there.
    visit: u32,
    reads: Reads,
    way: Option<usize>,
    /// How many events the run had where it was decided, and where the ways meet if it came there.
    from: usize,
    to: Option<usize>,
}

/// Where the ways of each branch meet if both come to the end, of those with something on them that may write.
pub(crate) fn meetings(code: &[Instruction]) -> BTreeMap<usize, usize> {
    let end = code.len();
    let next = |at: usize| leads_to(&code[at], at, end);
    let branches: Vec<usize> = (0..end).filter(|at| next(*at).len() > 1 || code[*at].guard.is_some()).collect();
    if branches.is_empty() {
        return BTreeMap::new();
    }
    let nearest = postdominators(code);
    let writes = |branch: usize, meeting: usize| {
        let mut found = BTreeSet::new();
        let mut todo = next(branch);
        // What is under a guard is its own way.
        todo.extend((todo.len() == 1).then_some(branch));
        while let Some(at) = todo.pop() {
            if at != meeting && at != end && found.insert(at) {
                todo.extend(next(at));
            }
        }
        found.into_iter().any(|at| is_write(&code[at].operation))
    };
    let met = branches.into_iter().filter_map(|branch| Some((branch, nearest[branch]?)));
    met.filter(|(branch, meeting)| writes(*branch, *meeting)).collect()
}

fn is_write(operation: &Operation) -> bool {
    may_write(operation) && !matches!(operation, Operation::MbarrierWait(_) | Operation::Mark { .. })
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
    /// A branch was decided for all that follows.
    pub(super) fn note_parted(&self, state: &mut State, reads: &Reads) {
        if self.flow.meetings.contains_key(&state.at) {
            let (visit, from) = (state.runs[state.at], state.path.len());
            let reads = reads.clone();
            state.parted.push(Parted { branch: state.at, visit, reads, way: None, from, to: None });
        }
    }

    /// The ways that meet here have met.
    pub(crate) fn meet_parted(&self, state: &mut State, at: usize) {
        let events = state.path.len();
        let open = state.parted.iter_mut().filter(|parted| parted.to.is_none());
        open.filter(|parted| self.flow.meetings.get(&parted.branch) == Some(&at))
            .for_each(|parted| parted.to = Some(events));
    }
}

pub(super) fn went(state: &mut State, way: usize) {
    let at = state.at;
    if let Some(parted) = state.parted.last_mut().filter(|parted| parted.branch == at && parted.way.is_none()) {
        parted.way = Some(way);
    }
}

/// A way that a trace took.
#[derive(Copy, Clone)]
struct Way<'a> {
    id: TraceId,
    trace: &'a Trace,
    from: usize,
    to: usize,
    reads: &'a Reads,
}

impl<'a> Way<'a> {
    fn new(unfolding: &'a Unfolding, id: TraceId, parted: &'a Parted) -> Option<Way<'a>> {
        Some(Way { id, trace: &unfolding.traces[id.index()], from: parted.from, to: parted.to?, reads: &parted.reads })
    }

    fn events(&self) -> &'a [EventId] {
        &self.trace.events[self.from..self.to]
    }

    fn before(&self, at: usize) -> Option<EventId> {
        at.checked_sub(1).map(|before| self.trace.events[before])
    }
}

/// Notes what each trace left out at such branches.
pub(crate) fn note(unfolding: &mut Unfolding, parted: &[(TraceId, Parted)]) {
    let mut branches = BTreeMap::<(ThreadId, usize, u32), [Vec<Way<'_>>; 2]>::new();
    for (id, parted) in parted {
        let thread = unfolding.traces[id.index()].thread;
        let way = Way::new(unfolding, *id, parted).zip(parted.way);
        if let Some((way, which)) = way {
            branches.entry((thread, parted.branch, parted.visit)).or_default()[which].push(way);
        }
    }
    let mut found = BTreeMap::new();
    for ways in branches.values() {
        for (own, other) in [(0, 1), (1, 0)] {
            let others = writing(unfolding, &ways[other]);
            for way in &ways[own] {
                for other in &others {
                    for place in left_out(unfolding, way, other) {
                        let reads = way.reads.iter().copied().collect::<Vec<_>>();
                        found.insert((way.id, place, reads), ());
                    }
                }
            }
        }
    }
    unfolding.omissions.extend(found.into_keys().map(|(trace, place, reads)| {
        let Place { location, after, through } = place;
        Omission { trace, location, after, through, reads }
    }));
    unfolding.omissions.sort_by_key(|omission| omission.trace);
}

/// The ways with writes, of those with the same events one.
fn writing<'a>(unfolding: &Unfolding, ways: &[Way<'a>]) -> Vec<Other<'a>> {
    let mut seen = BTreeSet::new();
    let is_write = |id: &EventId| unfolding.events[id.index()].is_write();
    let with_writes = ways.iter().filter(|way| way.events().iter().any(is_write));
    let different = with_writes.filter(|way| seen.insert(way.events())).take(MOST_WAYS);
    different.map(|way| Other::new(unfolding, *way)).collect()
}

/// Where a write is left out.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    location: LocationId,
    after: Option<EventId>,
    through: Option<LocationId>,
}

/// What a trace on one way leaves out of what one on the other does.
fn left_out(unfolding: &Unfolding, own: &Way<'_>, other: &Other<'_>) -> Vec<Place> {
    let event = |id: &EventId| &unfolding.events[id.index()];
    let writes = |id: &EventId| event(id).location().filter(|_| event(id).is_write());
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, id) in other.way.events().iter().enumerate() {
        let Some(location) = writes(id) else { continue };
        if event(id).is_main() {
            if seen.insert(location) {
                // Its own writes there tell nobody of the other way.
                let is_other = |id: &EventId| event(id).location() != Some(location);
                let is_known = |id: &EventId| is_other(id) && other.does_before(event(id), other.way.from + index);
                let behind = own.events().iter().rposition(is_known).map_or(0, |last| last + 1);
                found.push(Place { location, after: own.before(own.from + behind), through: None });
            }
        } else if !event(id).has(Tag::Completion) {
            found.extend(completed(unfolding, (own, &other.way), (*id, location)));
        }
    }
    found
}

/// How a write is made.
type Form = (Tags, Option<Scope>);

/// A way that was not taken, and what may be known of it elsewhere.
struct Other<'a> {
    way: Way<'a>,
    /// Where in its trace it first writes each location, and in which forms it does.
    writes: BTreeMap<LocationId, (usize, Vec<Form>)>,
    /// The first fence and the first barrier on the way.
    fence: Option<usize>,
    barrier: Option<usize>,
}

impl<'a> Other<'a> {
    fn new(unfolding: &Unfolding, way: Way<'a>) -> Other<'a> {
        let mut other = Other { way, writes: BTreeMap::new(), fence: None, barrier: None };
        for (at, id) in way.trace.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            let is_on_way = (way.from..way.to).contains(&at);
            match &event.kind {
                EventKind::Write { location, .. } => {
                    let (_, forms) = other.writes.entry(*location).or_insert((at, Vec::new()));
                    forms.push((event.tags, event.scope));
                }
                EventKind::Fence if is_on_way => other.fence = other.fence.or(Some(at)),
                EventKind::Barrier(_) if is_on_way => other.barrier = other.barrier.or(Some(at)),
                _ => {}
            }
        }
        other
    }

    /// Whether it does this, and before that place or in another form.
    fn does_before(&self, event: &Event, place: usize) -> bool {
        let is_before = |first: Option<usize>| first.is_some_and(|first| first < place);
        match &event.kind {
            EventKind::Write { location, .. } => self.writes.get(location).is_some_and(|(first, forms)| {
                *first < place || forms.iter().any(|form| *form != (event.tags, event.scope))
            }),
            EventKind::Fence => is_before(self.fence),
            EventKind::Barrier(_) => is_before(self.barrier),
            EventKind::Read { .. } | EventKind::Issue => false,
        }
    }
}

/// Where an asynchronous write of the other way would have been complete.
fn completed(
    unfolding: &Unfolding,
    (own, other): (&Way<'_>, &Way<'_>),
    (write, location): (EventId, LocationId),
) -> Vec<Place> {
    let event = |id: &EventId| &unfolding.events[id.index()];
    let mut found = Vec::new();
    if let Some(at) = waited_for(unfolding, other.trace, write) {
        let wait = event(&other.trace.events[at]);
        let is_same = |id: &&EventId| {
            let event = event(id);
            event.is_main() && (event.span.start, event.iteration) == (wait.span.start, wait.iteration)
        };
        let behind = own.trace.events[own.to..].iter().find(is_same).copied();
        let after = if at < other.to { own.before(own.to) } else { behind };
        let is_there = at < other.to || behind.is_some();
        found.extend(is_there.then_some(Place { location, after, through: None }));
    }
    for through in signals(unfolding, other.trace, write) {
        found.push(Place { location, after: own.before(own.from), through: Some(through) });
    }
    found
}

/// Where in its trace the thread waits for an asynchronous access.
pub(super) fn waited_for(unfolding: &Unfolding, trace: &Trace, access: EventId) -> Option<usize> {
    trace.events.iter().position(|id| unfolding.events[id.index()].completes.contains(&access))
}

/// The mbarriers that tell of its end.
pub(super) fn signals(unfolding: &Unfolding, trace: &Trace, access: EventId) -> BTreeSet<LocationId> {
    let events = trace.events.iter().map(|id| &unfolding.events[id.index()]);
    let tells = |event: &&Event| {
        let is_after = event.strand.as_ref().is_some_and(|strand| strand.after.contains(&access));
        event.has(Tag::Completion) && event.is_write() && is_after
    };
    events.filter(tells).filter_map(Event::location).collect()
}
