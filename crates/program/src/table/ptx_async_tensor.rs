//! Tensor copies (PTX ISA 9.7.10.28.5): the tensor map is read through the tensormap proxy and says which tensor; a copy
//! moves as many bytes as the shared variable has, from the first coordinate on.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::asynchronous::{Base, Completion, Effect, Family, Region, RegionId, Replicas, Size, Start, Valid};
use crate::lower::{Context, Refusal};
use crate::program::{AddressOperand, Operand, Operation, Scope, Space};
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx_async::{
    COMPLETE_TX, combine, operands, region, shared, start, strong, transaction, weak, wrong_operands,
};
use crate::tag::Tag;
use crate::value::Value;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Copy,
    Reduce,
    Hint,
}

const DIMENSIONS: Slot = Slot::One(&["1d", "2d", "3d", "4d", "5d"]);
const MODE: Slot = Slot::Maybe(&["tile", "im2col", "im2col_no_offs"]);

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["cp", "async", "bulk", "tensor"],
        slots: &[
            DIMENSIONS,
            Slot::One(&["shared::cta", "shared::cluster"]),
            Slot::One(&["global"]),
            MODE,
            Slot::One(&[COMPLETE_TX, "bulk_group"]),
            Slot::Maybe(&["multicast::cluster"]),
            Slot::Maybe(&["cta_group::1", "cta_group::2"]),
            Slot::Hints,
        ],
        section: "9.7.10.28.5.2",
        since: version(8, 0),
        kind: Kind::Copy,
    },
    Form {
        head: &["cp", "reduce", "async", "bulk", "tensor"],
        slots: &[
            DIMENSIONS,
            Slot::One(&["global"]),
            Slot::One(&["shared::cta"]),
            Slot::One(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]),
            MODE,
            Slot::One(&["bulk_group"]),
            Slot::Hints,
        ],
        section: "9.7.10.28.5.3",
        since: version(8, 0),
        kind: Kind::Reduce,
    },
    Form {
        head: &["cp", "async", "bulk", "prefetch", "tensor"],
        slots: &[DIMENSIONS, Slot::One(&["L2"]), Slot::One(&["global"]), MODE, Slot::Hints],
        section: "9.7.10.28.5.4",
        since: version(8, 0),
        kind: Kind::Hint,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let lowered = form::words(form, tree).and_then(|words| match form.kind {
        Kind::Copy if words.has("bulk_group") => store(context, tree, &words),
        Kind::Copy => load(context, tree, &words),
        Kind::Reduce => store(context, tree, &words),
        Kind::Hint => {
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
    });
    Some(lowered)
}

/// `[map, {coordinates}]`: the map, and the first coordinate. The others would need the strides of the tensor.
fn tensor(
    context: &mut Context<'_>,
    tree: &Instruction,
    operand: &Spanned<TreeOperand>,
) -> Result<(AddressOperand, Vec<Operand>), Refusal> {
    let TreeOperand::Address(address) = &operand.node else {
        return Err(wrong_operands(tree, "a tensor map with coordinates: `[map, {0}]`"));
    };
    let coordinates = match address.rest.as_slice() {
        [Spanned { node: TreeOperand::Vector(coordinates), .. }] => coordinates.as_slice(),
        rest => rest,
    };
    if coordinates.is_empty() {
        return Err(wrong_operands(tree, "a tensor map with coordinates: `[map, {0}]`"));
    }
    let mut found = Vec::new();
    for coordinate in coordinates {
        match context.value(coordinate)? {
            Operand::Constant(Value(value)) if value != 0 && !found.is_empty() => {
                let what = "a coordinate beyond the first that is not 0".to_string();
                return Err(Refusal::Unsupported(coordinate.span, what));
            }
            value => found.push(value),
        }
    }
    let mut plain = address.clone();
    plain.rest = Vec::new();
    let map = context.address(&Spanned::new(TreeOperand::Address(plain), operand.span))?;
    Ok((map, found))
}

/// The map is one location.
fn map_region(map: AddressOperand) -> Region {
    // A map may lie in global, constant or parameter memory.
    Region { space: None, ..region(Space::Global, map, Size::Locations(1), weak(Tag::TensorMap)) }
}

/// `[d], [map, {c}], [mbar]{, im2col offsets}{, mask}{, cache-policy}`.
fn load(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [destination, source, mbarrier, rest @ ..] = operands(tree, words) else {
        return Err(wrong_operands(tree, "a destination, a tensor and an mbarrier"));
    };
    let destination = shared(context, tree, destination)?;
    let (map, coordinates) = tensor(context, tree, source)?;
    let rest = match rest {
        [Spanned { node: TreeOperand::Vector(_), .. }, rest @ ..] if words.has("im2col") => rest,
        rest => rest,
    };
    let told: Vec<Spanned<TreeOperand>> = std::iter::once(mbarrier).chain(rest).cloned().collect();
    let (completion, replicas) = transaction(context, tree, words, &told)?;
    let mut written = region(Space::Shared, destination, Size::Variable, weak(Tag::Async));
    written.replicas = replicas;
    let (tags, scope) = weak(Tag::Async);
    let source = Region {
        base: Base::Tensor { map: RegionId(0), coordinates },
        size: Size::Like(RegionId(1)),
        replicas: Replicas::One,
        space: Some(Space::Global),
        tags,
        scope,
    };
    let regions = vec![map_region(map), written, source];
    let effect = Effect::Copy { source: RegionId(2), destination: RegionId(1), combine: None, valid: Valid::All };
    start(context, tree, Family::Bulk, Start { regions, effect, completion, tensor: None });
    Ok(())
}

/// `[map, {c}], [s]{, cache-policy}`, also with a reduction: relaxed at GPU scope per element.
fn store(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [destination, source] = operands(tree, words) else {
        return Err(wrong_operands(tree, "a tensor and a source"));
    };
    if words.has("multicast::cluster") || words.has("shared::cluster") {
        return Err(Refusal::error(tree.span(), "a tensor store is from `.shared::cta` to global memory"));
    }
    let (map, coordinates) = tensor(context, tree, destination)?;
    let source = shared(context, tree, source)?;
    let combine = combine(words);
    let (tags, scope) = match combine {
        None => weak(Tag::Async),
        Some(_) => strong(Tag::Async, Tag::Relaxed, Scope::Gpu),
    };
    let destination = Region {
        base: Base::Tensor { map: RegionId(0), coordinates },
        size: Size::Like(RegionId(1)),
        replicas: Replicas::One,
        space: Some(Space::Global),
        tags,
        scope,
    };
    let regions = vec![map_region(map), region(Space::Shared, source, Size::Variable, weak(Tag::Async)), destination];
    let effect = Effect::Copy { source: RegionId(1), destination: RegionId(2), combine, valid: Valid::All };
    start(context, tree, Family::Bulk, Start { regions, effect, completion: Completion::Group, tensor: None });
    Ok(())
}
