//! Memory that keeps its initial values: `.param` and `.const` (PTX ISA 5.1.3, 5.1.6), and pointers that no thread writes.
//!
//! What a run reads of it is known at once, so that a kernel that takes its pointers and counts from parameters has one
//! trace. The read stays an event. That nothing writes a pointer, nor a host what kernels only read, is assumed, and looked at
//! when all threads have run.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::LocationId;
use crate::program::{LocationRole, Place, Program, Space};
use crate::unfolding::{EventKind, Unfolding};
use crate::value::Value;

#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    sure: SortedSet<LocationId>,
    assumed: SortedSet<LocationId>,
}

impl Constants {
    pub(crate) fn new(program: &Program) -> Constants {
        let addresses: SortedSet<Value> = program.addresses.iter().map(|address| address.value).collect();
        let has_host = program.threads.iter().any(|thread| thread.place == Place::Host);
        let mut constants = Constants::default();
        for (index, location) in program.locations.iter().enumerate() {
            let id = LocationId::new(index);
            if location.is_unknown {
                continue;
            }
            if matches!(location.space, Some(Space::Param | Space::Const)) {
                let known = if has_host { &mut constants.assumed } else { &mut constants.sure };
                known.insert(id);
            } else if location.role == LocationRole::Data && addresses.contains(&location.initial) {
                constants.assumed.insert(id);
            }
        }
        constants
    }

    pub(crate) fn contains(&self, location: LocationId) -> bool {
        self.sure.contains(&location) || self.assumed.contains(&location)
    }

    /// Takes back what turned out to be written, all of it if nothing came of it. False where nothing was.
    pub(crate) fn give_up(&mut self, unfolding: Option<&Unfolding>) -> bool {
        let before = self.assumed.len();
        match unfolding {
            None => self.assumed.clear(),
            Some(unfolding) => {
                for event in unfolding.events.iter().filter(|event| !event.is_init()) {
                    if let EventKind::Write { location, .. } = event.kind {
                        self.assumed.remove(&location);
                    }
                }
            }
        }
        self.assumed.len() < before
    }
}
