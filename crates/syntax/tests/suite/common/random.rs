//! A small deterministic generator (SplitMix64), so that a failure is the same on every machine.

#![allow(dead_code)] // each test file compiles its own copy and uses a part

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<'p, T: ?Sized>(&mut self, pool: &[&'p T]) -> &'p T {
        pool[self.below(pool.len())]
    }
}
