//! Expressions of C, evaluated in their types (C11 6.3.1, 6.5). What they may leave open about the order of their parts is
//! refused by `sequence` before.

use fencepost_syntax::c::{Binary, Expression, Unary};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, CodeIndex, FailedCas, LocalValue, Operand, Operation, Update};
use crate::table::c::atomic::{Call, Function, Strength};
use crate::table::c::place::{Pointee, load, local, named, store, ty};
use crate::tag::{Tag, Tags};
use crate::value::expression::{BinaryOperator, UnaryOperator};
use crate::value::{Type, Value};

/// Jumps if the value compares so with zero.
pub(crate) fn branch(context: &mut Context<'_>, comparison: Comparison, value: Operand, label: &str, span: Span) {
    let right = Operand::Constant(Value(0));
    let operation = Operation::BranchIf { comparison, ty: Type::S64, left: value, right, target: CodeIndex(0) };
    context.thread.emit_jump(operation, Spanned::new(label.into(), span));
}

pub(crate) fn undeclared(context: &Context<'_>, name: &str, span: Span) -> Refusal {
    let (message, help) = if context.thread.had(name) {
        (format!("`{name}` is not declared here: its block has ended"), format!("declare `{name}` before the block"))
    } else {
        (format!("`{name}` is not declared"), format!("write `int {name} = …;`"))
    };
    Refusal::Error(Diagnostic::error(span, message).help(help))
}

/// A value as this place holds it.
pub(crate) fn held(
    context: &mut Context<'_>,
    place: &Pointee,
    value: &Spanned<Expression>,
) -> Result<Operand, Refusal> {
    if place.is_bool { truth(context, value) } else { evaluate(context, value, place.ty) }
}

/// What `*x` or `x[1]` is.
pub(crate) fn place(context: &mut Context<'_>, item: &Spanned<Expression>) -> Result<Pointee, Refusal> {
    match &item.node {
        Expression::Dereference(pointer) => pointee(context, pointer),
        Expression::Index(array, index) => element(context, array, index),
        _ => Err(Refusal::error(item.span, "this is no place in memory")),
    }
}

/// What a pointer points to: `x`, `&x[1]`.
fn pointee(context: &mut Context<'_>, pointer: &Spanned<Expression>) -> Result<Pointee, Refusal> {
    if let Expression::AddressOf(inner) = &pointer.node
        && let Expression::Index(array, index) = &inner.node
    {
        return element(context, array, index);
    }
    named(context, pointer, 0)
}

/// An element of an array. A constant index is an address; another is computed, and the elements it may be are tried.
fn element(
    context: &mut Context<'_>,
    array: &Spanned<Expression>,
    index: &Spanned<Expression>,
) -> Result<Pointee, Refusal> {
    let step = match &array.node {
        Expression::Name(name) => context.names.get(name).map(|name| name.step),
        _ => None,
    };
    let step = step.unwrap_or(1);
    if let Expression::Integer(number) = index.node {
        let Some(offset) = number.checked_mul(step) else {
            return Err(Refusal::error(index.span, "this is no index of the array"));
        };
        return named(context, array, offset);
    }
    let first = named(context, array, 0)?;
    let AddressOperand::Static(start) = first.address else { return Ok(first) };
    let index = evaluate(context, index, Type::S64)?;
    let step = Operand::Constant(Value(step));
    let offset = local(context, Type::S64, LocalValue::Binary(BinaryOperator::Multiply, index, step));
    let destination = context.thread.temporary(Type::S64);
    let value = LocalValue::Binary(BinaryOperator::Add, Operand::Address(start), offset);
    context.thread.emit(Operation::Local { destination, ty: Type::S64, value });
    Ok(Pointee { address: AddressOperand::Register(destination), ..first })
}

/// Whether an expression is not zero in its own type: as a `bool` (C11 6.3.1.2), as a condition.
pub(crate) fn truth(context: &mut Context<'_>, item: &Spanned<Expression>) -> Result<Operand, Refusal> {
    compared_with_zero(context, item, BinaryOperator::NotEqual)
}

fn compared_with_zero(
    context: &mut Context<'_>,
    item: &Spanned<Expression>,
    comparison: BinaryOperator,
) -> Result<Operand, Refusal> {
    let own = natural(context, &item.node);
    let value = evaluate(context, item, own)?;
    Ok(local(context, own, LocalValue::Binary(comparison, value, Operand::Constant(Value(0)))))
}

/// The value of an expression, computed in a type.
pub(crate) fn evaluate(context: &mut Context<'_>, item: &Spanned<Expression>, ty: Type) -> Result<Operand, Refusal> {
    match &item.node {
        Expression::Integer(value) => Ok(Operand::Constant(ty.wrap(Value(*value)))),
        Expression::Name(name) => match context.thread.find(name) {
            Some(register) => Ok(Operand::Register(register)),
            None if context.names.get(name).is_some() => {
                let message = format!("`{name}` is a pointer to a location, not a value");
                let help = format!("write `*{name}`, or use atomic_load");
                Err(Refusal::Error(Diagnostic::error(item.span, message).help(help)))
            }
            None => Err(undeclared(context, name, item.span)),
        },
        Expression::Dereference(_) | Expression::Index(..) => {
            let place = place(context, item)?;
            let (tag, scope) = place.plain();
            Ok(load(context, place, tag, scope))
        }
        Expression::AddressOf(_) => Err(Refusal::error(item.span, "an address stands only where a function wants it")),
        Expression::Unary(Unary::IsZero, inner) => compared_with_zero(context, inner, BinaryOperator::Equal),
        Expression::Unary(operator, inner) => {
            let own = natural(context, &inner.node);
            let inner = evaluate(context, inner, own)?;
            let operator = if *operator == Unary::Negate { UnaryOperator::Negate } else { UnaryOperator::Not };
            let value = local(context, own, LocalValue::Unary(operator, inner));
            Ok(converted(context, value, own, ty))
        }
        Expression::Binary(operator @ (Binary::And | Binary::Or), left, right) => {
            short_circuit(context, *operator, left, right)
        }
        Expression::Binary(operator @ (Binary::ShiftLeft | Binary::ShiftRight), left, right) => {
            shift(context, *operator, (left, right), ty)
        }
        Expression::Binary(operator, left, right) => {
            // In the common type of the sides, whatever the result goes to (C11 6.5.5 to 6.5.12).
            let own = common(natural(context, &left.node), natural(context, &right.node));
            let (left, right) = (evaluate(context, left, own)?, evaluate(context, right, own)?);
            let value = local(context, own, LocalValue::Binary(arithmetic(*operator), left, right));
            Ok(if is_comparison(*operator) { value } else { converted(context, value, own, ty) })
        }
        Expression::Call { function, arguments } => atomic(context, &Call::read(function, arguments)?),
    }
}

/// In the type of the left side (C11 6.5.7). An amount that is no bit of it is undefined there: of a constant it is an
/// error, of another it is as on the device, which clamps it to the width.
fn shift(
    context: &mut Context<'_>,
    operator: Binary,
    (left, right): (&Spanned<Expression>, &Spanned<Expression>),
    ty: Type,
) -> Result<Operand, Refusal> {
    let own = natural(context, &left.node);
    if let Expression::Integer(amount) = right.node
        && !(0..i128::from(own.bits)).contains(&amount)
    {
        let message = format!("a shift of {} bits by {amount} is undefined (C11 6.5.7)", own.bits);
        return Err(Refusal::error(right.span, message));
    }
    let amount = natural(context, &right.node);
    let (left, right) = (evaluate(context, left, own)?, evaluate(context, right, amount)?);
    let value = local(context, own, LocalValue::Binary(arithmetic(operator), left, right));
    Ok(converted(context, value, own, ty))
}

/// A value of one type in another.
fn converted(context: &mut Context<'_>, value: Operand, from: Type, to: Type) -> Operand {
    if from == to { value } else { local(context, to, LocalValue::Operand(value)) }
}

fn is_comparison(operator: Binary) -> bool {
    use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(operator, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

/// The usual arithmetic conversions (C11 6.3.1.8): the wider type, and of two equally wide ones the unsigned.
fn common(left: Type, right: Type) -> Type {
    match left.bits.cmp(&right.bits) {
        std::cmp::Ordering::Less => right,
        std::cmp::Ordering::Greater => left,
        std::cmp::Ordering::Equal => Type { signed: left.signed && right.signed, ..left },
    }
}

/// The type an expression has by itself.
pub(crate) fn natural(context: &Context<'_>, item: &Expression) -> Type {
    match item {
        Expression::Integer(value) if Type::S32.fits(Value(*value)) => Type::S32,
        Expression::Integer(_) => Type::S64,
        Expression::Name(name) => match (context.thread.find(name), context.thread.parameter(name)) {
            (Some(register), _) => context.thread.register_type(register),
            (None, Some(declared)) => ty(declared),
            (None, None) => context.names.get(name).and_then(|name| name.ty).unwrap_or(Type::S32),
        },
        Expression::Unary(Unary::IsZero, _) => Type::S32,
        Expression::Dereference(inner)
        | Expression::AddressOf(inner)
        | Expression::Unary(_, inner)
        | Expression::Index(inner, _)
        | Expression::Binary(Binary::ShiftLeft | Binary::ShiftRight, inner, _) => natural(context, &inner.node),
        Expression::Binary(operator, ..) if is_comparison(*operator) => Type::S32,
        Expression::Binary(Binary::And | Binary::Or, ..) => Type::S32,
        Expression::Binary(_, left, right) => common(natural(context, &left.node), natural(context, &right.node)),
        // An exchange that compares gives 0 or 1, which every type holds.
        Expression::Call { arguments, .. } => {
            arguments.first().map_or(Type::S32, |pointer| natural(context, &pointer.node))
        }
    }
}

fn arithmetic(operator: Binary) -> BinaryOperator {
    match operator {
        Binary::BitOr | Binary::Or => BinaryOperator::Or,
        Binary::BitAnd | Binary::And => BinaryOperator::And,
        Binary::BitXor => BinaryOperator::Xor,
        Binary::ShiftLeft => BinaryOperator::ShiftLeft,
        Binary::ShiftRight => BinaryOperator::ShiftRight,
        Binary::Equal => BinaryOperator::Equal,
        Binary::NotEqual => BinaryOperator::NotEqual,
        Binary::Less => BinaryOperator::Less,
        Binary::LessEqual => BinaryOperator::LessEqual,
        Binary::Greater => BinaryOperator::Greater,
        Binary::GreaterEqual => BinaryOperator::GreaterEqual,
        Binary::Add => BinaryOperator::Add,
        Binary::Subtract => BinaryOperator::Subtract,
        Binary::Multiply => BinaryOperator::Multiply,
    }
}

/// The right side is evaluated only if the left does not decide (C11 6.5.13).
fn short_circuit(
    context: &mut Context<'_>,
    operator: Binary,
    left: &Spanned<Expression>,
    right: &Spanned<Expression>,
) -> Result<Operand, Refusal> {
    let ty = Type::S32;
    let result = context.thread.temporary(ty);
    let settle = |context: &mut Context<'_>, value: Operand| {
        context.thread.emit(Operation::Local { destination: result, ty, value: LocalValue::Operand(value) });
    };
    let first = truth(context, left)?;
    settle(context, first);
    let end = context.thread.fresh_label();
    let decided = if operator == Binary::And { Comparison::Equal } else { Comparison::NotEqual };
    branch(context, decided, Operand::Register(result), &end, left.span);
    let second = truth(context, right)?;
    settle(context, second);
    context.place(&end, right.span);
    Ok(Operand::Register(result))
}

/// A call of the atomic library.
fn atomic(context: &mut Context<'_>, call: &Call<'_>) -> Result<Operand, Refusal> {
    let nothing = Operand::Constant(Value(0));
    let scope = Some(call.scope);
    let [first, rest @ ..] = call.values else {
        call.fence(context);
        return Ok(nothing);
    };
    let place = pointee(context, first)?;
    let ty = place.ty;
    match (call.kind, rest) {
        (Function::Load, _) => {
            let tag = call.order.of_read().ok_or_else(|| call.bad_order("a load"))?;
            Ok(load(context, place, tag, scope))
        }
        (Function::Store, [value]) => {
            let tag = call.order.of_write().ok_or_else(|| call.bad_order("a store"))?;
            let value = held(context, &place, value)?;
            store(context, place, value, tag, scope);
            Ok(nothing)
        }
        (Function::Init, [value]) => {
            let value = held(context, &place, value)?;
            store(context, place, value, Tag::NonAtomic, None);
            Ok(nothing)
        }
        (Function::Exchange, [value]) => {
            let value = held(context, &place, value)?;
            Ok(call.modify(context, place, Update::Exchange(value)))
        }
        (Function::Fetch(_), _) if place.is_bool => {
            Err(Refusal::error(call.function.span, "a `bool` has no such operation (C11 7.17.7.5)"))
        }
        (Function::Fetch(operator), [value]) => {
            let value = evaluate(context, value, ty)?;
            Ok(call.modify(context, place, Update::Apply(operator, value)))
        }
        (Function::CompareExchange(strength), [expected, new]) => {
            let failing = call.failing_order()?;
            compare(context, call, place, (expected, new), (strength, failing))
        }
        _ => Err(Refusal::error(call.function.span, "the arguments do not fit the function")),
    }
}

/// Gives 1 on success; else the variable of what was expected gets what was found.
fn compare(
    context: &mut Context<'_>,
    call: &Call<'_>,
    place: Pointee,
    (expected, new): (&Spanned<Expression>, &Spanned<Expression>),
    (strength, failing): (Strength, Tag),
) -> Result<Operand, Refusal> {
    let variable = match &expected.node {
        Expression::AddressOf(inner) => match &inner.node {
            Expression::Name(name) => context.thread.find(name),
            _ => None,
        },
        _ => None,
    };
    let Some(variable) = variable else {
        let help = "declare `int e = 0;` and pass `&e`";
        return Err(Refusal::Error(
            Diagnostic::error(expected.span, "this is not the address of a variable").help(help),
        ));
    };
    let ty = place.ty;
    let new = held(context, &place, new)?;
    let wanted = local(context, ty, LocalValue::Operand(Operand::Register(variable)));
    let failed = (strength == Strength::Weak).then(|| context.thread.temporary(Type::S32));
    let tags = Tags::from_iter([Tag::Read, Tag::Atomic, failing]);
    let on_failure = FailedCas::Ordered { tags, failed };
    let old = call.modify(context, place, Update::CompareAndSwap { expected: wanted, new, on_failure });
    let equal = local(context, Type::S32, LocalValue::Binary(BinaryOperator::Equal, old, wanted));
    let success = match failed.map(Operand::Register) {
        Some(condition) => {
            let then = Operand::Constant(Value(0));
            local(context, Type::S32, LocalValue::Select { condition, then, otherwise: equal })
        }
        None => equal,
    };
    context.thread.emit(Operation::Local { destination: variable, ty, value: LocalValue::Operand(old) });
    Ok(success)
}
