//! How tensor copies and matrix descriptors permute shared memory (PTX ISA 5.5.7 of PTX ISA 9.1, 9.7.15.5.1.2 of PTX ISA 9.1, 9.7.16.4.1 of PTX ISA 9.1).
//!
//! Every documented pattern is an exclusive-or of some address bits with the number of the 128-byte line: the tables of
//! 5.5.7 of PTX ISA 9.1 print it line by line. The ISA's base offset, `(address / 128) % 8`, says that the line is counted from address 0
//! and not from the start of the box, so the functions here take whole addresses.

/// The width of the span within which data moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    #[default]
    None,
    B32,
    B64,
    /// sm_103 only; the pattern of its table is that of [`Swizzle::B32`].
    B96,
    B128,
}

/// What stays together while a 128-byte span is permuted. The other spans always move 16 bytes (5.5.7 of PTX ISA 9.1, table 14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    #[default]
    B16,
    B32,
    /// 32 bytes stay together, and on every other line the two 8-byte halves of each 16 bytes change places.
    B32Flip8,
    B64,
}

/// A swizzle with its atomicity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    pub swizzle: Swizzle,
    pub atomicity: Atomicity,
}

impl Swizzle {
    /// Bytes of the span; 0 without a swizzle.
    pub fn span(self) -> u64 {
        match self {
            Swizzle::None => 0,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B96 => 96,
            Swizzle::B128 => 128,
        }
    }
}

impl From<Swizzle> for Pattern {
    fn from(swizzle: Swizzle) -> Pattern {
        Pattern { swizzle, atomicity: Atomicity::B16 }
    }
}

impl Pattern {
    /// Where the byte lies that an unswizzled layout puts at `address`.
    pub fn apply(self, address: u64) -> u64 {
        self.apply_from(address, 0)
    }

    /// [`Pattern::apply`] where the repeating pattern starts at line `base` modulo 8 (matrix descriptors, bits 49 to 51).
    ///
    /// Reading: the ISA gives `base = (pattern start >> 7) & 7` and not its use; lines are counted from the pattern's start.
    pub fn apply_from(self, address: u64, base: u64) -> u64 {
        let line = (address >> 7).wrapping_sub(base);
        address ^ self.mask(line)
    }

    fn mask(self, line: u64) -> u64 {
        match (self.swizzle, self.atomicity) {
            (Swizzle::None, _) => 0,
            (Swizzle::B32 | Swizzle::B96, _) => (line & 1) << 4,
            (Swizzle::B64, _) => (line & 3) << 4,
            (Swizzle::B128, Atomicity::B16) => (line & 7) << 4,
            (Swizzle::B128, Atomicity::B32) => (line & 3) << 5,
            // Reading: "every alternate line" is the odd ones, so that line 0 is unchanged as in every other pattern.
            (Swizzle::B128, Atomicity::B32Flip8) => (line & 3) << 5 | (line & 1) << 3,
            (Swizzle::B128, Atomicity::B64) => (line & 1) << 6,
        }
    }

    /// Bytes that stay together under this pattern, at most 16: the largest piece that a copy may move at once.
    pub fn piece(self) -> u64 {
        match (self.swizzle, self.atomicity) {
            (Swizzle::B128, Atomicity::B32Flip8) => 8,
            _ => 16,
        }
    }
}
