//! The x86 table: the integer instructions litmus tests use, Intel operand order as herd writes them.
//!
//! `xchg` with memory is always locked; every other read-modify-write of memory is atomic only under `lock` (SDM vol. 3,
//! 9.1.2). Operands are in [`x86_place`](crate::table::x86_place), conditions in [`x86_flags`](crate::table::x86_flags).

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::lower::{Context, Refusal, misfit};
use crate::program::{AddressOperand, FenceCover, LocalValue, Operand, Operation, Scope};
use crate::table::modifier::{find, spelled};
use crate::table::ptx_address::temporary;
use crate::table::x86_flags::{self, Code, set_flags};
use crate::table::x86_locked;
use crate::table::x86_place::{Place, load, place, read, write};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Move,
    Fence(Tag),
    Exchange,
    /// `op destination, source`.
    Arithmetic(BinaryOperator),
    /// `inc`, `dec`: a fixed second operand of 1.
    Step(BinaryOperator),
    Unary(UnaryOperator),
    ExchangeAdd,
    CompareExchange,
    Compare,
    Test,
    /// The operator, and how it reads what it shifts.
    Shift(BinaryOperator, Reading),
    /// `movzbl`, `movswq`: from so many bits.
    Extend(u8, Reading),
    /// `lea`.
    LoadAddress,
    Jump,
    JumpIf(Code),
    SetIf(Code),
    MoveIf(Code),
    Return,
    Nothing,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Signed,
    Unsigned,
}

const TABLE: &[(&str, Opcode)] = &[
    ("mov", Opcode::Move),
    ("movabs", Opcode::Move),
    ("lea", Opcode::LoadAddress),
    ("shl", Opcode::Shift(BinaryOperator::ShiftLeft, Reading::Unsigned)),
    ("sal", Opcode::Shift(BinaryOperator::ShiftLeft, Reading::Unsigned)),
    ("shr", Opcode::Shift(BinaryOperator::ShiftRight, Reading::Unsigned)),
    ("sar", Opcode::Shift(BinaryOperator::ShiftRight, Reading::Signed)),
    ("movzbw", Opcode::Extend(8, Reading::Unsigned)),
    ("movzbl", Opcode::Extend(8, Reading::Unsigned)),
    ("movzbq", Opcode::Extend(8, Reading::Unsigned)),
    ("movzwl", Opcode::Extend(16, Reading::Unsigned)),
    ("movzwq", Opcode::Extend(16, Reading::Unsigned)),
    ("movsbw", Opcode::Extend(8, Reading::Signed)),
    ("movsbl", Opcode::Extend(8, Reading::Signed)),
    ("movsbq", Opcode::Extend(8, Reading::Signed)),
    ("movswl", Opcode::Extend(16, Reading::Signed)),
    ("movswq", Opcode::Extend(16, Reading::Signed)),
    ("movslq", Opcode::Extend(32, Reading::Signed)),
    ("mfence", Opcode::Fence(Tag::Mfence)),
    ("sfence", Opcode::Fence(Tag::Sfence)),
    ("lfence", Opcode::Fence(Tag::Lfence)),
    ("xchg", Opcode::Exchange),
    ("add", Opcode::Arithmetic(BinaryOperator::Add)),
    ("sub", Opcode::Arithmetic(BinaryOperator::Subtract)),
    ("and", Opcode::Arithmetic(BinaryOperator::And)),
    ("or", Opcode::Arithmetic(BinaryOperator::Or)),
    ("xor", Opcode::Arithmetic(BinaryOperator::Xor)),
    ("inc", Opcode::Step(BinaryOperator::Add)),
    ("dec", Opcode::Step(BinaryOperator::Subtract)),
    ("not", Opcode::Unary(UnaryOperator::Not)),
    ("neg", Opcode::Unary(UnaryOperator::Negate)),
    ("xadd", Opcode::ExchangeAdd),
    ("cmpxchg", Opcode::CompareExchange),
    ("cmp", Opcode::Compare),
    ("test", Opcode::Test),
    ("jmp", Opcode::Jump),
    ("ret", Opcode::Return),
    ("nop", Opcode::Nothing),
    ("nopw", Opcode::Nothing),
    ("nopl", Opcode::Nothing),
    ("endbr64", Opcode::Nothing),
    ("pause", Opcode::Nothing),
];

/// Beside threads of a GPU, those of the host are seen by all.
pub(crate) const SCOPE: Option<Scope> = Some(Scope::Sys);

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let Some(opcode) = opcode(&tree.opcode.node) else {
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
                Opcode::JumpIf(code) => x86_flags::jump(context, tree, Some(code))?,
                Opcode::SetIf(code) => x86_flags::set(context, tree, code)?,
                Opcode::MoveIf(code) => x86_flags::conditional_move(context, tree, code)?,
                _ => x86_flags::jump(context, tree, None)?,
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
        _ => x86_locked::lower(context, tree, opcode)?,
    }
    Ok(())
}

/// AT&T size suffixes are accepted: `movl`, `addq`.
fn opcode(name: &str) -> Option<Opcode> {
    let plain = || name.strip_suffix(['b', 'w', 'l', 'q']);
    let moves = |name: &str| name.strip_prefix("cmov").and_then(x86_flags::code).map(Opcode::MoveIf);
    find(TABLE, name)
        .or_else(|| name.strip_prefix('j').and_then(x86_flags::code).map(Opcode::JumpIf))
        .or_else(|| name.strip_prefix("set").and_then(x86_flags::code).map(Opcode::SetIf))
        .or_else(|| moves(name).or_else(|| moves(plain()?)))
        .or_else(|| find(TABLE, plain()?))
}

/// The width that the mnemonic says.
pub(crate) fn suffix(name: &str) -> Option<Type> {
    let is_whole = find(TABLE, name).is_some()
        || ["j", "set", "cmov"].iter().any(|head| name.strip_prefix(head).and_then(x86_flags::code).is_some());
    let bits = match name.as_bytes().last() {
        Some(b'q') => 64,
        Some(b'l') => 32,
        Some(b'w') => 16,
        Some(b'b') => 8,
        _ => return None,
    };
    (!is_whole).then_some(Type { bits, signed: true })
}

fn no_lock(tree: &Instruction) -> Result<(), Refusal> {
    match &tree.prefix {
        None => Ok(()),
        Some(prefix) => Err(lock_error(tree, prefix)),
    }
}

pub(crate) fn lock_error(tree: &Instruction, prefix: &Spanned<String>) -> Refusal {
    let message = format!("`lock` before `{}` raises an exception", tree.opcode.node);
    let help = "`lock` goes before a read-modify-write of memory: add, sub, inc, dec, and, or, xor, not, neg, xadd, cmpxchg, xchg";
    Refusal::Error(Diagnostic::error(prefix.span, message).help(help))
}

/// The type of an operation: that of its register, else as its suffix or the location's declaration says, else 32 bits,
/// herd's `int`.
///
/// No assembler takes an immediate that is wider.
pub(crate) fn width(context: &Context<'_>, tree: &Instruction, places: &[&Place]) -> Result<Type, Refusal> {
    let of_register = |place: &&Place| match place {
        Place::Register(_, ty) | Place::Part { ty, .. } => Some(*ty),
        _ => None,
    };
    let declared = |place: &&Place| match place {
        Place::Memory(AddressOperand::Static(address)) => context.names.declared_type(*address),
        _ => None,
    };
    let suffix = suffix(&tree.opcode.node);
    let symbolic =
        |operand: &Spanned<TreeOperand>| matches!(&operand.node, TreeOperand::Register(name) if name.starts_with('%'));
    if let (Some(suffix), Some(operand)) = (suffix, tree.operands.iter().find(|operand| symbolic(operand)))
        && suffix.bits != 64
    {
        let what = format!("a symbolic register of {} bits", suffix.bits);
        return Err(Refusal::Unsupported(operand.span, what));
    }
    let ty = places.iter().find_map(of_register).or(suffix).or(places.iter().find_map(declared)).unwrap_or(Type::S32);
    for operand in &tree.operands {
        if let TreeOperand::Integer(integer) = operand.node
            && !ty.fits(Value(integer))
        {
            return Err(Refusal::Error(misfit(&integer.to_string(), ty, &tree.opcode.node, operand.span)));
        }
    }
    Ok(ty)
}

pub(crate) fn two_memory(tree: &Instruction) -> Refusal {
    Refusal::error(tree.span(), format!("`{}` cannot have two memory operands", tree.opcode.node))
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
        Operand::Constant(_) => x86_flags::set_partial_flags(context, ty, result, tree),
        count => x86_flags::set_flags_unless_zero(context, tree, (ty, result), count),
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
