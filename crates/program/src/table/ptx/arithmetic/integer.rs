//! Integer arithmetic beyond the table of `ptx`: carries (PTX ISA 9.7.2), funnel shifts (9.7.9.7), absolute values, small
//! products, masks and searches of bits (9.7.1), comparisons that give numbers (9.7.7, 9.7.8). Everything is made of the
//! operators there are; the carry is a register of its own, `%CC.CF`.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::short::ShortText;

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{LocalValue, Operand, Operation};
use crate::sections;
use crate::table::compute::{assign, binary, constant, temporary};
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::{integer_type, spelled};
use crate::table::operands::wrong_number;
use crate::value::Type;
use crate::value::expression::{BinaryOperator as Op, UnaryOperator};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Add(Carry),
    Subtract(Carry),
    MultiplyAdd(Carry),
    FunnelShift,
    Absolute,
    Product24,
    MultiplyAdd24,
    Difference,
    Find,
    IsZero,
    Set,
    SelectBySign,
}

/// Whether the carry flag is added.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Carry {
    Ignored,
    Taken,
}

const WORDS: Slot = Slot::One(&["u32", "s32", "u64", "s64", "b32", "b64"]);
const SMALL: Slot = Slot::One(&["u32", "s32"]);
const CC: Slot = Slot::Maybe(&["cc"]);
const PART: Slot = Slot::One(&["lo", "hi"]);
const COMPARISON: Slot = Slot::One(&["eq", "ne", "lt", "le", "gt", "ge"]);
const COMPARISONS: &[(&str, Op)] = &[
    ("eq", Op::Equal),
    ("ne", Op::NotEqual),
    ("lt", Op::Less),
    ("le", Op::LessEqual),
    ("gt", Op::Greater),
    ("ge", Op::GreaterEqual),
];

fn is_integer(word: &str) -> bool {
    integer_type(word).is_some_and(|ty| ty.bits >= 16)
}

const TYPES: Slot = Slot::Like { name: "type.type", accepts: is_integer, most: 2 };

const fn row(
    head: &'static [&'static str],
    slots: &'static [Slot],
    section: &'static str,
    (major, minor): (u8, u8),
    kind: Kind,
) -> Form<Kind> {
    Form { head, slots, section, since: version(major, minor), kind }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(&["add", "cc"], &[WORDS], sections::EXTENDED_INTEGER, (1, 2), Kind::Add(Carry::Ignored)),
    row(&["addc"], &[CC, WORDS], sections::EXTENDED_INTEGER, (1, 2), Kind::Add(Carry::Taken)),
    row(&["sub", "cc"], &[WORDS], sections::EXTENDED_INTEGER, (1, 2), Kind::Subtract(Carry::Ignored)),
    row(&["subc"], &[CC, WORDS], sections::EXTENDED_INTEGER, (1, 2), Kind::Subtract(Carry::Taken)),
    row(&["mad", "lo", "cc"], &[WORDS], sections::EXTENDED_INTEGER, (3, 0), Kind::MultiplyAdd(Carry::Ignored)),
    row(&["mad", "hi", "cc"], &[WORDS], sections::EXTENDED_INTEGER, (3, 0), Kind::MultiplyAdd(Carry::Ignored)),
    row(&["madc"], &[PART, CC, WORDS], sections::EXTENDED_INTEGER, (3, 0), Kind::MultiplyAdd(Carry::Taken)),
    row(
        &["shf"],
        &[Slot::One(&["l", "r"]), Slot::One(&["clamp", "wrap"]), Slot::One(&["b32"])],
        sections::LOGIC_AND_SHIFT,
        (3, 1),
        Kind::FunnelShift,
    ),
    row(&["abs"], &[Slot::One(&["s16", "s32", "s64"])], sections::INTEGER, (1, 0), Kind::Absolute),
    row(&["mul24"], &[Slot::One(&["lo"]), SMALL], sections::INTEGER, (1, 0), Kind::Product24),
    row(&["mad24"], &[Slot::One(&["lo"]), SMALL], sections::INTEGER, (1, 0), Kind::MultiplyAdd24),
    row(
        &["sad"],
        &[Slot::One(&["u16", "u32", "u64", "s16", "s32", "s64"])],
        sections::INTEGER,
        (1, 0),
        Kind::Difference,
    ),
    row(&["bfind"], &[Slot::Maybe(&["shiftamt"]), Slot::One(&["u32", "u64"])], sections::INTEGER, (2, 0), Kind::Find),
    row(&["cnot"], &[Slot::One(&["b16", "b32", "b64"])], sections::LOGIC_AND_SHIFT, (1, 0), Kind::IsZero),
    row(&["set"], &[COMPARISON, TYPES], sections::COMPARISON_AND_SELECTION, (1, 0), Kind::Set),
    row(&["slct"], &[TYPES], sections::COMPARISON_AND_SELECTION, (1, 0), Kind::SelectBySign),
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    // `abs.f32`, `set.lt.u32.f32` and the like are no integers.
    let is_float = |word: &Spanned<ShortText>| {
        let bits = word.node.trim_start_matches(['b', 't']).strip_prefix('f');
        bits.is_some_and(|bits| bits.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    if tree.modifiers.iter().any(is_float) {
        return None;
    }
    Some(form::words(form, tree).and_then(|words| emit(context, tree, form.kind, &words)))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    let ty = words.integer().unwrap_or(Type::U32);
    match kind {
        Kind::Add(carry) => {
            let [destination, left, right] = context.operands(tree)?;
            let (left, right) = (context.value(left)?, context.value(right)?);
            add(context, (destination, ty), (left, right), (carry, writes_carry(tree)))
        }
        Kind::MultiplyAdd(carry) => {
            let [destination, left, right, addend] = context.operands(tree)?;
            let (left, right) = (context.value(left)?, context.value(right)?);
            let high = tree.modifiers.iter().any(|word| word.node == "hi");
            let operator = if high { Op::MultiplyHigh } else { Op::Multiply };
            let product = binary(context, operator, ty, left, right);
            let addend = context.value(addend)?;
            add(context, (destination, ty), (product, addend), (carry, writes_carry(tree)))
        }
        Kind::Subtract(carry) => subtract(context, tree, ty, carry),
        Kind::FunnelShift => funnel(context, tree, words),
        Kind::Absolute => {
            let [destination, source] = context.operands(tree)?;
            let source = context.value(source)?;
            let value = absolute(context, ty, source);
            assign(context, destination, ty, value)
        }
        Kind::Product24 | Kind::MultiplyAdd24 => small_product(context, tree, ty),
        Kind::Difference => {
            let [destination, left, right, addend] = context.operands(tree)?;
            let (left, right, addend) = (context.value(left)?, context.value(right)?, context.value(addend)?);
            let smaller = binary(context, Op::Minimum, ty, left, right);
            let greater = binary(context, Op::Maximum, ty, left, right);
            let apart = binary(context, Op::Subtract, ty, greater, smaller);
            assign(context, destination, ty, LocalValue::Binary(Op::Add, addend, apart))
        }
        Kind::Find => find(context, tree, words, ty),
        Kind::IsZero => {
            let [destination, source] = context.operands(tree)?;
            let value = LocalValue::Binary(Op::Equal, context.value(source)?, constant(0));
            assign(context, destination, ty, value)
        }
        Kind::Set => set(context, tree, words),
        Kind::SelectBySign => {
            let [destination, then, otherwise, sign] = context.operands(tree)?;
            let (then, otherwise, sign) = (context.value(then)?, context.value(otherwise)?, context.value(sign)?);
            let last = tree.modifiers.last().and_then(|word| integer_type(&word.node)).unwrap_or(ty);
            let condition = binary(context, Op::GreaterEqual, last, sign, constant(0));
            assign(context, destination, ty, LocalValue::Select { condition, then, otherwise })
        }
    }
}

/// The condition code register of PTX ISA 9.7.2.
fn flag(context: &mut Context<'_>) -> crate::ids::RegisterId {
    context.thread.register("%CC.CF", Type::PREDICATE)
}

fn writes_carry(tree: &Instruction) -> Writes {
    if tree.modifiers.iter().any(|word| word.node == "cc") { Writes::Carry } else { Writes::Nothing }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Writes {
    Carry,
    Nothing,
}

fn unsigned(ty: Type) -> Type {
    Type { signed: false, ..ty }
}

/// A sum of two or three, and whether it went over.
fn add(
    context: &mut Context<'_>,
    (destination, ty): (&Spanned<TreeOperand>, Type),
    (left, right): (Operand, Operand),
    (carry, writes): (Carry, Writes),
) -> Result<(), Refusal> {
    let bits = unsigned(ty);
    let mut sum = binary(context, Op::Add, bits, left, right);
    let mut over = binary(context, Op::Less, bits, sum, left);
    if carry == Carry::Taken {
        let flag = Operand::Register(flag(context));
        let whole = binary(context, Op::Add, bits, sum, flag);
        let again = binary(context, Op::Less, bits, whole, sum);
        over = binary(context, Op::Or, Type::PREDICATE, over, again);
        sum = whole;
    }
    keep(context, over, writes);
    assign(context, destination, ty, LocalValue::Operand(sum))
}

/// A difference, and whether it borrowed.
fn subtract(context: &mut Context<'_>, tree: &Instruction, ty: Type, carry: Carry) -> Result<(), Refusal> {
    let [destination, left, right] = context.operands(tree)?;
    let (left, right) = (context.value(left)?, context.value(right)?);
    let bits = unsigned(ty);
    let mut rest = binary(context, Op::Subtract, bits, left, right);
    let mut under = binary(context, Op::Less, bits, left, right);
    if carry == Carry::Taken {
        let flag = Operand::Register(flag(context));
        let again = binary(context, Op::Less, bits, rest, flag);
        rest = binary(context, Op::Subtract, bits, rest, flag);
        under = binary(context, Op::Or, Type::PREDICATE, under, again);
    }
    keep(context, under, writes_carry(tree));
    assign(context, destination, ty, LocalValue::Operand(rest))
}

fn keep(context: &mut Context<'_>, carry: Operand, writes: Writes) {
    if writes == Writes::Carry {
        let destination = flag(context);
        let value = LocalValue::Operand(carry);
        context.thread.emit(Operation::Local { destination, ty: Type::PREDICATE, value });
    }
}

/// `shf`: 32 of the 64 bits of two registers, the first below the second.
fn funnel(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [destination, low, high, amount] = context.operands(tree)?;
    let (low, high, amount) = (context.value(low)?, context.value(high)?, context.value(amount)?);
    let amount = match words.has("wrap") {
        true => binary(context, Op::And, Type::U32, amount, constant(31)),
        false => binary(context, Op::Minimum, Type::U32, amount, constant(32)),
    };
    let low = Operand::Register(temporary(context, Type::U32, LocalValue::Operand(low)));
    let high = binary(context, Op::ShiftLeft, Type::U64, high, constant(32));
    let both = binary(context, Op::Or, Type::U64, high, low);
    if words.has("r") {
        let shifted = binary(context, Op::ShiftRight, Type::U64, both, amount);
        return assign(context, destination, Type::U32, LocalValue::Operand(shifted));
    }
    let shifted = binary(context, Op::ShiftLeft, Type::U64, both, amount);
    let top = binary(context, Op::ShiftRight, Type::U64, shifted, constant(32));
    assign(context, destination, Type::U32, LocalValue::Operand(top))
}

fn absolute(context: &mut Context<'_>, ty: Type, source: Operand) -> LocalValue {
    let condition = binary(context, Op::Less, ty, source, constant(0));
    let then = binary(context, Op::Subtract, ty, constant(0), source);
    LocalValue::Select { condition, then, otherwise: source }
}

/// Products of the low 24 bits.
fn small_product(context: &mut Context<'_>, tree: &Instruction, ty: Type) -> Result<(), Refusal> {
    let [destination, left, right, addend @ ..] = tree.operands.as_slice() else {
        return Err(Refusal::error(tree.span(), format!("{} has too few operands", spelled(tree))));
    };
    let mut factors = Vec::new();
    for factor in [left, right] {
        let factor = context.value(factor)?;
        let top = binary(context, Op::ShiftLeft, ty, factor, constant(8));
        factors.push(binary(context, Op::ShiftRight, ty, top, constant(8)));
    }
    let product = LocalValue::Binary(Op::Multiply, factors[0], factors[1]);
    match (addend, tree.opcode.node.as_str()) {
        ([], "mul24") => assign(context, destination, ty, product),
        ([addend], "mad24") => {
            let product = Operand::Register(temporary(context, ty, product));
            let value = LocalValue::Binary(Op::Add, product, context.value(addend)?);
            assign(context, destination, ty, value)
        }
        _ => Err(wrong_number(tree, format!("{} has the wrong number of operands", spelled(tree)))),
    }
}

/// `bfind` of an unsigned number: where its highest one is, or how far it is from the top; all ones if there is none.
fn find(context: &mut Context<'_>, tree: &Instruction, words: &Words, ty: Type) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let source = context.value(source)?;
    let zeros = Operand::Register(temporary(context, ty, LocalValue::Unary(UnaryOperator::LeadingZeros, source)));
    let otherwise = match words.has("shiftamt") {
        true => zeros,
        false => binary(context, Op::Subtract, Type::U32, constant(i128::from(ty.bits) - 1), zeros),
    };
    let condition = binary(context, Op::Equal, ty, source, constant(0));
    let then = constant(0xffff_ffff);
    assign(context, destination, Type::U32, LocalValue::Select { condition, then, otherwise })
}

/// `set.eq.u32.s32`: all ones if it holds, else 0.
fn set(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let mut types = tree.modifiers.iter().filter_map(|word| integer_type(&word.node));
    let (Some(to), Some(of), [destination, left, right]) = (types.next(), types.next(), tree.operands.as_slice())
    else {
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    };
    let (left, right) = (context.value(left)?, context.value(right)?);
    let operator = words.find(COMPARISONS).map_or(Op::Equal, |found| found.node);
    let condition = binary(context, operator, of, left, right);
    let value = LocalValue::Select { condition, then: constant(-1), otherwise: constant(0) };
    assign(context, destination, to, value)
}
