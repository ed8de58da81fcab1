//! The `{ … }` block: initial values, typed registers, arrays, aliases.

use fencepost_syntax::litmus::{AliasKind, Declaration, Dialect, InitialValue, Litmus, LocationType};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::names::{LONGEST_ARRAY, Name, Sharing};
use crate::lower::{Findings, Names, Refusal, ThreadBuilder};
use crate::program::{Feature, Initial};
use crate::table::modifier::integer_type;
use crate::table::x86::canonical;
use crate::value::{Type, Value};

pub(crate) fn declare(litmus: &Litmus, names: &mut Names, threads: &mut [ThreadBuilder], findings: &mut Findings) {
    // Locations first: `P0:%rd1 = x` may stand before `x = 0`.
    let (locations, others): (Vec<_>, Vec<_>) = litmus
        .declarations
        .iter()
        .partition(|declaration| matches!(declaration.node, Declaration::Location { .. } | Declaration::Alias { .. }));
    for declaration in locations.into_iter().chain(others) {
        let result = match &declaration.node {
            Declaration::Location { name, space, ty, value } => {
                location(names, name, space.as_deref(), ty.as_ref(), value.as_ref())
            }
            Declaration::Alias { name, kind, target } => {
                findings.feature(Feature::Proxy, declaration.span);
                alias(names, name, *kind, target)
            }
            Declaration::Register { thread, register, value } => {
                let ty = register_type(litmus.dialect);
                builder(threads, *thread, declaration.span).and_then(|builder| {
                    let register = Spanned::new(register_name(litmus.dialect, &register.node), register.span);
                    initial_register(names, builder, &register, value, ty)
                })
            }
            Declaration::Launch { .. } => Ok(()),
            Declaration::TypedRegister { thread, register, ty } => {
                typed(threads, *thread, register, ty, declaration.span)
            }
        };
        if let Err(refusal) = result {
            findings.refuse(refusal);
        }
    }
}

/// Registers of the untyped dialects hold integers.
fn register_type(dialect: Dialect) -> Option<Type> {
    match dialect {
        Dialect::Dartagnan | Dialect::NvLitmus => Some(Type::UNTYPED),
        Dialect::Ptx | Dialect::X86 => None,
    }
}

/// x86 keeps all widths of a register under one name.
fn register_name(dialect: Dialect, name: &str) -> String {
    if dialect == Dialect::X86 { canonical(name) } else { name.to_string() }
}

fn builder(threads: &mut [ThreadBuilder], index: u32, span: Span) -> Result<&mut ThreadBuilder, Refusal> {
    let count = threads.len();
    threads.get_mut(index as usize).ok_or_else(|| {
        let help = format!("the test has {count} threads, numbered from 0");
        Refusal::Error(Diagnostic::error(span, format!("there is no thread P{index}")).help(help))
    })
}

fn location(
    names: &mut Names,
    name: &Spanned<String>,
    space: Option<&str>,
    ty: Option<&Spanned<LocationType>>,
    value: Option<&Spanned<InitialValue>>,
) -> Result<(), Refusal> {
    let initial = match value.map(|value| (&value.node, value.span)) {
        None => Value(0),
        Some((InitialValue::Integer(integer), _)) => Value(*integer),
        Some((InitialValue::Name(other), span)) => {
            let entry = names.get(other).ok_or_else(|| names.unknown(other, span))?;
            names.initial(entry)
        }
    };
    let length = ty.and_then(|ty| ty.node.length);
    if length.is_some_and(|length| length == 0 || length > LONGEST_ARRAY) {
        return Err(Refusal::Unsupported(name.span, format!("the array `{}` of that length", name.node)));
    }
    let scalar = match ty {
        None => None,
        Some(ty) => Some(
            location_type(&ty.node.name)
                .ok_or_else(|| Refusal::Unsupported(ty.span, format!("the type `{}`", ty.node.name)))?,
        ),
    };
    // A second declaration of a name may give the value that the first did not (`int x; x = 1;`).
    let has_value =
        |names: &Names, entry: Name| names.given.contains_key(&names.addresses[entry.first.index()].location);
    let entry = match names.get(&name.node) {
        Some(entry) if scalar.is_none() && value.is_some() && !has_value(names, entry) => entry,
        // Public tests repeat themselves; only a contradiction is a mistake.
        Some(entry) if scalar.is_none() && initial == names.initial(entry) && value.is_some() => return Ok(()),
        Some(_) => return Err(twice(name)),
        None => names.declare(&name.node, scalar, length),
    };
    let count = entry.length.unwrap_or(1) as usize;
    for element in 0..count {
        let location = names.addresses[entry.first.index() + element].location;
        names.locations[location.index()].initial = initial;
        if let Some(value) = value {
            names.given.insert(location, value.span);
        }
        if let Some(space) = space {
            names.spaces.declare(location, space);
        }
    }
    Ok(())
}

fn twice(name: &Spanned<String>) -> Refusal {
    let error = Diagnostic::error(name.span, format!("`{}` is declared twice", name.node));
    Refusal::Error(error.label("declared before").help("keep one of the declarations"))
}

/// PTX's integer types and C's, the latter as on the LP64 systems CUDA runs on.
fn location_type(name: &str) -> Option<Type> {
    let signed = |bits| Some(Type { bits, signed: true });
    let unsigned = |bits| Some(Type { bits, signed: false });
    match name {
        "int" | "int32_t" | "signed" => signed(32),
        "unsigned" | "unsigned int" | "uint32_t" => unsigned(32),
        "long" | "int64_t" | "long long" | "intptr_t" => signed(64),
        "unsigned long" | "uint64_t" | "size_t" | "uintptr_t" => unsigned(64),
        "short" | "int16_t" => signed(16),
        "uint16_t" => unsigned(16),
        "char" | "int8_t" => signed(8),
        "uint8_t" => unsigned(8),
        other => integer_type(other),
    }
}

fn alias(names: &mut Names, name: &Spanned<String>, kind: AliasKind, target: &Spanned<String>) -> Result<(), Refusal> {
    if names.get(&name.node).is_some() {
        return Err(twice(name));
    }
    let Some(entry) = names.get(&target.node) else {
        let message = format!("`{}` aliases `{}`, which is not declared before it", name.node, target.node);
        let help = format!("declare `{} = 0;` first", target.node);
        return Err(Refusal::Error(Diagnostic::error(target.span, message).label("not declared").help(help)));
    };
    if entry.length.is_some() {
        return Err(Refusal::Unsupported(target.span, format!("an alias of the array `{}`", target.node)));
    }
    let sharing = if kind == AliasKind::Generic { Sharing::LocationOnly } else { Sharing::VirtualAddress };
    names.alias(&name.node, entry, sharing);
    Ok(())
}

fn initial_register(
    names: &mut Names,
    thread: &mut ThreadBuilder,
    register: &Spanned<String>,
    value: &Spanned<InitialValue>,
    ty: Option<Type>,
) -> Result<(), Refusal> {
    let initial = match &value.node {
        InitialValue::Integer(integer) => Initial::Value(Value(*integer)),
        InitialValue::Name(name) => Initial::Address(names.address(name, 0, value.span)?),
    };
    let id = thread.register(&register.node, ty.unwrap_or(Type::UNTYPED));
    if thread.is_initialised(id) {
        return if thread.initial(id) == initial { Ok(()) } else { Err(twice(register)) };
    }
    thread.set_initial(id, initial, value.span);
    Ok(())
}

fn typed(
    threads: &mut [ThreadBuilder],
    thread: Option<u32>,
    register: &Spanned<String>,
    ty: &Spanned<String>,
    span: Span,
) -> Result<(), Refusal> {
    let Some(kind) = integer_type(&ty.node) else {
        return Err(Refusal::Unsupported(ty.span, format!("registers of type `.{}`", ty.node)));
    };
    let chosen: &mut [ThreadBuilder] = match thread {
        None => threads,
        Some(index) => std::slice::from_mut(builder(threads, index, span)?),
    };
    let family = register.node.strip_suffix('>').and_then(|name| name.split_once('<'));
    for builder in chosen {
        match family {
            // `%r<4>` only says which names exist and their type; those the code never names do not matter.
            Some((stem, _)) => builder.type_family(stem, kind),
            None => {
                builder.register(&register.node, kind);
            }
        }
    }
    Ok(())
}
