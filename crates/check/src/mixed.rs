//! Accesses of different sizes that overlap in part. If two of them race in some execution, the axioms of the memory model
//! do not apply to the program (PTX ISA 8.7.2): an answer that rests on them is no answer. All that is left is that
//! overlapping atomics in each other's scope do not interleave.

use std::collections::BTreeMap;

use fencepost_program::access::overlap_completely;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::{EventId, LocationId};

use crate::check::{Answers, Finding};
use crate::report::{RaceAnswer, TerminationAnswer};
use crate::test::Test;
use crate::verdict::Why;

/// The flag of a model that says so.
const FLAG: &str = "mixed-size-race";

/// Takes back what the axioms do not support.
pub(crate) fn apply(test: &Test, unfolding: &Unfolding, answers: &mut Answers) {
    let raced = answers.races.races.keys().find(|key| key.flag == FLAG);
    let why = match raced {
        Some(key) => {
            let text = |span| format!("`{}`", test.instruction_text(span));
            Why::MixedSize { span: key.first, what: format!("{} and {}", text(key.first), text(key.second)) }
        }
        None if answers.race_answer == RaceAnswer::Unknown && may_be_mixed(unfolding) => {
            Why::Size("whether accesses of different sizes race was not decided".to_owned())
        }
        None => return,
    };
    for finding in &mut answers.findings {
        *finding = Some(Finding::Unknown(why.clone()));
    }
    if answers.termination != TerminationAnswer::NotAsked {
        answers.termination = TerminationAnswer::Unknown;
        answers.termination_why = Some(why.clone());
        answers.stuck = None;
    }
    // A test that asks nothing is not known to be fine either.
    answers.refused = Some(why);
}

/// Whether two accesses of different threads overlap in part, one of them a write.
fn may_be_mixed(unfolding: &Unfolding) -> bool {
    if unfolding.events.iter().all(|event| event.extent.is_none()) {
        return false;
    }
    let mut accesses: BTreeMap<LocationId, Vec<EventId>> = BTreeMap::new();
    for (at, event) in unfolding.events.iter().enumerate().filter(|(_, event)| !event.is_init()) {
        if let Some(location) = event.location() {
            accesses.entry(location).or_default().push(EventId(at as u32));
        }
    }
    let mixed = |a: EventId, b: EventId| {
        let (first, second) = (unfolding.event(a), unfolding.event(b));
        first.thread != second.thread && (first.is_write() || second.is_write()) && !overlap_completely(unfolding, a, b)
    };
    accesses.values().any(|events| events.iter().any(|&a| events.iter().any(|&b| mixed(a, b))))
}
