//! Control characters in a text: a look at its bytes, for those who print it. It stands here because this crate is
//! optimised for speed, and every file is looked at.

/// So many bytes are looked at together.
const BLOCK: usize = 64;

/// Whether all bytes are like this. They are looked at in blocks and without a way out of one, so that several are with one
/// instruction; what is left over is the end of one block more, which looks at some again.
#[inline(always)]
pub(crate) fn are_all<const BLOCK: usize>(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> bool {
    let is_plain_block = |block: &[u8; BLOCK]| block.iter().fold(true, |plain, byte| plain & is_plain(*byte));
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let is_rest_plain = || match bytes.last_chunk::<BLOCK>() {
        Some(last) => is_plain_block(last),
        None => rest.iter().all(|byte| is_plain(*byte)),
    };
    blocks.iter().all(is_plain_block) && (rest.is_empty() || is_rest_plain())
}

/// Whether a text can hold a control character, or one that turns the direction of writing; `\n`, `\t` and `expected` are none.
/// A byte that begins such a character begins others too: true is "maybe".
#[inline(never)]
pub fn may_occur(text: &str, expected: u8) -> bool {
    let is_expected = |byte: u8| (byte == b'\n') | (byte == b'\t') | (byte == expected);
    let begins_others = |byte: u8| (byte == 0x7f) | (byte == 0xc2) | (byte == 0xd8) | (byte == 0xe2);
    !are_all::<BLOCK>(text.as_bytes(), |byte| ((byte >= 0x20) | is_expected(byte)) & !begins_others(byte))
}

/// Whether a text is nothing but visible ASCII and spaces, without this character.
#[inline(never)]
pub fn is_visible(text: &str, without: u8) -> bool {
    are_all::<16>(text.as_bytes(), |byte| matches!(byte, b' '..=b'~') & (byte != without))
}

#[cfg(test)]
mod tests {
    use super::{is_visible, may_occur};

    #[test]
    fn what_is_not_visible_is_seen_wherever_it_stands() {
        for length in [1, 15, 16, 17, 40] {
            let plain = "x".repeat(length);
            assert!(is_visible(&plain, b'\\'));
            for at in 0..length {
                for other in ["\n", "\\", "é", "\u{7f}"] {
                    let mut text = plain.clone();
                    text.replace_range(at..=at, other);
                    assert!(!is_visible(&text, b'\\'), "{other:?} at {at} of {length}");
                }
            }
        }
        assert!(is_visible("", b'\\'));
    }

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
