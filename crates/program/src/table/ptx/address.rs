//! Addresses in a cluster's shared memory (PTX ISA 9.7.10.26 `mapa`, 9.7.10.27 `getctarank`, 9.7.10.22 `isspacep`). The
//! rank of a CTA is part of the address (see `lower::memory::layout`), so that these are arithmetic.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::RegisterId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::lower::memory::layout::{FIRST_SHARED, RANK_MASK, RANK_SHIFT};
use crate::program::{Feature, LocalValue, Operand, Operation, Space};
use crate::sections;
use crate::table::compute::{binary, constant, temporary};
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::spelled;
use crate::value::Type;
use crate::value::expression::BinaryOperator;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    MapRank,
    Rank,
    IsInSpace,
}

const WIDTH: Slot = Slot::One(&["u32", "u64"]);
const CLUSTER: Slot = Slot::Maybe(&["shared::cluster"]);

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["mapa"],
        slots: &[CLUSTER, WIDTH],
        section: sections::MAPA,
        since: version(7, 8),
        kind: Kind::MapRank,
    },
    Form {
        head: &["getctarank"],
        slots: &[CLUSTER, WIDTH],
        section: sections::GETCTARANK,
        since: version(7, 8),
        kind: Kind::Rank,
    },
    Form {
        head: &["isspacep"],
        slots: &[Slot::One(&["global", "shared", "shared::cta", "shared::cluster"])],
        section: sections::ISSPACEP,
        since: version(2, 0),
        kind: Kind::IsInSpace,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| {
        context.findings.floor(tree.span(), spelled(tree), form.since, form.section);
        emit(context, tree, form.kind, &words)
    }))
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    let ty = if words.has("u64") { Type::U64 } else { Type::U32 };
    match kind {
        Kind::MapRank => {
            let [destination, address, rank] = context.operands(tree)?;
            check_rank(context, rank)?;
            let (address, rank) = (context.value(address)?, context.value(rank)?);
            context.findings.feature(Feature::Cluster, tree.opcode.span);
            let value = at_rank(context, ty, address, rank);
            let Some(destination) = context.destination(destination, ty)? else { return Ok(()) };
            context.thread.emit(Operation::Local { destination, ty, value });
        }
        Kind::Rank => {
            let [destination, address] = context.operands(tree)?;
            let address = context.value(address)?;
            let shifted = binary(context, BinaryOperator::ShiftRight, ty, address, constant(RANK_SHIFT));
            let Some(destination) = context.destination(destination, Type::U32)? else { return Ok(()) };
            let value = LocalValue::Binary(BinaryOperator::And, shifted, constant(RANK_MASK));
            context.thread.emit(Operation::Local { destination, ty: Type::U32, value });
        }
        Kind::IsInSpace => {
            let [destination, address] = context.operands(tree)?;
            let address = context.value(address)?;
            let value = within(context, tree, words, address)?;
            context.thread.asks_spaces = true;
            let Some(destination) = context.destination(destination, Type::PREDICATE)? else { return Ok(()) };
            context.thread.emit(Operation::Local { destination, ty: Type::U64, value });
        }
    }
    Ok(())
}

/// The same offset in the shared memory of the CTA with this rank.
fn at_rank(context: &mut Context<'_>, ty: Type, address: Operand, rank: Operand) -> LocalValue {
    // Ranks beyond the last stay beyond: no CTA of a test has the highest.
    let rank = binary(context, BinaryOperator::Minimum, Type::U32, rank, constant(RANK_MASK));
    let place = binary(context, BinaryOperator::ShiftLeft, ty, rank, constant(RANK_SHIFT));
    let offset = binary(context, BinaryOperator::And, ty, address, constant(!(RANK_MASK << RANK_SHIFT)));
    LocalValue::Binary(BinaryOperator::Or, offset, place)
}

/// The same, in a register of our own.
pub(crate) fn in_cta(context: &mut Context<'_>, address: Operand, rank: Operand) -> RegisterId {
    let value = at_rank(context, Type::U64, address, rank);
    temporary(context, Type::U64, value)
}

/// A rank that the text gives and no CTA of the cluster has. Mostly there is such a CTA, and `cluster` was left out.
fn check_rank(context: &Context<'_>, rank: &Spanned<TreeOperand>) -> Result<(), Refusal> {
    let TreeOperand::Integer(number) = rank.node else { return Ok(()) };
    let place = context.thread.viewer().place;
    let layout = &context.names.layout;
    let (own, all) = (layout.cluster(place).count() as i128, layout.ctas().count() as i128);
    if (0..own).contains(&number) {
        return Ok(());
    }
    let count = if own == 1 { "one CTA".to_owned() } else { format!("{own} CTAs") };
    let message =
        format!("there is no CTA of rank {number} in the cluster of {}, which has {count}", context.thread.name());
    let help = match own {
        _ if (0..all).contains(&number) => {
            "place the CTAs in one cluster: `P0@cta 0, cluster 0, gpu 0` and `P1@cta 1, cluster 0, gpu 0`".to_owned()
        }
        1 => "the only rank is 0".to_owned(),
        _ => format!("ranks are 0 to {}", own - 1),
    };
    Err(Refusal::Error(Diagnostic::error(rank.span, message).label("not in this cluster").help(help)))
}

/// Whether an address lies in a window: compared where the window begins, after what varies within it is shifted out.
fn within(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    address: Operand,
) -> Result<LocalValue, Refusal> {
    let own = || {
        let place = context.thread.viewer().place;
        let none = || Refusal::Error(Diagnostic::error(tree.span(), "this thread has no shared memory"));
        context.names.layout.window(Space::Shared, place).ok_or_else(none)
    };
    if words.has("global") {
        return Ok(LocalValue::Binary(BinaryOperator::Less, address, constant(FIRST_SHARED)));
    }
    let shift = match words {
        words if words.has("shared::cluster") => RANK_SHIFT + 4,
        _ => RANK_SHIFT,
    };
    let own = own()? >> shift;
    let shifted = binary(context, BinaryOperator::ShiftRight, Type::U64, address, constant(shift));
    Ok(LocalValue::Binary(BinaryOperator::Equal, shifted, constant(own)))
}
