//! What a thread computes, as a tree over the values its reads return.

use crate::ids::EventId;
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
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
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
}
