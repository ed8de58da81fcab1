//! Arithmetic that instructions are made of: steps in registers that no text can name.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::Operand as TreeOperand;

use crate::ids::RegisterId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{LocalValue, Operand, Operation};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

pub(crate) fn constant(value: i128) -> Operand {
    Operand::Constant(Value(value))
}

/// The result, in a register of our own.
pub(crate) fn binary(
    context: &mut Context<'_>,
    operator: BinaryOperator,
    ty: Type,
    left: Operand,
    right: Operand,
) -> Operand {
    Operand::Register(temporary(context, ty, LocalValue::Binary(operator, left, right)))
}

pub(crate) fn temporary(context: &mut Context<'_>, ty: Type, value: LocalValue) -> RegisterId {
    let destination = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination, ty, value });
    destination
}

/// Assigns to a destination that may be `_`.
pub(crate) fn assign(
    context: &mut Context<'_>,
    destination: &Spanned<TreeOperand>,
    ty: Type,
    value: LocalValue,
) -> Result<(), Refusal> {
    if let Some(destination) = context.destination(destination, ty)? {
        context.thread.emit(Operation::Local { destination, ty, value });
    }
    Ok(())
}
