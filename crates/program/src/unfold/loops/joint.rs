//! The loops of a thread that all threads of its CTA may go through together (see `reduce::joint_rounds`).

use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{LocationId, ThreadId, TraceId};
use crate::program::{
    BarrierKind, BarrierLevel, BarrierRule, Feature, LocationRole, Operation, Place, Program, Space, Thread,
};
use crate::unfold::control::flow::Flow;
use crate::unfold::run::state::Begun;
use crate::unfold::{Joint, UnfoldOptions};

/// Where a thread may go round with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together {
    /// The heads of innermost loops with a barrier of the whole CTA, each with the last jump back.
    pub(crate) loops: SortedMap<usize, usize>,
    /// What may be a board.
    pub(crate) memory: SortedSet<LocationId>,
}

/// What is known of a trace, beside its events.
pub(crate) struct Walk {
    pub(crate) trace: TraceId,
    pub(crate) begun: Vec<Begun>,
    /// It ends after a round that leaves everything as it was.
    pub(crate) sits: bool,
}

pub(crate) fn meets_all(kind: BarrierKind, level: BarrierLevel, has_count: bool) -> bool {
    kind != BarrierKind::Arrive && level == BarrierLevel::Cta && !has_count
}

impl Together {
    pub(crate) fn new(program: &Program, id: ThreadId, options: &UnfoldOptions, flow: &Flow) -> Together {
        let thread = &program.threads[id.index()];
        let is_alone = || program.threads.iter().filter(|other| other.place == thread.place).count() < 2;
        let is_of_a_cta = matches!(thread.place, Place::Gpu { .. }) && thread.arch == Arch::Ptx;
        if options.joint != Joint::Spins
            || flow.heads.is_empty()
            || !is_of_a_cta
            || thread.kernel.is_some()
            || program.barrier_rule != BarrierRule::Ptx
            || program.features.iter().any(|feature| feature.node != Feature::Span)
            || is_alone()
        {
            return Together::default();
        }
        let locations = program.locations.iter().enumerate().filter(|(_, location)| {
            location.space == Some(Space::Shared)
                && location.owner == Some(thread.place)
                && location.role == LocationRole::Data
        });
        let memory = locations.map(|(index, _)| LocationId::new(index)).collect();
        Together { loops: loops(thread, flow), memory }
    }

    pub(crate) fn is_inside(&self, at: usize) -> bool {
        self.loops.iter().any(|(&head, &last)| (head..=last).contains(&at))
    }
}

pub(crate) fn loops(thread: &Thread, flow: &Flow) -> SortedMap<usize, usize> {
    let is_meeting = |at: usize| match &thread.code[at].operation {
        Operation::Barrier(barrier) => meets_all(barrier.kind, barrier.level, barrier.count.is_some()),
        _ => false,
    };
    let meets = |(head, last): &(usize, usize)| (*head..=*last).any(is_meeting);
    let meeting: Vec<_> = flow.heads.iter().map(|(&head, &last)| (head, last)).filter(meets).collect();
    let is_innermost = |(head, last): &(usize, usize)| {
        let within = |other: &(usize, usize)| other != &(*head, *last) && *head <= other.0 && other.1 <= *last;
        !meeting.iter().any(within)
    };
    meeting.iter().copied().filter(is_innermost).collect()
}
