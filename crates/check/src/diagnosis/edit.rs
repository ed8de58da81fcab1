//! A piece that may be missing, as a change of the test's tree: an instruction that is put in, one that is moved, one
//! with stronger words. Trees are changed and not programs, because the tables then decide what the changed text means.

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue, Litmus, Statement, parse_named};
use fencepost_syntax::{Span, Spanned};

use crate::report::Missing;

use super::anchor::{Anchor, Side, position};
use super::scene::Scene;
use super::slots::settled;

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
    /// An entry of the declarations: an order of kernels.
    Declare {
        text: String,
    },
    /// Instructions at the end of threads, which may have no others.
    Append {
        to: Vec<ThreadId>,
        text: String,
    },
    /// A loop that waits for a phase of an mbarrier: the wait, and the label it is known by.
    Poll {
        at: Anchor,
        wait: String,
        label: String,
        polled: Polled,
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
    /// A `red` becomes an `atom`.
    Return {
        thread: ThreadId,
        span: Span,
    },
    /// The instruction goes to another place of its thread.
    Move {
        span: Span,
        to: Anchor,
        what: Moved,
    },
    /// An mbarrier waits for more arrivals: where its count stands, in its declaration or in what initialises it.
    Count {
        name: String,
        by: i128,
        inits: Vec<(ThreadId, Span)>,
    },
    /// The instruction is another thread's to execute.
    Hand {
        thread: ThreadId,
        span: Span,
        to: Anchor,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Semantics {
    Release,
    Acquire,
    /// Strong, and no more.
    Relaxed,
}

/// Whether a wait that is put in waits for more than the thread was to wait for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Polled {
    Once,
    /// The thread has just waited on the same mbarrier and not used what it waited for: it would wait for what comes after.
    Again,
}

/// What is moved: an author moves an access less gladly.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Moved {
    Synchronisation,
    Access,
}

/// Whether a wait covers more than the reads of its groups.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Whole {
    AsIs,
    /// `.read` goes.
    Everything,
}

const SEMANTICS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "volatile"];
pub(super) const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

impl Edit {
    /// The size of a change of one word.
    pub(super) const WORD: u32 = 2;

    pub(super) fn insert(anchor: Anchor, text: &str, reason: String, section: &'static str, cost: u32) -> Edit {
        Edit { change: Change::Insert { at: vec![(anchor, format!("{text};"))] }, reason, section, cost }
    }

    /// How much of the text changes: a word, an instruction that goes elsewhere, one that comes, several. Of two cures the
    /// smaller one is told.
    pub(super) fn size(&self) -> u32 {
        match &self.change {
            Change::Strengthen { semantics: Some(_), scope: Some(_), .. } | Change::Replace { .. } => 3,
            Change::Strengthen { .. } | Change::Wait { .. } | Change::Return { .. } | Change::Count { .. } => 2,
            Change::Move { what: Moved::Synchronisation, .. } => 4,
            Change::Hand { .. } => 5,
            Change::Move { what: Moved::Access, .. } => 11,
            Change::Insert { at } => {
                let instructions = at.first().map_or(0, |(_, text)| text.matches(';').count() as u32);
                // In two threads it is more than twice as much to understand.
                if at.len() == 1 { 4 + 2 * instructions } else { 6 + 4 * instructions }
            }
            Change::Poll { polled: Polled::Once, .. } => 7,
            Change::Poll { polled: Polled::Again, .. } => 12,
            Change::Declare { .. } => 6,
            Change::Append { to, .. } => 6 * to.len() as u32,
        }
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
            Change::Declare { .. } => None,
            Change::Append { to, .. } => to.first().map(|thread| (*thread, last(scene, *thread))),
            Change::Poll { at, .. } => Some((at.thread, at.span)),
            Change::Strengthen { thread, span, .. }
            | Change::Wait { thread, span, .. }
            | Change::Replace { thread, span, .. }
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

    fn words(&self, scene: &Scene<'_>) -> String {
        let line = |span: &Span| scene.test.source.position(span.start).line;
        let text = |span: &Span| scene.test.instruction_text(*span).trim_end_matches(';').trim().to_owned();
        match &self.change {
            Change::Insert { at } => inserted(scene, at),
            Change::Declare { text } => format!("`{text}` in the declarations"),
            Change::Append { to, text } => appended(scene, to, text),
            Change::Poll { at, wait, .. } => {
                format!("a loop around `{}` {}", wait.replace('\n', " "), scene.place_words(at))
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
            Change::Return { thread, span } => {
                format!("`atom` instead of {}'s `{}` (line {})", scene.thread_name(*thread), text(span), line(span))
            }
            Change::Move { span, to, .. } => {
                let name = scene.thread_name(to.thread);
                let side = if to.side == Side::After { "behind" } else { "before" };
                let place = if line(span) == line(&to.span) {
                    format!("`{}` of the same line", text(&to.span))
                } else {
                    format!("line {}", line(&to.span))
                };
                format!("{name}'s `{}` (line {}) belongs {side} {place}", text(span), line(span))
            }
            Change::Hand { thread, span, to } => {
                let (name, other) = (scene.thread_name(*thread), scene.thread_name(to.thread));
                let (what, from, behind) = (text(span), line(span), line(&to.span));
                format!("{name}'s `{what}` (line {from}) belongs into {other} behind line {behind}")
            }
            Change::Count { name, by, inits } => {
                let place = inits.first().map_or(String::new(), |(_, span)| format!(" in line {}", line(span)));
                let count = counted(scene, name, inits).unwrap_or_default() + by;
                format!("an initial count of {count} for the mbarrier {name}{place}")
            }
        }
    }
}

/// "`bar.sync 0` in P0 between lines 4 and 5 and in P1 before line 9".
fn inserted(scene: &Scene<'_>, at: &[(Anchor, String)]) -> String {
    let what = at.first().map_or("", |(_, what)| what.trim_end_matches(';'));
    let places: Vec<String> = at.iter().map(|(anchor, _)| scene.place_words(anchor)).collect();
    format!("`{}` {}", what.replace('\n', " "), places.join(" and "))
}

fn appended(scene: &Scene<'_>, to: &[ThreadId], text: &str) -> String {
    let names: Vec<&str> = to.iter().map(|thread| scene.thread_name(*thread)).collect();
    let names = crate::phrase::listed(&names);
    match text.split_once(": ").and_then(|(_, rest)| rest.split_once(';')) {
        Some((wait, _)) => format!("a loop around `{wait}` at the end of {names}"),
        None => format!("`{}` at the end of {names}", text.trim_end_matches(';').replace('\n', " ")),
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
    /// Put at the end of threads.
    behind: Vec<(usize, Vec<Statement>)>,
}

impl Work {
    fn new(litmus: &Litmus) -> Work {
        let around = litmus.threads.iter().map(|thread| vec![Default::default(); thread.body.len()]).collect();
        Work { litmus: litmus.clone(), around, gone: Vec::new(), behind: Vec::new() }
    }

    fn apply(&mut self, change: &Change) -> Option<()> {
        match change {
            Change::Insert { at } => {
                for (anchor, text) in at {
                    self.put(anchor, parsed(text)?)?;
                }
            }
            Change::Declare { text } => self.litmus.declarations.extend(declared(text)?),
            Change::Append { to, text } => {
                for thread in to {
                    self.behind.push((thread.index(), parsed(text)?));
                }
            }
            Change::Poll { at, wait, label, .. } => {
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
            Change::Return { thread, span } => {
                let instruction = self.instruction(*thread, *span)?;
                instruction.opcode.node = "atom".to_owned();
                let here = instruction.opcode.span;
                instruction.operands.insert(0, Spanned::new(Operand::Register("%returned".to_owned()), here));
            }
            Change::Move { span, to, .. } => {
                let at = position(&self.litmus, to.thread, *span)?;
                let moved = self.litmus.threads.get(to.thread.index())?.body.get(at)?.clone();
                self.gone.push((to.thread.index(), at));
                self.put(to, vec![moved])?;
            }
            Change::Hand { thread, span, to } => {
                let at = position(&self.litmus, *thread, *span)?;
                let handed = self.litmus.threads.get(thread.index())?.body.get(at)?.clone();
                self.gone.push((thread.index(), at));
                self.put(to, vec![handed])?;
            }
            Change::Count { name, by, inits } if inits.is_empty() => *count_of(&mut self.litmus, name)? += by,
            Change::Count { by, inits, .. } => {
                for (thread, span) in inits {
                    *initial(self.instruction(*thread, *span)?)? += by;
                }
            }
        }
        Some(())
    }

    fn instruction(&mut self, thread: ThreadId, span: Span) -> Option<&mut Instruction> {
        let at = position(&self.litmus, thread, span)?;
        match self.litmus.threads.get_mut(thread.index())?.body.get_mut(at)? {
            Statement::Instruction { instruction, .. } => Some(instruction),
            Statement::Label(_) | Statement::C(_) => None,
        }
    }

    fn put(&mut self, anchor: &Anchor, statements: Vec<Statement>) -> Option<()> {
        let (at, side) = settled(&self.litmus, anchor)?;
        let (before, after) = self.around.get_mut(anchor.thread.index())?.get_mut(at)?;
        match side {
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
            let end = body.len() - usize::from(body.last().is_some_and(leaves));
            let own = self.behind.iter().filter(|(own, _)| *own == thread);
            let put: Vec<Statement> = own.flat_map(|(_, statements)| statements.clone()).collect();
            body.splice(end..end, put);
        }
        litmus
    }
}

/// The number of arrivals that an `mbarrier.init` gives.
fn initial(instruction: &mut Instruction) -> Option<&mut i128> {
    match &mut instruction.operands.last_mut()?.node {
        Operand::Integer(count) => Some(count),
        _ => None,
    }
}

/// The number of arrivals that an mbarrier is declared with; those of an array are all alike.
fn count_of<'l>(litmus: &'l mut Litmus, name: &str) -> Option<&'l mut i128> {
    let name = name.split(['[', '+']).next().unwrap_or(name);
    for declaration in &mut litmus.declarations {
        if let Declaration::Location { name: own, value: Some(value), .. } = &mut declaration.node
            && own.node == name
            && let InitialValue::Integer(count) = &mut value.node
        {
            return Some(count);
        }
    }
    None
}

pub(super) fn counted(scene: &Scene<'_>, name: &str, inits: &[(ThreadId, Span)]) -> Option<i128> {
    let mut work = Work::new(&scene.test.litmus);
    match inits.first() {
        Some((thread, span)) => initial(work.instruction(*thread, *span)?).copied(),
        None => count_of(&mut work.litmus, name).copied(),
    }
}

/// Whether nothing behind this statement is executed.
fn leaves(statement: &Statement) -> bool {
    matches!(statement, Statement::Instruction { instruction, .. }
        if instruction.guard.is_none() && matches!(instruction.opcode.node.as_str(), "ret" | "exit"))
}

/// The last instruction of a thread.
fn last(scene: &Scene<'_>, thread: ThreadId) -> Span {
    let body = scene.test.litmus.threads.get(thread.index()).map(|thread| &thread.body);
    let mut spans = body.into_iter().flatten().filter_map(super::anchor::instruction).map(Instruction::span);
    spans.next_back().unwrap_or_default()
}

/// The declarations of a text.
fn declared(text: &str) -> Option<Vec<Spanned<Declaration>>> {
    let whole = format!("PTX piece\n{{ {text}; }}\nP0@cta 0, kernel 0 {{\n}}\nexists (true)\n");
    let (mut trees, _) = parse_named("piece", &whole);
    trees.pop().map(|tree| tree.declarations).filter(|found| !found.is_empty())
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
    let at = semantics_position(instruction)?;
    let here = instruction.opcode.span;
    let is = |word: &Spanned<String>, words: &[&str]| words.contains(&word.node.as_str());
    // A cluster barrier has no scope, and its level is spelled like one.
    let scope = scope.filter(|_| instruction.opcode.node != "barrier").map(scope_word);
    let (head, tail) = instruction.modifiers.split_at(at);
    let old = tail.iter().find(|word| is(word, SEMANTICS)).map(|word| word.node.as_str());
    let word = match (semantics.map(semantics_word), old) {
        (Some("release"), Some("acquire" | "acq_rel")) | (Some("acquire"), Some("release" | "acq_rel")) => {
            Some("acq_rel")
        }
        (Some(word), _) => Some(word),
        (None, old) => old,
    };
    let own = tail.iter().find(|word| is(word, SCOPES)).map(|word| word.node.as_str());
    let scope = scope.or(own.filter(|_| instruction.opcode.node != "barrier"));
    let put = word.into_iter().chain(scope).map(|word| Spanned::new(word.to_owned(), here));
    let kept = |word: &&Spanned<String>| !is(word, SEMANTICS) && (scope.is_none() || !is(word, SCOPES));
    instruction.modifiers = head.iter().cloned().chain(put).chain(tail.iter().filter(kept).cloned()).collect();
    Some(())
}

/// Behind which modifiers semantics and scope stand; None for an instruction that has none.
fn semantics_position(instruction: &Instruction) -> Option<usize> {
    let position = |head: &str| instruction.modifiers.iter().position(|word| word.node == head);
    match instruction.opcode.node.as_str() {
        "ld" | "st" | "atom" | "red" | "fence" => Some(0),
        // `expect_tx` and `complete_tx` alone are always relaxed.
        "mbarrier" => {
            let arrives = position("arrive").or(position("arrive_drop"));
            let arrives = arrives.map(|at| position("expect_tx").map_or(at, |bytes| at.max(bytes)));
            let waits = position("try_wait").or(position("test_wait"));
            let waits = waits.map(|at| position("parity").map_or(at, |parity| at.max(parity)));
            arrives.or(waits).map(|at| at + 1)
        }
        "barrier" => position("arrive").or(position("wait")).map(|at| at + 1),
        _ => None,
    }
}
