//! What C leaves open about the order within one expression (C11 6.5, paragraphs 2 and 3; 6.5.2.2, paragraph 10): operands
//! and arguments are evaluated in any order, only `&&` and `||` evaluate their left side first, and arguments come before
//! the call. An expression whose result may depend on that order is refused: to check one order would miss the others.
//!
//! Two plain reads are no such pair: neither orders anything else.

use fencepost_syntax::c::{Binary, Expression};
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;

/// What evaluating an expression does.
#[derive(Default)]
struct Effects<'e> {
    accesses_memory: bool,
    is_atomic: bool,
    reads: SortedSet<&'e str>,
    /// The variables of what a compare-and-exchange expects.
    writes: SortedSet<&'e str>,
}

impl<'e> Effects<'e> {
    fn and(mut self, other: Effects<'e>) -> Effects<'e> {
        self.accesses_memory |= other.accesses_memory;
        self.is_atomic |= other.is_atomic;
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self
    }

    fn depends_on_order(&self, other: &Effects<'_>) -> bool {
        let in_memory = self.accesses_memory && other.accesses_memory && (self.is_atomic || other.is_atomic);
        let meets = |writes: &SortedSet<&str>, reads: &SortedSet<&str>| writes.iter().any(|name| reads.contains(name));
        in_memory || meets(&self.writes, &other.reads) || meets(&other.writes, &self.reads)
    }
}

/// Refuses a full expression whose parts C does not order.
pub(crate) fn check(context: &Context<'_>, expression: &Spanned<Expression>) -> Result<(), Refusal> {
    effects(context, expression).map(|_| ())
}

/// The same of both sides of an assignment, which C does not order either.
pub(crate) fn check_assignment(
    context: &Context<'_>,
    target: &Spanned<Expression>,
    value: &Spanned<Expression>,
) -> Result<(), Refusal> {
    let index = match &target.node {
        Expression::Index(_, index) => &**index,
        _ => return check(context, value),
    };
    in_any_order(context, [index, value]).map(|_| ())
}

fn effects<'e>(context: &Context<'_>, item: &'e Spanned<Expression>) -> Result<Effects<'e>, Refusal> {
    match &item.node {
        Expression::Integer(_) => Ok(Effects::default()),
        Expression::AddressOf(inner) => match &inner.node {
            Expression::Index(_, index) => effects(context, index),
            _ => Ok(Effects::default()),
        },
        Expression::Index(array, index) => {
            let is_atomic = is_atomic(context, array);
            let access = Effects { accesses_memory: true, is_atomic, ..Effects::default() };
            Ok(effects(context, index)?.and(access))
        }
        Expression::Name(name) => Ok(Effects { reads: SortedSet::from([name.as_str()]), ..Effects::default() }),
        Expression::Dereference(pointer) => {
            let is_atomic = is_atomic(context, pointer);
            let access = Effects { accesses_memory: true, is_atomic, ..Effects::default() };
            match &pointer.node {
                Expression::AddressOf(_) => Ok(effects(context, pointer)?.and(access)),
                _ => Ok(access),
            }
        }
        Expression::Unary(_, inner) => effects(context, inner),
        Expression::Binary(Binary::And | Binary::Or, left, right) => {
            Ok(effects(context, left)?.and(effects(context, right)?))
        }
        Expression::Binary(_, left, right) => in_any_order(context, [&**left, &**right]),
        Expression::Call { arguments, .. } => {
            let before = in_any_order(context, arguments)?;
            let changed = arguments.iter().filter_map(|argument| match &argument.node {
                Expression::AddressOf(inner) => match &inner.node {
                    Expression::Name(name) => Some(name.as_str()),
                    _ => None,
                },
                _ => None,
            });
            let names: SortedSet<&str> = changed.collect();
            Ok(before.and(Effects { accesses_memory: true, is_atomic: true, reads: names.clone(), writes: names }))
        }
    }
}

fn is_atomic(context: &Context<'_>, pointer: &Spanned<Expression>) -> bool {
    match &pointer.node {
        Expression::Name(name) => context.thread.parameter(name).is_some_and(|ty| ty.starts_with("atomic_")),
        Expression::AddressOf(inner) => match &inner.node {
            Expression::Index(array, _) => match &array.node {
                Expression::Name(name) => context.thread.parameter(name).is_some_and(|ty| ty.starts_with("atomic_")),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

fn in_any_order<'e>(
    context: &Context<'_>,
    items: impl IntoIterator<Item = &'e Spanned<Expression>>,
) -> Result<Effects<'e>, Refusal> {
    let mut all = Effects::default();
    for item in items {
        let own = effects(context, item)?;
        if all.depends_on_order(&own) {
            let error = Diagnostic::error(item.span, "this may be evaluated before or after what stands left of it");
            let help = "C does not say which comes first: use two statements";
            return Err(Refusal::Error(error.label("no order").help(help)));
        }
        all = all.and(own);
    }
    Ok(all)
}
