//! Which iteration of which loop an event is part of, for people: the engine counts how often each instruction was run,
//! and so would call the first load of a second iteration the third, where a wait before it was run twice. Here a loop is
//! where a thread went back to, an iteration is one time round, and waiting (going round without effect to read the same
//! again) is none. An inner loop is counted anew in each iteration of the outer.

use fencepost_axiom::execution::Execution;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, Unfolding};
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

/// An iteration of a loop.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    /// Where the first and the last of the loop's instructions start in the source.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Counted from 1.
    pub(crate) number: u32,
}

/// The loops that some thread of an execution went round more than once.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// The outermost loop first.
    of: SortedMap<EventId, Vec<Round>>,
}

/// One time that an instruction was run.
struct Step {
    at: u32,
    run: u32,
    events: Vec<EventId>,
}

/// A way back: before this step, from the loop's last instruction to its first.
struct Back {
    step: usize,
    first: u32,
    last: u32,
}

/// Of an explanation that is about no execution.
pub(crate) static NO_LOOPS: Rounds = Rounds { of: SortedMap::new() };

impl Rounds {
    pub(crate) fn new(unfolding: &Unfolding, execution: &Execution) -> Rounds {
        let mut of = SortedMap::new();
        for trace in &execution.traces {
            let Some(trace) = unfolding.traces.get(trace.index()) else { continue };
            let steps = steps(unfolding, &trace.events);
            // Where nothing was run twice there is no loop; texts without places have none either.
            if steps.iter().all(|step| step.run == 0) {
                continue;
            }
            for (step, rounds) in steps.iter().zip(count(&steps, &backs(unfolding, &steps))) {
                if !rounds.is_empty() {
                    of.extend(step.events.iter().map(|event| (*event, rounds.clone())));
                }
            }
            let beside = trace.events.iter().filter_map(|id| Some((*id, unfolding.events.get(id.index())?)));
            for (id, event) in beside {
                let issue = event.strand.as_ref().and_then(|strand| of.get(&strand.issue).cloned());
                of.extend(issue.map(|rounds| (id, rounds)));
            }
        }
        Rounds { of }
    }

    pub(crate) fn of(&self, id: EventId) -> &[Round] {
        self.of.get(&id).map_or(&[], Vec::as_slice)
    }

    /// "iteration 2"; "iteration 2.1" is the first of an inner loop in the second of the outer.
    pub(crate) fn name(&self, id: EventId) -> Option<String> {
        let rounds = self.of(id);
        let numbers: Vec<String> = rounds.iter().map(|round| round.number.to_string()).collect();
        (!numbers.is_empty()).then(|| format!("iteration {}", numbers.join(".")))
    }
}

fn steps(unfolding: &Unfolding, events: &[EventId]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for id in events {
        let is_step = |event: &&Event| event.is_main() && !event.has(Tag::Exit) && event.omitted().is_none();
        let Some(event) = unfolding.events.get(id.index()).filter(is_step) else {
            continue;
        };
        let (at, run) = (event.span.start, event.iteration);
        match steps.last_mut().filter(|step| (step.at, step.run) == (at, run)) {
            Some(step) => step.events.push(*id),
            None => steps.push(Step { at, run, events: vec![*id] }),
        }
    }
    steps
}

/// Where the thread went back to do more than to wait.
fn backs(unfolding: &Unfolding, steps: &[Step]) -> Vec<Back> {
    let mut backs = Vec::new();
    for (index, pair) in steps.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        if after.at > before.at {
            continue;
        }
        let step = index + 1;
        let body = steps.get(..step).unwrap_or_default();
        let start = body.iter().rposition(|earlier| earlier.at == after.at).unwrap_or(0);
        let body = body.get(start..).unwrap_or_default();
        let waits = body.iter().all(|step| is_without_effect(unfolding, step))
            && body.first().is_some_and(|first| locations(unfolding, first) == locations(unfolding, after));
        if !waits {
            backs.push(Back { step, first: after.at, last: before.at });
        }
    }
    backs
}

fn is_without_effect(unfolding: &Unfolding, step: &Step) -> bool {
    let kinds = step.events.iter().filter_map(|id| unfolding.events.get(id.index())).map(|event| &event.kind);
    kinds.into_iter().all(|kind| matches!(kind, EventKind::Read { .. } | EventKind::Fence))
}

fn locations(unfolding: &Unfolding, step: &Step) -> Vec<Option<LocationId>> {
    step.events.iter().filter_map(|id| Some(unfolding.events.get(id.index())?.location())).collect()
}

/// The iterations that each step is in.
fn count(steps: &[Step], backs: &[Back]) -> Vec<Vec<Round>> {
    let mut loops: SortedMap<u32, u32> = SortedMap::new();
    for back in backs {
        let last = loops.entry(back.first).or_insert(back.last);
        *last = (*last).max(back.last);
    }
    // The largest, which is the outermost, first.
    let mut loops: Vec<(u32, u32)> = loops.into_iter().collect();
    loops.shared_sort_by_key(|(first, last)| (std::cmp::Reverse(last - first), *first));
    let mut numbers = vec![1; loops.len()];
    let mut found = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some(back) = backs.iter().find(|back| back.step == index)
            && let Some(own) = loops.iter().position(|(first, _)| *first == back.first)
        {
            numbers[own] += 1;
            numbers.iter_mut().skip(own + 1).for_each(|number| *number = 1);
        }
        let inside = loops.iter().zip(&numbers).filter(|((first, last), _)| (*first..=*last).contains(&step.at));
        found.push(
            inside.map(|((first, last), number)| Round { first: *first, last: *last, number: *number }).collect(),
        );
    }
    found
}
