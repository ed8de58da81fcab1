//! The x86 table: the integer instructions litmus tests use, Intel operand order as herd writes them.
//!
//! `xchg` with memory is always locked; every other read-modify-write of memory is atomic only under `lock` (SDM vol. 3,
//! 9.1.2). Operands are in [`place`], conditions in [`flags`].

mod flags;
mod locked;
mod opcode;
pub(crate) mod place;

use fencepost_syntax::Diagnostic;
use fencepost_syntax::instruction::Instruction;

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, FenceCover, LocalValue, Operand, Operation};
use crate::table::compute::temporary;
use crate::table::modifier::spelled;
use crate::table::x86::flags::set_flags;
use crate::table::x86::locked::lock_error;
use crate::table::x86::opcode::{Opcode, Reading, opcode};
use crate::table::x86::place::{Place, SCOPE, load, place, read, two_memory, width, write};
use crate::tag::{Tag, Tags};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let Some(opcode) = opcode(&tree.opcode.node) else {
        if crate::table::ptx::is_persistency(&tree.opcode.node) {
            let message = format!("`{}` is an operation of GPU threads", tree.opcode.node);
            let error = Diagnostic::error(tree.span(), message).label("not x86");
            return Err(Refusal::Error(error.help("no model here orders the persists of x86 threads")));
        }
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    };
    if let Some(prefix) = &tree.prefix
        && prefix.node != "lock"
    {
        return Err(Refusal::Unsupported(prefix.span, format!("the prefix `{}`", prefix.node)));
    }
    if !tree.modifiers.is_empty() {
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    }
    match opcode {
        Opcode::Fence(tag) => {
            let [] = context.operands(tree)?;
            no_lock(tree)?;
            context.thread.emit(Operation::Fence {
                tags: Tags::from_iter([Tag::Fence, tag, Tag::X86]),
                scope: SCOPE,
                cover: FenceCover::EVERYTHING,
            });
        }
        Opcode::Move => {
            no_lock(tree)?;
            movement(context, tree)?;
        }
        Opcode::Compare | Opcode::Test => {
            no_lock(tree)?;
            compare(context, tree, opcode)?;
        }
        Opcode::Jump | Opcode::JumpIf(_) | Opcode::SetIf(_) | Opcode::MoveIf(_) => {
            no_lock(tree)?;
            match opcode {
                Opcode::JumpIf(code) => flags::jump(context, tree, Some(code))?,
                Opcode::SetIf(code) => flags::set(context, tree, code)?,
                Opcode::MoveIf(code) => flags::conditional_move(context, tree, code)?,
                _ => flags::jump(context, tree, None)?,
            }
        }
        Opcode::Shift(operator, reading) => {
            no_lock(tree)?;
            shift(context, tree, operator, reading)?;
        }
        Opcode::Extend(bits, reading) => {
            no_lock(tree)?;
            extend(context, tree, Type { bits, signed: reading == Reading::Signed })?;
        }
        Opcode::LoadAddress => {
            no_lock(tree)?;
            load_address(context, tree)?;
        }
        Opcode::Return => context.thread.emit(Operation::Exit),
        Opcode::Nothing => context.thread.emit(Operation::Nothing),
        _ => locked::lower(context, tree, opcode)?,
    }
    Ok(())
}

fn no_lock(tree: &Instruction) -> Result<(), Refusal> {
    match &tree.prefix {
        None => Ok(()),
        Some(prefix) => Err(lock_error(tree, prefix)),
    }
}

/// `shl`, `shr`, `sar`: by 1, by a constant or by `cl`, of which the low five bits count (six for 64 bits).
fn shift(
    context: &mut Context<'_>,
    tree: &Instruction,
    operator: BinaryOperator,
    reading: Reading,
) -> Result<(), Refusal> {
    let (target, count) = match tree.operands.as_slice() {
        [target] => (target, None),
        [target, count] => (target, Some(count)),
        _ => return Err(Refusal::error(tree.span(), format!("`{}` takes 1 or 2 operands", tree.opcode.node))),
    };
    let target = place(context, target)?;
    let ty = width(context, tree, &[&target])?;
    let mask = if ty.bits == 64 { 63 } else { 31 };
    let count = match count.map(|count| place(context, count)).transpose()? {
        None => Operand::Constant(Value(1)),
        Some(Place::Constant(Value(count))) => Operand::Constant(Value(count & mask)),
        Some(count @ (Place::Register(_, Type { bits: 8, .. }) | Place::Part { ty: Type { bits: 8, .. }, .. })) => {
            let byte = Type { bits: 8, signed: false };
            let count = read(context, &count, byte);
            Operand::Register(temporary(
                context,
                byte,
                LocalValue::Binary(BinaryOperator::And, count, Operand::Constant(Value(mask))),
            ))
        }
        Some(_) => {
            return Err(Refusal::error(tree.span(), format!("`{}` counts with a constant or `cl`", tree.opcode.node)));
        }
    };
    let old = read(context, &target, ty);
    let read_as = Type { signed: reading == Reading::Signed, ..ty };
    let result = temporary(context, read_as, LocalValue::Binary(operator, old, count));
    write(context, &target, Operand::Register(result), ty, tree)?;
    let result = Operand::Register(result);
    match count {
        // A count of 0 leaves the flags.
        Operand::Constant(Value(0)) => Ok(()),
        Operand::Constant(_) => flags::set_partial_flags(context, ty, result, tree),
        count => flags::set_flags_unless_zero(context, tree, (ty, result), count),
    }
}

fn extend(context: &mut Context<'_>, tree: &Instruction, from: Type) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let (destination, source) = (place(context, destination)?, place(context, source)?);
    let (Place::Register(_, ty) | Place::Part { ty, .. }) = &destination else {
        return Err(Refusal::error(tree.span(), format!("`{}` writes a register", tree.opcode.node)));
    };
    if matches!(&source, Place::Register(_, ty) | Place::Part { ty, .. } if ty.bits != from.bits) {
        return Err(Refusal::error(tree.span(), format!("`{}` reads {} bits", tree.opcode.node, from.bits)));
    }
    let ty = *ty;
    let value = read(context, &source, from);
    let value = Operand::Register(temporary(context, from, LocalValue::Operand(value)));
    write(context, &destination, value, ty, tree)
}

fn load_address(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let (destination, source) = (place(context, destination)?, place(context, source)?);
    let value = match source {
        Place::Memory(AddressOperand::Static(address)) => Operand::Address(address),
        Place::Memory(AddressOperand::Register(register)) => Operand::Register(register),
        _ => return Err(Refusal::error(tree.span(), "`lea` takes the address of memory")),
    };
    let (Place::Register(_, ty) | Place::Part { ty, .. }) = &destination else {
        return Err(Refusal::error(tree.span(), "`lea` writes a register"));
    };
    let ty = *ty;
    write(context, &destination, value, ty, tree)
}

fn movement(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [destination, source] = context.operands(tree)?;
    let (destination, source) = (place(context, destination)?, place(context, source)?);
    let ty = width(context, tree, &[&destination, &source])?;
    match (&destination, source) {
        (Place::Memory(_), Place::Memory(_)) => Err(two_memory(tree)),
        // Straight into the register: no temporary, so that dependencies and names stay those of the text.
        (Place::Register(id, _), Place::Memory(address)) => {
            load(context, *id, address, ty);
            Ok(())
        }
        (_, source) => {
            let value = read(context, &source, ty);
            write(context, &destination, value, ty, tree)
        }
    }
}

/// `cmp` compares its operands; `test` compares their `and` with 0.
fn compare(context: &mut Context<'_>, tree: &Instruction, opcode: Opcode) -> Result<(), Refusal> {
    let [left, right] = context.operands(tree)?;
    let (left, right) = (place(context, left)?, place(context, right)?);
    if matches!((&left, &right), (Place::Memory(_), Place::Memory(_))) {
        return Err(two_memory(tree));
    }
    let ty = width(context, tree, &[&left, &right])?;
    let (left, right) = (read(context, &left, ty), read(context, &right, ty));
    if opcode == Opcode::Compare {
        set_flags(context, ty, LocalValue::Operand(left), right);
    } else {
        set_flags(context, ty, LocalValue::Binary(BinaryOperator::And, left, right), Operand::Constant(Value(0)));
    }
    Ok(())
}
