//! One mistake at several places: the same change in all threads with the same text, the parities of all waits of a thread.

use fencepost_program::ThreadId;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::Litmus;

use super::{Maker, Path};
use crate::edit::{Change, Edit};
use crate::fix::space::plain;
use crate::scene::anchor::{Anchor, instruction, position};

impl Maker<'_> {
    pub(super) fn together(&self, found: &mut Vec<Path>) {
        let alone = found.len();
        for class in alike(&self.test.litmus) {
            for at in 0..alone {
                found.extend(self.in_all(&found[at], &class));
            }
        }
        for thread in 0..self.test.litmus.threads.len() {
            let flips = |path: &&Path| match path.edits.as_slice() {
                [Edit { change: Change::Replace { thread: own, by, .. }, .. }] => {
                    own.index() == thread && by.contains("_wait.parity") && is_parity(self.test, path)
                }
                _ => false,
            };
            let own: Vec<(Edit, u32)> =
                found[..alone].iter().filter(flips).map(|it| (it.edits[0].clone(), it.cost)).collect();
            if own.len() > 1 {
                found.push(Path::new(own));
            }
        }
    }

    /// A change of the first of these threads in all of them.
    fn in_all(&self, path: &Path, class: &[ThreadId]) -> Option<Path> {
        let ([edit], [first, others @ ..]) = (path.edits.as_slice(), class) else { return None };
        let mut all = vec![(edit.clone(), path.cost)];
        for other in others {
            all.push((plain(mirrored(&self.test.litmus, &edit.change, (*first, *other))?), path.cost));
        }
        Some(Path::new(all))
    }
}

/// Threads with the same instructions, whatever their operands are, each class once.
pub(in crate::fix) fn alike(litmus: &Litmus) -> Vec<Vec<ThreadId>> {
    let words = |own: &Instruction| {
        let words = own.modifiers.iter().map(|word| word.node.as_str());
        [own.opcode.node.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(".")
    };
    let mut classes: Vec<(Vec<String>, Vec<ThreadId>)> = Vec::new();
    for (at, thread) in litmus.threads.iter().enumerate() {
        let text: Vec<String> = thread.body.iter().map(|it| instruction(it).map_or_else(String::new, words)).collect();
        match classes.iter_mut().find(|(known, _)| *known == text) {
            Some((_, members)) => members.push(ThreadId(at as u32)),
            None => classes.push((text, vec![ThreadId(at as u32)])),
        }
    }
    classes.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect()
}

/// Changes of one of these threads in all of them; None where nothing is added by that.
pub(in crate::fix) fn everywhere(litmus: &Litmus, edits: &[Edit], class: &[ThreadId]) -> Option<Vec<Edit>> {
    let mut all = edits.to_vec();
    for edit in edits {
        let in_others = |own: &ThreadId| {
            let others = class.iter().filter(|other| *other != own);
            others.map(|other| mirrored(litmus, &edit.change, (*own, *other)).map(plain)).collect::<Option<Vec<Edit>>>()
        };
        for other in class.iter().find_map(in_others).into_iter().flatten() {
            if !all.contains(&other) {
                all.push(other);
            }
        }
    }
    (all.len() > edits.len()).then_some(all)
}

/// Whether nothing but the parity is another.
fn is_parity(test: &fencepost_check::test::Test, path: &Path) -> bool {
    let [Edit { change: Change::Replace { span, by, .. }, .. }] = path.edits.as_slice() else { return false };
    let was = test.instruction_text(*span);
    let head = |text: &str| text.trim_end_matches(';').trim_end().trim_end_matches(['0', '1']).to_owned();
    head(&was) == head(by)
}

/// The change at the same place of another thread; None where it is not one of the first thread alone.
fn mirrored(litmus: &Litmus, change: &Change, (first, other): (ThreadId, ThreadId)) -> Option<Change> {
    let span = |thread: ThreadId, span: Span| {
        let at = position(litmus, thread, span).filter(|_| thread == first)?;
        Some(instruction(litmus.threads.get(other.index())?.body.get(at)?)?.span())
    };
    let place = |anchor: &Anchor| Some(Anchor { thread: other, span: span(anchor.thread, anchor.span)?, ..*anchor });
    Some(match change {
        Change::Insert { at } => {
            let at = at.iter().map(|(anchor, text)| Some((place(anchor)?, text.clone())));
            Change::Insert { at: at.collect::<Option<Vec<_>>>()? }
        }
        Change::Poll { at, wait, label, polled } => {
            Change::Poll { at: place(at)?, wait: wait.clone(), label: label.clone(), polled: *polled }
        }
        Change::Strengthen { thread, span: own, semantics, scope } => {
            Change::Strengthen { thread: other, span: span(*thread, *own)?, semantics: *semantics, scope: *scope }
        }
        Change::Remove { thread, span: own } => Change::Remove { thread: other, span: span(*thread, *own)? },
        Change::Replace { thread, span: own, by } => {
            Change::Replace { thread: other, span: span(*thread, *own)?, by: by.clone() }
        }
        Change::Move { span: own, to, what } => {
            Change::Move { span: span(to.thread, *own)?, to: place(to)?, what: *what }
        }
        _ => return None,
    })
}
