//! What happens beside program order, in plain words: the accesses of an asynchronous operation as one line, the states of
//! an mbarrier as phases, arrivals and bytes instead of the packed number.

use fencepost_axiom::execution::Execution;
use fencepost_check::look::proxy::{operation, proxy_of};
use fencepost_program::EventId;
use fencepost_program::mbarrier::State;
use fencepost_program::program::{HostCall, LocationRole};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_syntax::sorted::SortedMap;

use crate::explain::Context;
use crate::explain::name::value;
use crate::explain::order::Moment;

impl Context<'_> {
    /// The value of an event; of an mbarrier its phase and what that waits for.
    pub(crate) fn value_text(&self, execution: &Execution, id: EventId) -> String {
        match value(execution, id) {
            None => "?".to_owned(),
            Some(value) if self.is_mbarrier(id) => state(State::unpack(value)),
            Some(value) if self.role(id) == Some(LocationRole::TensorMap) => {
                let tensor = self.program.addresses.iter().find(|address| address.value == value);
                tensor.map_or_else(|| value.to_string(), |tensor| format!("a map of {}", plain(&tensor.name)))
            }
            Some(value) => value.to_string(),
        }
    }

    pub(crate) fn is_mbarrier(&self, id: EventId) -> bool {
        self.role(id) == Some(LocationRole::Mbarrier)
    }

    fn role(&self, id: EventId) -> Option<LocationRole> {
        let location = self.location_of(id)?;
        self.unfolding.locations.get(location.index()).map(|location| location.role)
    }

    /// What started the operation that the event is part of.
    pub(crate) fn issue(&self, id: EventId) -> Option<EventId> {
        self.event(id)?.strand.as_ref().map(|strand| strand.issue)
    }

    /// "P1's bulk copy of line 13", "the completion of P1's bulk copy of line 13 at full".
    pub(crate) fn called_strand(&self, id: EventId) -> String {
        let Some(event) = self.event(id) else { return String::new() };
        let name = operation(event, &self.instruction(id)).name();
        let (thread, line) = (self.thread(id).unwrap_or_default(), self.line_number(id).unwrap_or_default());
        let whole = format!("{thread}'s {name} of line {line}");
        if event.tags.has(Tag::Completion) {
            format!("the completion of {whole} at {}", self.location_name(id))
        } else {
            whole
        }
    }

    /// The variable of an access, without the element.
    fn variable(&self, id: EventId) -> &str {
        plain(self.location_name(id))
    }
}

/// A variable without the element.
fn plain(name: &str) -> &str {
    name.split(['[', '+']).next().unwrap_or(name)
}

/// "phase 0, 1 of 2 arrivals pending, 16 bytes".
pub(crate) fn state(state: State) -> String {
    if !state.is_live() {
        return "no mbarrier".to_owned();
    }
    let bytes = if state.tx == 1 { "byte" } else { "bytes" };
    format!("phase {}, {} of {} arrivals pending, {} {bytes}", state.phase, state.pending, state.expected, state.tx)
}

/// An operation on an mbarrier: a wait, or a change and the state it leaves.
pub(crate) fn mbarrier(context: &Context<'_>, execution: &Execution, id: EventId, written: Option<EventId>) -> String {
    let instruction = context.instruction(id);
    let name = context.location_name(id);
    let found = |id: EventId| value(execution, id).map(State::unpack).unwrap_or_default();
    let Some(event) = context.event(id) else { return String::new() };
    match written {
        Some(written) => {
            let what = match context.issue(id) {
                Some(_) if event.tags.has(Tag::Completion) => {
                    format!("{} completes at {name}", asynchronous(context, id))
                }
                Some(_) => format!("{} updates {name}", asynchronous(context, id)),
                None => format!("`{instruction}` updates {name}"),
            };
            format!("{what}: {}", change(found(id), found(written)))
        }
        None if event.tags.has(Tag::MbarrierWait) => {
            let phase = found(id).phase;
            let over = phase.checked_sub(1).map_or_else(before_first, |over| format!("phase {over}"));
            format!("`{instruction}` is true: {name} is in phase {phase}, {over} is over")
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

/// "the bulk copy", in a loop "the bulk copy of iteration 2": it is told beside its thread.
fn asynchronous(context: &Context<'_>, id: EventId) -> String {
    let name = context
        .event(id)
        .map_or(String::new(), |event| format!("the {}", operation(event, &context.instruction(id)).name()));
    match context.rounds.name(id) {
        Some(iteration) => format!("{name} of {iteration}"),
        None => name,
    }
}

/// Neighbouring accesses of one asynchronous operation.
pub(crate) fn accesses(context: &Context<'_>, execution: &Execution, run: &[&Moment]) -> String {
    let mut done: Vec<(bool, &str, &str, Vec<String>)> = Vec::new();
    for moment in run {
        let Some(event) = context.event(moment.event) else { continue };
        let (writes, name) = (context.is_write(moment.event), context.variable(moment.event));
        let value = context.value_text(execution, moment.event);
        match done.iter_mut().find(|(other, found, ..)| *other == writes && *found == name) {
            Some((.., values)) => values.push(value),
            None => done.push((writes, name, proxy_of(event).name(), vec![value])),
        }
    }
    let Some(first) = run.first() else { return String::new() };
    let Some(event) = context.event(first.event) else { return String::new() };
    // A tensor copy reads its map through a proxy of its own.
    let proxy = proxy_of(event).name();
    let one = done.iter().all(|(_, _, own, _)| *own == proxy);
    let part = |(writes, name, own, values): &(bool, &str, &str, Vec<String>)| {
        let verb = if *writes { "writes" } else { "reads" };
        let through = if one { String::new() } else { format!(" ({own})") };
        format!("{verb} {name} = {}{through}", listed(values))
    };
    let parts: Vec<String> = done.iter().map(part).collect();
    let name = asynchronous(context, first.event);
    let through = if one { format!(" ({proxy})") } else { String::new() };
    format!("{name} {}{through}", parts.join(", "))
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
pub(crate) fn start(context: &Context<'_>, execution: &Execution, id: EventId) -> String {
    let instruction = context.instruction(id);
    let strand = execution.events.iter().copied().find(|event| context.issue(*event) == Some(id));
    match strand.and_then(|event| context.event(event)) {
        Some(event) if !event.tags.has(Tag::Completion) => {
            format!("`{instruction}` starts the {}", operation(event, &instruction).name())
        }
        _ => format!("`{instruction}`"),
    }
}

/// What a host does with a kernel.
pub(crate) fn host_call(context: &Context<'_>, id: EventId) -> String {
    let instruction = context.instruction(id);
    match context.event(id).and_then(|event| event.call) {
        Some(HostCall::Launch(_)) => format!("`{instruction}` starts the kernel"),
        Some(HostCall::Sync(_)) => format!("`{instruction}` returns: the kernel has ended"),
        Some(HostCall::Missed(_)) => format!("`{instruction}` waits for nothing: the kernel is not launched yet"),
        None => format!("`{instruction}`"),
    }
}

/// The order in which a strand does things: "P1's bulk copy of line 13 writes s before it completes at full".
pub(crate) fn strand_order(context: &Context<'_>, from: EventId, to: EventId) -> String {
    let verb = if context.is_write(from) { "writes" } else { "reads" };
    let first = format!("{} {verb} {}", context.called(from), context.variable(from));
    if context.event(to).is_some_and(|event| event.tags.has(Tag::Completion)) {
        return format!("{first} before it is told complete at {}", context.location_name(to));
    }
    let verb = if context.is_write(to) { "writes" } else { "reads" };
    format!("{first} before it {verb} {}", context.variable(to))
}

/// What an acquire of an mbarrier saw: "which sees that phase 0 of full is over".
pub(crate) fn seen(context: &Context<'_>, execution: &Execution, read: EventId) -> String {
    let phase = value(execution, read).map(State::unpack).unwrap_or_default().phase;
    let over = phase.checked_sub(1).map_or_else(before_first, |over| format!("phase {over}"));
    format!("which sees that {over} of {} is over", context.location_name(read))
}

/// An mbarrier that was just initialised counts as one whose previous phase is complete (9.7.15.16).
fn before_first() -> String {
    "the phase before the first".to_owned()
}

/// What a fence between proxies does; None for other events.
pub(crate) fn gate(context: &Context<'_>, id: EventId) -> Option<&'static str> {
    let tags = context.event(id)?.tags;
    let proxy = tags.has(Tag::ProxyFence);
    match () {
        () if tags.has(Tag::BeforeThreadSync) => Some("which orders tcgen05 operations before what follows"),
        () if tags.has(Tag::AfterThreadSync) => Some("which orders later tcgen05 operations after it"),
        () if proxy && tags.has(Tag::Async) => Some("the gate between the generic and the async proxy"),
        () if proxy && tags.has(Tag::TensorMap) => Some("the gate from the generic to the tensormap proxy"),
        () if proxy && tags.has(Tag::Alias) => Some("the gate between virtual aliases"),
        () => None,
    }
}

/// Where the ISA says what a wait for the operation means.
pub(crate) fn completion_section(context: &Context<'_>, id: EventId) -> &'static str {
    let has = |tag| context.event(id).is_some_and(|event| event.tags.has(tag));
    match () {
        () if has(Tag::Tcgen05) => sections::TCGEN05_PATTERNS,
        () if has(Tag::Wgmma) => sections::WGMMA_SYNCHRONIZATION,
        () => sections::COMPLETION_MECHANISMS,
    }
}

/// How many events of each asynchronous operation there are.
pub(crate) fn has_elements(context: &Context<'_>, execution: &Execution) -> bool {
    let mut sizes: SortedMap<EventId, usize> = SortedMap::new();
    execution.events.iter().filter_map(|id| context.issue(*id)).for_each(|issue| *sizes.entry(issue).or_default() += 1);
    sizes.values().any(|size| *size > 3)
}
