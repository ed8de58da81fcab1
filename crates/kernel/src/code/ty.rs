//! The fundamental types of PTX (5.2.1), as far as they say how many bits there are and how to read them.

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Unsigned,
    Signed,
    Bits,
    Float,
    /// f16 and bf16: compared and widened, no arithmetic.
    Half,
    Brain,
    /// Floats that are not computed with: packed pairs, fp8, tf32. Only their place matters.
    Opaque,
    Predicate,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ty {
    pub kind: Kind,
    pub bits: u8,
}

impl Ty {
    pub const U32: Ty = Ty { kind: Kind::Unsigned, bits: 32 };
    pub const U64: Ty = Ty { kind: Kind::Unsigned, bits: 64 };
    pub const PRED: Ty = Ty { kind: Kind::Predicate, bits: 1 };

    /// `u32`, `b64`, `pred`, `f16x2`; None for any other word.
    pub fn of(word: &str) -> Option<Ty> {
        let (kind, bits) = match word {
            "pred" => (Kind::Predicate, 1),
            "u8" | "u16" | "u32" | "u64" => (Kind::Unsigned, number(word)?),
            "s8" | "s16" | "s32" | "s64" => (Kind::Signed, number(word)?),
            "b8" | "b16" | "b32" | "b64" | "b128" => (Kind::Bits, number(word)?),
            "f32" | "f64" => (Kind::Float, number(word)?),
            "f16" => (Kind::Half, 16),
            "bf16" => (Kind::Brain, 16),
            "e4m3x2" | "e5m2x2" | "s2f6x2" => (Kind::Opaque, 16),
            "f16x2" | "bf16x2" | "tf32" | "e4m3x4" | "e5m2x4" | "u16x2" | "s16x2" => (Kind::Opaque, 32),
            "f32x2" => (Kind::Opaque, 64),
            "e2m1x2" => (Kind::Opaque, 8),
            _ => return None,
        };
        Some(Ty { kind, bits })
    }

    pub fn bytes(self) -> u32 {
        u32::from(self.bits).div_ceil(8)
    }

    /// Whether arithmetic gives a value that is not computed here.
    pub fn is_opaque(self) -> bool {
        matches!(self.kind, Kind::Opaque | Kind::Half | Kind::Brain)
    }

    /// How many registers of 64 bits hold it.
    pub fn halves(self) -> u32 {
        if self.bits == 128 { 2 } else { 1 }
    }

    pub fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// The value with everything above the type's bits cut off.
    #[inline]
    pub fn cut(self, value: u64) -> u64 {
        if self.bits >= 64 { value } else { value & ((1 << self.bits) - 1) }
    }

    /// The value as a number of this type: sign-extended if it is signed.
    #[inline]
    pub fn number(self, value: u64) -> i128 {
        if self.is_signed() { i128::from(self.signed(value)) } else { i128::from(self.cut(value)) }
    }

    #[inline]
    pub fn signed(self, value: u64) -> i64 {
        if self.bits >= 64 {
            return value as i64;
        }
        let shift = 64 - u32::from(self.bits);
        ((value << shift) as i64) >> shift
    }
}

fn number(word: &str) -> Option<u8> {
    word.get(1..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_extended_and_bits_cut() {
        let s16 = Ty::of("s16").expect("a type");
        assert_eq!(s16.number(0xffff), -1);
        assert_eq!(s16.cut(0x1_2345), 0x2345);
        assert_eq!(Ty::U32.number(0xffff_ffff), 0xffff_ffff);
        assert_eq!(Ty::of("f16x2").map(Ty::bytes), Some(4));
        assert_eq!(Ty::of("wide"), None);
    }
}
