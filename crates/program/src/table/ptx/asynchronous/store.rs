//! Asynchronous stores and reductions of registers (`st.async`, `red.async`, PTX ISA 9.7.10.12 and 9.7.15.7), and the
//! request to cancel the launch of a cluster (9.7.15.18). The stores go through the generic proxy, the answer to the
//! request comes through the async proxy.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Beside, Completion, Effect, Family, Home, Placement, RegionId, Replicas, Size, Start,
};
use crate::program::{Feature, LocalValue, Operand, Operation, Scope, Space};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier;
use crate::table::ptx::asynchronous::copy::{
    COMPLETE_TX, address, region, shared, start, strong, weak, wrong_operands,
};
use crate::table::ptx::asynchronous::reduction::combine;
use crate::table::ptx::memory::multimem;
use crate::tag::{Tag, Tags};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Store,
    Reduce,
    /// Either, at a multimem address.
    Multimem,
    TryCancel,
    IsCanceled,
    /// The coordinate; all of them without one.
    FirstCta(Option<u32>),
}

/// Stores move bits: a floating-point type is its size.
fn store_type(word: &str) -> bool {
    modifier::integer_type(word).is_some() || matches!(word, "f32" | "f64")
}

const STORED: Slot = Slot::Like { name: "type", accepts: store_type, most: 1 };
const SEM: Slot = Slot::Maybe(&["weak", "relaxed", "release"]);
const SCOPE: Slot = Slot::Maybe(&["cluster", "gpu", "sys"]);
const RELEASE: Slot = Slot::One(&["release"]);
const WIDE: Slot = Slot::One(&["gpu", "sys"]);
const SPACE: Slot = Slot::Maybe(&["shared::cluster", "global"]);

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["st", "async"],
        slots: &[
            SEM,
            SCOPE,
            Slot::Maybe(&["mmio"]),
            SPACE,
            Slot::Maybe(&[COMPLETE_TX]),
            Slot::Maybe(&["v2", "v4"]),
            STORED,
        ],
        section: sections::ST_ASYNC,
        since: version(8, 1),
        kind: Kind::Store,
    },
    Form {
        head: &["red", "async"],
        slots: &[
            SEM,
            SCOPE,
            Slot::Maybe(&["mmio"]),
            SPACE,
            Slot::Maybe(&[COMPLETE_TX]),
            Slot::One(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]),
            Slot::Type,
        ],
        section: sections::RED_ASYNC,
        since: version(8, 1),
        kind: Kind::Reduce,
    },
    Form {
        head: &["multimem", "st", "async"],
        slots: &[RELEASE, WIDE, Slot::Maybe(&["global"]), STORED],
        section: sections::ST_ASYNC,
        since: version(9, 3),
        kind: Kind::Multimem,
    },
    Form {
        head: &["multimem", "red", "async"],
        slots: &[
            RELEASE,
            WIDE,
            Slot::Maybe(&["global"]),
            Slot::One(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]),
            Slot::Type,
        ],
        section: sections::RED_ASYNC,
        since: version(9, 3),
        kind: Kind::Multimem,
    },
    Form {
        head: &["clusterlaunchcontrol", "try_cancel", "async"],
        slots: &[
            Slot::Maybe(&["shared::cta"]),
            Slot::One(&[COMPLETE_TX]),
            Slot::Maybe(&["multicast::cluster::all"]),
            Slot::One(&["b128"]),
        ],
        section: sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL,
        since: version(8, 6),
        kind: Kind::TryCancel,
    },
    Form {
        head: &["clusterlaunchcontrol", "query_cancel", "is_canceled"],
        slots: &[Slot::One(&["pred"]), Slot::One(&["b128"])],
        section: sections::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
        since: version(8, 6),
        kind: Kind::IsCanceled,
    },
    Form {
        head: &["clusterlaunchcontrol", "query_cancel", "get_first_ctaid"],
        slots: &[Slot::One(&["v4"]), Slot::One(&["b32"]), Slot::One(&["b128"])],
        section: sections::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
        since: version(8, 6),
        kind: Kind::FirstCta(None),
    },
    Form {
        head: &["clusterlaunchcontrol", "query_cancel", "get_first_ctaid::x"],
        slots: &[Slot::One(&["b32"]), Slot::One(&["b128"])],
        section: sections::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
        since: version(8, 6),
        kind: Kind::FirstCta(Some(0)),
    },
    Form {
        head: &["clusterlaunchcontrol", "query_cancel", "get_first_ctaid::y"],
        slots: &[Slot::One(&["b32"]), Slot::One(&["b128"])],
        section: sections::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
        since: version(8, 6),
        kind: Kind::FirstCta(Some(1)),
    },
    Form {
        head: &["clusterlaunchcontrol", "query_cancel", "get_first_ctaid::z"],
        slots: &[Slot::One(&["b32"]), Slot::One(&["b128"])],
        section: sections::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
        since: version(8, 6),
        kind: Kind::FirstCta(Some(2)),
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let lowered = form::words(form, tree).and_then(|words| match form.kind {
        Kind::Store | Kind::Reduce => store(context, tree, &words, form.kind),
        Kind::Multimem => multimem(context, tree, &words, form),
        Kind::TryCancel => try_cancel(context, tree, &words),
        Kind::IsCanceled => {
            let [destination, answer] = context.operands(tree)?;
            query(context, destination, answer, (0, Type::PREDICATE))?;
            context.thread.emit(Operation::Mark { tags: Tags::from_iter([Tag::Looked]), call: None });
            Ok(())
        }
        Kind::FirstCta(Some(coordinate)) => {
            let [destination, answer] = context.operands(tree)?;
            query(context, destination, answer, (1 + 32 * i128::from(coordinate), Type::U32))
        }
        Kind::FirstCta(None) => first_cta(context, tree),
    });
    Some(lowered)
}

/// The type of what is stored, floats by their size.
fn value_type(tree: &Instruction, words: &Words) -> Result<Type, Refusal> {
    let float = words.find(&[("f32", Type::U32), ("f64", Type::U64)]).map(|found| found.node);
    let word = tree.modifiers.iter().find_map(|word| modifier::integer_type(&word.node));
    float.or(words.ty).or(word).ok_or_else(|| Refusal::error(tree.span(), "the type is missing"))
}

/// `[a], b, [mbar]` in shared memory; `[a], b` with `.release` in global memory.
fn store(context: &mut Context<'_>, tree: &Instruction, words: &Words, kind: Kind) -> Result<(), Refusal> {
    let ty = value_type(tree, words)?;
    let combine = combine(words, ty);
    let scope = words.find(&[("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)]);
    let release = words.has("release");
    let (given, mbarrier) = match (tree.operands.as_slice(), release) {
        ([_, _, mbarrier], false) if words.has(COMPLETE_TX) => (&tree.operands[..2], Some(mbarrier)),
        ([_, _], true) if !words.has(COMPLETE_TX) => (&tree.operands[..], None),
        (_, false) => {
            return Err(wrong_operands(
                tree,
                "an address, a value and an mbarrier, with `.mbarrier::complete_tx::bytes`",
            ));
        }
        (_, true) => return Err(wrong_operands(tree, "an address and a value, and no mbarrier")),
    };
    let mut access = match (kind, release, scope) {
        (_, true, Some(scope)) if scope.node != Scope::Cluster => strong(Tag::Generic, Tag::Release, scope.node),
        (_, true, _) => {
            return Err(Refusal::error(tree.span(), "an asynchronous release is at `.gpu` or `.sys` scope"));
        }
        (Kind::Reduce, false, Some(scope)) if scope.node == Scope::Cluster && words.has("relaxed") => {
            strong(Tag::Generic, Tag::Relaxed, Scope::Cluster)
        }
        (Kind::Reduce, false, _) => {
            let error = Diagnostic::error(tree.span(), "this `red.async` is `.relaxed.cluster`");
            return Err(Refusal::Error(error.label("wrong semantics").help("write `red.async.relaxed.cluster…`")));
        }
        (_, false, None) if !words.has("relaxed") => weak(Tag::Generic),
        (_, false, _) => return Err(Refusal::error(tree.span(), "this `st.async` is weak, without a scope")),
    };
    if words.has("mmio") {
        access.0 = access.0.with(Tag::Mmio);
    }
    let space = if mbarrier.is_some() { "shared::cluster" } else { "global" };
    let destination = address(context, tree, &given[0], space)?;
    let values = values(context, tree, words, &given[1])?;
    let bytes = i128::from(ty.bits / 8) * i128::try_from(values.len()).unwrap_or(1);
    let completion = match mbarrier {
        Some(mbarrier) => {
            let (mbarrier, placement) = (shared(context, tree, mbarrier)?, Some(placement(kind)));
            Completion::Transaction { mbarrier, replicas: Replicas::One, placement }
        }
        None => Completion::None,
    };
    let region_space = if mbarrier.is_some() { Space::Shared } else { Space::Global };
    let regions = vec![region(region_space, destination, Size::Bytes(Operand::Constant(Value(bytes))), access)];
    let effect = Effect::Store { destination: RegionId(0), values, ty, combine };
    start(context, tree, Family::Bulk, Start { regions, effect, completion, tensor: None });
    Ok(())
}

/// `[multimem], b`: one store or reduction per replica, in no order (PTX ISA 8.2.3).
fn multimem(context: &mut Context<'_>, tree: &Instruction, words: &Words, form: &Form<Kind>) -> Result<(), Refusal> {
    let [destination, value] = context.operands(tree)?;
    let ty = value_type(tree, words)?;
    let combine = combine(words, ty);
    let scope = if words.has("gpu") { Scope::Gpu } else { Scope::Sys };
    let (tags, scope) = strong(Tag::Generic, Tag::Release, scope);
    let replicas = multimem::replicas(context, destination)?;
    let value = context.value(value)?;
    let size = Size::Bytes(Operand::Constant(Value(i128::from(ty.bits / 8))));
    context.findings.floor(tree.span(), modifier::spelled(tree), form.since, form.section);
    context.findings.feature(Feature::Multimem, tree.opcode.span);
    for replica in replicas {
        let regions = vec![region(Space::Global, replica, size, (tags.with(Tag::Alias), scope))];
        let effect = Effect::Store { destination: RegionId(0), values: vec![value], ty, combine };
        start(context, tree, Family::Bulk, Start { regions, effect, completion: Completion::None, tensor: None });
    }
    Ok(())
}

/// Destination and mbarrier lie in one CTA: for a store of a cluster that has several, for a reduction not the thread's own.
fn placement(kind: Kind) -> Placement {
    let (destination, section) = match kind {
        Kind::Reduce => (Home::Other, sections::RED_ASYNC),
        _ => (Home::OfSeveral, sections::ST_ASYNC),
    };
    Placement { destination, mbarrier: Beside::Same, section }
}

fn values(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    operand: &Spanned<TreeOperand>,
) -> Result<Vec<Operand>, Refusal> {
    let wanted = words.find(&[("v2", 2), ("v4", 4)]).map_or(1, |found| found.node);
    let list = match &operand.node {
        TreeOperand::Vector(list) => list.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    if list.len() != wanted {
        return Err(wrong_operands(tree, &format!("{wanted} values")));
    }
    list.iter().map(|value| context.value(value)).collect()
}

/// The answer is 16 bytes, and may be a refusal.
fn try_cancel(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [destination, mbarrier] = context.operands(tree)?;
    let destination = shared(context, tree, destination)?;
    let mbarrier = shared(context, tree, mbarrier)?;
    let replicas = if words.has("multicast::cluster::all") { Replicas::All } else { Replicas::One };
    if replicas == Replicas::All {
        context.findings.feature(Feature::Cluster, tree.span());
    }
    let mut answer = region(Space::Shared, destination, Size::Bytes(Operand::Constant(Value(16))), weak(Tag::Async));
    answer.replicas = replicas;
    let effect = Effect::Answer { destination: RegionId(0) };
    // A multicast writes at the same place of every CTA.
    let own = Placement {
        destination: Home::Own,
        mbarrier: Beside::Same,
        section: sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL,
    };
    let placement = (replicas == Replicas::One).then_some(own);
    let completion = Completion::Transaction { mbarrier, replicas, placement };
    start(context, tree, Family::Bulk, Start { regions: vec![answer], effect, completion, tensor: None });
    Ok(())
}

/// A field of the answer: see [`Effect::Answer`].
fn query(
    context: &mut Context<'_>,
    destination: &Spanned<TreeOperand>,
    answer: &Spanned<TreeOperand>,
    (shift, ty): (i128, Type),
) -> Result<(), Refusal> {
    let answer = context.value(answer)?;
    let Some(destination) = context.destination(destination, ty)? else { return Ok(()) };
    let whole = Type { bits: 128, signed: false };
    let field = context.thread.temporary(whole);
    let shifted = LocalValue::Binary(BinaryOperator::ShiftRight, answer, Operand::Constant(Value(shift)));
    context.thread.emit(Operation::Local { destination: field, ty: whole, value: shifted });
    let value = LocalValue::Operand(Operand::Register(field));
    context.thread.emit(Operation::Local { destination, ty, value });
    Ok(())
}

fn first_cta(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [destinations, answer] = context.operands(tree)?;
    let TreeOperand::Vector(list) = &destinations.node else {
        return Err(wrong_operands(tree, "a vector of four registers and an answer"));
    };
    if list.len() != 4 {
        return Err(wrong_operands(tree, "a vector of four registers and an answer"));
    }
    // The fourth has no meaning.
    for (coordinate, destination) in (0..3).zip(list) {
        query(context, destination, answer, (1 + 32 * coordinate, Type::U32))?;
    }
    Ok(())
}
