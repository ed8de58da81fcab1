//! Control characters in a text: a look at its bytes, for those who print it. It stands here because this crate is
//! optimised for speed, and every file is looked at.

/// So many bytes are looked at together.
const BLOCK: usize = 64;

/// Whether a text can hold a control character, or one that turns the direction of writing; `\n`, `\t` and `expected` are none.
/// A byte that begins such a character begins others too: true is "maybe".
#[inline(never)]
pub fn may_occur(text: &str, expected: u8) -> bool {
    let is_suspicious = |byte: u8| {
        (byte < 0x20) & (byte != b'\n') & (byte != b'\t') & (byte != expected)
            | (byte == 0x7f)
            | (byte == 0xc2)
            | (byte == 0xd8)
            | (byte == 0xe2)
    };
    // Without a way out, so that several bytes are looked at with one instruction.
    let has_suspicious = |block: &[u8]| block.iter().fold(false, |found, byte| found | is_suspicious(*byte));
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    // What is left over is the end of one block more, which looks at some bytes again.
    let last = text.as_bytes().last_chunk::<BLOCK>();
    let in_rest = || last.map_or_else(|| has_suspicious(rest), |last| has_suspicious(last));
    blocks.iter().any(|block| has_suspicious(block)) || in_rest()
}

#[cfg(test)]
mod tests {
    use super::may_occur;

    #[test]
    fn a_control_character_is_seen_wherever_it_stands() {
        for length in [1, 63, 64, 65, 200] {
            for at in 0..length {
                let text = |character: char| -> String {
                    (0..length).map(|place| if place == at { character } else { 'x' }).collect()
                };
                for character in ['\u{1b}', '\0', '\u{7f}', '\u{9b}', '\u{202e}', '\u{61c}', '\r'] {
                    assert!(may_occur(&text(character), b'\n'), "{character:?} at {at} of {length}");
                }
                for character in ['\n', '\t', ' ', '~', 'é'] {
                    assert!(!may_occur(&text(character), b'\n'), "{character:?} at {at} of {length}");
                }
                assert!(!may_occur(&text('\r'), b'\r'));
            }
        }
    }
}
