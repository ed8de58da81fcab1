//! Surfaces and textures as compilers write them: `suld.b`, `sust.b` and `sured.b` (PTX ISA 9.7.13.1 to 9.7.13.3) and `tex`
//! (9.7.12.3) with coordinates. A surface or texture is a name of its proxy (`s @ surface aliases x`), or a register that
//! holds the address of one. The first coordinate counts bytes of a surface and elements of a texture, the second rows: of
//! an array of two dimensions, what its first index counts. What a coordinate outside does is `Unknown`, whatever the clamp
//! mode says. Integer coordinates of a texture mean one element, unfiltered: its first channel, and no others that are known.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, Feature, LocalValue, Operand, Operation, Scope, Update};
use crate::sections;
use crate::table::compute::{assign, binary, constant, temporary};
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::{integer_type, spelled};
use crate::table::ptx::memory::access::scope_tag;
use crate::table::ptx::memory::vector;
use crate::tag::{Tag, Tags};
use crate::value::Type;
use crate::value::expression::BinaryOperator;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Load,
    Store,
    Reduce,
    Texture,
}

const SHAPE: Slot = Slot::One(&["1d", "2d"]);
const VECTOR: Slot = Slot::Maybe(&["v2", "v4"]);
const VECTORS: &[(&str, usize)] = &[("v2", 2), ("v4", 4)];
const BITS: Slot = Slot::One(&["b8", "b16", "b32", "b64"]);
const CLAMP: Slot = Slot::One(&["trap", "clamp", "zero"]);
const ACCESS: &[Slot] = &[SHAPE, Slot::Hints, VECTOR, BITS, CLAMP];
const OPERATIONS: &[(&str, BinaryOperator)] = &[
    ("add", BinaryOperator::Add),
    ("min", BinaryOperator::Minimum),
    ("max", BinaryOperator::Maximum),
    ("and", BinaryOperator::And),
    ("or", BinaryOperator::Or),
];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form { head: &["suld", "b"], slots: ACCESS, section: sections::SULD, since: version(1, 5), kind: Kind::Load },
    Form { head: &["sust", "b"], slots: ACCESS, section: sections::SUST, since: version(1, 5), kind: Kind::Store },
    Form {
        head: &["sured", "b"],
        slots: &[
            Slot::One(&["add", "min", "max", "and", "or"]),
            SHAPE,
            Slot::One(&["u32", "s32", "b32", "u64", "s64"]),
            CLAMP,
        ],
        section: sections::SURED,
        since: version(2, 0),
        kind: Kind::Reduce,
    },
    Form {
        head: &["tex"],
        slots: &[SHAPE, Slot::One(&["v4"]), TYPES],
        section: sections::TEX,
        since: version(1, 0),
        kind: Kind::Texture,
    },
];

/// The types of the result and of the coordinates.
const TYPES: Slot = Slot::Like { name: "dtype.s32", accepts: |word| matches!(word, "u32" | "s32" | "f32"), most: 2 };
/// Of the elements of a texture.
const TEXEL_BYTES: i128 = 4;

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| emit(context, tree, form.kind, &words)))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    let ty = tree.modifiers.iter().find_map(|word| integer_type(&word.node)).unwrap_or(Type::U32);
    let length = words.find(VECTORS).map_or(1, |length| length.node);
    let weak = Tags::from_iter([Tag::Weak, if kind == Kind::Texture { Tag::Texture } else { Tag::Surface }]);
    context.findings.feature(Feature::Proxy, tree.opcode.span);
    vector::note(context, tree, length);
    match kind {
        Kind::Texture => return texture(context, tree, words, weak.with(Tag::Read)),
        Kind::Load => {
            let [destination, place] = context.operands(tree)?;
            let address = address(context, tree, place, words)?;
            let elements = vector::elements(tree, destination, length)?.iter();
            let destinations = elements.map(|element| context.destination(element, ty)).collect::<Result<_, _>>()?;
            let tags = weak.with(Tag::Read);
            context.thread.emit(Operation::VectorLoad { destinations, address, ty, tags, scope: None });
        }
        Kind::Store => {
            let [place, value] = context.operands(tree)?;
            let address = address(context, tree, place, words)?;
            let elements = vector::elements(tree, value, length)?.iter();
            let values = elements.map(|element| context.value(element)).collect::<Result<_, _>>()?;
            let tags = weak.with(Tag::Write);
            context.thread.emit(Operation::VectorStore { address, values, ty, tags, scope: None });
        }
        Kind::Reduce => {
            let [place, value] = context.operands(tree)?;
            let address = address(context, tree, place, words)?;
            let operator = words.find(OPERATIONS).map_or(BinaryOperator::Add, |found| found.node);
            let update = Update::Apply(operator, context.value(value)?);
            let common = [Tag::Relaxed, Tag::Surface, Tag::Atomic, Tag::NoReturn, scope_tag(Scope::Gpu)];
            let common = Tags::from_iter(common);
            context.thread.emit(Operation::ReadModifyWrite {
                destination: None,
                address,
                update,
                ty,
                read_tags: common.with(Tag::Read),
                write_tags: common.with(Tag::Write),
                scope: Some(Scope::Gpu),
                assume: None,
            });
        }
    }
    Ok(())
}

/// One element to the first register; the others have no value that is known.
fn texture(context: &mut Context<'_>, tree: &Instruction, words: &Words, tags: Tags) -> Result<(), Refusal> {
    if tree.modifiers.last().is_none_or(|word| word.node != "s32") {
        return Err(Refusal::Unsupported(tree.span(), format!("{}, a filtered access", spelled(tree))));
    }
    let [destination, place] = context.operands(tree)?;
    let address = address(context, tree, place, words)?;
    let [first, others @ ..] = vector::elements(tree, destination, 4)? else { return Ok(()) };
    let destination = context.destination(first, Type::U32)?;
    context.thread.emit(Operation::Load { destination, address, ty: Type::U32, tags, scope: None, assume: None });
    for (channel, other) in others.iter().enumerate() {
        let unknown = LocalValue::Binary(BinaryOperator::Opaque, constant(0), constant(channel as i128));
        assign(context, other, Type::U32, unknown)?;
    }
    Ok(())
}

/// `[s, {%x}]`, `[s, {%x, %y}]`; of a texture also `[t, sampler, {%x}]`.
fn address(
    context: &mut Context<'_>,
    tree: &Instruction,
    place: &Spanned<TreeOperand>,
    words: &Words,
) -> Result<AddressOperand, Refusal> {
    let is_texture = tree.opcode.node == "tex";
    let (what, step) = if is_texture { ("texture", TEXEL_BYTES) } else { ("surface", 1) };
    let wrong = || Refusal::error(place.span, format!("{} takes a {what} and coordinates", spelled(tree)));
    let TreeOperand::Address(found) = &place.node else { return Err(wrong()) };
    let coordinates = match found.rest.as_slice() {
        [coordinates] => coordinates,
        [_, coordinates] if is_texture => coordinates,
        _ => return Err(wrong()),
    };
    let coordinates = match &coordinates.node {
        TreeOperand::Vector(parts) => parts.as_slice(),
        _ => std::slice::from_ref(coordinates),
    };
    let named = match &found.base.node {
        TreeOperand::Symbol(name) => context.names.get(name),
        _ => None,
    };
    let row = named.filter(|entry| entry.inner.len() == 1).and_then(|name| name.tile());
    if is_texture && named.is_some_and(|name| name.ty.is_some() && name.step != TEXEL_BYTES) {
        let what = format!("{} of a texture whose elements have not {TEXEL_BYTES} bytes", spelled(tree));
        return Err(Refusal::Unsupported(place.span, what));
    }
    let base = context.value(&found.base)?;
    let start = Operand::Register(temporary(context, Type::U64, LocalValue::Operand(base)));
    let along = |context: &mut Context<'_>, from: Operand, part: &Spanned<TreeOperand>, step: i128| {
        let value = context.value(part)?;
        let bytes = binary(context, BinaryOperator::Multiply, Type::U64, value, constant(step));
        Ok::<_, Refusal>(binary(context, BinaryOperator::Add, Type::U64, from, bytes))
    };
    let at = match (words.has("2d"), coordinates, row) {
        (false, [x], _) => along(context, start, x, step)?,
        (true, [x, y], Some(row)) => {
            let line = along(context, start, y, row)?;
            along(context, line, x, step)?
        }
        (true, [_, _], None) => {
            let what = format!("{} of a {what} that is not declared with two dimensions", spelled(tree));
            return Err(Refusal::Unsupported(place.span, what));
        }
        _ => return Err(wrong()),
    };
    match at {
        Operand::Register(register) => Ok(AddressOperand::Register(register)),
        _ => Err(wrong()),
    }
}
