//! Which tensor memory each `tcgen05.alloc` gets: the k-th of a CTA, in the order of the text, the k-th that is declared.
//!
//! What shared memory holds before its first write is unknown but constant (PTX ISA 8.2.6). For the word that receives the
//! address of an allocation, and whose initial value the text does not say, that address is taken: any other value would
//! make a read that comes too early an access to nowhere, of which nothing can be said, where it is a data race.

use crate::asynchronous::Action;
use crate::ids::LocationId;
use crate::lower::{Names, ThreadBuilder};
use crate::program::{AddressOperand, Operation, Place, Space};
use crate::value::Value;

pub(super) fn settle(names: &mut Names, threads: &[ThreadBuilder]) {
    let mut places: Vec<Place> = threads.iter().map(|thread| thread.place).collect();
    places.sort();
    places.dedup();
    for place in places {
        let mut columns = columns(names, place).into_iter();
        for thread in threads.iter().filter(|thread| thread.place == place) {
            for destination in thread.code.iter().filter_map(|code| destination(&code.operation)) {
                let (Some(address), Some(location)) = (columns.next(), unsaid(names, thread, destination)) else {
                    continue;
                };
                let location = &mut names.locations[location.index()];
                location.initial = location.ty.wrap(Value(address));
            }
        }
    }
}

/// The addresses of the tensor memory of a CTA, as declared.
fn columns(names: &Names, place: Place) -> Vec<i128> {
    let is_own = |variable: &&crate::lower::names::Variable| {
        let space = names.by_name.get(&variable.name).and_then(|name| name.space.as_ref());
        variable.owner == Some(place) && matches!(space, Some((Space::TensorMemory, _)))
    };
    let mut bases: Vec<i128> = names.variables.iter().filter(is_own).map(|variable| variable.base).collect();
    bases.sort_unstable();
    bases
}

fn destination(operation: &Operation) -> Option<&AddressOperand> {
    match operation {
        Operation::Async(operation) => match &operation.action {
            Action::Allocate { destination, .. } => Some(destination),
            _ => None,
        },
        _ => None,
    }
}

/// The location at that address, if nothing says what it holds at the start.
fn unsaid(names: &Names, thread: &ThreadBuilder, address: &AddressOperand) -> Option<LocationId> {
    let address = match address {
        AddressOperand::Static(address) => *address,
        AddressOperand::Register(register) => thread.fixed_address(*register)?,
    };
    let (variable, offset) = names.at(names.value(address))?;
    if names.name_of(variable).given.is_some() {
        return None;
    }
    names.variables[variable.0].atoms.iter().find(|atom| atom.offset == offset).map(|atom| atom.location)
}
