//! A torn value in words: which bytes of a read come from where.

use std::collections::BTreeMap;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_syntax::Span;

use crate::test::Test;

/// The first read of the execution that mixes the bytes of several writes; where it is, and what it takes from where.
pub(super) fn mixture(test: &Test, unfolding: &Unfolding, execution: &Execution) -> Option<(Span, String)> {
    let mut operations: BTreeMap<EventId, Vec<(EventId, EventId)>> = BTreeMap::new();
    for &(write, read) in &execution.rf {
        if let Some(extent) = unfolding.event(read).extent {
            operations.entry(extent.operation).or_default().push((read, write));
        }
    }
    operations.into_iter().find_map(|(operation, mut parts)| {
        parts.sort_by_key(|(read, _)| unfolding.event(*read).location());
        let sources: Vec<Option<EventId>> = parts.iter().map(|(_, write)| source(unfolding, *write)).collect();
        if sources.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let read = unfolding.event(operation);
        let mut told: Vec<(u32, u32, Option<EventId>)> = Vec::new();
        let mut at = 0;
        for ((part, _), source) in parts.iter().zip(sources) {
            let bytes = unfolding.event(*part).location().map_or(0, |location| {
                test.program.locations.get(location.index()).map_or(0, |location| location.bytes)
            });
            match told.last_mut() {
                Some((_, end, last)) if *last == source => *end = at + bytes,
                _ => told.push((at, at + bytes, source)),
            }
            at += bytes;
        }
        let told: Vec<String> = told
            .into_iter()
            .map(|(start, end, source)| format!("{} from {}", bytes(start, end), writer(test, unfolding, source)))
            .collect();
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let text = test.instruction_text(read.span);
        let by = format!("{}'s `{}`", thread(unfolding, read), text.trim_end_matches(';'));
        Some((read.span, format!("{by} takes {}", crate::phrase::listed(&told))))
    })
}

/// The operation that wrote it; None for the initial value.
fn source(unfolding: &Unfolding, write: EventId) -> Option<EventId> {
    let event = unfolding.event(write);
    (!event.is_init()).then(|| event.extent.map_or(write, |extent| extent.operation))
}

/// `byte 0`, `bytes 4-7`.
fn bytes(start: u32, end: u32) -> String {
    if end - start == 1 { format!("byte {start}") } else { format!("bytes {start}-{}", end.saturating_sub(1)) }
}

fn writer(test: &Test, unfolding: &Unfolding, source: Option<EventId>) -> String {
    match source.map(|source| unfolding.event(source)) {
        None => "the initial value".to_owned(),
        Some(event) => {
            format!("{}'s write in line {}", thread(unfolding, event), test.source.position(event.span.start).line)
        }
    }
}

fn thread<'u>(unfolding: &'u Unfolding, event: &Event) -> &'u str {
    let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
    thread.map_or("init", |thread| thread.name.as_str())
}
