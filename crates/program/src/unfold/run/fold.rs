//! Constant folding, and the few identities that make an operation constant (`xor r, r`). Dependencies are tracked beside
//! the values, so that folding loses none: only where a model asks for real ones does an operand that can never matter
//! carry none, because an implementation may remove what is a dependency in name only (PTX ISA 8.10.4).

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::EventId;
use crate::program::{LocalValue, Operand};
use crate::unfold::Dependencies;
use crate::value::expression::{BinaryOperator, Expression, UnaryOperator};
use crate::value::{Type, Value};

/// The operands that the result depends on, whatever their values are.
pub(crate) fn mattering(value: &LocalValue, dependencies: Dependencies) -> Vec<Operand> {
    use BinaryOperator as Op;
    let zero = Operand::Constant(Value(0));
    match *value {
        LocalValue::Binary(_, left, right) if dependencies == Dependencies::Syntactic => vec![left, right],
        LocalValue::Select { condition, then, otherwise } if dependencies == Dependencies::Syntactic => {
            vec![condition, then, otherwise]
        }
        LocalValue::Operand(source) | LocalValue::Unary(_, source) => vec![source],
        LocalValue::Binary(Op::Subtract | Op::Xor, left, right) if left == right => Vec::new(),
        LocalValue::Binary(
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual,
            left,
            right,
        ) if left == right => Vec::new(),
        LocalValue::Binary(Op::And | Op::Multiply | Op::MultiplyHigh, left, right) if left == zero || right == zero => {
            Vec::new()
        }
        LocalValue::Binary(_, left, right) => vec![left, right],
        LocalValue::Select { then, otherwise, .. } if then == otherwise => vec![then],
        LocalValue::Select { condition, then, otherwise } => vec![condition, then, otherwise],
    }
}

pub(crate) fn binary(operator: BinaryOperator, ty: Type, left: Expression, right: Expression) -> Expression {
    use BinaryOperator as Op;
    // What has no model must not become a number.
    if let (Expression::Constant(left), Expression::Constant(right)) = (&left, &right)
        && operator != Op::Opaque
    {
        return Expression::Constant(operator.apply(ty, *left, *right));
    }
    if left == right {
        match operator {
            Op::Subtract | Op::Xor | Op::NotEqual | Op::Less | Op::Greater => return Expression::constant(0),
            Op::Equal | Op::LessEqual | Op::GreaterEqual => return Expression::constant(1),
            Op::And | Op::Or | Op::Minimum | Op::Maximum => return convert(ty, left),
            _ => {}
        }
    }
    let zero = Expression::constant(0);
    match operator {
        Op::And | Op::Multiply | Op::MultiplyHigh if left == zero || right == zero => zero,
        Op::Add | Op::Or | Op::Xor if left == zero => convert(ty, right),
        Op::Add | Op::Or | Op::Xor | Op::Subtract | Op::ShiftLeft | Op::ShiftRight if right == zero => {
            convert(ty, left)
        }
        _ => Expression::Binary(operator, ty, Box::new(left), Box::new(right)),
    }
}

pub(crate) fn unary(operator: UnaryOperator, ty: Type, operand: Expression) -> Expression {
    match (operator, operand) {
        (operator, Expression::Constant(value)) => Expression::Constant(operator.apply(ty, value)),
        (UnaryOperator::Convert, operand) => convert(ty, operand),
        (operator, operand) => Expression::Unary(operator, ty, Box::new(operand)),
    }
}

/// Brings a value into a type; nothing to do where the expression's own type says it is there.
pub(crate) fn convert(ty: Type, operand: Expression) -> Expression {
    let already = match &operand {
        _ if ty.bits == 0 => true,
        Expression::Binary(operator, own, ..) => *own == ty || is_comparison(*operator),
        Expression::Unary(_, own, _) => *own == ty,
        _ => false,
    };
    match operand {
        Expression::Constant(value) => Expression::Constant(ty.wrap(value)),
        operand if already => operand,
        operand => Expression::Unary(UnaryOperator::Convert, ty, Box::new(operand)),
    }
}

pub(crate) fn select(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    match condition {
        Expression::Constant(value) => {
            if value == Value(0) {
                otherwise
            } else {
                then
            }
        }
        _ if then == otherwise => then,
        condition => Expression::Select(Box::new(condition), Box::new(then), Box::new(otherwise)),
    }
}

/// "The expression is not zero", as a constraint.
pub(crate) fn is_true(expression: Expression) -> Expression {
    match &expression {
        Expression::Binary(operator, ..) if is_comparison(*operator) => expression,
        _ => binary(BinaryOperator::NotEqual, Type::UNTYPED, expression, Expression::constant(0)),
    }
}

/// "The expression is zero", as a constraint.
pub(crate) fn is_false(expression: Expression) -> Expression {
    match expression {
        Expression::Binary(operator, ty, left, right) if is_comparison(operator) => {
            binary(inverse(operator), ty, *left, *right)
        }
        other => binary(BinaryOperator::Equal, Type::UNTYPED, other, Expression::constant(0)),
    }
}

fn is_comparison(operator: BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(operator, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
}

fn inverse(comparison: BinaryOperator) -> BinaryOperator {
    use BinaryOperator as Op;
    match comparison {
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::Less => Op::GreaterEqual,
        Op::GreaterEqual => Op::Less,
        Op::Greater => Op::LessEqual,
        Op::LessEqual => Op::Greater,
        other => other,
    }
}

/// The expression with the reads whose value the trace already fixes replaced.
pub(crate) fn substitute(expression: &Expression, known: &SortedMap<EventId, Value>) -> Expression {
    if known.is_empty() {
        return expression.clone();
    }
    match expression {
        Expression::Read(event) => {
            known.get(event).map_or_else(|| expression.clone(), |value| Expression::Constant(*value))
        }
        Expression::Constant(_) | Expression::BarrierResult(_) => expression.clone(),
        Expression::Unary(operator, ty, operand) => unary(*operator, *ty, substitute(operand, known)),
        Expression::Binary(operator, ty, left, right) => {
            binary(*operator, *ty, substitute(left, known), substitute(right, known))
        }
        Expression::Select(condition, then, otherwise) => {
            select(substitute(condition, known), substitute(then, known), substitute(otherwise, known))
        }
    }
}

/// More values than this are not listed.
const MOST_POSSIBLE: usize = 64;

/// Every value the expression can have whatever its reads return, if that is a short list: a choice between constants
/// (`selp`), and what is computed from one.
pub(crate) fn possible(expression: &Expression) -> Option<SortedSet<Value>> {
    let found: SortedSet<Value> = match expression {
        Expression::Constant(value) => SortedSet::from([*value]),
        Expression::Read(_) | Expression::BarrierResult(_) => return None,
        Expression::Unary(operator, ty, operand) => {
            possible(operand)?.into_iter().map(|value| operator.apply(*ty, value)).collect()
        }
        Expression::Binary(BinaryOperator::Opaque, ..) => return None,
        Expression::Binary(operator, ty, left, right) => {
            let (left, right) = (possible(left)?, possible(right)?);
            left.iter().flat_map(|&left| right.iter().map(move |&right| operator.apply(*ty, left, right))).collect()
        }
        Expression::Select(_, then, otherwise) => possible(then)?.into_iter().chain(possible(otherwise)?).collect(),
    };
    (found.len() <= MOST_POSSIBLE).then_some(found)
}

/// How many nodes the tree has.
pub(crate) fn size(expression: &Expression) -> u32 {
    match expression {
        Expression::Constant(_) | Expression::Read(_) | Expression::BarrierResult(_) => 1,
        Expression::Unary(_, _, operand) => size(operand).saturating_add(1),
        Expression::Binary(_, _, left, right) => size(left).saturating_add(size(right)).saturating_add(1),
        Expression::Select(condition, then, otherwise) => {
            size(condition).saturating_add(size(then)).saturating_add(size(otherwise)).saturating_add(1)
        }
    }
}
