//! A data race in words (PTX ISA 8.7.1): which two accesses, why they are not morally strong, why nothing orders them.
//! Another flag of a model is named and no reason given: only the model knows what it means.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;

use super::apart::Apart;
use super::facts::{self, Facts};
use super::name::capitalised;
use super::{Context, Explanation, Line};
use crate::race::EXIT;
use crate::report::{Diagnosis, RacingAccess};

/// Two events and an execution in which they raise a flag.
#[derive(Copy, Clone, Debug)]
pub struct Example<'a> {
    /// The flag, `data-race`.
    pub flag: &'a str,
    pub execution: &'a Execution,
    pub pair: (EventId, EventId),
}

/// Other reads of the two threads that are named, to say which execution it is.
const READS: usize = 3;

pub fn race(context: &Context<'_>, example: &Example<'_>) -> Explanation {
    let (first, second) = example.pair;
    let mut lines = vec![access(context, first), access(context, second)];
    let summary = if example.flag == "data-race" {
        lines.extend(reasons(context, example));
        capitalised(&format!("the location {} has a data race:", context.location_name(first)))
    } else {
        format!("These raise the flag `{}` of the model:", example.flag)
    };
    let threads = [context.thread(first), context.thread(second)];
    let reads = example.execution.events.iter().copied().filter(|event| {
        context.is_read(*event) && ![first, second].contains(event) && threads.contains(&context.thread(*event))
    });
    let says = |event| format!("{} reads {}", context.called(event), context.value_text(example.execution, event));
    let reads: Vec<String> = reads.map(says).take(READS).collect();
    if !reads.is_empty() {
        lines.push(Line { text: format!("this happens where {}", reads.join(" and ")), ..Line::default() });
    }
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}

/// The same with what is missing.
pub(super) fn diagnosed(context: &Context<'_>, example: &Example<'_>, diagnosis: &Diagnosis) -> Explanation {
    let accesses = [(example.pair.0, &diagnosis.first), (example.pair.1, &diagnosis.second)];
    let told = |(id, access): (EventId, &RacingAccess)| {
        let (how, what, proxy) =
            (if access.asynchronous { "asynchronously " } else { "" }, &access.what, &access.proxy);
        let through = match proxy.as_str() {
            "none" => return context.line(id, format!("{} {what}", context.thread(id).unwrap_or("the thread"))),
            proxy if proxy.ends_with("proxy") => format!(" through the {proxy}"),
            proxy => format!(" ({proxy})"),
        };
        context.line(id, format!("`{}` {how}{what}{through}", context.instruction(id)))
    };
    let mut lines: Vec<Line> = accesses.into_iter().map(told).collect();
    lines.push(Line { text: diagnosis.why.clone(), ..Line::default() });
    let word = if diagnosis.confirmed { "missing" } else { "probably missing" };
    for missing in &diagnosis.missing {
        let section = context.section(&missing.section);
        lines.push(Line { text: format!("{word}: {}", missing.text), section, ..Line::default() });
    }
    if diagnosis.confirmed {
        let with = if diagnosis.missing.len() == 1 { "it" } else { "these" };
        let text = format!("with {with} this race is gone: the changed test was checked");
        lines.push(Line { text, ..Line::default() });
    }
    let location = context.location_name(example.pair.0);
    let summary = match example.flag {
        "data-race" => capitalised(&format!("the location {location} has a data race:")),
        EXIT => "Shared memory may be gone when it is accessed:".to_owned(),
        flag => format!("These raise the flag `{flag}` of the model:"),
    };
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}

fn access(context: &Context<'_>, id: EventId) -> Line {
    let instruction = context.instruction(id);
    let text = match () {
        () if context.is_read(id) => format!("`{instruction}` reads {}", context.location_name(id)),
        () if context.is_write(id) => format!("`{instruction}` writes {}", context.location_name(id)),
        () => format!("`{instruction}`"),
    };
    context.line(id, text)
}

fn reasons(context: &Context<'_>, example: &Example<'_>) -> Vec<Line> {
    let (first, second) = example.pair;
    let model = facts::watching(context.model);
    let facts = Facts::new(context, &model, example.execution);
    let apart = Apart { context, facts: &facts, execution: example.execution };
    let says = |text: String, section: &str| Line { text, section: context.section(section), ..Line::default() };
    let mut lines = Vec::new();
    if let Some(because) = apart.not_morally_strong(first, second) {
        lines.push(says(format!("they are not morally strong: {}", because.text), because.section));
    }
    let related = |from, to| facts.holds("base-causality", from, to);
    let based = related(first, second).zip(related(second, first));
    // The way that is there, if one is: what is missing is missing on it.
    let either = match based {
        Some((false, true)) => apart.not_ordered(second, first),
        _ => apart.not_ordered(first, second).or_else(|| apart.not_ordered(second, first)),
    };
    match (either, based) {
        (Some(because), _) => {
            lines.push(says(format!("causality order does not relate them: {}", because.text), because.section));
        }
        (None, Some((false, false))) => {
            let text = "causality order does not relate them: no synchronisation leads from one to the other";
            lines.push(says(text.to_owned(), "8.9.5"));
        }
        (None, _) => {}
    }
    lines
}
