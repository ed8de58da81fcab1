//! States as words. A machine's state is stored as a fixed number of 64-bit words, each field in as few bits as it needs:
//! equal states are then equal words, and a state costs tens of bytes instead of hundreds.

/// How many bits hold the numbers from 0 to `largest`.
pub(crate) fn bits_for(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// How many words hold this many bits; at least one, so that a state always has words.
pub(crate) fn words_for(bits: u64) -> u32 {
    u32::try_from(bits.div_ceil(64).max(1)).expect("invariant: a state has fewer than 2^32 words")
}

/// Writes fields one after the other. The words must be zero at the start.
pub(crate) struct Writer<'a> {
    words: &'a mut [u64],
    at: u32,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(words: &'a mut [u64]) -> Writer<'a> {
        words.fill(0);
        Writer { words, at: 0 }
    }

    #[inline]
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        debug_assert!(bits == 64 || value >> bits == 0, "{value} in {bits} bits");
        let (word, offset) = ((self.at / 64) as usize, self.at % 64);
        self.words[word] |= value << offset;
        if offset + bits > 64 {
            self.words[word + 1] |= value >> (64 - offset);
        }
        self.at += bits;
    }
}

/// Reads fields in the order they were written.
pub(crate) struct Reader<'a> {
    words: &'a [u64],
    at: u32,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Reader<'a> {
        Reader { words, at: 0 }
    }

    #[inline]
    pub(crate) fn take(&mut self, bits: u32) -> u64 {
        if bits == 0 {
            return 0;
        }
        let (word, offset) = ((self.at / 64) as usize, self.at % 64);
        let mut value = self.words[word] >> offset;
        if offset + bits > 64 {
            value |= self.words[word + 1] << (64 - offset);
        }
        self.at += bits;
        if bits == 64 { value } else { value & ((1 << bits) - 1) }
    }
}

/// The members of a bit set, ascending.
pub(crate) fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let least = set.trailing_zeros();
        set &= set - 1;
        Some(least)
    })
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer, bits_for, members, words_for};

    #[test]
    fn what_is_written_is_read_across_word_borders() {
        let fields = [(5, 3), (0, 0), (u64::MAX >> 1, 63), (1, 1), (u64::MAX, 64), (77, 7), (3, 60)];
        let bits: u32 = fields.iter().map(|field| field.1).sum();
        let mut words = vec![7; words_for(bits.into()) as usize];
        let mut writer = Writer::new(&mut words);
        fields.iter().for_each(|&(value, bits)| writer.put(value, bits));
        let mut reader = Reader::new(&words);
        fields.iter().for_each(|&(value, bits)| assert_eq!(reader.take(bits), value));
    }

    #[test]
    fn widths_and_members() {
        assert_eq!([0, 1, 2, 3, 4, 255, 256].map(bits_for), [0, 1, 2, 2, 3, 8, 9]);
        assert_eq!(members(0b1010_0001).collect::<Vec<_>>(), [0, 5, 7]);
    }
}
