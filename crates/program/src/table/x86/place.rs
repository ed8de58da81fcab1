//! Operands of x86: registers in every width, memory, constants.
//!
//! A register that a thread and the conditions about it name in one width is a register of that width. One of several
//! widths is kept whole, in 64 bits: a part is read out of it, and a write of 32 bits clears the upper half, one of 8 or 16
//! bits leaves the others (SDM vol. 1, 3.4.1.1). A part that a condition names is read out of it where the thread ends.

use std::borrow::Cow;
use std::sync::Arc;

use fencepost_syntax::few::Few;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::RegisterId;
use crate::lower::builder::{Scan, ThreadBuilder};
use crate::lower::context::Context;
use crate::lower::findings::{Refusal, misfit};
use crate::program::{AddressOperand, LocalValue, Operand, Operation, Scope};
use crate::table::compute::{binary, constant, temporary};
use crate::table::x86::opcode::suffix;
use crate::tag::{Tag, Tags};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

/// The families of general registers, in 64 and in 32 bits; `R8`… are regular and handled apart.
const FAMILIES: [(&str, &str); 8] = [
    ("RAX", "EAX"),
    ("RBX", "EBX"),
    ("RCX", "ECX"),
    ("RDX", "EDX"),
    ("RSI", "ESI"),
    ("RDI", "EDI"),
    ("RBP", "EBP"),
    ("RSP", "ESP"),
];

/// One operand, resolved.
#[derive(Clone)]
pub(crate) enum Place {
    Register(RegisterId, Type),
    /// Bits of a register that is kept whole, from `shift` on.
    Part {
        whole: RegisterId,
        ty: Type,
        shift: i128,
    },
    Memory(AddressOperand),
    Constant(Value),
    Address(Operand),
}

/// The heads of instructions that leave the flags alone.
const KEEP_FLAGS: [&str; 12] =
    ["mov", "cmov", "set", "j", "xchg", "lea", "nop", "not", "ret", "endbr64", "pause", "mfence"];

/// `given` are the first values of registers, by their common names: one that a part cannot hold is the whole's. `asked`
/// are the names in conditions.
pub(crate) fn scan(body: &[Statement], given: &SortedMap<String, Value>, asked: SortedSet<Arc<str>>) -> Scan {
    let mut found = Scan { asked, ..Scan::default() };
    let mut widths: SortedMap<Cow<'_, str>, Widths> = SortedMap::new();
    let has_one_width = given.is_empty() && names_one_width(body, &found.asked);
    let mut flags = SortedSet::new();
    for statement in body {
        let Statement::Instruction { instruction, .. } = statement else { continue };
        let opcode = &instruction.opcode.node;
        found.asks_sign |= ["j", "set", "cmov"].iter().any(|head| {
            let code = opcode.starts_with(head).then(|| &opcode[head.len()..]);
            code.is_some_and(|code| ["s", "ns"].contains(&code.trim_end_matches(['l', 'q', 'w'])))
        });
        if !KEEP_FLAGS.iter().any(|head| opcode.starts_with(head)) {
            let direct = instruction.operands.iter().find_map(|operand| register_type(register_name(&operand.node)?));
            flags.insert(direct.or(suffix(opcode)).map(|ty| ty.bits));
        }
        for operand in instruction.operands.iter().filter(|_| !has_one_width) {
            note(&mut widths, opcode, &operand.node);
            if let TreeOperand::Address(address) = &operand.node {
                note(&mut widths, opcode, &address.base.node);
                address.rest.iter().for_each(|item| note(&mut widths, opcode, &item.node));
            }
        }
    }
    found.flags = flags.first().copied().flatten().filter(|_| flags.len() == 1);
    if has_one_width {
        return found;
    }
    let is_long = |name: &str, widths: &Widths| {
        let low = Type { bits: 32, signed: false };
        widths.contains(&(64, 0)) || given.get(name).is_some_and(|value| low.wrap(*value) != *value)
    };
    found.long =
        widths.iter().filter(|(name, widths)| is_long(name, widths)).map(|(name, _)| name.to_string()).collect();
    for name in &found.asked {
        if let (Some(ty), Some(widths)) = (register_type(name), widths.get_mut(&*canonical(name))) {
            add_width(widths, (ty.bits, shift(name)));
        }
    }
    let is_mixed = |name: &str, widths: &Widths| {
        let wider = |bits: u8| {
            let part = Type { bits, signed: true };
            bits < 32 && given.get(name).is_some_and(|value| !part.fits(*value))
        };
        widths.len() > 1 || widths.iter().any(|(bits, shift)| *shift > 0 || wider(*bits))
    };
    let mixed = widths.into_iter().filter(|(name, widths)| is_mixed(name, widths));
    found.mixed = mixed.map(|(name, _)| name.into_owned()).collect();
    found
}

/// Whether all registers that are named have 32 bits, as in most tests: then none has several widths, and none is long.
fn names_one_width(body: &[Statement], asked: &SortedSet<Arc<str>>) -> bool {
    let is_usual = |name: &str| matches!(known(name), Some((_, 32, 0)));
    let is_usual_operand = |operand: &TreeOperand| register_name(operand).is_none_or(is_usual);
    let is_usual_instruction = |instruction: &Instruction| {
        instruction.operands.iter().all(|operand| match &operand.node {
            TreeOperand::Address(address) => {
                is_usual_operand(&address.base.node) && address.rest.iter().all(|item| is_usual_operand(&item.node))
            }
            other => is_usual_operand(other),
        })
    };
    asked.iter().all(|name| is_usual(name))
        && body.iter().all(|statement| match statement {
            Statement::Instruction { instruction, .. } => is_usual_instruction(instruction),
            Statement::Label(_) | Statement::C(_) => true,
        })
}

/// The widths in which a register is named, and where its bits begin: each once.
type Widths = Few<(u8, i128), 2>;

fn add_width(widths: &mut Widths, width: (u8, i128)) {
    if !widths.contains(&width) {
        widths.push(width);
    }
}

/// The width in which an operand names a register.
fn note<'t>(widths: &mut SortedMap<Cow<'t, str>, Widths>, opcode: &str, operand: &'t TreeOperand) {
    let Some(name) = register_name(operand) else { return };
    let Some(ty) = register_type(name) else { return };
    add_width(widths.entry(canonical(name)).or_default(), (ty.bits, shift(name)));
    // The accumulator is as wide as the new value.
    if opcode.starts_with("cmpxchg") {
        add_width(widths.entry(Cow::Borrowed("EAX")).or_default(), (ty.bits, 0));
    }
}

fn register_name(operand: &TreeOperand) -> Option<&str> {
    if let TreeOperand::Register(name) = operand { Some(name) } else { None }
}

/// A general register that is none of `R8`…: its place among [`FAMILIES`], its bits, and where they begin.
fn known(name: &str) -> Option<(usize, u8, i128)> {
    let upper = |letter: &u8| letter.to_ascii_uppercase();
    match name.as_bytes() {
        [one, two, three] => match (upper(one), [upper(two), upper(three)]) {
            (b'R', rest) => family(rest).map(|at| (at, 64, 0)),
            (b'E', rest) => family(rest).map(|at| (at, 32, 0)),
            (one, [two, b'L']) => family([one, two]).filter(|at| *at >= 4).map(|at| (at, 8, 0)),
            _ => None,
        },
        [one, two] => match [upper(one), upper(two)] {
            [first @ b'A'..=b'D', b'L'] => Some((usize::from(first - b'A'), 8, 0)),
            [first @ b'A'..=b'D', b'H'] => Some((usize::from(first - b'A'), 8, 8)),
            both => family(both).map(|at| (at, 16, 0)),
        },
        _ => None,
    }
}

/// The place of a family among [`FAMILIES`] by the letters that its registers share.
fn family(letters: [u8; 2]) -> Option<usize> {
    Some(match &letters {
        [first @ b'A'..=b'D', b'X'] => usize::from(first - b'A'),
        b"SI" => 4,
        b"DI" => 5,
        b"BP" => 6,
        b"SP" => 7,
        _ => return None,
    })
}

/// The type of a register by its name; herd's symbolic registers have 64 bits. None for unknown names.
pub(crate) fn register_type(name: &str) -> Option<Type> {
    let of = |bits| Some(Type { bits, signed: true });
    let plain = name.trim_start_matches('%');
    if let Some((_, bits, _)) = known(plain) {
        return of(bits);
    }
    let number = plain.strip_prefix(['R', 'r']).unwrap_or_default();
    let suffixed = [(['D', 'd'], 32), (['W', 'w'], 16), (['B', 'b'], 8)];
    let suffixed = suffixed.into_iter().find(|(suffix, _)| number.strip_suffix(*suffix).is_some_and(is_extended));
    match suffixed {
        Some((_, bits)) => of(bits),
        None if is_extended(number) || is_symbolic(name) => of(64),
        None => None,
    }
}

/// Where the bits of `AH` and its like begin.
pub(crate) fn shift(name: &str) -> i128 {
    known(name).map_or(0, |(_, _, shift)| shift)
}

fn is_extended(digits: &str) -> bool {
    digits.parse::<u32>().is_ok_and(|number| (8..=15).contains(&number))
}

/// Of registers the parser knows all; one with its `%` is herd's `%x`.
fn is_symbolic(name: &str) -> bool {
    name.starts_with('%')
}

/// The one name under which all widths of a register are kept.
pub(crate) fn canonical(name: &str) -> Cow<'_, str> {
    if is_symbolic(name) {
        return Cow::Borrowed(name);
    }
    if let Some((_, narrow)) = known(name).and_then(|(at, ..)| FAMILIES.get(at)) {
        return Cow::Borrowed(narrow);
    }
    let plain = name.strip_suffix(['D', 'W', 'B', 'd', 'w', 'b']).unwrap_or(name);
    let plain = if plain.strip_prefix(['R', 'r']).is_some_and(is_extended) { plain } else { name };
    match plain.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Owned(plain.to_ascii_uppercase()),
        false => Cow::Borrowed(plain),
    }
}

/// A condition may name any width of a register the thread uses.
pub(crate) fn find_register(builder: &ThreadBuilder, name: &str) -> Option<RegisterId> {
    register_type(name)?;
    // Only parts of registers that are kept whole have names of their own.
    let view = if builder.scan.mixed.is_empty() { None } else { builder.find(&view_name(name)) };
    view.or_else(|| builder.find(&canonical(name)))
}

/// The name of the whole, from the one it is kept under.
fn wide(canonical: &str) -> String {
    let family = FAMILIES.iter().find(|(_, narrow)| *narrow == canonical);
    family.map_or(canonical, |(wide, _)| wide).to_string()
}

/// Under which a part of a whole register is kept at the end of its thread: no text can name it.
fn view_name(name: &str) -> String {
    format!("#{}", name.to_ascii_uppercase())
}

/// The parts of whole registers that conditions name, read where the thread ends; the whole goes by its own name.
pub(crate) fn view_parts(builder: &mut ThreadBuilder) {
    if builder.scan.mixed.is_empty() {
        return;
    }
    let scan = builder.scan.clone();
    let asked = scan.asked.iter().filter(|name| scan.mixed.contains(&*canonical(name)));
    let mut views: Vec<(RegisterId, Type, RegisterId, i128)> = Vec::new();
    for name in asked {
        let (Some(ty), Some(whole)) = (register_type(name), builder.find(&canonical(name))) else { continue };
        builder.rename(whole, wide(&canonical(name)));
        if ty.bits < 64 {
            let view = builder.register(&view_name(name), ty);
            builder.rename(view, name.to_ascii_uppercase());
            views.push((view, ty, whole, shift(name)));
        }
    }
    if !views.is_empty() {
        builder.end_here();
    }
    for (destination, ty, mut whole, shift) in views {
        if shift > 0 {
            let value = LocalValue::Binary(BinaryOperator::ShiftRight, Operand::Register(whole), constant(shift));
            whole = builder.temporary(Type::U64);
            builder.emit(Operation::Local { destination: whole, ty: Type::U64, value });
        }
        builder.emit(Operation::Local { destination, ty, value: LocalValue::Operand(Operand::Register(whole)) });
    }
}

/// Makes a register that no instruction names, if there is one of this name.
pub(crate) fn touch_register(builder: &mut ThreadBuilder, name: &str) -> bool {
    let ty = register_type(name);
    ty.is_some_and(|ty| {
        builder.register(&canonical(name), ty);
        true
    })
}

/// Resolves an operand. A bare name is an address only where a register or `[…]` is not meant.
pub(crate) fn place(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Place, Refusal> {
    match &operand.node {
        TreeOperand::Register(name) => register(context, name, operand),
        TreeOperand::Integer(integer) => Ok(Place::Constant(Value(*integer))),
        TreeOperand::Symbol(_) => Ok(Place::Address(context.value(operand)?)),
        TreeOperand::Address(address) => {
            let base = match &address.base.node {
                TreeOperand::Register(name) => {
                    let base = register(context, name, &address.base)?;
                    read_register(context, &base)
                }
                _ if address.rest.is_empty() => return Ok(Place::Memory(context.address(operand)?)),
                TreeOperand::Symbol(_) => context.value(&address.base)?,
                _ => return Err(Refusal::Unsupported(operand.span, "this address".to_string())),
            };
            let sum = moved(context, operand, base)?;
            match sum {
                Operand::Register(register) => Ok(Place::Memory(AddressOperand::Register(register))),
                _ => Err(Refusal::Unsupported(operand.span, "this address".to_string())),
            }
        }
        _ => Err(Refusal::Unsupported(operand.span, "this form of operand".to_string())),
    }
}

/// `base + index * scale + offset`.
fn moved(context: &mut Context<'_>, operand: &Spanned<TreeOperand>, base: Operand) -> Result<Operand, Refusal> {
    let TreeOperand::Address(address) = &operand.node else { return Ok(base) };
    let mut sum = base;
    if let [index, scale] = address.rest.as_slice() {
        let TreeOperand::Integer(factor @ (1 | 2 | 4 | 8)) = scale.node else {
            let error = Diagnostic::error(scale.span, "an index is multiplied with 1, 2, 4 or 8");
            return Err(Refusal::Error(error.label("no scale")));
        };
        let Some(name) = register_name(&index.node) else {
            return Err(Refusal::error(index.span, "an index is a register"));
        };
        let index = register(context, name, index)?;
        let index = read_register(context, &index);
        let index = binary(context, BinaryOperator::Multiply, Type::U64, index, constant(factor));
        sum = binary(context, BinaryOperator::Add, Type::U64, sum, index);
    }
    if address.offset != 0 {
        sum = binary(context, BinaryOperator::Add, Type::U64, sum, constant(address.offset));
    }
    Ok(sum)
}

pub(crate) fn register(
    context: &mut Context<'_>,
    name: &str,
    operand: &Spanned<TreeOperand>,
) -> Result<Place, Refusal> {
    let Some(ty) = register_type(name) else {
        return Err(Refusal::Unsupported(operand.span, format!("the register `{name}`")));
    };
    let family = canonical(name);
    if context.thread.scan.mixed.contains(&*family) {
        let whole = context.thread.register(&family, Type::S64);
        context.thread.refine(whole, Type::S64);
        return Ok(Place::Part { whole, ty, shift: shift(name) });
    }
    let id = context.thread.register(&family, ty);
    context.thread.refine(id, ty);
    if context.thread.register_type(id) != ty {
        return Err(Refusal::Unsupported(operand.span, format!("several widths of the register `{family}`")));
    }
    Ok(Place::Register(id, ty))
}

fn read_register(context: &mut Context<'_>, place: &Place) -> Operand {
    let ty = match place {
        Place::Register(_, ty) | Place::Part { ty, .. } => *ty,
        _ => Type::S64,
    };
    read(context, place, ty)
}

/// A register of this width: the place itself, or one of our own with the part in it (see [`settle`]).
pub(crate) fn staged(context: &mut Context<'_>, place: &Place) -> Option<(RegisterId, Type)> {
    match place {
        Place::Register(id, ty) => Some((*id, *ty)),
        Place::Part { ty, .. } => {
            let value = read(context, place, *ty);
            Some((temporary(context, *ty, LocalValue::Operand(value)), *ty))
        }
        _ => None,
    }
}

/// Puts what was staged back.
pub(crate) fn settle(context: &mut Context<'_>, place: &Place, staged: RegisterId) {
    if let Place::Part { whole, ty, shift } = place {
        write_part(context, *whole, *ty, *shift, Operand::Register(staged));
    }
}

/// The operand's value; memory is first loaded (plainly) into a register of our own.
pub(crate) fn read(context: &mut Context<'_>, place: &Place, ty: Type) -> Operand {
    match place {
        Place::Register(id, _) => Operand::Register(*id),
        Place::Part { whole, ty, .. } if ty.bits == 64 => Operand::Register(*whole),
        Place::Part { whole, ty, shift } => {
            let mut value = Operand::Register(*whole);
            if *shift > 0 {
                value = binary(context, BinaryOperator::ShiftRight, Type::U64, value, constant(*shift));
            }
            Operand::Register(temporary(context, *ty, LocalValue::Operand(value)))
        }
        Place::Constant(value) => Operand::Constant(*value),
        Place::Address(address) => *address,
        Place::Memory(address) => {
            let destination = context.thread.temporary(ty);
            load(context, destination, address.clone(), ty);
            Operand::Register(destination)
        }
    }
}

pub(crate) fn load(context: &mut Context<'_>, destination: RegisterId, address: AddressOperand, ty: Type) {
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
        Place::Part { whole, ty, shift } => write_part(context, *whole, *ty, *shift, value),
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

fn write_part(context: &mut Context<'_>, whole: RegisterId, ty: Type, shift: i128, value: Operand) {
    let unsigned = Type { signed: false, ..ty };
    let mut low = Operand::Register(temporary(context, unsigned, LocalValue::Operand(value)));
    let value = if ty.bits >= 32 {
        LocalValue::Operand(low)
    } else {
        let mask = ((1i128 << ty.bits) - 1) << shift;
        if shift > 0 {
            low = binary(context, BinaryOperator::ShiftLeft, Type::U64, low, constant(shift));
        }
        let kept = binary(context, BinaryOperator::And, Type::S64, Operand::Register(whole), constant(!mask));
        LocalValue::Binary(BinaryOperator::Or, kept, low)
    };
    context.thread.emit(Operation::Local { destination: whole, ty: Type::S64, value });
}

/// Beside threads of a GPU, those of the host are seen by all.
pub(crate) const SCOPE: Option<Scope> = Some(Scope::Sys);

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
    let suffix = || suffix(&tree.opcode.node);
    let symbolic =
        |operand: &Spanned<TreeOperand>| matches!(&operand.node, TreeOperand::Register(name) if name.starts_with("%"));
    if let Some(operand) = tree.operands.iter().find(|operand| symbolic(operand))
        && let Some(suffix) = suffix()
        && suffix.bits != 64
    {
        let what = format!("a symbolic register of {} bits", suffix.bits);
        return Err(Refusal::Unsupported(operand.span, what));
    }
    let ty = places.iter().find_map(of_register).or_else(suffix);
    let ty = ty.or_else(|| places.iter().find_map(declared)).unwrap_or(Type::S32);
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
