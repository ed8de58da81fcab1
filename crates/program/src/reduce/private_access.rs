//! Memory and barriers that one thread has for itself.
//!
//! Where a CTA is modelled by one thread, its shared memory is as good as registers: nobody else can access it, and the
//! thread reads what it wrote last. So is its `bar.sync`, which nobody else comes to, no more than order in the thread. A
//! loop that takes a lock in the way compilers write it (one thread of the CTA tries, tells the others through shared
//! memory, all meet at a barrier, and go round again if it failed) has neither effect where the CTA is one thread: an
//! iteration that returns with this memory as it was is a spin (see `loops::spin`).
//!
//! That a thread reads what it wrote last is coherence, which every model of ours has; it is asked for together with what
//! `silent_updates` asks for. Anything that reaches the memory beside the thread (a copy, another proxy, a cluster, a second
//! kernel) and this is not for the program.

use crate::ids::{AddressId, EventId, LocationId};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::EventKind;
use crate::value::expression::Expression;

impl Runner<'_> {
    fn own_location(&self, target: AddressId) -> Option<LocationId> {
        let location = self.program.addresses[target.index()].location;
        self.alone.locations.contains(&location).then_some(location)
    }

    /// Whether a store to these changes nothing that another thread can see.
    pub(crate) fn is_own(&self, targets: &[AddressId]) -> bool {
        targets.iter().all(|target| self.own_location(*target).is_some())
    }

    pub(crate) fn is_own_write(&self, event: EventId) -> bool {
        match self.unfolding.events[event.index()].kind {
            EventKind::Write { location, .. } => self.alone.locations.contains(&location),
            _ => false,
        }
    }

    /// Whether it reads the thread's own memory, which is state like a register: it may be written again later in the
    /// iteration, so that a thread that spins need not read what is last.
    pub(crate) fn is_own_read(&self, event: EventId) -> bool {
        match self.unfolding.events[event.index()].kind {
            EventKind::Read { location, .. } => self.alone.locations.contains(&location),
            _ => false,
        }
    }

    /// The thread wrote it, and will read it.
    pub(crate) fn note_own_write(&self, state: &mut State, target: AddressId, write: EventId) {
        if let (Some(location), EventKind::Write { value, .. }) =
            (self.own_location(target), &self.unfolding.events[write.index()].kind)
        {
            state.own.values.insert(location, value.clone());
        }
    }

    /// The thread reads what it wrote.
    pub(crate) fn note_own_read(&self, state: &mut State, target: AddressId, read: EventId) {
        let value = self.own_location(target).and_then(|location| state.own.values.get(&location));
        match value.map(|value| fold::substitute(value, &state.known)) {
            Some(Expression::Constant(value)) => {
                state.known.insert(read, value);
            }
            Some(Expression::Read(source)) => {
                state.own.copies.insert(read, source);
            }
            _ => {}
        }
    }

    /// The reads that returned what this one did, as far as it is a copy.
    pub(crate) fn copies_of(&self, state: &State, read: EventId) -> Vec<EventId> {
        std::iter::successors(state.own.copies.get(&read), |read| state.own.copies.get(read)).copied().collect()
    }
}
