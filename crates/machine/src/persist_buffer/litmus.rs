//! Litmus programs on SMs with persist buffers: every state of persistent memory in which a crash can find them.
//!
//! A CTA is a block and runs on an SM of its own; each of its threads is a warp. Threads execute in program order. A store to NVM
//! goes to the buffer of its SM: the threads of the SM see it at once, and memory keeps it when the flush of its line is
//! acknowledged. When other SMs see it is an option ([`Visible`]): with the acknowledgement, or already with the flush, as through
//! an L2 cache that is in front of the memory. The second breaks the order of a release on persistent memory (Figure 3 of the
//! paper): who acquires it may persist before the store of the release is durable. Flushes of one line reach memory in the order in
//! which they leave their SMs.
//! Other stores are visible at once. A device-scoped release makes its flag visible when its persists are durable. A
//! conventional fence waits as a `dfence` does, which is more than the model asks for.
//!
//! So volatile memory is stronger here than the model: what this machine leaves, the model must allow, and not the other way
//! round.

use std::collections::{BTreeSet, HashSet, VecDeque};

use fencepost_program::program::{Place, Scope as PtxScope, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};

use super::buffer::{Kind, Stall};
use super::{Line, PersistBuffer, Point, Rules, Scope, Warp};
use crate::pack::{Writer, words_for};
use crate::progress::{Progress, Threads};
use crate::requests::{PersistOperation, Request, RequestKind, Requests, Walk};

/// What persistent memory may hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Images {
    /// The values of the persistent locations, in their order.
    pub images: BTreeSet<Vec<Value>>,
    pub states: u64,
    /// Every reachable state was seen.
    pub complete: bool,
}

/// When other SMs see a line that leaves a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Visible {
    AtFlush,
    AtAcknowledgement,
}

/// Explores a program whose locations `persistent` are NVM, up to so many states.
pub fn crash_images(
    requests: &Requests,
    persistent: &[LocationId],
    (rules, visible): (Rules, Visible),
    most: u64,
) -> Result<Images, Unsupported> {
    let machine = Litmus::new(requests, persistent, (rules, visible))?;
    let mut found = Images { complete: true, ..Images::default() };
    let mut seen = HashSet::new();
    let mut waiting = VecDeque::from([machine.initial()]);
    seen.insert(machine.packed(&waiting[0]));
    while let Some(state) = waiting.pop_front() {
        found.states += 1;
        if found.states > most {
            found.complete = false;
            break;
        }
        found.images.extend(machine.image(&state));
        for next in machine.successors(&state) {
            if seen.insert(machine.packed(&next)) {
                waiting.push_back(next);
            }
        }
    }
    Ok(found)
}

struct Litmus<'a> {
    requests: &'a Requests,
    threads: Threads<'a>,
    persistent: &'a [LocationId],
    rules: Rules,
    visible: Visible,
    /// Per thread: its SM, and its warp there.
    places: Vec<(usize, Warp)>,
    sms: usize,
}

/// The store of a line, by its event.
type Store = Option<EventId>;

#[derive(Clone)]
struct State {
    progress: Progress,
    /// Per location: what memory holds for all to see.
    memory: Vec<EventId>,
    /// Per location: what a crash leaves.
    durable: Vec<EventId>,
    buffers: Vec<PersistBuffer<Store>>,
    /// Lines in flight, oldest first, with their SM.
    flights: Vec<(usize, Line)>,
    /// Per thread: the release that waits to make its flag visible.
    pending: Vec<Option<EventId>>,
}

impl<'a> Litmus<'a> {
    fn new(
        requests: &'a Requests,
        persistent: &'a [LocationId],
        (rules, visible): (Rules, Visible),
    ) -> Result<Litmus<'a>, Unsupported> {
        let mut ctas: Vec<Place> = Vec::new();
        let mut warps: Vec<u8> = Vec::new();
        let mut places = Vec::new();
        for thread in &requests.threads {
            let sm = ctas.iter().position(|place| *place == thread.place).unwrap_or_else(|| {
                ctas.push(thread.place);
                warps.push(0);
                ctas.len() - 1
            });
            places.push((sm, Warp(warps[sm])));
            warps[sm] += 1;
        }
        if let Some(request) = requests.requests.iter().find(|request| {
            request.atomic.is_some() && request.location().is_some_and(|location| persistent.contains(&location))
        }) {
            let what = "read-modify-writes of persistent memory on SMs with persist buffers".to_owned();
            return Err(Unsupported { span: request.span, what });
        }
        let threads = Threads::new(requests);
        Ok(Litmus { requests, threads, persistent, rules, visible, places, sms: ctas.len() })
    }

    fn initial(&self) -> State {
        let inits: Vec<EventId> = (0..self.requests.locations.len()).map(EventId::new).collect();
        State {
            progress: self.threads.start(),
            memory: inits.clone(),
            durable: inits,
            buffers: (0..self.sms).map(|_| PersistBuffer::new(self.rules)).collect(),
            flights: Vec::new(),
            pending: vec![None; self.requests.threads.len()],
        }
    }

    fn image(&self, state: &State) -> Option<Vec<Value>> {
        let walk = Walk::new(self.requests, &state.progress);
        self.persistent.iter().map(|location| walk.written(state.durable[location.index()])).collect()
    }

    fn is_persistent(&self, location: LocationId) -> bool {
        self.persistent.contains(&location)
    }

    /// Every state that one step leads to: of a thread, or of the hardware.
    fn successors(&self, state: &State) -> Vec<State> {
        let mut found = Vec::new();
        for thread in 0..self.requests.threads.len() {
            let (sm, warp) = self.places[thread];
            if state.buffers[sm].is_stalled(warp) {
                continue;
            }
            if let Some(release) = state.pending[thread] {
                found.extend(self.released(state.clone(), thread, release));
                continue;
            }
            for event in self.threads.next(&state.progress, thread) {
                let next = self.execute(state.clone(), thread, event);
                found.extend(next.filter(|next| self.is_possible(next, thread)));
            }
        }
        for sm in 0..self.sms {
            self.hardware(state, sm, &mut found);
        }
        found
    }

    /// Whether the values that a thread has read let it go on as it has begun: the unfolding forks before a read whose value
    /// decides, and says in the constraints of the traces which it must be.
    fn is_possible(&self, state: &State, thread: usize) -> bool {
        let walk = Walk::new(self.requests, &state.progress);
        let mut forks = vec![walk.fork(ThreadId::new(thread))];
        while let Some(fork) = forks.pop() {
            let is_open = |trace: &TraceId| {
                let constraints = &self.requests.traces[trace.index()].constraints;
                constraints.iter().all(|constraint| walk.evaluate(constraint) != Some(Value(0)))
            };
            if fork.ends.iter().any(is_open) {
                return true;
            }
            forks.extend(fork.branches.iter().map(|branch| &self.requests.request(branch.to).next));
        }
        false
    }

    /// Drains the head, evicts a line, or acknowledges one that is the oldest of its line anywhere.
    fn hardware(&self, state: &State, sm: usize, found: &mut Vec<State>) {
        if state.buffers[sm].can_drain() {
            let mut next = state.clone();
            next.buffers[sm].drain();
            self.flushed(&mut next, sm);
            found.push(next);
        }
        let lines: Vec<Line> = state.buffers[sm].entries().filter_map(|entry| entry.line()).collect();
        for line in lines.into_iter().filter(|line| state.buffers[sm].can_evict(*line)) {
            let mut next = state.clone();
            next.buffers[sm].flush_early(line);
            self.flushed(&mut next, sm);
            found.push(next);
        }
        let mut lines: Vec<Line> = state.buffers[sm].in_flight().iter().map(|flight| flight.line).collect();
        lines.dedup();
        for line in lines {
            let oldest = state.flights.iter().position(|(_, other)| *other == line);
            let Some(at) = oldest.filter(|at| state.flights[*at].0 == sm) else { continue };
            let mut next = state.clone();
            next.flights.remove(at);
            if let Some(Some(store)) = next.buffers[sm].acknowledge(line) {
                next.durable[line.0 as usize] = store;
                if self.visible == Visible::AtAcknowledgement {
                    next.memory[line.0 as usize] = store;
                }
            }
            found.push(next);
        }
    }

    /// Notes a line that has just left the buffer.
    fn flushed(&self, state: &mut State, sm: usize) {
        let known = state.flights.iter().filter(|(other, _)| *other == sm).count();
        let new: Vec<(Line, Store)> =
            state.buffers[sm].in_flight().iter().skip(known).map(|flight| (flight.line, flight.data)).collect();
        for (line, data) in new {
            state.flights.push((sm, line));
            if let Some(store) = data.filter(|_| self.visible == Visible::AtFlush) {
                state.memory[line.0 as usize] = store;
            }
        }
    }

    /// What a thread reads: its SM's own line, in the buffer or on its way, or memory.
    fn seen(&self, state: &State, sm: usize, location: LocationId) -> EventId {
        let own = state.buffers[sm].entries().find_map(|entry| match entry.kind {
            Kind::Persist(Line(line), data) if line as usize == location.index() => data,
            _ => None,
        });
        let flying = || {
            let own = state.buffers[sm].in_flight().iter().rev();
            own.filter(|flight| flight.line.0 as usize == location.index()).find_map(|flight| flight.data)
        };
        own.or_else(flying).unwrap_or(state.memory[location.index()])
    }

    fn execute(&self, mut state: State, thread: usize, event: EventId) -> Option<State> {
        let request = self.requests.request(event);
        let (sm, warp) = self.places[thread];
        match (&request.kind, request.persist) {
            (RequestKind::Read { location }, operation) => {
                let source = self.seen(&state, sm, *location);
                self.threads.read(&mut state.progress, event, source);
                if operation == Some(PersistOperation::Acquire) {
                    state.buffers[sm].issue(warp, Point::Acquire(scope(request))).ok()?;
                }
                if request.atomic.is_some()
                    && let Some(write) = self.threads.atomic_write(&state.progress, event)
                {
                    state.memory[location.index()] = write;
                    self.threads.advance(&mut state.progress, write);
                }
                Some(state)
            }
            (RequestKind::Write { .. }, Some(PersistOperation::Release)) => {
                state.buffers[sm].issue(warp, Point::Release(scope(request))).ok()?;
                state.pending[thread] = Some(event);
                if state.buffers[sm].is_stalled(warp) { Some(state) } else { self.released(state, thread, event) }
            }
            (RequestKind::Write { .. }, _) => self.store(state, thread, event),
            (RequestKind::Fence, operation) => {
                let point = match operation {
                    Some(PersistOperation::Order) => Point::OFence,
                    _ => Point::DFence,
                };
                state.buffers[sm].issue(warp, point).ok()?;
                self.threads.advance(&mut state.progress, event);
                Some(state)
            }
        }
    }

    /// The store of a release, whose ordering point is in the buffer already.
    fn released(&self, state: State, thread: usize, event: EventId) -> Option<State> {
        let before = state.progress.clone();
        let mut next = self.store(state, thread, event)?;
        if next.progress != before {
            next.pending[thread] = None;
        }
        Some(next)
    }

    /// A store, to the buffer or to memory; None while there is no room. One that must wait puts its warp into a mask, and is tried
    /// again when the mask is reset.
    fn store(&self, mut state: State, thread: usize, event: EventId) -> Option<State> {
        let (sm, warp) = self.places[thread];
        let location = self.requests.request(event).location()?;
        if self.is_persistent(location) {
            match state.buffers[sm].store(warp, Line(location.index() as u32)) {
                Ok(data) => *data = Some(event),
                Err(Stall::Ordered) => return Some(state),
                Err(Stall::Full) => return None,
            }
        } else {
            state.memory[location.index()] = event;
        }
        self.threads.advance(&mut state.progress, event);
        Some(state)
    }

    /// A state in words, for the set of those seen.
    fn packed(&self, state: &State) -> Vec<u64> {
        let mut words = vec![0; words_for(u64::from(self.threads.bits())) as usize];
        self.threads.pack(&state.progress, &mut Writer::new(&mut words));
        let number = |event: &Option<EventId>| event.map_or(0, |event| u64::from(event.0) + 1);
        words.extend(state.memory.iter().chain(&state.durable).map(|event| u64::from(event.0)));
        words.extend(state.pending.iter().map(number));
        words.extend(state.flights.iter().map(|(sm, line)| (*sm as u64) << 32 | u64::from(line.0)));
        for buffer in &state.buffers {
            words.push(u64::MAX);
            words.extend(buffer.masks().iter().map(|mask| u64::from(mask.0)));
            for entry in buffer.entries() {
                let (kind, data) = match entry.kind {
                    Kind::Persist(line, data) => (u64::from(line.0) << 8, number(&data)),
                    Kind::Point(point) => (1 + point_number(point), 0),
                };
                words.extend([kind, data << 32 | u64::from(entry.warps.0)]);
            }
            words.push(u64::MAX);
            words.extend(buffer.in_flight().iter().map(|flight| u64::from(flight.line.0) << 32 | number(&flight.data)));
        }
        words
    }
}

fn point_number(point: Point) -> u64 {
    match point {
        Point::OFence => 0,
        Point::DFence => 1,
        Point::Acquire(Scope::Block) => 2,
        Point::Acquire(Scope::Device) => 3,
        Point::Release(Scope::Block) => 4,
        Point::Release(Scope::Device) => 5,
    }
}

fn scope(request: &Request) -> Scope {
    if request.scope == PtxScope::Cta { Scope::Block } else { Scope::Device }
}
