//! What C statements do: plain accesses, which are not atomic unless their type is, and calls of the library
//! ([`atomic`]).
//!
//! Values are computed in their own type and converted to that of the variable they go to; variables are registers, pointers are names of locations.

mod atomic;
mod expression;
mod place;
mod sequence;

use fencepost_syntax::c::{Expression, Statement};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{CodeIndex, LocalValue, Operand, Operation};
use crate::table::c::expression::{branch, evaluate, held, natural, place, truth, undeclared};
use crate::table::c::place::{is_bool, store, ty};
use crate::value::Type;

pub(crate) fn lower(context: &mut Context<'_>, statement: &Spanned<Statement>) -> Result<(), Refusal> {
    context.thread.at(statement.span);
    match &statement.node {
        Statement::Declare { ty, name, value } => declare(context, ty, name, value.as_ref()),
        Statement::Assign { target, value } => assignment(context, target, value),
        Statement::Call(call) => {
            sequence::check(context, call).and_then(|()| evaluate(context, call, Type::S32)).map(|_| ())
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
    context.thread.emit_jump(Operation::Branch { target: CodeIndex(0) }, Spanned::new(label.into(), span));
}

/// A condition, to be compared with zero.
fn whether(context: &mut Context<'_>, condition: &Spanned<Expression>) -> Result<Operand, Refusal> {
    sequence::check(context, condition)?;
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
    sequence::check(context, value)?;
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
            sequence::check_assignment(context, target, value)?;
            let place = place(context, target)?;
            let value = held(context, &place, value)?;
            let (tag, scope) = place.plain();
            store(context, place, value, tag, scope);
            Ok(())
        }
        _ => Err(Refusal::error(target.span, "this cannot be assigned to")),
    }
}
