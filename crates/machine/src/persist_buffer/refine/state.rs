//! States of the exploration, the names of its transitions, and who may read which release.

use super::monitor::{Monitor, Persist, Source};
use super::{Acquires, Question, Search, Sms, WARPS};
use crate::persist_buffer::buffer::{Kind, Line, PersistBuffer, Point, Scope};
use crate::persist_buffer::warps::Warp;

/// The number of an SM.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Sm(pub(super) u8);

#[derive(PartialEq, Eq, Debug)]
pub(super) struct State {
    /// The second one is unused if all warps are in one SM.
    pub(super) buffers: [PersistBuffer<Persist>; 2],
    pub(super) monitor: Monitor,
    /// Per warp: the operation that it waits for.
    pub(super) waiting: [Option<Point>; WARPS],
    /// How many lines were written, if that is bounded.
    pub(super) written: u8,
    /// Whether a release has happened, if acquires read only from releases and releases are forgotten.
    pub(super) is_released: bool,
}

impl Clone for State {
    fn clone(&self) -> State {
        State { buffers: self.buffers.clone(), monitor: self.monitor.clone(), ..*self }
    }

    fn clone_from(&mut self, source: &State) {
        for (buffer, from) in self.buffers.iter_mut().zip(&source.buffers) {
            buffer.clone_from(from);
        }
        self.monitor.clone_from(&source.monitor);
        (self.waiting, self.written, self.is_released) = (source.waiting, source.written, source.is_released);
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The head leaves the buffer.
    Drain(Sm),
    /// A line leaves it out of its turn.
    Evict(Sm, Line),
    Acknowledge(Sm, Line),
    /// All that is in flight is acknowledged.
    AcknowledgeAll(Sm),
    Store(Warp, Line),
    Issue(Warp, Point, Source),
}

impl State {
    pub(super) fn buffer(&self, sm: Sm) -> &PersistBuffer<Persist> {
        &self.buffers[usize::from(sm.0)]
    }

    pub(super) fn buffer_mut(&mut self, sm: Sm) -> &mut PersistBuffer<Persist> {
        &mut self.buffers[usize::from(sm.0)]
    }

    /// Whether the hardware has nothing left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.buffers.iter().all(|buffer| buffer.is_idle() && buffer.masks()[..2].iter().all(|mask| mask.is_empty()))
    }

    /// A number that no persist on its way has.
    pub(super) fn free_number(&self) -> Persist {
        let entries = self.buffers.iter().flat_map(|buffer| &buffer.entries);
        let entries = entries.filter_map(|entry| match entry.kind {
            Kind::Persist(_, persist) => Some(persist),
            Kind::Point(_) => None,
        });
        let in_flight = self.buffers.iter().flat_map(|buffer| &buffer.in_flight).map(|flight| flight.data);
        let used = entries.chain(in_flight).fold(0u32, |used, persist| used | 1 << persist.0);
        Persist(used.trailing_ones() as u8)
    }
}

impl Question {
    pub(super) fn all_warps(&self) -> impl Iterator<Item = Warp> + use<> {
        (0..self.warps.min(WARPS as u8)).map(Warp)
    }

    pub(super) fn all_sms(&self) -> impl Iterator<Item = Sm> + use<> {
        (0..if self.sms == Sms::One { 1 } else { 2 }).map(Sm)
    }

    pub(super) fn sm(&self, warp: Warp) -> Sm {
        Sm(u8::from(self.sms == Sms::Two && warp.0 + 1 == self.warps))
    }

    /// Whether an acquire may take nothing over: it reads the initial value, or a release that is too narrow or that it is too
    /// narrow for. The reduced search also lets it read less than it does.
    pub(super) fn may_take_nothing(&self, state: &State, warp: Warp) -> bool {
        let is_elsewhere = |from: Warp| self.sm(from) != self.sm(warp);
        match (self.acquires, self.search) {
            (Acquires::Anything, _) => true,
            (Acquires::Released, Search::Reduced) => state.is_released,
            (Acquires::Released, Search::Full) => {
                self.all_warps().any(|from| is_elsewhere(from) && state.monitor.released[usize::from(from.0)].is_some())
            }
        }
    }

    /// The releases that an acquire synchronises with if it reads from them: each is in the scope of the other.
    pub(super) fn sources(&self, state: &State, warp: Warp, scope: Scope) -> impl Iterator<Item = Source> {
        let monitor = &state.monitor;
        self.all_warps().filter_map(move |from| {
            let at = usize::from(from.0);
            if self.sm(from) == self.sm(warp) {
                monitor.released[at].map(|_| Source::SameBlock(from))
            } else if scope == Scope::Device {
                monitor.released_to_device[at].map(|_| Source::Device(from))
            } else {
                None
            }
        })
    }
}
