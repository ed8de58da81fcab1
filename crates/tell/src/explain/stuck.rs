//! An execution that never ends, in words: who is stuck, where, and what it waits for.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::mbarrier::State;
use fencepost_program::sections;
use fencepost_program::unfolding::TraceEnd;

use super::name::value;
use super::{Context, Explanation, Line, Rounds};

pub fn stuck(context: &Context<'_>, execution: &Execution) -> Explanation {
    let rounds = Rounds::new(context.unfolding, execution);
    let context = &Context { rounds: &rounds, ..*context };
    let mut lines = Vec::new();
    for (thread, id) in context.unfolding.threads.iter().zip(&execution.traces) {
        let Some(trace) = context.unfolding.traces.get(id.index()) else { continue };
        match &trace.end {
            TraceEnd::Exit => {}
            TraceEnd::NotStarted => lines.push(Line {
                text: "never starts: a kernel before it does not end".to_owned(),
                thread: Some(thread.name.to_string()),
                section: context.section(sections::MEMORY_SYNCHRONIZATION),
                ..Line::default()
            }),
            TraceEnd::Blocked { barrier } if !context.unfolding.event(*barrier).is_barrier() => {
                let text = format!(
                    "waits for ever at `{}`: a kernel it waits for does not end",
                    context.instruction(*barrier)
                );
                let mut line = context.line(*barrier, text);
                line.section = context.section(sections::GRIDDEPCONTROL);
                lines.push(line);
            }
            TraceEnd::Spin { reads, span } => lines.push(Line {
                text: match context.unfolding.goes_round(*id) {
                    true => "goes round for ever with the other threads of its CTA".to_owned(),
                    false => spin(context, execution, reads),
                },
                thread: Some(thread.name.to_string()),
                line: Some(context.source.position(span.start).line),
                section: None,
                events: reads.iter().map(|read| read.0).collect(),
            }),
            TraceEnd::Blocked { barrier } => {
                let text = format!(
                    "waits for ever at `{}`: not enough threads arrive at this barrier",
                    context.instruction(*barrier)
                );
                let mut line = context.line(*barrier, text);
                line.section = context.section(sections::BAR);
                lines.push(line);
            }
            TraceEnd::Bound { span, .. } | TraceEnd::Wild { span, .. } => lines.push(Line {
                text: "was not followed further".to_owned(),
                thread: Some(thread.name.to_string()),
                line: Some(context.source.position(span.start).line),
                ..Line::default()
            }),
        }
    }
    let summary = "Some execution never ends, even if every thread gets its turn:".to_owned();
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}

/// Why a loop does not end: the phase of an mbarrier that is never over, or the values it keeps reading.
fn spin(context: &Context<'_>, execution: &Execution, reads: &[EventId]) -> String {
    let waits: Vec<String> = reads.iter().filter_map(|read| phase(context, execution, *read)).collect();
    let values = reads
        .iter()
        .filter(|read| !context.is_mbarrier(**read))
        .map(|read| format!("{} = {}", context.location_name(*read), context.value_text(execution, *read)));
    let values: Vec<String> = values.collect();
    let and = if waits.is_empty() { "" } else { ", and " };
    let kept = match values.is_empty() {
        true if waits.is_empty() => "its loop waits for nothing that could change".to_owned(),
        true => String::new(),
        false => format!("{and}it keeps reading {}, and no newer write ends the loop", values.join(", ")),
    };
    format!("spins for ever: {}{kept}", waits.join(", "))
}

/// "phase 0 of full is never over: 1 of 2 arrivals and 16 bytes are missing".
fn phase(context: &Context<'_>, execution: &Execution, read: EventId) -> Option<String> {
    if !context.is_mbarrier(read) {
        return None;
    }
    let (name, state) = (context.location_name(read), State::unpack(value(execution, read)?));
    if !state.is_live() {
        return Some(format!("{name} is not an mbarrier, so no phase of it is ever over"));
    }
    let mut missing = Vec::new();
    if state.pending > 0 {
        missing.push(format!("{} of {} arrivals", state.pending, state.expected));
    }
    if state.tx > 0 {
        missing.push(fencepost_check::phrase::count(u64::from(state.tx.unsigned_abs()), "byte"));
    }
    let mut why = match missing.as_slice() {
        [] => String::new(),
        [one] if state.pending.max(state.tx.unsigned_abs()) == 1 => format!(": {one} is missing"),
        _ => format!(": {} are missing", missing.join(" and ")),
    };
    if state.tx < 0 {
        let excess = fencepost_check::phrase::count(u64::from(state.tx.unsigned_abs()), "byte");
        why.push_str(&format!("{} {excess} came that nothing expects", if why.is_empty() { ":" } else { ", and" }));
    }
    Some(format!("phase {} of {name} is never over{why}", state.phase))
}
