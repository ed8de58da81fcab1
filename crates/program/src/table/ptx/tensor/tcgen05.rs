//! `tcgen05` operations that move data or tell of the end of others (PTX ISA 9.7.18): tensor memory is allocated, loaded,
//! stored, copied to and shifted; commits, waits and fences. The products are in `tcgen05_mma`.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Action, Arrive, Completion, Counting, Effect, Family, Lanes, Order, Reduced, Region, RegionId, Replicas, Size,
    Start, Tensor, TensorKind, Told, Valid,
};
use crate::program::lint::LintKind;
use crate::program::{AddressOperand, Feature, FenceCover, Operation, Space};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::spelled;
use crate::table::ptx::asynchronous::copy::{
    MULTICASTS, emit, is_multicast, region, shared, start, weak, wide_mask, wrong_operands,
};
use crate::table::ptx::tensor::wgmma::descriptor;
use crate::tag::{Tag, Tags};
use crate::value::Type;
use crate::value::expression::BinaryOperator;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Alloc,
    Dealloc,
    Relinquish,
    Ld,
    LdRed,
    St,
    Wait(TensorKind),
    Cp,
    Shift,
    Commit,
    Fence(Tag),
}

pub(crate) const GROUP: Slot = Slot::One(&["cta_group::1", "cta_group::2"]);
const SYNC: Slot = Slot::One(&["sync"]);
const ALIGNED: Slot = Slot::One(&["aligned"]);
const SHAPE: Slot = Slot::One(&["16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"]);
/// A commit that tells only that the left factor has been read in shared memory.
const LEFT_FACTOR: &str = "sync_restrict::shared::read::mma::a";
const NUMBER: Slot = Slot::One(&["x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"]);

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["tcgen05", "alloc"],
        slots: &[GROUP, SYNC, ALIGNED, Slot::Maybe(&["shared::cta"]), Slot::One(&["b32"])],
        section: sections::TCGEN05_ALLOC,
        since: version(8, 6),
        kind: Kind::Alloc,
    },
    Form {
        head: &["tcgen05", "dealloc"],
        slots: &[GROUP, SYNC, ALIGNED, Slot::One(&["b32"])],
        section: sections::TCGEN05_ALLOC,
        since: version(8, 6),
        kind: Kind::Dealloc,
    },
    Form {
        head: &["tcgen05", "relinquish_alloc_permit"],
        slots: &[GROUP, SYNC, ALIGNED],
        section: sections::TCGEN05_ALLOC,
        since: version(8, 6),
        kind: Kind::Relinquish,
    },
    Form {
        head: &["tcgen05", "ld"],
        slots: &[SYNC, ALIGNED, SHAPE, NUMBER, Slot::Maybe(&["pack::16b"]), Slot::One(&["b32"])],
        section: sections::TCGEN05_LD,
        since: version(8, 6),
        kind: Kind::Ld,
    },
    Form {
        head: &["tcgen05", "ld", "red"],
        slots: &[
            SYNC,
            ALIGNED,
            Slot::One(&["32x32b", "16x32bx2"]),
            NUMBER,
            Slot::One(&["min", "max"]),
            Slot::Maybe(&["abs"]),
            Slot::Maybe(&["NaN"]),
            Slot::One(&["f32", "u32", "s32"]),
        ],
        section: sections::TCGEN05_LD,
        since: version(9, 2),
        kind: Kind::LdRed,
    },
    Form {
        head: &["tcgen05", "st"],
        slots: &[SYNC, ALIGNED, SHAPE, NUMBER, Slot::Maybe(&["unpack::16b"]), Slot::One(&["b32"])],
        section: sections::TCGEN05_ST,
        since: version(8, 6),
        kind: Kind::St,
    },
    Form {
        head: &["tcgen05", "wait::ld"],
        slots: &[SYNC, ALIGNED],
        section: sections::TCGEN05_WAIT,
        since: version(8, 6),
        kind: Kind::Wait(TensorKind::Ld),
    },
    Form {
        head: &["tcgen05", "wait::st"],
        slots: &[SYNC, ALIGNED],
        section: sections::TCGEN05_WAIT,
        since: version(8, 6),
        kind: Kind::Wait(TensorKind::St),
    },
    Form {
        head: &["tcgen05", "cp"],
        slots: &[
            GROUP,
            Slot::One(&["128x256b", "4x256b", "128x128b", "64x128b", "32x128b"]),
            Slot::Maybe(&["warpx2::02_13", "warpx2::01_23", "warpx4"]),
            Slot::Maybe(&["b8x16"]),
            Slot::Maybe(&["b6x16_p32", "b4x16_p64"]),
        ],
        section: sections::TCGEN05_CP,
        since: version(8, 6),
        kind: Kind::Cp,
    },
    Form {
        head: &["tcgen05", "shift"],
        slots: &[GROUP, Slot::One(&["down"])],
        section: sections::TCGEN05_SHIFT,
        since: version(8, 6),
        kind: Kind::Shift,
    },
    Form {
        head: &["tcgen05", "commit"],
        slots: &[
            GROUP,
            Slot::One(&["mbarrier::arrive::one"]),
            Slot::Maybe(&["shared::cluster", "shared::cta"]),
            Slot::Maybe(MULTICASTS),
            Slot::Maybe(&[LEFT_FACTOR]),
            Slot::One(&["b64"]),
        ],
        section: sections::TCGEN05_COMMIT,
        since: version(8, 6),
        kind: Kind::Commit,
    },
    Form {
        head: &["tcgen05", "fence::before_thread_sync"],
        slots: &[],
        section: sections::TCGEN05_FENCE,
        since: version(8, 6),
        kind: Kind::Fence(Tag::BeforeThreadSync),
    },
    Form {
        head: &["tcgen05", "fence::after_thread_sync"],
        slots: &[],
        section: sections::TCGEN05_FENCE,
        since: version(8, 6),
        kind: Kind::Fence(Tag::AfterThreadSync),
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| apply(context, tree, form.kind, &words)))
}

fn apply(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    context.names.tensor_memory(context.thread.place, tree.span())?;
    match kind {
        Kind::Alloc => {
            let [destination, count] = context.operands(tree)?;
            let destination = shared(context, tree, destination)?;
            let count = column_count(context, count);
            act(context, tree, Action::Allocate { destination, count, group: group(words), slots: Vec::new() })
        }
        Kind::Dealloc => {
            let [address, count] = context.operands(tree)?;
            let address = context.address(address)?;
            column_count(context, count);
            let count = context.value(count)?;
            act(context, tree, Action::Deallocate { address, count, group: group(words) })
        }
        Kind::Relinquish => {
            let [] = context.operands(tree)?;
            act(context, tree, Action::Relinquish { group: group(words) })
        }
        Kind::Ld => load(context, tree, words),
        Kind::LdRed => load_reduced(context, tree, words),
        Kind::St => store(context, tree, words),
        Kind::Wait(kind) => {
            let [] = context.operands(tree)?;
            act(context, tree, Action::WaitTensor(kind))
        }
        Kind::Cp => copy(context, tree, words),
        Kind::Shift => shift(context, tree, words),
        Kind::Commit => commit(context, tree, words),
        Kind::Fence(tag) => {
            let [] = context.operands(tree)?;
            context.findings.feature(Feature::Async, tree.span());
            context.thread.emit(Operation::Fence {
                tags: Tags::from_iter([Tag::Fence, tag]),
                scope: None,
                cover: FenceCover::EVERYTHING,
            });
            Ok(())
        }
    }
}

fn act(context: &mut Context<'_>, tree: &Instruction, action: Action) -> Result<(), Refusal> {
    emit(context, tree, Family::Tcgen05, action);
    Ok(())
}

pub(crate) fn group(words: &Words) -> u8 {
    words.find(&[("cta_group::1", 1), ("cta_group::2", 2)]).map_or(0, |found| found.node)
}

/// The CTAs whose memory an operation of this `.cta_group` uses.
pub(crate) fn pair(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Replicas {
    if group(words) == 2 {
        context.findings.feature(Feature::Cluster, tree.span());
        Replicas::Pair
    } else {
        Replicas::One
    }
}

/// Columns of tensor memory.
pub(crate) fn columns(address: AddressOperand, size: Size, replicas: Replicas) -> Region {
    Region { replicas, ..region(Space::TensorMemory, address, size, weak(Tag::TensorMemory)) }
}

/// How many columns are given or returned, where the text says so: a power of two from 32 to 512 (PTX ISA 9.7.18.7.1).
fn column_count(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Option<u32> {
    let TreeOperand::Integer(count) = operand.node else { return None };
    let count = u32::try_from(count).ok();
    if !count.is_some_and(|count| count.is_power_of_two() && (32..=512).contains(&count)) {
        context.findings.lint(operand.span, LintKind::ColumnCount, sections::TCGEN05_ALLOC);
    }
    count
}

fn tensor(kind: TensorKind, group: u8) -> Option<Tensor> {
    Some(Tensor { kind, group, shape: 0, descriptor: None, lanes: Lanes::All })
}

/// Of a load or store. The two halves of `.16x32bx2` are of all lanes of the warp, each of other columns: that they are not
/// told apart is the safe side.
fn of_warp(kind: TensorKind, words: &Words) -> Option<Tensor> {
    let is_half = ["16x64b", "16x128b", "16x256b"].iter().any(|shape| words.has(shape));
    let lanes = if is_half { Lanes::Half } else { Lanes::Quarter };
    tensor(kind, 0).map(|tensor| Tensor { lanes, ..tensor })
}

fn list(operand: &Spanned<TreeOperand>) -> &[Spanned<TreeOperand>] {
    match &operand.node {
        TreeOperand::Vector(list) => list,
        _ => std::slice::from_ref(operand),
    }
}

fn count(list: &[Spanned<TreeOperand>]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// `{r…}, [taddr]{, half-split offset}`: one column per register.
fn load(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let (destinations, address) = match tree.operands.as_slice() {
        [destinations, address] | [destinations, address, _] => (destinations, address),
        _ => return Err(wrong_operands(tree, "registers and an address in tensor memory")),
    };
    let address = context.address(address)?;
    let registers = list(destinations);
    let regions = vec![columns(address, Size::Locations(count(registers)), Replicas::One)];
    let destinations: Result<Vec<_>, _> =
        registers.iter().map(|register| context.destination(register, Type::U32)).collect();
    let effect = Effect::Load { source: RegionId(0), destinations: destinations?, ty: Type::U32, reduced: None };
    let tensor = of_warp(TensorKind::Ld, words);
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}

/// `{r…}, redval, [taddr]{, half-split offset}`: as a load, and the least or greatest of what is loaded.
fn load_reduced(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let (destinations, reduced, address) = match tree.operands.as_slice() {
        [destinations, reduced, address] | [destinations, reduced, address, _] => (destinations, reduced, address),
        _ => return Err(wrong_operands(tree, "registers, a register for the result and an address in tensor memory")),
    };
    let address = context.address(address)?;
    let registers = list(destinations);
    let regions = vec![columns(address, Size::Locations(count(registers)), Replicas::One)];
    let destinations: Result<Vec<_>, _> =
        registers.iter().map(|register| context.destination(register, Type::U32)).collect();
    let order = match words.integer() {
        Some(ty) => Order::Integer(ty),
        None if words.has("abs") => Order::Magnitude,
        None => Order::Float,
    };
    let operator = if words.has("min") { BinaryOperator::Minimum } else { BinaryOperator::Maximum };
    let reduced = context.destination(reduced, Type::U32)?.map(|destination| Reduced { destination, operator, order });
    let effect = Effect::Load { source: RegionId(0), destinations: destinations?, ty: Type::U32, reduced };
    let tensor = of_warp(TensorKind::Ld, words);
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}

/// `[taddr]{, half-split offset}, {r…}`.
fn store(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let (address, values) = match tree.operands.as_slice() {
        [address, values] | [address, _, values] => (address, values),
        _ => return Err(wrong_operands(tree, "an address in tensor memory and registers")),
    };
    let address = context.address(address)?;
    let registers = list(values);
    let regions = vec![columns(address, Size::Locations(count(registers)), Replicas::One)];
    let values: Result<Vec<_>, _> = registers.iter().map(|value| context.value(value)).collect();
    let effect = Effect::Store { destination: RegionId(0), values: values?, ty: Type::U32, combine: None };
    let tensor = of_warp(TensorKind::St, words);
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}

/// `[taddr], s-desc`: shared memory to tensor memory, as many columns as the tile has locations.
fn copy(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let destination = context.address(destination)?;
    let source = context.address(source)?;
    let replicas = pair(context, tree, words);
    let regions =
        vec![Region { replicas, ..descriptor(source) }, columns(destination, Size::Elements(RegionId(0)), replicas)];
    let effect = Effect::Copy { source: RegionId(0), destination: RegionId(1), combine: None, valid: Valid::All };
    let follows_mma = context.version >= version(9, 4);
    let tensor = tensor(TensorKind::Cp { is_4x256b: words.has("4x256b"), follows_mma }, group(words));
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}

fn shift(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [address] = context.operands(tree)?;
    let address = context.address(address)?;
    let replicas = pair(context, tree, words);
    let regions = vec![columns(address, Size::Tile, replicas)];
    let effect = Effect::Rewrite { region: RegionId(0) };
    let tensor = tensor(TensorKind::Shift, group(words));
    start(context, tree, Family::Tcgen05, Start { regions, effect, completion: Completion::Tracked, tensor });
    Ok(())
}

/// `[mbar]{, mask}`.
fn commit(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let (mbarrier, mask) = match (tree.operands.as_slice(), is_multicast(words)) {
        ([mbarrier], false) => (mbarrier, None),
        ([mbarrier, mask], true) => (mbarrier, Some(mask)),
        (_, true) => return Err(wrong_operands(tree, "an mbarrier and a CTA mask")),
        (_, false) => return Err(wrong_operands(tree, "an mbarrier")),
    };
    let mbarrier = shared(context, tree, mbarrier)?;
    let replicas = match mask {
        None => Replicas::One,
        Some(mask) => wide_mask(context, tree, words, mask)?,
    };
    let told = if words.has(LEFT_FACTOR) {
        context.findings.floor(tree.span(), spelled(tree), version(9, 4), sections::TCGEN05_COMMIT);
        Told::LeftFactorsRead
    } else {
        Told::Everything
    };
    let arrive = Arrive { mbarrier, replicas, counting: Counting::Included, group: group(words), told };
    act(context, tree, Action::Arrive(arrive))
}
