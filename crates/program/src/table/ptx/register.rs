//! PTX instructions that touch registers and control only (PTX ISA 9.7.1, 9.7.7 to 9.7.9, 9.7.10, 9.7.14).

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::{Comparison, Dialect};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{CodeIndex, LocalValue, Operand, Operation};
use crate::table::modifier::{self, Modifiers, Part};
use crate::table::operands::wrong_number;
use crate::table::ptx::arithmetic::bits;
use crate::table::ptx::row::Kind;
use crate::value::Type;
use crate::value::expression::{BinaryOperator, UnaryOperator};

pub(crate) fn lower(
    context: &mut Context<'_>,
    tree: &Instruction,
    kind: Kind,
    modifiers: &Modifiers,
) -> Result<(), Refusal> {
    match kind {
        Kind::Move => {
            let ty = immediate_type(context, tree, modifiers)?;
            if let Some(result) = bits::parts(context, tree, ty) {
                return result;
            }
            let [destination, source] = context.operands(tree)?;
            let value = LocalValue::Operand(context.value(source)?);
            assign(context, destination, ty, value)
        }
        Kind::Binary(operator) => {
            let ty = immediate_type(context, tree, modifiers)?;
            let [destination, left, right] = context.operands(tree)?;
            let value = LocalValue::Binary(operator, context.value(left)?, context.value(right)?);
            assign(context, destination, ty, value)
        }
        Kind::Unary(operator) => {
            let ty = immediate_type(context, tree, modifiers)?;
            let [destination, source] = context.operands(tree)?;
            let value = LocalValue::Unary(operator, context.value(source)?);
            assign(context, destination, ty, value)
        }
        Kind::Product => {
            let [destination, left, right] = context.operands(tree)?;
            let (ty, value) = product(context, tree, modifiers, left, right)?;
            assign(context, destination, ty, value)
        }
        Kind::MultiplyAdd => multiply_add(context, tree, modifiers),
        Kind::SetPredicate => set_predicate(context, tree, modifiers),
        Kind::Select => {
            let ty = immediate_type(context, tree, modifiers)?;
            let [destination, then, otherwise, condition] = context.operands(tree)?;
            let (then, otherwise) = (context.value(then)?, context.value(otherwise)?);
            let value = LocalValue::Select { condition: context.value(condition)?, then, otherwise };
            assign(context, destination, ty, value)
        }
        Kind::Convert => convert(context, tree, modifiers),
        _ => control(context, tree, kind),
    }
}

fn control(context: &mut Context<'_>, tree: &Instruction, kind: Kind) -> Result<(), Refusal> {
    let target = CodeIndex(0);
    match kind {
        Kind::Jump => {
            let [label] = context.operands(tree)?;
            let label = label_name(label)?;
            context.thread.emit_jump(Operation::Branch { target }, label);
        }
        Kind::CompareAndJump(comparison) => {
            let [left, right, label] = context.operands(tree)?;
            let (left, right) = (context.value(left)?, context.value(right)?);
            let label = label_name(label)?;
            let branch = Operation::BranchIf { comparison, ty: Type::UNTYPED, left, right, target };
            context.thread.emit_jump(branch, label);
        }
        Kind::Exit => {
            let [] = context.operands(tree)?;
            context.thread.emit(Operation::Exit);
        }
        Kind::Trap => {
            let [] = context.operands(tree)?;
            context.thread.emit(Operation::Trap);
        }
        _ => return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree))),
    }
    Ok(())
}

fn label_name(operand: &Spanned<TreeOperand>) -> Result<Spanned<ShortText>, Refusal> {
    match &operand.node {
        TreeOperand::Symbol(name) => Ok(Spanned::new(name.clone(), operand.span)),
        _ => Err(Refusal::Error(Diagnostic::error(operand.span, "a branch needs a label").label("not a label"))),
    }
}

/// The instruction's type; real PTX without one is taken as `.u32` like an untyped access.
fn one_type(context: &Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<Type, Refusal> {
    match (modifiers.types.as_slice(), context.dialect) {
        ([ty], _) => Ok(*ty),
        ([], Dialect::Ptx) => Ok(Type::U32),
        ([], _) => Ok(Type::UNTYPED),
        _ => Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree))),
    }
}

/// The instruction's type, its immediates compared with it.
fn immediate_type(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<Type, Refusal> {
    let ty = one_type(context, tree, modifiers)?;
    context.immediates(tree, ty);
    Ok(ty)
}

fn assign(
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

/// The operand brought into `ty`, in a register of our own. A number stays one: what it makes constant is seen.
fn converted(context: &mut Context<'_>, operand: Operand, ty: Type) -> Operand {
    if let Operand::Constant(value) = operand {
        return Operand::Constant(ty.wrap(value));
    }
    let destination = context.thread.temporary(ty);
    let value = LocalValue::Unary(UnaryOperator::Convert, operand);
    context.thread.emit(Operation::Local { destination, ty, value });
    Operand::Register(destination)
}

/// `mul.lo` keeps the type; `mul.hi` is the other half; `mul.wide` reads narrow operands and gives twice the
/// width.
fn product(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    left: &Spanned<TreeOperand>,
    right: &Spanned<TreeOperand>,
) -> Result<(Type, LocalValue), Refusal> {
    let ty = one_type(context, tree, modifiers)?;
    // The addend of `mad.wide` is wider than these.
    [left, right].into_iter().for_each(|operand| context.immediate(tree, operand, ty));
    let (left, right) = (context.value(left)?, context.value(right)?);
    match modifiers.part {
        Some(Part::Wide) => {}
        Some(Part::High) => return Ok((ty, LocalValue::Binary(BinaryOperator::MultiplyHigh, left, right))),
        _ => return Ok((ty, LocalValue::Binary(BinaryOperator::Multiply, left, right))),
    }
    if ty.bits > 32 {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    }
    let (left, right) = (converted(context, left, ty), converted(context, right, ty));
    Ok((Type { bits: ty.bits * 2, ..ty }, LocalValue::Binary(BinaryOperator::Multiply, left, right)))
}

fn multiply_add(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let [destination, left, right, addend] = context.operands(tree)?;
    let (ty, value) = product(context, tree, modifiers, left, right)?;
    let addend = context.value(addend)?;
    let partial = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination: partial, ty, value });
    let sum = LocalValue::Binary(BinaryOperator::Add, Operand::Register(partial), addend);
    assign(context, destination, ty, sum)
}

fn set_predicate(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let ty = immediate_type(context, tree, modifiers)?;
    let Some(comparison) = modifiers.comparison else {
        let message = "`setp` does not say what it compares";
        return Err(Refusal::Error(Diagnostic::error(tree.opcode.span, message).help("add `.eq`, `.ne`, `.lt`, …")));
    };
    let unsigned = tree.modifiers.iter().find(|word| matches!(word.node.as_str(), "lo" | "ls" | "hi" | "hs"));
    if let Some(word) = unsigned.filter(|_| ty.signed) {
        let error = Diagnostic::error(word.span, format!("`.{}` compares unsigned numbers", word.node));
        let help = "write `.lt`, `.le`, `.gt` or `.ge`, or an unsigned type";
        return Err(Refusal::Error(error.label("of a signed type").help(help)));
    }
    let (destination, left, right, other) = match (tree.operands.as_slice(), modifiers.boolean) {
        ([destination, left, right], None) => (destination, left, right, None),
        ([destination, left, right, other], Some(boolean)) => (destination, left, right, Some((boolean, other))),
        _ => {
            let message = format!("{} has the wrong number of operands", modifier::spelled(tree));
            return Err(wrong_number(tree, message));
        }
    };
    let (left, right) = (context.value(left)?, context.value(right)?);
    let other = other.map(|(boolean, other)| Ok((boolean, predicate(context, other)?))).transpose()?;
    let compared = LocalValue::Binary(operator(comparison), left, right);
    // `%p|%q`: the second gets the same of the comparison's opposite (PTX ISA 9.7.7.2).
    let (first, second) = match &destination.node {
        TreeOperand::Pair(first, second) => (&**first, Some(&**second)),
        _ => (destination, None),
    };
    if second.is_none() && other.is_none() {
        return to_predicate(context, first, ty, compared);
    }
    let holds = context.thread.temporary(Type::PREDICATE);
    context.thread.emit(Operation::Local { destination: holds, ty, value: compared });
    let fails = context.thread.temporary(Type::PREDICATE);
    let value = LocalValue::Unary(UnaryOperator::Not, Operand::Register(holds));
    context.thread.emit(Operation::Local { destination: fails, ty: Type::PREDICATE, value });
    for (destination, own) in [(Some(first), holds), (second, fails)] {
        let Some(destination) = destination else { continue };
        let own = Operand::Register(own);
        let value = match other {
            Some((boolean, other)) => LocalValue::Binary(boolean, own, other),
            None => LocalValue::Operand(own),
        };
        to_predicate(context, destination, Type::PREDICATE, value)?;
    }
    Ok(())
}

fn to_predicate(
    context: &mut Context<'_>,
    destination: &Spanned<TreeOperand>,
    ty: Type,
    value: LocalValue,
) -> Result<(), Refusal> {
    if let Some(destination) = context.destination(destination, Type::PREDICATE)? {
        context.thread.emit(Operation::Local { destination, ty, value });
    }
    Ok(())
}

/// A predicate that is read, `%p` or `!%p`.
pub(crate) fn predicate(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
    let TreeOperand::Negated(inner) = &operand.node else { return context.value(operand) };
    let value = LocalValue::Unary(UnaryOperator::Not, context.value(inner)?);
    let destination = context.thread.temporary(Type::PREDICATE);
    context.thread.emit(Operation::Local { destination, ty: Type::PREDICATE, value });
    Ok(Operand::Register(destination))
}

pub(crate) fn operator(comparison: Comparison) -> BinaryOperator {
    match comparison {
        Comparison::Equal => BinaryOperator::Equal,
        Comparison::NotEqual => BinaryOperator::NotEqual,
        Comparison::Less => BinaryOperator::Less,
        Comparison::LessEqual => BinaryOperator::LessEqual,
        Comparison::Greater => BinaryOperator::Greater,
        Comparison::GreaterEqual => BinaryOperator::GreaterEqual,
    }
}

/// `cvt.to.from`: read in the source type, then brought into the destination's.
fn convert(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let [to, from] = modifiers.types.as_slice() else {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    };
    context.immediates(tree, *from);
    let [destination, source] = context.operands(tree)?;
    let source = context.value(source)?;
    let narrow = converted(context, source, *from);
    let value = LocalValue::Unary(UnaryOperator::Convert, narrow);
    assign(context, destination, *to, value)
}
