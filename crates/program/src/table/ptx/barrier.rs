//! Barriers. `bar.cta.sync instance[, id[, quorum]]` is Dartagnan's; `bar{.cta}.{sync,arrive,red} a{, b}` and
//! `barrier{.cta}.…{.aligned}` are PTX's (PTX ISA 9.7.15.1), as are `bar.warp.sync` (9.7.15.2) and `barrier.cluster`
//! (9.7.15.3).

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{Barrier, BarrierKind, BarrierLevel, Feature, Operand, Operation, Reduction, ReductionOperation};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::{self, Modifiers};
use crate::table::ptx::register;
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Beyond {
    ClusterArrive,
    ClusterWait,
    Warp,
}

pub(crate) const FORMS: &[Form<Beyond>] = &[
    Form {
        head: &["barrier", "cluster", "arrive"],
        slots: &[Slot::Maybe(&["release", "relaxed"]), Slot::Maybe(&["aligned"])],
        section: sections::BARRIER_CLUSTER,
        since: version(7, 8),
        kind: Beyond::ClusterArrive,
    },
    Form {
        head: &["barrier", "cluster", "wait"],
        slots: &[Slot::Maybe(&["acquire"]), Slot::Maybe(&["aligned"])],
        section: sections::BARRIER_CLUSTER,
        since: version(7, 8),
        kind: Beyond::ClusterWait,
    },
    Form {
        head: &["bar", "warp", "sync"],
        slots: &[],
        section: sections::BAR_WARP_SYNC,
        since: version(6, 0),
        kind: Beyond::Warp,
    },
];

/// Barriers of a cluster or a warp, of real PTX.
pub(crate) fn beyond(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    if context.dialect != Dialect::Ptx {
        return None;
    }
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| beyond_cta(context, tree, form, &words)))
}

fn beyond_cta(
    context: &mut Context<'_>,
    tree: &Instruction,
    form: &Form<Beyond>,
    words: &Words,
) -> Result<(), Refusal> {
    let barrier = match form.kind {
        Beyond::Warp => {
            let [mask] = context.operands(tree)?;
            // The mask has 32 bits, however it is written.
            let id = Some(match context.value(mask)? {
                Operand::Constant(mask) => Operand::Constant(Type::U32.wrap(mask)),
                mask => mask,
            });
            Barrier { id, level: BarrierLevel::Warp, ..plain(BarrierKind::Sync) }
        }
        Beyond::ClusterArrive | Beyond::ClusterWait => {
            let [] = context.operands(tree)?;
            context.findings.feature(Feature::Cluster, tree.opcode.span);
            let waits = matches!(form.kind, Beyond::ClusterWait);
            let kind = if waits { BarrierKind::Sync } else { BarrierKind::Arrive };
            let tags = if words.has("relaxed") { Tags::NONE.with(Tag::Relaxed) } else { Tags::NONE };
            Barrier { level: BarrierLevel::Cluster, tags, ..plain(kind) }
        }
    };
    let orders = ["release", "relaxed", "acquire"].iter().any(|word| words.has(word));
    let since = if orders { version(8, 0) } else { form.since };
    context.findings.floor(tree.span(), modifier::spelled(tree), since, form.section);
    context.thread.emit(Operation::Barrier(barrier));
    Ok(())
}

/// A barrier of a CTA without operands.
fn plain(kind: BarrierKind) -> Barrier {
    let (level, tags) = (BarrierLevel::Cta, Tags::NONE);
    Barrier { kind, level, tags, instance: None, id: None, count: None, reduction: None }
}

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let Some(kind) = modifiers.barrier else {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    };
    let barrier = match (context.dialect, kind) {
        (Dialect::Dartagnan, BarrierKind::Sync | BarrierKind::Arrive) => dartagnan(context, tree, modifiers, kind)?,
        (Dialect::Dartagnan, BarrierKind::Red) => {
            return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
        }
        (_, BarrierKind::Red) => reduction(context, tree, modifiers)?,
        _ => synchronise(context, tree, kind)?,
    };
    context.thread.emit(Operation::Barrier(barrier));
    Ok(())
}

fn dartagnan(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    kind: BarrierKind,
) -> Result<Barrier, Refusal> {
    if !modifiers.words.contains(&"cta") {
        let message = format!("{} is no barrier of this dialect", modifier::spelled(tree));
        let help = "write `bar.cta.sync instance, id` or `bar.cta.arrive instance, id`";
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help(help)));
    }
    let mut operands =
        tree.operands.iter().map(|operand| context.value(operand)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let barrier = Barrier { instance: operands.next(), id: operands.next(), count: operands.next(), ..plain(kind) };
    if barrier.instance.is_none() || operands.next().is_some() {
        return Err(wrong_operands(tree, "one to three operands: instance, id, quorum"));
    }
    Ok(barrier)
}

fn synchronise(context: &mut Context<'_>, tree: &Instruction, kind: BarrierKind) -> Result<Barrier, Refusal> {
    let (id, count) = match (kind, tree.operands.as_slice()) {
        (BarrierKind::Sync, [id]) => (id, None),
        (_, [id, count]) => (id, Some(count)),
        (BarrierKind::Arrive, _) => return Err(wrong_operands(tree, "a barrier and a thread count")),
        _ => return Err(wrong_operands(tree, "a barrier and, if not all threads of the CTA, a thread count")),
    };
    let id = resource(context, id)?;
    let count = count.map(|count| thread_count(context, count)).transpose()?;
    Ok(Barrier { id: Some(id), count, ..plain(kind) })
}

/// `bar.red.popc.u32 d, a{, b}, p` and `bar.red.{and,or}.pred p, a{, b}, q`.
fn reduction(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<Barrier, Refusal> {
    let Some(operation) = modifiers.reduction else {
        return Err(Refusal::error(tree.span(), "`bar.red` needs `.popc`, `.and` or `.or`"));
    };
    let ty = if operation == ReductionOperation::PopCount { Type::U32 } else { Type::PREDICATE };
    let (destination, id, count, predicate) = match tree.operands.as_slice() {
        [destination, id, predicate] => (destination, id, None, predicate),
        [destination, id, count, predicate] => (destination, id, Some(count), predicate),
        _ => return Err(wrong_operands(tree, "a destination, a barrier, a thread count if any, and a predicate")),
    };
    let id = resource(context, id)?;
    let count = count.map(|count| thread_count(context, count)).transpose()?;
    let predicate = register::predicate(context, predicate)?;
    let Some(destination) = context.destination(destination, ty)? else {
        return Err(wrong_operands(tree, "a destination register"));
    };
    let reduction = Some(Reduction { destination, operation, predicate });
    Ok(Barrier { id: Some(id), count, reduction, ..plain(BarrierKind::Red) })
}

/// A CTA has sixteen barriers.
fn resource(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
    match context.value(operand)? {
        Operand::Constant(Value(id)) if !(0..16).contains(&id) => {
            let error = Diagnostic::error(operand.span, format!("there is no barrier {id}")).label("no barrier");
            Err(Refusal::Error(error.help("a CTA has the barriers 0 to 15")))
        }
        id => Ok(id),
    }
}

fn thread_count(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
    match context.value(operand)? {
        Operand::Constant(Value(count)) if count < 1 => {
            let error = Diagnostic::error(operand.span, format!("a barrier cannot wait for {count} threads"));
            Err(Refusal::Error(error.label("no count").help("a count is positive; leave it out to mean the whole CTA")))
        }
        count => Ok(count),
    }
}

fn wrong_operands(tree: &Instruction, expected: &str) -> Refusal {
    let message = format!("{} takes {expected}", modifier::spelled(tree));
    Refusal::Error(Diagnostic::error(tree.span(), message).label("wrong operands"))
}
