//! Bytes that do not match what was expected, where nobody hangs for them (PTX ISA 9.7.15.16.8): a phase that expects bytes
//! when every thread has ended, and bytes that come to a phase that expects none, because the one they were meant for was
//! over without them. The tx-count may be off on the way, because an expect-tx may follow its copy; only where nothing more
//! can come, at the end of the program or at `mbarrier.inval`, it must be 0.

use fencepost_program::mbarrier::State;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, TraceEnd};
use fencepost_program::{EventId, LocationId};
use fencepost_report::misuse::{LifeEnd, Misuse};

use super::{History, Kind, One, ProtocolSet, is_arrival};

impl One<'_> {
    /// The tx-count where the object's life ends.
    pub(super) fn leftover(&self, location: LocationId, history: &History, set: &mut ProtocolSet) {
        for (at, two) in history.windows(2).enumerate() {
            let [(_, before), (id, after)] = two else { continue };
            let invalidates = self.event(*id).is_some_and(is_inval) && before.is_live() && !after.is_live();
            if invalidates && before.tx != 0 {
                self.unbalanced(location, &history[..=at], LifeEnd::Inval, set);
            }
        }
        let exits = |trace: &fencepost_program::TraceId| {
            self.unfolding.traces.get(trace.index()).is_some_and(|trace| trace.end == TraceEnd::Exit)
        };
        let ends = history.last().is_some_and(|(_, state)| state.is_live() && state.tx != 0);
        if ends && self.execution.traces.iter().all(exits) {
            self.unbalanced(location, history, LifeEnd::Exit, set);
        }
    }

    /// Blames the last operation that moved the tx-count to the side it is left on.
    fn unbalanced(&self, location: LocationId, history: &[(EventId, State)], end: LifeEnd, set: &mut ProtocolSet) {
        let Some(&(last, State { phase, tx, .. })) = history.last() else { return };
        // Memory may hold several mbarriers one after the other.
        let born =
            history.iter().rposition(|(id, _)| self.event(*id).is_some_and(|event| event.has(Tag::MbarrierInit)));
        let history = &history[born.unwrap_or(0)..];
        // A phase ends with a tx-count of 0, so that the counts of all phases are one sum.
        let moves = || history.windows(2).map(|two| (two[1].0, two[1].1, two[1].1.tx - two[0].1.tx));
        let expected: i32 = moves().map(|(_, _, by)| by.max(0)).sum();
        let brought: i32 = moves().map(|(_, _, by)| -by.min(0)).sum();
        let blamed = moves().rev().find(|(_, _, by)| by.signum() == tx.signum()).map_or(last, |(id, ..)| id);
        let (expected, brought, bytes) = (expected.unsigned_abs(), brought.unsigned_abs(), tx.unsigned_abs());
        let problem = if tx > 0 {
            (Kind::MissingBytes, Misuse::BytesPending { expected, brought, end, phase, bytes })
        } else {
            let left = |meant_before| Misuse::BytesLeftOver { expected, brought, phase, bytes, meant_before };
            let meant = moves().any(|(_, state, by)| state.phase == phase && by > 0);
            match phase.checked_sub(1) {
                _ if meant => (Kind::ExcessBytes, left(false)),
                // An operation for a phase that nobody uses, as in the last round of a pipeline cut short.
                _ if !self.is_used(history, phase) && self.is_meant_for(location, blamed, phase) => {
                    (Kind::UnexpectedBytes, Misuse::BytesUnexpected { phase, bytes })
                }
                before => (Kind::ExcessBytes, left(before.is_some())),
            }
        };
        self.found(location, blamed, problem, set);
    }
}

impl One<'_> {
    /// Whether something arrives in this phase.
    fn is_used(&self, history: &[(EventId, State)], phase: u32) -> bool {
        history.windows(2).any(|two| two[0].1.phase == phase && self.event(two[1].0).is_some_and(is_arrival))
    }

    /// Whether the operation was issued when the phase before was known to be over.
    fn is_meant_for(&self, location: LocationId, completion: EventId, phase: u32) -> bool {
        phase == 0 || self.was_waited_for(location, completion, phase)
    }
}

/// A plain write of an mbarrier instruction that is no `init`.
pub(super) fn is_inval(event: &Event) -> bool {
    !event.is_init() && event.has(Tag::Mbarrier) && !event.has(Tag::MbarrierInit) && event.rmw_partner.is_none()
}
