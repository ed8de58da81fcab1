//! What a thread or the hardware may do next.

use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::sorted::SharedSort as _;

use super::super::buffer::{Kind, Stall};
use super::super::{Line, Point};
use super::state::{Departed, State, Store};
use super::{Eviction, Multiprocessors, Seat, Visible, scope};
use crate::progress::Progress;
use crate::requests::{Fork, PersistOperation, RequestKind, Walk};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A thread executes its next request, as far as the buffer lets it.
    Execute(EventId),
    /// The head leaves the buffer of an SM.
    Drain(u32),
    /// A line leaves it out of its turn.
    Evict(u32, Line),
    /// The oldest flush of a line is acknowledged to its SM.
    Acknowledge(u32, Line),
}

impl Multiprocessors<'_> {
    pub(super) fn executions(&self, state: &State, thread: usize, steps: &mut Vec<Step>) {
        let Seat { sm, warp } = self.seats[thread];
        if state.buffers[sm].is_stalled(warp) {
            return;
        }
        for event in self.threads.next(&state.progress, thread) {
            let point = self.ahead[event.index()].filter(|_| !state.pending[thread]);
            let can_start = match point {
                None => self.can_take_effect(state, thread, event),
                Some(point) => state.buffers[sm].check_point(warp, point).is_ok(),
            };
            if can_start {
                steps.push(Step::Execute(event));
            }
            // Branches that differ in what an operation reads share its ordering point.
            if can_start && point.is_some() {
                break;
            }
        }
    }

    /// Drains the head, evicts a line, or acknowledges one that is the oldest of its line anywhere.
    pub(super) fn movements(&self, state: &State, sm: usize, steps: &mut Vec<Step>) {
        let (buffer, number) = (&state.buffers[sm], sm as u32);
        if buffer.can_drain() {
            steps.push(Step::Drain(number));
        }
        if self.hardware.eviction == Eviction::AtAnyTime {
            let lines = buffer.entries().filter_map(|entry| entry.line());
            steps.extend(lines.filter(|line| buffer.can_evict(*line)).map(|line| Step::Evict(number, line)));
        }
        let is_oldest = |at: usize| at == 0 || state.flights[at - 1].line != state.flights[at].line;
        let own = state.flights.iter().enumerate().filter(|(at, flight)| flight.sm == sm && is_oldest(*at));
        steps.extend(own.map(|(_, flight)| Step::Acknowledge(number, flight.line)));
    }

    pub(super) fn take_step(&self, state: &mut State, step: Step) {
        match step {
            Step::Execute(event) => {
                if let Some(thread) = self.requests.request(event).thread {
                    self.execute(state, thread.index(), event);
                }
            }
            Step::Drain(sm) => {
                let head = state.buffers[sm as usize].entries().next().map(|entry| entry.kind);
                state.buffers[sm as usize].drain();
                if let Some(Kind::Persist(line, data)) = head {
                    self.flushed(state, sm as usize, (line, data));
                }
            }
            Step::Evict(sm, line) => {
                let data = self.buffered(state, sm as usize, line);
                state.buffers[sm as usize].flush_early(line);
                self.flushed(state, sm as usize, (line, data));
            }
            Step::Acknowledge(sm, line) => self.acknowledge(state, sm as usize, line),
        }
    }

    pub(super) fn execute(&self, state: &mut State, thread: usize, event: EventId) {
        let Seat { sm, warp } = self.seats[thread];
        if let Some(point) = self.ahead[event.index()].filter(|_| !state.pending[thread]) {
            if state.buffers[sm].issue(warp, point).is_err() {
                return;
            }
            if self.requests.request(event).is_fence() {
                return self.threads.advance(&mut state.progress, event);
            }
            state.pending[thread] = true;
            if state.buffers[sm].is_stalled(warp) || !self.can_take_effect(state, thread, event) {
                return;
            }
        }
        self.take_effect(state, thread, event);
    }

    /// Whether a request whose ordering point is in the buffer may do something: take effect, or make its warp wait.
    fn can_take_effect(&self, state: &State, thread: usize, event: EventId) -> bool {
        let Seat { sm, warp } = self.seats[thread];
        let request = self.requests.request(event);
        match request.kind {
            RequestKind::Read { location } => {
                let acquire = Point::Acquire(scope(request));
                let has_room = request.persist != Some(PersistOperation::Acquire)
                    || state.buffers[sm].check_point(warp, acquire).is_ok();
                let mut after = state.progress.clone();
                self.threads.read(&mut after, event, self.seen(state, sm, location));
                has_room && self.is_possible(&after, thread)
            }
            RequestKind::Write { location, .. } if self.is_persistent(location) => {
                match state.buffers[sm].check_store(warp, Multiprocessors::line(location)) {
                    Ok(()) => true,
                    Err(Stall::Full) => false,
                    Err(Stall::Ordered) => !self.is_delayed(state, sm, warp),
                }
            }
            RequestKind::Write { .. } | RequestKind::Fence => true,
        }
    }

    fn take_effect(&self, state: &mut State, thread: usize, event: EventId) {
        let Seat { sm, warp } = self.seats[thread];
        let request = self.requests.request(event);
        match request.kind {
            RequestKind::Read { location } => {
                let source = self.seen(state, sm, location);
                self.threads.read(&mut state.progress, event, source);
                if request.persist == Some(PersistOperation::Acquire) {
                    // There is room, or the request could not be executed.
                    let _ = state.buffers[sm].issue(warp, Point::Acquire(scope(request)));
                }
                if request.atomic.is_some()
                    && let Some(write) = self.threads.atomic_write(&state.progress, event)
                {
                    state.memory[location.index()] = write;
                    self.threads.advance(&mut state.progress, write);
                }
            }
            RequestKind::Write { location, .. } if self.is_persistent(location) => {
                // A store that must wait puts its warp into a mask, and is tried again when the mask is reset.
                match state.buffers[sm].store(warp, Multiprocessors::line(location)) {
                    Ok(data) => *data = Some(event),
                    Err(Stall::Ordered | Stall::Full) => return,
                }
                self.threads.advance(&mut state.progress, event);
            }
            RequestKind::Write { location, .. } => {
                state.memory[location.index()] = event;
                self.threads.advance(&mut state.progress, event);
            }
            RequestKind::Fence => self.threads.advance(&mut state.progress, event),
        }
        state.pending[thread] = false;
    }

    /// Whether the values that a thread has read let it go on as it has begun: the unfolding forks before a read whose value
    /// decides, and says in the constraints of the traces which it must be. A run that goes on otherwise is none, and a crash
    /// finds nothing of it.
    fn is_possible(&self, progress: &Progress, thread: usize) -> bool {
        let fork = Walk::new(self.requests, progress).fork(ThreadId::new(thread));
        self.has_open_end(progress, fork)
    }

    /// The same of a thread that goes on with this request.
    pub(super) fn is_open(&self, progress: &Progress, next: EventId) -> bool {
        self.has_open_end(progress, &self.requests.request(next).next)
    }

    /// Whether the values that were read exclude none of the conditions of a trace that ends at the fork or below.
    fn has_open_end(&self, progress: &Progress, fork: &Fork) -> bool {
        let walk = Walk::new(self.requests, progress);
        let mut forks = vec![fork];
        while let Some(fork) = forks.pop() {
            let is_open = |trace: &TraceId| {
                let trace = &self.requests.traces[trace.index()];
                let mut conditions = trace.constraints.iter().chain(&trace.assumptions);
                conditions.all(|condition| walk.evaluate(condition) != Some(Value(0)))
            };
            if fork.ends.iter().any(is_open) {
                return true;
            }
            forks.extend(fork.branches.iter().map(|branch| &self.requests.request(branch.to).next));
        }
        false
    }

    /// Notes a line that has just left a buffer, behind the older flushes of the line.
    fn flushed(&self, state: &mut State, sm: usize, (line, data): (Line, Store)) {
        let at = state.flights.partition_point(|flight| flight.line <= line);
        state.flights.insert(at, Departed { sm, line });
        state.buffers[sm].in_flight.shared_sort_by_key(|flight| flight.line);
        if let Some(store) = data.filter(|_| self.hardware.visible == Visible::AtFlush) {
            state.memory[line.0 as usize] = store;
        }
    }

    fn acknowledge(&self, state: &mut State, sm: usize, line: Line) {
        let Some(at) = state.flights.iter().position(|flight| *flight == Departed { sm, line }) else { return };
        state.flights.remove(at);
        if let Some(Some(store)) = state.buffers[sm].acknowledge(line) {
            state.durable[line.0 as usize] = store;
            if self.hardware.visible == Visible::AtAcknowledgement {
                state.memory[line.0 as usize] = store;
            }
        }
    }

    /// The store of a line that is in the buffer of an SM.
    pub(super) fn buffered(&self, state: &State, sm: usize, line: Line) -> Store {
        state.buffers[sm].entries().find_map(|entry| match entry.kind {
            Kind::Persist(other, data) if other == line => data,
            _ => None,
        })
    }

    /// What a thread reads: its SM's own line, in the buffer or on its way, or memory.
    pub(super) fn seen(&self, state: &State, sm: usize, location: LocationId) -> EventId {
        let line = Multiprocessors::line(location);
        let flying = || {
            let own = state.buffers[sm].in_flight().iter().rev();
            own.filter(|flight| flight.line == line).find_map(|flight| flight.data)
        };
        self.buffered(state, sm, line).or_else(flying).unwrap_or(state.memory[location.index()])
    }
}
