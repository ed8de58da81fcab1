//! What an edit is as a missing piece: where it belongs, and the section of the ISA.

use fencepost_program::ThreadId;
use fencepost_report::piece::{self, Piece};
use fencepost_report::reason::Reason;
use fencepost_report::{Missing, TextEdit};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use crate::edit::apply::{Work, counted};
use crate::edit::text;
use crate::edit::{Change, Edit, End, Semantics};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, position};
use crate::scene::site::{self, number};

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
        let groups: Vec<Vec<&Edit>> = told
            .map(|edit| match both(edit, Semantics::Release, Semantics::Acquire) {
                true => {
                    let other = |other: &&Edit| half(other, Semantics::Acquire) == half(edit, Semantics::Release);
                    [edit].into_iter().chain(edits.iter().filter(other)).collect()
                }
                false => vec![edit],
            })
            .collect();
        let texts = text::of_groups(&groups, &scene.test.litmus, &scene.test.source);
        let texts = texts.unwrap_or_else(|| vec![Vec::new(); groups.len()]);
        let one = |(group, edits): (&Vec<&Edit>, Vec<TextEdit>)| {
            let mut missing = group.first()?.missing(scene);
            if let (Piece::Strengthened { semantics, .. }, true) = (&mut missing.what, group.len() > 1) {
                *semantics = Some(piece::Semantics::AcqRel);
            }
            Some(Missing { edits, ..missing })
        };
        groups.iter().zip(texts).filter_map(one).collect()
    }

    /// The reasons of all pieces, each once.
    pub(crate) fn reasons(edits: &[Edit]) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        for reason in edits.iter().filter_map(|edit| edit.reason.as_ref()) {
            if !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        reasons
    }

    fn missing(&self, scene: &Scene<'_>) -> Missing {
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
            | Change::Reword { thread, span, .. }
            | Change::Remove { thread, span }
            | Change::Return { thread, span } => Some((*thread, *span)),
            Change::Move { span, to, .. } => Some((to.thread, *span)),
            Change::Hand { to, .. } => Some((to.thread, to.span)),
            Change::Count { inits, .. } => inits.first().copied(),
        }
        .map_or((String::new(), 0), |(thread, span)| {
            (scene.thread_name(thread).to_owned(), scene.test.source.position(span.start).line)
        });
        Missing {
            text: String::new(),
            what: self.piece(scene),
            thread,
            line,
            section: self.section.to_owned(),
            edits: Vec::new(),
        }
    }

    fn piece(&self, scene: &Scene<'_>) -> Piece {
        match &self.change {
            Change::Insert { at } => inserted(scene, at),
            Change::Declare { text } => Piece::Declared { text: text.clone() },
            Change::Append { to, end, text } => appended(scene, to, *end, text),
            Change::Poll { at, wait, .. } => Piece::Loop { wait: one_line(wait), place: scene.spot(at) },
            Change::Alternate(alternate) => alternate.piece(scene),
            Change::Again(again) => again.piece(scene),
            Change::Start { thread, register, value } => Piece::Started {
                thread: scene.thread_name(*thread).to_owned(),
                register: register.clone(),
                value: number(*value),
            },
            Change::Remove { thread, span } => Piece::Removed { at: scene.site_at(*thread, *span) },
            Change::Strengthen { thread, span, semantics, scope } => {
                let at = scene.site_at(*thread, *span);
                let semantics = semantics.map(|semantics| whole_word(semantics, &at.text));
                Piece::Strengthened { at, semantics, scope: scope.map(site::scope) }
            }
            Change::Wait { thread, span, .. } => {
                let by = changed(scene, self, *thread, *span).unwrap_or_default();
                Piece::WaitReplaced { at: scene.site_at(*thread, *span), by }
            }
            Change::Replace { thread, span, by } => {
                let by = one_line(by.trim_end_matches(';'));
                Piece::Replaced { at: scene.site_at(*thread, *span), by }
            }
            Change::Reword { thread, span, .. } => {
                let by = changed(scene, self, *thread, *span).unwrap_or_default();
                Piece::Replaced { at: scene.site_at(*thread, *span), by }
            }
            Change::Return { thread, span } => Piece::Returning { at: scene.site_at(*thread, *span) },
            Change::Move { span, to, .. } => Piece::Moved {
                at: scene.site_at(to.thread, *span),
                side: side(to.side),
                to: scene.site_at(to.thread, to.span),
            },
            Change::Hand { thread, span, to } => {
                Piece::Handed { at: scene.site_at(*thread, *span), behind: scene.site_at(to.thread, to.span) }
            }
            Change::Count { name, by, inits } => counted_piece(scene, name, *by, inits),
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

pub(crate) fn side(side: Side) -> piece::Side {
    match side {
        Side::Before => piece::Side::Before,
        Side::After => piece::Side::Behind,
    }
}

fn counted_piece(scene: &Scene<'_>, name: &str, by: i128, inits: &[(ThreadId, Span)]) -> Piece {
    let line = inits.first().map(|(_, span)| scene.test.source.position(span.start).line);
    let count = number(counted(scene, name, inits).unwrap_or_default() + by);
    // All of an array are declared with one count.
    let name = if inits.is_empty() { name.split('[').next().unwrap_or(name) } else { name };
    Piece::Counted { mbarrier: name.to_owned(), count, line }
}

fn inserted(scene: &Scene<'_>, at: &[(Anchor, String)]) -> Piece {
    let text = one_line(at.first().map_or("", |(_, what)| what.trim_end_matches(';')));
    Piece::Inserted { text, places: at.iter().map(|(anchor, _)| scene.spot(anchor)).collect() }
}

fn appended(scene: &Scene<'_>, to: &[ThreadId], end: End, text: &str) -> Piece {
    let threads = to.iter().map(|thread| scene.thread_name(*thread).to_owned()).collect();
    let end = match end {
        End::First => piece::End::Beginning,
        End::Last => piece::End::End,
    };
    // A label: the rest is the wait and the branch back.
    match text.split_once(": ").and_then(|(_, rest)| rest.split_once(';')) {
        Some((wait, _)) => Piece::LoopAppended { wait: wait.to_owned(), end, threads },
        None => Piece::Appended { text: one_line(text.trim_end_matches(';')), end, threads },
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
    let mut text = instruction.opcode.node.to_string();
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
fn whole_word(semantics: Semantics, text: &str) -> piece::Semantics {
    let has = |word: &str| text.split([' ', '.']).any(|own| own == word);
    match semantics {
        Semantics::Release if has("acquire") => piece::Semantics::AcqRel,
        Semantics::Acquire if has("release") => piece::Semantics::AcqRel,
        Semantics::Release => piece::Semantics::Release,
        Semantics::Acquire => piece::Semantics::Acquire,
        Semantics::Relaxed => piece::Semantics::Relaxed,
    }
}

/// The first or the last instruction of a thread.
fn outermost(scene: &Scene<'_>, thread: ThreadId, end: End) -> Span {
    let mut spans = scene.body(thread).iter().filter_map(crate::scene::anchor::instruction).map(Instruction::span);
    match end {
        End::First => spans.next(),
        End::Last => spans.next_back(),
    }
    .unwrap_or_default()
}
