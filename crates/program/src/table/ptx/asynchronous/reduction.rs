//! How asynchronous reductions combine what they bring with what is there (PTX ISA 9.7.10.28.4.2, 9.7.15.7).

use crate::program::asynchronous::{Combine, How};
use crate::table::form::{Slot, Words};
use crate::table::modifier;
use crate::value::Type;
use crate::value::expression::BinaryOperator;

const COMBINES: &[(&str, How)] = &[
    ("add", How::Apply(BinaryOperator::Add)),
    ("min", How::Apply(BinaryOperator::Minimum)),
    ("max", How::Apply(BinaryOperator::Maximum)),
    ("and", How::Apply(BinaryOperator::And)),
    ("or", How::Apply(BinaryOperator::Or)),
    ("xor", How::Apply(BinaryOperator::Xor)),
    ("inc", How::Increment),
    ("dec", How::Decrement),
];

/// Floating-point types of reductions, by their size: bits that no arithmetic here means.
const FLOATS: &[(&str, u8)] = &[("f16", 16), ("bf16", 16), ("f16x2", 32), ("bf16x2", 32), ("f32", 32), ("f64", 64)];

/// The type of one element of a reduction.
pub(crate) const ELEMENT: Slot = Slot::Like { name: "type", accepts: is_element, most: 1 };

fn is_element(word: &str) -> bool {
    modifier::integer_type(word).is_some_and(|ty| ty.bits >= 8) || modifier::find(FLOATS, word).is_some()
}

/// How a reduction combines, None for a plain copy or store. Where nothing says the type it is that of the whole word.
pub(crate) fn combine(words: &Words, missing: Type) -> Option<Combine> {
    let how = words.find(COMBINES)?.node;
    if let Some(bits) = words.find(FLOATS) {
        return Some(Combine { how: How::Float, ty: Type { bits: bits.node, signed: false } });
    }
    Some(Combine { how, ty: words.integer().unwrap_or(missing) })
}
