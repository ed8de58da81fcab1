//! The block format of LZ4: sequences of literals and copies of what was written before.
//!
//! The length of the result is known and bounds it: nothing that the input says makes it longer.

/// The text of a block, if it is one that gives exactly so many bytes.
pub(super) fn decompress(input: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(length.min(1 << 20));
    let mut input = input.iter().copied();
    loop {
        let token = input.next()?;
        let literals = extended(&mut input, token >> 4)?;
        if literals > length - output.len() || literals > input.len() {
            return None;
        }
        output.extend(input.by_ref().take(literals));
        // The last sequence has no copy; a block may be padded with zeros.
        if output.len() == length {
            return Some(output);
        }
        let distance = usize::from(u16::from_le_bytes([input.next()?, input.next()?]));
        let copied = extended(&mut input, token & 15)?.checked_add(4)?;
        if distance == 0 || distance > output.len() || copied > length - output.len() {
            return None;
        }
        // What is copied may overlap with what it makes: byte by byte.
        for _ in 0..copied {
            output.push(output[output.len() - distance]);
        }
        if output.len() == length && input.len() == 0 {
            return Some(output);
        }
    }
}

/// A length of four bits, and bytes that go on with it while they are 255.
fn extended(input: &mut impl Iterator<Item = u8>, start: u8) -> Option<usize> {
    let mut length = usize::from(start);
    if start < 15 {
        return Some(length);
    }
    loop {
        let more = input.next()?;
        length = length.checked_add(usize::from(more))?;
        if more < 255 {
            return Some(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies_that_overlap() {
        // Three letters, a copy of nine bytes from three back, and two letters.
        let block = [0x35, b'a', b'b', b'c', 3, 0, 0x20, b'x', b'y'];
        assert_eq!(decompress(&block, 14).as_deref(), Some(&b"abcabcabcabcxy"[..]));
    }

    #[test]
    fn long_lengths_take_more_bytes() {
        let mut block = vec![0xf0, 5];
        block.extend([b'z'; 20]);
        assert_eq!(decompress(&block, 20), Some(vec![b'z'; 20]));
    }

    #[test]
    fn blocks_that_lie_are_refused() {
        assert_eq!(decompress(&[], 4), None);
        assert_eq!(decompress(&[0xf0, 255, 255], 4), None);
        // A copy from before the start, and one longer than the text.
        assert_eq!(decompress(&[0x10, b'a', 9, 0, 0], 40), None);
        assert_eq!(decompress(&[0x1f, b'a', 1, 0, 255, 255, 0], 40), None);
        assert_eq!(decompress(&[0x40, b'a'], 4), None);
    }
}
