//! A data race in words (PTX ISA 8.7.1): which two accesses, why they are not morally strong, why nothing orders them.

use fencepost_program::EventId;

use super::apart::{self, Seen};
use super::name::capitalised;
use super::{Context, Explanation, Line};

/// Explains a race between two accesses of an execution with these events and this reads-from.
pub fn race(
    context: &Context<'_>,
    events: &[EventId],
    rf: &[(EventId, EventId)],
    (first, second): (EventId, EventId),
) -> Explanation {
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
    let seen = Seen { events, rf };
    let either = apart::not_ordered(context, seen, first, second).or_else(|| apart::not_ordered(context, seen, second, first));
    let text = match &either {
        Some(because) => format!("causality order does not relate them: {}", because.text),
        None => "causality order does not relate them: no synchronisation leads from one to the other".to_owned(),
    };
    lines.push(says(text, either.map_or("8.9.5", |because| because.section)));
    let summary = capitalised(&format!("the location {} has a data race:", context.location_name(first)));
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}
