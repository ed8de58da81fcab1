//! A piece that may be missing, as a change of the test's tree: an instruction that is put in, one that is moved, one
//! with stronger words. Trees are changed and not programs, because the tables then decide what the changed text means.

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Litmus, Statement, parse_named};
use fencepost_syntax::{Span, Spanned};

use crate::report::Missing;

use super::anchor::{Anchor, Side, position};
use super::scene::Scene;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edit {
    pub(super) change: Change,
    /// Why it is needed: half a sentence.
    pub(super) reason: String,
    /// Of the PTX ISA.
    pub(super) section: &'static str,
    pub(super) cost: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// Instructions, each with its semicolon.
    Insert {
        at: Vec<(Anchor, String)>,
    },
    /// A loop that waits for a phase of an mbarrier: the wait, and the label it is known by.
    Poll {
        at: Anchor,
        wait: String,
        label: String,
    },
    /// Other semantics or a wider scope.
    Strengthen {
        thread: ThreadId,
        span: Span,
        semantics: Option<Semantics>,
        scope: Option<Scope>,
    },
    /// Another count of groups, or all of their accesses.
    Wait {
        thread: ThreadId,
        span: Span,
        newest: i128,
        whole: Whole,
    },
    Replace {
        thread: ThreadId,
        span: Span,
        by: String,
    },
    /// The instruction goes behind another of its thread.
    Move {
        thread: ThreadId,
        span: Span,
        behind: Span,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Semantics {
    Release,
    Acquire,
    /// Strong, and no more.
    Relaxed,
}

/// Whether a wait covers more than the reads of its groups.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Whole {
    AsIs,
    /// `.read` goes.
    Everything,
}

const SEMANTICS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "volatile"];
const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

impl Edit {
    pub(super) fn insert(anchor: Anchor, text: &str, reason: String, section: &'static str, cost: u32) -> Edit {
        Edit { change: Change::Insert { at: vec![(anchor, format!("{text};"))] }, reason, section, cost }
    }

    /// The tree with these changes; None where one does not apply.
    pub(super) fn apply_all(edits: &[&Edit], litmus: &Litmus) -> Option<Litmus> {
        let mut work = Work::new(litmus);
        for edit in edits {
            work.apply(&edit.change)?;
        }
        Some(work.finish())
    }

    pub(super) fn missing(&self, scene: &Scene<'_>) -> Missing {
        let (thread, line) = match &self.change {
            Change::Insert { at } => at.first().map(|(anchor, _)| (anchor.thread, anchor.span)),
            Change::Poll { at, .. } => Some((at.thread, at.span)),
            Change::Strengthen { thread, span, .. }
            | Change::Wait { thread, span, .. }
            | Change::Replace { thread, span, .. }
            | Change::Move { thread, span, .. } => Some((*thread, *span)),
        }
        .map_or((String::new(), 0), |(thread, span)| {
            (scene.thread_name(thread).to_owned(), scene.test.source.position(span.start).line)
        });
        Missing { text: self.words(scene), thread, line, section: self.section.to_owned() }
    }

    fn words(&self, scene: &Scene<'_>) -> String {
        let line = |span: &Span| scene.test.source.position(span.start).line;
        let text = |span: &Span| scene.test.instruction_text(*span).trim_end_matches(';').trim().to_owned();
        match &self.change {
            Change::Insert { at } => {
                let place = |(anchor, _): &(Anchor, String)| scene.place_words(anchor);
                let what = at.first().map_or("", |(_, what)| what.trim_end_matches(';'));
                let places: Vec<String> = at.iter().map(place).collect();
                format!("`{}` {}", what.replace('\n', " "), places.join(" and "))
            }
            Change::Poll { at, wait, .. } => {
                format!("a loop around `{wait}` {}", scene.place_words(at))
            }
            Change::Strengthen { thread, span, semantics, scope } => {
                let words: Vec<String> = semantics
                    .map(semantics_word)
                    .into_iter()
                    .chain(scope.map(scope_word))
                    .map(|word| format!(".{word}"))
                    .collect();
                let name = scene.thread_name(*thread);
                format!("`{}` on {name}'s `{}` (line {})", words.concat(), text(span), line(span))
            }
            Change::Wait { thread, span, .. } => {
                let by = changed(scene, self, *thread, *span).unwrap_or_default();
                format!("`{by}` in {} instead of line {}", scene.thread_name(*thread), line(span))
            }
            Change::Replace { thread, span, by } => {
                let by = by.trim_end_matches(';');
                format!("`{by}` in {} instead of `{}` (line {})", scene.thread_name(*thread), text(span), line(span))
            }
            Change::Move { thread, span, behind } => {
                let name = scene.thread_name(*thread);
                format!("{name}'s `{}` (line {}) belongs behind line {}", text(span), line(span), line(behind))
            }
        }
    }
}

/// What the instruction reads like after the change.
fn changed(scene: &Scene<'_>, edit: &Edit, thread: ThreadId, span: Span) -> Option<String> {
    let mut work = Work::new(&scene.test.litmus);
    let at = position(&work.litmus, thread, span)?;
    work.apply(&edit.change)?;
    match work.litmus.threads.get(thread.index())?.body.get(at)? {
        Statement::Instruction { instruction, .. } => Some(spelled(instruction)),
        Statement::Label(_) => None,
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

pub(super) fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

fn semantics_word(semantics: Semantics) -> &'static str {
    match semantics {
        Semantics::Release => "release",
        Semantics::Acquire => "acquire",
        Semantics::Relaxed => "relaxed",
    }
}

/// A tree under change. Statements that are put in are kept aside until the end, so that positions stay.
struct Work {
    litmus: Litmus,
    /// Per thread and statement: what comes before it, and what behind it.
    around: Vec<Vec<(Vec<Statement>, Vec<Statement>)>>,
    /// Moved away.
    gone: Vec<(usize, usize)>,
}

impl Work {
    fn new(litmus: &Litmus) -> Work {
        let around = litmus.threads.iter().map(|thread| vec![Default::default(); thread.body.len()]).collect();
        Work { litmus: litmus.clone(), around, gone: Vec::new() }
    }

    fn apply(&mut self, change: &Change) -> Option<()> {
        match change {
            Change::Insert { at } => {
                for (anchor, text) in at {
                    self.put(anchor, parsed(text)?)?;
                }
            }
            Change::Poll { at, wait, label } => {
                self.put(at, parsed(&format!("{label}: {wait};\n@!%waited bra {label};"))?)?;
            }
            Change::Strengthen { thread, span, semantics, scope } => {
                strengthen(self.instruction(*thread, *span)?, *semantics, *scope)?;
            }
            Change::Wait { thread, span, newest, whole } => {
                let instruction = self.instruction(*thread, *span)?;
                let count = instruction.operands.last_mut()?;
                count.node = Operand::Integer(*newest);
                if *whole == Whole::Everything {
                    instruction.modifiers.retain(|word| word.node != "read");
                }
            }
            Change::Replace { thread, span, by } => {
                let at = position(&self.litmus, *thread, *span)?;
                let statements = parsed(by)?;
                self.gone.push((thread.index(), at));
                self.around.get_mut(thread.index())?.get_mut(at)?.0.extend(statements);
            }
            Change::Move { thread, span, behind } => {
                let at = position(&self.litmus, *thread, *span)?;
                let moved = self.litmus.threads.get(thread.index())?.body.get(at)?.clone();
                self.gone.push((thread.index(), at));
                self.put(&Anchor { thread: *thread, span: *behind, side: Side::After }, vec![moved])?;
            }
        }
        Some(())
    }

    fn instruction(&mut self, thread: ThreadId, span: Span) -> Option<&mut Instruction> {
        let at = position(&self.litmus, thread, span)?;
        match self.litmus.threads.get_mut(thread.index())?.body.get_mut(at)? {
            Statement::Instruction { instruction, .. } => Some(instruction),
            Statement::Label(_) => None,
        }
    }

    fn put(&mut self, anchor: &Anchor, statements: Vec<Statement>) -> Option<()> {
        let at = position(&self.litmus, anchor.thread, anchor.span)?;
        let (before, after) = self.around.get_mut(anchor.thread.index())?.get_mut(at)?;
        match anchor.side {
            Side::Before => before.extend(statements),
            Side::After => after.extend(statements),
        }
        Some(())
    }

    fn finish(self) -> Litmus {
        let mut litmus = self.litmus;
        for (thread, (body, around)) in
            litmus.threads.iter_mut().map(|thread| &mut thread.body).zip(self.around).enumerate()
        {
            let old = std::mem::take(body);
            for (at, (statement, (before, after))) in old.into_iter().zip(around).enumerate() {
                body.extend(before);
                if !self.gone.contains(&(thread, at)) {
                    body.push(statement);
                }
                body.extend(after);
            }
        }
        litmus
    }
}

/// The statements of a text, as a thread would have them.
fn parsed(text: &str) -> Option<Vec<Statement>> {
    let whole = format!("PTX piece\n{{ }}\nP0@cta 0 {{\n{text}\n}}\nexists (true)\n");
    let (mut trees, _) = parse_named("piece", &whole);
    let mut body = trees.pop()?.threads.into_iter().next()?.body;
    if body.is_empty() {
        return None;
    }
    for statement in &mut body {
        if let Statement::Instruction { instruction, .. } = statement {
            blank(instruction);
        }
    }
    Some(body)
}

/// A piece stands nowhere in the test's text.
fn blank(instruction: &mut Instruction) {
    instruction.opcode.span = Span::default();
    instruction.modifiers.iter_mut().for_each(|word| word.span = Span::default());
    instruction.operands.iter_mut().for_each(|operand| operand.span = Span::default());
    if let Some(guard) = &mut instruction.guard {
        guard.register.span = Span::default();
    }
}

/// None where the instruction has no such form.
fn strengthen(instruction: &mut Instruction, semantics: Option<Semantics>, scope: Option<Scope>) -> Option<()> {
    let has = |instruction: &Instruction, word: &str| instruction.modifiers.iter().any(|found| found.node == word);
    if has(instruction, "expect_tx") && !has(instruction, "arrive") || has(instruction, "complete_tx") {
        return None;
    }
    let here = instruction.opcode.span;
    let at = match instruction.opcode.node.as_str() {
        "mbarrier" | "barrier" => {
            let heads = ["arrive", "expect_tx", "try_wait", "test_wait", "parity", "cluster", "wait", "arrive_drop"];
            // The scope of an mbarrier operation is spelled like the level of a cluster barrier.
            let heads = heads.iter().filter(|word| instruction.opcode.node == "barrier" || **word != "cluster");
            heads.filter_map(|head| instruction.modifiers.iter().position(|word| word.node == *head)).max()? + 1
        }
        "ld" | "st" | "atom" | "red" | "fence" => 0,
        _ => return None,
    };
    let mut word = semantics.map(semantics_word);
    let old = instruction.modifiers.iter().find(|word| SEMANTICS.contains(&word.node.as_str()));
    let old = old.map(|word| word.node.clone());
    if let Some(old) = &old
        && matches!(
            (old.as_str(), word),
            ("acquire" | "acq_rel", Some("release")) | ("release" | "acq_rel", Some("acquire"))
        )
    {
        word = Some("acq_rel");
    }
    let is_barrier = instruction.opcode.node == "barrier";
    let (head, mut tail) = (instruction.modifiers[..at].to_vec(), instruction.modifiers[at..].to_vec());
    let mut head: Vec<Spanned<String>> = head;
    if word.is_some() {
        tail.retain(|word| !SEMANTICS.contains(&word.node.as_str()));
    } else if scope.is_some() && !is_barrier {
        // A scope stands behind the semantics; what has none by default gets its own.
        let default = match instruction.opcode.node.as_str() {
            "mbarrier" if has(instruction, "arrive") || has(instruction, "arrive_drop") => Some("release"),
            "mbarrier" => Some("acquire"),
            _ => None,
        };
        word = old.as_deref().map_or(default, |_| None);
    }
    if scope.is_some() && !is_barrier {
        tail.retain(|word| !SCOPES.contains(&word.node.as_str()));
    }
    head.extend(word.map(|word| Spanned::new(word.to_owned(), here)));
    let scope = scope.filter(|_| !is_barrier).map(|scope| Spanned::new(scope_word(scope).to_owned(), here));
    // Behind the semantics that stay.
    let kept = tail.iter().take_while(|word| SEMANTICS.contains(&word.node.as_str())).count();
    let rest = tail.split_off(kept);
    head.extend(tail);
    head.extend(scope);
    head.extend(rest);
    instruction.modifiers = head;
    Some(())
}
