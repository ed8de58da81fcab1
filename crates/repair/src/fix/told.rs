//! A change as data for reports.

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_report::fix::{Line, Spot, What};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;

use crate::edit::describe::side;
use crate::edit::{Change, Edit};
use crate::scene::anchor::{Anchor, instruction, position};

/// What the edits of one option are; None where they are nothing.
pub(super) fn told(test: &Test, edits: &[Edit]) -> Option<What> {
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
            is: by.trim_end_matches(';').to_owned(),
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
        _ => return None,
    })
}

/// The instruction with its new words and its old operands.
fn strengthened(test: &Test, edits: &[Edit], thread: ThreadId, span: Span) -> Option<String> {
    let changed = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &test.litmus)?;
    let at = position(&test.litmus, thread, span)?;
    let is = words(instruction(changed.threads.get(thread.index())?.body.get(at)?)?);
    let was = words(instruction(test.litmus.threads.get(thread.index())?.body.get(at)?)?);
    Some(test.instruction_text(span).replacen(&was, &is, 1))
}

fn words(found: &Instruction) -> String {
    let words = found.modifiers.iter().map(|word| word.node.as_str());
    [found.opcode.node.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(".")
}
