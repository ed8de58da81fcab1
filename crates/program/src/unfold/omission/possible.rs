//! Which traces can occur at all, as far as values tell.
//!
//! A trace can occur if each of its constraints holds of some values that its reads may return, and a read may return what a
//! trace that can occur may write. The least fixed point: no value comes out of thin air. A write that no such trace makes
//! is in no candidate, so that leaving it out decides nothing (docs/models/omission.md).

use fencepost_syntax::limits;

use crate::ids::{EventId, TraceId};
use crate::unfolding::{EventKind, Unfolding};
use crate::value::Value;
use crate::value::expression::Expression;
use crate::value::may::{May, image};

/// What still grows after this many rounds (a counter) may have any value.
const ROUNDS: usize = 8;

pub(crate) struct Possible {
    /// By event, of reads: what they may return.
    reads: Vec<May>,
    traces: Vec<bool>,
}

impl Possible {
    pub(crate) fn new(unfolding: &Unfolding) -> Possible {
        let mut held = vec![May::none(); unfolding.locations.len()];
        for (location, info) in held.iter_mut().zip(&unfolding.locations) {
            location.insert(info.initial);
        }
        let (reads, traces) = (vec![May::Any; unfolding.events.len()], vec![false; unfolding.traces.len()]);
        let mut possible = Possible { reads, traces };
        let mut round = 0;
        while !limits::is_over() && possible.round(unfolding, &mut held, round) {
            round += 1;
        }
        possible
    }

    pub(crate) fn has(&self, trace: TraceId) -> bool {
        self.traces.get(trace.index()).copied().unwrap_or(false)
    }

    /// What a read may return; anything of other events.
    pub(crate) fn of(&self, read: EventId) -> &May {
        self.reads.get(read.index()).unwrap_or(&May::Any)
    }

    /// Whether something changed.
    fn round(&mut self, unfolding: &Unfolding, held: &mut [May], round: usize) -> bool {
        for (event, may) in unfolding.events.iter().zip(&mut self.reads) {
            if let EventKind::Read { location, ty, .. } = &event.kind {
                *may = match &held[location.index()] {
                    May::Any => May::Any,
                    May::Values(values) => {
                        let mut wrapped = May::none();
                        values.iter().for_each(|value| wrapped.insert(ty.wrap(*value)));
                        wrapped
                    }
                };
            }
        }
        let mut changed = false;
        for (index, trace) in unfolding.traces.iter().enumerate() {
            if !self.traces[index] && trace.constraints.iter().all(|constraint| self.may_hold(constraint)) {
                self.traces[index] = true;
                changed = true;
            }
        }
        let mut is_written = vec![false; unfolding.events.len()];
        let occurring = unfolding.traces.iter().zip(&self.traces).filter(|(_, is_possible)| **is_possible);
        occurring.flat_map(|(trace, _)| &trace.events).for_each(|event| is_written[event.index()] = true);
        for (event, _) in unfolding.events.iter().zip(is_written).filter(|(_, is_written)| *is_written) {
            let EventKind::Write { location, value, ty, .. } = &event.kind else { continue };
            let before = held[location.index()].clone();
            match image(value, &|read| self.of(read)) {
                May::Any => held[location.index()] = May::Any,
                May::Values(values) => {
                    values.iter().for_each(|value| held[location.index()].insert(ty.wrap(*value)));
                }
            }
            if held[location.index()] != before {
                changed = true;
                if round > ROUNDS {
                    held[location.index()] = May::Any;
                }
            }
        }
        changed
    }

    fn may_hold(&self, constraint: &Expression) -> bool {
        image(constraint, &|read| self.of(read)).any(|value| value != Value(0))
    }
}
