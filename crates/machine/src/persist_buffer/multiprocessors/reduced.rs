//! The same machine with far fewer states, for what persistent memory may hold after a crash and for nothing else.
//!
//! It is for the buffer as the paper has it, and for programs that write each persistent location at most once in a run
//! ([`Reduced::new`]). It visits some states of the machine, in a normal form, and comes to every image that the machine comes to.
//! Its runs are runs of the machine. The other direction: let `n` be at least as far as `s` if the same stores to lines have been
//! executed and the same lines are durable; if in `n` each thread has executed what it has in `s`, and perhaps some of the steps of
//! point 5 more; and if every line that is not durable, and every warp that waits, has to wait for no more lines in `n` than in `s`.
//! Then a step from `s` either leaves that so, or `n` has one that does. Point by point:
//!
//! 1. *A line is flushed when it is about to become durable.* In `s` a line in flight holds back what is behind the ordering points
//!    that have left the buffer meanwhile, until nothing is in flight (FSM, EDM). In `n` the line is still in the buffer, and so are
//!    the ordering points behind it, which hold back the same warps for no longer than that: once these lines have gone. The line
//!    itself can go whenever its flush in `s` could: an ordering point ahead of it that is left in `n` and not in `s` has gone since
//!    something was in flight without a break, and would have held back the flush. Nobody else sees a line in flight, and its own SM
//!    sees the same store. Only a second store to the line could tell: it would wait for an entry and not for a flight.
//! 2. *Ordering points leave the head at once*, since nothing is in flight then and nothing is held back. What a warp waits for is in
//!    no image, so it is no loss that it waits no longer.
//! 3. *A release of the block leaves no entry*: evictions pass it, a second store to a line would be the only one to meet it in the
//!    buffer, and it leaves the head without a trace. What separates two ordering points from each other does not matter either, by 4.
//! 4. *Ordering points without a line between them are two at most*, one that holds back and one that makes wait, because they
//!    reach the head together; persists between two ordering points have no order, because each may be evicted; and bits of warps
//!    that persist nothing before their next ordering point hold back nothing.
//! 5. *Some requests are executed as soon as they can be*, and no other step is taken before: ordering points, and reads of what is
//!    never written again. The earlier an ordering point enters the buffer, the fewer lines are ahead of it, and it holds back none
//!    but its own warp. Stores to a volatile location that is written once, if whoever reads its initial value goes no further.
//! 6. *A read after which its thread does nothing* (it ends, or waits in a loop for another value) is not executed.
//!
//! Points 2, 5 and 6 change what is known of registers in a crash: of those nothing may be asked. The whole is compared with the
//! machine itself on random programs (`crates/check/tests/suite/persist_buffer.rs`).

use fencepost_program::program::{Term, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId};
use fencepost_syntax::sorted::SharedSort as _;

use super::super::buffer::{Kind, PersistBuffer};
use super::super::warps::Warps;
use super::super::{Point, Scope};
use super::state::{State, Store};
use super::transitions::Step;
use super::{Hardware, Multiprocessors};
use crate::machine::{Ending, Machine};
use crate::progress::Progress;
use crate::requests::{RequestKind, Requests, Sources, Walk};

pub(crate) struct Reduced<'a> {
    machine: Multiprocessors<'a>,
    /// Per location: it is written at most once in a run.
    once: Vec<bool>,
    /// Per location: whoever reads its initial value goes no further.
    awaited: Vec<bool>,
    /// Per request: a persist may come behind it in its thread.
    persists_later: Vec<bool>,
}

impl<'a> Reduced<'a> {
    /// None if the points above are not true of the hardware or the program. A loop that is cut is noticed by the machine itself.
    pub(crate) fn new(requests: &'a Requests, hardware: Hardware) -> Result<Option<Reduced<'a>>, Unsupported> {
        let machine = Multiprocessors::new(requests, hardware)?;
        let locations = (0..requests.locations.len()).map(LocationId::new);
        let once: Vec<bool> = locations.clone().map(|location| machine.is_written_once(location)).collect();
        let applies = hardware == Hardware::default()
            && locations.clone().all(|location| once[location.index()] || !machine.is_persistent(location))
            && !requests.traces.iter().any(|trace| trace.end.is_cut());
        if !applies {
            return Ok(None);
        }
        let awaited = locations.map(|location| machine.is_awaited(location)).collect();
        let persists = |event: EventId| u32::from(machine.is_persist(event));
        let later = |event: usize| machine.most(&requests.requests[event].next, &persists) > 0;
        let persists_later = (0..requests.requests.len()).map(later).collect();
        Ok(Some(Reduced { machine, once, awaited, persists_later }))
    }

    /// Points 1 to 4.
    fn normalise(&self, state: &mut State) {
        for sm in 0..state.buffers.len() {
            let silent = self.silent(&state.progress, sm);
            normalise(&mut state.buffers[sm], silent);
        }
    }

    /// The warps of an SM that persist nothing more.
    fn silent(&self, progress: &Progress, sm: usize) -> Warps {
        let mut silent = Warps::NONE;
        for (thread, seat) in self.machine.seats.iter().enumerate().filter(|(_, seat)| seat.sm == sm) {
            let persists = match progress.last(ThreadId::new(thread)) {
                Some(last) => self.persists_later[last.index()],
                // Threads that have not begun have nothing in the buffer.
                None => true,
            };
            if !persists {
                silent.insert(seat.warp);
            }
        }
        silent
    }

    /// Whether an enabled request is executed before anything else is done.
    fn is_eager(&self, state: &State, thread: usize, event: EventId) -> bool {
        let request = self.machine.requests.request(event);
        let seat = self.machine.seats[thread];
        match self.machine.ahead[event.index()].filter(|_| !state.pending[thread]) {
            // The warp waits behind its ordering point, and the rest comes later.
            Some(point) if request.is_fence() || state.buffers[seat.sm].delays(point) => return true,
            Some(_) | None => {}
        }
        match request.kind {
            RequestKind::Fence => true,
            _ if request.atomic.is_some() => false,
            RequestKind::Read { location } => {
                let source = self.machine.seen(state, seat.sm, location);
                let is_last = self.machine.requests.request(source).thread.is_some();
                self.once[location.index()] && (is_last || !self.machine.is_written(location))
            }
            RequestKind::Write { location, .. } => {
                let is_volatile = !self.machine.is_persistent(location);
                is_volatile && self.once[location.index()] && self.awaited[location.index()]
            }
        }
    }

    /// Point 6.
    fn is_idle(&self, state: &State, thread: usize, event: EventId) -> bool {
        let request = self.machine.requests.request(event);
        let RequestKind::Read { location } = request.kind else { return false };
        let is_issued = self.machine.ahead[event.index()].is_none() || state.pending[thread];
        if request.atomic.is_some() || !is_issued {
            return false;
        }
        let mut after = state.progress.clone();
        let source = self.machine.seen(state, self.machine.seats[thread].sm, location);
        self.machine.threads.read(&mut after, event, source);
        !self.machine.goes_on(&after, thread)
    }
}

fn normalise(buffer: &mut PersistBuffer<Store>, silent: Warps) {
    buffer.entries.retain(|entry| entry.point() != Some(Point::Release(Scope::Block)));
    for at in 0..buffer.entries.len() {
        if let Some(point) = buffer.entries[at].point() {
            let kept = if buffer.delays(point) { Point::DFence } else { Point::OFence };
            buffer.entries[at].kind = Kind::Point(kept);
        }
    }
    while buffer.entries.front().is_some_and(|entry| entry.point().is_some()) {
        buffer.drain();
    }
    buffer.drop_weaker_points(silent);
    buffer.join_points();
    let entries = buffer.entries.make_contiguous();
    for persists in entries.chunk_by_mut(|one, other| one.line().is_some() && other.line().is_some()) {
        persists.shared_sort_by_key(|entry| entry.line());
    }
}

impl Multiprocessors<'_> {
    /// How often a location may be written in a run.
    fn writes(&self, location: LocationId) -> u32 {
        let is_write = |event: EventId| {
            let request = self.requests.request(event);
            u32::from(request.is_write() && request.location() == Some(location))
        };
        self.requests.threads.iter().map(|thread| self.most(&thread.root, &is_write)).sum()
    }

    fn is_written(&self, location: LocationId) -> bool {
        self.writes(location) > 0
    }

    fn is_written_once(&self, location: LocationId) -> bool {
        self.writes(location) <= 1
    }

    fn is_awaited(&self, location: LocationId) -> bool {
        let initial = EventId::new(location.index());
        self.requests.requests.iter().enumerate().all(|(event, request)| {
            let Some(thread) = request.thread.filter(|_| request.is_read() && request.location() == Some(location))
            else {
                return true;
            };
            let mut progress = self.threads.start();
            self.threads.read(&mut progress, EventId::new(event), initial);
            request.atomic.is_none() && !self.goes_on(&progress, thread.index())
        })
    }

    /// Whether a thread may do more, by what it has read.
    fn goes_on(&self, progress: &Progress, thread: usize) -> bool {
        let branches = &Walk::new(self.requests, progress).fork(ThreadId::new(thread)).branches;
        !branches.is_empty() && branches.iter().any(|branch| self.is_open(progress, branch.to))
    }
}

impl Machine for Reduced<'_> {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        self.machine.initial()
    }

    fn words(&self) -> u32 {
        self.machine.words()
    }

    fn pack(&self, state: &State, words: &mut [u64]) {
        self.machine.pack(state, words);
    }

    fn unpack(&self, words: &[u64], state: &mut State) {
        self.machine.unpack(words, state);
    }

    /// An eviction is a flush and its acknowledgement.
    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for thread in 0..self.machine.seats.len() {
            let first = steps.len();
            self.machine.executions(state, thread, steps);
            let is_idle = |step: &Step| matches!(step, Step::Execute(event) if self.is_idle(state, thread, *event));
            let mut at = first;
            while at < steps.len() {
                if is_idle(&steps[at]) {
                    steps.remove(at);
                } else {
                    at += 1;
                }
            }
        }
        for (sm, buffer) in state.buffers.iter().enumerate() {
            let lines = buffer.entries().filter_map(|entry| entry.line()).filter(|line| buffer.can_evict(*line));
            steps.extend(lines.map(|line| Step::Evict(sm as u32, line)));
        }
    }

    fn choices(&self, state: &State, steps: &mut Vec<Step>) {
        self.steps(state, steps);
        let owner = |event: EventId| self.machine.requests.owner(event);
        let is_only = |thread: usize| {
            let own = steps.iter().filter(|step| matches!(step, Step::Execute(event) if owner(*event) == thread));
            own.count() == 1
        };
        let eager = steps.iter().copied().find(|step| match step {
            Step::Execute(event) => is_only(owner(*event)) && self.is_eager(state, owner(*event), *event),
            Step::Drain(_) | Step::Evict(..) | Step::Acknowledge(..) => false,
        });
        if let Some(step) = eager {
            steps.clear();
            steps.push(step);
        }
    }

    fn take(&self, state: &mut State, step: Step) {
        self.machine.take(state, step);
        if let Step::Evict(sm, line) = step {
            self.machine.take(state, Step::Acknowledge(sm, line));
        }
        self.normalise(state);
    }

    /// What runs end with is not asked.
    fn ending(&self, _state: &State, _steps: &[Step]) -> Ending {
        Ending::Running
    }

    fn known(&self, _state: &State, _term: &Term) -> Option<Value> {
        None
    }

    fn after_crash(&self, state: &State, term: &Term) -> Option<Value> {
        match term {
            Term::Memory(_) | Term::Constant(_) => self.machine.after_crash(state, term),
            Term::Register(..) => None,
        }
    }

    fn reveals(&self, _step: Step) -> bool {
        false
    }

    fn describe(&self, state: &State, step: Step) -> String {
        self.machine.describe(state, step)
    }

    fn show(&self, state: &State) -> Vec<String> {
        self.machine.show(state)
    }
}
