//! The x86 table: the integer instructions litmus tests use, Intel operand order as herd writes them.
//!
//! `xchg` with memory is always locked; every other read-modify-write of memory is atomic only under `lock` (SDM vol. 3,
//! 9.1.2). Flags are the two sides of the last comparison, kept in two registers no text can name: enough for `cmp`/`test`
//! and the conditional jumps after them. One register has one width in a test; mixing `EAX` and `AL` is not modelled.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::ids::RegisterId;
use crate::lower::{Context, Refusal, ThreadBuilder, misfit};
use crate::program::{AddressOperand, CodeIndex, FenceCover, LocalValue, Operand, Operation, Scope};
use crate::table::modifier::{find, spelled};
use crate::table::x86_locked;
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
    Jump,
    JumpIf(Comparison, Signedness),
    Return,
    Nothing,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Signedness {
    Signed,
    Unsigned,
    /// Equality: any flag setter serves, also those whose carry and overflow we do not keep.
    Either,
}

const TABLE: &[(&str, Opcode)] = &[
    ("mov", Opcode::Move),
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
    ("je", Opcode::JumpIf(Comparison::Equal, Signedness::Either)),
    ("jz", Opcode::JumpIf(Comparison::Equal, Signedness::Either)),
    ("jne", Opcode::JumpIf(Comparison::NotEqual, Signedness::Either)),
    ("jnz", Opcode::JumpIf(Comparison::NotEqual, Signedness::Either)),
    ("jl", Opcode::JumpIf(Comparison::Less, Signedness::Signed)),
    ("jle", Opcode::JumpIf(Comparison::LessEqual, Signedness::Signed)),
    ("jg", Opcode::JumpIf(Comparison::Greater, Signedness::Signed)),
    ("jge", Opcode::JumpIf(Comparison::GreaterEqual, Signedness::Signed)),
    ("jb", Opcode::JumpIf(Comparison::Less, Signedness::Unsigned)),
    ("jbe", Opcode::JumpIf(Comparison::LessEqual, Signedness::Unsigned)),
    ("ja", Opcode::JumpIf(Comparison::Greater, Signedness::Unsigned)),
    ("jae", Opcode::JumpIf(Comparison::GreaterEqual, Signedness::Unsigned)),
    ("ret", Opcode::Return),
    ("nop", Opcode::Nothing),
    ("nopw", Opcode::Nothing),
    ("endbr64", Opcode::Nothing),
    ("pause", Opcode::Nothing),
];

/// The families of general registers, widest first; `R8`… are regular and handled apart.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("RAX", "EAX", &["AX", "AL", "AH"]),
    ("RBX", "EBX", &["BX", "BL", "BH"]),
    ("RCX", "ECX", &["CX", "CL", "CH"]),
    ("RDX", "EDX", &["DX", "DL", "DH"]),
    ("RSI", "ESI", &["SI", "SIL"]),
    ("RDI", "EDI", &["DI", "DIL"]),
    ("RBP", "EBP", &["BP", "BPL"]),
    ("RSP", "ESP", &["SP", "SPL"]),
];

/// Beside threads of a GPU, those of the host are seen by all.
pub(crate) const SCOPE: Option<Scope> = Some(Scope::Sys);

pub(crate) const FLAGS_LEFT: &str = "#flags.left";
pub(crate) const FLAGS_RIGHT: &str = "#flags.right";
/// Marks a thread whose flags may come from an instruction whose carry and overflow we do not keep.
const FLAGS_PARTIAL: &str = "#flags.partial";
/// Marks a thread that jumps on more than equality.
const FLAGS_ORDERED: &str = "#flags.ordered";

/// The type of a register by its name; None for partial registers and unknown names.
fn register_type(name: &str) -> Option<Type> {
    let upper = name.trim_start_matches('%').to_ascii_uppercase();
    if FAMILIES.iter().any(|(_, narrow, _)| *narrow == upper) {
        return Some(Type::S32);
    }
    if FAMILIES.iter().any(|(wide, _, _)| *wide == upper) {
        return Some(Type::S64);
    }
    let number = upper.strip_prefix('R')?;
    match number.strip_suffix('D') {
        Some(digits) if is_extended(digits) => Some(Type::S32),
        None if is_extended(number) => Some(Type::S64),
        _ => None,
    }
}

fn is_extended(digits: &str) -> bool {
    digits.parse::<u32>().is_ok_and(|number| (8..=15).contains(&number))
}

/// The one name under which all widths of a register are kept.
pub(crate) fn canonical(name: &str) -> String {
    let upper = name.trim_start_matches('%').to_ascii_uppercase();
    let family = FAMILIES
        .iter()
        .find(|(wide, narrow, parts)| *wide == upper || *narrow == upper || parts.contains(&upper.as_str()));
    match family {
        Some((_, narrow, _)) => (*narrow).to_string(),
        None => upper.strip_suffix('D').unwrap_or(&upper).to_string(),
    }
}

/// A condition may name any width of a register the thread uses.
pub(crate) fn find_register(builder: &ThreadBuilder, name: &str) -> Option<RegisterId> {
    register_type(name)?;
    builder.find(&canonical(name))
}

/// Makes a register that no instruction names, if there is one of this name.
pub(crate) fn touch_register(builder: &mut ThreadBuilder, name: &str) -> bool {
    let ty = register_type(name);
    ty.is_some_and(|ty| {
        builder.register(&canonical(name), ty);
        true
    })
}

/// One operand, resolved.
pub(crate) enum Place {
    Register(RegisterId, Type),
    Memory(AddressOperand),
    Constant(Value),
    Address(Operand),
}

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
        Opcode::Jump | Opcode::JumpIf(..) => {
            no_lock(tree)?;
            jump(context, tree, opcode)?;
        }
        Opcode::Return => context.thread.emit(Operation::Exit),
        Opcode::Nothing => context.thread.emit(Operation::Nothing),
        _ => x86_locked::lower(context, tree, opcode)?,
    }
    Ok(())
}

/// AT&T size suffixes are accepted: `movl`, `addq`.
fn opcode(name: &str) -> Option<Opcode> {
    find(TABLE, name).or_else(|| find(TABLE, name.strip_suffix(['l', 'q'])?))
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

/// Resolves an operand. A bare name is an address only where a register or `[…]` is not meant.
pub(crate) fn place(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Place, Refusal> {
    match &operand.node {
        TreeOperand::Register(name) => {
            let (id, ty) = register(context, name, operand)?;
            Ok(Place::Register(id, ty))
        }
        TreeOperand::Integer(integer) => Ok(Place::Constant(Value(*integer))),
        TreeOperand::Symbol(_) => Ok(Place::Address(context.value(operand)?)),
        TreeOperand::Address(address) => match &address.base.node {
            TreeOperand::Register(name) if address.offset == 0 && address.rest.is_empty() => {
                let (id, _) = register(context, name, &address.base)?;
                Ok(Place::Memory(AddressOperand::Register(id)))
            }
            TreeOperand::Register(_) => Err(Refusal::Unsupported(operand.span, "this address".to_string())),
            _ => Ok(Place::Memory(context.address(operand)?)),
        },
        _ => Err(Refusal::Unsupported(operand.span, "this form of operand".to_string())),
    }
}

fn register(
    context: &mut Context<'_>,
    name: &str,
    operand: &Spanned<TreeOperand>,
) -> Result<(RegisterId, Type), Refusal> {
    let Some(ty) = register_type(name) else {
        return Err(Refusal::Unsupported(operand.span, format!("the register `{name}`")));
    };
    let id = context.thread.register(&canonical(name), ty);
    context.thread.refine(id, ty);
    if context.thread.register_type(id) != ty {
        return Err(Refusal::Unsupported(
            operand.span,
            format!("several widths of the register `{}`", canonical(name)),
        ));
    }
    Ok((id, ty))
}

/// The type of an operation: that of its register, else as its suffix or the location's declaration says, else 32 bits,
/// herd's `int`.
///
/// No assembler takes an immediate that is wider.
pub(crate) fn width(context: &Context<'_>, tree: &Instruction, places: &[&Place]) -> Result<Type, Refusal> {
    let of_register = |place: &&Place| match place {
        Place::Register(_, ty) => Some(*ty),
        _ => None,
    };
    let declared = |place: &&Place| match place {
        Place::Memory(AddressOperand::Static(address)) => context.names.declared_type(*address),
        _ => None,
    };
    let suffix = match (find(TABLE, &tree.opcode.node), tree.opcode.node.as_bytes().last()) {
        (None, Some(b'q')) => Some(Type::S64),
        (None, Some(b'l')) => Some(Type::S32),
        _ => None,
    };
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

/// The operand's value; memory is first loaded (plainly) into a register of our own.
pub(crate) fn read(context: &mut Context<'_>, place: &Place, ty: Type) -> Operand {
    match place {
        Place::Register(id, _) => Operand::Register(*id),
        Place::Constant(value) => Operand::Constant(*value),
        Place::Address(address) => *address,
        Place::Memory(address) => {
            let destination = context.thread.temporary(ty);
            load(context, destination, address.clone(), ty);
            Operand::Register(destination)
        }
    }
}

fn load(context: &mut Context<'_>, destination: RegisterId, address: AddressOperand, ty: Type) {
    let tags = Tags::from_iter([Tag::Read, Tag::X86]);
    context.thread.emit(Operation::Load {
        destination: Some(destination),
        address,
        ty,
        tags,
        scope: SCOPE,
        assume: None,
    });
}

/// Stores plainly, or sets the register.
pub(crate) fn write(
    context: &mut Context<'_>,
    place: &Place,
    value: Operand,
    ty: Type,
    tree: &Instruction,
) -> Result<(), Refusal> {
    match place {
        Place::Register(destination, _) => {
            context.thread.emit(Operation::Local { destination: *destination, ty, value: LocalValue::Operand(value) });
        }
        Place::Memory(address) => {
            let tags = Tags::from_iter([Tag::Write, Tag::X86]);
            context.thread.emit(Operation::Store { address: address.clone(), value, ty, tags, scope: SCOPE });
        }
        Place::Constant(_) | Place::Address(_) => {
            let message = format!("`{}` cannot write to its first operand", tree.opcode.node);
            return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("write `[x]` or a register")));
        }
    }
    Ok(())
}

pub(crate) fn two_memory(tree: &Instruction) -> Refusal {
    Refusal::error(tree.span(), format!("`{}` cannot have two memory operands", tree.opcode.node))
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

/// Remembers what the next conditional jump compares.
pub(crate) fn set_flags(context: &mut Context<'_>, ty: Type, left: LocalValue, right: Operand) {
    let first = context.thread.register(FLAGS_LEFT, ty);
    let second = context.thread.register(FLAGS_RIGHT, ty);
    context.thread.emit(Operation::Local { destination: first, ty, value: left });
    context.thread.emit(Operation::Local { destination: second, ty, value: LocalValue::Operand(right) });
}

/// Flags of an operation that may carry or overflow: only "zero or not" is kept.
pub(crate) fn set_partial_flags(
    context: &mut Context<'_>,
    ty: Type,
    result: Operand,
    tree: &Instruction,
) -> Result<(), Refusal> {
    context.thread.register(FLAGS_PARTIAL, ty);
    set_flags(context, ty, LocalValue::Operand(result), Operand::Constant(Value(0)));
    refuse_partial_order(context, tree)
}

fn refuse_partial_order(context: &Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let both = context.thread.find(FLAGS_PARTIAL).and(context.thread.find(FLAGS_ORDERED));
    match both {
        None => Ok(()),
        Some(_) => {
            Err(Refusal::Unsupported(tree.span(), "an ordered jump beside flags of add, inc, dec or neg".to_string()))
        }
    }
}

fn jump(context: &mut Context<'_>, tree: &Instruction, opcode: Opcode) -> Result<(), Refusal> {
    let [label] = context.operands(tree)?;
    let TreeOperand::Symbol(name) = &label.node else {
        return Err(Refusal::error(label.span, "a jump needs a label"));
    };
    let (target, label) = (CodeIndex(0), Spanned::new(name.clone(), label.span));
    let Opcode::JumpIf(comparison, signedness) = opcode else {
        context.thread.emit_jump(Operation::Branch { target }, label);
        return Ok(());
    };
    let left = context.thread.register(FLAGS_LEFT, Type::S32);
    let right = context.thread.register(FLAGS_RIGHT, Type::S32);
    if signedness != Signedness::Either {
        context.thread.register(FLAGS_ORDERED, Type::S32);
        refuse_partial_order(context, tree)?;
    }
    let bits = context.thread.register_type(left).bits;
    let ty = Type { bits, signed: signedness != Signedness::Unsigned };
    let (left, right) = (Operand::Register(left), Operand::Register(right));
    context.thread.emit_jump(Operation::BranchIf { comparison, ty, left, right, target }, label);
    Ok(())
}
