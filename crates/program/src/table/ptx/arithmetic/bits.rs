//! Bit fields, bit counts (PTX ISA 9.7.1, 9.7.9) and `mov` between a register and its parts (9.7.10.4).

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{LocalValue, Operand};
use crate::sections;
use crate::table::compute::{assign, binary, constant, temporary};
use crate::table::form::{self, Form, Slot, version};
use crate::table::modifier::{self, spelled};
use crate::table::operands::wrong_number;
use crate::value::expression::{BinaryOperator as Op, UnaryOperator};
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Extract,
    Insert,
    Count(UnaryOperator),
    Reverse,
    /// `lop3`.
    Table,
}

const BITS: Slot = Slot::One(&["b32", "b64"]);

const fn row(opcode: &'static [&'static str], slots: &'static [Slot], kind: Kind) -> Form<Kind> {
    Form { head: opcode, slots, section: sections::INTEGER, since: version(2, 0), kind }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(&["bfe"], &[Slot::One(&["u32", "u64", "s32", "s64"])], Kind::Extract),
    row(&["bfi"], &[BITS], Kind::Insert),
    row(&["popc"], &[BITS], Kind::Count(UnaryOperator::PopulationCount)),
    row(&["clz"], &[BITS], Kind::Count(UnaryOperator::LeadingZeros)),
    row(&["brev"], &[BITS], Kind::Reverse),
    Form {
        head: &["lop3"],
        slots: &[Slot::Maybe(&["and", "or", "xor"]), Slot::One(&["b32"])],
        section: sections::LOGIC_AND_SHIFT,
        since: version(4, 3),
        kind: Kind::Table,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|_| {
        let word = tree.modifiers.last().and_then(|word| modifier::integer_type(&word.node));
        emit(context, tree, form.kind, word.unwrap_or(Type::U32))
    }))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind, ty: Type) -> Result<(), Refusal> {
    match kind {
        Kind::Extract => extract(context, tree, ty),
        Kind::Insert => {
            let [destination, field, base, position, length] = context.operands(tree)?;
            let (field, base) = (context.value(field)?, context.value(base)?);
            let (position, length) = (small(context, position)?, small(context, length)?);
            let mask = mask(context, ty, length);
            let kept = binary(context, Op::And, ty, field, mask);
            let kept = binary(context, Op::ShiftLeft, ty, kept, position);
            let hole = binary(context, Op::ShiftLeft, ty, mask, position);
            let hole = Operand::Register(temporary(context, ty, LocalValue::Unary(UnaryOperator::Not, hole)));
            let rest = binary(context, Op::And, ty, base, hole);
            assign(context, destination, ty, LocalValue::Binary(Op::Or, rest, kept))
        }
        Kind::Count(operator) => {
            let [destination, source] = context.operands(tree)?;
            let source = context.value(source)?;
            let count = temporary(context, ty, LocalValue::Unary(operator, source));
            assign(context, destination, Type::U32, LocalValue::Operand(Operand::Register(count)))
        }
        Kind::Reverse => {
            let [destination, source] = context.operands(tree)?;
            let value = LocalValue::Unary(UnaryOperator::ReverseBits, context.value(source)?);
            assign(context, destination, ty, value)
        }
        Kind::Table => by_table(context, tree, ty),
    }
}

/// `lop3`: a bit of the result is the bit of the table that the three bits of the operands number.
fn by_table(context: &mut Context<'_>, tree: &Instruction, ty: Type) -> Result<(), Refusal> {
    let (destination, rest, other) = match tree.operands.as_slice() {
        [destination, rest @ .., other] if rest.len() == 4 => (destination, rest, Some(other)),
        [destination, rest @ ..] => (destination, rest, None),
        [] => return Err(Refusal::error(tree.span(), "`lop3` has no operands".to_string())),
    };
    let [a, b, c, table] = rest else {
        return Err(wrong_number(tree, format!("{} has the wrong number of operands", spelled(tree))));
    };
    let TreeOperand::Integer(table) = table.node else {
        return Err(Refusal::error(table.span, "the table of `lop3` is a number".to_string()));
    };
    let mut sides = Vec::new();
    for operand in [a, b, c] {
        let value = context.value(operand)?;
        let not = Operand::Register(temporary(context, ty, LocalValue::Unary(UnaryOperator::Not, value)));
        sides.push([not, value]);
    }
    let mut result = constant(0);
    for row in (0..8).filter(|row| table >> row & 1 == 1) {
        let mut all = constant(-1);
        for (side, shift) in sides.iter().zip([2, 1, 0]) {
            let side = if row >> shift & 1 == 1 { side[1] } else { side[0] };
            all = binary(context, Op::And, ty, all, side);
        }
        result = binary(context, Op::Or, ty, result, all);
    }
    let joined = tree.modifiers.iter().find_map(|word| modifier::find(BOOLEANS, &word.node));
    match (joined, other, &destination.node) {
        (None, None, _) => assign(context, destination, ty, LocalValue::Operand(result)),
        // `d|p`: whether some bit is set, joined with a predicate.
        (Some(operator), Some(other), TreeOperand::Pair(first, second)) => {
            let some = binary(context, Op::NotEqual, ty, result, constant(0));
            let other = context.value(other)?;
            assign(context, first, ty, LocalValue::Operand(result))?;
            assign(context, second, Type::PREDICATE, LocalValue::Binary(operator, some, other))
        }
        _ => Err(Refusal::error(tree.span(), format!("{} has the wrong operands", spelled(tree)))),
    }
}

/// How `lop3` joins predicates.
const BOOLEANS: &[(&str, Op)] = &[("and", Op::And), ("or", Op::Or), ("xor", Op::Xor)];

/// Positions and lengths of fields are the low 8 bits of their operands.
fn small(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
    let value = context.value(operand)?;
    Ok(binary(context, Op::And, Type::U32, value, constant(0xff)))
}

/// So many ones: all of them from the width on, as a shift by the width leaves 0.
fn mask(context: &mut Context<'_>, ty: Type, length: Operand) -> Operand {
    let bit = binary(context, Op::ShiftLeft, ty, constant(1), length);
    binary(context, Op::Subtract, ty, bit, constant(1))
}

fn extract(context: &mut Context<'_>, tree: &Instruction, ty: Type) -> Result<(), Refusal> {
    let [destination, source, position, length] = context.operands(tree)?;
    if !ty.signed {
        let source = context.value(source)?;
        let (position, length) = (small(context, position)?, small(context, length)?);
        let shifted = binary(context, Op::ShiftRight, ty, source, position);
        let mask = mask(context, ty, length);
        return assign(context, destination, ty, LocalValue::Binary(Op::And, shifted, mask));
    }
    // A signed field is moved to the top and back; where it begins must be known for that.
    let bits = i128::from(ty.bits);
    let (TreeOperand::Integer(position), TreeOperand::Integer(length)) = (&position.node, &length.node) else {
        return Err(Refusal::Unsupported(tree.span(), format!("{} of a computed field", spelled(tree))));
    };
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 || position + length > bits {
        return Err(Refusal::Unsupported(tree.span(), format!("{} of a field past the end", spelled(tree))));
    }
    let source = context.value(source)?;
    let top = binary(context, Op::ShiftLeft, ty, source, constant(bits - position - length));
    assign(context, destination, ty, LocalValue::Binary(Op::ShiftRight, top, constant(bits - length)))
}

/// `mov.b64 %rd1, {%r1, %r2}` and back; None where no operand is a vector.
pub(crate) fn parts(context: &mut Context<'_>, tree: &Instruction, ty: Type) -> Option<Result<(), Refusal>> {
    match tree.operands.as_slice() {
        [destination, source] => match (&destination.node, &source.node) {
            (TreeOperand::Vector(parts), _) => Some(unpack(context, tree, ty, (parts, source))),
            (_, TreeOperand::Vector(parts)) => Some(pack(context, tree, ty, (destination, parts))),
            _ => None,
        },
        _ => None,
    }
}

type Part = Spanned<TreeOperand>;

/// The type of one part.
fn part(tree: &Instruction, ty: Type, parts: &[Part]) -> Result<Type, Refusal> {
    let count = u8::try_from(parts.len()).ok().filter(|count| matches!(count, 1 | 2 | 4));
    match count {
        Some(count) if ty.bits / count >= 8 => Ok(Type { bits: ty.bits / count, signed: false }),
        _ => Err(Refusal::error(tree.span(), format!("{} has no {} parts", spelled(tree), parts.len()))),
    }
}

fn pack(
    context: &mut Context<'_>,
    tree: &Instruction,
    ty: Type,
    (destination, parts): (&Part, &[Part]),
) -> Result<(), Refusal> {
    let own = part(tree, ty, parts)?;
    let mut whole = constant(0);
    for (index, element) in parts.iter().enumerate() {
        let value = context.value(element)?;
        let value = Operand::Register(temporary(context, own, LocalValue::Operand(value)));
        let at = constant(index as i128 * i128::from(own.bits));
        let shifted = binary(context, Op::ShiftLeft, ty, value, at);
        whole = binary(context, Op::Or, ty, whole, shifted);
    }
    assign(context, destination, ty, LocalValue::Operand(whole))
}

fn unpack(
    context: &mut Context<'_>,
    tree: &Instruction,
    ty: Type,
    (parts, source): (&[Part], &Part),
) -> Result<(), Refusal> {
    let own = part(tree, ty, parts)?;
    let source = context.value(source)?;
    // The source may be one of the destinations.
    let whole = Operand::Register(temporary(context, Type { signed: false, ..ty }, LocalValue::Operand(source)));
    for (index, element) in parts.iter().enumerate() {
        let at = constant(index as i128 * i128::from(own.bits));
        let shifted = binary(context, Op::ShiftRight, Type { signed: false, ..ty }, whole, at);
        assign(context, element, own, LocalValue::Operand(shifted))?;
    }
    Ok(())
}

/// The bits of a floating-point immediate of the ISA's hexadecimal notation (PTX ISA 4.5.2).
pub(crate) fn float_bits(text: &str) -> Option<Value> {
    let hex = |digits: &str, length: usize| {
        (digits.len() == length).then(|| i128::from_str_radix(digits, 16).ok()).flatten().map(Value)
    };
    match (text.get(..2)?, text.get(2..)?) {
        ("0f" | "0F", digits) => hex(digits, 8),
        ("0d" | "0D", digits) => hex(digits, 16),
        _ => None,
    }
}
