//! Flags of x86: the two sides of the last comparison, kept in registers no text can name, and what rests on them: jumps,
//! `setcc`, `cmovcc`.
//!
//! The sides are kept in the one width that all comparisons of the thread have, or else as signed numbers of 64 bits, which
//! order as those of fewer bits do, in both readings. The sign of a difference needs the width it was made in: it is computed with the sides, where the thread asks for it.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Comparison;

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{CodeIndex, LocalValue, Operand, Operation};
use crate::table::comparison_operator;
use crate::table::compute::{constant, temporary};
use crate::table::x86::opcode::{Code, Reading};
use crate::table::x86::place::{Place, place, read, width, write};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

const LEFT: &str = "#flags.left";
const RIGHT: &str = "#flags.right";
const SIGN: &str = "#flags.sign";
/// Marks a thread whose flags may come from an instruction whose carry and overflow we do not keep.
const PARTIAL: &str = "#flags.partial";
/// Marks a thread that looks at more than equality and sign.
const ORDERED: &str = "#flags.ordered";

/// The type in which the sides are kept.
fn kept(context: &Context<'_>, reading: Reading) -> Type {
    Type { bits: context.thread.scan.flags.unwrap_or(64), signed: reading == Reading::Signed }
}

/// Remembers what the next condition compares.
pub(crate) fn set_flags(context: &mut Context<'_>, ty: Type, left: LocalValue, right: Operand) {
    let ty = Type { signed: true, ..ty };
    let kept = kept(context, Reading::Signed);
    let [first, second] = [LEFT, RIGHT].map(|name| context.thread.register(name, kept));
    context.thread.emit(Operation::Local { destination: first, ty, value: left });
    context.thread.emit(Operation::Local { destination: second, ty, value: LocalValue::Operand(right) });
    if context.thread.scan.asks_sign {
        let sign = context.thread.register(SIGN, kept);
        let value = LocalValue::Binary(BinaryOperator::Subtract, Operand::Register(first), Operand::Register(second));
        context.thread.emit(Operation::Local { destination: sign, ty, value });
    }
}

/// Flags of an operation that may carry or overflow: only zero and sign are kept.
pub(crate) fn set_partial_flags(
    context: &mut Context<'_>,
    ty: Type,
    result: Operand,
    tree: &Instruction,
) -> Result<(), Refusal> {
    context.thread.register(PARTIAL, ty);
    set_flags(context, ty, LocalValue::Operand(result), Operand::Constant(Value(0)));
    refuse_partial_order(context, tree)
}

/// Flags of a shift by so much: they stay where that is 0.
pub(crate) fn set_flags_unless_zero(
    context: &mut Context<'_>,
    tree: &Instruction,
    (ty, result): (Type, Operand),
    count: Operand,
) -> Result<(), Refusal> {
    context.thread.register(PARTIAL, ty);
    let signed = Type { signed: true, ..ty };
    let result = Operand::Register(temporary(context, signed, LocalValue::Operand(result)));
    let count_kept = if context.thread.scan.asks_sign { 3 } else { 2 };
    let kept = kept(context, Reading::Signed);
    let sides = [(LEFT, result), (RIGHT, constant(0)), (SIGN, result)];
    for (name, otherwise) in sides.into_iter().take(count_kept) {
        let destination = context.thread.register(name, kept);
        let value = LocalValue::Select { condition: count, then: otherwise, otherwise: Operand::Register(destination) };
        context.thread.emit(Operation::Local { destination, ty: kept, value });
    }
    refuse_partial_order(context, tree)
}

fn refuse_partial_order(context: &Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let both = context.thread.find(PARTIAL).and(context.thread.find(ORDERED));
    match both {
        None => Ok(()),
        Some(_) => {
            let what = "an ordered condition beside flags of add, inc, dec, neg or a shift";
            Err(Refusal::Unsupported(tree.span(), what.to_string()))
        }
    }
}

/// What a code compares: operator, type and both sides.
type Compared = (Comparison, Type, Operand, Operand);

fn compared(context: &mut Context<'_>, tree: &Instruction, code: Code) -> Result<Compared, Refusal> {
    let [signed, unsigned] = [Reading::Signed, Reading::Unsigned].map(|reading| kept(context, reading));
    let side = |context: &mut Context<'_>, name: &str| Operand::Register(context.thread.register(name, signed));
    if let Code::Sign(comparison) = code {
        return Ok((comparison, signed, side(context, SIGN), constant(0)));
    }
    let (left, right) = (side(context, LEFT), side(context, RIGHT));
    let (comparison, ty) = match code {
        Code::Equality(comparison) | Code::Sign(comparison) | Code::Signed(comparison) => (comparison, signed),
        Code::Unsigned(comparison) => (comparison, unsigned),
    };
    if matches!(code, Code::Signed(_) | Code::Unsigned(_)) {
        context.thread.register(ORDERED, Type::S64);
        refuse_partial_order(context, tree)?;
    }
    Ok((comparison, ty, left, right))
}

/// `jmp` without a code, `je` and its like with one.
pub(crate) fn jump(context: &mut Context<'_>, tree: &Instruction, code: Option<Code>) -> Result<(), Refusal> {
    let [label] = context.operands(tree)?;
    let TreeOperand::Symbol(name) = &label.node else {
        return Err(Refusal::error(label.span, "a jump needs a label"));
    };
    let (target, label) = (CodeIndex(0), Spanned::new(name.clone(), label.span));
    let Some(code) = code else {
        context.thread.emit_jump(Operation::Branch { target }, label);
        return Ok(());
    };
    let (comparison, ty, left, right) = compared(context, tree, code)?;
    context.thread.emit_jump(Operation::BranchIf { comparison, ty, left, right, target }, label);
    Ok(())
}

fn holds(context: &mut Context<'_>, tree: &Instruction, code: Code) -> Result<Operand, Refusal> {
    let (comparison, ty, left, right) = compared(context, tree, code)?;
    let value = LocalValue::Binary(comparison_operator(comparison), left, right);
    Ok(Operand::Register(temporary(context, ty, value)))
}

/// `sete`: a byte of 0 or 1; herd's tests write a whole register of 32 bits so.
pub(crate) fn set(context: &mut Context<'_>, tree: &Instruction, code: Code) -> Result<(), Refusal> {
    let [destination] = context.operands(tree)?;
    let destination = place(context, destination)?;
    let byte = Type { bits: 8, signed: true };
    let ty = match &destination {
        Place::Register(_, ty) | Place::Part { ty, .. } if ty.bits == 32 => *ty,
        Place::Register(_, ty) | Place::Part { ty, .. } if ty.bits != 8 => {
            return Err(Refusal::error(tree.span(), format!("`{}` writes a byte", tree.opcode.node)));
        }
        _ => byte,
    };
    let holds = holds(context, tree, code)?;
    write(context, &destination, holds, ty, tree)
}

/// `cmove`: memory is read whether it is needed or not (SDM vol. 2A).
pub(crate) fn conditional_move(context: &mut Context<'_>, tree: &Instruction, code: Code) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let (destination, source) = (place(context, destination)?, place(context, source)?);
    let (Place::Register(..) | Place::Part { .. }, Place::Register(..) | Place::Part { .. } | Place::Memory(_)) =
        (&destination, &source)
    else {
        return Err(Refusal::error(tree.span(), format!("`{}` takes a register, and one or memory", tree.opcode.node)));
    };
    let ty = width(context, tree, &[&destination, &source])?;
    let then = read(context, &source, ty);
    let otherwise = read(context, &destination, ty);
    let condition = holds(context, tree, code)?;
    let value = LocalValue::Select { condition, then, otherwise };
    let chosen = Operand::Register(temporary(context, ty, value));
    write(context, &destination, chosen, ty, tree)
}
