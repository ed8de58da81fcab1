//! The places in memory that C names, and plain accesses to them.

use fencepost_syntax::c::Expression;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, LocalValue, Operand, Operation, Scope};
use crate::tag::{Tag, Tags};
use crate::value::Type;

/// The type of a variable or a location; `atomic_int` is an `int` that is accessed atomically.
pub(crate) fn ty(name: &str) -> Type {
    match name.strip_prefix("atomic_").unwrap_or(name) {
        "unsigned" | "uint" | "uint32_t" => Type::U32,
        "long" | "int64_t" => Type::S64,
        "ulong" | "uint64_t" => Type::U64,
        _ => Type::S32,
    }
}

pub(crate) fn is_bool(name: &str) -> bool {
    matches!(name, "bool" | "atomic_bool")
}

/// What a pointer points to.
pub(crate) struct Pointee {
    pub(crate) address: AddressOperand,
    pub(crate) ty: Type,
    pub(crate) is_atomic: bool,
    pub(crate) is_bool: bool,
}

impl Pointee {
    /// A plain access of an atomic object is one of the strongest order (C11 6.2.6.1, 6.5.16).
    pub(crate) fn plain(&self) -> (Tag, Option<Scope>) {
        if self.is_atomic { (Tag::Sc, Some(Scope::Sys)) } else { (Tag::NonAtomic, None) }
    }
}

pub(crate) fn named(
    context: &mut Context<'_>,
    pointer: &Spanned<Expression>,
    offset: i128,
) -> Result<Pointee, Refusal> {
    let Expression::Name(name) = &pointer.node else {
        return Err(Refusal::Unsupported(pointer.span, "a pointer that is computed".to_owned()));
    };
    if context.thread.find(name).is_some() {
        return Err(Refusal::Unsupported(pointer.span, "a pointer in a variable".to_owned()));
    }
    if context.thread.parameter(name).is_none() && context.names.get(name).is_none() {
        let message = format!("`{name}` is no parameter of {} and no declared location", context.thread.name());
        let help = format!("add `atomic_int* {name}` to the parameters");
        return Err(Refusal::Error(Diagnostic::error(pointer.span, message).help(help)));
    }
    let viewer = context.thread.viewer();
    let address = context.names.address(name, offset, viewer, pointer.span)?;
    let (ty, is_atomic, is_bool) = match context.thread.parameter(name) {
        Some(declared) => (ty(declared), declared.starts_with("atomic_"), is_bool(declared)),
        None => (context.names.declared_type(address).unwrap_or(Type::S32), false, false),
    };
    Ok(Pointee { address: AddressOperand::Static(address), ty, is_atomic, is_bool })
}

pub(crate) fn load(context: &mut Context<'_>, place: Pointee, tag: Tag, scope: Option<Scope>) -> Operand {
    let Pointee { address, ty, .. } = place;
    let destination = context.thread.temporary(ty);
    let tags = Tags::from_iter([Tag::Read, tag]);
    context.thread.emit(Operation::Load { destination: Some(destination), address, ty, tags, scope, assume: None });
    Operand::Register(destination)
}

pub(crate) fn store(context: &mut Context<'_>, place: Pointee, value: Operand, tag: Tag, scope: Option<Scope>) {
    let Pointee { address, ty, .. } = place;
    let tags = Tags::from_iter([Tag::Write, tag]);
    context.thread.emit(Operation::Store { address, value, ty, tags, scope });
}

pub(crate) fn local(context: &mut Context<'_>, ty: Type, value: LocalValue) -> Operand {
    let destination = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination, ty, value });
    Operand::Register(destination)
}
