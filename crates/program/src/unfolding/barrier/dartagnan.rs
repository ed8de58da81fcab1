//! Dartagnan's barriers. The author numbers dynamic instances. Without a quorum a barrier passes when every barrier of its
//! CTA, instance and id that the program has is reached, and threads without one are not waited for. With quorum q it
//! passes when at least q arrive: any q or more of them release everyone who waits there. A surplus thread is released too,
//! but releases no one.
//!
//! Two deviations from the peer, both of them defects there: barriers of different GPUs are never grouped, and an arrive
//! never waits.

use std::collections::BTreeSet;

use fencepost_syntax::sorted::SortedMap;

use crate::ids::{EventId, ThreadId, TraceId};
use crate::program::{BarrierKind, Place};
use crate::unfolding::barrier::{self, Evaluate, GoOn, blocks_at, complete, normalise};
use crate::unfolding::{BarrierEvent, BarrierMatching, EventKind, Unfolding};
use crate::value::Value;
use crate::value::expression::Leaf;

/// Beyond this many members only the smallest quorums are listed: a larger one synchronises more and so allows nothing
/// that a smaller one forbids.
const MOST_MEMBERS: usize = 10;

/// The barriers that wait for each other. Iterations of a loop reuse an instance number, one after the other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    place: Place,
    instance: Option<Value>,
    id: Option<Value>,
    iteration: u32,
}

#[derive(Default, Debug)]
struct Group {
    members: Vec<EventId>,
    quorum: Option<Value>,
    /// A barrier of the program that belongs here but is not on the chosen traces.
    is_missing: bool,
}

/// What lets the waiting members of a group pass.
#[derive(Debug)]
enum Release {
    /// When all of these have arrived.
    When(Vec<EventId>),
    Never,
    /// When those at these positions have arrived: one choice of at least so many, at most so many.
    Some {
        members: Vec<EventId>,
        chosen: Vec<usize>,
        least: usize,
        most: usize,
    },
}

pub(super) struct Matchings<'u> {
    unfolding: &'u Unfolding,
    traces: Vec<TraceId>,
    groups: Vec<Group>,
    group_of: SortedMap<EventId, usize>,
    /// One per group; all choices of all of them are tried. Empty once they have been.
    releases: Option<Vec<Release>>,
    found: BTreeSet<BarrierMatching>,
    held: u64,
}

impl<'u> Matchings<'u> {
    pub(super) fn new(unfolding: &'u Unfolding, traces: &[TraceId], value: Evaluate<'_>) -> Matchings<'u> {
        let groups: Vec<Group> = groups(unfolding, traces, value).into_values().collect();
        let group_of = (groups.iter().enumerate())
            .flat_map(|(index, group)| group.members.iter().map(move |member| (*member, index)))
            .collect();
        let releases = Some(groups.iter().map(Release::first).collect());
        let traces = traces.to_vec();
        Matchings { unfolding, traces, groups, group_of, releases, found: BTreeSet::new(), held: 0 }
    }

    /// Of a group that was released in this matching, only that release is of interest.
    pub(super) fn lead_to(&mut self, matching: &BarrierMatching) {
        for (release, group) in self.releases.iter_mut().flatten().zip(&self.groups) {
            let is_of = |wanted: &&Vec<EventId>| wanted.iter().all(|event| group.members.contains(event));
            let wanted = matching.groups.iter().filter(|wanted| !wanted.is_empty()).find(is_of);
            if let (Release::Some { least, most, .. }, Some(wanted)) = (&*release, wanted)
                && (*least..=*most).contains(&wanted.len())
            {
                *release = Release::When(wanted.clone());
            }
        }
    }

    pub(super) fn next_while(&mut self, go_on: GoOn<'_>) -> Option<BarrierMatching> {
        while go_on(self.held)
            && let Some(releases) = &mut self.releases
        {
            let chosen: Vec<Option<Vec<EventId>>> = releases.iter().map(Release::members).collect();
            if !releases.iter_mut().any(Release::advance) {
                self.releases = None;
            }
            let Some(matching) = self.matching(chosen) else { continue };
            if self.found.insert(matching.clone()) {
                self.held += barrier::bytes(&matching);
                return Some(matching);
            }
        }
        None
    }

    fn matching(&self, chosen: Vec<Option<Vec<EventId>>>) -> Option<BarrierMatching> {
        let released = simulate(self.unfolding, &self.traces, &self.group_of, &chosen)?;
        let mut matching = BarrierMatching::default();
        for ((members, group), _) in
            chosen.into_iter().zip(&self.groups).zip(released).filter(|(_, released)| *released)
        {
            complete(self.unfolding, &mut matching, members.unwrap_or_default(), &group.members);
        }
        Some(normalise(matching))
    }
}

impl Release {
    fn first(group: &Group) -> Release {
        let members = || group.members.clone();
        let count = group.members.len();
        match group.quorum {
            None if group.is_missing => Release::Never,
            None => Release::When(members()),
            Some(Value(quorum)) => match usize::try_from(quorum) {
                Ok(least) if least <= count => {
                    let most = if count > MOST_MEMBERS { least } else { count };
                    Release::Some { members: members(), chosen: (0..least).collect(), least, most }
                }
                // A negative quorum is reached by no one in particular: everyone passes, no one synchronises.
                Err(_) if quorum < 0 => Release::When(Vec::new()),
                _ => Release::Never,
            },
        }
    }

    /// Who has to arrive; None if nobody can make it pass.
    fn members(&self) -> Option<Vec<EventId>> {
        match self {
            Release::When(members) => Some(members.clone()),
            Release::Never => None,
            Release::Some { members, chosen, .. } => Some(chosen.iter().map(|at| members[*at]).collect()),
        }
    }

    /// The next choice: the subsets of a size in order, then those with one member more. False, and the first again, after
    /// the last.
    fn advance(&mut self) -> bool {
        let Release::Some { members, chosen, least, most } = self else { return false };
        let size = chosen.len();
        let room = members.len() - size;
        if let Some(at) = (0..size).rev().find(|&at| chosen[at] < room + at) {
            let next = chosen[at] + 1;
            (chosen[at..].iter_mut()).zip(next..).for_each(|(position, value)| *position = value);
            return true;
        }
        let is_last = size == *most;
        *chosen = (0..if is_last { *least } else { size + 1 }).collect();
        !is_last
    }
}

fn groups(unfolding: &Unfolding, traces: &[TraceId], value: Evaluate<'_>) -> SortedMap<Key, Group> {
    let mut groups = SortedMap::<Key, Group>::new();
    let mut reached = Vec::new();
    for &trace in traces {
        for (event, barrier) in barrier::operations(unfolding, trace) {
            let group = groups.entry(key(unfolding, event, barrier, value)).or_default();
            group.members.push(event);
            let quorum = barrier.count.as_ref().and_then(&mut *value);
            group.quorum = group.quorum.max(quorum);
            reached.push(source(unfolding, event));
        }
    }
    // What the program has besides: an event of another trace, unless it is the same instruction met on another way. One
    // whose operands depend on reads of a way not taken names no barrier.
    let chosen = unfolding.events_of(traces);
    for (index, event) in unfolding.events.iter().enumerate() {
        let EventKind::Barrier(barrier) = &event.kind else { continue };
        let id = EventId::new(index);
        if reached.contains(&source(unfolding, id)) || !depends_only_on(barrier, &chosen) {
            continue;
        }
        if let Some(group) = groups.get_mut(&key(unfolding, id, barrier, value)) {
            group.is_missing = true;
        }
    }
    groups
}

fn depends_only_on(barrier: &BarrierEvent, chosen: &[EventId]) -> bool {
    let mut leaves = Vec::new();
    [&barrier.instance, &barrier.id].into_iter().flatten().for_each(|operand| operand.leaves(&mut leaves));
    leaves.iter().all(|leaf| matches!(leaf, Leaf::Read(event) if chosen.binary_search(event).is_ok()))
}

fn key(unfolding: &Unfolding, event: EventId, barrier: &BarrierEvent, value: Evaluate<'_>) -> Key {
    let thread = unfolding.events[event.index()].thread;
    Key {
        place: thread.map_or(Place::Host, |thread| unfolding.threads[thread.index()].place),
        instance: barrier.instance.as_ref().and_then(&mut *value),
        id: barrier.id.as_ref().and_then(&mut *value),
        iteration: unfolding.events[event.index()].iteration,
    }
}

/// One instruction of the program, which has an event on each trace that meets it.
fn source(unfolding: &Unfolding, event: EventId) -> (Option<ThreadId>, fencepost_syntax::Span, u32) {
    let event = &unfolding.events[event.index()];
    (event.thread, event.span, event.iteration)
}

/// Lets every thread run as far as it can. Arriving and completing are monotone, so the order does not matter. None if a
/// trace does not end as it says; else which groups were released.
fn simulate(
    unfolding: &Unfolding,
    traces: &[TraceId],
    group_of: &SortedMap<EventId, usize>,
    releases: &[Option<Vec<EventId>>],
) -> Option<Vec<bool>> {
    let sequences: Vec<Vec<(EventId, BarrierKind)>> = (traces.iter())
        .map(|&trace| barrier::operations(unfolding, trace).map(|(event, barrier)| (event, barrier.kind)).collect())
        .collect();
    let mut passed = vec![0; sequences.len()];
    let mut arrived = Vec::new();
    let is_released = |group: usize, arrived: &[EventId]| {
        let members = releases[group].as_ref();
        members.is_some_and(|members| members.iter().all(|member| arrived.contains(member)))
    };
    loop {
        let mut progress = false;
        for (thread, sequence) in sequences.iter().enumerate() {
            while let Some((event, kind)) = sequence.get(passed[thread]) {
                if !arrived.contains(event) {
                    arrived.push(*event);
                    progress = true;
                }
                if *kind != BarrierKind::Arrive && !is_released(group_of[event], &arrived) {
                    break;
                }
                passed[thread] += 1;
                progress = true;
            }
        }
        if !progress {
            break;
        }
    }
    for ((sequence, &passed), &trace) in sequences.iter().zip(&passed).zip(traces) {
        let stays = sequence.get(passed);
        let expected = sequence.last().filter(|(event, _)| blocks_at(unfolding, trace, *event));
        if stays != expected || (stays.is_some() && passed + 1 != sequence.len()) {
            return None;
        }
    }
    Some((0..releases.len()).map(|group| is_released(group, &arrived)).collect())
}
