//! What a thread computes, as a tree over the values its reads return.

use crate::ids::EventId;
use crate::value::mbarrier;
use crate::value::{Type, Value};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expression {
    Constant(Value),
    /// The value returned by a read event.
    Read(EventId),
    /// What a `bar.red` event returns: known once the barrier matching is.
    BarrierResult(EventId),
    Unary(UnaryOperator, Type, Box<Expression>),
    Binary(BinaryOperator, Type, Box<Expression>, Box<Expression>),
    /// `condition != 0 ? then : otherwise` (`selp`, `atom.inc`, …).
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOperator {
    Negate,
    /// Bitwise not; on a predicate, logical not.
    Not,
    /// Reinterpret in the given type (`cvt`, a typed load).
    Convert,
    /// `brev`, `clz`, `popc`, of the bits of the type.
    ReverseBits,
    LeadingZeros,
    PopulationCount,
    /// What an arrive returns, of the packed state of an mbarrier before it (see [`crate::value::mbarrier`]).
    MbarrierToken,
    /// `mbarrier.pending_count`, of a token.
    MbarrierPendingCount,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    /// The upper half of a product that is twice as wide as its operands.
    MultiplyHigh,
    /// IEEE 754, to nearest even, of the bits of an `f32` or `f64` by the width of the type; subnormal numbers stay.
    FloatAdd,
    /// An operation whose values have no model: the same for the same operands, and nothing that is asked may rest on it (see
    /// `unfold::opaque`).
    Opaque,
    /// Truncating; division by zero yields all ones, as on the hardware (PTX leaves it unspecified).
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Minimum,
    Maximum,
    /// Comparisons give 0 or 1.
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// An operation on the packed state of an mbarrier (left), or a question about it.
    Mbarrier(mbarrier::Operator),
}

/// What an expression needs from an execution.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Leaf {
    Read(EventId),
    BarrierResult(EventId),
}

impl Expression {
    pub fn constant(value: i128) -> Expression {
        Expression::Constant(Value(value))
    }

    /// The value, or None while a leaf it needs is unknown.
    pub fn evaluate(&self, leaf: &mut dyn FnMut(Leaf) -> Option<Value>) -> Option<Value> {
        match self {
            Expression::Constant(value) => Some(*value),
            Expression::Read(event) => leaf(Leaf::Read(*event)),
            Expression::BarrierResult(event) => leaf(Leaf::BarrierResult(*event)),
            Expression::Unary(operator, ty, operand) => Some(operator.apply(*ty, operand.evaluate(leaf)?)),
            Expression::Binary(operator, ty, left, right) => {
                let left = left.evaluate(leaf)?;
                let right = right.evaluate(leaf)?;
                Some(operator.apply(*ty, left, right))
            }
            Expression::Select(condition, then, otherwise) => {
                let chosen = if condition.evaluate(leaf)? != Value(0) { then } else { otherwise };
                chosen.evaluate(leaf)
            }
        }
    }

    /// Whether an operation without a model is part of it.
    pub fn is_opaque(&self) -> bool {
        match self {
            Expression::Constant(_) | Expression::Read(_) | Expression::BarrierResult(_) => false,
            Expression::Unary(_, _, operand) => operand.is_opaque(),
            Expression::Binary(operator, _, left, right) => {
                *operator == BinaryOperator::Opaque || left.is_opaque() || right.is_opaque()
            }
            Expression::Select(condition, then, otherwise) => {
                condition.is_opaque() || then.is_opaque() || otherwise.is_opaque()
            }
        }
    }

    /// The leaves it depends on, in order, with repetitions.
    pub fn leaves(&self, found: &mut Vec<Leaf>) {
        match self {
            Expression::Constant(_) => {}
            Expression::Read(event) => found.push(Leaf::Read(*event)),
            Expression::BarrierResult(event) => found.push(Leaf::BarrierResult(*event)),
            Expression::Unary(_, _, operand) => operand.leaves(found),
            Expression::Binary(_, _, left, right) => {
                left.leaves(found);
                right.leaves(found);
            }
            Expression::Select(condition, then, otherwise) => {
                condition.leaves(found);
                then.leaves(found);
                otherwise.leaves(found);
            }
        }
    }
}

impl UnaryOperator {
    pub fn apply(self, ty: Type, operand: Value) -> Value {
        ty.wrap(match self {
            UnaryOperator::Negate => Value(operand.0.wrapping_neg()),
            UnaryOperator::Not => Value(!operand.0),
            UnaryOperator::Convert => operand,
            UnaryOperator::ReverseBits => Value((bits(ty, operand).reverse_bits() >> unused(ty)).cast_signed()),
            UnaryOperator::LeadingZeros => Value(i128::from(bits(ty, operand).leading_zeros() - unused(ty))),
            UnaryOperator::PopulationCount => Value(i128::from(bits(ty, operand).count_ones())),
            UnaryOperator::MbarrierToken => mbarrier::State::unpack(operand).token(),
            UnaryOperator::MbarrierPendingCount => mbarrier::pending_count(operand),
        })
    }
}

/// The bits of a value of this type, the others 0.
fn bits(ty: Type, value: Value) -> u128 {
    Type { signed: false, ..ty }.wrap(value).0.cast_unsigned()
}

/// How many of 128 bits the type leaves out; an unbounded one has them all.
fn unused(ty: Type) -> u32 {
    if ty.bits == 0 { 0 } else { 128u32.saturating_sub(u32::from(ty.bits)) }
}

impl BinaryOperator {
    /// The result in `ty`. Operands are first brought into `ty`, as the ISA reads registers in the instruction's type.
    /// A packed mbarrier state is wider than every type, and stays as it is.
    pub fn apply(self, ty: Type, left: Value, right: Value) -> Value {
        let (a, b) = (ty.wrap(left).0, ty.wrap(right).0);
        let truth = |holds: bool| i128::from(holds);
        ty.wrap(Value(match self {
            BinaryOperator::Add => a.wrapping_add(b),
            BinaryOperator::Subtract => a.wrapping_sub(b),
            BinaryOperator::Multiply => a.wrapping_mul(b),
            BinaryOperator::MultiplyHigh => high_product(ty, a, b),
            BinaryOperator::FloatAdd => float_sum(ty, left, right),
            BinaryOperator::Opaque => {
                left.0.wrapping_mul(0x9e37_79b9).wrapping_add(right.0).wrapping_add(0x5eed) & (i128::MAX >> 1)
            }
            BinaryOperator::Divide => a.checked_div(b).unwrap_or(-1),
            BinaryOperator::Remainder => a.checked_rem(b).unwrap_or(-1),
            BinaryOperator::And => a & b,
            BinaryOperator::Or => a | b,
            BinaryOperator::Xor => a ^ b,
            // The amount is unsigned and clamped to the width (PTX ISA 9.7.9, shl and shr).
            BinaryOperator::ShiftLeft => a.checked_shl(shift_amount(ty, right)).unwrap_or(0),
            BinaryOperator::ShiftRight => a >> shift_amount(ty, right).min(127),
            BinaryOperator::Minimum => a.min(b),
            BinaryOperator::Maximum => a.max(b),
            BinaryOperator::Equal => return Value(truth(a == b)),
            BinaryOperator::NotEqual => return Value(truth(a != b)),
            BinaryOperator::Less => return Value(truth(a < b)),
            BinaryOperator::LessEqual => return Value(truth(a <= b)),
            BinaryOperator::Greater => return Value(truth(a > b)),
            BinaryOperator::GreaterEqual => return Value(truth(a >= b)),
            BinaryOperator::Mbarrier(operator) => return operator.apply(left, right),
        }))
    }
}

/// Unsigned products of 64 bits do not fit a signed number of 128.
fn high_product(ty: Type, a: i128, b: i128) -> i128 {
    if ty.signed {
        return a.wrapping_mul(b) >> ty.bits.min(127);
    }
    (a.cast_unsigned().wrapping_mul(b.cast_unsigned()) >> ty.bits.min(127)).cast_signed()
}

/// Not a number is what the hardware makes it: all ones but the sign (PTX ISA 9.7.3).
fn float_sum(ty: Type, left: Value, right: Value) -> i128 {
    if ty.bits == 64 {
        let number = |value| f64::from_bits(u64::try_from(bits(ty, value)).unwrap_or(0));
        let sum = number(left) + number(right);
        return i128::from(if sum.is_nan() { u64::MAX >> 1 } else { sum.to_bits() });
    }
    let single = Type { bits: 32, signed: false };
    let number = |value| f32::from_bits(u32::try_from(bits(single, value)).unwrap_or(0));
    let sum = number(left) + number(right);
    i128::from(if sum.is_nan() { u32::MAX >> 1 } else { sum.to_bits() })
}

fn shift_amount(ty: Type, amount: Value) -> u32 {
    let widest = if ty.bits == 0 { 126 } else { i128::from(ty.bits) };
    let amount = Type::U32.wrap(amount).0.min(widest);
    u32::try_from(amount).unwrap_or(126)
}
