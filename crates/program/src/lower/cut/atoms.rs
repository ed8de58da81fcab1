//! Locations and addresses out of a cut (see [`crate::lower::cut`]): names, types and initial values of each atom.

use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{AddressId, LocationId};
use crate::lower::cut::uses::{Cut, Scalar, Uses, bytes, element_name, element_type};
use crate::lower::memory::layout::LANES;
use crate::lower::names::{Atom, Instance, Name, Names, Sharing, VariableId};
use crate::program::{Address, Location, LocationRole, Space};
use crate::value::mbarrier;
use crate::value::{Type, Value};

/// The widest scalar (`.b128`).
const WIDEST: i128 = 16;

pub(crate) fn make(names: &mut Names, cut: &Cut) {
    let mut order: Vec<usize> = (0..names.variables.len()).filter(|id| names.variables[*id].target.is_none()).collect();
    order.shared_sort_by_key(|id| names.variables[*id].order);
    let mut locations = std::mem::take(&mut names.locations);
    locations.reserve(order.len());
    for id in order {
        names.variables[id].atoms = variable(names, VariableId(id), cut, &mut locations);
    }
    names.locations = locations;
    for id in 0..names.variables.len() {
        if let Some((target, _)) = names.variables[id].target {
            names.variables[id].atoms = names.variables[target.0].atoms.clone();
        }
    }
    addresses(names);
}

/// The atoms of a variable; their locations come behind those that are there.
fn variable(names: &Names, id: VariableId, cut: &Cut, locations: &mut Vec<Location>) -> Vec<Atom> {
    let variable = &names.variables[id.0];
    let entry = names.name_of(id);
    let uses = cut.uses(variable.name_id);
    let size = bytes(entry, uses, cut.fallback);
    let edges = cut.edges(variable.name_id).iter().as_slice();
    // Without a size: elements as they are declared.
    let count = match size {
        Some(_) => edges.len().saturating_sub(1),
        None => entry.length.unwrap_or(1) as usize,
    };
    let span = |index: usize| match size {
        Some(_) => (edges[index], edges[index + 1] - edges[index]),
        None => (index as i128 * entry.step, 0),
    };
    let is_only = count == 1;
    let mut atoms = Vec::with_capacity(count);
    for (offset, bytes) in (0..count).map(span) {
        atoms.push(Atom { offset, bytes, location: LocationId::new(locations.len()) });
        let role = match uses {
            Some(uses) if uses.objects.contains(&offset) => LocationRole::Mbarrier,
            _ => entry.role,
        };
        let (ty, initial) = content(entry, uses, cut.fallback, (offset, bytes, role));
        let is_element = bytes == 0 || (bytes == entry.step && offset % entry.step == 0 && entry.length.is_some());
        let name = match (is_element, is_only) {
            (true, _) => element_name(&variable.shown, entry, offset),
            (_, true) => variable.shown.clone(),
            _ => format!("{}+{offset}", variable.shown).into(),
        };
        let space = entry.space.as_ref().map(|(space, _)| *space);
        let ends_tile = entry.tile().is_some_and(|tile| tile > 0 && (offset + bytes) % tile == 0);
        let bytes = match space {
            Some(Space::TensorMemory) => i128::from(ty.bits / 8),
            _ => bytes,
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let is_unknown =
            role == LocationRole::Data && !names.unknown.is_empty() && names.unknown.contains(&*variable.name);
        let thread = match variable.order.1 {
            Instance::Thread(thread) => Some(thread),
            Instance::Only | Instance::Cta(_) => None,
        };
        let element = u32::try_from(entry.step).unwrap_or(0);
        let (owner, shape, content) = (variable.owner, entry.inner.clone(), entry.content);
        locations.push(Location {
            name,
            initial,
            ty,
            bytes,
            space,
            owner,
            thread,
            role,
            is_unknown,
            is_given: entry.given.is_some() && !is_unknown,
            is_persistent: !names.persistent.is_empty() && names.persistent.contains_key(&*variable.name),
            copy_of: None,
            content,
            shape,
            element,
            ends_tile,
        });
    }
    atoms
}

/// The type and initial value of an atom.
fn content(
    entry: &Name,
    uses: Option<&Uses>,
    fallback: Option<Type>,
    (offset, bytes, role): (i128, i128, LocationRole),
) -> (Type, Value) {
    match role {
        LocationRole::Mbarrier if entry.role == role && entry.given.is_some() => {
            return (Type::UNTYPED, initialised(entry.initial));
        }
        LocationRole::Mbarrier => {
            // Bytes that become an mbarrier hold data before.
            let width = element_type(entry, uses, fallback).map_or(8, |ty| i128::from(ty.bits / 8));
            return (Type::UNTYPED, initial_bytes(entry, (offset, bytes), width));
        }
        LocationRole::TensorMap => return (Type::UNTYPED, entry.initial),
        LocationRole::Data => {}
    }
    let element = element_type(entry, uses, fallback).unwrap_or(Type::UNTYPED);
    let width = i128::from(element.bits / 8);
    let is_columns = matches!(entry.space, Some((Space::TensorMemory, _)));
    if is_columns || bytes == 0 || (bytes == width && offset % width == 0) {
        let step = if bytes == 0 {
            entry.step
        } else if is_columns {
            1
        } else {
            width
        };
        return (element, element.wrap(entry.initial_at(offset / step.max(1))));
    }
    let inside = |scalar: &Scalar| {
        let whole = i128::from(scalar.ty.bits / 8);
        let at = scalar.offset.unwrap_or(offset - offset % whole.max(1));
        at <= offset && offset + bytes <= at + whole
    };
    let is_scalar = uses.is_some_and(|uses| uses.scalars.iter().any(inside));
    if !is_scalar && bytes > 8 || bytes > WIDEST {
        // Opaque: what it holds is told apart from nothing, and stands for the sum of its elements.
        let elements = (offset / width.max(1)..(offset + bytes) / width.max(1)).map(|at| entry.initial_at(at).0);
        return (Type::UNTYPED, Value(elements.fold(0, i128::wrapping_add)));
    }
    let exact = |scalar: &&Scalar| scalar.offset == Some(offset) && i128::from(scalar.ty.bits / 8) == bytes;
    let unsigned = Type { bits: u8::try_from(bytes * 8).unwrap_or(128), signed: false };
    let ty = uses.and_then(|uses| uses.scalars.iter().find(exact)).map_or(unsigned, |scalar| scalar.ty);
    (ty, ty.wrap(initial_bytes(entry, (offset, bytes), width)))
}

/// Bytes of the elements an atom lies in, the lowest first.
fn initial_bytes(entry: &Name, (offset, bytes): (i128, i128), width: i128) -> Value {
    let width = width.max(1);
    let byte = |at: i128| (entry.initial_at(at / width).0 >> (8 * (at % width)).min(127)) & 0xff;
    Value((0..bytes).rev().fold(0i128, |value, index| value.wrapping_shl(8) | byte(offset + index)))
}

/// An mbarrier that is initialised before the start.
fn initialised(count: Value) -> Value {
    mbarrier::State::init(count.0).pack()
}

/// Settles what each address taken so far is, and gives every atom one. The addresses of a variable's atoms follow each
/// other; where those taken do not, new ones stand for them.
fn addresses(names: &mut Names) {
    // By variable: the address of its first atom.
    let mut runs: Vec<AddressId> = Vec::with_capacity(names.variables.len());
    let mut next = names.taken.len();
    for (index, variable) in names.variables.iter().enumerate() {
        let id = VariableId(index);
        let first = variable.first.index();
        let is_run = (variable.atoms.iter().enumerate())
            .all(|(at, atom)| names.taken.get(first + at) == Some(&(id, atom.offset)));
        let run = if is_run {
            first
        } else {
            next += variable.atoms.len();
            next - variable.atoms.len()
        };
        runs.push(AddressId::new(run));
    }
    let mut made: Vec<Address> = Vec::with_capacity(next);
    made.extend(names.taken.iter().map(|(variable, offset)| address(names, &runs, *variable, *offset)));
    for (index, variable) in names.variables.iter().enumerate() {
        if runs[index].index() >= names.taken.len() {
            made.extend(variable.atoms.iter().map(|atom| address(names, &runs, VariableId(index), atom.offset)));
        }
    }
    names.addresses = made;
}

fn address(names: &Names, runs: &[AddressId], id: VariableId, offset: i128) -> Address {
    let variable = &names.variables[id.0];
    // The lanes that an address in tensor memory counts are no columns.
    let is_columns = matches!(names.name_of(id).space, Some((Space::TensorMemory, _)));
    let column = if is_columns { offset & !LANES } else { offset };
    // They follow each other: the last one that begins here or before.
    let after = variable.atoms.partition_point(|atom| atom.offset <= column);
    let holds = |at: &usize| {
        let atom = &variable.atoms[*at];
        atom.bytes == 0 || column < atom.offset + atom.bytes
    };
    let at = after.checked_sub(1).filter(holds).unwrap_or(0);
    let atom = variable.atoms[at];
    let own = AddressId::new(runs[id.0].index() + at);
    let generic = match variable.target {
        Some((target, Sharing::VirtualAddress)) => AddressId::new(runs[target.0].index() + at),
        _ => own,
    };
    let name = match variable.target {
        Some(_) if variable.atoms.len() == 1 => variable.shown.clone(),
        Some(_) => format!("{}+{}", variable.shown, atom.offset).into(),
        None => names.locations[atom.location.index()].name.clone(),
    };
    let value = Value(variable.base + offset);
    let proxy = names.name_of(id).proxy;
    Address { name, location: atom.location, generic, value, canonical: own, within: column - atom.offset, proxy }
}
