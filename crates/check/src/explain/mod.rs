//! Explanations in words: an execution as a story, or what rules every candidate out.

use std::fmt::Write;

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::report::{EventKind, Witness};
use crate::test::Test;

/// The text under a report for `--explain`.
pub fn explain(_test: &Test, _model: &LoadedModel, checked: &Checked) -> String {
    let mut text = String::new();
    for answer in &checked.report.questions {
        if let Some(witness) = &answer.witness {
            story(&mut text, witness);
        }
    }
    text
}

fn story(text: &mut String, witness: &Witness) {
    for event in witness.events.iter().filter(|event| event.kind != EventKind::Init) {
        let thread = event.thread.as_deref().unwrap_or("");
        let value = event.value.map_or(String::new(), |value| format!(" -> {}", value.0));
        let _ = writeln!(text, "    {thread} line {}: {}{value}", event.line.unwrap_or(0), event.text);
    }
}
