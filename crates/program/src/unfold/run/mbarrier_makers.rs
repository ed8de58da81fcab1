//! What other threads do to mbarriers that is no strong operation (see `mbarrier_wait`).

use crate::ids::ThreadId;
use crate::program::{AddressOperand, Operation, Program};
use crate::tag::Tag;

/// What other threads do to mbarriers that is no strong operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Makers {
    None,
    /// `init` only, and nobody initialises an object twice.
    Initialise,
    Any,
}

/// A store of a thread to an mbarrier that is no strong operation.
pub(crate) struct MbarrierStore {
    thread: ThreadId,
    is_init: bool,
    address: AddressOperand,
}

/// Those of a program.
pub(crate) fn mbarrier_stores(program: &Program) -> Vec<MbarrierStore> {
    let mut found = Vec::new();
    for (index, thread) in program.threads.iter().enumerate() {
        let thread_id = ThreadId::new(index);
        found.extend(thread.code.iter().filter_map(|code| match &code.operation {
            Operation::Store { tags, address, .. } if tags.has(Tag::Mbarrier) => {
                let (is_init, address) = (tags.has(Tag::MbarrierInit), address.clone());
                Some(MbarrierStore { thread: thread_id, is_init, address })
            }
            _ => None,
        }));
    }
    found
}

impl Makers {
    pub(crate) fn new(program: &Program, own: ThreadId, stores: &[MbarrierStore]) -> Makers {
        let (own, stores): (Vec<&MbarrierStore>, Vec<&MbarrierStore>) =
            stores.iter().partition(|store| store.thread == own);
        // Its own are ordered with its waits, but are one more initialisation where another thread has one.
        let own = own.into_iter().filter(|store| store.is_init);
        let inits: Vec<&AddressOperand> = stores.iter().copied().chain(own).map(|store| &store.address).collect();
        let is_twice = |(at, address): (usize, &&AddressOperand)| {
            matches!(address, AddressOperand::Static(_)) && inits.iter().skip(at + 1).any(|other| other == address)
        };
        let once = !inits.iter().enumerate().any(is_twice);
        let is_mbarrier =
            |location: &&crate::program::Location| location.role == crate::program::LocationRole::Mbarrier;
        let objects = program.locations.iter().filter(is_mbarrier).count();
        match stores.as_slice() {
            [] => Makers::None,
            stores if stores.iter().all(|store| store.is_init) && once && inits.len() <= objects => Makers::Initialise,
            _ => Makers::Any,
        }
    }
}
