//! What happens beside program order, in plain words: the accesses of an asynchronous operation as one line, the states of
//! an mbarrier as phases, arrivals and bytes instead of the packed number.

use std::collections::BTreeMap;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::mbarrier::State;
use fencepost_program::program::LocationRole;
use fencepost_program::tag::Tag;

use super::Context;
use super::name::value;
use super::order::Moment;
use crate::diagnosis::words;

impl Context<'_> {
    /// The value of an event; of an mbarrier its phase and what that waits for.
    pub(super) fn value_text(&self, execution: &Execution, id: EventId) -> String {
        match value(execution, id) {
            None => "?".to_owned(),
            Some(value) if self.is_mbarrier(id) => state(State::unpack(value)),
            Some(value) => value.to_string(),
        }
    }

    pub(super) fn is_mbarrier(&self, id: EventId) -> bool {
        let location = self.location_of(id).and_then(|location| self.unfolding.locations.get(location.index()));
        location.is_some_and(|location| location.role == LocationRole::Mbarrier)
    }

    /// What started the operation that the event is part of.
    pub(super) fn issue(&self, id: EventId) -> Option<EventId> {
        self.event(id)?.strand.as_ref().map(|strand| strand.issue)
    }

    /// The variable of an access, without the element.
    fn variable(&self, id: EventId) -> &str {
        let name = self.location_name(id);
        name.split(['[', '+']).next().unwrap_or(name)
    }
}

/// "phase 0, 1 of 2 arrivals pending, 16 bytes".
pub(super) fn state(state: State) -> String {
    if !state.is_live() {
        return "no mbarrier".to_owned();
    }
    let bytes = if state.tx == 1 { "byte" } else { "bytes" };
    format!("phase {}, {} of {} arrivals pending, {} {bytes}", state.phase, state.pending, state.expected, state.tx)
}

/// An operation on an mbarrier: a wait, or a change and the state it leaves.
pub(super) fn mbarrier(context: &Context<'_>, execution: &Execution, id: EventId, written: Option<EventId>) -> String {
    let instruction = context.instruction(id);
    let name = context.location_name(id);
    let found = |id: EventId| value(execution, id).map(State::unpack).unwrap_or_default();
    let Some(event) = context.event(id) else { return String::new() };
    match written {
        Some(written) => {
            let what = match context.issue(id) {
                Some(_) if event.tags.has(Tag::Completion) => {
                    let name = words::asynchronous(event, &instruction);
                    format!("{name} completes at {}", context.location_name(id))
                }
                Some(_) => format!("{} updates {name}", words::asynchronous(event, &instruction)),
                None => format!("`{instruction}` updates {name}"),
            };
            format!("{what}: {}", change(found(id), found(written)))
        }
        None if event.tags.has(Tag::MbarrierWait) => {
            let phase = found(id).phase;
            format!("`{instruction}` is true: {name} is in phase {phase}, phase {} is over", phase.wrapping_sub(1))
        }
        None if context.is_read(id) => format!("`{instruction}` is false: {name} is in {}", state(found(id))),
        None => format!("`{instruction}` leaves {name} in {}", state(found(id))),
    }
}

fn change(before: State, after: State) -> String {
    if before.phase == after.phase {
        return state(after);
    }
    let now = state(after);
    format!("phase {} is over, {}", before.phase, now.replacen(',', " begins:", 1))
}

/// Neighbouring accesses of one asynchronous operation.
pub(super) fn accesses(context: &Context<'_>, execution: &Execution, run: &[&Moment]) -> String {
    let mut done: Vec<(bool, &str, Vec<String>)> = Vec::new();
    for moment in run {
        let (writes, name) = (context.is_write(moment.event), context.variable(moment.event));
        let value = context.value_text(execution, moment.event);
        match done.iter_mut().find(|(other, found, _)| *other == writes && *found == name) {
            Some((.., values)) => values.push(value),
            None => done.push((writes, name, vec![value])),
        }
    }
    let part = |(writes, name, values): &(bool, &str, Vec<String>)| {
        let verb = if *writes { "writes" } else { "reads" };
        format!("{verb} {name} = {}", listed(values))
    };
    let parts: Vec<String> = done.iter().map(part).collect();
    let Some(first) = run.first() else { return String::new() };
    let Some(event) = context.event(first.event) else { return String::new() };
    let name = words::asynchronous(event, &context.instruction(first.event));
    format!("{name} {} ({})", parts.join(", "), words::proxy(event))
}

/// "1", "1 (4 elements)", "1, 2, 3".
fn listed(values: &[String]) -> String {
    const MOST: usize = 4;
    match values {
        [only] => only.clone(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            format!("{first} ({} elements)", values.len())
        }
        _ if values.len() > MOST => format!("{}, ... ({} elements)", values[..MOST].join(", "), values.len()),
        _ => values.join(", "),
    }
}

/// The asynchronous operation that starts here, if it is one.
pub(super) fn start(context: &Context<'_>, execution: &Execution, id: EventId) -> String {
    let instruction = context.instruction(id);
    let strand = execution.events.iter().copied().find(|event| context.issue(*event) == Some(id));
    match strand.and_then(|event| context.event(event)) {
        Some(event) if !event.tags.has(Tag::Completion) => {
            format!("`{instruction}` starts {}", words::asynchronous(event, &instruction))
        }
        _ => format!("`{instruction}`"),
    }
}

/// How many events of each asynchronous operation there are.
pub(super) fn has_elements(context: &Context<'_>, execution: &Execution) -> bool {
    let mut sizes: BTreeMap<EventId, usize> = BTreeMap::new();
    execution.events.iter().filter_map(|id| context.issue(*id)).for_each(|issue| *sizes.entry(issue).or_default() += 1);
    sizes.values().any(|size| *size > 3)
}
