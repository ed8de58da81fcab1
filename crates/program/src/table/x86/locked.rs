//! x86 read-modify-write instructions: atomic under `lock` and for `xchg`, else a plain load and a plain store.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::RegisterId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, FailedCas, LocalValue, Operand, Operation, Update};
use crate::table::x86::flags::{set_flags, set_partial_flags};
use crate::table::x86::opcode::Opcode;
use crate::table::x86::place::{Place, SCOPE, place, read, register, settle, staged, two_memory, width, write};
use crate::tag::{Tag, Tags};
use crate::value::expression::{BinaryOperator, UnaryOperator};
use crate::value::{Type, Value};

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction, opcode: Opcode) -> Result<(), Refusal> {
    match opcode {
        Opcode::Arithmetic(operator) => {
            let [destination, source] = context.operands(tree)?;
            let (destination, source) = (place(context, destination)?, place(context, source)?);
            if matches!((&destination, &source), (Place::Memory(_), Place::Memory(_))) {
                return Err(two_memory(tree));
            }
            let ty = width(context, tree, &[&destination, &source])?;
            let operand = read(context, &source, ty);
            modify(context, tree, destination, Change::Binary(operator, operand), ty)
        }
        Opcode::Step(operator) => {
            let [destination] = context.operands(tree)?;
            let destination = place(context, destination)?;
            let ty = width(context, tree, &[&destination])?;
            modify(context, tree, destination, Change::Binary(operator, Operand::Constant(Value(1))), ty)
        }
        Opcode::Unary(operator) => {
            let [destination] = context.operands(tree)?;
            let destination = place(context, destination)?;
            let ty = width(context, tree, &[&destination])?;
            modify(context, tree, destination, Change::Unary(operator), ty)
        }
        Opcode::Exchange => exchange(context, tree),
        Opcode::ExchangeAdd => exchange_add(context, tree),
        Opcode::CompareExchange => compare_exchange(context, tree),
        _ => Err(Refusal::Unsupported(tree.span(), format!("`{}`", tree.opcode.node))),
    }
}

#[derive(Copy, Clone)]
enum Change {
    Binary(BinaryOperator, Operand),
    Unary(UnaryOperator),
}

impl Change {
    fn of(self, old: Operand) -> LocalValue {
        match self {
            Change::Binary(operator, operand) => LocalValue::Binary(operator, old, operand),
            Change::Unary(operator) => LocalValue::Unary(operator, old),
        }
    }

    /// As an atomic update: `not` is `xor -1`, `neg` is a product with -1.
    fn update(self) -> Update {
        let minus_one = Operand::Constant(Value(-1));
        match self {
            Change::Binary(operator, operand) => Update::Apply(operator, operand),
            Change::Unary(UnaryOperator::Not) => Update::Apply(BinaryOperator::Xor, minus_one),
            Change::Unary(_) => Update::Apply(BinaryOperator::Multiply, minus_one),
        }
    }
}

fn modify(
    context: &mut Context<'_>,
    tree: &Instruction,
    destination: Place,
    change: Change,
    ty: Type,
) -> Result<(), Refusal> {
    let old = match (&tree.prefix, &destination) {
        (Some(_), Place::Memory(address)) => {
            let old = context.thread.temporary(ty);
            atomic(context, Some(old), address.clone(), change.update(), ty);
            Operand::Register(old)
        }
        (Some(prefix), _) => return Err(lock_error(tree, prefix)),
        (None, _) => {
            // The flags compare the old value, which the destination register is about to lose.
            let old = context.thread.temporary(ty);
            let value = LocalValue::Operand(read(context, &destination, ty));
            context.thread.emit(Operation::Local { destination: old, ty, value });
            Operand::Register(old)
        }
    };
    let result = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination: result, ty, value: change.of(old) });
    if tree.prefix.is_none() {
        write(context, &destination, Operand::Register(result), ty, tree)?;
    }
    flags(context, tree, change, old, Operand::Register(result), ty)
}

/// `sub` compares like `cmp`; logic clears carry and overflow, so that its result compares with 0; `not` sets none.
fn flags(
    context: &mut Context<'_>,
    tree: &Instruction,
    change: Change,
    old: Operand,
    result: Operand,
    ty: Type,
) -> Result<(), Refusal> {
    let is_step = tree.operands.len() == 1;
    let of_itself =
        tree.operands.first().map(|operand| &operand.node) == tree.operands.get(1).map(|operand| &operand.node);
    match change {
        Change::Binary(BinaryOperator::Subtract, operand) if !is_step && !of_itself => {
            set_flags(context, ty, LocalValue::Operand(old), operand);
            Ok(())
        }
        Change::Binary(BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor, _) => {
            set_flags(context, ty, LocalValue::Operand(result), Operand::Constant(Value(0)));
            Ok(())
        }
        Change::Unary(UnaryOperator::Not) => Ok(()),
        _ => set_partial_flags(context, ty, result, tree),
    }
}

fn atomic(
    context: &mut Context<'_>,
    destination: Option<RegisterId>,
    address: AddressOperand,
    update: Update,
    ty: Type,
) {
    context.thread.emit(Operation::ReadModifyWrite {
        destination,
        address,
        update,
        ty,
        read_tags: Tags::from_iter([Tag::Read, Tag::Atomic, Tag::X86]),
        write_tags: Tags::from_iter([Tag::Write, Tag::Atomic, Tag::X86]),
        scope: SCOPE,
        assume: None,
    });
}

/// `xchg`: locked with or without the prefix as soon as one operand is memory.
fn exchange(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [left, right] = context.operands(tree)?;
    let (left, right) = (place(context, left)?, place(context, right)?);
    let ty = width(context, tree, &[&left, &right])?;
    match (left, right) {
        (Place::Memory(address), other) | (other, Place::Memory(address)) => {
            let Some((register, _)) = staged(context, &other) else {
                return Err(Refusal::error(tree.span(), "`xchg` takes a register and a register or memory"));
            };
            atomic(context, Some(register), address, Update::Exchange(Operand::Register(register)), ty);
            settle(context, &other, register);
            Ok(())
        }
        (left, right) => {
            if let Some(prefix) = &tree.prefix {
                return Err(lock_error(tree, prefix));
            }
            let (Some((first, _)), Some((second, _))) = (staged(context, &left), staged(context, &right)) else {
                return Err(Refusal::error(tree.span(), "`xchg` takes a register and a register or memory"));
            };
            let kept = context.thread.temporary(ty);
            for (destination, source) in [(kept, first), (first, second), (second, kept)] {
                let value = LocalValue::Operand(Operand::Register(source));
                context.thread.emit(Operation::Local { destination, ty, value });
            }
            settle(context, &left, first);
            settle(context, &right, second);
            Ok(())
        }
    }
}

/// `xadd destination, register`: the register gets the old value, the destination the sum.
fn exchange_add(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [left, right] = context.operands(tree)?;
    let (left, right) = (place(context, left)?, place(context, right)?);
    let ty = width(context, tree, &[&left, &right])?;
    let Some((register, _)) = staged(context, &right) else {
        return Err(Refusal::error(tree.span(), "the second operand of `xadd` is a register"));
    };
    let operand = Operand::Register(register);
    let old = context.thread.temporary(ty);
    let sum = context.thread.temporary(ty);
    match (&tree.prefix, &left) {
        (Some(_), Place::Memory(address)) => {
            let update = Update::Apply(BinaryOperator::Add, operand);
            atomic(context, Some(old), address.clone(), update, ty);
        }
        (Some(prefix), _) => return Err(lock_error(tree, prefix)),
        (None, _) => {
            let value = LocalValue::Operand(read(context, &left, ty));
            context.thread.emit(Operation::Local { destination: old, ty, value });
        }
    }
    let value = LocalValue::Binary(BinaryOperator::Add, Operand::Register(old), operand);
    context.thread.emit(Operation::Local { destination: sum, ty, value });
    let value = LocalValue::Operand(Operand::Register(old));
    context.thread.emit(Operation::Local { destination: register, ty, value });
    settle(context, &right, register);
    if tree.prefix.is_none() {
        write(context, &left, Operand::Register(sum), ty, tree)?;
    }
    set_partial_flags(context, ty, Operand::Register(sum), tree)
}

/// `cmpxchg [m], r`: if the accumulator equals [m], [m] becomes r; the accumulator becomes the old value; ZF says which.
/// The locked form always writes (SDM vol. 2A): the old value where the comparison fails. herd has the operands of AT&T's
/// notation in Intel's order here; the other way round there would be no meaning.
fn compare_exchange(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [left, right] = context.operands(tree)?;
    let (mut left, mut right) = (place(context, left)?, place(context, right)?);
    if !matches!(left, Place::Memory(_)) {
        (left, right) = (right, left);
    }
    let ty = width(context, tree, &[&right])?;
    let (Place::Memory(address), Some((new, _))) = (&left, staged(context, &right)) else {
        return Err(Refusal::Unsupported(tree.span(), "`cmpxchg` without memory".to_string()));
    };
    let name = match ty.bits {
        64 => "RAX",
        32 => "EAX",
        16 => "AX",
        _ => "AL",
    };
    let whole = register(context, name, &tree.operands[0])?;
    if matches!(&whole, Place::Part { .. }) && ty.bits == 32 && context.thread.scan.long.contains("EAX") {
        // Whether the upper half is cleared where the comparison holds is not documented.
        return Err(Refusal::Unsupported(tree.span(), "`cmpxchg` beside several widths of `EAX`".to_string()));
    }
    let Some((accumulator, _)) = staged(context, &whole) else {
        return Err(Refusal::Unsupported(tree.span(), "`cmpxchg` without an accumulator".to_string()));
    };
    let expected = context.thread.temporary(ty);
    let copy = LocalValue::Operand(Operand::Register(accumulator));
    context.thread.emit(Operation::Local { destination: expected, ty, value: copy });
    let (expected, new) = (Operand::Register(expected), Operand::Register(new));
    if tree.prefix.is_some() {
        let update = Update::CompareAndSwap { expected, new, on_failure: FailedCas::WritesOldValue };
        atomic(context, Some(accumulator), address.clone(), update, ty);
    } else {
        let old = read(context, &left, ty);
        let [equal, stored] = [Type::PREDICATE, ty].map(|ty| context.thread.temporary(ty));
        let value = LocalValue::Binary(BinaryOperator::Equal, old, expected);
        context.thread.emit(Operation::Local { destination: equal, ty, value });
        let value = LocalValue::Select { condition: Operand::Register(equal), then: new, otherwise: old };
        context.thread.emit(Operation::Local { destination: stored, ty, value });
        context.thread.emit(Operation::Local { destination: accumulator, ty, value: LocalValue::Operand(old) });
        write(context, &left, Operand::Register(stored), ty, tree)?;
    }
    settle(context, &whole, accumulator);
    set_flags(context, ty, LocalValue::Operand(Operand::Register(accumulator)), expected);
    Ok(())
}

pub(crate) fn lock_error(tree: &Instruction, prefix: &Spanned<ShortText>) -> Refusal {
    let message = format!("`lock` before `{}` raises an exception", tree.opcode.node);
    let help = "`lock` goes before a read-modify-write of memory: add, sub, inc, dec, and, or, xor, not, neg, xadd, cmpxchg, xchg";
    Refusal::Error(Diagnostic::error(prefix.span, message).help(help))
}
