//! Loads, stores and atomics of PTX: defaults (PTX ISA 9.7.10, 9.7.15) and the tags of the resulting events.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::{Refusal, misfit};
use crate::lower::memory::spaces::window;
use crate::program::{FailedCas, Feature, Operation, Scope, Update, VectorUpdate};
use crate::sections;
use crate::table::form::version;
use crate::table::modifier::{self, Modifiers, Sem, UpdateWord};
use crate::table::operands::wrong_number;
use crate::table::ptx::memory::vector;
use crate::tag::{Tag, Tags};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

/// The semantics and scope of an access after the defaults.
struct Order {
    sem: Sem,
    scope: Option<Scope>,
    tags: Tags,
}

/// Words of accesses, and the versions that brought them.
const FLOORS: &[(&str, (u8, u8))] = &[
    ("relaxed", (6, 0)),
    ("acquire", (6, 0)),
    ("release", (6, 0)),
    ("acq_rel", (6, 0)),
    ("weak", (6, 0)),
    ("cluster", (7, 8)),
    ("shared::cluster", (7, 8)),
    ("mmio", (8, 2)),
    ("b128", (8, 3)),
    ("v8", (8, 8)),
];

/// What a class of instructions means when it says nothing.
enum Default {
    /// `ld`, `st`.
    Weak,
    /// `atom`, `red`: relaxed at GPU scope.
    RelaxedGpu,
}

pub(crate) fn scope_tag(scope: Scope) -> Tag {
    match scope {
        Scope::Cta => Tag::ScopeCta,
        Scope::Cluster => Tag::ScopeCluster,
        Scope::Gpu => Tag::ScopeGpu,
        Scope::Sys => Tag::ScopeSys,
    }
}

pub(crate) fn note_scope(context: &mut Context<'_>, scope: Option<&Spanned<Scope>>) {
    if let Some(scope) = scope
        && scope.node == Scope::Cluster
    {
        context.findings.feature(Feature::Cluster, scope.span);
    }
}

fn note_proxy(context: &mut Context<'_>, proxy: Tag, span: Span) {
    if proxy != Tag::Generic {
        context.findings.feature(Feature::Proxy, span);
    }
}

/// The semantics, the scope, and the window that the address lies in.
fn order(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    default: Default,
) -> Result<Order, Refusal> {
    let order = strength(context, tree, modifiers, legal, default)?;
    Ok(Order { tags: window(modifiers.space.as_ref(), order.tags), ..order })
}

/// Resolves semantics and scope. `.volatile` and `.mmio` are relaxed at system scope (PTX ISA 8.4.1, 8.4.2).
fn strength(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    default: Default,
) -> Result<Order, Refusal> {
    let opcode = tree.opcode.node.as_str();
    note_scope(context, modifiers.scope.as_ref());
    note_floor(context, tree);
    if let Some(sem) = &modifiers.sem {
        modifier::check_sem(opcode, sem, legal)?;
    }
    let sem = modifiers.sem.as_ref().map(|sem| sem.node);
    if legal == [Sem::Persist] {
        return persist(context, tree, modifiers);
    }
    if modifiers.mmio {
        return mmio(tree, modifiers, legal);
    }
    let scope = modifiers.scope.as_ref().map(|scope| scope.node);
    match (sem, scope, default) {
        (Some(Sem::Weak), None, _) | (None, None, Default::Weak) => {
            Ok(Order { sem: Sem::Weak, scope: None, tags: Tags::NONE })
        }
        (Some(Sem::Volatile), None, _) => {
            Ok(Order { sem: Sem::Relaxed, scope: Some(Scope::Sys), tags: Tags::NONE.with(Tag::Volatile) })
        }
        (Some(Sem::Weak | Sem::Volatile) | None, Some(_), Default::Weak)
        | (Some(Sem::Weak | Sem::Volatile), Some(_), _) => {
            let span = modifiers.scope.as_ref().map_or(tree.opcode.span, |scope| scope.span);
            let message = format!("a weak or volatile `{opcode}` has no scope");
            Err(Refusal::Error(
                Diagnostic::error(span, message).label("not taken").help("make it `.relaxed`, or drop the scope"),
            ))
        }
        (sem, scope, Default::RelaxedGpu) => {
            let scope = scope.unwrap_or(Scope::Gpu);
            Ok(Order { sem: sem.unwrap_or(Sem::Relaxed), scope: Some(scope), tags: Tags::NONE })
        }
        (Some(sem), Some(scope), _) => {
            let strong =
                |space: &&Spanned<ShortText>| !["global", "shared"].iter().any(|start| space.node.starts_with(start));
            if let Some(space) = modifiers.space.as_ref().filter(strong) {
                let message = format!("a strong `{opcode}` is of global or shared memory, not of `.{}`", space.node);
                return Err(Refusal::Error(Diagnostic::error(space.span, message).help("make it weak")));
            }
            Ok(Order { sem, scope: Some(scope), tags: Tags::NONE })
        }
        (Some(_), None, _) => {
            let span = modifiers.sem.as_ref().map_or(tree.opcode.span, |sem| sem.span);
            Err(modifier::missing_scope(opcode, span))
        }
    }
}

/// Of `pacq` and `prel`: their scope is what they are about.
fn persist(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<Order, Refusal> {
    context.findings.feature(Feature::Persistence, tree.span());
    match &modifiers.scope {
        Some(scope) => Ok(Order { sem: Sem::Persist, scope: Some(scope.node), tags: Tags::NONE }),
        None => Err(modifier::missing_scope(&tree.opcode.node, tree.opcode.span)),
    }
}

/// The version that brought the newest of the words.
fn note_floor(context: &mut Context<'_>, tree: &Instruction) {
    if context.dialect != Dialect::Ptx {
        return;
    }
    let words = tree.modifiers.iter().filter_map(|word| FLOORS.iter().find(|(name, _)| *name == word.node));
    if let Some((_, (major, minor))) = words.max_by_key(|(_, floor)| *floor) {
        let section = if matches!(tree.opcode.node.as_str(), "atom" | "red") {
            sections::SYNCHRONIZATION
        } else {
            sections::DATA_MOVEMENT
        };
        context.findings.floor(tree.span(), modifier::spelled(tree), version(*major, *minor), section);
    }
}

fn mmio(tree: &Instruction, modifiers: &Modifiers, legal: &[Sem]) -> Result<Order, Refusal> {
    let sem = modifiers.sem.as_ref().map_or(Sem::Relaxed, |sem| sem.node);
    let scope = modifiers.scope.as_ref().map_or(Scope::Sys, |scope| scope.node);
    if let Some(space) = modifiers.space.as_ref().filter(|space| space.node != "global") {
        let message = format!("`{}.mmio` is about global memory only", tree.opcode.node);
        return Err(Refusal::Error(Diagnostic::error(space.span, message).label("not here")));
    }
    if sem != Sem::Relaxed || scope != Scope::Sys || !legal.contains(&Sem::Mmio) {
        let message = format!("`{}.mmio` is relaxed at system scope only", tree.opcode.node);
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("write `.mmio.relaxed.sys`")));
    }
    Ok(Order { sem: Sem::Relaxed, scope: Some(Scope::Sys), tags: Tags::NONE.with(Tag::Mmio) })
}

impl Order {
    /// The tags of the reading half: release does not concern it.
    fn read_tags(&self, proxy: Tag) -> Tags {
        let sem = match self.sem {
            Sem::Weak => Tag::Weak,
            Sem::Acquire | Sem::AcqRel => Tag::Acquire,
            _ => Tag::Relaxed,
        };
        let tags = self.common(proxy).with(sem).with(Tag::Read);
        if self.sem == Sem::Persist { tags.with(Tag::PersistAcquire) } else { tags }
    }

    /// The tags of the writing half: acquire does not concern it.
    fn write_tags(&self, proxy: Tag) -> Tags {
        let sem = match self.sem {
            Sem::Weak => Tag::Weak,
            Sem::Release | Sem::AcqRel => Tag::Release,
            _ => Tag::Relaxed,
        };
        let tags = self.common(proxy).with(sem).with(Tag::Write);
        if self.sem == Sem::Persist { tags.with(Tag::PersistRelease) } else { tags }
    }

    fn common(&self, proxy: Tag) -> Tags {
        let tags = self.tags.with(proxy);
        self.scope.map_or(tags, |scope| tags.with(scope_tag(scope)))
    }
}

/// The type of an access: real PTX without one is taken as `.u32`, the other spellings have integers.
fn access_type(context: &Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<Type, Refusal> {
    match (modifiers.types.as_slice(), context.dialect) {
        ([], Dialect::Ptx) => Ok(Type::U32),
        ([], _) => Ok(Type::UNTYPED),
        ([ty], _) if *ty != Type::PREDICATE => Ok(*ty),
        _ => Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree))),
    }
}

/// NVLitmus' `== n`, as a value of the access's type.
fn assumed(tree: &Instruction, ty: Type, assume: Option<Value>) -> Result<Option<Value>, Refusal> {
    match assume {
        Some(value) if !ty.fits(value) => {
            let name = modifier::spelled(tree);
            Err(Refusal::Error(misfit(&value.to_string(), ty, name.trim_matches('`'), tree.span())))
        }
        other => Ok(other.map(|value| ty.wrap(value))),
    }
}

/// How many elements an access has, if that many bits can be accessed at once (PTX ISA 5.4.2).
fn length(context: &Context<'_>, tree: &Instruction, modifiers: &Modifiers, ty: Type) -> Result<usize, Refusal> {
    let Some(length) = modifiers.vector else { return Ok(1) };
    let bits = u32::from(length) * u32::from(ty.bits);
    if context.dialect != Dialect::Ptx {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    }
    // 256 bits as `.v4.b64` or `.v8.b32`, in global memory; atomics have `.v8` of 16 bits.
    let is_atomic = matches!(tree.opcode.node.as_str(), "atom" | "red");
    if bits > 256 || (bits > 128 && ty.bits < 32) {
        let message = format!("{} would be {bits} bits at once", modifier::spelled(tree));
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("128 bits are, and 256 as `.v8.b32`")));
    }
    if length == 8 && ty.bits != 32 && !(is_atomic && ty.bits == 16) {
        let message = format!("{} is a vector of eight elements of {} bits", modifier::spelled(tree), ty.bits);
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("eight are of 32 bits: `.v8.b32`")));
    }
    Ok(usize::from(length))
}

/// The operands without the cache policy that `.L2::cache_hint` adds.
fn access_operands<'t>(context: &Context<'_>, tree: &'t Instruction) -> Result<&'t [Spanned<TreeOperand>; 2], Refusal> {
    without_policy(tree, 2).try_into().or_else(|_| context.operands(tree))
}

/// The same, of so many at least.
fn without_policy(tree: &Instruction, least: usize) -> &[Spanned<TreeOperand>] {
    let is_hinted = tree.modifiers.iter().any(|word| word.node.eq_ignore_ascii_case("L2::cache_hint"));
    match tree.operands.as_slice() {
        [first @ .., _] if is_hinted && first.len() >= least => first,
        all => all,
    }
}

/// `ld.const` reads through the constant proxy. It matters where a name of that proxy stands for memory that is written;
/// what is declared `.const` no kernel writes.
fn constant_bank(context: &Context<'_>, modifiers: &Modifiers) -> Option<Tag> {
    let is_constant = modifiers.space.as_ref().is_some_and(|space| space.node == "const");
    (is_constant && context.names.has_proxy(Tag::Constant)).then_some(Tag::Constant)
}

pub(crate) fn load(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    proxy: Tag,
    assume: Option<Value>,
) -> Result<(), Refusal> {
    let order = order(context, tree, modifiers, legal, Default::Weak)?;
    let proxy = constant_bank(context, modifiers).unwrap_or(proxy);
    note_proxy(context, proxy, tree.opcode.span);
    if modifiers.words.contains(&"nc") && modifiers.space.as_ref().is_none_or(|space| space.node != "global") {
        let error = Diagnostic::error(tree.span(), "`ld.nc` is about global memory only").label("not here");
        return Err(Refusal::Error(error.help("write `ld.global.nc`")));
    }
    let is_readonly = modifiers.words.contains(&"proxy::readonly");
    if is_readonly {
        context.findings.floor(tree.span(), modifier::spelled(tree), version(9, 4), sections::LD);
    }
    let ty = access_type(context, tree, modifiers)?;
    let length = length(context, tree, modifiers, ty)?;
    let [destination, address] = access_operands(context, tree)?;
    let address = context.address(address)?;
    context.qualify(tree, modifiers.space.as_ref(), &address)?;
    let assume = assumed(tree, ty, assume)?;
    let elements = vector::elements(tree, destination, length)?;
    let destinations = elements.iter().map(|element| context.destination(element, ty));
    let mut destinations = destinations.collect::<Result<Vec<_>, _>>()?;
    let (tags, scope) = (order.read_tags(proxy), order.scope);
    let tags = if is_readonly || modifiers.words.contains(&"nc") { tags.with(Tag::ReadsOnly) } else { tags };
    if length > 1 {
        vector::note(context, tree, length);
        context.thread.emit(Operation::VectorLoad { destinations, address, ty, tags, scope });
    } else {
        let destination = destinations.pop().flatten();
        context.thread.emit(Operation::Load { destination, address, ty, tags, scope, assume });
    }
    Ok(())
}

pub(crate) fn store(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    proxy: Tag,
) -> Result<(), Refusal> {
    let order = order(context, tree, modifiers, legal, Default::Weak)?;
    note_proxy(context, proxy, tree.opcode.span);
    let ty = access_type(context, tree, modifiers)?;
    let length = length(context, tree, modifiers, ty)?;
    let [address, value] = access_operands(context, tree)?;
    let address = context.address(address)?;
    context.qualify(tree, modifiers.space.as_ref(), &address)?;
    let elements = vector::elements(tree, value, length)?;
    elements.iter().for_each(|element| context.immediate(tree, element, ty));
    let values = elements.iter().map(|element| context.value(element)).collect::<Result<Vec<_>, _>>()?;
    let (tags, scope) = (order.write_tags(proxy), order.scope);
    match values.as_slice() {
        [value] => context.thread.emit(Operation::Store { address, value: *value, ty, tags, scope }),
        _ => {
            vector::note(context, tree, length);
            context.thread.emit(Operation::VectorStore { address, values, ty, tags, scope });
        }
    }
    Ok(())
}

pub(crate) fn atom(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    proxy: Tag,
    assume: Option<Value>,
) -> Result<(), Refusal> {
    let least = if modifiers.update == Some(UpdateWord::Cas) { 4 } else { 3 };
    let Some((destination, rest)) = without_policy(tree, least).split_first() else {
        return Err(Refusal::error(tree.span(), format!("`{}` needs operands", tree.opcode.node)));
    };
    let order = order(context, tree, modifiers, legal, Default::RelaxedGpu)?;
    let ty = access_type(context, tree, modifiers)?;
    if modifiers.vector.is_some() {
        return vector(context, tree, modifiers, &order, (Some(destination), rest, proxy));
    }
    let (address, update) = update(context, tree, modifiers, rest)?;
    let address = context.address(address)?;
    context.qualify(tree, modifiers.space.as_ref(), &address)?;
    context.immediates(tree, ty);
    let assume = assumed(tree, ty, assume)?;
    let destination = context.destination(destination, ty)?;
    note_proxy(context, proxy, tree.opcode.span);
    context.thread.emit(Operation::ReadModifyWrite {
        destination,
        address,
        update,
        ty,
        read_tags: order.read_tags(proxy).with(Tag::Atomic),
        write_tags: order.write_tags(proxy).with(Tag::Atomic),
        scope: order.scope,
        assume,
    });
    Ok(())
}

pub(crate) fn red(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    legal: &[Sem],
    proxy: Tag,
) -> Result<(), Refusal> {
    let order = order(context, tree, modifiers, legal, Default::RelaxedGpu)?;
    let ty = access_type(context, tree, modifiers)?;
    if matches!(modifiers.update, Some(UpdateWord::Cas | UpdateWord::Exchange)) {
        let message = "`red` has no `.cas` and no `.exch`: it returns nothing";
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("use `atom`")));
    }
    let operands = without_policy(tree, 2);
    if modifiers.vector.is_some() {
        return vector(context, tree, modifiers, &order, (None, operands, proxy));
    }
    let (address, update) = update(context, tree, modifiers, operands)?;
    note_proxy(context, proxy, tree.opcode.span);
    let address = context.address(address)?;
    context.qualify(tree, modifiers.space.as_ref(), &address)?;
    context.immediates(tree, ty);
    // PTX's `red` is no read operation (Table 20) and has no acquiring form. In Dartagnan's dialect it reads as `atom` does,
    // and its own models say no more of it: it acquires by its word, or with a fence behind it.
    let reads = context.dialect == Dialect::Dartagnan;
    let read_tags = order.read_tags(proxy).with(Tag::Atomic);
    context.thread.emit(Operation::ReadModifyWrite {
        destination: None,
        address,
        update,
        ty,
        read_tags: if reads { read_tags } else { read_tags.with(Tag::NoReturn) },
        write_tags: order.write_tags(proxy).with(Tag::Atomic).with(Tag::NoReturn),
        scope: order.scope,
        assume: None,
    });
    Ok(())
}

/// `atom.v2.f32.add` and `red.add.v4.f32`: of floating point in global memory only (PTX ISA 9.7.15.5, 9.7.15.6).
fn vector(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    order: &Order,
    (destination, operands, proxy): (Option<&Spanned<TreeOperand>>, &[Spanned<TreeOperand>], Tag),
) -> Result<(), Refusal> {
    let ty = access_type(context, tree, modifiers)?;
    let length = length(context, tree, modifiers, ty)?;
    let is_single = tree.modifiers.iter().any(|word| word.node == "f32");
    let operator = match modifiers.update {
        Some(UpdateWord::Apply(BinaryOperator::Add)) if is_single => BinaryOperator::FloatAdd,
        Some(UpdateWord::Apply(BinaryOperator::Add | BinaryOperator::Minimum | BinaryOperator::Maximum))
            if !is_single && ty.bits <= 32 =>
        {
            BinaryOperator::Opaque
        }
        _ => return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree))),
    };
    let is_shared = modifiers.space.as_ref().is_some_and(|space| space.node != "global");
    if modifiers.float.is_none() || is_shared || proxy != Tag::Generic {
        let message = format!("PTX has no {}", modifier::spelled(tree));
        let error = Diagnostic::error(tree.span(), message);
        return Err(Refusal::Error(error.help("vectors are of floating point, in global memory")));
    }
    let (address, value) = match operands {
        [address, value] => (address, value),
        _ => return Err(Refusal::error(tree.span(), format!("{} takes a vector", modifier::spelled(tree)))),
    };
    let address = context.address(address)?;
    context.qualify(tree, modifiers.space.as_ref(), &address)?;
    let values = vector::elements(tree, value, length)?;
    let values = values.iter().map(|element| context.value(element)).collect::<Result<Vec<_>, _>>()?;
    let is_red = destination.is_none();
    let mut destinations = Vec::new();
    if let Some(destination) = destination {
        for element in vector::elements(tree, destination, length)? {
            destinations.push(context.destination(element, ty)?);
        }
    }
    vector::note(context, tree, length);
    context.findings.floor(tree.span(), modifier::spelled(tree), version(8, 1), sections::ATOM);
    let atomic = |tags: Tags| if is_red { tags.with(Tag::Atomic).with(Tag::NoReturn) } else { tags.with(Tag::Atomic) };
    let (read_tags, write_tags) = (atomic(order.read_tags(proxy)), atomic(order.write_tags(proxy)));
    let update =
        VectorUpdate { destinations, address, operator, values, ty, read_tags, write_tags, scope: order.scope };
    context.thread.emit(Operation::VectorUpdate(Box::new(update)));
    Ok(())
}

/// The address and what is computed, from the operands after the destination.
fn update<'t>(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    operands: &'t [Spanned<TreeOperand>],
) -> Result<(&'t Spanned<TreeOperand>, Update), Refusal> {
    let opcode = &tree.opcode.node;
    if modifiers.types.iter().any(|ty| ty.bits > 64)
        && !matches!(modifiers.update, Some(UpdateWord::Exchange | UpdateWord::Cas))
    {
        let message = format!("PTX has no {}", modifier::spelled(tree));
        return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help("`.b128` has `.exch` and `.cas`")));
    }
    let Some(word) = modifiers.update else {
        let help = "add an operation: `.add`, `.exch`, `.cas`, …";
        let message = format!("`{opcode}` does not say what it does");
        return Err(Refusal::Error(Diagnostic::error(tree.opcode.span, message).label("no operation").help(help)));
    };
    if let UpdateWord::Apply(BinaryOperator::Subtract | BinaryOperator::Multiply | BinaryOperator::Divide) = word
        && context.dialect != Dialect::Dartagnan
    {
        let message = format!("PTX has no {}", modifier::spelled(tree));
        return Err(Refusal::Error(
            Diagnostic::error(tree.span(), message).help("`.add` of the negated value subtracts"),
        ));
    }
    let is_half = |word: &Spanned<ShortText>| ["f16", "bf16", "f16x2", "bf16x2"].contains(&word.node.as_str());
    let is_half = tree.modifiers.iter().any(is_half);
    match (word, operands) {
        // Sums of 16 bits have no model: orders and races, but no values.
        (
            UpdateWord::Apply(BinaryOperator::Add | BinaryOperator::Minimum | BinaryOperator::Maximum),
            [address, operand],
        ) if is_half => Ok((address, Update::Apply(BinaryOperator::Opaque, context.value(operand)?))),
        (UpdateWord::Apply(BinaryOperator::Add), [address, operand]) if modifiers.float.is_some() => {
            Ok((address, Update::Apply(BinaryOperator::FloatAdd, context.value(operand)?)))
        }
        _ if modifiers.float.is_some() => Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree))),
        (UpdateWord::Apply(operator), [address, operand]) => {
            Ok((address, Update::Apply(operator, context.value(operand)?)))
        }
        (UpdateWord::Exchange, [address, operand]) => Ok((address, Update::Exchange(context.value(operand)?))),
        (UpdateWord::Increment, [address, operand]) => Ok((address, Update::Increment(context.value(operand)?))),
        (UpdateWord::Decrement, [address, operand]) => Ok((address, Update::Decrement(context.value(operand)?))),
        (UpdateWord::Cas, [address, expected, new]) => {
            let on_failure = match context.dialect {
                Dialect::Dartagnan => FailedCas::WritesOldValue,
                _ => FailedCas::NoWrite,
            };
            let (expected, new) = (context.value(expected)?, context.value(new)?);
            Ok((address, Update::CompareAndSwap { expected, new, on_failure }))
        }
        _ => {
            let message = format!("{} has the wrong number of operands", modifier::spelled(tree));
            Err(wrong_number(tree, message))
        }
    }
}
