//! Instruction tables: what each opcode of an architecture does. One table serves the three spellings of PTX.
//!
//! A folder per architecture. Beside them what they share: arithmetic that they are made of (`compute`), rows as data
//! ([`form`], `forms`), dotted words ([`modifier`]), what the documentation lists ([`supported`]), which hardware a form
//! needs ([`target`]), and what helps to say what is wrong (`no_ptx`, `operands`, `typo`).

pub(crate) mod c;
mod compute;
pub(crate) mod form;
mod forms;
pub(crate) mod modifier;
mod no_ptx;
pub(crate) mod operands;
pub(crate) mod ptx;
pub(crate) mod supported;
pub(crate) mod target;
mod typo;
pub(crate) mod x86;

use fencepost_syntax::Diagnostic;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Dialect;

pub(crate) use ptx::arithmetic::bits::float_bits;
pub(crate) use ptx::register::operator as comparison_operator;

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::Version;
use crate::value::Value;

/// Appends what one instruction does to the thread.
pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction, assume: Option<Value>) -> Result<(), Refusal> {
    let done = match context.dialect {
        Dialect::X86 => return x86::lower(context, tree),
        Dialect::C => return Err(Refusal::error(tree.span(), "an instruction among C statements")),
        Dialect::Dartagnan | Dialect::Ptx | Dialect::NvLitmus => ptx::lower(context, tree, assume),
    };
    let done = match done {
        Err(refusal) if context.dialect == Dialect::Ptx && is_about_operand(&refusal, tree) => {
            Err(operands::misplaced(tree).map_or(refusal, Refusal::Error))
        }
        Err(Refusal::Error(error)) if context.dialect == Dialect::Ptx && error.label == operands::WRONG_NUMBER => {
            Err(Refusal::Error(operands::miscounted(tree, error)))
        }
        done => done,
    };
    if done.is_ok() && context.dialect == Dialect::Ptx {
        brackets(context, tree);
    }
    match done {
        Ok(()) if context.dialect == Dialect::Ptx && context.version < Version::NEWEST => {
            if let Some((since, section)) = forms::since(tree) {
                context.findings.floor(tree.span(), modifier::spelled(tree), since, section);
            }
            Ok(())
        }
        Err(Refusal::Unsupported(..)) if context.dialect == Dialect::Ptx => {
            no_ptx::judge(tree).map_or(done, |diagnostic| Err(Refusal::Error(diagnostic)))
        }
        done => done,
    }
}

/// Whether an operand is refused, rather than the form or a number.
fn is_about_operand(refusal: &Refusal, tree: &Instruction) -> bool {
    let span = match refusal {
        Refusal::Error(diagnostic) => diagnostic.span,
        Refusal::Unsupported(span, _) => *span,
    };
    tree.operands.iter().any(|operand| operand.span == span)
}

/// The other dialects write an address as a name; PTX has brackets.
fn brackets(context: &mut Context<'_>, tree: &Instruction) {
    let place = match tree.opcode.node.as_str() {
        "ld" | "atom" => 1,
        "st" | "red" => 0,
        _ => return,
    };
    let Some(operand) = tree.operands.get(place) else { return };
    if matches!(operand.node, Operand::Symbol(_) | Operand::Offset(..)) {
        let warning = Diagnostic::warning(operand.span, "PTX writes the address of an access in brackets");
        context.findings.diagnostics.push(warning.label("read as an address").help("put `[` and `]` around it"));
    }
}
