//! Initial values that are about other names. Addresses, `.param .u64 p = &x` and `.global .u64 t[2] = {&x, &y+4}`, are
//! filled in when every location is declared, so that a list may point back to its head. A copy of an unknown value, `y = x`
//! where `x = ?`, is tied to the other when it is known which locations the two are.

use fencepost_syntax::litmus::{Declaration, InitialAddress, InitialValue, Litmus};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{AddressId, ThreadId};
use crate::lower::findings::{Findings, Refusal};
use crate::lower::names::{Name, Names, Viewer};
use crate::program::{LocationRole, Place, Space};
use crate::value::Value;

/// The address a declaration names, as this thread sees it.
pub(crate) fn address(
    names: &mut Names,
    address: &InitialAddress,
    viewer: Viewer,
    span: Span,
) -> Result<AddressId, Refusal> {
    let Some(entry) = names.get(&address.name) else { return Err(names.unknown(&address.name, span)) };
    let element = i128::from(address.element.unwrap_or(0)).saturating_mul(entry.step);
    names.address(&address.name, element.saturating_add(address.offset), viewer, span)
}

/// Gives locations the addresses they start with.
pub(crate) fn settle(litmus: &Litmus, names: &mut Names, findings: &mut Findings) {
    let declared = || {
        litmus.declarations.iter().filter_map(|declaration| match &declaration.node {
            Declaration::Location { name, value: Some(value), .. } => Some((name, value)),
            _ => None,
        })
    };
    for (name, value) in declared() {
        if let Err(refusal) = fill(names, name, value) {
            findings.refuse(refusal);
        }
    }
    // `q = p` is a copy of what `p` has just got.
    for (name, value) in declared() {
        let InitialValue::Name(other) = &value.node else { continue };
        let Some((initial, true)) = names.get(other).map(|other| (other.initial, other.is_pointer)) else { continue };
        let is_copy = |entry: &&mut Name| !entry.is_pointer && entry.role == LocationRole::Data;
        if let Some(entry) = names.get_mut(&name.node).filter(is_copy) {
            (entry.initial, entry.is_pointer) = (initial, true);
        }
    }
}

fn fill(names: &mut Names, name: &Spanned<String>, value: &Spanned<InitialValue>) -> Result<(), Refusal> {
    match &value.node {
        InitialValue::Address(address) => {
            let held = held(names, name, address, value.span)?;
            if let Some(entry) = names.get_mut(&name.node) {
                entry.initial = held;
            }
        }
        InitialValue::List(values) => {
            for (index, value) in values.iter().enumerate() {
                let InitialValue::Address(address) = &value.node else { continue };
                let held = held(names, name, address, value.span)?;
                let element = names.get_mut(&name.node).and_then(|entry| entry.elements.get_mut(index));
                if let Some(element) = element {
                    *element = held;
                }
            }
        }
        InitialValue::Integer(_) | InitialValue::Name(_) | InitialValue::Unknown => {}
    }
    Ok(())
}

/// The number of an address that a location holds.
fn held(names: &mut Names, name: &Spanned<String>, address: &InitialAddress, span: Span) -> Result<Value, Refusal> {
    let wrong = |message: String, help: &str| Refusal::Error(Diagnostic::error(span, message).help(help));
    let Some(entry) = names.id(&name.node).map(|id| names.name(id)) else { return Ok(Value(0)) };
    let narrow = entry.ty.map(|ty| ty.bits).filter(|bits| *bits < 64);
    if entry.role == LocationRole::Mbarrier {
        return Err(wrong(format!("`{}` is an mbarrier: its value is a count", name.node), "write `b = 2`"));
    }
    let Some(target) = names.get(&address.name) else { return Err(names.unknown(&address.name, span)) };
    let space = target.space.as_ref().map(|(space, _)| *space);
    if let Some(bits) = narrow
        && !matches!(space, Some(Space::Shared | Space::TensorMemory))
    {
        let message = format!("the {bits} bits of `{}` hold no address", name.node);
        return Err(wrong(message, "declare it with 64: `.param .u64 p = &x`"));
    }
    let place = match (space, names.layout.only_cta()) {
        (Some(Space::Local), _) | (Some(Space::Shared | Space::TensorMemory), None) => {
            let message = format!("there are several `{}`: which one is not said", address.name);
            return Err(wrong(message, "give its address to a register: `P0:%rd1 = s`"));
        }
        (_, only) => only.unwrap_or(Place::Host),
    };
    let id = self::address(names, address, Viewer { thread: ThreadId(0), place }, span)?;
    Ok(Value(names.value(id)))
}

/// Ties names with the value of an unknown one to that.
pub(crate) fn tie_copies(names: &mut Names, findings: &mut Findings) {
    for (name, other) in names.copies.clone() {
        let mut root = other.node.clone();
        for _ in 0..names.copies.len() {
            let Some(next) = names.copies.get(&root) else { break };
            root.clone_from(&next.node);
        }
        let one = |name: &str| {
            let variables: Vec<_> = names.variables.iter().filter(|variable| *variable.name == *name).collect();
            match variables.as_slice() {
                [variable] => Some(variable.atoms.as_slice()).filter(|atoms| atoms.len() == 1)?.first().copied(),
                _ => None,
            }
        };
        match (one(&name), one(&root)) {
            (Some(own), Some(source)) if own.bytes == source.bytes && own.location != source.location => {
                if let Some(location) = names.locations.get_mut(own.location.index()) {
                    location.copy_of = location.is_unknown.then_some(source.location);
                }
            }
            _ => {
                let what = format!("a copy of the unknown initial value of `{}`", other.node);
                findings.refuse(Refusal::Unsupported(other.span, what));
            }
        }
    }
}
