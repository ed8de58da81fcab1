//! The life of an mbarrier in one execution: every operation on it in coherence order, each wait behind the state it read,
//! with phase, pending arrivals and tx-count after it.

use fencepost_axiom::execution::Execution;
use fencepost_program::mbarrier::State;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::{EventId, LocationId};
use fencepost_report::Step;

use crate::look::outcome::Reader;
use crate::look::protocol::history;
use crate::test::Test;

pub(crate) fn timeline(
    test: &Test,
    unfolding: &Unfolding,
    execution: &Execution,
    location: LocationId,
    here: EventId,
) -> Vec<Step> {
    let reader = Reader::new(unfolding, execution);
    let mut steps = Vec::new();
    for (write, state) in history(unfolding, execution, location) {
        let Some(event) = unfolding.events.get(write.index()) else { continue };
        // Memory that holds nothing yet is no news.
        if !event.is_init() || state.is_live() {
            steps.push(step(test, unfolding, (write, state), here));
        }
        let waits = execution.rf.iter().filter(|(from, _)| *from == write).map(|(_, read)| *read);
        let is_wait =
            |read: &EventId| unfolding.events.get(read.index()).is_some_and(|event| event.rmw_partner.is_none());
        for wait in waits.filter(is_wait) {
            let state = reader.value(wait).map_or(state, State::unpack);
            steps.push(step(test, unfolding, (wait, state), here));
        }
    }
    steps
}

fn step(test: &Test, unfolding: &Unfolding, (id, state): (EventId, State), here: EventId) -> Step {
    let event = unfolding.event(id);
    let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
    let is_wait = event.is_read() && event.has(Tag::Mbarrier);
    Step {
        thread: thread.map(|thread| thread.name.to_string()),
        asynchronous: !event.is_main(),
        line: thread.map(|_| test.source.position(event.span.start).line),
        text: if thread.is_some() { test.instruction_text(event.span) } else { "before the start".to_owned() },
        answer: is_wait.then(|| event.has(Tag::MbarrierWait)),
        live: state.is_live(),
        phase: state.phase,
        pending: state.pending,
        expected: state.expected,
        tx: state.tx,
        here: id == here,
    }
}
