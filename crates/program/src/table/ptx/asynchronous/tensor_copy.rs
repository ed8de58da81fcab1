//! Tensor copies (PTX ISA 9.7.10.28.5): the tensor map is read through the tensormap proxy and says which tensor; a copy
//! moves as many bytes as the tile of the shared variable has, from the coordinates on.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Base, Beside, Completion, Effect, Family, Home, Mode, Placement, Region, RegionId, Replicas, Size, Start, Valid,
};
use crate::program::{AddressOperand, Operand, Scope, Space};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx::asynchronous::copy::{
    COMPLETE_TX, MULTICASTS, REPORT, is_multicast, operands, own, region, shared, start, strong, transaction, weak,
    wrong_operands,
};
use crate::table::ptx::asynchronous::reduction::combine;
use crate::tag::Tag;
use crate::unfolding::placement::TENSOR;
use crate::value::Type;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Copy,
    Reduce,
    Prefetch,
}

const DIMENSIONS: Slot = Slot::One(&["1d", "2d", "3d", "4d", "5d"]);
const MODE: Slot = Slot::Maybe(&[
    "tile",
    "tile::gather4",
    "tile::scatter4",
    "im2col",
    "im2col_no_offs",
    "im2col::w",
    "im2col::w::128",
]);

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["cp", "async", "bulk", "tensor"],
        slots: &[
            DIMENSIONS,
            Slot::One(&["shared::cta", "shared::cluster"]),
            Slot::One(&["global"]),
            MODE,
            Slot::One(&[COMPLETE_TX, "bulk_group"]),
            REPORT,
            Slot::Maybe(MULTICASTS),
            Slot::Maybe(&["cta_group::1", "cta_group::2"]),
            Slot::Hints,
        ],
        section: TENSOR,
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
        section: sections::CP_REDUCE_ASYNC_BULK_TENSOR,
        since: version(8, 0),
        kind: Kind::Reduce,
    },
    Form {
        head: &["cp", "async", "bulk", "prefetch", "tensor"],
        slots: &[DIMENSIONS, Slot::One(&["L2"]), Slot::One(&["global"]), MODE, Slot::Hints],
        section: sections::CP_ASYNC_BULK_PREFETCH_TENSOR,
        since: version(8, 0),
        kind: Kind::Prefetch,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let lowered = form::words(form, tree).and_then(|words| match form.kind {
        Kind::Copy if words.has("bulk_group") => store(context, tree, &words),
        Kind::Copy => load(context, tree, &words),
        Kind::Reduce => store(context, tree, &words),
        Kind::Prefetch => prefetch(context, tree, &words),
    });
    Some(lowered)
}

/// `[map, {coordinates}]`.
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
        found.push(context.value(coordinate)?);
    }
    let mut plain = address.clone();
    plain.rest = Vec::new();
    let map = context.address(&Spanned::new(TreeOperand::Address(plain), operand.span))?;
    Ok((map, found))
}

const RANKS: &[(&str, usize)] = &[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];

/// How the copy walks the tensor, and the operands after those of the mode.
fn mode<'t>(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    (coordinates, rest): (&[Operand], &'t [Spanned<TreeOperand>]),
) -> Result<(Mode, &'t [Spanned<TreeOperand>]), Refusal> {
    if words.has("tile::gather4") || words.has("tile::scatter4") {
        if coordinates.len() != 5 || !words.has("2d") {
            return Err(wrong_operands(tree, "a matrix (`.2d`) with a column and four rows: `[map, {0, 0, 1, 2, 3}]`"));
        }
        return Ok((Mode::FourRows, rest));
    }
    let wanted = words.find(RANKS).map(|found| found.node);
    if wanted.is_some_and(|wanted| wanted != coordinates.len()) {
        let count = wanted.unwrap_or(0);
        return Err(wrong_operands(tree, &format!("{count} coordinates, one for each dimension of the tensor")));
    }
    let displaced = words.has("im2col") || words.has("im2col::w") || words.has("im2col::w::128");
    match rest {
        [Spanned { node: TreeOperand::Vector(list), .. }, rest @ ..] if displaced => {
            let values = list.iter().map(|value| context.value(value)).collect::<Result<Vec<_>, _>>()?;
            // `im2col::w` has a halo, which widens the box, and an offset along the width.
            let halo = words.has("im2col::w") || words.has("im2col::w::128");
            let offsets = if halo { values.into_iter().skip(1).collect() } else { values };
            Ok((Mode::Displaced(offsets), rest))
        }
        rest => Ok((Mode::Tile, rest)),
    }
}

/// `[map, {c}]{, offsets}`: the map is read, through its proxy; of the tensor nothing is.
fn prefetch(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let given = operands(tree, words);
    let Some(source) = given.first() else {
        return Err(wrong_operands(tree, "a tensor map with coordinates: `[map, {0}]`"));
    };
    let (map, _) = tensor(context, tree, source)?;
    let effect = Effect::Look { region: RegionId(0) };
    let (regions, completion) = (vec![map_region(map)], Completion::None);
    start(context, tree, Family::Bulk, Start { regions, effect, completion, tensor: None });
    Ok(())
}

/// The map is one location.
fn map_region(map: AddressOperand) -> Region {
    // A map may lie in global, constant or parameter memory.
    Region { space: None, ..region(Space::Global, map, Size::Locations(1), weak(Tag::TensorMap)) }
}

/// A `.shared::cta` destination lies in the thread's CTA; the mbarrier in the destination's, or with `.cta_group::2` in that
/// of its peer.
fn placement(words: &Words) -> Placement {
    let destination = if words.has("shared::cta") { Home::Own } else { Home::Any };
    let mbarrier = if words.has("cta_group::2") && !words.has("shared::cta") { Beside::Pair } else { Beside::Same };
    Placement { destination, mbarrier, section: TENSOR }
}

/// `[d], [map, {c}], [mbar]{, im2col offsets}{, mask}{, cache-policy}`.
fn load(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let given = operands(tree, words);
    let [destination, source, mbarrier, rest @ ..] = given.as_slice() else {
        return Err(wrong_operands(tree, "a destination, a tensor and an mbarrier"));
    };
    let destination = shared(context, tree, destination)?;
    let (map, coordinates) = tensor(context, tree, source)?;
    let (mode, rest) = mode(context, tree, words, (&coordinates, rest))?;
    let told: Vec<Spanned<TreeOperand>> = std::iter::once(mbarrier).chain(rest).cloned().collect();
    let (completion, replicas) = transaction(context, tree, words, (&told, placement(words)))?;
    let mut written = region(Space::Shared, destination, Size::Tile, weak(Tag::Async));
    written.replicas = replicas;
    let (tags, scope) = weak(Tag::Async);
    let source = Region {
        base: Base::Tensor { map: RegionId(0), coordinates, mode },
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
    let given = operands(tree, words);
    let [destination, source] = given.as_slice() else {
        return Err(wrong_operands(tree, "a tensor and a source"));
    };
    if is_multicast(words) || words.has("shared::cluster") {
        return Err(Refusal::error(tree.span(), "a tensor store is from `.shared::cta` to global memory"));
    }
    let (map, coordinates) = tensor(context, tree, destination)?;
    let source = shared(context, tree, source)?;
    let (mode, _) = mode(context, tree, words, (&coordinates, &[]))?;
    let combine = combine(words, Type::UNTYPED);
    let (tags, scope) = match combine {
        None => weak(Tag::Async),
        Some(_) => strong(Tag::Async, Tag::Relaxed, Scope::Gpu),
    };
    let destination = Region {
        base: Base::Tensor { map: RegionId(0), coordinates, mode },
        size: Size::Like(RegionId(1)),
        replicas: Replicas::One,
        space: Some(Space::Global),
        tags,
        scope,
    };
    let regions = vec![map_region(map), own(source, Size::Tile, weak(Tag::Async)), destination];
    let effect = Effect::Copy { source: RegionId(1), destination: RegionId(2), combine, valid: Valid::All };
    start(context, tree, Family::Bulk, Start { regions, effect, completion: Completion::Group, tensor: None });
    Ok(())
}
