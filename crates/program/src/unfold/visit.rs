//! Loops.
//!
//! A *spin* is an iteration without effect (no write, no barrier) that returns to its head with every live register
//! unchanged. Leaving after k spins and leaving at once end in the same state, and leaving a failing iteration out of an
//! execution only removes constraints; so a loop that spins is left in its first iteration only, and one more trace says
//! that the thread sits in it. Other loops are unrolled to the bound. A loop whose every decision folds (a counted loop) is
//! followed to its end.
//!
//! A failing compare-and-swap that writes the old value back (Dartagnan's dialect, x86) changes nothing either: such an
//! iteration is a spin too, in a variant of the run in which that write is left out, since the spinning read would
//! otherwise never be the last in coherence order.

use crate::expression::Expression;
use crate::unfold::fold;
use crate::unfold::run::Runner;
use crate::unfold::state::State;
use crate::unfolding::{EventKind, TraceEnd};

/// A counted loop is followed for at most this many iterations.
const LONGEST_COUNTED: u32 = 128;

/// The latest arrival at a loop head.
#[derive(Clone)]
pub(crate) struct Visit {
    live: Vec<Expression>,
    path: usize,
    effects: u32,
    forks: u32,
    folded: u32,
    /// Iterations begun that count towards the bound, and those of a counted loop.
    begun: u32,
    counted: u32,
}

/// What to do at a loop head.
pub(crate) enum Arrival {
    Enter,
    End(TraceEnd),
    /// Another trace stands for this one.
    Drop,
}

impl Runner<'_> {
    pub(crate) fn arrive(&self, state: &mut State, last_jump: usize) -> Arrival {
        let head = state.at;
        let live: Vec<Expression> = (self.flow.live.get(&head).into_iter().flatten())
            .map(|register| fold::substitute(&state.registers[register.index()].value, &state.known))
            .collect();
        let mut visit = Visit {
            live,
            path: state.path.len(),
            effects: state.effects,
            forks: state.forks,
            folded: state.folded,
            begun: 1,
            counted: 0,
        };
        if let Some(previous) = state.visits.get(&head) {
            if previous.effects == visit.effects && previous.live == visit.live {
                return self.spin(state, previous);
            }
            let is_counted = previous.forks == visit.forks && previous.folded < visit.folded;
            visit.begun = previous.begun + u32::from(!is_counted);
            visit.counted = previous.counted + u32::from(is_counted);
            if state.silent.is_some() {
                return Arrival::Drop;
            }
            if visit.begun > self.options.bound.max(1) || visit.counted > LONGEST_COUNTED {
                return Arrival::End(TraceEnd::Bound { span: self.span_at(head) });
            }
        }
        // A new round of this loop starts the loops inside it afresh.
        state.visits.retain(|&other, _| other <= head || other > last_jump);
        state.visits.insert(head, visit);
        Arrival::Enter
    }

    fn spin(&self, state: &State, since: &Visit) -> Arrival {
        let iteration = &state.path[since.path..];
        let is_write = |kind: &EventKind| matches!(kind, EventKind::Write { .. });
        let wrote = iteration.iter().any(|event| is_write(&self.unfolding.events[event.index()].kind));
        if wrote || state.silent.is_some_and(|at| at < since.path) {
            return Arrival::Drop;
        }
        let is_read = |kind: &EventKind| matches!(kind, EventKind::Read { .. });
        let reads =
            iteration.iter().copied().filter(|event| is_read(&self.unfolding.events[event.index()].kind)).collect();
        Arrival::End(TraceEnd::Spin { reads, span: self.span_at(state.at) })
    }
}
