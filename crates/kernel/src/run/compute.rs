//! What integer and float instructions compute, for one lane.

use crate::code::op::{Atomic, Carry, Combine, Compare, Function, OrderedCompare, Round};
use crate::code::ty::{Kind, Ty};

/// The result of a function, cut to its type. None where PTX leaves it open: a division by zero.
#[inline]
pub(super) fn function(function: Function, ty: Ty, a: u64, b: u64, c: u64) -> Option<u64> {
    if ty.kind == Kind::Float {
        return Some(float(function, ty, a, b, c));
    }
    let (left, right, third) = (ty.number(a), ty.number(b), ty.number(c));
    let bits = u32::from(ty.bits);
    let value = match function {
        Function::Move => a,
        Function::Add => a.wrapping_add(b),
        Function::Subtract => a.wrapping_sub(b),
        Function::MultiplyLow | Function::Multiply => a.wrapping_mul(b),
        Function::MultiplyHigh => (left.wrapping_mul(right) >> bits) as u64,
        Function::MultiplyWide => return Some(double(ty).cut(left.wrapping_mul(right) as u64)),
        Function::MultiplyAddLow | Function::FusedMultiplyAdd => a.wrapping_mul(b).wrapping_add(c),
        Function::MultiplyAddHigh => ((left.wrapping_mul(right) >> bits) as u64).wrapping_add(c),
        Function::MultiplyAddWide => return Some(double(ty).cut((left.wrapping_mul(right) as u64).wrapping_add(c))),
        Function::Multiply24 => product24(ty, a, b),
        Function::MultiplyAdd24 => product24(ty, a, b).wrapping_add(c),
        Function::Divide if right == 0 => return None,
        Function::Remainder if right == 0 => return None,
        Function::Divide => (left / right) as u64,
        Function::Remainder => (left % right) as u64,
        Function::Minimum => left.min(right) as u64,
        Function::Maximum => left.max(right) as u64,
        Function::Absolute => left.unsigned_abs() as u64,
        Function::Negate => left.wrapping_neg() as u64,
        Function::And => a & b,
        Function::Or => a | b,
        Function::Xor => a ^ b,
        Function::Not => !a,
        Function::IsZero => u64::from(ty.cut(a) == 0),
        Function::ShiftLeft => {
            if b as u32 >= bits {
                0
            } else {
                a << (b as u32)
            }
        }
        Function::ShiftRight => {
            let by = (b as u32).min(127);
            (left >> by.min(bits)) as u64
        }
        Function::FunnelLeft { wrap } => funnel(a, b, c, wrap, true),
        Function::FunnelRight { wrap } => funnel(a, b, c, wrap, false),
        Function::Select => {
            if c & 1 != 0 {
                a
            } else {
                b
            }
        }
        Function::SelectBySign => {
            if (Ty { kind: Kind::Signed, bits: 32 }).number(c) >= 0 {
                a
            } else {
                b
            }
        }
        Function::PopulationCount => u64::from(ty.cut(a).count_ones()),
        Function::LeadingZeros => u64::from(ty.cut(a).leading_zeros() - (64 - bits)),
        Function::Reverse => ty.cut(a).reverse_bits() >> (64 - bits),
        Function::FindHighest { shift_amount } => find_highest(ty, a, shift_amount),
        Function::ExtractField => extract(ty, a, b, c),
        Function::Mask { wrap } => mask(a, b, wrap),
        Function::Permute => permute(a, b, c),
        Function::Difference => (left - right).unsigned_abs() as u64 + third as u64,
        Function::Logic3(table) => logic3(table, a, b, c),
        Function::FindNth => find_nth(a as u32, b as u32, c as i32),
        Function::SignExtend { wrap, signed } => sign_extend(a, b, wrap, signed),
        Function::DotProduct4 { left_signed, right_signed } => dot4(a, b, c, left_signed, right_signed),
    };
    Some(result_type(function, ty).cut(value))
}

fn result_type(function: Function, ty: Ty) -> Ty {
    match function {
        Function::PopulationCount | Function::LeadingZeros | Function::FindHighest { .. } => Ty::U32,
        _ => ty,
    }
}

fn double(ty: Ty) -> Ty {
    Ty { bits: (ty.bits * 2).min(64), ..ty }
}

fn product24(ty: Ty, a: u64, b: u64) -> u64 {
    let small = Ty { bits: 24, ..ty };
    small.number(a).wrapping_mul(small.number(b)) as u64
}

fn funnel(a: u64, b: u64, c: u64, wrap: bool, left: bool) -> u64 {
    let value = ((b & 0xffff_ffff) << 32) | (a & 0xffff_ffff);
    let by = if wrap { c & 31 } else { (c & 0xffff_ffff).min(32) };
    let shifted = if left { (u128::from(value) << by) >> 32 } else { u128::from(value) >> by };
    shifted as u64 & 0xffff_ffff
}

fn find_highest(ty: Ty, a: u64, shift_amount: bool) -> u64 {
    let value = if ty.is_signed() && ty.signed(a) < 0 { ty.cut(!a) } else { ty.cut(a) };
    if value == 0 {
        return 0xffff_ffff;
    }
    let position = 63 - value.leading_zeros();
    u64::from(if shift_amount { u32::from(ty.bits) - 1 - position } else { position })
}

fn extract(ty: Ty, a: u64, position: u64, length: u64) -> u64 {
    let (position, length, bits) = (position & 0xff, length & 0xff, u64::from(ty.bits));
    let value = ty.cut(a);
    let top = (position + length).saturating_sub(1).min(bits - 1);
    let sign = ty.is_signed() && length > 0 && (value >> top) & 1 != 0;
    let field = if position >= 64 { 0 } else { value >> position };
    if length >= 64 || position + length >= bits {
        let kept = bits.saturating_sub(position).min(length);
        return if sign && kept < 64 { field | (!0 << kept) } else { field };
    }
    let low = field & ((1 << length) - 1);
    if sign { low | (!0 << length) } else { low }
}

fn mask(position: u64, length: u64, wrap: bool) -> u64 {
    let (mut position, mut length) = (position & 0xffff_ffff, length & 0xffff_ffff);
    if wrap {
        position &= 31;
        length &= 31;
    }
    if position >= 32 || length == 0 {
        return 0;
    }
    let ones = if length >= 32 { 0xffff_ffff } else { (1u64 << length) - 1 };
    (ones << position) & 0xffff_ffff
}

fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = ((b & 0xffff_ffff) << 32) | (a & 0xffff_ffff);
    let mut result = 0;
    for index in 0..4 {
        let nibble = (selector >> (4 * index)) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) & 0xff;
        let byte = if nibble & 8 == 0 {
            byte
        } else if byte & 0x80 != 0 {
            0xff
        } else {
            0
        };
        result |= byte << (8 * index);
    }
    result
}

fn logic3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut result = 0;
    for index in 0..8u8 {
        if table & (1 << index) != 0 {
            let pick = |value: u64, bit: u8| if index & bit != 0 { value } else { !value };
            result |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    result
}

fn find_nth(mask: u32, base: u32, offset: i32) -> u64 {
    let mut left = offset;
    let mut at = base as i64;
    if offset == 0 {
        return if base < 32 && mask & (1 << base) != 0 { u64::from(base) } else { 0xffff_ffff };
    }
    let step = if offset > 0 { 1 } else { -1 };
    while (0..32).contains(&at) {
        if mask & (1 << at) != 0 {
            left -= step as i32;
            if left == 0 {
                return at as u64;
            }
        }
        at += step;
    }
    0xffff_ffff
}

fn sign_extend(a: u64, n: u64, wrap: bool, signed: bool) -> u64 {
    let n = if wrap { n & 31 } else { (n & 0xffff_ffff).min(32) };
    if n == 0 {
        return 0;
    }
    if n >= 32 {
        return a;
    }
    let kind = if signed { Kind::Signed } else { Kind::Unsigned };
    Ty { kind, bits: n as u8 }.number(a) as u64
}

fn dot4(a: u64, b: u64, c: u64, left_signed: bool, right_signed: bool) -> u64 {
    let byte = |value: u64, index: u32, signed: bool| {
        let kind = if signed { Kind::Signed } else { Kind::Unsigned };
        Ty { kind, bits: 8 }.number(value >> (8 * index))
    };
    let sum: i128 = (0..4).map(|index| byte(a, index, left_signed) * byte(b, index, right_signed)).sum();
    c.wrapping_add(sum as u64)
}

/// `bfi`.
pub(super) fn insert_field(ty: Ty, a: u64, b: u64, position: u64, length: u64) -> u64 {
    let (position, length, bits) = (position & 0xff, length & 0xff, u64::from(ty.bits));
    let mut result = b;
    for index in 0..length {
        let at = position + index;
        if at >= bits {
            break;
        }
        result = (result & !(1 << at)) | (((a >> index) & 1) << at);
    }
    ty.cut(result)
}

/// The sum or difference and its carry.
pub(super) fn with_carry(function: Carry, ty: Ty, a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    let bits = u32::from(ty.bits);
    let (a, b, c) = (u128::from(ty.cut(a)), u128::from(ty.cut(b)), u128::from(ty.cut(c)));
    let carry = u128::from(carry & 1);
    let full = match function {
        Carry::Add => a + b + carry,
        Carry::Subtract => {
            let value = a.wrapping_sub(b).wrapping_sub(carry);
            return (ty.cut(value as u64), u64::from(a < b + carry));
        }
        Carry::MultiplyAddLow => ((a * b) & ((1 << bits) - 1)) + c + carry,
        Carry::MultiplyAddHigh => ((a * b) >> bits) + c + carry,
    };
    (ty.cut(full as u64), ((full >> bits) & 1) as u64)
}

fn as_float(ty: Ty, value: u64) -> f64 {
    match ty.kind {
        Kind::Half => return half(value),
        Kind::Brain => return f64::from(f32::from_bits((value as u32 & 0xffff) << 16)),
        _ => {}
    }
    if ty.bits == 64 { f64::from_bits(value) } else { f64::from(f32::from_bits(value as u32)) }
}

/// Five bits of exponent, ten of fraction.
fn half(value: u64) -> f64 {
    let (exponent, fraction) = ((value >> 10 & 31) as i32, (value & 1023) as f64 / 1024.0);
    let size = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if value & 0x8000 != 0 { -size } else { size }
}

fn bits_of(ty: Ty, value: f64) -> u64 {
    if ty.bits == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) }
}

/// Operations that IEEE 754 fixes, rounded to the nearest.
fn float(function: Function, ty: Ty, a: u64, b: u64, c: u64) -> u64 {
    if ty.bits == 32 {
        let (x, y, z) = (f32::from_bits(a as u32), f32::from_bits(b as u32), f32::from_bits(c as u32));
        let value = match function {
            Function::Add => x + y,
            Function::Subtract => x - y,
            Function::Multiply | Function::MultiplyLow => x * y,
            Function::FusedMultiplyAdd => x.mul_add(y, z),
            Function::Divide => x / y,
            Function::Minimum => x.min(y),
            Function::Maximum => x.max(y),
            Function::Absolute => x.abs(),
            Function::Negate => -x,
            Function::Select => return if c & 1 != 0 { a } else { b },
            _ => return a,
        };
        return u64::from(value.to_bits());
    }
    let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    let value = match function {
        Function::Add => x + y,
        Function::Subtract => x - y,
        Function::Multiply | Function::MultiplyLow => x * y,
        Function::FusedMultiplyAdd => x.mul_add(y, z),
        Function::Divide => x / y,
        Function::Minimum => x.min(y),
        Function::Maximum => x.max(y),
        Function::Absolute => x.abs(),
        Function::Negate => -x,
        Function::Select => return if c & 1 != 0 { a } else { b },
        _ => return a,
    };
    value.to_bits()
}

#[inline]
pub(super) fn compare(compare: Compare, ty: Ty, a: u64, b: u64) -> bool {
    if matches!(ty.kind, Kind::Float | Kind::Half | Kind::Brain) {
        return compare_floats(compare, as_float(ty, a), as_float(ty, b));
    }
    let (a, b) = (ty.number(a), ty.number(b));
    match compare {
        Compare::Equal => a == b,
        Compare::NotEqual => a != b,
        Compare::Less => a < b,
        Compare::LessEqual => a <= b,
        Compare::Greater => a > b,
        Compare::GreaterEqual => a >= b,
        Compare::Unordered(_) | Compare::Number | Compare::NotANumber => false,
    }
}

fn compare_floats(compare: Compare, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match compare {
        Compare::Equal => a == b,
        Compare::NotEqual => !unordered && a != b,
        Compare::Less => a < b,
        Compare::LessEqual => a <= b,
        Compare::Greater => a > b,
        Compare::GreaterEqual => a >= b,
        Compare::Number => !unordered,
        Compare::NotANumber => unordered,
        Compare::Unordered(inner) => {
            unordered
                || match inner {
                    OrderedCompare::Equal => a == b,
                    OrderedCompare::NotEqual => a != b,
                    OrderedCompare::Less => a < b,
                    OrderedCompare::LessEqual => a <= b,
                    OrderedCompare::Greater => a > b,
                    OrderedCompare::GreaterEqual => a >= b,
                }
        }
    }
}

#[inline]
pub(super) fn combine(combine: Combine, value: bool, with: bool) -> bool {
    match combine {
        Combine::None => value,
        Combine::And => value && with,
        Combine::Or => value || with,
        Combine::Xor => value != with,
    }
}

pub(super) fn convert(to_ty: Ty, from_ty: Ty, saturate: bool, round: Round, value: u64) -> u64 {
    let rounded = |x: f64| match round {
        Round::NearestInteger => x.round_ties_even(),
        Round::ZeroInteger => x.trunc(),
        Round::DownInteger => x.floor(),
        Round::UpInteger => x.ceil(),
        _ => x,
    };
    match (from_ty.kind, to_ty.kind) {
        (Kind::Float | Kind::Half | Kind::Brain, Kind::Float) => bits_of(to_ty, rounded(as_float(from_ty, value))),
        (Kind::Float, _) => {
            let x = rounded(as_float(from_ty, value));
            let (least, most) = limits(to_ty);
            let number = if x.is_nan() { 0 } else { (x as i128).clamp(least, most) };
            to_ty.cut(number as u64)
        }
        (_, Kind::Float) => {
            let number = from_ty.number(value);
            if to_ty.bits == 64 { (number as f64).to_bits() } else { u64::from((number as f32).to_bits()) }
        }
        _ => {
            let number = from_ty.number(value);
            let (least, most) = limits(to_ty);
            to_ty.cut(if saturate { number.clamp(least, most) } else { number } as u64)
        }
    }
}

fn limits(ty: Ty) -> (i128, i128) {
    let bits = u32::from(ty.bits);
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}

/// What an atomic operation leaves in memory.
pub(super) fn atomic(operation: Atomic, ty: Ty, old: u64, a: u64, b: u64) -> Option<u64> {
    if ty.is_opaque() {
        return None;
    }
    let value = match operation {
        Atomic::Add => return function(Function::Add, ty, old, a, 0),
        Atomic::Exchange => a,
        Atomic::CompareAndSwap => {
            if ty.cut(old) == ty.cut(a) {
                b
            } else {
                old
            }
        }
        Atomic::Minimum => return function(Function::Minimum, ty, old, a, 0),
        Atomic::Maximum => return function(Function::Maximum, ty, old, a, 0),
        Atomic::And => old & a,
        Atomic::Or => old | a,
        Atomic::Xor => old ^ a,
        Atomic::Increment => {
            if ty.cut(old) >= ty.cut(a) {
                0
            } else {
                old + 1
            }
        }
        Atomic::Decrement => {
            if ty.cut(old) == 0 || ty.cut(old) > ty.cut(a) {
                a
            } else {
                old - 1
            }
        }
    };
    Some(ty.cut(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S32: Ty = Ty { kind: Kind::Signed, bits: 32 };
    const U16: Ty = Ty { kind: Kind::Unsigned, bits: 16 };

    fn run(name: Function, ty: Ty, a: u64, b: u64, c: u64) -> u64 {
        function(name, ty, a, b, c).expect("defined")
    }

    #[test]
    fn integers() {
        assert_eq!(run(Function::Add, Ty::U32, 0xffff_ffff, 2, 0), 1);
        assert_eq!(run(Function::MultiplyWide, S32, 0xffff_ffff, 4, 0), (-4i64) as u64);
        assert_eq!(run(Function::MultiplyHigh, Ty::U32, 0x8000_0000, 4, 0), 2);
        assert_eq!(run(Function::ShiftRight, S32, 0x8000_0000, 31, 0), 0xffff_ffff);
        assert_eq!(run(Function::ShiftRight, Ty::U32, 0x8000_0000, 40, 0), 0);
        assert_eq!(run(Function::Divide, S32, (-7i32) as u32 as u64, 2, 0), (-3i32) as u32 as u64);
        assert_eq!(function(Function::Divide, S32, 1, 0, 0), None);
        assert_eq!(run(Function::LeadingZeros, Ty::U32, 1, 0, 0), 31);
        assert_eq!(run(Function::Reverse, Ty::U32, 1, 0, 0), 0x8000_0000);
        assert_eq!(run(Function::ExtractField, Ty::U32, 0xabcd, 4, 8,), 0xbc);
        assert_eq!(run(Function::ExtractField, S32, 0xf0, 4, 4), 0xffff_ffff);
        assert_eq!(run(Function::Mask { wrap: false }, Ty::U32, 4, 8, 0), 0xff0);
        assert_eq!(run(Function::Permute, Ty::U32, 0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(run(Function::Logic3(0x96), Ty::U32, 0b1100, 0b1010, 0b1001), 0b1111);
        assert_eq!(run(Function::FunnelLeft { wrap: true }, Ty::U32, 0x8000_0000, 1, 1), 3);
        assert_eq!(run(Function::FindHighest { shift_amount: false }, Ty::U32, 0x10, 0, 0), 4);
        assert_eq!(run(Function::Add, U16, 0xffff, 1, 0), 0);
        assert_eq!(insert_field(Ty::U32, 0xf, 0, 4, 4), 0xf0);
        assert_eq!(with_carry(Carry::Add, Ty::U32, 0xffff_ffff, 1, 0, 0), (0, 1));
        assert_eq!(with_carry(Carry::Subtract, Ty::U32, 0, 1, 0, 0), (0xffff_ffff, 1));
        assert_eq!(find_nth(0b1010, 0, 2), 3);
    }

    #[test]
    fn conversions_and_comparisons() {
        let f32_ty = Ty { kind: Kind::Float, bits: 32 };
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(convert(S32, f32_ty, false, Round::ZeroInteger, bits(-1.5)), (-1i32) as u32 as u64);
        assert_eq!(convert(Ty::U32, f32_ty, false, Round::ZeroInteger, bits(-1.5)), 0);
        assert_eq!(convert(f32_ty, S32, false, Round::Nearest, 3), bits(3.0));
        assert_eq!(convert(Ty::U64, S32, false, Round::Nearest, 0xffff_ffff), u64::MAX);
        assert!(compare(Compare::Less, S32, 0xffff_ffff, 0));
        assert!(!compare(Compare::Less, Ty::U32, 0xffff_ffff, 0));
        assert!(compare(Compare::Unordered(OrderedCompare::Less), f32_ty, bits(f32::NAN), 0));
        assert!(!compare(Compare::NotEqual, f32_ty, bits(f32::NAN), 0));
    }

    #[test]
    fn atomics_wrap_where_the_isa_says() {
        assert_eq!(atomic(Atomic::Increment, Ty::U32, 3, 3, 0), Some(0));
        assert_eq!(atomic(Atomic::Decrement, Ty::U32, 0, 5, 0), Some(5));
        assert_eq!(atomic(Atomic::CompareAndSwap, Ty::U32, 1, 1, 7), Some(7));
        assert_eq!(atomic(Atomic::CompareAndSwap, Ty::U32, 2, 1, 7), Some(2));
    }

    #[test]
    fn small_floats_are_widened_exactly() {
        let values = [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2f64.powi(-24)), (0x7bff, 65504.0), (0x8000, -0.0)];
        for (bits, value) in values {
            assert_eq!(half(bits).to_bits(), f64::to_bits(value));
        }
        assert!(half(0x7c01).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
        let brain = Ty { kind: Kind::Brain, bits: 16 };
        assert_eq!(as_float(brain, 0x3f80), 1.0);
    }
}
