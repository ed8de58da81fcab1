//! Which traces of the threads of a CTA go together at its barriers.
//!
//! Whether barriers meet is a matter of the threads of one CTA, or of one cluster where barriers of clusters occur: a choice of
//! traces whose barriers cannot meet there cannot whatever the other threads do. Asked as soon as the threads of a CTA have
//! chosen, and once for each choice of theirs, this keeps the choices of several CTAs from multiplying. Only where operands
//! are constants; everything else is decided when all threads have chosen.

use std::collections::HashMap;

use fencepost_program::TraceId;
use fencepost_program::access::includes;
use fencepost_program::barrier::Matchings;
use fencepost_program::expression::Expression;
use fencepost_program::program::{BarrierLevel, BarrierRule, Place, Scope};
use fencepost_program::unfolding::{EventKind, GenerationOrder, Unfolding};

/// A search for ways to meet that takes more steps than this is left to whoever needs all of them.
const MOST_STEPS: u32 = 4096;

pub(crate) struct Meetings<'a> {
    unfolding: &'a Unfolding,
    /// The threads that meet each other, ascending, by the last of them.
    groups: HashMap<usize, Vec<usize>>,
    known: HashMap<Vec<TraceId>, bool>,
}

impl<'a> Meetings<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding) -> Meetings<'a> {
        let mut groups = HashMap::new();
        if let Some(scope) = scope(unfolding) {
            let place = |thread: usize| unfolding.threads[thread].place;
            for last in 0..unfolding.threads.len() {
                let meets = |other: &usize| place(*other) != Place::Host && includes(scope, place(last), place(*other));
                if (last + 1..unfolding.threads.len()).any(|later| meets(&later)) {
                    continue;
                }
                let members: Vec<usize> = (0..=last).filter(meets).collect();
                groups.insert(last, members);
            }
        }
        Meetings { unfolding, groups, known: HashMap::new() }
    }

    /// Whether the traces of the first threads, the last of which has just been chosen, can meet where they have to.
    pub(crate) fn are_possible(&mut self, chosen: &[TraceId]) -> bool {
        let Some(members) = chosen.len().checked_sub(1).and_then(|last| self.groups.get(&last)) else { return true };
        let traces: Vec<TraceId> = members.iter().map(|thread| chosen[*thread]).collect();
        let unfolding = self.unfolding;
        *self.known.entry(traces).or_insert_with_key(|traces| can_meet(unfolding, traces))
    }
}

/// How far apart threads are that may meet; None if nothing meets or too much depends on where.
fn scope(unfolding: &Unfolding) -> Option<Scope> {
    if unfolding.barrier_rule != BarrierRule::Ptx {
        return None;
    }
    let levels = unfolding.events.iter().filter_map(|event| match &event.kind {
        EventKind::Barrier(barrier) => Some(barrier.level),
        _ => None,
    });
    levels.map(|level| if level == BarrierLevel::Cluster { Scope::Cluster } else { Scope::Cta }).max()
}

fn can_meet(unfolding: &Unfolding, traces: &[TraceId]) -> bool {
    let mut is_known = true;
    let mut value = |operand: &Expression| {
        let value = operand.evaluate(&mut |_| None);
        is_known &= value.is_some();
        value
    };
    // In which order generations come changes nothing about whether there are any.
    let mut matchings = Matchings::new(unfolding, traces, GenerationOrder::Unordered, &mut value);
    if !is_known {
        return true;
    }
    let mut steps = 0;
    let found = matchings.next_while(&mut |_| {
        steps += 1;
        steps < MOST_STEPS
    });
    found.is_some() || steps >= MOST_STEPS
}
