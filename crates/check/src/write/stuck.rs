//! Where the threads of an execution that never ends are stuck: one line each, for reports. The story is `explain::stuck`.

use fencepost_axiom::execution::Execution;
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_report::Stuck;

use crate::test::Test;

pub(crate) fn stuck(test: &Test, unfolding: &Unfolding, execution: &Execution) -> Vec<Stuck> {
    let mut found = Vec::new();
    for (thread, id) in unfolding.threads.iter().zip(&execution.traces) {
        let Some(trace) = unfolding.traces.get(id.index()) else { continue };
        let at = match &trace.end {
            TraceEnd::Blocked { barrier } => Some(unfolding.event(*barrier).span),
            TraceEnd::Spin { reads, span } => Some(reads.last().map_or(*span, |read| unfolding.event(*read).span)),
            TraceEnd::NotStarted => None,
            TraceEnd::Exit | TraceEnd::Bound { .. } | TraceEnd::Wild { .. } => continue,
        };
        let text = |span| test.instruction_text(span).trim_end_matches(';').trim().to_owned();
        found.push(Stuck {
            thread: thread.name.to_string(),
            line: at.map(|span| test.source.position(span.start).line),
            text: at.map(text).unwrap_or_default(),
            goes_round: unfolding.goes_round(*id),
        });
    }
    found
}
