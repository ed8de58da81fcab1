//! Floating-point arithmetic on registers (PTX ISA 9.7.3 to 9.7.5), and permutations of bytes: what it gives has no model. A
//! result is an opaque value, the same for the same operands; orders, races and dependencies are as for any other, and an
//! answer that rests on the value is `Unknown` (see `unfold::opaque`).

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::lower::{Context, Refusal};
use crate::program::{LocalValue, Operand};
use crate::table::form::{self, Form, Slot, version};
use crate::table::modifier::{bits_type, spelled};
use crate::table::ptx_address::{assign, binary, constant, temporary};
use crate::value::Type;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Arithmetic,
    Comparison,
    /// `prmt`: bytes of two registers.
    Permute,
}

const FLOATS: [&str; 8] = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "tf32", "f64"];
const WORDS: [&str; 19] = [
    "rn",
    "rna",
    "rz",
    "rm",
    "rp",
    "rs",
    "rni",
    "rzi",
    "rmi",
    "rpi",
    "ftz",
    "sat",
    "satfinite",
    "relu",
    "approx",
    "full",
    "NaN",
    "xorsign",
    "abs",
];
const COMPARISONS: [&str; 17] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "and", "or", "xor"];

fn is_type(word: &str) -> bool {
    FLOATS.contains(&word) || bits_type(word).is_some()
}

fn is_word(word: &str) -> bool {
    WORDS.contains(&word)
}

fn is_comparison(word: &str) -> bool {
    COMPARISONS.contains(&word)
}

const ROUNDING: Slot = Slot::Like { name: "rounding", accepts: is_word, most: 4 };
const TYPES: Slot = Slot::Like { name: "ftype", accepts: is_type, most: 2 };
const TESTS: Slot = Slot::Like { name: "comparison", accepts: is_comparison, most: 2 };

const fn row(head: &'static [&'static str]) -> Form<Kind> {
    Form { head, slots: &[ROUNDING, TYPES], section: "9.7.3", since: version(1, 0), kind: Kind::Arithmetic }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(&["add"]),
    row(&["sub"]),
    row(&["mul"]),
    row(&["div"]),
    row(&["fma"]),
    row(&["mad"]),
    row(&["min"]),
    row(&["max"]),
    row(&["neg"]),
    row(&["abs"]),
    row(&["rcp"]),
    row(&["sqrt"]),
    row(&["rsqrt"]),
    row(&["sin"]),
    row(&["cos"]),
    row(&["lg2"]),
    row(&["ex2"]),
    row(&["tanh"]),
    row(&["copysign"]),
    row(&["cvt"]),
    Form {
        head: &["setp"],
        slots: &[TESTS, ROUNDING, TYPES],
        section: "9.7.6",
        since: version(1, 0),
        kind: Kind::Comparison,
    },
    Form {
        head: &["prmt"],
        slots: &[Slot::One(&["b32"]), Slot::Maybe(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])],
        section: "9.7.8",
        since: version(2, 0),
        kind: Kind::Permute,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let computes = tree.modifiers.iter().any(|word| FLOATS.contains(&word.node.as_str()));
    // The same opcodes of integers are in other tables.
    if !computes && form.kind != Kind::Permute {
        return None;
    }
    Some(form::words(form, tree).and_then(|_| emit(context, tree, form.kind)))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind) -> Result<(), Refusal> {
    let [destination, sources @ ..] = tree.operands.as_slice() else {
        return Err(Refusal::error(tree.span(), format!("{} has no operands", spelled(tree))));
    };
    if sources.is_empty() || sources.len() > 4 {
        return Err(Refusal::error(tree.span(), format!("{} has the wrong number of operands", spelled(tree))));
    }
    let ty = match kind {
        Kind::Comparison => Type::PREDICATE,
        Kind::Permute => Type::U32,
        Kind::Arithmetic => {
            let word = tree.modifiers.iter().find(|word| is_type(&word.node)).map(|word| word.node.as_str());
            word.and_then(bits_type).unwrap_or(Type { bits: 64, signed: false })
        }
    };
    // Which operation it is, so that no two of them give the same.
    let mut value = constant(name(&spelled(tree)));
    for source in sources {
        let source = match &source.node {
            TreeOperand::Negated(inner) => {
                let inner = context.value(inner)?;
                Operand::Register(temporary(context, ty, LocalValue::Unary(UnaryOperator::Not, inner)))
            }
            _ => context.value(source)?,
        };
        value = binary(context, BinaryOperator::Opaque, Type::U64, value, source);
    }
    let opaque = |from: Operand, number: i128| LocalValue::Binary(BinaryOperator::Opaque, from, constant(number));
    match &destination.node {
        TreeOperand::Pair(first, second) => {
            assign(context, first, ty, opaque(value, 0))?;
            assign(context, second, ty, opaque(value, 1))
        }
        _ => assign(context, destination, ty, opaque(value, 0)),
    }
}

/// FNV-1a of a text.
fn name(text: &str) -> i128 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    i128::from(hash >> 1)
}
