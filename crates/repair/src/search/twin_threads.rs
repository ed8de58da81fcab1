//! The same mistake in threads with the same text: what was told of one is what is tried first of the other, in its lines.

use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Statement;

use crate::edit::{Change, Edit};
use crate::propose::same_text;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, instruction, position};

/// A cure, and the threads of the accesses that it is for.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) edits: Vec<Edit>,
    pub(crate) threads: (ThreadId, ThreadId),
}

/// What was found for the accesses of threads that differ from these in one that has the same text.
pub(crate) fn all(scene: &Scene<'_>, pair: (EventId, EventId), known: &[Known]) -> Vec<Vec<Edit>> {
    let (Some(one), Some(other)) = (scene.thread(pair.0), scene.thread(pair.1)) else { return Vec::new() };
    let mut found: Vec<Vec<Edit>> = Vec::new();
    for cure in known {
        let (first, second) = cure.threads;
        let twin = match () {
            () if (first, second) == (one, other) || (second, first) == (one, other) => None,
            () if first == second && one == other => Some((first, one)),
            () if first == one => Some((second, other)),
            () if first == other => Some((second, one)),
            () if second == one => Some((first, other)),
            () if second == other => Some((first, one)),
            () => None,
        };
        let twin = twin.filter(|(of, own)| same_text::is_alike(scene, *of, *own));
        let edits = twin.and_then(|twin| cure.edits.iter().map(|edit| mirrored(scene, edit, twin)).collect());
        found.extend(edits.filter(|edits| !found.contains(edits)));
    }
    found
}

fn body<'s>(scene: &'s Scene<'_>, thread: ThreadId) -> &'s [Statement] {
    scene.test.litmus.threads.get(thread.index()).map_or(&[], |own| own.body.as_slice())
}

/// The change in the other thread; None where it has no place there.
fn mirrored(scene: &Scene<'_>, edit: &Edit, (of, own): (ThreadId, ThreadId)) -> Option<Edit> {
    // What both take part in stays so: they change places.
    let span = |thread: ThreadId, span: Span| {
        let twin = match () {
            () if thread == of => own,
            () if thread == own => of,
            () => return Some((thread, span)),
        };
        let at = position(&scene.test.litmus, thread, span)?;
        Some((twin, instruction(body(scene, twin).get(at)?)?.span()))
    };
    let place = |anchor: &Anchor| {
        let (thread, span) = span(anchor.thread, anchor.span)?;
        Some(Anchor { thread, span, side: anchor.side })
    };
    let mut change = edit.change.clone();
    match &mut change {
        Change::Insert { at } => {
            for (anchor, _) in at.iter_mut() {
                *anchor = place(anchor)?;
            }
            if at.len() > 2 {
                at.sort_by_key(|(anchor, _)| anchor.thread);
            }
        }
        Change::Poll { at, .. } => *at = place(at)?,
        Change::Strengthen { thread, span: its, .. }
        | Change::Wait { thread, span: its, .. }
        | Change::Replace { thread, span: its, .. }
        | Change::Return { thread, span: its }
        | Change::Remove { thread, span: its } => (*thread, *its) = span(*thread, *its)?,
        Change::Move { span: its, to, .. } => {
            *its = span(to.thread, *its)?.1;
            *to = place(to)?;
        }
        // What is no thread's own is the same for both.
        Change::Count { .. } | Change::Declare { .. } => {}
        _ => return None,
    }
    Some(Edit { change, reason: told(scene, &edit.reason, (of, own)), ..edit.clone() })
}

/// The words of one thread in the lines of the other.
fn told(scene: &Scene<'_>, reason: &str, (of, own): (ThreadId, ThreadId)) -> String {
    let line = |span: Span| scene.test.source.position(span.start).line.to_string();
    let spans = |thread: ThreadId| {
        let all = body(scene, thread).iter().map(|it| instruction(it).map(|it| it.span()));
        all.collect::<Vec<_>>()
    };
    let both = spans(of).into_iter().zip(spans(own)).filter_map(|(one, other)| Some((line(one?), line(other?))));
    let lines: Vec<(String, String)> =
        both.flat_map(|(one, other)| [(one.clone(), other.clone()), (other, one)]).collect();
    let names = [(of, own), (own, of)].map(|(one, other)| (scene.thread_name(one), scene.thread_name(other)));
    let mut last = "";
    let mut words = Vec::new();
    for word in reason.split(' ') {
        let number: String = word.chars().take_while(char::is_ascii_digit).collect();
        let rest =
            |name: &str| word.strip_prefix(name).filter(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
        let named = names.iter().find_map(|(one, other)| rest(one).map(|rest| format!("{other}{rest}")));
        let moved = lines.iter().find(|(one, _)| *one == number).filter(|_| last.ends_with("line"));
        words.push(match (moved, named) {
            (Some((_, other)), _) => format!("{other}{}", &word[number.len()..]),
            (None, Some(named)) => named,
            (None, None) => word.to_owned(),
        });
        last = word;
    }
    words.join(" ")
}
