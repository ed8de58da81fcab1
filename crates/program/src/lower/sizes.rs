//! The type of each location. The model's unit is one scalar per location (PTX ISA 8.2.4): the declared type or else that
//! of the first access; an access of another size is a mixed-size program, which no axiom covers (PTX ISA 8.7).

use std::collections::BTreeMap;

use fencepost_syntax::Span;

use crate::ids::LocationId;
use crate::lower::{Findings, Names, ThreadBuilder, misfit};
use crate::program::{AddressOperand, Operation, Unsupported};
use crate::value::Type;

pub(crate) fn settle(names: &mut Names, threads: &[ThreadBuilder], findings: &mut Findings) {
    let mut types: BTreeMap<LocationId, Type> =
        names.typed.iter().map(|&location| (location, names.locations[location.index()].ty)).collect();
    let mut mixed = BTreeMap::<LocationId, Span>::new();
    let mut dynamic = None;
    for instruction in threads.iter().flat_map(|thread| &thread.code) {
        let Some((address, ty)) = access(&instruction.operation) else { continue };
        let AddressOperand::Static(address) = address else {
            dynamic = dynamic.or(Some(ty));
            continue;
        };
        let location = names.addresses[address.index()].location;
        if types.entry(location).or_insert(ty).bits != ty.bits {
            mixed.entry(location).or_insert(instruction.span);
        }
    }
    for (index, location) in names.locations.iter_mut().enumerate() {
        let ty = types.get(&LocationId::new(index)).copied().or(dynamic).unwrap_or(Type::UNTYPED);
        location.ty = ty;
        if let Some(&span) = names.given.get(&LocationId::new(index)).filter(|_| !ty.fits(location.initial)) {
            findings.diagnostics.push(misfit(&location.initial.to_string(), ty, &location.name, span));
        }
        location.initial = ty.wrap(location.initial);
    }
    let name = |location: &LocationId| &names.locations[location.index()].name;
    let report = mixed.iter().map(|(location, span)| (*span, format!("mixed-size accesses to `{}`", name(location))));
    findings.unsupported.extend(report.map(|(span, what)| Unsupported { span, what }));
}

/// The address and type of a memory operation.
pub(super) fn access(operation: &Operation) -> Option<(&AddressOperand, Type)> {
    match operation {
        Operation::Load { address, ty, .. }
        | Operation::Store { address, ty, .. }
        | Operation::ReadModifyWrite { address, ty, .. } => Some((address, *ty)),
        _ => None,
    }
}
