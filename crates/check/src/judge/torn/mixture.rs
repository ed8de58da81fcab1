//! A torn value: which bytes of a read come from where.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_report::site::ThreadName;
use fencepost_report::warning::{TakenBytes, Torn, WriteLine};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::test::Test;

/// The first read of the execution that mixes the bytes of several writes; where it is, and what it takes from where.
pub(super) fn first(test: &Test, unfolding: &Unfolding, execution: &Execution) -> Option<(Span, Torn)> {
    let mut operations: SortedMap<EventId, Vec<(EventId, EventId)>> = SortedMap::new();
    for &(write, read) in &execution.rf {
        if let Some(extent) = unfolding.event(read).extent {
            operations.entry(extent.operation).or_default().push((read, write));
        }
    }
    operations.into_iter().find_map(|(operation, mut parts)| {
        parts.shared_sort_by_key(|(read, _)| unfolding.event(*read).location());
        let sources: Vec<Option<EventId>> = parts.iter().map(|(_, write)| source(unfolding, *write)).collect();
        if sources.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let read = unfolding.event(operation);
        let mut taken: Vec<(u32, u32, Option<EventId>)> = Vec::new();
        let mut at = 0;
        for ((part, _), source) in parts.iter().zip(sources) {
            let bytes = unfolding.event(*part).location().map_or(0, |location| {
                test.program.locations.get(location.index()).map_or(0, |location| location.bytes)
            });
            match taken.last_mut() {
                Some((_, end, last)) if *last == source => *end = at + bytes,
                _ => taken.push((at, at + bytes, source)),
            }
            at += bytes;
        }
        let part = |(start, end, source)| TakenBytes { start, end, from: writer(test, unfolding, source) };
        let parts = taken.into_iter().map(part).collect();
        let text = test.instruction_text(read.span).trim_end_matches(';').to_owned();
        Some((read.span, Torn::Read { by: thread(unfolding, read), text, parts }))
    })
}

/// The operation that wrote it; None for the initial value.
fn source(unfolding: &Unfolding, write: EventId) -> Option<EventId> {
    let event = unfolding.event(write);
    (!event.is_init()).then(|| event.extent.map_or(write, |extent| extent.operation))
}

fn writer(test: &Test, unfolding: &Unfolding, source: Option<EventId>) -> Option<WriteLine> {
    let event = unfolding.event(source?);
    Some(WriteLine { thread: thread(unfolding, event), line: test.source.position(event.span.start).line })
}

fn thread(unfolding: &Unfolding, event: &Event) -> ThreadName {
    let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
    ThreadName(thread.map_or("init", |thread| thread.name.as_str()).to_owned())
}
