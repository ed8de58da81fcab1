//! `cp.async` in all its kinds (9.7.10.26 to 9.7.10.28).

use crate::code::op::{Completion, Op, Source, Space, Tensor, TensorMode};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::Ty;

use super::memory::tensor_operand;

pub(super) fn op(context: &Context) -> Decoded<Op> {
    if context.has("reduce") {
        return if context.has("tensor") { tensor(context, true) } else { bulk(context, true) };
    }
    if context.has("bulk") {
        if context.has("commit_group") {
            return Ok(Op::BulkCommit);
        }
        if context.has("wait_group") {
            return Ok(Op::BulkWait { pending: context.constant(0)? as u32, reads_only: context.has("read") });
        }
        if context.has("prefetch") && context.has("tensor") {
            let (map, coordinates) = tensor_operand(context, context.operand(0)?)?;
            let tensor = Tensor { map, coordinates, offsets: Vec::new(), mode: mode(context)? };
            return Ok(Op::TensorPrefetch { tensor });
        }
        if context.has("prefetch") {
            return Ok(Op::BulkPrefetch);
        }
        return if context.has("tensor") { tensor(context, false) } else { bulk(context, false) };
    }
    plain(context)
}

/// `cp.async` without `.bulk`: a few bytes per thread.
fn plain(context: &Context) -> Decoded<Op> {
    if context.has("commit_group") {
        return Ok(Op::CopyAsyncCommit);
    }
    if context.has("wait_all") {
        return Ok(Op::CopyAsyncWait { pending: None });
    }
    if context.has("wait_group") {
        return Ok(Op::CopyAsyncWait { pending: Some(context.constant(0)? as u32) });
    }
    if context.has("mbarrier") {
        let at = context.place(0, context.space())?;
        return Ok(Op::CopyAsyncArrive { at, no_increment: context.has("noinc") });
    }
    let bytes = context.constant(2)? as u32;
    if !(bytes == 16 || (matches!(bytes, 4 | 8) && !context.has("cg"))) {
        return Err(format!("a copy of {bytes} bytes"));
    }
    let (mut source_bytes, mut ignore) = (None, None);
    if context.count() > 3 {
        let operand = context.operand(3)?;
        let is_predicate = context.declared(operand).is_some_and(|ty| ty == Ty::PRED);
        let value = context.source(operand, if is_predicate { Ty::PRED } else { Ty::U32 })?;
        if is_predicate { ignore = Some(value) } else { source_bytes = Some(value) }
    }
    Ok(Op::CopyAsync {
        to: context.place(0, Space::Shared)?,
        from: context.place(1, Space::Global)?,
        bytes,
        source_bytes,
        ignore,
    })
}

/// The first two spaces that the modifiers name: to, from.
fn spaces(context: &Context) -> (Space, Space) {
    let mut named = context.words().filter_map(|word| match word {
        "global" => Some(Space::Global),
        "shared::cta" => Some(Space::Shared),
        "shared::cluster" => Some(Space::SharedCluster),
        _ => None,
    });
    let to = named.next().unwrap_or(Space::Generic);
    (to, named.next().unwrap_or(Space::Generic))
}

fn bulk(context: &Context, reduce: bool) -> Decoded<Op> {
    if context.has("ignore_oob") || context.has("cp_mask") {
        return Err("a mask of bytes".to_owned());
    }
    let (to, from) = spaces(context);
    let (to, from) = (context.place(0, to)?, context.place(1, from)?);
    let bytes = context.from(2, Ty::U32)?;
    let reduce = if reduce { Some(context.ty()?.bytes() as u8) } else { None };
    if context.has("mbarrier::complete_tx::bytes") {
        let completion = Completion::Mbarrier(
            context.place(3, if to.space == Space::Shared { Space::Shared } else { Space::SharedCluster })?,
        );
        if from.space == Space::Global && reduce.is_none() {
            return Ok(Op::BulkLoad { to, from, bytes, completion, multicast: multicast(context, 4)? });
        }
        return Ok(Op::BulkStore { to, from, bytes, completion, reduce });
    }
    Ok(Op::BulkStore { to, from, bytes, completion: Completion::BulkGroup, reduce })
}

/// A mask of the CTAs of a cluster, in a register of this width or any.
const MULTICAST: [&str; 3] = ["multicast::cluster", "multicast::cluster::16b", "multicast::cluster::32b"];

pub(super) fn multicast(context: &Context, index: usize) -> Decoded<Option<Source>> {
    let has = MULTICAST.iter().any(|word| context.has(word));
    has.then(|| context.from(index, Ty::U32)).transpose()
}

fn mode(context: &Context) -> Decoded<TensorMode> {
    Ok(match () {
        () if context.has("tile::gather4") || context.has("tile::scatter4") => TensorMode::Gather4,
        () if context.has("im2col::w") || context.has("im2col::w::128") => return Err("the mode im2col::w".to_owned()),
        () if context.has("im2col") || context.has("im2col_no_offs") => TensorMode::Im2col,
        () => TensorMode::Tile,
    })
}

fn tensor(context: &Context, reduce: bool) -> Decoded<Op> {
    let mode = mode(context)?;
    if context.has("mbarrier::complete_tx::bytes") {
        let (to_space, _) = spaces(context);
        let (map, coordinates) = tensor_operand(context, context.operand(1)?)?;
        let mut next = 3;
        let mut offsets = Vec::new();
        if mode == TensorMode::Im2col {
            offsets = context.sources(context.operand(next)?, Ty::U32)?;
            next += 1;
        }
        let mbarrier = if to_space == Space::Shared { Space::Shared } else { Space::SharedCluster };
        return Ok(Op::TensorLoad {
            to: context.place(0, to_space)?,
            tensor: Tensor { map, coordinates, offsets, mode },
            completion: if context.has("cta_group::2") {
                Completion::MbarrierOfPair(context.place(2, mbarrier)?)
            } else {
                Completion::Mbarrier(context.place(2, mbarrier)?)
            },
            multicast: multicast(context, next)?,
        });
    }
    let (map, coordinates) = tensor_operand(context, context.operand(0)?)?;
    let from = context.place(1, Space::Shared)?;
    Ok(Op::TensorStore { tensor: Tensor { map, coordinates, offsets: Vec::new(), mode }, from, reduce })
}

/// `clusterlaunchcontrol` (9.7.15.18, 9.7.15.19).
pub(super) fn cancel(context: &Context) -> Decoded<Op> {
    if context.has("try_cancel") {
        let (to, mbarrier) = (context.place(0, Space::Shared)?, context.place(1, Space::Shared)?);
        return Ok(Op::TryCancel { to, mbarrier, all: context.has("multicast::cluster::all") });
    }
    let answer = context.halves_from(context.operand(1)?)?;
    if context.has("is_canceled") {
        return Ok(Op::IsCancelled { to: context.to(0)?, answer });
    }
    let axes = match () {
        () if context.has("get_first_ctaid::x") => vec![0],
        () if context.has("get_first_ctaid::y") => vec![1],
        () if context.has("get_first_ctaid::z") => vec![2],
        () => vec![0, 1, 2, 3],
    };
    Ok(Op::FirstCta { to: context.maybe_registers(context.operand(0)?)?, axes, answer })
}
