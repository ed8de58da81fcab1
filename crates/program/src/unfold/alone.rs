//! Memory and barriers that one thread has for itself.
//!
//! Where a CTA is modelled by one thread, its shared memory is as good as registers: nobody else can access it, and the
//! thread reads what it wrote last. So is its `bar.sync`, which nobody else comes to, no more than order in the thread. A
//! loop that takes a lock in the way compilers write it (one thread of the CTA tries, tells the others through shared
//! memory, all meet at a barrier, and go round again if it failed) has neither effect where the CTA is one thread: an
//! iteration that returns with this memory as it was is a spin (see `visit`).
//!
//! That a thread reads what it wrote last is coherence, which every model of ours has; it is asked for together with what
//! `rewrite` asks for. Anything that reaches the memory beside the thread (a copy, another proxy, a cluster, a second
//! kernel) and this is not for the program.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::litmus::Arch;

use crate::expression::Expression;
use crate::ids::{AddressId, EventId, LocationId, ThreadId};
use crate::program::{Barrier, BarrierKind, BarrierLevel, BarrierRule, Feature, LocationRole, Place, Program, Space};
use crate::unfold::run::Runner;
use crate::unfold::state::State;
use crate::unfold::{Rewriting, UnfoldOptions, fold};
use crate::unfolding::EventKind;
use crate::value::Value;

/// What a thread has for itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alone {
    locations: BTreeSet<LocationId>,
    barriers: bool,
}

/// What a run knows of it.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// The value of each location that was written.
    values: BTreeMap<LocationId, Expression>,
    /// What a read returned, where that is the value of another read.
    copies: BTreeMap<EventId, EventId>,
}

impl Own {
    /// All of it, as far as the run knows the values.
    pub(crate) fn values(&self, known: &BTreeMap<EventId, Value>) -> Vec<(LocationId, Expression)> {
        self.values.iter().map(|(location, value)| (*location, fold::substitute(value, known))).collect()
    }
}

impl Alone {
    pub(crate) fn new(program: &Program, id: ThreadId, options: &UnfoldOptions) -> Alone {
        let thread = &program.threads[id.index()];
        let beside = |feature: Feature| feature != Feature::Span;
        let has_others = || program.threads.iter().filter(|other| other.place == thread.place).count() > 1;
        let is_of_a_cta = matches!(thread.place, Place::Gpu { .. }) && thread.arch == Arch::Ptx;
        if options.rewriting != Rewriting::Spins
            || !is_of_a_cta
            || thread.kernel.is_some()
            || program.features.iter().any(|feature| beside(feature.node))
            || has_others()
        {
            return Alone::default();
        }
        let locations = program.locations.iter().enumerate().filter(|(_, location)| {
            location.space == Some(Space::Shared)
                && location.owner == Some(thread.place)
                && location.role == LocationRole::Data
        });
        let locations = locations.map(|(index, _)| LocationId::new(index)).collect();
        Alone { locations, barriers: program.barrier_rule == BarrierRule::Ptx }
    }

    /// Whether nobody else comes to this barrier, and it waits for nobody else.
    pub(crate) fn meets_nobody(&self, barrier: &Barrier) -> bool {
        self.barriers
            && barrier.kind == BarrierKind::Sync
            && barrier.level == BarrierLevel::Cta
            && barrier.count.is_none()
            && barrier.reduction.is_none()
    }
}

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
