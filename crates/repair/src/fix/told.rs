//! A change as data for reports.

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_report::fix::{Line, Part, Spot, What};
use fencepost_report::piece::Side;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Statement, Thread};

use super::difference;
use crate::edit::describe::side;
use crate::edit::{Change, Edit};
use crate::scene::anchor::{Anchor, instruction, position};

/// What the edits of one option are; None where they are nothing.
pub(super) fn told(test: &Test, edits: &[&Edit]) -> Option<What> {
    let name = |thread: ThreadId| {
        test.litmus.threads.get(thread.index()).map_or_else(String::new, |thread| thread.name.node.clone())
    };
    let line = |thread: ThreadId, span: Span| Line { thread: name(thread), line: test.source.line(span.start) };
    let spot = |anchor: &Anchor| Spot {
        thread: name(anchor.thread),
        side: side(anchor.side),
        line: test.source.line(anchor.span.start),
    };
    Some(match &edits.first()?.change {
        Change::Insert { at } => What::Inserted {
            text: at.first()?.1.trim_end_matches(';').replace('\n', " "),
            at: at.iter().map(|(anchor, _)| spot(anchor)).collect(),
        },
        Change::Poll { at, wait, .. } => What::Loop { wait: wait.clone(), at: spot(at) },
        Change::Strengthen { thread, span, .. } => What::Replaced {
            at: line(*thread, *span),
            was: test.instruction_text(*span),
            is: strengthened(test, edits, *thread, *span)?,
        },
        Change::Replace { thread, span, by } => What::Replaced {
            at: line(*thread, *span),
            was: test.instruction_text(*span),
            is: match edits {
                [_] => by.trim_end_matches(';').to_owned(),
                _ => spelled(test, edits, *thread, *span)?,
            },
        },
        Change::Remove { thread, span } => {
            What::Removed { at: line(*thread, *span), was: test.instruction_text(*span) }
        }
        Change::Move { span, to, .. } => {
            What::Moved { at: line(to.thread, *span), was: test.instruction_text(*span), to: spot(to) }
        }
        Change::Count { name, by, inits } => What::Counted {
            mbarrier: name.clone(),
            by: i64::try_from(*by).ok()?,
            at: inits.first().map(|(thread, span)| line(*thread, *span)),
        },
        Change::Wait { thread, span, .. } | Change::Return { thread, span } | Change::Reword { thread, span, .. } => {
            What::Replaced {
                at: line(*thread, *span),
                was: test.instruction_text(*span),
                is: spelled(test, edits, *thread, *span)?,
            }
        }
        Change::Hand { thread, span, to } => {
            What::Moved { at: line(*thread, *span), was: test.instruction_text(*span), to: spot(to) }
        }
        Change::Declare { text } => What::Declared { text: text.clone() },
        Change::Start { thread, register, value } => {
            What::Declared { text: format!("{}:{register} = {value}", name(*thread)) }
        }
        Change::Append { .. } | Change::Alternate(_) | Change::Again(_) => What::Several { parts: parts(test, edits)? },
    })
}

/// Whether one puts something in the place of an instruction, and the other gives it words.
pub(super) fn is_of_one(one: &[&Edit], other: &[&Edit]) -> bool {
    let place = |edits: &[&Edit]| match edits.first().map(|edit| &edit.change) {
        Some(Change::Replace { thread, span, .. }) => Some((*thread, *span, true)),
        Some(Change::Strengthen { thread, span, .. }) => Some((*thread, *span, false)),
        _ => None,
    };
    match (place(one), place(other)) {
        (Some((thread, span, true)), Some((its, at, false))) => (thread, span) == (its, at),
        _ => false,
    }
}

/// What comes at several places, each with the instruction whose place it takes, if it does.
fn parts(test: &Test, edits: &[&Edit]) -> Option<Vec<Part>> {
    let changed = Edit::apply_all(edits, &test.litmus)?;
    let mut parts = Vec::new();
    for (old, new) in test.litmus.threads.iter().zip(&changed.threads) {
        let texts = difference::lines(&changed, &new.body)?;
        let mut texts = texts.iter().map(|it| it.text.clone());
        let stays =
            |statement: &Statement| start(statement).filter(|own| old.body.iter().any(|it| start(it) == Some(*own)));
        let mut last: Option<u32> = None;
        let mut came: Vec<String> = Vec::new();
        for statement in &new.body {
            let text = match statement {
                Statement::Label(label) => format!("{}:", label.node),
                _ => texts.next()?,
            };
            let Some(own) = stays(statement) else {
                came.push(text);
                continue;
            };
            parts.extend(part(test, old, (last, Some(own)), &mut came));
            last = Some(own);
        }
        parts.extend(part(test, old, (last, None), &mut came));
    }
    Some(parts)
}

/// What came between two statements that stay.
fn part(test: &Test, old: &Thread, between: (Option<u32>, Option<u32>), came: &mut Vec<String>) -> Option<Part> {
    if came.is_empty() {
        return None;
    }
    let (side, at) = match between {
        (Some(last), _) => (Side::Behind, last),
        (None, Some(next)) => (Side::Before, next),
        (None, None) => (Side::Behind, old.name.span.start),
    };
    let is_gone = |it: &&Instruction| {
        let own = it.span().start;
        between.0.is_none_or(|last| last < own) && between.1.is_none_or(|next| own < next)
    };
    let was = old.body.iter().filter_map(instruction).find(is_gone).map(|it| test.instruction_text(it.span()));
    let at = Spot { thread: old.name.node.clone(), side, line: test.source.line(at) };
    Some(Part { at, was, text: std::mem::take(came).join("; ") })
}

/// Where a statement of the source stands; what came has no place there.
fn start(statement: &Statement) -> Option<u32> {
    match statement {
        Statement::Label(label) => (label.span != Span::default()).then_some(label.span.start),
        Statement::Instruction { instruction, .. } => {
            (instruction.opcode.span != Span::default()).then(|| instruction.span().start)
        }
        Statement::C(_) => None,
    }
}

/// An instruction that stays where it is, as it is then.
fn spelled(test: &Test, edits: &[&Edit], thread: ThreadId, span: Span) -> Option<String> {
    let changed = Edit::apply_all(edits, &test.litmus)?;
    let at = position(&test.litmus, thread, span)?;
    let statement = changed.threads.get(thread.index())?.body.get(at)?;
    difference::lines(&changed, std::slice::from_ref(statement))?.pop().map(|it| it.text)
}

/// The instruction with its new words and its old operands.
fn strengthened(test: &Test, edits: &[&Edit], thread: ThreadId, span: Span) -> Option<String> {
    let changed = Edit::apply_all(edits, &test.litmus)?;
    let at = position(&test.litmus, thread, span)?;
    let is = words(instruction(changed.threads.get(thread.index())?.body.get(at)?)?);
    let was = words(instruction(test.litmus.threads.get(thread.index())?.body.get(at)?)?);
    Some(test.instruction_text(span).replacen(&was, &is, 1))
}

fn words(found: &Instruction) -> String {
    let words = found.modifiers.iter().map(|word| word.node.as_str());
    [found.opcode.node.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(".")
}
