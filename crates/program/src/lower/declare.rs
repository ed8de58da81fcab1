//! The `{ … }` block: initial values, typed registers, arrays, aliases.

use std::collections::BTreeMap;

use fencepost_syntax::litmus::{AliasKind, Declaration, Dialect, InitialValue, Litmus, LocationType};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::ThreadId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::{Findings, Refusal};
use crate::lower::memory::{pointers, spaces};
use crate::lower::names::{LONGEST_ARRAY, Made, Names, Viewer, stem};
use crate::lower::threads_there;
use crate::program::{Content, Feature, Initial, LocationRole, Place, Space, Version};
use crate::table::modifier::bits_type;
use crate::table::x86::place::{self, canonical};
use crate::tag::Tag;
use crate::value::{Type, Value};

/// The version the text names, else the newest. One that is newer still is taken as the newest, with a warning.
pub(crate) fn version(litmus: &Litmus, findings: &mut Findings) -> Version {
    let mut named = litmus.declarations.iter().filter_map(|found| match found.node {
        Declaration::Version { major, minor } => Some((Version { major, minor }, found.span)),
        _ => None,
    });
    let Some((version, span)) = named.next() else { return Version::NEWEST };
    if let Some((other, span)) = named.find(|(other, _)| *other != version) {
        let message = format!("a second `.version`: {}.{}", other.major, other.minor);
        findings.diagnostics.push(Diagnostic::error(span, message).help("keep one of them"));
    }
    if version > Version::NEWEST {
        let Version { major, minor } = Version::NEWEST;
        let message = format!("this version is newer than the rules here: those of {major}.{minor} are used");
        findings.diagnostics.push(Diagnostic::warning(span, message));
        return Version::NEWEST;
    }
    version
}

pub(crate) fn declare(litmus: &Litmus, names: &mut Names, threads: &mut [Box<ThreadBuilder>], findings: &mut Findings) {
    // Locations first: `P0:%rd1 = x` may stand before `x = 0`.
    let (mut locations, others): (Vec<_>, Vec<_>) = litmus
        .declarations
        .iter()
        .partition(|declaration| matches!(declaration.node, Declaration::Location { .. } | Declaration::Alias { .. }));
    // A map may stand before the tensor it describes.
    locations.shared_sort_by_key(|declaration| {
        matches!(&declaration.node, Declaration::Location { ty: Some(ty), .. } if ty.node.name == "tensormap")
    });
    leave_out_repeated(&mut locations);
    let shared = spaces::shared_by_use(litmus);
    for declaration in forward_last(locations).into_iter().chain(others) {
        let result = match &declaration.node {
            Declaration::Location { name, is_persistent, space, ty, value } => {
                if *is_persistent {
                    findings.feature(Feature::Persistence, declaration.span);
                    names.persistent.insert(name.node.clone(), declaration.span);
                }
                let space = match (space, shared.get(&name.node)) {
                    (Some(word), _) => spaces::space(word).map(|space| (space, "its declaration".to_string())),
                    (None, by) => by.map(|by| (Space::Shared, by.clone())),
                };
                location(names, name, space, ty.as_ref(), value.as_ref())
            }
            Declaration::Alias { name, kind, target } => {
                findings.feature(Feature::Proxy, declaration.span);
                alias(names, name, *kind, target)
            }
            Declaration::Multimem { name, replicas } => {
                findings.feature(Feature::Multimem, declaration.span);
                multimem(names, name, replicas)
            }
            Declaration::Register { thread, register, value } => {
                builder(threads, *thread, declaration.span).and_then(|builder| {
                    let whole = Spanned::new(register_name(builder.dialect, &register.node), register.span);
                    let value = Spanned::new(part_value(builder.dialect, &register.node, &value.node), value.span);
                    initial_register(names, builder, &whole, &value, register_type(builder.dialect))
                })
            }
            Declaration::Launch { .. } | Declaration::Stream { .. } | Declaration::Event { .. } => Ok(()),
            // Which rules hold follows from the version; a target is for lints.
            Declaration::Version { .. } | Declaration::Target { .. } => Ok(()),
            Declaration::TypedRegister { thread, register, ty } => {
                typed(threads, *thread, register, ty, declaration.span)
            }
        };
        if let Err(refusal) = result {
            findings.refuse(refusal);
        }
    }
    pointers::settle(litmus, names, findings);
    for (name, by) in shared {
        if names.get(&name).is_none() {
            names.shared_by_use.insert(name, by);
        }
    }
}

/// A value may be the name of a location that is declared later.
fn forward_last(locations: Vec<&Spanned<Declaration>>) -> Vec<&Spanned<Declaration>> {
    let mut known = SortedSet::new();
    let (backward, forward): (Vec<_>, Vec<_>) =
        locations.into_iter().partition(|declaration| match &declaration.node {
            Declaration::Location { name, value, .. } => {
                let other = match value.as_ref().map(|value| &value.node) {
                    Some(InitialValue::Name(other)) => Some(stem(other)),
                    _ => None,
                };
                let is_known = other.is_none_or(|other| known.contains(other));
                known.insert(name.node.as_str());
                is_known
            }
            Declaration::Alias { name, .. } => {
                known.insert(name.node.as_str());
                true
            }
            _ => true,
        });
    backward.into_iter().chain(forward).collect()
}

/// Registers of the untyped dialects hold integers.
fn register_type(dialect: Dialect) -> Option<Type> {
    match dialect {
        Dialect::Dartagnan | Dialect::NvLitmus => Some(Type::UNTYPED),
        Dialect::Ptx | Dialect::X86 | Dialect::C => None,
    }
}

/// x86 keeps all widths of a register under one name.
fn register_name(dialect: Dialect, name: &str) -> String {
    if dialect == Dialect::X86 { canonical(name).into_owned() } else { name.to_string() }
}

/// The whole register of x86 whose part is given: its other bits are 0, so that `0:eax = -1` is `0:rax = 0xffffffff`.
fn part_value(dialect: Dialect, name: &str, value: &InitialValue) -> InitialValue {
    let is_x86 = dialect == Dialect::X86;
    let part = is_x86.then(|| place::register_type(name)).flatten().filter(|ty| ty.bits < 64);
    match (part, value) {
        (Some(ty), InitialValue::Integer(integer)) if ty.fits(Value(*integer)) => {
            InitialValue::Integer(Type { signed: false, ..ty }.wrap(Value(*integer)).0 << place::shift(name))
        }
        _ => value.clone(),
    }
}

fn builder(threads: &mut [Box<ThreadBuilder>], index: u32, span: Span) -> Result<&mut Box<ThreadBuilder>, Refusal> {
    let count = threads.len();
    threads.get_mut(index as usize).ok_or_else(|| {
        let help = threads_there(count);
        Refusal::Error(Diagnostic::error(span, format!("there is no thread P{index}")).help(help))
    })
}

/// The elements of an array of any number of dimensions; None: no array.
fn whole_length(
    name: &Spanned<String>,
    ty: Option<&Spanned<LocationType>>,
    inner: &[u32],
) -> Result<Option<u32>, Refusal> {
    let whole = |length: u32| inner.iter().try_fold(length, |all, length| all.checked_mul(*length)).unwrap_or(0);
    let length = ty.and_then(|ty| ty.node.length).map(whole);
    if length.is_some_and(|length| length == 0 || length > LONGEST_ARRAY) {
        return Err(Refusal::Unsupported(name.span, format!("the array `{}` of that length", name.node)));
    }
    Ok(length)
}

fn location(
    names: &mut Names,
    name: &Spanned<String>,
    space: Option<(Space, String)>,
    ty: Option<&Spanned<LocationType>>,
    value: Option<&Spanned<InitialValue>>,
) -> Result<(), Refusal> {
    let role = match ty.map(|ty| ty.node.name.as_str()) {
        Some("mbarrier") => LocationRole::Mbarrier,
        Some("tensormap") => LocationRole::TensorMap,
        _ => LocationRole::Data,
    };
    let is_pointer = match value.map(|value| &value.node) {
        Some(InitialValue::Name(_)) => is_pointer(ty),
        Some(InitialValue::Address(_)) => role == LocationRole::Data,
        Some(InitialValue::List(values)) => values.iter().any(|value| matches!(value.node, InitialValue::Address(_))),
        _ => false,
    };
    let role_of_value = if is_pointer { Holds::Address } else { Holds::of(role) };
    let initial = match initial_value(names, name, role_of_value, value) {
        // The name is declared all the same.
        Err(refusal @ Refusal::Unsupported(..)) => {
            return location(names, name, space, ty, None).and(Err(refusal));
        }
        initial => initial?,
    };
    let inner: Vec<u32> = ty.map(|ty| ty.node.inner.clone()).unwrap_or_default();
    let length = whole_length(name, ty, &inner)?;
    let scalar = match ty {
        Some(ty) if role == LocationRole::Data => Some(
            location_type(&ty.node.name)
                .ok_or_else(|| Refusal::Unsupported(ty.span, format!("the type `{}`", ty.node.name)))?,
        ),
        Some(_) => Some(Type::U64),
        None => None,
    };
    let elements = elements(name, length, role, value)?;
    let content = ty.map_or(Content::Integer, |ty| content(&ty.node.name));
    if let Some((space, _)) = &space {
        check_space(*space, role, name, ty)?;
    }
    let given = value.map(|value| value.span);
    // A second declaration of a name may give the value that the first did not (`int x; x = 1;`).
    match names.get_mut(&name.node) {
        Some(entry) if scalar.is_none() && value.is_some() && entry.given.is_none() => {
            (entry.initial, entry.given) = (initial, given);
            entry.space = entry.space.take().or(space);
            Ok(())
        }
        // Public tests repeat themselves; only a contradiction is a mistake.
        Some(entry) if scalar.is_none() && initial == entry.initial && value.is_some() => Ok(()),
        Some(_) => Err(twice(name)),
        None => {
            let (ty, span) = (scalar, name.span);
            let made = Made { ty, content, length, inner, space, role, initial, elements, is_pointer, given, span };
            names.declare(&name.node, made).map(|_| ())
        }
    }
}

/// The initial value that a declaration gives; 0 if it gives none, or an unknown one.
fn initial_value(
    names: &mut Names,
    name: &Spanned<String>,
    holds: Holds,
    value: Option<&Spanned<InitialValue>>,
) -> Result<Value, Refusal> {
    Ok(match value.map(|value| (&value.node, value.span)) {
        // An address may be that of a name that is declared later.
        None | Some((InitialValue::List(_) | InitialValue::Address(_), _)) => Value(0),
        Some((InitialValue::Integer(integer), _)) => Value(*integer),
        Some((InitialValue::Unknown, span)) => {
            if matches!(holds, Holds::Map | Holds::Object) {
                let message = format!("`{}` is no data: it has no unknown value", name.node);
                return Err(Refusal::Error(Diagnostic::error(span, message).help("leave the value out")));
            }
            names.unknown.insert(name.node.clone());
            Value(0)
        }
        Some((InitialValue::Name(other), span)) if holds == Holds::Data && names.unknown.contains(other) => {
            names.unknown.insert(name.node.clone());
            names.copies.insert(name.node.clone(), Spanned::new(other.clone(), span));
            Value(0)
        }
        Some((InitialValue::Name(other), span)) if matches!(holds, Holds::Address | Holds::Map) => {
            if names.get(other).is_none() {
                return Err(names.unknown(other, span));
            }
            let viewer = Viewer { thread: ThreadId(0), place: Place::Host };
            let address = names.address(other, 0, viewer, span)?;
            Value(names.value(address))
        }
        Some((InitialValue::Name(other), span)) => {
            let entry = names.get(other).ok_or_else(|| names.unknown(other, span))?;
            if !entry.elements.is_empty() {
                return Err(Refusal::Unsupported(span, format!("a copy of the array `{other}`")));
            }
            entry.initial
        }
    })
}

/// What the initial value of a name is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Holds {
    /// A number; of another name, a copy of its value.
    Data,
    /// The address of another name.
    Address,
    /// The address of the tensor a map describes.
    Map,
    /// Something of its own: no unknown value.
    Object,
}

impl Holds {
    fn of(role: LocationRole) -> Holds {
        match role {
            LocationRole::Data => Holds::Data,
            LocationRole::TensorMap => Holds::Map,
            LocationRole::Mbarrier => Holds::Object,
        }
    }
}

/// `uint64_t* p`.
fn is_pointer(ty: Option<&Spanned<LocationType>>) -> bool {
    ty.is_some_and(|ty| ty.node.name.ends_with('*'))
}

/// The number of a list's element; addresses come later.
fn integer(value: &InitialValue) -> i128 {
    if let InitialValue::Integer(value) = value { *value } else { 0 }
}

/// The list of an array's initial values.
fn elements(
    name: &Spanned<String>,
    length: Option<u32>,
    role: LocationRole,
    value: Option<&Spanned<InitialValue>>,
) -> Result<Vec<Value>, Refusal> {
    let Some((InitialValue::List(values), span)) = value.map(|value| (&value.node, value.span)) else {
        return Ok(Vec::new());
    };
    let wrong = |message: String, help: &str| Err(Refusal::Error(Diagnostic::error(span, message).help(help)));
    if role != LocationRole::Data {
        return wrong(format!("`{}` is no data: it has no list of values", name.node), "leave the values out");
    }
    match length.map(|length| length as usize) {
        None => wrong(format!("`{}` is no array", name.node), "give one value, or a length: `int x[2] = {1, 2}`"),
        Some(length) if values.len() > length => {
            wrong(format!("{} values for the {length} elements of `{}`", values.len(), name.node), "leave some out")
        }
        Some(_) => Ok(values.iter().map(|value| Value(integer(&value.node))).collect()),
    }
}

fn check_space(
    space: Space,
    role: LocationRole,
    name: &Spanned<String>,
    ty: Option<&Spanned<LocationType>>,
) -> Result<(), Refusal> {
    let wrong = |what: &str, help: &str| {
        let message = format!("`{}` is {what}", name.node);
        Err(Refusal::Error(Diagnostic::error(name.span, message).help(help)))
    };
    match (space, role) {
        (Space::Shared, LocationRole::Mbarrier) => Ok(()),
        (_, LocationRole::Mbarrier) => wrong("an mbarrier outside shared memory", "write `.shared .mbarrier`"),
        // In shared memory a map is changed, and copied to global memory for use.
        (Space::Local | Space::TensorMemory, LocationRole::TensorMap) => {
            wrong("a tensor map in memory that cannot hold one", "write `.global .tensormap` (or `.const`, `.param`)")
        }
        (Space::TensorMemory, _) if ty.is_none_or(|ty| location_type(&ty.node.name).is_none_or(|ty| ty.bits != 32)) => {
            wrong("tensor memory of no 32-bit type", "a column is 32 bits wide: write `.tmem .b32`")
        }
        _ => Ok(()),
    }
}

fn leave_out_repeated(locations: &mut Vec<&Spanned<Declaration>>) {
    let mut seen: BTreeMap<&str, Vec<&Declaration>> = BTreeMap::new();
    locations.retain(|declaration| {
        let Declaration::Location { name, .. } = &declaration.node else { return true };
        let same = seen.entry(&name.node).or_default();
        let is_repeated = same.iter().any(|other| repeats(other, &declaration.node));
        if !is_repeated {
            same.push(&declaration.node);
        }
        !is_repeated
    });
}

/// Threads of one kernel, each with the text of it, declare the same variable.
fn repeats(one: &Declaration, other: &Declaration) -> bool {
    let (
        Declaration::Location { name, space: space @ Some(_), ty: Some(ty), value: None, .. },
        Declaration::Location { name: again, space: same, ty: Some(like), value: None, .. },
    ) = (one, other)
    else {
        return false;
    };
    name.node == again.node && space == same && ty.node == like.node
}

fn twice(name: &Spanned<String>) -> Refusal {
    let error = Diagnostic::error(name.span, format!("`{}` is declared twice", name.node));
    Refusal::Error(error.label("declared before").help("keep one of the declarations"))
}

/// PTX's integer types and C's, the latter as on the LP64 systems CUDA runs on.
/// What the values of a declared type are.
fn content(name: &str) -> Content {
    match name {
        "float" | "double" | "f16" | "bf16" | "f16x2" | "bf16x2" | "f32" | "tf32" | "f64" => Content::Float,
        _ => Content::Integer,
    }
}

fn location_type(name: &str) -> Option<Type> {
    let signed = |bits| Some(Type { bits, signed: true });
    let unsigned = |bits| Some(Type { bits, signed: false });
    match name {
        "int" | "int32_t" | "signed" | "atomic_int" => signed(32),
        "unsigned" | "unsigned int" | "uint32_t" | "atomic_uint" => unsigned(32),
        "long" | "atomic_long" | "int64_t" | "long long" | "intptr_t" => signed(64),
        "unsigned long" | "atomic_ulong" | "uint64_t" | "size_t" | "uintptr_t" => unsigned(64),
        "short" | "int16_t" => signed(16),
        "uint16_t" => unsigned(16),
        "char" | "int8_t" => signed(8),
        "uint8_t" => unsigned(8),
        "float" => unsigned(32),
        "double" => unsigned(64),
        pointer if pointer.ends_with('*') => unsigned(64),
        other => bits_type(other),
    }
}

fn alias(names: &mut Names, name: &Spanned<String>, kind: AliasKind, target: &Spanned<String>) -> Result<(), Refusal> {
    if names.get(&name.node).is_some() {
        return Err(twice(name));
    }
    if names.get(&target.node).is_none() {
        let message = format!("`{}` aliases `{}`, which is not declared before it", name.node, target.node);
        let help = format!("declare `{} = 0;` first", target.node);
        return Err(Refusal::Error(Diagnostic::error(target.span, message).label("not declared").help(help)));
    }
    let proxy = match kind {
        AliasKind::Generic => None,
        AliasKind::Texture => Some(Tag::Texture),
        AliasKind::Surface => Some(Tag::Surface),
        AliasKind::Constant => Some(Tag::Constant),
    };
    names.alias(&name.node, target, proxy)
}

/// An address of all replicas: an alias of each.
fn multimem(names: &mut Names, name: &Spanned<String>, replicas: &[Spanned<String>]) -> Result<(), Refusal> {
    if names.get(&name.node).is_some() || names.multimem.contains_key(&name.node) {
        return Err(twice(name));
    }
    let mut addresses: Vec<String> = Vec::new();
    for replica in replicas {
        let address = format!("{}({})", name.node, replica.node);
        if addresses.contains(&address) {
            return Err(twice(replica));
        }
        let Some(entry) = names.get(&replica.node) else {
            return Err(names.unknown(&replica.node, replica.span));
        };
        if !matches!(entry.space, None | Some((Space::Global, _))) || entry.role != LocationRole::Data {
            let message = format!("`{}` is no data in global memory", replica.node);
            return Err(Refusal::Error(Diagnostic::error(replica.span, message).label("no replica")));
        }
        names.alias(&address, replica, None)?;
        addresses.push(address);
    }
    names.multimem.insert(name.node.clone(), addresses);
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
        InitialValue::Name(name) => Initial::Address(names.address(name, 0, thread.viewer(), value.span)?),
        InitialValue::Address(address) => {
            Initial::Address(pointers::address(names, address, thread.viewer(), value.span)?)
        }
        InitialValue::List(_) => {
            return Err(Refusal::error(value.span, "a register holds one value"));
        }
        InitialValue::Unknown => {
            return Err(Refusal::Unsupported(value.span, "a register with an unknown initial value".to_string()));
        }
    };
    let id = thread.register(&register.node, ty.unwrap_or(Type::UNTYPED));
    if thread.is_initialised(id) {
        return if thread.initial(id) == initial { Ok(()) } else { Err(twice(register)) };
    }
    thread.set_initial(id, initial, value.span);
    Ok(())
}

fn typed(
    threads: &mut [Box<ThreadBuilder>],
    thread: Option<u32>,
    register: &Spanned<String>,
    ty: &Spanned<String>,
    span: Span,
) -> Result<(), Refusal> {
    let unsupported = |ty: &Spanned<String>| Refusal::Unsupported(ty.span, format!("registers of type `.{}`", ty.node));
    if let Some(index) = thread {
        let builder = builder(threads, index, span)?;
        if builder.dialect == Dialect::X86 {
            // diy's `uint64_t 0:rax;`: the name of a register says its width already.
            location_type(&ty.node).ok_or_else(|| unsupported(ty))?;
            builder.register(&canonical(&register.node), Type::UNTYPED);
            return Ok(());
        }
    }
    let kind = bits_type(&ty.node).ok_or_else(|| unsupported(ty))?;
    let chosen: &mut [Box<ThreadBuilder>] = match thread {
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
