//! `multimem.ld_reduce`, `multimem.st` and `multimem.red` (PTX ISA 8.2.3, 9.7.10): operations on an address that stands for
//! a location on each of several devices, its replicas. One operation is one access per replica, in no order; through
//! other addresses of a replica it is an alias. Arithmetic is that of integers; of floating point there are orders and
//! races, but no values.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{AddressOperand, Feature, Multimem, MultimemAction, Operand, Operation, Scope};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::{bits_type, spelled};
use crate::table::ptx::memory::access::{note_scope, scope_tag};
use crate::table::ptx::memory::vector;
use crate::tag::{Tag, Tags};
use crate::value::Type;
use crate::value::expression::BinaryOperator;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    LoadReduce,
    Store,
    Reduce,
}

const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];
const OPERATIONS: &[(&str, BinaryOperator)] = &[
    ("add", BinaryOperator::Add),
    ("min", BinaryOperator::Minimum),
    ("max", BinaryOperator::Maximum),
    ("and", BinaryOperator::And),
    ("or", BinaryOperator::Or),
    ("xor", BinaryOperator::Xor),
];
const SCOPE: Slot = Slot::Maybe(&["cta", "cluster", "gpu", "sys"]);
const SPACE: Slot = Slot::Maybe(&["global"]);
const OPERATION: Slot = Slot::One(&["add", "min", "max", "and", "or", "xor"]);
const BITS: Slot =
    Slot::One(&["u32", "s32", "u64", "s64", "b32", "b64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"]);
const FLOATS: [&str; 6] = ["f32", "f64", "f16", "bf16", "f16x2", "bf16x2"];
const VECTOR: Slot = Slot::Maybe(&["v2", "v4", "v8"]);
const VECTORS: &[(&str, usize)] = &[("v2", 2), ("v4", 4), ("v8", 8)];
/// In what a sum is made.
const WITHIN: Slot = Slot::Maybe(&["acc::f32", "acc::f16"]);

const fn row(head: &'static [&'static str], slots: &'static [Slot], kind: Kind) -> Form<Kind> {
    Form { head, slots, section: sections::MULTIMEM_ADDRESSES, since: version(8, 1), kind }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(
        &["multimem", "ld_reduce"],
        &[Slot::Maybe(&["weak", "relaxed", "acquire"]), SCOPE, SPACE, OPERATION, WITHIN, VECTOR, BITS],
        Kind::LoadReduce,
    ),
    row(&["multimem", "st"], &[Slot::Maybe(&["weak", "relaxed", "release"]), SCOPE, SPACE, VECTOR, BITS], Kind::Store),
    row(
        &["multimem", "red"],
        &[Slot::Maybe(&["relaxed", "release"]), SCOPE, SPACE, OPERATION, VECTOR, BITS],
        Kind::Reduce,
    ),
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(lowered(context, tree, form))
}

fn lowered(context: &mut Context<'_>, tree: &Instruction, form: &Form<Kind>) -> Result<(), Refusal> {
    let words = form::words(form, tree)?;
    context.findings.floor(tree.span(), spelled(tree), form.since, form.section);
    let (tags, scope) = order(context, tree, form.kind, &words)?;
    let ty = tree.modifiers.iter().rev().find_map(|word| bits_type(&word.node)).unwrap_or(Type::U32);
    let length = words.find(VECTORS).map_or(1, |length| length.node);
    if length * usize::from(ty.bits) > 128 {
        let message = format!("{} would be more than 128 bits at once", spelled(tree));
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).label("too wide")));
    }
    let operator = match words.find(OPERATIONS) {
        _ if FLOATS.iter().any(|word| words.has(word)) => BinaryOperator::Opaque,
        found => found.map_or(BinaryOperator::Add, |found| found.node),
    };
    let (action, address) = match form.kind {
        Kind::LoadReduce => {
            let [destination, address] = context.operands(tree)?;
            let destinations = vector::elements(tree, destination, length)?.iter();
            let destinations =
                destinations.map(|element| context.destination(element, ty)).collect::<Result<_, _>>()?;
            (MultimemAction::LoadReduce { destinations, operator }, address)
        }
        Kind::Store => {
            let [address, value] = context.operands(tree)?;
            (MultimemAction::Store { values: values(context, tree, value, (ty, length))? }, address)
        }
        Kind::Reduce => {
            let [address, value] = context.operands(tree)?;
            (MultimemAction::Reduce { values: values(context, tree, value, (ty, length))?, operator }, address)
        }
    };
    vector::note(context, tree, length);
    let replicas = replicas(context, address)?;
    context.findings.feature(Feature::Multimem, tree.opcode.span);
    let (read_tags, write_tags) = tags;
    context.thread.emit(Operation::Multimem(Box::new(Multimem { replicas, action, ty, read_tags, write_tags, scope })));
    Ok(())
}

fn values(
    context: &mut Context<'_>,
    tree: &Instruction,
    operand: &Spanned<TreeOperand>,
    (ty, length): (Type, usize),
) -> Result<Vec<Operand>, Refusal> {
    let elements = vector::elements(tree, operand, length)?;
    elements.iter().for_each(|element| context.immediate(tree, element, ty));
    elements.iter().map(|element| context.value(element)).collect()
}

/// The tags of reads and of writes. Without a word a reduction is relaxed and the others weak; a strong operation without a
/// scope has that of the system.
fn order(
    context: &mut Context<'_>,
    tree: &Instruction,
    kind: Kind,
    words: &Words,
) -> Result<((Tags, Tags), Option<Scope>), Refusal> {
    let said = words.find(SCOPES);
    note_scope(context, said.as_ref());
    let strong = ["relaxed", "acquire", "release"].iter().any(|word| words.has(word)) || kind == Kind::Reduce;
    if let (false, Some(scope)) = (strong, &said) {
        let message = format!("{} is weak, and has no scope", spelled(tree));
        return Err(Refusal::Error(
            Diagnostic::error(scope.span, message).label("not taken").help("make it `.relaxed`"),
        ));
    }
    let scope = strong.then(|| said.map_or(Scope::Sys, |scope| scope.node));
    let common = scope.map_or(Tags::NONE, |scope| Tags::NONE.with(scope_tag(scope)));
    let common = common.with(Tag::Generic).with(Tag::Alias);
    let plain = if strong { Tag::Relaxed } else { Tag::Weak };
    let read = if words.has("acquire") { Tag::Acquire } else { plain };
    let write = if words.has("release") { Tag::Release } else { plain };
    let both = |tags: Tags| if kind == Kind::Reduce { tags.with(Tag::Atomic).with(Tag::NoReturn) } else { tags };
    Ok(((both(common.with(read).with(Tag::Read)), both(common.with(write).with(Tag::Write))), scope))
}

/// The address of each replica.
pub(crate) fn replicas(
    context: &mut Context<'_>,
    operand: &Spanned<TreeOperand>,
) -> Result<Vec<AddressOperand>, Refusal> {
    let (base, offset) = match &operand.node {
        TreeOperand::Address(address) if address.rest.is_empty() => (&*address.base, address.offset),
        _ => (operand, 0),
    };
    let TreeOperand::Symbol(name) = &base.node else {
        return Err(Refusal::Unsupported(operand.span, "a multimem address in a register".to_string()));
    };
    let Some(replicas) = context.names.multimem.get(name.as_str()).cloned() else {
        let error = Diagnostic::error(operand.span, format!("`{name}` is no multimem address")).label("not one");
        return Err(Refusal::Error(error.help("declare one by its replicas: `m @ multimem aliases x, y`")));
    };
    let viewer = context.thread.viewer();
    let address = |replica: &String| context.names.address(replica, offset, viewer, operand.span);
    replicas.iter().map(address).map(|address| address.map(AddressOperand::Static)).collect()
}
