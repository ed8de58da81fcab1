//! Which locations are mbarriers: those that mbarrier operations reach. A declaration may say so too; `.b64 b` and an
//! `mbarrier.init` of it are as good (PTX ISA 9.7.15.16: an mbarrier is any eight aligned bytes of shared memory).
//!
//! The packed state is wider than 64 bits, so that such a location has no size: an access of another kind to it is then
//! one of another size, and refused.

use crate::asynchronous::{Action, Completion};
use crate::lower::{Names, ThreadBuilder};
use crate::program::{AddressOperand, LocationRole, Operation};
use crate::tag::Tag;
use crate::value::{Type, Value};

pub(crate) fn settle(names: &mut Names, threads: &[ThreadBuilder]) {
    for thread in threads {
        for address in thread.code.iter().filter_map(|code| object(&code.operation)) {
            let address = match address {
                AddressOperand::Static(address) => Some(*address),
                AddressOperand::Register(register) => thread.fixed_address(*register),
            };
            let Some(address) = address else { continue };
            // A computed address may be any element of its array.
            for sibling in names.siblings(address) {
                let location = names.addresses[sibling].location;
                names.typed.insert(location);
                let location = &mut names.locations[location.index()];
                if location.role != LocationRole::Mbarrier {
                    location.role = LocationRole::Mbarrier;
                    location.ty = Type::UNTYPED;
                    location.initial = Value(0);
                }
            }
        }
    }
}

/// The mbarrier an operation is about.
fn object(operation: &Operation) -> Option<&AddressOperand> {
    match operation {
        Operation::Store { address, tags, .. } | Operation::ReadModifyWrite { address, read_tags: tags, .. }
            if tags.has(Tag::Mbarrier) =>
        {
            Some(address)
        }
        Operation::MbarrierWait(wait) => Some(&wait.address),
        Operation::Async(operation) => match &operation.action {
            Action::Arrive(arrive) => Some(&arrive.mbarrier),
            Action::Start(start) => match &start.completion {
                Completion::Transaction { mbarrier, .. } => Some(mbarrier),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
