//! Registers of real PTX and variables of C that are read where nothing can have been written to them. They are taken as
//! 0, which is hardly what the author meant: in PTX and in C (C11 6.7.9, paragraph 10) they may hold anything.

use std::collections::BTreeSet;

use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, limits};

use crate::ids::RegisterId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::program::def_use::{defined, used};
use crate::program::{Instruction, Operation};

pub(crate) fn warn(thread: &ThreadBuilder, findings: &mut Findings) {
    let mut told = SortedSet::new();
    let starts = starts(&thread.code);
    for (start, mut written) in written(&thread.code, &starts) {
        let end = starts.range(start + 1..).next().copied().unwrap_or(thread.code.len());
        for code in &thread.code[start..end] {
            for register in used(code) {
                if !written.has(register) && !is_given(thread, register) && told.insert(register) {
                    findings.diagnostics.push(warning(thread, register, code));
                }
            }
            written.add(code);
            if limits::tick() || !falls_through(code) {
                break;
            }
        }
    }
}

fn is_given(thread: &ThreadBuilder, register: RegisterId) -> bool {
    thread.is_initialised(register)
        || thread.excused.contains(&register)
        || thread.register_name(register).starts_with('#')
}

fn warning(thread: &ThreadBuilder, register: RegisterId, code: &Instruction) -> Diagnostic {
    let name = thread.register_name(register);
    // The second `a` of C's blocks is `a.2`, which nobody has written.
    let name = if thread.dialect == Dialect::C { name.split('.').next().unwrap_or(name) } else { name };
    let message = format!("`{name}` is read before anything is written to it: taken as 0");
    let help = match thread.dialect {
        Dialect::C => format!("give it a value where it is declared: `{name} = 0`"),
        _ => percent(thread, name)
            .unwrap_or_else(|| format!("give it a value in the declarations: `{}:{name} = 0;`", thread.name())),
    };
    Diagnostic::warning(code.span, message).label("not written").help(help)
}

/// A `%` too few, of this register or of another that the thread has.
fn percent(thread: &ThreadBuilder, name: &str) -> Option<String> {
    match name.strip_prefix('%') {
        Some(bare) => thread.find(bare).map(|_| {
            format!("`{bare}`, without `%`, is another register of {}: did you mean `{name}` there?", thread.name())
        }),
        None => thread.find(&format!("%{name}")).map(|_| format!("did you mean `%{name}`?")),
    }
}

/// Registers, a bit each.
#[derive(Clone, Default)]
struct Registers(Vec<u64>);

impl Registers {
    fn has(&self, register: RegisterId) -> bool {
        self.0.get(register.index() / 64).is_some_and(|word| word >> (register.index() % 64) & 1 == 1)
    }

    /// Those that an instruction writes.
    fn add(&mut self, code: &Instruction) {
        for register in defined(&code.operation) {
            let at = register.index() / 64;
            if self.0.len() <= at {
                self.0.resize(at + 1, 0);
            }
            self.0[at] |= 1 << (register.index() % 64);
        }
    }

    /// Whether it is more then.
    fn join(&mut self, other: &Registers) -> bool {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        let mut grown = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            grown |= *other & !*own != 0;
            *own |= other;
        }
        grown
    }
}

fn target(code: &Instruction) -> Option<usize> {
    match &code.operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => Some(target.0 as usize),
        _ => None,
    }
}

fn falls_through(code: &Instruction) -> bool {
    !matches!(code.operation, Operation::Branch { .. } | Operation::Exit) || code.guard.is_some()
}

/// Where straight pieces of code begin.
fn starts(code: &[Instruction]) -> SortedSet<usize> {
    code.iter().filter_map(target).filter(|at| *at < code.len()).chain((!code.is_empty()).then_some(0)).collect()
}

/// Before each straight piece that some way leads to, the registers that some way there writes. The usual forward fixpoint.
fn written(code: &[Instruction], starts: &SortedSet<usize>) -> SortedMap<usize, Registers> {
    let mut before: SortedMap<usize, Registers> =
        starts.first().map(|start| (*start, Registers::default())).into_iter().collect();
    let mut work: BTreeSet<usize> = before.keys().copied().collect();
    while let Some(start) = work.pop_first() {
        let mut now = before[&start].clone();
        let end = starts.range(start + 1..).next().copied().unwrap_or(code.len());
        let mut arrive = |at: usize, now: &Registers| {
            let known = before.get_mut(&at);
            let is_new = known.is_none_or(|known| known.join(now));
            if at < code.len() && is_new {
                before.entry(at).or_insert_with(|| now.clone());
                work.insert(at);
            }
        };
        let mut reaches_end = true;
        for instruction in &code[start..end] {
            now.add(instruction);
            target(instruction).into_iter().for_each(|target| arrive(target, &now));
            reaches_end = falls_through(instruction);
            if !reaches_end {
                break;
            }
            if limits::tick() {
                return before;
            }
        }
        if reaches_end {
            arrive(end, &now);
        }
    }
    before
}
