//! Arithmetic, logic, comparison, selection, conversion, moves (9.7.1 to 9.7.9).

use fencepost_syntax::instruction::Operand;

use crate::code::op::{Carry, Combine, Compare, Function, Op, OrderedCompare, Round, Source, Unknown};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::{Kind, Ty};

const ZERO: Source = Source::Constant(0);

pub(super) fn op(context: &Context, opcode: &str) -> Decoded<Op> {
    match opcode {
        "mov" => moved(context),
        "cvt" => convert(context),
        "setp" => set_predicate(context),
        "set" => set(context),
        "lop3" => {
            let table = context.constant(4)? as u8;
            compute(context, Function::Logic3(table), Ty::U32, 3)
        }
        "bfi" => {
            let ty = context.ty()?;
            let from =
                [context.from(1, ty)?, context.from(2, ty)?, context.from(3, Ty::U32)?, context.from(4, Ty::U32)?];
            Ok(Op::InsertField { ty, to: context.to(0)?, from })
        }
        "add" | "sub" | "addc" | "subc" | "mad" | "madc" | "mul" if context.has("cc") || opcode.ends_with('c') => {
            carry(context, opcode)
        }
        _ => arithmetic(context, opcode),
    }
}

fn compute(context: &Context, function: Function, ty: Ty, count: usize) -> Decoded<Op> {
    let mut from = [ZERO; 3];
    for (index, slot) in from.iter_mut().enumerate().take(count) {
        *slot = context.from(index + 1, ty)?;
    }
    Ok(Op::Compute { function, ty, to: context.to(0)?, from })
}

/// A result that is not computed.
fn opaque(context: &Context, ty: Ty, why: Unknown) -> Decoded<Op> {
    let mut to = Vec::new();
    let first = context.operand(0)?;
    match first {
        Operand::Pair(left, right) => {
            to.extend([context.maybe_to(&left.node)?, context.maybe_to(&right.node)?].into_iter().flatten());
        }
        other => to.extend(context.maybe_registers(other)?.into_iter().flatten()),
    }
    let mut from = Vec::new();
    for index in 1..context.count() {
        from.extend(context.sources(context.operand(index)?, ty)?);
    }
    let commutes = matches!(context.tree().opcode.node.as_str(), "add" | "mul" | "min" | "max" | "fma");
    Ok(Op::Opaque { to, from, why, commutes })
}

fn arithmetic(context: &Context, opcode: &str) -> Decoded<Op> {
    let ty = context.ty()?;
    if ty.is_opaque() || approximate(context, opcode) {
        return opaque(context, ty, Unknown::Float);
    }
    let is_float = ty.kind == Kind::Float;
    let wide = context.has("wide");
    let high = context.has("hi");
    let wrap = context.has("wrap");
    let (function, count) = match opcode {
        "add" => (Function::Add, 2),
        "sub" => (Function::Subtract, 2),
        "mul" if is_float => (Function::Multiply, 2),
        "mul" if wide => (Function::MultiplyWide, 2),
        "mul" if high => (Function::MultiplyHigh, 2),
        "mul" => (Function::MultiplyLow, 2),
        "fma" | "mad" if is_float => (Function::FusedMultiplyAdd, 3),
        "mad" if wide => return wide_multiply_add(context, ty),
        "mad" if high => (Function::MultiplyAddHigh, 3),
        "mad" => (Function::MultiplyAddLow, 3),
        "mul24" => (Function::Multiply24, 2),
        "mad24" => (Function::MultiplyAdd24, 3),
        "sad" => (Function::Difference, 3),
        "div" => (Function::Divide, 2),
        "rem" => (Function::Remainder, 2),
        "min" if context.count() == 3 => (Function::Minimum, 2),
        "max" if context.count() == 3 => (Function::Maximum, 2),
        "abs" => (Function::Absolute, 1),
        "neg" => (Function::Negate, 1),
        "and" => (Function::And, 2),
        "or" => (Function::Or, 2),
        "xor" => (Function::Xor, 2),
        "not" => (Function::Not, 1),
        "cnot" => (Function::IsZero, 1),
        "shl" => return shift(context, Function::ShiftLeft, ty),
        "shr" => return shift(context, Function::ShiftRight, ty),
        "shf" if context.has("l") => (Function::FunnelLeft { wrap }, 3),
        "shf" => (Function::FunnelRight { wrap }, 3),
        "selp" => return select(context, ty),
        "slct" => return select_by_sign(context),
        "popc" => (Function::PopulationCount, 1),
        "clz" => (Function::LeadingZeros, 1),
        "brev" => (Function::Reverse, 1),
        "bfind" => (Function::FindHighest { shift_amount: context.has("shiftamt") }, 1),
        "bfe" => return extract(context, ty),
        "bmsk" => (Function::Mask { wrap }, 2),
        "prmt" => return permute(context),
        "fns" => (Function::FindNth, 3),
        "szext" => (Function::SignExtend { wrap, signed: ty.is_signed() }, 2),
        "dp4a" => {
            let signs: Vec<bool> = context.words().filter_map(Ty::of).map(Ty::is_signed).collect();
            let [left_signed, right_signed] = signs[..] else { return Err("two types are expected".to_owned()) };
            (Function::DotProduct4 { left_signed, right_signed }, 3)
        }
        "copysign" | "testp" | "sqrt" | "rcp" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => {
            return opaque(context, ty, Unknown::Float);
        }
        _ => return Err(String::new()),
    };
    compute(context, function, ty, count)
}

fn approximate(context: &Context, opcode: &str) -> bool {
    let words = ["approx", "full", "rz", "rm", "rp", "ftz", "sat", "xorsign", "NaN"];
    let inexact = words.iter().any(|word| context.has(word));
    let float = context.words().filter_map(Ty::of).any(|ty| ty.kind == Kind::Float);
    let three = matches!(opcode, "min" | "max") && context.count() > 3;
    float && (inexact || three)
}

fn shift(context: &Context, function: Function, ty: Ty) -> Decoded<Op> {
    let from = [context.from(1, ty)?, context.from(2, Ty::U32)?, ZERO];
    Ok(Op::Compute { function, ty, to: context.to(0)?, from })
}

fn wide_multiply_add(context: &Context, ty: Ty) -> Decoded<Op> {
    let double = Ty { bits: ty.bits * 2, ..ty };
    let from = [context.from(1, ty)?, context.from(2, ty)?, context.from(3, double)?];
    Ok(Op::Compute { function: Function::MultiplyAddWide, ty, to: context.to(0)?, from })
}

fn select(context: &Context, ty: Ty) -> Decoded<Op> {
    let from = [context.from(1, ty)?, context.from(2, ty)?, context.from(3, Ty::PRED)?];
    Ok(Op::Compute { function: Function::Select, ty, to: context.to(0)?, from })
}

fn select_by_sign(context: &Context) -> Decoded<Op> {
    let ty = context.words().find_map(Ty::of).ok_or("it has no type")?;
    let by = context.ty()?;
    if by.kind == Kind::Float {
        return opaque(context, ty, Unknown::Float);
    }
    let from = [context.from(1, ty)?, context.from(2, ty)?, context.from(3, by)?];
    Ok(Op::Compute { function: Function::SelectBySign, ty, to: context.to(0)?, from })
}

fn extract(context: &Context, ty: Ty) -> Decoded<Op> {
    let from = [context.from(1, ty)?, context.from(2, Ty::U32)?, context.from(3, Ty::U32)?];
    Ok(Op::Compute { function: Function::ExtractField, ty, to: context.to(0)?, from })
}

fn permute(context: &Context) -> Decoded<Op> {
    if context.tree().modifiers.len() > 1 {
        return Err("a mode of prmt".to_owned());
    }
    compute(context, Function::Permute, Ty::U32, 3)
}

fn carry(context: &Context, opcode: &str) -> Decoded<Op> {
    let ty = context.ty()?;
    let (function, count) = match opcode {
        "add" | "addc" => (Carry::Add, 2),
        "sub" | "subc" => (Carry::Subtract, 2),
        "mad" | "madc" if context.has("hi") => (Carry::MultiplyAddHigh, 3),
        "mad" | "madc" => (Carry::MultiplyAddLow, 3),
        _ => return Err(String::new()),
    };
    let mut from = [ZERO; 3];
    for (index, slot) in from.iter_mut().enumerate().take(count) {
        *slot = context.from(index + 1, ty)?;
    }
    let takes = opcode.ends_with('c');
    Ok(Op::AddCarry { function, ty, to: context.to(0)?, from, takes, gives: context.has("cc") })
}

fn moved(context: &Context) -> Decoded<Op> {
    let ty = context.ty()?;
    let (to, from) = (context.operand(0)?, context.operand(1)?);
    if let Operand::Register(name) = from
        && matches!(
            name.as_str(),
            "%clock" | "%clock64" | "%clock_hi" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi"
        )
    {
        return Ok(Op::Clock { to: context.register_of(to)? });
    }
    if ty.bits == 128 {
        return Ok(Op::MoveHalves { to: context.halves_to(to)?, from: context.halves_from(from)? });
    }
    match (to, from) {
        (Operand::Vector(items), from) if !matches!(from, Operand::Vector(_)) => {
            let bits = ty.bits / items.len().max(1) as u8;
            Ok(Op::Unpack { to: context.maybe_registers(to)?, from: context.source(from, ty)?, bits })
        }
        (to, Operand::Vector(items)) if !matches!(to, Operand::Vector(_)) => {
            let bits = ty.bits / items.len().max(1) as u8;
            let part = Ty { kind: Kind::Bits, bits };
            Ok(Op::Pack { to: context.register_of(to)?, from: context.sources(from, part)?, bits })
        }
        (to, from) => {
            let from = [context.source(from, ty)?, ZERO, ZERO];
            Ok(Op::Compute { function: Function::Move, ty, to: context.register_of(to)?, from })
        }
    }
}

fn convert(context: &Context) -> Decoded<Op> {
    let types: Vec<Ty> = context.words().filter_map(Ty::of).collect();
    let [to_ty, from_ty] = types[..] else { return opaque(context, Ty::U32, Unknown::Float) };
    let round = context.words().find_map(|word| match word {
        "rz" => Some(Round::Zero),
        "rm" => Some(Round::Down),
        "rp" => Some(Round::Up),
        "rni" => Some(Round::NearestInteger),
        "rzi" => Some(Round::ZeroInteger),
        "rmi" => Some(Round::DownInteger),
        "rpi" => Some(Round::UpInteger),
        _ => None,
    });
    let float_to_float = to_ty.kind == Kind::Float && from_ty.kind == Kind::Float;
    let inexact = matches!(round, Some(Round::Zero | Round::Down | Round::Up)) || context.has("ftz");
    let is_small = matches!(from_ty.kind, Kind::Half | Kind::Brain);
    let is_float = to_ty.kind == Kind::Float || from_ty.kind == Kind::Float;
    let computed = !to_ty.is_opaque() && from_ty.kind != Kind::Opaque && (!is_small || to_ty.kind == Kind::Float);
    if !computed || (is_float && inexact) || context.count() > 2 {
        return opaque(context, from_ty, Unknown::Float);
    }
    if (float_to_float || is_small) && context.has("sat") {
        return opaque(context, from_ty, Unknown::Float);
    }
    Ok(Op::Convert {
        to: context.to(0)?,
        from: context.from(1, from_ty)?,
        to_ty,
        from_ty,
        saturate: context.has("sat"),
        round: round.unwrap_or(Round::Nearest),
    })
}

fn comparison(context: &Context) -> Decoded<Compare> {
    let found = context.words().find_map(|word| {
        Some(match word {
            "eq" => Compare::Equal,
            "ne" => Compare::NotEqual,
            "lt" | "lo" => Compare::Less,
            "le" | "ls" => Compare::LessEqual,
            "gt" | "hi" => Compare::Greater,
            "ge" | "hs" => Compare::GreaterEqual,
            "equ" => Compare::Unordered(OrderedCompare::Equal),
            "neu" => Compare::Unordered(OrderedCompare::NotEqual),
            "ltu" => Compare::Unordered(OrderedCompare::Less),
            "leu" => Compare::Unordered(OrderedCompare::LessEqual),
            "gtu" => Compare::Unordered(OrderedCompare::Greater),
            "geu" => Compare::Unordered(OrderedCompare::GreaterEqual),
            "num" => Compare::Number,
            "nan" => Compare::NotANumber,
            _ => return None,
        })
    });
    found.ok_or_else(|| "no comparison".to_owned())
}

fn set_predicate(context: &Context) -> Decoded<Op> {
    let ty = context.ty()?;
    if ty.kind == Kind::Opaque {
        return opaque(context, ty, Unknown::Float);
    }
    let combine = context.words().find_map(|word| match word {
        "and" => Some(Combine::And),
        "or" => Some(Combine::Or),
        "xor" => Some(Combine::Xor),
        _ => None,
    });
    let (to, complement) = match context.operand(0)? {
        Operand::Pair(first, second) => (context.maybe_to(&first.node)?, context.maybe_to(&second.node)?),
        other => (context.maybe_to(other)?, None),
    };
    let (mut with, mut with_negated) = (ZERO, false);
    if combine.is_some() {
        let operand = match context.operand(3)? {
            Operand::Negated(inner) => {
                with_negated = true;
                &inner.node
            }
            other => other,
        };
        with = context.source(operand, Ty::PRED)?;
    }
    Ok(Op::SetPredicate {
        compare: comparison(context)?,
        ty,
        combine: combine.unwrap_or(Combine::None),
        to,
        complement,
        left: context.from(1, ty)?,
        right: context.from(2, ty)?,
        with,
        with_negated,
    })
}

fn set(context: &Context) -> Decoded<Op> {
    let types: Vec<Ty> = context.words().filter_map(Ty::of).collect();
    let [to_ty, ty] = types[..] else { return Err("two types are expected".to_owned()) };
    if ty.is_opaque() || to_ty.is_opaque() || context.count() > 3 {
        return opaque(context, ty, Unknown::Float);
    }
    Ok(Op::Set {
        compare: comparison(context)?,
        ty,
        to_ty,
        to: context.to(0)?,
        left: context.from(1, ty)?,
        right: context.from(2, ty)?,
    })
}
