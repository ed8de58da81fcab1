//! Loads, stores, atomics, address conversions, fragments of matrices, fields of tensor maps (9.7.9, 9.7.10).

use fencepost_syntax::instruction::Operand;

use crate::code::op::{Access, Atomic, Op, Order, Place, ReplaceField, Scope, Source, Space, Unknown};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::{Kind, Ty};

pub(super) fn op(context: &Context, opcode: &str) -> Decoded<Op> {
    match opcode {
        "ld" | "ldu" => load(context),
        "st" if context.has("async") => store_async(context, false),
        "st" if context.has("bulk") => store_zeros(context),
        "st" => store(context),
        "red" if context.has("async") => store_async(context, true),
        "atom" | "red" => atomic(context, opcode),
        "prefetch" | "prefetchu" | "applypriority" => Ok(Op::Nothing),
        "createpolicy" => {
            Ok(Op::Opaque { to: vec![context.to(0)?], from: Vec::new(), why: Unknown::Environment, commutes: false })
        }
        "cvta" => convert_address(context),
        "isspacep" => Ok(Op::IsSpace { to: context.to(0)?, from: context.from(1, Ty::U64)?, space: context.space() }),
        "mapa" => Ok(Op::MapAddress {
            to: context.to(0)?,
            from: context.from(1, Ty::U64)?,
            rank: context.from(2, Ty::U32)?,
            space: context.space(),
        }),
        "getctarank" => Ok(Op::CtaRank { to: context.to(0)?, from: context.from(1, Ty::U64)?, space: context.space() }),
        "ldmatrix" | "stmatrix" => matrix(context, opcode),
        "movmatrix" => {
            let from = vec![context.from(1, Ty::U32)?];
            Ok(Op::Opaque { to: vec![context.to(0)?], from, why: Unknown::Float, commutes: false })
        }
        "wmma" => wmma(context),
        "tensormap" => tensormap(context),
        _ => Err(String::new()),
    }
}

/// What the modifiers say of order and scope. `.volatile` is relaxed with the scope of the system (8.4), without a
/// scope an atomic is relaxed at the scope of the GPU (9.7.15.4).
fn access(context: &Context, place: Place, is_atomic: bool) -> Decoded<Access> {
    let ty = context.ty()?;
    let order = context.order().unwrap_or(if is_atomic { Order::Relaxed } else { Order::Weak });
    let default = if context.has("volatile") || context.has("mmio") { Scope::Sys } else { Scope::Gpu };
    let read_only = context.has("nc") || place.space == Space::Const;
    Ok(Access { place, ty, order, scope: context.scope().unwrap_or(default), read_only })
}

fn load(context: &Context) -> Decoded<Op> {
    let place = context.place(1, context.space())?;
    let access = access(context, place, false)?;
    if access.ty.bits == 128 {
        return Ok(Op::Load(halved(access)?, context.halves_to(context.operand(0)?)?.to_vec()));
    }
    Ok(Op::Load(access, context.maybe_registers(context.operand(0)?)?))
}

/// A weak access of 128 bits touches what two of 64 do; a strong one is whole (8.2.4), which two are not.
fn halved(access: Access) -> Decoded<Access> {
    if access.order != Order::Weak {
        return Err("a strong access of 128 bits".to_owned());
    }
    Ok(Access { ty: Ty { bits: 64, ..access.ty }, ..access })
}

fn store(context: &Context) -> Decoded<Op> {
    let place = context.place(0, context.space())?;
    is_writable(place)?;
    let access = access(context, place, false)?;
    if access.ty.bits == 128 {
        return Ok(Op::Store(halved(access)?, context.halves_from(context.operand(1)?)?.to_vec()));
    }
    let from = context.sources(context.operand(1)?, access.ty)?;
    Ok(Op::Store(access, from))
}

/// The value can only be zero (9.7.10.14).
fn store_zeros(context: &Context) -> Decoded<Op> {
    if context.constant(2)? != 0 {
        return Err("`st.bulk` of another value than 0".to_owned());
    }
    Ok(Op::StoreBulk { to: context.place(0, context.space())?, bytes: context.from(1, Ty::U64)? })
}

/// A kernel reads constants and its own parameters (5.1.3, 5.1.6.1).
fn is_writable(place: Place) -> Decoded<()> {
    match place.space {
        Space::Const => Err("a store to constant memory".to_owned()),
        Space::Param => Err("a store to a parameter of the entry".to_owned()),
        _ => Ok(()),
    }
}

pub(super) fn operation(word: &str) -> Option<Atomic> {
    Some(match word {
        "add" => Atomic::Add,
        "exch" => Atomic::Exchange,
        "cas" => Atomic::CompareAndSwap,
        "min" => Atomic::Minimum,
        "max" => Atomic::Maximum,
        "and" => Atomic::And,
        "or" => Atomic::Or,
        "xor" => Atomic::Xor,
        "inc" => Atomic::Increment,
        "dec" => Atomic::Decrement,
        _ => return None,
    })
}

fn atomic(context: &Context, opcode: &str) -> Decoded<Op> {
    let operation = context.words().find_map(operation).ok_or("no operation")?;
    let first = usize::from(opcode == "atom");
    let place = context.place(first, context.space())?;
    is_writable(place)?;
    let access = access(context, place, true)?;
    if access.ty.bits == 128 {
        return Err("an atomic of 128 bits".to_owned());
    }
    if context.words().any(|word| matches!(word, "v2" | "v4" | "v8")) {
        let to = if opcode == "atom" { context.maybe_registers(context.operand(0)?)? } else { Vec::new() };
        let from = context.sources(context.operand(first + 1)?, access.ty)?;
        return Ok(Op::AtomicVector { access, operation, to, from });
    }
    let to = if opcode == "atom" { context.maybe_to(context.operand(0)?)? } else { None };
    let ty = access.ty;
    let second = if operation == Atomic::CompareAndSwap { context.from(first + 2, ty)? } else { Source::Constant(0) };
    Ok(Op::Atomic { access, operation, to, from: [context.from(first + 1, ty)?, second] })
}

fn convert_address(context: &Context) -> Decoded<Op> {
    let (to, from) = (context.to(0)?, context.from(1, Ty::U64)?);
    let space = context.space();
    let bits = context.ty()?.bits;
    if context.has("to") {
        return Ok(Op::FromGeneric { to, from, space, bits });
    }
    Ok(Op::ToGeneric { to, from, space })
}

fn store_async(context: &Context, reduce: bool) -> Decoded<Op> {
    if !context.has("mbarrier::complete_tx::bytes") {
        return Err(String::new());
    }
    let space = Space::SharedCluster;
    Ok(Op::StoreAsync {
        to: context.place(0, space)?,
        ty: context.ty()?,
        from: context.sources(context.operand(1)?, context.ty()?)?,
        mbarrier: context.place(2, space)?,
        reduce,
    })
}

fn matrix(context: &Context, opcode: &str) -> Decoded<Op> {
    let shape = context.words().find(|word| word.starts_with('m') && word.contains('n')).ok_or("no shape")?.to_owned();
    let count = context.words().find_map(|word| word.strip_prefix('x')?.parse().ok()).unwrap_or(1);
    let transposed = context.has("trans");
    if opcode == "ldmatrix" {
        let (to, at) = (context.registers(context.operand(0)?)?, context.place(1, context.space())?);
        return Ok(Op::LoadMatrix { at, shape, count, transposed, to });
    }
    let (at, from) = (context.place(0, context.space())?, context.sources(context.operand(1)?, Ty::U32)?);
    Ok(Op::StoreMatrix { at, shape, count, transposed, from })
}

fn wmma(context: &Context) -> Decoded<Op> {
    let modifiers: Vec<String> = context.words().map(str::to_owned).collect();
    let stride = |index: usize| (context.count() > index).then(|| context.from(index, Ty::U32)).transpose();
    if context.has("mma") {
        let to = context.registers(context.operand(0)?)?;
        let mut from = Vec::new();
        for index in 1..context.count() {
            from.extend(context.sources(context.operand(index)?, Ty::U32)?);
        }
        return Ok(Op::Opaque { to, from, why: Unknown::Float, commutes: false });
    }
    if context.has("load") {
        let to = context.registers(context.operand(0)?)?;
        return Ok(Op::WmmaLoad { at: context.place(1, context.space())?, stride: stride(2)?, modifiers, to });
    }
    let from = context.sources(context.operand(1)?, Ty::U32)?;
    Ok(Op::WmmaStore { at: context.place(0, context.space())?, stride: stride(2)?, modifiers, from })
}

fn tensormap(context: &Context) -> Decoded<Op> {
    if context.has("cp_fenceproxy") {
        let (to, from) = (context.place(0, Space::Global)?, context.place(1, Space::Shared)?);
        return Ok(Op::TensormapCopyFence { to, from, scope: context.scope().unwrap_or(Scope::Gpu) });
    }
    let field = context.words().find_map(|word| {
        Some(match word {
            "global_address" => ReplaceField::GlobalAddress,
            "rank" => ReplaceField::Rank,
            "box_dim" => ReplaceField::BoxDim,
            "global_dim" => ReplaceField::GlobalDim,
            "global_stride" => ReplaceField::GlobalStride,
            "element_stride" => ReplaceField::ElementStride,
            "elemtype" => ReplaceField::Elemtype,
            "interleave_layout" => ReplaceField::InterleaveLayout,
            "swizzle_mode" => ReplaceField::SwizzleMode,
            "fill_mode" => ReplaceField::FillMode,
            _ => return None,
        })
    });
    let field = field.ok_or("no field that is known")?;
    let at = context.place(0, context.space())?;
    let value = Ty { kind: Kind::Unsigned, bits: context.ty()?.bits };
    let (index, value) = match context.count() {
        3 => (context.from(1, Ty::U32)?, context.from(2, value)?),
        _ => (Source::Constant(0), context.from(1, value)?),
    };
    Ok(Op::TensormapReplace { at, field, index, value })
}

/// `[map, {x, y}]`: the map's address and the coordinates.
pub(super) fn tensor_operand(context: &Context, operand: &Operand) -> Decoded<(Source, Vec<Source>)> {
    let Operand::Address(address) = operand else { return Err("a tensor in brackets is expected".to_owned()) };
    let map = context.source(&address.base.node, Ty::U64)?;
    if address.offset != 0 {
        return Err("a tensor map with an offset".to_owned());
    }
    let mut coordinates = Vec::new();
    for item in &address.rest {
        match &item.node {
            Operand::Vector(items) => {
                for item in items {
                    coordinates.push(context.source(&item.node, Ty::U32)?);
                }
            }
            other => coordinates.push(context.source(other, Ty::U32)?),
        }
    }
    Ok((map, coordinates))
}
