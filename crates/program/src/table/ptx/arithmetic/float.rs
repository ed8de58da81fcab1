//! Floating-point arithmetic on registers (PTX ISA 9.7.3 to 9.7.5), and permutations of bytes: what it gives has no model. A
//! result is an opaque value, the same for the same operands; orders, races and dependencies are as for any other, and an
//! answer that rests on the value is `Unknown` (see `unfold::opaque`).

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{LocalValue, Operand};
use crate::sections;
use crate::table::compute::{assign, binary, constant, temporary};
use crate::table::form::{self, Form, Slot, version};
use crate::table::modifier::{bits_type, spelled};
use crate::table::operands::wrong_number;
use crate::value::Type;
use crate::value::expression::{BinaryOperator, UnaryOperator};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Arithmetic,
    Comparison,
    /// `prmt`: bytes of two registers.
    Permute,
    /// `mma`: products of matrices in registers; the sources are vectors, and so is the destination.
    Matrix,
    /// `dp4a` and packed operations of integers.
    Packed,
}

const FLOATS: [&str; 17] = [
    "f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "tf32", "f64", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2",
    "ue8m0x2", "e4m3x4", "e5m2x4", "s2f6x2",
];
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
    Form {
        head,
        slots: &[ROUNDING, TYPES],
        section: sections::FLOATING_POINT,
        since: version(1, 0),
        kind: Kind::Arithmetic,
    }
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
        section: sections::COMPARISON_AND_SELECTION,
        since: version(1, 0),
        kind: Kind::Comparison,
    },
    Form {
        head: &["testp"],
        slots: &[
            Slot::One(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]),
            Slot::One(&["f32", "f64"]),
        ],
        section: sections::FLOATING_POINT,
        since: version(2, 0),
        kind: Kind::Comparison,
    },
    Form {
        head: &["prmt"],
        slots: &[Slot::One(&["b32"]), Slot::Maybe(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])],
        section: sections::PRMT,
        since: version(2, 0),
        kind: Kind::Permute,
    },
    Form {
        head: &["mma", "sync", "aligned"],
        slots: &[Slot::Like { name: "shape.layout.types", accepts: is_of_matrices, most: 16 }],
        section: sections::MMA,
        since: version(6, 4),
        kind: Kind::Matrix,
    },
    Form {
        head: &["mma", "sp", "sync", "aligned"],
        slots: &[Slot::Like { name: "shape.layout.types", accepts: is_of_matrices, most: 16 }],
        section: sections::MMA_SP,
        since: version(7, 1),
        kind: Kind::Matrix,
    },
    Form {
        head: &["movmatrix", "sync", "aligned"],
        slots: &[Slot::One(&["m8n8"]), Slot::One(&["trans"]), Slot::One(&["b16"])],
        section: sections::MOVMATRIX,
        since: version(7, 8),
        kind: Kind::Permute,
    },
    Form {
        head: &["dp4a"],
        slots: &[Slot::Like { name: "atype.btype", accepts: is_word_type, most: 2 }],
        section: sections::INTEGER,
        since: version(5, 0),
        kind: Kind::Packed,
    },
    Form {
        head: &["dp2a"],
        slots: &[Slot::One(&["lo", "hi"]), Slot::Like { name: "atype.btype", accepts: is_word_type, most: 2 }],
        section: sections::INTEGER,
        since: version(5, 0),
        kind: Kind::Packed,
    },
];

fn is_word_type(word: &str) -> bool {
    ["u32", "s32"].contains(&word)
}

/// The words of `mma`: shapes, layouts, element types, and what is done with them.
fn is_of_matrices(word: &str) -> bool {
    const PLAIN: [&str; 12] =
        ["row", "col", "satfinite", "xor", "and", "popc", "b1", "u4", "s4", "u8", "s8", "block_scale"];
    const TYPES: [&str; 13] =
        ["f16", "bf16", "tf32", "f32", "f64", "s32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0", "ue4m3"];
    let is_shape = word.starts_with('m') && word.contains('n') && word.contains('k');
    let has_prefix = |prefix: &str| word.starts_with(prefix);
    is_shape || PLAIN.contains(&word) || TYPES.contains(&word) || ["kind::", "scale_vec::"].into_iter().any(has_prefix)
}

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let computes = tree.modifiers.iter().any(|word| FLOATS.contains(&word.node.as_str()));
    // The same opcodes of integers are in other tables.
    if !computes && matches!(form.kind, Kind::Arithmetic | Kind::Comparison) {
        return None;
    }
    Some(form::words(form, tree).and_then(|_| match form.kind {
        Kind::Matrix => matrices(context, tree),
        kind => emit(context, tree, kind),
    }))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind) -> Result<(), Refusal> {
    let [destination, sources @ ..] = tree.operands.as_slice() else {
        return Err(Refusal::error(tree.span(), format!("{} has no operands", spelled(tree))));
    };
    if sources.is_empty() || sources.len() > 4 {
        return Err(wrong_number(tree, format!("{} has the wrong number of operands", spelled(tree))));
    }
    let ty = match kind {
        Kind::Comparison => Type::PREDICATE,
        Kind::Permute | Kind::Packed | Kind::Matrix => Type::U32,
        Kind::Arithmetic => {
            let word = tree.modifiers.iter().find(|word| is_type(&word.node)).map(|word| word.node.as_str());
            let packed = |word: &str| {
                let bits = if word.ends_with("x4") { 32 } else { 16 };
                (word.contains('e') || word.starts_with("s2")).then_some(Type { bits, signed: false })
            };
            word.and_then(|word| bits_type(word).or_else(|| packed(word))).unwrap_or(Type { bits: 64, signed: false })
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

/// Every element of the destination comes from all of the sources.
fn matrices(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [destination, sources @ ..] = tree.operands.as_slice() else {
        return Err(Refusal::error(tree.span(), format!("{} has no operands", spelled(tree))));
    };
    fn parts(operand: &Spanned<TreeOperand>) -> &[Spanned<TreeOperand>] {
        match &operand.node {
            TreeOperand::Vector(parts) => parts,
            _ => std::slice::from_ref(operand),
        }
    }
    // The first type is that of the destination.
    let word = tree.modifiers.iter().filter_map(|word| bits_type(&word.node)).next();
    let ty = word.map_or(Type::U32, |ty| if ty.bits == 64 { Type::U64 } else { Type::U32 });
    let mut value = constant(name(&spelled(tree)));
    for source in sources.iter().flat_map(parts) {
        let source = context.value(source)?;
        value = binary(context, BinaryOperator::Opaque, Type::U64, value, source);
    }
    for (index, element) in parts(destination).iter().enumerate() {
        assign(context, element, ty, LocalValue::Binary(BinaryOperator::Opaque, value, constant(index as i128)))?;
    }
    Ok(())
}

/// FNV-1a of a text.
fn name(text: &str) -> i128 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    i128::from(hash >> 1)
}
