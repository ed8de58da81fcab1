//! Where values differ: an access that tears mixes the bytes of two values, and only bytes that differ can tell.

use fencepost_program::value::Value;

/// The bytes, of so many bits, in which the values are not all the same; ascending.
pub(crate) fn varying_bytes(values: &[Value], bits: u8) -> Vec<u32> {
    let Some(first) = values.first() else { return Vec::new() };
    let varying = values.iter().fold(0, |varying, value| varying | (value.0 ^ first.0));
    (0..u32::from(bits.div_ceil(8))).filter(|byte| varying >> (8 * byte).min(127) & 0xff != 0).collect()
}
