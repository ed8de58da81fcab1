//! Integers as the input languages write them.

/// What a leading zero means: octal in PTX (ISA, "Integer Constants"), nothing in herd.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum LeadingZero {
    Octal,
    Decimal,
}

/// The value of `10`, `0x1f`, `0b101`, `017`, `5U`; None if it is no integer or does not fit.
pub(crate) fn integer(text: &str, zero: LeadingZero) -> Option<i128> {
    if let Some(value) = short(text) {
        return Some(value.into());
    }
    let body = text.strip_suffix(['u', 'U']).unwrap_or(text);
    let (radix, digits) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &body[2..]),
        [b'0', b'b' | b'B', ..] => (2, &body[2..]),
        [b'0', b'o' | b'O', ..] => (8, &body[2..]),
        [b'0', _, ..] if zero == LeadingZero::Octal => (8, &body[1..]),
        _ => (10, body),
    };
    // `from_str_radix` would take a sign here.
    digits.bytes().next().filter(u8::is_ascii_alphanumeric)?;
    i128::from_str_radix(digits, radix).ok()
}

/// A decimal number of so few digits that it fits a word: most are.
fn short(text: &str) -> Option<u64> {
    let plain = text == "0" || (text.len() < 19 && matches!(text.as_bytes(), [b'1'..=b'9', ..]));
    let digit = |value: u64, byte: u8| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0'));
    text.bytes().filter(|_| plain).try_fold(0, digit).filter(|_| plain)
}

/// The bits of `0f3F800000` and `0d3FF0000000000000`.
pub(crate) fn float_bits(text: &str) -> Option<i128> {
    let is_exact = matches!(text.as_bytes(), [b'0', b'f' | b'F' | b'd' | b'D', ..]) && is_float(text);
    i128::from_str_radix(text.get(2..)?, 16).ok().filter(|_| is_exact)
}

/// `0f3F800000`, `0d3FF0000000000000` (PTX's exact forms), `1.5`, `1.0e-3`.
pub(crate) fn is_float(text: &str) -> bool {
    let bits = |digits: &str, length: usize| digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => bits(&text[2..], 8),
        [b'0', b'd' | b'D', ..] => bits(&text[2..], 16),
        _ => text.contains('.') && text.parse::<f64>().is_ok(),
    }
}
