//! Warps of an SM and sets of them: the bit masks of the persist buffer.

use std::ops::{BitAnd, BitOr};

/// A warp, by its bit in the masks of its SM.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Warp(pub u8);

/// A set of warps. An SM of the paper has 32 (section 6, "Hardware modifications").
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Warps(pub u32);

impl Warps {
    pub const NONE: Warps = Warps(0);
    /// How many warps an SM has.
    pub const MOST: u32 = u32::BITS;

    pub fn contains(self, warp: Warp) -> bool {
        self.0 >> warp.0 & 1 == 1
    }

    pub fn meets(self, others: Warps) -> bool {
        self.0 & others.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn insert(&mut self, warp: Warp) {
        self.0 |= 1 << warp.0;
    }

    #[must_use]
    pub fn without(self, others: Warps) -> Warps {
        Warps(self.0 & !others.0)
    }
}

impl From<Warp> for Warps {
    fn from(warp: Warp) -> Warps {
        Warps(1 << warp.0)
    }
}

impl BitOr for Warps {
    type Output = Warps;

    fn bitor(self, others: Warps) -> Warps {
        Warps(self.0 | others.0)
    }
}

impl BitAnd for Warps {
    type Output = Warps;

    fn bitand(self, others: Warps) -> Warps {
        Warps(self.0 & others.0)
    }
}
