//! Values and their types. A value is kept as the mathematical integer it stands for, so that `u64` and `s64` compare
//! correctly without a tag; every typed operation wraps its result back into the type (PTX ISA 5.2, 9.7.1).

pub mod expression;
pub mod may;
pub mod mbarrier;

use std::fmt;

/// A memory or register value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Value(pub i128);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An integer type: `.u32`, `.s64`, `.b16`, `.pred`. Bits of zero mean unbounded, the integers of the litmus dialects
/// that have no types.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Type {
    pub bits: u8,
    pub signed: bool,
}

impl Default for Type {
    fn default() -> Type {
        Type::UNTYPED
    }
}

impl Type {
    pub const UNTYPED: Type = Type { bits: 0, signed: true };
    pub const PREDICATE: Type = Type { bits: 1, signed: false };
    pub const U32: Type = Type { bits: 32, signed: false };
    pub const S32: Type = Type { bits: 32, signed: true };
    pub const U64: Type = Type { bits: 64, signed: false };
    pub const S64: Type = Type { bits: 64, signed: true };

    /// Whether the integer is a value of this width in either reading, unsigned or signed: `-1` and `4294967295` are both
    /// 32 bits, `4294967296` is not.
    pub fn fits(self, value: Value) -> bool {
        self.range().is_none_or(|(least, greatest)| least <= value.0 && value.0 <= greatest)
    }

    /// The least and the greatest integer that fit; None if all do.
    pub fn range(self) -> Option<(i128, i128)> {
        if self.bits == 0 || self.bits >= 127 {
            return None;
        }
        let modulus = 1i128 << self.bits;
        Some((-(modulus / 2), modulus - 1))
    }

    /// The value of this type that has the same low bits.
    pub fn wrap(self, value: Value) -> Value {
        if self.bits == 0 || self.bits >= 127 {
            return value;
        }
        let modulus = 1i128 << self.bits;
        let low = value.0 & (modulus - 1);
        if self.signed && low >= modulus / 2 { Value(low - modulus) } else { Value(low) }
    }
}
