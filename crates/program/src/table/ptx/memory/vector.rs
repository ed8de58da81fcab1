//! Vectors and matrices of registers to and from memory. A vector access is a set of scalar accesses of its elements, in no
//! specified order (PTX ISA 8.2.4); so are `ldmatrix` and `stmatrix` (9.7.16.5.15, 9.7.16.5.16), of which a thread sees the
//! row whose address it gives: as many 32-bit registers as matrices.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::lower::memory::spaces::window;
use crate::program::{Feature, Operation};
use crate::sections;
use crate::table::form::{self, Form, Slot, version};
use crate::table::modifier::spelled;
use crate::tag::{Tag, Tags};
use crate::value::Type;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Load,
    Store,
}

const MATRICES: &[(&str, usize)] = &[("x1", 1), ("x2", 2), ("x4", 4)];
const SLOTS: &[Slot] = &[
    Slot::One(&["aligned"]),
    Slot::One(&["m8n8", "m16n8", "m16n16"]),
    Slot::One(&["x1", "x2", "x4"]),
    Slot::Maybe(&["trans"]),
    Slot::Maybe(&["shared", "shared::cta"]),
    Slot::One(&["b16", "b8"]),
];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["ldmatrix", "sync"],
        slots: SLOTS,
        section: sections::LDMATRIX,
        since: version(6, 5),
        kind: Kind::Load,
    },
    Form {
        head: &["stmatrix", "sync"],
        slots: SLOTS,
        section: sections::STMATRIX,
        since: version(7, 8),
        kind: Kind::Store,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(matrix(context, tree, form))
}

fn matrix(context: &mut Context<'_>, tree: &Instruction, form: &Form<Kind>) -> Result<(), Refusal> {
    let words = form::words(form, tree)?;
    context.findings.floor(tree.span(), spelled(tree), form.since, form.section);
    // Of the larger matrices each is two registers.
    let registers = if words.has("m16n16") { 2 } else { 1 };
    let count = words.find(MATRICES).map_or(1, |count| count.node) * registers;
    let space = tree.modifiers.iter().find(|word| word.node.starts_with("shared"));
    let [first, second] = context.operands(tree)?;
    let tags = window(space, Tags::from_iter([Tag::Weak, Tag::Generic]));
    match form.kind {
        Kind::Load => {
            let address = context.address(second)?;
            context.qualify(tree, space, &address)?;
            let destinations = elements(tree, first, count)?.iter();
            let destinations = destinations.map(|element| context.destination(element, Type::U32));
            let destinations = destinations.collect::<Result<Vec<_>, _>>()?;
            let tags = tags.with(Tag::Read);
            note(context, tree, count);
            context.thread.emit(Operation::VectorLoad { destinations, address, ty: Type::U32, tags, scope: None });
        }
        Kind::Store => {
            let address = context.address(first)?;
            context.qualify(tree, space, &address)?;
            let values = elements(tree, second, count)?.iter().map(|element| context.value(element));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let tags = tags.with(Tag::Write);
            note(context, tree, count);
            context.thread.emit(Operation::VectorStore { address, values, ty: Type::U32, tags, scope: None });
        }
    }
    Ok(())
}

/// Several scalar operations of one instruction are no subject of models that know none.
pub(crate) fn note(context: &mut Context<'_>, tree: &Instruction, count: usize) {
    if count > 1 {
        context.findings.feature(Feature::Span, tree.opcode.span);
    }
}

/// The elements of `{a, b}`, as many as the form says. One register may stand without braces.
pub(crate) fn elements<'t>(
    tree: &Instruction,
    operand: &'t Spanned<TreeOperand>,
    count: usize,
) -> Result<&'t [Spanned<TreeOperand>], Refusal> {
    let elements = match &operand.node {
        TreeOperand::Vector(elements) => elements.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    if elements.len() == count {
        return Ok(elements);
    }
    let message = format!("{} takes {count} elements, not {}", spelled(tree), elements.len());
    Err(Refusal::Error(Diagnostic::error(operand.span, message).label("wrong number of elements")))
}
