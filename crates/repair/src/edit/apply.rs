//! A test's tree under change. Trees are changed and not programs, because the tables then decide what the changed text
//! means.

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue, Litmus, Statement, Thread, parse_named};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap};
use fencepost_syntax::{Span, Spanned};

use crate::edit::{Change, Edit, End, SCOPES, Semantics, Whole, scope_word, semantics_word};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::slots::{Unit, UnitKind, settled, units};
use crate::scene::statement::named;

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
    /// What stands in the place of a statement.
    instead: SortedMap<(usize, usize), Vec<Statement>>,
    /// Put at the end of threads.
    behind: Vec<(usize, Vec<Statement>)>,
    /// The same, at the beginning of threads.
    before: Vec<(usize, Vec<Statement>)>,
}

impl Work {
    pub(crate) fn new(litmus: &Litmus) -> Work {
        let around = litmus.threads.iter().map(|thread| vec![Default::default(); thread.body.len()]).collect();
        let (gone, instead, behind, before) = (Vec::new(), SortedMap::new(), Vec::new(), Vec::new());
        Work { litmus: litmus.clone(), around, gone, instead, behind, before }
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
                self.put(at, parsed(&self.poll(at.thread, "", (wait, label))?)?)?;
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
                let returned = fresh("%returned", &registers(self.litmus.threads.get(thread.index())?));
                let instruction = self.instruction(*thread, *span)?;
                instruction.opcode.node = "atom".into();
                let here = instruction.opcode.span;
                instruction.operands.insert(0, Spanned::new(Operand::Register(returned.as_str().into()), here));
            }
            Change::Move { span, to, .. } => {
                let at = position(&self.litmus, to.thread, *span)?;
                let body = &self.litmus.threads.get(to.thread.index())?.body;
                // A loop that waits is moved as a whole.
                let is_own = |unit: &&Unit| unit.kind == UnitKind::Loop && (unit.first..=unit.last).contains(&at);
                let own = units(body).iter().find(is_own).map_or(at..=at, |unit| unit.first..=unit.last);
                let moved: Vec<Statement> = own.clone().flat_map(|at| self.standing(to.thread, at)).collect();
                self.gone.extend(own.map(|at| (to.thread.index(), at)));
                self.put(to, moved)?;
            }
            Change::Hand { thread, span, to } => {
                let at = position(&self.litmus, *thread, *span)?;
                let handed = self.standing(*thread, at);
                self.gone.push((thread.index(), at));
                self.put(to, handed)?;
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
        let statement = match self.instead.get_mut(&(thread.index(), at)) {
            Some(statements) => match statements.as_mut_slice() {
                [one] => one,
                _ => return None,
            },
            None => self.litmus.threads.get_mut(thread.index())?.body.get_mut(at)?,
        };
        match statement {
            Statement::Instruction { instruction, .. } => Some(instruction),
            Statement::Label(_) | Statement::C(_) => None,
        }
    }

    pub(crate) fn replace(&mut self, thread: ThreadId, span: Span, by: &str) -> Option<()> {
        let at = position(&self.litmus, thread, span)?;
        let before = self.instead.insert((thread.index(), at), parsed(by)?);
        before.is_none().then_some(())
    }

    /// A statement as it is by now.
    fn standing(&self, thread: ThreadId, at: usize) -> Vec<Statement> {
        let own = || self.litmus.threads.get(thread.index())?.body.get(at).cloned();
        self.instead.get(&(thread.index(), at)).cloned().unwrap_or_else(|| own().into_iter().collect())
    }

    /// A loop that waits, behind other lines, with names that the thread does not have: the answer of a wait is `%waited`.
    pub(crate) fn poll(&self, thread: ThreadId, before: &str, (wait, label): (&str, &str)) -> Option<String> {
        let own = self.litmus.threads.get(thread.index())?;
        let labels = own.body.iter().filter_map(|statement| match statement {
            Statement::Label(label) => Some(label.node.clone()),
            _ => None,
        });
        let label = fresh(label, &labels.collect::<Vec<_>>());
        let text = format!("{before}{label}: {wait};\n@!%waited bra {label};");
        Some(text.replace("%waited", &fresh("%waited", &registers(own))))
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

    pub(crate) fn finish(mut self) -> Litmus {
        let mut litmus = self.litmus;
        for (thread, (body, around)) in
            litmus.threads.iter_mut().map(|thread| &mut thread.body).zip(self.around).enumerate()
        {
            let old = std::mem::take(body);
            for (at, (statement, (before, after))) in old.into_iter().zip(around).enumerate() {
                body.extend(before);
                if !self.gone.contains(&(thread, at)) {
                    match self.instead.remove(&(thread, at)) {
                        Some(instead) => body.extend(instead),
                        None => body.push(statement),
                    }
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

/// The declaration that gives an mbarrier its count; those of an array are all alike.
pub(crate) fn declares_count(declaration: &Declaration, name: &str) -> bool {
    let name = name.split(['[', '+']).next().unwrap_or(name);
    matches!(declaration, Declaration::Location { name: own, value: Some(_), .. } if own.node == name)
}

/// The declaration that gives a register its first value.
pub(crate) fn declares_register(declaration: &Declaration, thread: ThreadId, name: &str) -> bool {
    matches!(declaration, Declaration::Register { thread: own, register, .. }
        if register.node == name && *own as usize == thread.index())
}

/// The number that one of the declarations gives.
fn given(litmus: &mut Litmus, is_own: impl Fn(&Declaration) -> bool) -> Option<&mut i128> {
    let own = litmus.declarations.iter_mut().find(|declaration| is_own(&declaration.node))?;
    let value = match &mut own.node {
        Declaration::Location { value, .. } => value.as_mut()?,
        Declaration::Register { value, .. } => value,
        _ => return None,
    };
    match &mut value.node {
        InitialValue::Integer(number) => Some(number),
        _ => None,
    }
}

fn count_of<'l>(litmus: &'l mut Litmus, name: &str) -> Option<&'l mut i128> {
    given(litmus, |declaration| declares_count(declaration, name))
}

fn started<'l>(litmus: &'l mut Litmus, thread: ThreadId, name: &str) -> Option<&'l mut i128> {
    given(litmus, |declaration| declares_register(declaration, thread, name))
}

/// The registers that a thread names.
fn registers(thread: &Thread) -> Vec<String> {
    let mut all = Vec::new();
    for own in thread.body.iter().filter_map(instruction) {
        own.operands.iter().for_each(|operand| named(&operand.node, &mut all));
        all.extend(own.guard.iter().map(|guard| guard.register.node.to_string()));
    }
    all
}

/// The name, or with a number where it is taken.
fn fresh(name: &str, taken: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
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
    /// The tree with these changes; None where one does not apply. What takes the place of an instruction gets its new words,
    /// and goes elsewhere with them.
    pub(crate) fn apply_all(edits: &[&Edit], litmus: &Litmus) -> Option<Litmus> {
        let mut work = Work::new(litmus);
        let mut changes: Vec<&Change> = edits.iter().map(|edit| &edit.change).collect();
        changes.shared_sort_by_key(|change| match change {
            Change::Replace { .. } => 0,
            change if change.is_of_words() => 1,
            _ => 2,
        });
        for change in changes {
            work.apply(change)?;
        }
        Some(work.finish())
    }
}
