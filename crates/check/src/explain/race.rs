//! A data race in words (PTX ISA 8.7.1): which two accesses, why they are not morally strong, why nothing orders them.

use fencepost_program::EventId;
use fencepost_program::value::Value;

use super::apart::{self, Seen};
use super::name::capitalised;
use super::{Context, Explanation, Line};

/// As much of an execution as a race needs.
#[derive(Clone, Debug)]
pub struct Example {
    /// Ascending.
    pub events: Vec<EventId>,
    /// What each of `events` read or wrote.
    pub values: Vec<Option<Value>>,
    pub rf: Vec<(EventId, EventId)>,
    pub pair: (EventId, EventId),
}

/// Other reads of the two threads that are named, to say which execution it is.
const READS: usize = 3;

pub fn race(context: &Context<'_>, example: &Example) -> Explanation {
    let (first, second) = example.pair;
    let verb = |id: EventId| if context.is_read(id) { "reads" } else { "writes" };
    let line = |id: EventId| {
        let text = format!("`{}` {} {}", context.instruction(id), verb(id), context.location_name(id));
        context.line(id, text)
    };
    let mut lines = vec![line(first), line(second)];
    let says = |text: String, section: &str| Line { text, section: context.section(section), ..Line::default() };
    if let Some(because) = apart::not_morally_strong(context, first, second) {
        let text = format!("they are not morally strong: {}", because.text);
        lines.push(says(text, because.section));
    }
    let seen = Seen { events: &example.events, rf: &example.rf };
    let either =
        apart::not_ordered(context, seen, first, second).or_else(|| apart::not_ordered(context, seen, second, first));
    let text = match &either {
        Some(because) => format!("causality order does not relate them: {}", because.text),
        None => "causality order does not relate them: no synchronisation leads from one to the other".to_owned(),
    };
    lines.push(says(text, either.map_or("8.9.5", |because| because.section)));
    let threads = [context.thread(first), context.thread(second)];
    let reads = example.events.iter().zip(&example.values).filter(|(event, _)| {
        context.is_read(**event) && ![first, second].contains(event) && threads.contains(&context.thread(**event))
    });
    let reads: Vec<String> = reads
        .filter_map(|(event, value)| Some(format!("{} reads {}", context.called(*event), value.as_ref()?)))
        .take(READS)
        .collect();
    if !reads.is_empty() {
        lines.push(says(format!("this happens where {}", reads.join(" and ")), ""));
    }
    let summary = capitalised(&format!("the location {} has a data race:", context.location_name(first)));
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}
