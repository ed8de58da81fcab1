//! A test's tree under change. Trees are changed and not programs, because the tables then decide what the changed text
//! means.

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue, Litmus, Statement, parse_named};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Span, Spanned};

use crate::edit::{Change, Edit, End, SCOPES, Semantics, Whole, scope_word, semantics_word};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, position};
use crate::scene::slots::{Unit, UnitKind, settled, units};

pub(crate) const SEMANTICS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile"];

/// How a weak access uses the caches; a strong one has no such word (PTX ISA, `ld` and `st`).
const CACHING: &[&str] = &["ca", "cg", "cs", "lu", "cv", "wb", "wt"];

/// A tree under change. Statements that are put in are kept aside until the end, so that positions stay.
pub(crate) struct Work {
    pub(crate) litmus: Litmus,
    /// Per thread and statement: what comes before it, and what behind it.
    around: Vec<Vec<(Vec<Statement>, Vec<Statement>)>>,
    /// Moved away.
    gone: Vec<(usize, usize)>,
    /// Put at the end of threads.
    behind: Vec<(usize, Vec<Statement>)>,
    /// The same, at the beginning of threads.
    before: Vec<(usize, Vec<Statement>)>,
}

impl Work {
    pub(crate) fn new(litmus: &Litmus) -> Work {
        let around = litmus.threads.iter().map(|thread| vec![Default::default(); thread.body.len()]).collect();
        Work { litmus: litmus.clone(), around, gone: Vec::new(), behind: Vec::new(), before: Vec::new() }
    }

    pub(crate) fn apply(&mut self, change: &Change) -> Option<()> {
        match change {
            Change::Insert { at } => {
                for (anchor, text) in at {
                    self.put(anchor, parsed(text)?)?;
                }
            }
            Change::Declare { text } => self.litmus.declarations.extend(declared(text)?),
            Change::Append { to, end, text } => {
                let ends = if *end == End::First { &mut self.before } else { &mut self.behind };
                for thread in to {
                    ends.push((thread.index(), parsed(text)?));
                }
            }
            Change::Poll { at, wait, label, .. } => {
                self.put(at, parsed(&format!("{label}: {wait};\n@!%waited bra {label};"))?)?;
            }
            Change::Alternate(alternate) => alternate.apply(self)?,
            Change::Again(again) => again.apply(self)?,
            Change::Start { thread, register, value } => *started(&mut self.litmus, *thread, register)? = *value,
            Change::Remove { thread, span } => self.remove(*thread, *span)?,
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
            Change::Reword { thread, span, opcode, modifiers } => {
                let instruction = self.instruction(*thread, *span)?;
                let here = instruction.opcode.span;
                instruction.opcode.node = opcode.into();
                instruction.modifiers = modifiers.iter().map(|word| Spanned::new(word.into(), here)).collect();
            }
            Change::Replace { thread, span, by } => self.replace(*thread, *span, by)?,
            Change::Return { thread, span } => {
                let instruction = self.instruction(*thread, *span)?;
                instruction.opcode.node = "atom".into();
                let here = instruction.opcode.span;
                instruction.operands.insert(0, Spanned::new(Operand::Register("%returned".into()), here));
            }
            Change::Move { span, to, .. } => {
                let at = position(&self.litmus, to.thread, *span)?;
                let body = &self.litmus.threads.get(to.thread.index())?.body;
                // A loop that waits is moved as a whole.
                let is_own = |unit: &&Unit| unit.kind == UnitKind::Loop && (unit.first..=unit.last).contains(&at);
                let own = units(body).iter().find(is_own).map_or(at..=at, |unit| unit.first..=unit.last);
                let moved = body.get(own.clone())?.to_vec();
                self.gone.extend(own.map(|at| (to.thread.index(), at)));
                self.put(to, moved)?;
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

    pub(crate) fn replace(&mut self, thread: ThreadId, span: Span, by: &str) -> Option<()> {
        let at = position(&self.litmus, thread, span)?;
        let statements = parsed(by)?;
        self.gone.push((thread.index(), at));
        self.put_before(thread, at, statements)
    }

    fn remove(&mut self, thread: ThreadId, span: Span) -> Option<()> {
        let body = &self.litmus.threads.get(thread.index())?.body;
        let is_label = |it: &Statement| matches!(it, Statement::Label(label) if label.span.start == span.start);
        let at = position(&self.litmus, thread, span).or_else(|| body.iter().position(is_label))?;
        self.gone.push((thread.index(), at));
        Some(())
    }

    /// Before a statement, which may be a label.
    pub(crate) fn put_before(&mut self, thread: ThreadId, at: usize, statements: Vec<Statement>) -> Option<()> {
        self.around.get_mut(thread.index())?.get_mut(at)?.0.extend(statements);
        Some(())
    }

    pub(crate) fn put(&mut self, anchor: &Anchor, statements: Vec<Statement>) -> Option<()> {
        let (at, side) = settled(&self.litmus, anchor)?;
        let (before, after) = self.around.get_mut(anchor.thread.index())?.get_mut(at)?;
        match side {
            Side::Before => before.extend(statements),
            Side::After => after.extend(statements),
        }
        Some(())
    }

    pub(crate) fn finish(self) -> Litmus {
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
            let put = |ends: &[(usize, Vec<Statement>)]| -> Vec<Statement> {
                let own = ends.iter().filter(|(own, _)| *own == thread);
                own.flat_map(|(_, statements)| statements.clone()).collect()
            };
            let end = body.len() - usize::from(body.last().is_some_and(leaves));
            body.splice(end..end, put(&self.behind));
            body.splice(..0, put(&self.before));
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

/// The value that a register is declared with.
fn started<'l>(litmus: &'l mut Litmus, thread: ThreadId, name: &str) -> Option<&'l mut i128> {
    for declaration in &mut litmus.declarations {
        if let Declaration::Register { thread: own, register, value } = &mut declaration.node
            && register.node == name
            && *own as usize == thread.index()
            && let InitialValue::Integer(value) = &mut value.node
        {
            return Some(value);
        }
    }
    None
}

pub(crate) fn counted(scene: &Scene<'_>, name: &str, inits: &[(ThreadId, Span)]) -> Option<i128> {
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

/// The declarations of a text.
fn declared(text: &str) -> Option<Vec<Spanned<Declaration>>> {
    let whole = format!("PTX piece\n{{ {text}; }}\nP0@cta 0, kernel 0 {{\n}}\nexists (true)\n");
    let (mut trees, _) = parse_named("piece", &whole);
    trees.pop().map(|tree| tree.declarations).filter(|found| !found.is_empty())
}

/// The statements of a text, as a thread would have them.
pub(crate) fn parsed(text: &str) -> Option<Vec<Statement>> {
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
    let is = |word: &Spanned<ShortText>, words: &[&str]| words.contains(&word.node.as_str());
    // A cluster barrier has no scope, and its level is spelled like one.
    let scope = scope.filter(|_| instruction.opcode.node != "barrier").map(scope_word);
    let (head, tail) = instruction.modifiers.split_at(at);
    let old = tail.iter().find(|word| is(word, SEMANTICS)).map(|word| word.node.as_str());
    let word = match (semantics.map(semantics_word), old) {
        (Some("release"), Some("acquire" | "acq_rel")) | (Some("acquire"), Some("release" | "acq_rel")) => {
            Some("acq_rel")
        }
        // Nothing is stronger.
        (_, Some("sc")) => Some("sc"),
        (Some(word), _) => Some(word),
        (None, old) => old,
    };
    let own = tail.iter().find(|word| is(word, SCOPES)).map(|word| word.node.as_str());
    let scope = scope.or(own.filter(|_| instruction.opcode.node != "barrier"));
    let put = word.into_iter().chain(scope).map(|word| Spanned::new(word.into(), here));
    let is_strong = matches!(instruction.opcode.node.as_str(), "ld" | "st") && word.is_some_and(|word| word != "weak");
    let goes = |word: &&Spanned<ShortText>| {
        is(word, SEMANTICS) || scope.is_some() && is(word, SCOPES) || is_strong && is(word, CACHING)
    };
    let kept = |word: &&Spanned<ShortText>| !goes(word);
    instruction.modifiers = head.iter().cloned().chain(put).chain(tail.iter().filter(kept).cloned()).collect();
    Some(())
}

/// Behind which modifiers semantics and scope stand; None for an instruction that has none.
pub(crate) fn semantics_position(instruction: &Instruction) -> Option<usize> {
    let position = |head: &str| instruction.modifiers.iter().position(|word| word.node == head);
    match instruction.opcode.node.as_str() {
        "ld" | "st" | "atom" | "red" | "fence" | "prel" | "pacq" => Some(0),
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

impl Edit {
    /// The tree with these changes; None where one does not apply. An instruction that goes elsewhere goes there with its new
    /// words.
    pub(crate) fn apply_all(edits: &[&Edit], litmus: &Litmus) -> Option<Litmus> {
        let mut work = Work::new(litmus);
        let (words, others): (Vec<&Change>, Vec<&Change>) =
            edits.iter().map(|edit| &edit.change).partition(|change| change.is_of_words());
        for change in words.into_iter().chain(others) {
            work.apply(change)?;
        }
        Some(work.finish())
    }
}
