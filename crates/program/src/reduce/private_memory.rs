//! Memory that a thread has for itself, and what a run knows of it (see `private_access`).

use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, LocationId, ThreadId};
use crate::program::{Barrier, BarrierKind, BarrierLevel, BarrierRule, Feature, LocationRole, Place, Program, Space};
use crate::unfold::options::{Rewriting, UnfoldOptions};
use crate::unfold::run::fold;
use crate::value::Value;
use crate::value::expression::Expression;

/// What a thread has for itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alone {
    pub(crate) locations: SortedSet<LocationId>,
    pub(crate) barriers: bool,
}

/// What a run knows of it.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// The value of each location that was written.
    pub(crate) values: SortedMap<LocationId, Expression>,
    /// What a read returned, where that is the value of another read.
    pub(crate) copies: SortedMap<EventId, EventId>,
}

impl Own {
    /// All of it, as far as the run knows the values.
    pub(crate) fn values(&self, known: &SortedMap<EventId, Value>) -> Vec<(LocationId, Expression)> {
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
