//! What an edit says to people: the piece that is missing, where it belongs, and the section of the ISA.

use fencepost_program::ThreadId;
use fencepost_report::Missing;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use crate::edit::apply::{Work, counted};
use crate::edit::{Change, Edit, End, Semantics, scope_word, semantics_word};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, position};

impl Edit {
    /// What all of them bring. A release and an acquire on one instruction are one word.
    pub(crate) fn all_missing(edits: &[Edit], scene: &Scene<'_>) -> Vec<Missing> {
        let half = |edit: &Edit, wanted: Semantics| match &edit.change {
            Change::Strengthen { span, semantics: Some(semantics), .. } if *semantics == wanted => Some(*span),
            _ => None,
        };
        let both = |edit: &Edit, own: Semantics, other: Semantics| {
            let span = half(edit, own);
            span.is_some() && edits.iter().any(|edit| half(edit, other) == span)
        };
        let told = edits.iter().filter(|edit| !both(edit, Semantics::Acquire, Semantics::Release));
        let one = |edit: &Edit| {
            let missing = edit.missing(scene);
            let whole = both(edit, Semantics::Release, Semantics::Acquire);
            let text = if whole { missing.text.replacen("`.release", "`.acq_rel", 1) } else { missing.text };
            Missing { text, ..missing }
        };
        told.map(one).collect()
    }

    pub(crate) fn missing(&self, scene: &Scene<'_>) -> Missing {
        let (thread, line) = match &self.change {
            Change::Insert { at } => at.first().map(|(anchor, _)| (anchor.thread, anchor.span)),
            Change::Declare { .. } => None,
            Change::Append { to, end, .. } => to.first().map(|thread| (*thread, outermost(scene, *thread, *end))),
            Change::Poll { at, .. } => Some((at.thread, at.span)),
            Change::Alternate(alternate) => Some(alternate.place()),
            Change::Again(again) => Some(again.place()),
            Change::Start { .. } => None,
            Change::Strengthen { thread, span, .. }
            | Change::Wait { thread, span, .. }
            | Change::Replace { thread, span, .. }
            | Change::Remove { thread, span }
            | Change::Return { thread, span } => Some((*thread, *span)),
            Change::Move { span, to, .. } => Some((to.thread, *span)),
            Change::Hand { to, .. } => Some((to.thread, to.span)),
            Change::Count { inits, .. } => inits.first().copied(),
        }
        .map_or((String::new(), 0), |(thread, span)| {
            (scene.thread_name(thread).to_owned(), scene.test.source.position(span.start).line)
        });
        Missing { text: self.words(scene), thread, line, section: self.section.to_owned() }
    }

    pub(crate) fn words(&self, scene: &Scene<'_>) -> String {
        let line = |span: &Span| scene.test.source.position(span.start).line;
        let text = |span: &Span| scene.test.instruction_text(*span).trim_end_matches(';').trim().to_owned();
        match &self.change {
            Change::Insert { at } => inserted(scene, at),
            Change::Declare { text } => format!("`{text}` in the declarations"),
            Change::Append { to, end, text } => appended(scene, to, *end, text),
            Change::Poll { at, wait, .. } => {
                format!("a loop around `{}` {}", wait.replace('\n', " "), scene.place_words(at))
            }
            Change::Alternate(alternate) => alternate.words(scene),
            Change::Again(again) => again.words(scene),
            Change::Start { thread, register, value } => {
                format!("`{}:{register} = {value}` in the declarations", scene.thread_name(*thread))
            }
            Change::Remove { thread, span } => {
                format!("{}'s `{}` (line {}) has to go", scene.thread_name(*thread), text(span), line(span))
            }
            Change::Strengthen { thread, span, semantics, scope } => {
                let semantics = semantics.map(|semantics| whole_word(semantics, &text(span))).into_iter();
                let words: Vec<String> =
                    semantics.chain(scope.map(scope_word)).map(|word| format!(".{word}")).collect();
                let name = scene.thread_name(*thread);
                format!("`{}` on {name}'s `{}` (line {})", words.concat(), text(span), line(span))
            }
            Change::Wait { thread, span, .. } => {
                let by = changed(scene, self, *thread, *span).unwrap_or_default();
                format!("`{by}` in {} instead of line {}", scene.thread_name(*thread), line(span))
            }
            Change::Replace { thread, span, by } => {
                let by = by.trim_end_matches(';').replace('\n', " ");
                format!("`{by}` in {} instead of `{}` (line {})", scene.thread_name(*thread), text(span), line(span))
            }
            Change::Return { thread, span } => {
                format!("`atom` instead of {}'s `{}` (line {})", scene.thread_name(*thread), text(span), line(span))
            }
            Change::Move { span, to, .. } => moved(scene, *span, to),
            Change::Hand { thread, span, to } => {
                let (name, other) = (scene.thread_name(*thread), scene.thread_name(to.thread));
                let (what, from, behind) = (text(span), line(span), line(&to.span));
                format!("{name}'s `{what}` (line {from}) belongs into {other} behind line {behind}")
            }
            Change::Count { name, by, inits } => {
                let place = inits.first().map_or(String::new(), |(_, span)| format!(" in line {}", line(span)));
                let count = counted(scene, name, inits).unwrap_or_default() + by;
                // All of an array are declared with one count.
                let name = if inits.is_empty() { name.split('[').next().unwrap_or(name) } else { name };
                format!("an initial count of {count} for the mbarrier {name}{place}")
            }
        }
    }
}

/// "P1's `fence.proxy.async` (line 16) belongs before line 15".
fn moved(scene: &Scene<'_>, span: Span, to: &Anchor) -> String {
    let line = |span: Span| scene.test.source.position(span.start).line;
    let text = |span: Span| scene.test.instruction_text(span).trim_end_matches(';').trim().to_owned();
    let name = scene.thread_name(to.thread);
    let side = if to.side == Side::After { "behind" } else { "before" };
    let place = if line(span) == line(to.span) {
        format!("`{}` of the same line", text(to.span))
    } else {
        format!("line {}", line(to.span))
    };
    format!("{name}'s `{}` (line {}) belongs {side} {place}", text(span), line(span))
}

/// "`bar.sync 0` in P0 between lines 4 and 5 and in P1 before line 9".
fn inserted(scene: &Scene<'_>, at: &[(Anchor, String)]) -> String {
    let what = at.first().map_or("", |(_, what)| what.trim_end_matches(';'));
    let places: Vec<String> = at.iter().map(|(anchor, _)| scene.place_words(anchor)).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    format!("`{}` {}", what.replace('\n', " "), fencepost_check::phrase::listed(&places))
}

fn appended(scene: &Scene<'_>, to: &[ThreadId], end: End, text: &str) -> String {
    let names: Vec<&str> = to.iter().map(|thread| scene.thread_name(*thread)).collect();
    let names = fencepost_check::phrase::listed(&names);
    let place = match end {
        End::First => "beginning",
        End::Last => "end",
    };
    match text.split_once(": ").and_then(|(_, rest)| rest.split_once(';')) {
        Some((wait, _)) => format!("a loop around `{wait}` at the {place} of {names}"),
        None => format!("`{}` at the {place} of {names}", text.trim_end_matches(';').replace('\n', " ")),
    }
}

/// What the instruction reads like after the change.
fn changed(scene: &Scene<'_>, edit: &Edit, thread: ThreadId, span: Span) -> Option<String> {
    let mut work = Work::new(&scene.test.litmus);
    let at = position(&work.litmus, thread, span)?;
    work.apply(&edit.change)?;
    match work.litmus.threads.get(thread.index())?.body.get(at)? {
        Statement::Instruction { instruction, .. } => Some(spelled(instruction)),
        Statement::Label(_) | Statement::C(_) => None,
    }
}

/// Opcode, modifiers and whole numbers: enough for waits.
fn spelled(instruction: &Instruction) -> String {
    let mut text = instruction.opcode.node.clone();
    for word in &instruction.modifiers {
        text.push('.');
        text.push_str(&word.node);
    }
    for operand in &instruction.operands {
        if let Operand::Integer(number) = operand.node {
            text.push_str(&format!(" {number}"));
        }
    }
    text
}

/// With the half that the instruction has.
fn whole_word(semantics: Semantics, text: &str) -> &'static str {
    let has = |word: &str| text.split([' ', '.']).any(|own| own == word);
    match semantics {
        Semantics::Release if has("acquire") => "acq_rel",
        Semantics::Acquire if has("release") => "acq_rel",
        _ => semantics_word(semantics),
    }
}

/// The first or the last instruction of a thread.
fn outermost(scene: &Scene<'_>, thread: ThreadId, end: End) -> Span {
    let body = scene.test.litmus.threads.get(thread.index()).map(|thread| &thread.body);
    let mut spans = body.into_iter().flatten().filter_map(crate::scene::anchor::instruction).map(Instruction::span);
    match end {
        End::First => spans.next(),
        End::Last => spans.next_back(),
    }
    .unwrap_or_default()
}
