//! Matrix instructions: `mma`, `wgmma` (9.7.17), `tcgen05` (9.7.18).

use fencepost_syntax::instruction::Operand;

use super::asynchronous::multicast;
use crate::code::op::{Op, Source, Space, TensorOperand, Unknown, WgmmaOperand};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::Ty;

pub(super) fn op(context: &Context, opcode: &str) -> Decoded<Op> {
    match opcode {
        "mma" => {
            let to = context.registers(context.operand(0)?)?;
            let mut from = Vec::new();
            for index in 1..context.count() {
                from.extend(context.sources(context.operand(index)?, Ty::U32)?);
            }
            Ok(Op::Opaque { to, from, why: Unknown::Float, commutes: false })
        }
        "wgmma" => wgmma(context),
        _ => tcgen05(context),
    }
}

fn wgmma(context: &Context) -> Decoded<Op> {
    let word = context.words().next().unwrap_or("");
    match word {
        "fence" => return Ok(Op::WgmmaFence),
        "commit_group" => return Ok(Op::WgmmaCommit),
        "wait_group" => return Ok(Op::WgmmaWait { pending: context.constant(0)? as u32 }),
        "mma_async" => {}
        _ => return Err(String::new()),
    }
    let shape = context.words().find(|word| word.starts_with("m64")).ok_or("no shape")?.to_owned();
    let types: Vec<String> = context
        .words()
        .filter(|word| {
            matches!(*word, "sp" | "f16" | "bf16" | "tf32" | "f32" | "e4m3" | "e5m2" | "s8" | "u8" | "b1" | "s32")
        })
        .map(str::to_owned)
        .collect();
    let accumulators = context.registers(context.operand(0)?)?;
    let a = match context.operand(1)? {
        operand @ Operand::Vector(_) => WgmmaOperand::Registers(context.sources(operand, Ty::U32)?),
        operand => WgmmaOperand::Descriptor(context.source(operand, Ty::U64)?),
    };
    let b = context.from(2, Ty::U64)?;
    // After the scale of D: of A and B, then whether each is transposed. With A in registers only B may be. A sparse A has
    // its metadata and their selector before.
    let mut transposes = Vec::new();
    for index in if context.has("sp") { 8 } else { 6 }..context.count() {
        transposes.push(context.from(index, Ty::U32)?);
    }
    Ok(Op::Wgmma { shape, types, accumulators, a, b, transposes })
}

fn group(context: &Context) -> u8 {
    if context.has("cta_group::2") { 2 } else { 1 }
}

/// `[%r1 + 8]` as an address of tensor memory: register and offset.
fn tensor_memory(context: &Context, operand: &Operand) -> Decoded<(Source, i64)> {
    let Operand::Address(address) = operand else { return Err("an address in brackets is expected".to_owned()) };
    Ok((context.source(&address.base.node, Ty::U32)?, address.offset as i64))
}

fn shape_and_repeat(context: &Context) -> Decoded<(String, u32)> {
    let shape = context.words().find(|word| word.contains('x') && word.starts_with(|c: char| c.is_ascii_digit()));
    let repeat = context.words().find_map(|word| word.strip_prefix('x')?.parse().ok()).unwrap_or(1);
    Ok((shape.ok_or("no shape")?.to_owned(), repeat))
}

fn tcgen05(context: &Context) -> Decoded<Op> {
    let word = context.words().next().unwrap_or("");
    let group = group(context);
    Ok(match word {
        "alloc" => {
            Op::Tcgen05Alloc { to: context.place(0, context.space())?, columns: context.from(1, Ty::U32)?, group }
        }
        "dealloc" => Op::Tcgen05Dealloc { at: context.from(0, Ty::U32)?, columns: context.from(1, Ty::U32)?, group },
        "relinquish_alloc_permit" => Op::Tcgen05Relinquish { group },
        "ld" if !context.has("red") => {
            let (at, offset) = tensor_memory(context, context.operand(1)?)?;
            let (shape, repeat) = shape_and_repeat(context)?;
            let half_split = (context.count() > 2).then(|| context.from(2, Ty::U32)).transpose()?;
            Op::Tcgen05Load { at, offset, shape, repeat, to: context.registers(context.operand(0)?)?, half_split }
        }
        "st" => {
            let (at, offset) = tensor_memory(context, context.operand(0)?)?;
            let (shape, repeat) = shape_and_repeat(context)?;
            let last = context.count() - 1;
            let half_split = (context.count() > 2).then(|| context.from(1, Ty::U32)).transpose()?;
            Op::Tcgen05Store {
                at,
                offset,
                shape,
                repeat,
                from: context.sources(context.operand(last)?, Ty::U32)?,
                half_split,
            }
        }
        "wait::ld" => Op::Tcgen05WaitLoad,
        "wait::st" => Op::Tcgen05WaitStore,
        "cp" => {
            let (at, offset) = tensor_memory(context, context.operand(0)?)?;
            let (shape, _) = shape_and_repeat(context)?;
            let multicast = context.words().find(|word| word.starts_with("warpx")).unwrap_or("").to_owned();
            Op::Tcgen05Copy { at, offset, descriptor: context.from(1, Ty::U64)?, shape, multicast, group }
        }
        "shift" => Op::Tcgen05Shift { at: tensor_memory(context, context.operand(0)?)?.0, group },
        "mma" => mma(context, group)?,
        "commit" => {
            let space = if context.space() == Space::Generic { Space::Generic } else { Space::SharedCluster };
            Op::Tcgen05Commit { at: context.place(0, space)?, group, multicast: multicast(context, 1)? }
        }
        "fence::before_thread_sync" => Op::Tcgen05Before,
        "fence::after_thread_sync" => Op::Tcgen05After,
        _ => return Err(String::new()),
    })
}

fn mma(context: &Context, group: u8) -> Decoded<Op> {
    if context.has("sp") || context.has("ws") {
        return Err("sparse and weight-stationary products".to_owned());
    }
    let kind = context.words().find_map(|word| word.strip_prefix("kind::")).ok_or("no kind")?.to_owned();
    let (accumulator, offset) = tensor_memory(context, context.operand(0)?)?;
    let a = match context.operand(1)? {
        operand @ Operand::Address(_) => {
            let (base, offset) = tensor_memory(context, operand)?;
            TensorOperand::TensorMemory(base, offset)
        }
        operand => TensorOperand::Descriptor(context.source(operand, Ty::U64)?),
    };
    let b = context.from(2, Ty::U64)?;
    let instruction = context.from(3, Ty::U32)?;
    // Scale factors in tensor memory, or a vector that disables lanes; then whether D is added.
    let (mut scales, mut accumulate) = (Vec::new(), None);
    for index in 4..context.count() {
        match context.operand(index)? {
            operand @ Operand::Address(_) => scales.push(tensor_memory(context, operand)?.0),
            Operand::Vector(_) => {}
            operand if accumulate.is_none() => accumulate = Some(context.source(operand, Ty::PRED)?),
            _ => {}
        }
    }
    let modifiers = context.words().map(str::to_owned).collect();
    Ok(Op::Tcgen05Mma { accumulator, offset, a, b, instruction, kind, group, accumulate, scales, modifiers })
}
