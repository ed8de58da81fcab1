//! Dartagnan's barriers. The author numbers dynamic instances. Without a quorum a barrier passes when every barrier of its
//! CTA, instance and id that the program has is reached, and threads without one are not waited for. With quorum q it
//! passes when at least q arrive: any q or more of them release everyone who waits there. A surplus thread is released too,
//! but releases no one.
//!
//! Two deviations from the peer, both of them defects there: barriers of different GPUs are never grouped, and an arrive
//! never waits.

use std::collections::BTreeMap;

use crate::barrier::{self, Evaluate, blocks_at, complete, normalise};
use crate::expression::Leaf;
use crate::ids::{EventId, ThreadId, TraceId};
use crate::program::{BarrierKind, Place};
use crate::unfolding::{BarrierEvent, BarrierMatching, EventKind, Unfolding};
use crate::value::Value;

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
#[derive(Clone, Debug)]
enum Release {
    /// When all of these have arrived.
    When(Vec<EventId>),
    Never,
}

pub(crate) fn matchings(unfolding: &Unfolding, traces: &[TraceId], value: Evaluate<'_>) -> Vec<BarrierMatching> {
    let groups = groups(unfolding, traces, value);
    let choices: Vec<Vec<Release>> = groups.values().map(releases).collect();
    let group_of: BTreeMap<EventId, usize> = (groups.values().enumerate())
        .flat_map(|(index, group)| group.members.iter().map(move |member| (*member, index)))
        .collect();
    let mut found = Vec::new();
    let mut pick = vec![0; choices.len()];
    loop {
        let chosen: Vec<&Release> = choices.iter().zip(&pick).map(|(releases, &index)| &releases[index]).collect();
        if let Some(released) = simulate(unfolding, traces, &group_of, &chosen) {
            let mut matching = BarrierMatching::default();
            for ((release, group), _) in
                chosen.iter().zip(groups.values()).zip(released).filter(|(_, released)| *released)
            {
                if let Release::When(members) = release {
                    complete(unfolding, &mut matching, members.clone(), &group.members);
                }
            }
            found.push(normalise(matching));
        }
        let Some(next) = (0..pick.len()).find(|&at| pick[at] + 1 < choices[at].len()) else { break };
        pick[next] += 1;
        pick[..next].fill(0);
    }
    found.sort();
    found.dedup();
    found
}

fn groups(unfolding: &Unfolding, traces: &[TraceId], value: Evaluate<'_>) -> BTreeMap<Key, Group> {
    let mut groups = BTreeMap::<Key, Group>::new();
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

fn releases(group: &Group) -> Vec<Release> {
    let count = group.members.len();
    match group.quorum {
        None if group.is_missing => vec![Release::Never],
        None => vec![Release::When(group.members.clone())],
        Some(Value(quorum)) => match usize::try_from(quorum) {
            Ok(quorum) if quorum <= count => {
                let sizes = if count > MOST_MEMBERS { quorum..=quorum } else { quorum..=count };
                sizes.flat_map(|size| subsets(&group.members, size)).map(Release::When).collect()
            }
            // A negative quorum is reached by no one in particular: everyone passes, no one synchronises.
            Err(_) if quorum < 0 => vec![Release::When(Vec::new())],
            _ => vec![Release::Never],
        },
    }
}

/// The subsets of that size, in order.
fn subsets(members: &[EventId], size: usize) -> Vec<Vec<EventId>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (at, &first) in members.iter().enumerate() {
        for mut rest in subsets(&members[at + 1..], size - 1) {
            rest.insert(0, first);
            found.push(rest);
        }
    }
    found
}

/// Lets every thread run as far as it can. Arriving and completing are monotone, so the order does not matter. None if a
/// trace does not end as it says; else which groups were released.
fn simulate(
    unfolding: &Unfolding,
    traces: &[TraceId],
    group_of: &BTreeMap<EventId, usize>,
    releases: &[&Release],
) -> Option<Vec<bool>> {
    let sequences: Vec<Vec<(EventId, BarrierKind)>> = (traces.iter())
        .map(|&trace| barrier::operations(unfolding, trace).map(|(event, barrier)| (event, barrier.kind)).collect())
        .collect();
    let mut passed = vec![0; sequences.len()];
    let mut arrived = Vec::new();
    let is_released = |group: usize, arrived: &[EventId]| match releases[group] {
        Release::When(members) => members.iter().all(|member| arrived.contains(member)),
        Release::Never => false,
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
