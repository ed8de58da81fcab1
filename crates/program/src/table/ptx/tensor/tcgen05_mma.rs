//! `tcgen05.mma` (PTX ISA 9.7.18.10): dense, sparse, weight-stationary and block-scaled products into tensor memory.
//! Matrices in shared memory are read through the async proxy, those in tensor memory have a proxy of their own.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Accumulator, Completion, Coverage, Effect, Factor, Family, Lanes, Product, Region, RegionId, Size, Start, Tensor,
    TensorKind,
};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx::asynchronous::copy::{start, wrong_operands};
use crate::table::ptx::tensor::tcgen05::{GROUP, columns, group, pair};
use crate::table::ptx::tensor::wgmma::{descriptor, fingerprint};

/// Which operands a product takes besides the matrices.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Dense,
    Sparse,
}

fn is_usage(word: &str) -> bool {
    word.starts_with("collector::")
}

const KIND: Slot = Slot::One(&[
    "kind::f16",
    "kind::tf32",
    "kind::f8f6f4",
    "kind::i8",
    "kind::mxf8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
]);
const SLOTS: &[Slot] = &[
    GROUP,
    KIND,
    Slot::Maybe(&["block_scale"]),
    Slot::Maybe(&["scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"]),
    Slot::Maybe(&["ashift"]),
    Slot::Like { name: "collector_usage", accepts: is_usage, most: 1 },
];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["tcgen05", "mma"],
        slots: SLOTS,
        section: sections::TCGEN05_MMA,
        since: version(8, 6),
        kind: Kind::Dense,
    },
    Form {
        head: &["tcgen05", "mma", "sp"],
        slots: SLOTS,
        section: sections::TCGEN05_MMA_SP,
        since: version(8, 6),
        kind: Kind::Sparse,
    },
    Form {
        head: &["tcgen05", "mma", "ws"],
        slots: SLOTS,
        section: sections::TCGEN05_MMA_WS,
        since: version(8, 6),
        kind: Kind::Dense,
    },
    Form {
        head: &["tcgen05", "mma", "ws", "sp"],
        slots: SLOTS,
        section: sections::TCGEN05_MMA_WS_SP,
        since: version(8, 6),
        kind: Kind::Sparse,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| product(context, tree, form.kind, &words)))
}

/// The operands by their part.
struct Parts<'t> {
    accumulator: &'t Spanned<TreeOperand>,
    left: &'t Spanned<TreeOperand>,
    right: &'t Spanned<TreeOperand>,
    /// Metadata and scales, in tensor memory.
    others: Vec<&'t Spanned<TreeOperand>>,
    descriptor: &'t Spanned<TreeOperand>,
    enable: &'t Spanned<TreeOperand>,
    /// Which lanes of the result are not written.
    masks: &'t [Spanned<TreeOperand>],
}

/// `[d], a, b-desc{, [metadata]}, idesc{, [scale-a], [scale-b]}{, {lanes}}, enable-d{, scale-d}`.
fn parts<'t>(tree: &'t Instruction, kind: Kind, words: &Words) -> Option<Parts<'t>> {
    let [accumulator, left, right, rest @ ..] = tree.operands.as_slice() else { return None };
    let mut others = Vec::new();
    let rest = match (kind, rest) {
        (Kind::Dense, rest) => rest,
        (Kind::Sparse, [metadata, rest @ ..]) => {
            others.push(metadata);
            rest
        }
        (Kind::Sparse, []) => return None,
    };
    let [descriptor, rest @ ..] = rest else { return None };
    let rest = match (words.has("block_scale"), rest) {
        (false, rest) => rest,
        (true, [left, right, rest @ ..]) => {
            others.extend([left, right]);
            rest
        }
        (true, _) => return None,
    };
    // Lanes of the result that are not written: which ones is within a column, and a column is one location.
    let (masks, rest) = match rest {
        [Spanned { node: TreeOperand::Vector(lanes), .. }, rest @ ..] => (lanes.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let [enable, rest @ ..] = rest else { return None };
    (rest.len() <= 1).then_some(Parts { accumulator, left, right, others, descriptor, enable, masks })
}

fn product(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    let Some(parts) = parts(tree, kind, words) else {
        return Err(wrong_operands(tree, "the accumulator, two matrices, a descriptor and `enable-input-d`"));
    };
    let replicas = pair(context, tree, words);
    let accumulator = context.address(parts.accumulator)?;
    let right = context.address(parts.right)?;
    let mut regions = vec![columns(accumulator, Size::Tile, replicas), Region { replicas, ..descriptor(right) }];
    let left = context.address(parts.left)?;
    regions.push(match &parts.left.node {
        TreeOperand::Address(_) => columns(left, Size::Tile, replicas),
        _ => Region { replicas, ..descriptor(left) },
    });
    let mut others = Vec::new();
    for other in parts.others {
        others.push(RegionId(regions.len()));
        regions.push(columns(context.address(other)?, Size::Tile, replicas));
    }
    let masks = parts.masks.iter().map(|mask| context.value(mask)).collect::<Result<Vec<_>, _>>()?;
    let (accumulate, descriptor) = (context.value(parts.enable)?, context.value(parts.descriptor)?);
    let shape: Vec<&str> =
        tree.modifiers.iter().map(|word| word.node.as_str()).filter(|word| !is_usage(word)).collect();
    let shape = fingerprint(&shape);
    let product = Product {
        left: Factor::Memory(RegionId(2)),
        right: RegionId(1),
        others,
        accumulator: Accumulator::Memory(RegionId(0)),
        accumulate,
        shape,
        coverage: if masks.is_empty() { Coverage::Whole } else { Coverage::Masked(masks) },
    };
    let tensor = Some(Tensor {
        kind: TensorKind::Mma,
        group: group(words),
        shape,
        descriptor: Some(descriptor),
        lanes: Lanes::All,
    });
    let effect = Effect::Product(product);
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}
