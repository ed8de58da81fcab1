//! An execution that never ends, in words: who is stuck, where, and what it waits for.

use fencepost_axiom::execution::Execution;
use fencepost_program::unfolding::TraceEnd;

use super::{Context, Explanation, Line};

pub fn stuck(context: &Context<'_>, execution: &Execution) -> Explanation {
    let mut lines = Vec::new();
    for (thread, trace) in context.unfolding.threads.iter().zip(&execution.traces) {
        let Some(trace) = context.unfolding.traces.get(trace.index()) else { continue };
        match &trace.end {
            TraceEnd::Exit => {}
            TraceEnd::NotStarted => lines.push(Line {
                text: "never starts: a kernel before it does not end".to_owned(),
                thread: Some(thread.name.clone()),
                section: context.section("8.9.4"),
                ..Line::default()
            }),
            TraceEnd::Blocked { barrier } if !context.unfolding.event(*barrier).is_barrier() => {
                let text = format!(
                    "waits for ever at `{}`: a kernel it waits for does not end",
                    context.instruction(*barrier)
                );
                let mut line = context.line(*barrier, text);
                line.section = context.section("9.7.15.14");
                lines.push(line);
            }
            TraceEnd::Spin { reads, span } => {
                let seen: Vec<String> = reads
                    .iter()
                    .map(|read| format!("{} = {}", context.location_name(*read), context.value_text(execution, *read)))
                    .collect();
                let why = if seen.is_empty() {
                    "spins for ever: its loop waits for nothing that could change".to_owned()
                } else {
                    format!("spins for ever: it keeps reading {}, and no newer write ends the loop", seen.join(", "))
                };
                lines.push(Line {
                    text: why,
                    thread: Some(thread.name.clone()),
                    line: Some(context.source.position(span.start).line),
                    section: None,
                    events: reads.iter().map(|read| read.0).collect(),
                });
            }
            TraceEnd::Blocked { barrier } => {
                let text = format!(
                    "waits for ever at `{}`: not enough threads arrive at this barrier",
                    context.instruction(*barrier)
                );
                let mut line = context.line(*barrier, text);
                line.section = context.section("9.7.15.1");
                lines.push(line);
            }
            TraceEnd::Bound { span, .. } | TraceEnd::Wild { span, .. } => lines.push(Line {
                text: "was not followed further".to_owned(),
                thread: Some(thread.name.clone()),
                line: Some(context.source.position(span.start).line),
                ..Line::default()
            }),
        }
    }
    let summary = "Some execution never ends, even if every thread gets its turn:".to_owned();
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}
