//! Registers of real PTX and variables of C that are read where nothing can have been written to them. They are taken as
//! 0, which is hardly what the author meant: in PTX and in C (C11 6.7.9, paragraph 10) they may hold anything.

use std::collections::BTreeSet;

use fencepost_syntax::Diagnostic;
use fencepost_syntax::litmus::Dialect;

use crate::ids::RegisterId;
use crate::lower::{Findings, ThreadBuilder};
use crate::program::{Instruction, Operation};
use crate::unfold::{defined, used};

pub(crate) fn warn(thread: &ThreadBuilder, findings: &mut Findings) {
    let written = written(&thread.code);
    let mut told = BTreeSet::new();
    for (code, written) in thread.code.iter().zip(&written) {
        let Some(written) = written else { continue };
        for register in used(code) {
            let name = thread.register_name(register);
            let known = written.contains(&register)
                || thread.is_initialised(register)
                || thread.excused.contains(&register)
                || name.starts_with('#');
            if known || !told.insert(register) {
                continue;
            }
            // The second `a` of C's blocks is `a.2`, which nobody has written.
            let name = if thread.dialect == Dialect::C { name.split('.').next().unwrap_or(name) } else { name };
            let message = format!("`{name}` is read before anything is written to it: taken as 0");
            let help = match thread.dialect {
                Dialect::C => format!("give it a value where it is declared: `{name} = 0`"),
                _ => format!("give it a value in the declarations: `{}:{name} = 0;`", thread.name()),
            };
            findings.diagnostics.push(Diagnostic::warning(code.span, message).label("not written").help(help));
        }
    }
}

/// Before each instruction, the registers that some way there writes; None where no way leads. The usual forward fixpoint.
fn written(code: &[Instruction]) -> Vec<Option<BTreeSet<RegisterId>>> {
    let mut before: Vec<Option<BTreeSet<RegisterId>>> = vec![None; code.len()];
    let mut work = vec![(0, BTreeSet::new())];
    while let Some((at, arriving)) = work.pop() {
        let (Some(instruction), Some(known)) = (code.get(at), before.get_mut(at)) else { continue };
        let is_new = known.as_ref().is_none_or(|known| !arriving.is_subset(known));
        if !is_new {
            continue;
        }
        let known = known.get_or_insert_default();
        known.extend(arriving);
        let mut after = known.clone();
        after.extend(defined(&instruction.operation));
        let (target, falls_through) = match &instruction.operation {
            Operation::Branch { target } => (Some(target), instruction.guard.is_some()),
            Operation::BranchIf { target, .. } => (Some(target), true),
            Operation::Exit => (None, instruction.guard.is_some()),
            _ => (None, true),
        };
        work.extend(target.map(|target| (target.0 as usize, after.clone())));
        if falls_through {
            work.push((at + 1, after));
        }
    }
    before
}
