//! Warpgroup matrix products (PTX ISA 9.7.17, `wgmma`). Descriptors hold the address of a tile in shared memory; it is
//! read through the async proxy. The accumulator is in registers: its value is there at once, and touching it
//! too early is a hazard of the unfolding.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::RegisterId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Accumulator, Action, Base, Completion, Coverage, Covered, Effect, Factor, Family, Product, Region, RegionId, Size,
    Start,
};
use crate::program::{AddressOperand, Space};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx::asynchronous::copy::{emit, region, start, wait_group, weak, wrong_operands};
use crate::tag::Tag;
use crate::value::Type;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Fence,
    Product,
    /// With metadata in a register.
    Sparse,
    Commit,
    Wait,
}

/// `m64n256k16`.
fn is_shape(word: &str) -> bool {
    word.strip_prefix("m64n").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'k'))
}

fn is_element(word: &str) -> bool {
    matches!(word, "f16" | "bf16" | "f32" | "tf32" | "e4m3" | "e5m2" | "s8" | "u8" | "s32" | "b1")
}

const COLLECTIVE: &[Slot] = &[Slot::One(&["sync"]), Slot::One(&["aligned"])];
const PRODUCT: &[Slot] = &[
    Slot::One(&["sync"]),
    Slot::One(&["aligned"]),
    Slot::Like { name: "shape", accepts: is_shape, most: 1 },
    Slot::Like { name: "dtype.atype.btype", accepts: is_element, most: 3 },
    Slot::Maybe(&["satfinite"]),
    Slot::Maybe(&["and"]),
    Slot::Maybe(&["popc"]),
];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["wgmma", "fence"],
        slots: COLLECTIVE,
        section: sections::WGMMA_FENCE,
        since: version(8, 0),
        kind: Kind::Fence,
    },
    Form {
        head: &["wgmma", "mma_async"],
        slots: PRODUCT,
        section: sections::WGMMA_MMA_ASYNC,
        since: version(8, 0),
        kind: Kind::Product,
    },
    Form {
        head: &["wgmma", "mma_async", "sp"],
        slots: PRODUCT,
        section: sections::WGMMA_MMA_ASYNC_SP,
        since: version(8, 2),
        kind: Kind::Sparse,
    },
    Form {
        head: &["wgmma", "commit_group"],
        slots: COLLECTIVE,
        section: sections::WGMMA_COMMIT_GROUP,
        since: version(8, 0),
        kind: Kind::Commit,
    },
    Form {
        head: &["wgmma", "wait_group"],
        slots: COLLECTIVE,
        section: sections::WGMMA_WAIT_GROUP,
        since: version(8, 0),
        kind: Kind::Wait,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| apply(context, tree, form.kind, &words)))
}

fn apply(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    match kind {
        Kind::Fence => {
            let [] = context.operands(tree)?;
            emit(context, tree, Family::Wgmma, Action::RegisterFence);
            Ok(())
        }
        Kind::Commit => {
            let [] = context.operands(tree)?;
            emit(context, tree, Family::Wgmma, Action::Commit);
            Ok(())
        }
        Kind::Wait => wait_group(context, tree, Family::Wgmma, Covered::Everything),
        Kind::Product | Kind::Sparse => product(context, tree, kind, words),
    }
}

/// Equal for equal lists of words.
pub(crate) fn fingerprint(words: &[&str]) -> u64 {
    // FNV-1a: the same in every build, unlike the standard library's hasher.
    let bytes = words.iter().flat_map(|word| word.bytes().chain([b'.']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A matrix in shared memory: a tile of a variable.
pub(crate) fn descriptor(address: AddressOperand) -> Region {
    let base = Base::Descriptor(address.clone());
    Region { base, ..region(Space::Shared, address, Size::Tile, weak(Tag::Async)) }
}

/// `{r0, r1, …}`, each a register that is read and written.
pub(crate) fn registers(
    context: &mut Context<'_>,
    list: &[Spanned<TreeOperand>],
    ty: Type,
) -> Result<Vec<RegisterId>, Refusal> {
    let mut found = Vec::new();
    for operand in list {
        match context.destination(operand, ty)? {
            Some(register) => found.push(register),
            None => {
                let error = Diagnostic::error(operand.span, "every element of a matrix needs a register");
                return Err(Refusal::Error(error.label("no register")));
            }
        }
    }
    Ok(found)
}

/// `{d}, a, b-desc{, metadata, selector}, scale-d{, immediates}`.
fn product(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    let usage = "the accumulator, two matrices and `scale-d`";
    let [accumulator, left, right, rest @ ..] = tree.operands.as_slice() else {
        return Err(wrong_operands(tree, usage));
    };
    let scale = match (kind, rest) {
        (Kind::Sparse, [_, _, scale, ..]) | (Kind::Product, [scale, ..]) => scale,
        _ => return Err(wrong_operands(tree, usage)),
    };
    let TreeOperand::Vector(list) = &accumulator.node else { return Err(wrong_operands(tree, usage)) };
    let mut regions = Vec::new();
    let right = context.address(right)?;
    regions.push(descriptor(right));
    let left = match &left.node {
        TreeOperand::Vector(list) => Factor::Registers(registers(context, list, Type::U32)?),
        _ => {
            let left = context.address(left)?;
            regions.push(descriptor(left));
            Factor::Memory(RegionId(1))
        }
    };
    let accumulate = context.value(scale)?;
    let accumulator = Accumulator::Registers(registers(context, list, Type::U32)?);
    let shape = tree.modifiers.iter().map(|word| word.node.as_str()).filter(|word| is_shape(word) || is_element(word));
    let shape = fingerprint(&shape.collect::<Vec<_>>());
    debug_assert!(words.has("sync"));
    let coverage = Coverage::Whole;
    let product = Product { left, right: RegionId(0), others: Vec::new(), accumulator, accumulate, shape, coverage };
    let effect = Effect::Product(product);
    start(context, tree, Family::Wgmma, Start { regions, effect, completion: Completion::Group, tensor: None });
    Ok(())
}
