//! Where the addresses of tensor memory go: the words of shared memory that each `tcgen05.alloc` may write. What is loaded
//! from one of them is the address of an allocation, or what was there before; the unfolding tells the two apart.

use crate::ids::LocationId;
use crate::lower::builder::{BoxedBuilder, ThreadBuilder};
use crate::lower::cut::reach::{At, Reach, Reaches};
use crate::lower::names::Names;
use crate::program::asynchronous::Action;
use crate::program::{AddressOperand, Operation};

pub(crate) fn settle(names: &Names, threads: &mut [Box<ThreadBuilder>]) {
    let allocates = |thread: &BoxedBuilder| thread.code.iter().any(|code| destination(&code.operation).is_some());
    if !threads.iter().any(allocates) {
        return;
    }
    let reaches = Reaches::new(names, threads);
    for (index, thread) in threads.iter_mut().enumerate() {
        for (at, code) in thread.code.iter_mut().enumerate() {
            let Some(address) = destination(&code.operation) else { continue };
            let found = match reaches.address(names, At { thread: index, code: at }, address) {
                Reach::Values(values) => values.into_iter().filter_map(|value| location(names, value)).collect(),
                Reach::Within(variables) => {
                    let atoms = variables.into_iter().flat_map(|variable| &names.variables[variable.0].atoms);
                    atoms.map(|atom| atom.location).collect()
                }
            };
            if let Operation::Async(operation) = &mut code.operation
                && let Action::Allocate { slots, .. } = &mut operation.action
            {
                *slots = found;
            }
        }
    }
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

fn location(names: &Names, address: i128) -> Option<LocationId> {
    let (variable, offset) = names.at(address)?;
    names.variables[variable.0].atoms.iter().find(|atom| atom.offset == offset).map(|atom| atom.location)
}
