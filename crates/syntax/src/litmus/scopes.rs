//! Blocks in braces inside a thread (PTX ISA 4.4: a group of statements has its own names), as inline assembly leaves them:
//! `{ .reg .pred p; WAIT: … @!p bra WAIT; }`.
//!
//! The tree has no blocks. The registers a block declares and the labels it defines become the thread's; a name that is
//! also used outside the block, or that another block has, gets a suffix in the block: `p$1`.

use std::collections::BTreeSet;

use super::tree::{Declaration, Statement};
use crate::instruction::{Instruction, Operand};
use crate::short::ShortText;
use crate::span::Spanned;

/// Blocks deeper than this are refused.
pub(super) const DEEPEST: usize = 64;

/// One block of a thread: its statements, and the registers it declares.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) from: usize,
    /// One past the last statement; the end of the thread while it is open.
    pub(super) to: usize,
    /// Indices into the declarations.
    pub(super) declared: Vec<usize>,
}

/// Gives the names of the blocks, inner ones first, names of the thread's own.
pub(super) fn settle(
    scopes: &[Scope],
    thread: usize,
    body: &mut [Statement],
    declarations: &mut [Spanned<Declaration>],
) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let inner: BTreeSet<usize> = scopes.iter().flat_map(|scope| scope.declared.iter().copied()).collect();
    for (index, declaration) in declarations.iter().enumerate() {
        if !inner.contains(&index) && is_seen(&declaration.node, thread) {
            taken.extend(register(&declaration.node).map(str::to_owned));
        }
    }
    for scope in scopes {
        let own: BTreeSet<usize> = scope.declared.iter().copied().collect();
        for index in own {
            let Some(name) = declarations.get(index).and_then(|item| register(&item.node)).map(str::to_owned) else {
                continue;
            };
            if taken.contains(&name) || is_used(&outside(scope, body), &name) {
                let fresh = fresh(&name, &taken, body);
                inside(scope, body).iter_mut().for_each(|statement| rename(statement, &name, &fresh));
                if let Some(declaration) = declarations.get_mut(index) {
                    set_register(&mut declaration.node, &fresh);
                }
                taken.insert(fresh);
            } else {
                taken.insert(name);
            }
        }
        settle_labels(scope, body);
    }
}

fn settle_labels(scope: &Scope, body: &mut [Statement]) {
    let defined = |statements: &[&Statement]| -> BTreeSet<String> {
        let label = |statement: &&Statement| match statement {
            Statement::Label(label) => Some(label.node.clone()),
            Statement::Instruction { .. } | Statement::C(_) => None,
        };
        statements.iter().filter_map(label).collect()
    };
    let elsewhere = defined(&outside(scope, body));
    let own = defined(&inside(scope, body).iter().collect::<Vec<_>>());
    for name in own.intersection(&elsewhere) {
        let fresh = fresh(name, &elsewhere, body);
        for statement in inside(scope, body) {
            if let Statement::Label(label) = statement
                && label.node == *name
            {
                label.node.clone_from(&fresh);
            }
            rename(statement, name, &fresh);
        }
    }
}

fn inside<'b>(scope: &Scope, body: &'b mut [Statement]) -> &'b mut [Statement] {
    let to = scope.to.min(body.len());
    body.get_mut(scope.from.min(to)..to).unwrap_or_default()
}

fn outside<'b>(scope: &Scope, body: &'b [Statement]) -> Vec<&'b Statement> {
    body.iter().enumerate().filter(|(at, _)| !(scope.from..scope.to).contains(at)).map(|(_, item)| item).collect()
}

/// Whether a declaration is about registers of this thread.
fn is_seen(declaration: &Declaration, by: usize) -> bool {
    let is_own = |thread: u32| usize::try_from(thread).is_ok_and(|thread| thread == by);
    match declaration {
        Declaration::TypedRegister { thread, .. } => thread.is_none_or(is_own),
        Declaration::Register { thread, .. } => is_own(*thread),
        _ => false,
    }
}

fn register(declaration: &Declaration) -> Option<&str> {
    match declaration {
        Declaration::TypedRegister { register, .. } | Declaration::Register { register, .. } => Some(&register.node),
        _ => None,
    }
}

fn set_register(declaration: &mut Declaration, name: &str) {
    if let Declaration::TypedRegister { register, .. } = declaration {
        register.node = name.to_owned();
    }
}

/// `p<4>` is its members.
fn range(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix('>')?.split_once('<')
}

/// The number of a member of the range, as written.
fn member<'n>(name: &'n str, of: &str) -> Option<&'n str> {
    let (base, count) = range(of)?;
    let number = name.strip_prefix(base)?;
    let is_plain = number == "0" || !number.starts_with('0');
    let limit: u32 = count.parse().ok()?;
    (is_plain && number.parse::<u32>().is_ok_and(|number| number < limit)).then_some(number)
}

/// A name that nothing has.
fn fresh(name: &str, taken: &BTreeSet<String>, body: &[Statement]) -> String {
    let (base, end) = range(name).map_or((name, String::new()), |(base, count)| (base, format!("_<{count}>")));
    let all: Vec<&Statement> = body.iter().collect();
    let is_label = |candidate: &str| {
        all.iter().any(|statement| matches!(statement, Statement::Label(label) if label.node == candidate))
    };
    let candidates = (1u32..).map(|number| format!("{base}${number}{end}"));
    let is_free = |candidate: &String| !taken.contains(candidate) && !is_used(&all, candidate) && !is_label(candidate);
    candidates.into_iter().find(is_free).unwrap_or_else(|| name.to_owned())
}

fn is_used(statements: &[&Statement], name: &str) -> bool {
    let is_name = |other: &str| other == name || member(other, name).is_some();
    statements.iter().any(|statement| match statement {
        Statement::Instruction { instruction, .. } => mentions(instruction, &is_name),
        Statement::Label(_) | Statement::C(_) => false,
    })
}

fn mentions(instruction: &Instruction, is_name: &impl Fn(&str) -> bool) -> bool {
    if instruction.guard.as_ref().is_some_and(|guard| is_name(&guard.register.node)) {
        return true;
    }
    let mut open: Vec<&Operand> = instruction.operands.iter().map(|operand| &operand.node).collect();
    while let Some(operand) = open.pop() {
        match operand {
            Operand::Register(name) | Operand::Symbol(name) if is_name(name) => return true,
            Operand::Address(address) => {
                open.push(&address.base.node);
                open.extend(address.rest.iter().map(|item| &item.node));
            }
            Operand::Vector(items) | Operand::List(items) => open.extend(items.iter().map(|item| &item.node)),
            Operand::Pair(first, second) => open.extend([&first.node, &second.node]),
            Operand::Negated(inner) | Operand::Offset(inner, _) => open.push(&inner.node),
            _ => {}
        }
    }
    false
}

fn rename(statement: &mut Statement, name: &str, fresh: &str) {
    let Statement::Instruction { instruction, .. } = statement else { return };
    visit(instruction, &mut |other| {
        if *other == name {
            *other = fresh.into();
        } else if let (Some(number), Some((base, _))) = (member(other, name), range(fresh)) {
            *other = format!("{base}{number}").into();
        }
    });
}

/// Every name of an instruction that may be a register or a label.
fn visit(instruction: &mut Instruction, change: &mut impl FnMut(&mut ShortText)) {
    if let Some(guard) = &mut instruction.guard {
        change(&mut guard.register.node);
    }
    let mut open: Vec<&mut Operand> = instruction.operands.iter_mut().map(|operand| &mut operand.node).collect();
    while let Some(operand) = open.pop() {
        match operand {
            Operand::Register(name) | Operand::Symbol(name) => change(name),
            Operand::Address(address) => {
                open.push(&mut address.base.node);
                open.extend(address.rest.iter_mut().map(|item| &mut item.node));
            }
            Operand::Vector(items) | Operand::List(items) => open.extend(items.iter_mut().map(|item| &mut item.node)),
            Operand::Pair(first, second) => open.extend([&mut first.node, &mut second.node]),
            Operand::Negated(inner) | Operand::Offset(inner, _) => open.push(&mut inner.node),
            Operand::Integer(_) | Operand::Float(_) | Operand::Sink | Operand::Text(_) => {}
        }
    }
}

/// The blocks of one thread while it is read.
#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<Scope>,
    /// Inner ones first.
    pub(super) closed: Vec<Scope>,
}

impl Scopes {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn enter(&mut self, at: usize) {
        self.open.push(Scope { from: at, to: usize::MAX, declared: Vec::new() });
    }

    /// Whether a block was open.
    pub(super) fn leave(&mut self, at: usize) -> bool {
        match self.open.pop() {
            Some(scope) => {
                self.closed.push(Scope { to: at, ..scope });
                true
            }
            None => false,
        }
    }

    pub(super) fn declare(&mut self, declarations: std::ops::Range<usize>) {
        if let Some(scope) = self.open.last_mut() {
            scope.declared.extend(declarations);
        }
    }
}
