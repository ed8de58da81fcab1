//! Litmus programs on SMs with persist buffers: what they do to memory, and what a crash finds there.
//!
//! A CTA is a block and runs on an SM of its own; each of its threads is a warp, and each location a cache line. Threads execute
//! in program order. A store to NVM goes to the buffer of its SM: the threads of the SM see it at once, and memory keeps it when the
//! flush of its line is acknowledged. When other SMs see it is an option ([`Visible`]): with the acknowledgement, or already with the
//! flush, as through an L2 cache that is in front of the memory. The second breaks the order of a release on persistent memory
//! (Figure 3 of the paper): who acquires it may persist before the store of the release is durable. Flushes of one line reach memory
//! in the order in which they leave their SMs.
//! Other stores are visible at once. A device-scoped release makes its flag visible when its persists are durable. A
//! conventional fence waits as a `dfence` does, and so does a conventional release of wider scope than the CTA before it stores:
//! other SMs must see the stores before it, and see them when they are durable. The model does not ask for that much.
//!
//! So volatile memory is stronger here than the model: what this machine does and leaves, the model must allow, and not the other
//! way round.

mod reduced;
mod show;
mod state;
mod transitions;

use fencepost_program::program::{Place, Scope as PtxScope, Term, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId};

use super::warps::Warps;
use super::{Line, Merge, Point, Rules, Scope, Warp};
use crate::machine::{Ending, Machine, Stuck};
use crate::progress::{Progress, Threads};
use crate::requests::{Architecture, AtomicHalf, Fork, PersistOperation, Request, Requests, Walk};
pub(crate) use reduced::Reduced;
use state::Layout;
pub use state::State;
pub use transitions::Step;

/// When other SMs see a line that leaves a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Visible {
    AtAcknowledgement,
    AtFlush,
}

/// Whether lines leave a buffer out of their turn.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// Whenever the rules let them.
    AtAnyTime,
    Never,
}

/// How the SMs behave.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    pub rules: Rules,
    pub visible: Visible,
    pub eviction: Eviction,
}

impl Default for Hardware {
    fn default() -> Hardware {
        Hardware { rules: Rules::new(Merge::Paper), visible: Visible::AtAcknowledgement, eviction: Eviction::AtAnyTime }
    }
}

/// A thread is a warp of an SM.
#[derive(Copy, Clone, Debug)]
struct Seat {
    sm: usize,
    warp: Warp,
}

pub struct Multiprocessors<'a> {
    requests: &'a Requests,
    threads: Threads<'a>,
    hardware: Hardware,
    /// Per thread.
    seats: Vec<Seat>,
    /// Per event: the ordering point that enters the buffer before the request takes effect.
    ahead: Vec<Option<Point>>,
    layout: Layout,
}

fn refused<T>(request: &Request, what: &str) -> Result<T, Unsupported> {
    Err(Unsupported { span: request.span, what: format!("{what} on SMs with persist buffers") })
}

impl<'a> Multiprocessors<'a> {
    pub fn new(requests: &'a Requests, hardware: Hardware) -> Result<Multiprocessors<'a>, Unsupported> {
        let threads = Threads::new(requests);
        threads.only(&[Architecture::Ptx], "SMs with persist buffers")?;
        let is_persistent = |request: &Request| {
            request.location().is_some_and(|location| requests.locations[location.index()].is_persistent)
        };
        if let Some(request) = requests.requests.iter().find(|it| it.atomic.is_some() && is_persistent(it)) {
            return refused(request, "read-modify-writes of persistent memory");
        }
        let seats = seats(requests)?;
        let ahead = (0..requests.requests.len()).map(|event| ahead(requests, EventId::new(event))).collect();
        let mut machine = Multiprocessors { requests, threads, hardware, seats, ahead, layout: Layout::default() };
        machine.layout = Layout::new(&machine);
        Ok(machine)
    }

    fn sms(&self) -> usize {
        self.seats.iter().map(|seat| seat.sm + 1).max().unwrap_or(0)
    }

    /// The threads of an SM, by their warps.
    fn names(&self, sm: usize, warps: Warps) -> Vec<&str> {
        let has = |seat: &Seat| seat.sm == sm && warps.contains(seat.warp);
        let threads = self.requests.threads.iter().zip(&self.seats);
        threads.filter(|(_, seat)| has(seat)).map(|(thread, _)| thread.name.as_str()).collect()
    }

    fn is_persistent(&self, location: LocationId) -> bool {
        self.requests.locations[location.index()].is_persistent
    }

    fn line(location: LocationId) -> Line {
        Line(location.index() as u32)
    }

    fn walk<'s>(&'s self, state: &'s State) -> Walk<'s, Progress> {
        Walk::new(self.requests, &state.progress)
    }

    /// The most of something that a run from here can do, if each request does so much of it.
    fn most(&self, fork: &Fork, weight: &dyn Fn(EventId) -> u32) -> u32 {
        let below = |event: EventId| weight(event) + self.most(&self.requests.request(event).next, weight);
        fork.branches.iter().map(|branch| below(branch.to)).max().unwrap_or(0)
    }

    /// Whether a request puts a line into a buffer.
    fn is_persist(&self, event: EventId) -> bool {
        let request = self.requests.request(event);
        request.is_write() && request.location().is_some_and(|location| self.is_persistent(location))
    }
}

/// A CTA is an SM, and its threads are the warps in their order.
fn seats(requests: &Requests) -> Result<Vec<Seat>, Unsupported> {
    let mut ctas: Vec<(Place, u8)> = Vec::new();
    let mut seats = Vec::new();
    for (index, thread) in requests.threads.iter().enumerate() {
        let refuse = |what: String| Err(Unsupported { span: requests.start(ThreadId::new(index)), what });
        if thread.place == Place::Host {
            return refuse("a thread of the host on SMs with persist buffers".to_owned());
        }
        let sm = ctas.iter().position(|(place, _)| *place == thread.place).unwrap_or_else(|| {
            ctas.push((thread.place, 0));
            ctas.len() - 1
        });
        let warps = &mut ctas[sm].1;
        if u32::from(*warps) == Warps::MOST {
            return refuse(format!("more than {} threads of a CTA on SMs with persist buffers", Warps::MOST));
        }
        seats.push(Seat { sm, warp: Warp(*warps) });
        *warps += 1;
    }
    Ok(seats)
}

fn scope(request: &Request) -> Scope {
    if request.scope == PtxScope::Cta { Scope::Block } else { Scope::Device }
}

fn ahead(requests: &Requests, event: EventId) -> Option<Point> {
    let request = requests.request(event);
    request.thread?;
    match request.persist {
        Some(PersistOperation::Order) => return Some(Point::OFence),
        Some(PersistOperation::Durability) => return Some(Point::DFence),
        Some(PersistOperation::Release) => return Some(Point::Release(scope(request))),
        Some(PersistOperation::Acquire) => return None,
        None => {}
    }
    let is_wide_release = |request: &Request| request.semantics.at_least_release() && scope(request) == Scope::Device;
    // The write of an atomic operation comes with its read. One that fails has no write in its own branch.
    let is_same = |other: &Request| {
        let is_half = other.atomic.is_some() && request.atomic == Some(AtomicHalf::Read);
        is_half && other.thread == request.thread && other.span == request.span
    };
    let is_release = match request.atomic {
        Some(AtomicHalf::Write(_)) => false,
        Some(AtomicHalf::Read) => requests.requests.iter().any(|other| is_same(other) && is_wide_release(other)),
        None => request.is_write() && is_wide_release(request),
    };
    (request.is_fence() || is_release).then_some(Point::DFence)
}

impl Machine for Multiprocessors<'_> {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        State::initial(self)
    }

    fn words(&self) -> u32 {
        self.layout.words
    }

    fn pack(&self, state: &State, words: &mut [u64]) {
        self.pack_state(state, words);
    }

    fn unpack(&self, words: &[u64], state: &mut State) {
        self.unpack_state(words, state);
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        (0..self.seats.len()).for_each(|thread| self.executions(state, thread, steps));
        (0..self.sms()).for_each(|sm| self.movements(state, sm, steps));
    }

    fn take(&self, state: &mut State, step: Step) {
        self.take_step(state, step);
    }

    /// A run has ended when everything is durable: only then is it known which of two SMs wrote a line last.
    fn ending(&self, state: &State, steps: &[Step]) -> Ending {
        if !steps.is_empty() {
            return Ending::Running;
        }
        let walk = self.walk(state);
        let has_ended = |thread: usize| walk.ended(ThreadId::new(thread)).is_some() && !state.pending[thread];
        if !(0..self.seats.len()).all(has_ended) || !state.buffers.iter().all(|buffer| buffer.is_idle()) {
            return Ending::Stuck(Stuck::Deadlock);
        }
        walk.ending(|location| walk.written(state.memory[location.index()]))
    }

    fn known(&self, state: &State, term: &Term) -> Option<Value> {
        self.walk(state).known(term)
    }

    fn after_crash(&self, state: &State, term: &Term) -> Option<Value> {
        match term {
            Term::Constant(value) => Some(*value),
            Term::Memory(location) if self.is_persistent(*location) => {
                self.walk(state).written(state.durable[location.index()])
            }
            Term::Memory(_) => None,
            // A `dfence` is issued before it is over.
            Term::Register(thread, register) => {
                let is_over = !self.waits(state, thread.index());
                self.walk(state).so_far(*thread, *register, is_over)
            }
        }
    }

    fn reveals(&self, step: Step) -> bool {
        matches!(step, Step::Execute(_))
    }

    fn describe(&self, state: &State, step: Step) -> String {
        self.step_in_words(state, step)
    }

    fn show(&self, state: &State) -> Vec<String> {
        self.state_in_words(state)
    }
}
