//! Instructions about caches and resources (PTX ISA 9.7.10.14 to 9.7.10.21, 9.7.21): most have no effect on values or
//! order. `discard` has: what it leaves is undefined, as if it had been written over. `st.bulk` is an ordinary store of many
//! zeros.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{LocalValue, Operand, Operation};
use crate::sections;
use crate::table::compute::{assign, constant};
use crate::table::form::{self, Form, Slot, version};
use crate::table::ptx::asynchronous::copy::{address, wrong_operands};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    /// `setmaxnreg`: how many registers a thread has.
    Registers,
    ApplyPriority,
    Discard,
    Policy,
    Fill,
}

fn is_policy(word: &str) -> bool {
    word.starts_with("L2")
}

const POLICY: &[Slot] =
    &[Slot::Maybe(&["global"]), Slot::Like { name: "L2::priority", accepts: is_policy, most: 2 }, Slot::One(&["b64"])];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["setmaxnreg"],
        slots: &[Slot::One(&["inc", "dec"]), Slot::One(&["sync"]), Slot::One(&["aligned"]), Slot::One(&["u32"])],
        section: sections::SETMAXNREG,
        since: version(8, 0),
        kind: Kind::Registers,
    },
    Form {
        head: &["applypriority"],
        slots: &[Slot::Maybe(&["global"]), Slot::One(&["L2::evict_normal"])],
        section: sections::APPLYPRIORITY,
        since: version(7, 4),
        kind: Kind::ApplyPriority,
    },
    Form {
        head: &["discard"],
        slots: &[Slot::Maybe(&["global"]), Slot::One(&["L2"])],
        section: sections::DISCARD,
        since: version(7, 4),
        kind: Kind::Discard,
    },
    Form {
        head: &["createpolicy", "fractional"],
        slots: POLICY,
        section: sections::CREATEPOLICY,
        since: version(7, 4),
        kind: Kind::Policy,
    },
    Form {
        head: &["createpolicy", "range"],
        slots: POLICY,
        section: sections::CREATEPOLICY,
        since: version(7, 4),
        kind: Kind::Policy,
    },
    Form {
        head: &["createpolicy", "cvt"],
        slots: POLICY,
        section: sections::CREATEPOLICY,
        since: version(7, 4),
        kind: Kind::Policy,
    },
    Form {
        head: &["st", "bulk"],
        slots: &[Slot::Maybe(&["weak"]), Slot::Maybe(&["shared::cta"])],
        section: sections::ST_BULK,
        since: version(8, 6),
        kind: Kind::Fill,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|_| apply(context, tree, form.kind)))
}

fn apply(context: &mut Context<'_>, tree: &Instruction, kind: Kind) -> Result<(), Refusal> {
    match kind {
        Kind::Registers => {
            let [_] = context.operands(tree)?;
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
        Kind::ApplyPriority => {
            let [_, size] = context.operands(tree)?;
            whole_line(size)?;
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
        Kind::Discard => discard(context, tree),
        Kind::Policy => match tree.operands.first() {
            Some(destination) => assign(context, destination, Type::U64, LocalValue::Operand(constant(0))),
            None => Err(wrong_operands(tree, "a register for the policy")),
        },
        Kind::Fill => fill(context, tree),
    }
}

fn whole_line(size: &Spanned<TreeOperand>) -> Result<(), Refusal> {
    if matches!(size.node, TreeOperand::Integer(128)) {
        return Ok(());
    }
    Err(Refusal::Error(Diagnostic::error(size.span, "the size is 128").label("not 128")))
}

/// `[a], 128`: a weak write of values that mean nothing.
fn discard(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [at, size] = context.operands(tree)?;
    whole_line(size)?;
    let address = address(context, tree, at, "global")?;
    let tags = Tags::from_iter([Tag::Write, Tag::Weak, Tag::Generic, Tag::Opaque]);
    context.thread.emit(Operation::Fill { address, bytes: Operand::Constant(Value(128)), tags });
    Ok(())
}

/// `[a], size, 0`: weak writes of zeros to shared memory.
fn fill(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [at, size, value] = context.operands(tree)?;
    if !matches!(value.node, TreeOperand::Integer(0)) {
        return Err(Refusal::Error(Diagnostic::error(value.span, "`st.bulk` stores zeros").label("not 0")));
    }
    let address = address(context, tree, at, "shared")?;
    let bytes = context.value(size)?;
    if let Operand::Constant(Value(bytes)) = bytes
        && (bytes <= 0 || bytes % 8 != 0)
    {
        let error = Diagnostic::error(size.span, "`st.bulk` stores a positive multiple of 8 bytes");
        return Err(Refusal::Error(error.label("no such size")));
    }
    let tags = Tags::from_iter([Tag::Write, Tag::Weak, Tag::Generic, Tag::OwnWindow]);
    context.thread.emit(Operation::Fill { address, bytes, tags });
    Ok(())
}
