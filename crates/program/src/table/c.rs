//! What C statements do: plain accesses, which are not atomic unless their type is, and calls of the library
//! (`c_atomic`).
//!
//! Values are computed in their own type and converted to that of the variable they go to; variables are registers, pointers are names of locations.

use fencepost_syntax::c::{Binary, Expression, Statement, Unary};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::lower::{Context, Refusal};
use crate::program::{AddressOperand, CodeIndex, LocalValue, Operand, Operation, Scope};
use crate::table::{c_atomic, c_sequence};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

/// The type of a variable or a location; `atomic_int` is an `int` that is accessed atomically.
pub(crate) fn ty(name: &str) -> Type {
    match name.strip_prefix("atomic_").unwrap_or(name) {
        "unsigned" | "uint" | "uint32_t" => Type::U32,
        "long" | "int64_t" => Type::S64,
        "ulong" | "uint64_t" => Type::U64,
        _ => Type::S32,
    }
}

fn is_bool(name: &str) -> bool {
    matches!(name, "bool" | "atomic_bool")
}

pub(crate) fn lower(context: &mut Context<'_>, statement: &Spanned<Statement>) -> Result<(), Refusal> {
    context.thread.at(statement.span);
    match &statement.node {
        Statement::Declare { ty, name, value } => declare(context, ty, name, value.as_ref()),
        Statement::Assign { target, value } => assignment(context, target, value),
        Statement::Call(call) => {
            c_sequence::check(context, call).and_then(|()| evaluate(context, call, Type::S32)).map(|_| ())
        }
        Statement::If { condition, then, otherwise } => {
            let (past, end) = (context.thread.fresh_label(), context.thread.fresh_label());
            leave_unless(context, condition, &past)?;
            block(context, then)?;
            if !otherwise.is_empty() {
                jump(context, &end, statement.span);
            }
            context.place(&past, statement.span);
            block(context, otherwise)?;
            context.place(&end, statement.span);
            Ok(())
        }
        Statement::While { condition, body } => {
            let (start, end) = (context.thread.fresh_label(), context.thread.fresh_label());
            // Tested at the end: what an iteration computes is then dead where the next begins, and a loop that only waits
            // is seen to be one.
            leave_unless(context, condition, &end)?;
            context.place(&start, statement.span);
            block(context, body)?;
            let value = whether(context, condition)?;
            branch(context, Comparison::NotEqual, value, &start, condition.span);
            context.place(&end, statement.span);
            Ok(())
        }
        Statement::For { first, condition, step, body } => {
            context.thread.enter_block();
            let lowered =
                for_loop(context, (first.as_deref(), condition.as_ref(), step.as_deref()), body, statement.span);
            context.thread.leave_block();
            lowered
        }
        Statement::DoWhile { body, condition } => {
            let start = context.thread.fresh_label();
            context.place(&start, statement.span);
            block(context, body)?;
            let value = whether(context, condition)?;
            branch(context, Comparison::NotEqual, value, &start, condition.span);
            Ok(())
        }
    }
}

fn declare(
    context: &mut Context<'_>,
    name: &Spanned<String>,
    variable: &Spanned<String>,
    value: Option<&Spanned<Expression>>,
) -> Result<(), Refusal> {
    if context.names.get(&variable.node).is_some() {
        let message = format!("`{}` is a location already", variable.node);
        return Err(Refusal::error(variable.span, message));
    }
    let Some(destination) = context.thread.declare(&variable.node, ty(&name.node)) else {
        let error = Diagnostic::error(variable.span, format!("`{}` is declared in this block already", variable.node));
        let help = format!("write `{} = …;` to assign to it, or take another name", variable.node);
        return Err(Refusal::Error(error.label("again").help(help)));
    };
    if is_bool(&name.node) {
        context.thread.make_boolean(destination);
    }
    match value {
        Some(value) => assign(context, destination, value),
        None => Ok(()),
    }
}

type Head<'h> = (Option<&'h Spanned<Statement>>, Option<&'h Spanned<Expression>>, Option<&'h Spanned<Statement>>);

/// As `first; while (condition) { body; step; }` (C11 6.8.5.3).
fn for_loop(
    context: &mut Context<'_>,
    (first, condition, step): Head<'_>,
    body: &[Spanned<Statement>],
    span: Span,
) -> Result<(), Refusal> {
    if let Some(first) = first {
        lower(context, first)?;
    }
    let (start, end) = (context.thread.fresh_label(), context.thread.fresh_label());
    if let Some(condition) = condition {
        leave_unless(context, condition, &end)?;
    }
    context.place(&start, span);
    block(context, body)?;
    if let Some(step) = step {
        lower(context, step)?;
    }
    match condition {
        Some(condition) => {
            let value = whether(context, condition)?;
            branch(context, Comparison::NotEqual, value, &start, condition.span);
        }
        None => jump(context, &start, span),
    }
    context.place(&end, span);
    Ok(())
}

fn block(context: &mut Context<'_>, body: &[Spanned<Statement>]) -> Result<(), Refusal> {
    context.thread.enter_block();
    let lowered = body.iter().try_for_each(|statement| lower(context, statement));
    context.thread.leave_block();
    lowered
}

fn jump(context: &mut Context<'_>, label: &str, span: Span) {
    context.thread.emit_jump(Operation::Branch { target: CodeIndex(0) }, Spanned::new(label.to_owned(), span));
}

/// Jumps if the value compares so with zero.
fn branch(context: &mut Context<'_>, comparison: Comparison, value: Operand, label: &str, span: Span) {
    let right = Operand::Constant(Value(0));
    let operation = Operation::BranchIf { comparison, ty: Type::S64, left: value, right, target: CodeIndex(0) };
    context.thread.emit_jump(operation, Spanned::new(label.to_owned(), span));
}

/// A condition, to be compared with zero.
fn whether(context: &mut Context<'_>, condition: &Spanned<Expression>) -> Result<Operand, Refusal> {
    c_sequence::check(context, condition)?;
    let own = natural(context, &condition.node);
    evaluate(context, condition, own)
}

fn leave_unless(context: &mut Context<'_>, condition: &Spanned<Expression>, label: &str) -> Result<(), Refusal> {
    let value = whether(context, condition)?;
    branch(context, Comparison::Equal, value, label, condition.span);
    Ok(())
}

fn assign(
    context: &mut Context<'_>,
    destination: crate::ids::RegisterId,
    value: &Spanned<Expression>,
) -> Result<(), Refusal> {
    c_sequence::check(context, value)?;
    let ty = context.thread.register_type(destination);
    let value =
        if context.thread.is_boolean(destination) { truth(context, value)? } else { evaluate(context, value, ty)? };
    context.thread.emit(Operation::Local { destination, ty, value: LocalValue::Operand(value) });
    Ok(())
}

fn assignment(
    context: &mut Context<'_>,
    target: &Spanned<Expression>,
    value: &Spanned<Expression>,
) -> Result<(), Refusal> {
    match &target.node {
        Expression::Name(name) => match context.thread.find(name) {
            Some(register) => assign(context, register, value),
            None if context.names.get(name).is_some() => {
                let message = format!("`{name}` is a pointer to a location");
                let help = format!("write `*{name} = …`, or use atomic_store");
                Err(Refusal::Error(Diagnostic::error(target.span, message).help(help)))
            }
            None => Err(undeclared(context, name, target.span)),
        },
        Expression::Dereference(_) | Expression::Index(..) => {
            c_sequence::check_assignment(context, target, value)?;
            let place = place(context, target)?;
            let value = place.converted(context, value)?;
            let (tag, scope) = place.plain();
            store(context, place, value, tag, scope);
            Ok(())
        }
        _ => Err(Refusal::error(target.span, "this cannot be assigned to")),
    }
}

fn undeclared(context: &Context<'_>, name: &str, span: Span) -> Refusal {
    let (message, help) = if context.thread.had(name) {
        (format!("`{name}` is not declared here: its block has ended"), format!("declare `{name}` before the block"))
    } else {
        (format!("`{name}` is not declared"), format!("write `int {name} = …;`"))
    };
    Refusal::Error(Diagnostic::error(span, message).help(help))
}

/// What a pointer points to.
pub(super) struct Pointee {
    pub(super) address: AddressOperand,
    pub(super) ty: Type,
    is_atomic: bool,
    pub(super) is_bool: bool,
}

impl Pointee {
    /// A value as this place holds it.
    pub(super) fn converted(&self, context: &mut Context<'_>, value: &Spanned<Expression>) -> Result<Operand, Refusal> {
        if self.is_bool { truth(context, value) } else { evaluate(context, value, self.ty) }
    }

    /// A plain access of an atomic object is one of the strongest order (C11 6.2.6.1, 6.5.16).
    fn plain(&self) -> (Tag, Option<Scope>) {
        if self.is_atomic { (Tag::Sc, Some(Scope::Sys)) } else { (Tag::NonAtomic, None) }
    }
}

/// What `*x` or `x[1]` is.
fn place(context: &mut Context<'_>, item: &Spanned<Expression>) -> Result<Pointee, Refusal> {
    match &item.node {
        Expression::Dereference(pointer) => pointee(context, pointer),
        Expression::Index(array, index) => element(context, array, index),
        _ => Err(Refusal::error(item.span, "this is no place in memory")),
    }
}

/// What a pointer points to: `x`, `&x[1]`.
pub(super) fn pointee(context: &mut Context<'_>, pointer: &Spanned<Expression>) -> Result<Pointee, Refusal> {
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

fn named(context: &mut Context<'_>, pointer: &Spanned<Expression>, offset: i128) -> Result<Pointee, Refusal> {
    let Expression::Name(name) = &pointer.node else {
        return Err(Refusal::Unsupported(pointer.span, "a pointer that is computed".to_owned()));
    };
    if context.thread.find(name).is_some() {
        return Err(Refusal::Unsupported(pointer.span, "a pointer in a variable".to_owned()));
    }
    if context.thread.parameter(name).is_none() && context.names.get(name).is_none() {
        let message = format!("`{name}` is no parameter of {} and no declared location", context.thread.name());
        let help = format!("add `atomic_int* {name}` to the parameters");
        return Err(Refusal::Error(Diagnostic::error(pointer.span, message).help(help)));
    }
    let viewer = context.thread.viewer();
    let address = context.names.address(name, offset, viewer, pointer.span)?;
    let (ty, is_atomic, is_bool) = match context.thread.parameter(name) {
        Some(declared) => (ty(declared), declared.starts_with("atomic_"), is_bool(declared)),
        None => (context.names.declared_type(address).unwrap_or(Type::S32), false, false),
    };
    Ok(Pointee { address: AddressOperand::Static(address), ty, is_atomic, is_bool })
}

pub(super) fn load(context: &mut Context<'_>, place: Pointee, tag: Tag, scope: Option<Scope>) -> Operand {
    let Pointee { address, ty, .. } = place;
    let destination = context.thread.temporary(ty);
    let tags = Tags::from_iter([Tag::Read, tag]);
    context.thread.emit(Operation::Load { destination: Some(destination), address, ty, tags, scope, assume: None });
    Operand::Register(destination)
}

pub(super) fn store(context: &mut Context<'_>, place: Pointee, value: Operand, tag: Tag, scope: Option<Scope>) {
    let Pointee { address, ty, .. } = place;
    let tags = Tags::from_iter([Tag::Write, tag]);
    context.thread.emit(Operation::Store { address, value, ty, tags, scope });
}

pub(super) fn local(context: &mut Context<'_>, ty: Type, value: LocalValue) -> Operand {
    let destination = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination, ty, value });
    Operand::Register(destination)
}

/// Whether an expression is not zero in its own type: as a `bool` (C11 6.3.1.2), as a condition.
fn truth(context: &mut Context<'_>, item: &Spanned<Expression>) -> Result<Operand, Refusal> {
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
pub(super) fn evaluate(context: &mut Context<'_>, item: &Spanned<Expression>, ty: Type) -> Result<Operand, Refusal> {
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
        Expression::Call { function, arguments } => c_atomic::call(context, function, arguments),
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
fn natural(context: &Context<'_>, item: &Expression) -> Type {
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
