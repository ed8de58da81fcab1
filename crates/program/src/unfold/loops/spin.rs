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
//! otherwise never be the last in coherence order. So are other read-modify-writes that write what they read, where
//! `reduce::silent_updates` says so. Memory that no other thread can access is no effect, but must be as it was, like a register (see
//! `reduce::private_access`).
//!
//! An attempt of a weak compare-and-exchange that fails though the values are equal (C11 7.17.7.4) leaves everything as it
//! was, too. No thread sits in such a loop for good.
//!
//! What all threads of a CTA go through together may be a spin although it has barriers and writes (see `reduce::joint_rounds`).
//!
//! For data races failing iterations matter ([`Failing::OneKept`]): they access memory. One per thread is enough. A race
//! is between two threads, so each has at most one of its accesses in a failing iteration, and leaving the other failing
//! iterations out takes order away and adds none: those around it excepted, of loops that the loop is in. Loops that only wait on mbarriers mostly need none (see
//! `wait::only_waits`).

use crate::unfold::Failing;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{State, Visit};
use crate::unfolding::{EventKind, TraceEnd};
use crate::value::expression::Expression;

/// A counted loop is followed for at most this many iterations.
const LONGEST_COUNTED: u32 = 128;

/// What to do at a loop head.
pub(crate) enum Arrival {
    Enter,
    End(TraceEnd),
    /// One run ends here, another goes on.
    EndOrEnter(TraceEnd),
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
            own: state.own.values(&state.known),
            path: state.path.len(),
            effects: self.effects_for(head, state),
            excused: state.excused,
            forks: state.forks,
            folded: state.folded,
            begun: 1,
            counted: 0,
        };
        if let Some(previous) = state.visits.get(&head) {
            let is_same = previous.effects == visit.effects && previous.live == visit.live && previous.own == visit.own;
            if is_same && self.is_excused(state, (previous.excused, previous.path)) {
                let end = self.spin(state, previous);
                let is_of_no_use = || self.only_waits(&state.path, previous.path);
                if self.failing == Failing::LeftOut
                    || state.kept_from.is_some_and(|kept| kept < previous.path)
                    || state.silent.is_some()
                    || is_of_no_use()
                {
                    return end.map_or(Arrival::Drop, Arrival::End);
                }
                visit.begun = previous.begun;
                // What forked in it happens once: a counted loop around it stays one.
                visit.forks = previous.forks;
                state.forks = previous.forks;
                state.kept_failing = Some(state.path[previous.path..].to_vec());
                state.kept_from = Some(previous.path);
                state.enter(head, last_jump, visit);
                self.note_begun(state, head, true);
                return end.map_or(Arrival::Enter, Arrival::EndOrEnter);
            }
            let is_counted = previous.forks == visit.forks && previous.folded < visit.folded;
            visit.begun = previous.begun + u32::from(!is_counted);
            visit.counted = previous.counted + u32::from(is_counted);
            if state.silent.is_some() {
                return Arrival::Drop;
            }
            if visit.begun > self.options.bound.max(1) || visit.counted > LONGEST_COUNTED {
                let rests_on = state.control.all().into_iter().collect();
                return Arrival::End(TraceEnd::Bound { span: self.span_at(head), rests_on });
            }
        }
        state.enter(head, last_jump, visit);
        self.note_begun(state, head, false);
        Arrival::Enter
    }

    /// How a run that spins ends, or None where another trace stands for it.
    fn spin(&self, state: &State, since: &Visit) -> Option<TraceEnd> {
        let iteration = &state.path[since.path..];
        let is_write = |kind: &EventKind| matches!(kind, EventKind::Write { .. });
        let writes = iteration.iter().filter(|event| is_write(&self.unfolding.events[event.index()].kind));
        let wrote = writes.into_iter().any(|event| !self.is_own_write(*event) && !self.is_board_write(*event));
        let is_spurious = state.spurious.is_some_and(|at| at > since.path);
        if wrote || is_spurious || state.silent.is_some_and(|at| at < since.path) {
            return None;
        }
        let is_read = |kind: &EventKind| matches!(kind, EventKind::Read { .. });
        let reads = iteration.iter().copied().filter(|event| is_read(&self.unfolding.events[event.index()].kind));
        let reads = reads.filter(|event| !self.is_own_read(*event)).collect();
        Some(TraceEnd::Spin { reads, span: self.span_at(state.at) })
    }
}
