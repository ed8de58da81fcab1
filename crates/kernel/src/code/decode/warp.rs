//! Control flow and instructions of a warp (9.7.14, 9.7.15).

use fencepost_syntax::instruction::Operand;

use crate::code::flatten::{arguments, called};
use crate::code::op::{Aligned, Atomic, Op, Shuffle, Source, Vote};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::{Kind, Ty};

pub(super) fn op(context: &Context, opcode: &str) -> Decoded<Op> {
    Ok(match opcode {
        "bra" => Op::Branch { to: label(context, context.operand(0)?)? },
        "brx" => {
            let Operand::Symbol(table) = context.operand(1)? else { return Err("a list of labels is expected".into()) };
            let to = context.flat.jump_table(context.line.block, table);
            Op::BranchIndexed { index: context.from(0, Ty::U32)?, to: to.ok_or("its list of labels is not declared")? }
        }
        "ret" => match context.line.call {
            Some(call) => Op::Branch { to: context.flat.returns[call as usize] },
            None => Op::Exit,
        },
        "exit" => Op::Exit,
        "trap" => Op::Trap,
        "nanosleep" | "pmevent" | "brkpt" => Op::Nothing,
        "setmaxnreg" => Op::SetMaxRegisters { count: context.constant(0)?, increases: context.has("inc") },
        "call" => call(context)?,
        "shfl" => shuffle(context)?,
        "vote" => vote(context)?,
        "match" => matched(context)?,
        "redux" => reduce(context)?,
        "elect" => elect(context)?,
        "activemask" => Op::ActiveMask { to: context.to(0)? },
        _ => return Err(String::new()),
    })
}

/// Whether all lanes of a warp must execute the instruction together, and of which kind it is. `bar` is `barrier` with `.aligned`
/// (9.7.15.1).
pub(super) fn aligned(context: &Context) -> Option<Aligned> {
    let opcode = context.tree().opcode.node.as_str();
    let is_bar = opcode == "bar" && !context.has("warp");
    if !is_bar && !context.has("aligned") {
        return None;
    }
    Some(match opcode {
        "barrier" if context.has("cluster") => Aligned::Cluster,
        "bar" | "barrier" => Aligned::Barrier,
        "wgmma" => Aligned::Wgmma,
        "tcgen05" => Aligned::TensorMemory,
        "tensormap" => Aligned::Tensormap,
        "setmaxnreg" => Aligned::Registers,
        _ => Aligned::Matrix,
    })
}

fn label(context: &Context, operand: &Operand) -> Decoded<u32> {
    let Operand::Symbol(name) = operand else { return Err("a label is expected".to_owned()) };
    context.flat.label(context.line.block, name).ok_or_else(|| format!("the label `{name}` is nowhere"))
}

/// A call that was not put in place: of a function outside the module, of itself, under a guard, or through a pointer.
/// `vprintf` only prints: what it returns is not known, and it does nothing else.
fn call(context: &Context) -> Decoded<Op> {
    let tree = context.tree();
    let name = called(tree).ok_or("a call through a pointer")?.to_owned();
    let (results, _) = arguments(tree);
    let places = results.into_iter().map(|result| {
        let variable = context.flat.variable(context.line.block, result);
        let variable = variable.ok_or_else(|| format!("`{result}` is not declared"))?;
        Ok((variable.address, variable.bytes.unwrap_or(0)))
    });
    Ok(Op::Call { name, results: places.collect::<Decoded<_>>()? })
}

/// The first of a pair `%r|%p`, and the second.
fn pair(operand: &Operand) -> (&Operand, Option<&Operand>) {
    match operand {
        Operand::Pair(first, second) => (&first.node, Some(&second.node)),
        other => (other, None),
    }
}

fn shuffle(context: &Context) -> Decoded<Op> {
    let how = context.words().find_map(|word| match word {
        "up" => Some(Shuffle::Up),
        "down" => Some(Shuffle::Down),
        "bfly" => Some(Shuffle::Butterfly),
        "idx" => Some(Shuffle::Index),
        _ => None,
    });
    let (to, valid) = pair(context.operand(0)?);
    Ok(Op::Shuffle {
        how: how.ok_or("no mode")?,
        to: context.register_of(to)?,
        valid: valid.map(|operand| context.register_of(operand)).transpose()?,
        from: context.from(1, Ty::U32)?,
        lane: context.from(2, Ty::U32)?,
        clamp: context.from(3, Ty::U32)?,
        mask: if context.has("sync") { context.from(4, Ty::U32)? } else { Source::Constant(0xffff_ffff) },
    })
}

fn vote(context: &Context) -> Decoded<Op> {
    let how = context.words().find_map(|word| match word {
        "all" => Some(Vote::All),
        "any" => Some(Vote::Any),
        "uni" => Some(Vote::Uniform),
        "ballot" => Some(Vote::Ballot),
        _ => None,
    });
    let (operand, negated) = match context.operand(1)? {
        Operand::Negated(inner) => (&inner.node, true),
        other => (other, false),
    };
    Ok(Op::Vote {
        how: how.ok_or("no mode")?,
        to: context.to(0)?,
        from: context.source(operand, Ty::PRED)?,
        negated,
        mask: if context.has("sync") { context.from(2, Ty::U32)? } else { Source::Constant(0xffff_ffff) },
    })
}

fn matched(context: &Context) -> Decoded<Op> {
    let (to, same) = pair(context.operand(0)?);
    let ty = context.ty()?;
    Ok(Op::Match {
        all: context.has("all"),
        bits: ty.bits,
        to: context.register_of(to)?,
        same: same.map(|operand| context.register_of(operand)).transpose()?,
        from: context.from(1, ty)?,
        mask: context.from(2, Ty::U32)?,
    })
}

fn reduce(context: &Context) -> Decoded<Op> {
    let operation = context.words().find_map(super::memory::operation).ok_or("no operation")?;
    let ty = context.ty()?;
    if ty.kind == Kind::Float {
        let from = vec![context.from(1, ty)?];
        return Ok(Op::Opaque { to: vec![context.to(0)?], from, why: crate::code::op::Unknown::Float, commutes: true });
    }
    let operation = if operation == Atomic::Exchange { return Err("no operation".into()) } else { operation };
    Ok(Op::ReduceWarp {
        operation,
        ty,
        to: context.to(0)?,
        from: context.from(1, ty)?,
        mask: context.from(2, Ty::U32)?,
    })
}

fn elect(context: &Context) -> Decoded<Op> {
    let (to, elected) = pair(context.operand(0)?);
    let elected = elected.ok_or("a pair of destinations is expected")?;
    Ok(Op::Elect { to: context.maybe_to(to)?, elected: context.register_of(elected)?, mask: context.from(1, Ty::U32)? })
}
