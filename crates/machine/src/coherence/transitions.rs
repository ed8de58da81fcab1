//! What cores, multiprocessors, caches and the directory do.

use fencepost_program::{EventId, LocationId};

use crate::coherence::state::{L1Line, Line, State};
use crate::coherence::{Coherence, Seat, Step, Swmr};
use crate::requests::{RequestKind, Semantics};

impl Coherence<'_> {
    /// The stores of a core's thread that have not left its buffer.
    pub(super) fn buffer(&self, state: &State, thread: usize) -> Vec<EventId> {
        self.threads.stores(&state.progress, thread).split_off(state.drained[thread] as usize)
    }

    pub(super) fn executions(&self, state: &State, steps: &mut Vec<Step>) {
        for (thread, seat) in self.seats.iter().enumerate() {
            let next = self.threads.next(&state.progress, thread).into_iter();
            let can = |event: &EventId| match *seat {
                Seat::Core(core) => self.core_can(state, thread, core, *event),
                Seat::Multiprocessor(at) => self.multiprocessor_can(state, at, *event),
            };
            steps.extend(next.filter(can).map(Step::Execute));
        }
    }

    fn core_can(&self, state: &State, thread: usize, core: usize, event: EventId) -> bool {
        let request = self.requests.request(event);
        match request.kind {
            RequestKind::Read { location } if request.atomic.is_some() => {
                let owns = matches!(state.line(core, location), Line::Modified(_));
                owns && self.buffer(state, thread).is_empty()
            }
            RequestKind::Read { location } => {
                self.forwarded(state, thread, location).is_some() || state.line(core, location) != Line::Invalid
            }
            RequestKind::Write { .. } => true,
            RequestKind::Fence => request.semantics != Semantics::Sc || self.buffer(state, thread).is_empty(),
        }
    }

    fn forwarded(&self, state: &State, thread: usize, location: LocationId) -> Option<EventId> {
        let is_here = |store: &EventId| self.requests.request(*store).location() == Some(location);
        self.buffer(state, thread).into_iter().rev().find(is_here)
    }

    fn has_dirty(&self, state: &State, at: usize) -> bool {
        self.locations().any(|location| state.l1(at, location).is_dirty())
    }

    fn multiprocessor_can(&self, state: &State, at: usize, event: EventId) -> bool {
        let request = self.requests.request(event);
        let (wide, l2) = (Self::is_wide(request), self.multiprocessors[at].l2);
        let acquires = wide && request.semantics.at_least_acquire();
        let releases = wide && self.releases(event);
        if releases && self.has_dirty(state, at) {
            return false;
        }
        match request.kind {
            RequestKind::Read { location } if request.atomic.is_some() && wide => {
                let owns = matches!(state.line(l2, location), Line::Modified(_));
                owns && !state.l1(at, location).is_dirty()
            }
            RequestKind::Read { location } if acquires => {
                state.l1(at, location).is_dirty() || state.line(l2, location) != Line::Invalid
            }
            RequestKind::Read { location } => state.l1(at, location) != L1Line::Absent,
            RequestKind::Write { .. } | RequestKind::Fence => true,
        }
    }

    /// A release; of a read-modify-write the read executes for both halves.
    fn releases(&self, event: EventId) -> bool {
        let request = self.requests.request(event);
        let half = |next: &crate::requests::Branch| {
            let next = self.requests.request(next.to);
            next.atomic.is_some() && next.is_write() && next.semantics.at_least_release()
        };
        request.semantics.at_least_release() || (request.atomic.is_some() && request.next.branches.iter().any(half))
    }

    /// What the caches and the directory may do.
    pub(super) fn protocol_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (index, agent) in self.agents.iter().enumerate() {
            let number = index as u32;
            if let Some(thread) = agent.thread
                && let Some(location) = self.head(state, thread)
                && matches!(state.line(index, location), Line::Modified(_))
            {
                steps.push(Step::Drain(number));
            }
            for location in self.locations() {
                let is_free = state.asking[location.index()].is_none() && !state.is_pending(index, location);
                let line = state.line(index, location);
                if is_free && line == Line::Invalid && agent.loads.contains(&location) {
                    steps.push(Step::Fetch { agent: number, location });
                }
                if is_free && !matches!(line, Line::Modified(_)) && self.wants(state, index, location) {
                    steps.push(Step::Ask { agent: number, location });
                }
                if state.is_pending(index, location) {
                    steps.push(Step::Invalidate { agent: number, location });
                }
            }
        }
        steps.extend(self.locations().filter(|it| self.can_grant(state, *it)).map(|location| Step::Grant { location }));
        for (at, multiprocessor) in self.multiprocessors.iter().enumerate() {
            let number = at as u32;
            for location in self.locations() {
                let l2 = state.line(multiprocessor.l2, location);
                match state.l1(at, location) {
                    L1Line::Absent if l2 != Line::Invalid && multiprocessor.loads.contains(&location) => {
                        steps.push(Step::Fill { multiprocessor: number, location });
                    }
                    L1Line::Clean(_) => steps.push(Step::Evict { multiprocessor: number, location }),
                    L1Line::Dirty(_) if matches!(l2, Line::Modified(_)) => {
                        steps.push(Step::WriteBack { multiprocessor: number, location });
                    }
                    L1Line::Absent | L1Line::Dirty(_) => {}
                }
            }
        }
    }

    /// The location of the oldest store in a buffer.
    fn head(&self, state: &State, thread: usize) -> Option<LocationId> {
        self.requests.request(*self.buffer(state, thread).first()?).location()
    }

    /// Whether an agent has a use for owning a line: a store to drain or a line to take back, or a read-modify-write next.
    fn wants(&self, state: &State, agent: usize, location: LocationId) -> bool {
        let is_modifying = |thread: usize| {
            let modifies = |event: &EventId| {
                let request = self.requests.request(*event);
                request.atomic.is_some() && request.location() == Some(location)
            };
            self.threads.next(&state.progress, thread).iter().any(modifies)
        };
        match self.agents[agent].thread {
            Some(thread) => match self.head(state, thread) {
                Some(head) => head == location,
                None => is_modifying(thread),
            },
            None => self.seats.iter().enumerate().any(|(thread, seat)| match *seat {
                Seat::Multiprocessor(at) if self.multiprocessors[at].l2 == agent => {
                    state.l1(at, location).is_dirty() || is_modifying(thread)
                }
                _ => false,
            }),
        }
    }

    fn can_grant(&self, state: &State, location: LocationId) -> bool {
        let Some(asking) = state.asking[location.index()] else { return false };
        let is_l2 = self.agents[asking as usize].thread.is_none();
        let is_modified = |agent: usize| matches!(state.line(agent, location), Line::Modified(_));
        let early = self.swmr == Swmr::EarlyAcknowledge
            && is_l2
            && !(0..self.agents.len()).any(|agent| state.is_pending(agent, location) && is_modified(agent));
        state.pending[location.index()] == 0 || early
    }

    pub(super) fn take_step(&self, state: &mut State, step: Step) {
        match step {
            Step::Execute(event) => match self.seats[self.requests.owner(event)] {
                Seat::Core(core) => self.core_execute(state, core, event),
                Seat::Multiprocessor(at) => self.multiprocessor_execute(state, at, event),
            },
            Step::Drain(agent) => {
                let Some(thread) = self.agents[agent as usize].thread else { return };
                let store = self.buffer(state, thread).first().copied();
                if let Some(store) = store
                    && let Some(location) = self.requests.request(store).location()
                {
                    state.set_line(agent as usize, location, Line::Modified(store));
                    state.drained[thread] += 1;
                }
            }
            Step::Fetch { agent, location } => {
                self.recall(state, location);
                let write = state.memory[location.index()];
                state.set_line(agent as usize, location, Line::Shared(write));
            }
            Step::Ask { agent, location } => {
                let holds = |other: &usize| *other != agent as usize && state.line(*other, location) != Line::Invalid;
                let holders = (0..self.agents.len()).filter(holds).fold(0, |set, other| set | 1 << other);
                state.pending[location.index()] |= holders;
                state.asking[location.index()] = Some(agent);
            }
            Step::Invalidate { agent, location } => {
                if let Line::Modified(write) = state.line(agent as usize, location) {
                    state.memory[location.index()] = write;
                }
                state.set_line(agent as usize, location, Line::Invalid);
                state.pending[location.index()] &= !(1 << agent);
            }
            Step::Grant { location } => {
                if let Some(agent) = state.asking[location.index()].take() {
                    let write = state.memory[location.index()];
                    state.set_line(agent as usize, location, Line::Modified(write));
                }
            }
            Step::Fill { multiprocessor, location } => {
                let l2 = self.multiprocessors[multiprocessor as usize].l2;
                if let Some(write) = state.line(l2, location).write() {
                    state.set_l1(multiprocessor as usize, location, L1Line::Clean(write));
                }
            }
            Step::Evict { multiprocessor, location } => {
                state.set_l1(multiprocessor as usize, location, L1Line::Absent);
            }
            Step::WriteBack { multiprocessor, location } => {
                if let Some(write) = state.l1(multiprocessor as usize, location).write() {
                    let l2 = self.multiprocessors[multiprocessor as usize].l2;
                    state.set_line(l2, location, Line::Modified(write));
                    state.set_l1(multiprocessor as usize, location, L1Line::Clean(write));
                }
            }
        }
    }

    /// Whoever has modified the line keeps it shared, and memory is current.
    fn recall(&self, state: &mut State, location: LocationId) {
        for agent in 0..self.agents.len() {
            if let Line::Modified(write) = state.line(agent, location) {
                state.memory[location.index()] = write;
                state.set_line(agent, location, Line::Shared(write));
            }
        }
    }

    fn core_execute(&self, state: &mut State, core: usize, event: EventId) {
        let request = self.requests.request(event);
        let RequestKind::Read { location } = request.kind else {
            return self.threads.advance(&mut state.progress, event);
        };
        let source = self.forwarded(state, self.requests.owner(event), location);
        let Some(source) = source.or_else(|| state.line(core, location).write()) else { return };
        self.threads.read(&mut state.progress, event, source);
        if request.atomic.is_some()
            && let Some(write) = self.threads.atomic_write(&state.progress, event)
        {
            state.set_line(core, location, Line::Modified(write));
            self.threads.advance(&mut state.progress, write);
        }
    }

    fn multiprocessor_execute(&self, state: &mut State, at: usize, event: EventId) {
        let request = self.requests.request(event);
        let (wide, l2) = (Self::is_wide(request), self.multiprocessors[at].l2);
        if wide && request.semantics.at_least_acquire() {
            self.drop_clean(state, at);
        }
        let location = match request.kind {
            RequestKind::Fence => return self.threads.advance(&mut state.progress, event),
            RequestKind::Write { location, .. } => {
                state.set_l1(at, location, L1Line::Dirty(event));
                return self.threads.advance(&mut state.progress, event);
            }
            RequestKind::Read { location } => location,
        };
        let in_l2 = wide && request.atomic.is_some();
        let source = if in_l2 { None } else { state.l1(at, location).write() };
        let Some(source) = source.or_else(|| state.line(l2, location).write()) else { return };
        self.threads.read(&mut state.progress, event, source);
        if request.atomic.is_none() {
            if state.l1(at, location) == L1Line::Absent {
                state.set_l1(at, location, L1Line::Clean(source));
            }
            return;
        }
        if in_l2 {
            state.set_l1(at, location, L1Line::Absent);
        }
        if let Some(write) = self.threads.atomic_write(&state.progress, event) {
            if in_l2 {
                state.set_line(l2, location, Line::Modified(write));
            } else {
                state.set_l1(at, location, L1Line::Dirty(write));
            }
            self.threads.advance(&mut state.progress, write);
        }
    }

    fn drop_clean(&self, state: &mut State, at: usize) {
        for location in self.locations() {
            if matches!(state.l1(at, location), L1Line::Clean(_)) {
                state.set_l1(at, location, L1Line::Absent);
            }
        }
    }
}
