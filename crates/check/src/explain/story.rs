//! An allowed execution told line by line: what each instruction did, where each read got its value from, and why a read
//! that missed a newer write was allowed to.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::EventKind;

use super::apart::{self, Seen};
use super::name::value_text;
use super::order::{Moment, moments, overwriting};
use super::words::Family;
use super::{Context, Explanation, Line};
use crate::outcome;
use crate::phrase::{self, Notation};

/// Tells the execution. `wanted` is what it is a witness of.
pub fn allowed(context: &Context<'_>, execution: &Execution, wanted: Option<&Condition>) -> Explanation {
    let moments = moments(context, execution);
    let weak = moments.iter().any(|moment| !moment.ahead_of.is_empty() || moment.circular);
    let summary = if weak {
        "This execution is allowed. No single interleaving explains it; what happens out of program order is marked."
    } else {
        "This execution is allowed, and it is an interleaving of the threads:"
    };
    let mut lines = Vec::new();
    let partner = |moment: &Moment| context.event(moment.event).and_then(|event| event.rmw_partner);
    let mut rest = moments.iter().peekable();
    while let Some(moment) = rest.next() {
        // The two halves of a read-modify-write are one line where they are one step.
        let written = rest.next_if(|next| partner(moment) == Some(next.event)).map(|next| next.event);
        tell(context, execution, moment, written, &mut lines);
    }
    lines.extend(outcome_line(context, execution, wanted));
    Explanation { summary: summary.to_owned(), lines, rejected: Vec::new(), remark: None }
}

/// The event, then the reasons for what is odd about it, a line each.
fn tell(
    context: &Context<'_>,
    execution: &Execution,
    moment: &Moment,
    written: Option<EventId>,
    lines: &mut Vec<Line>,
) {
    let id = moment.event;
    let instruction = context.instruction(id);
    let value = value_text(execution, id);
    let location = context.location_name(id);
    let mut text = match context.event(id).map(|event| &event.kind) {
        Some(EventKind::Read { .. }) => {
            format!("`{instruction}` reads {location} = {value}, {}", source(context, execution, id))
        }
        Some(EventKind::Write { .. }) => format!("`{instruction}` writes {location} = {value}"),
        _ => format!("`{instruction}`"),
    };
    if let Some(written) = written {
        text.push_str(&format!(", and writes {} in the same step", value_text(execution, written)));
    }
    lines.push(context.line(id, text));
    let aside = |text: String, section: Option<String>| Line { text, section, events: vec![id.0], ..Line::default() };
    if let Some(first) = moment.ahead_of.first() {
        let others = match moment.ahead_of.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        let text = format!("- out of program order: ahead of `{}`{others}", context.instruction(*first));
        lines.push(aside(text, None));
    }
    if let Some(because) = missed(context, execution, moment) {
        lines.push(aside(format!("- {}", because.text), context.section(because.section)));
    }
    if moment.circular {
        lines.push(aside("- it communicates in a circle: there is no order of these events".to_owned(), None));
    }
}

fn source(context: &Context<'_>, execution: &Execution, read: EventId) -> String {
    let source = execution.rf.iter().find(|(_, to)| *to == read).map(|(from, _)| *from);
    match source {
        Some(source) if context.is_init(source) => "the initial value".to_owned(),
        Some(source) if context.thread(source) == context.thread(read) => "its own thread's write".to_owned(),
        Some(source) => {
            let line = context.line_number(source).map_or(String::new(), |line| format!(" in line {line}"));
            format!("from {}'s write{line}", context.thread(source).unwrap_or("the"))
        }
        None => "from nowhere".to_owned(),
    }
}

/// Why the read need not see a newer write of another thread, where somebody might expect it to: a message that should
/// have told it of the write was received, or it is out of program order.
fn missed(context: &Context<'_>, execution: &Execution, moment: &Moment) -> Option<apart::Because> {
    let read = moment.event;
    let own = context.event(read)?.rmw_partner;
    let newer = overwriting(execution, read)
        .into_iter()
        .filter(|write| Some(*write) != own && context.thread(*write) != context.thread(read));
    let newer: Vec<EventId> = newer.collect();
    let seen = Seen { events: &execution.events, rf: &execution.rf };
    let because = newer.iter().find_map(|write| Some((*write, apart::not_ordered(context, seen, *write, read)?)));
    if let Some((write, because)) = because {
        let text = format!(
            "it need not see {} = {} of {}: {}",
            context.location_name(write),
            value_text(execution, write),
            context.called(write),
            because.text
        );
        return Some(apart::Because { text, section: because.section });
    }
    let write = *newer.first().filter(|_| !moment.ahead_of.is_empty())?;
    let why = match context.family() {
        Family::Ptx => "nothing orders that write before this read",
        Family::Other => "that write need not have reached memory yet",
    };
    let text = format!(
        "it need not see {} = {} of {}: {why}",
        context.location_name(write),
        value_text(execution, write),
        context.called(write)
    );
    Some(apart::Because { text, section: "" })
}

fn outcome_line(context: &Context<'_>, execution: &Execution, wanted: Option<&Condition>) -> Option<Line> {
    let condition = wanted?;
    let terms: Vec<Term> = condition.terms();
    let states = outcome::Reader::new(context.unfolding, execution).states(&terms);
    let state = states.iter().find(|state| outcome::holds(condition, &terms, state))?;
    let values: Vec<String> = terms
        .iter()
        .zip(state)
        .map(|(term, value)| format!("{} = {value}", phrase::term(context.program, term, Notation::Named)))
        .collect();
    let asked = phrase::condition(context.program, condition, Notation::Named);
    let choice =
        if states.len() > 1 { " (some writes are unordered: the final memory could also be another)" } else { "" };
    let text = if values.is_empty() {
        format!("In the end {asked} holds.")
    } else {
        format!("In the end {}{choice}, so {asked} holds.", values.join(", "))
    };
    Some(Line { text, ..Line::default() })
}
