//! A coherence protocol for a CPU and GPUs: what the gem5 study of "Compound Memory Models" (section 7) ran, small enough
//! to explore completely.
//!
//! * An x86 thread is a core with a first-in-first-out store buffer and a private write-back cache, lines Modified, Shared
//!   or Invalid.
//! * A GPU thread runs on the streaming multiprocessor of its CTA, which has a write-back L1 that nobody invalidates: a
//!   release of wider scope than the CTA waits until every dirty line is written back and acknowledged, an acquire drops
//!   every clean line. A CTA-scoped one does nothing, the L1 being shared by the CTA.
//! * All L1s of a GPU write back to its L2, which is coherent with the cores. To take a write-back the L2 must own the line.
//! * An inter-device directory serialises requests per line. With single-writer-multiple-reader ([`Swmr::Kept`]) it grants
//!   ownership when every other holder has given the line up. Without ([`Swmr::EarlyAcknowledge`], the paper's
//!   modification) an L2 gets it at once where the others only share the line; their invalidations arrive later, and until
//!   then they read the old value. A modified line is always fetched first.
//!
//! Instructions execute in order. Lines are prefetched, evicted and written back at any time, which is what makes a GPU
//! weak: a load hits a line from before, stores leave the L1 in another order. A store never passes an earlier load.
//!
//! Left out, because it is invisible: evictions from the coherent caches (they move a value, and change nobody's next
//! read), and prefetches of lines that nobody who shares the cache loads. One location is one line: no false sharing.
//! Scopes `.cluster` and `.gpu` act like `.sys`: the L2 is coherent with the CPU.

mod show;
mod state;
mod transitions;

use fencepost_program::program::{Place, Scope, Term, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId};
use fencepost_syntax::sorted::SortedSet;

pub use crate::coherence::state::State;
use crate::coherence::state::{Layout, Line};
use crate::machine::{Ending, Machine, Stuck};
use crate::progress::{Progress, Threads};
use crate::requests::{Architecture, Request, Requests, Walk};

/// Whether the inter-device protocol keeps the single-writer-multiple-reader invariant.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Swmr {
    #[default]
    Kept,
    /// A GPU's write-back is acknowledged before the CPU's sharers are invalidated.
    EarlyAcknowledge,
}

/// A program on the protocol.
pub struct Coherence<'a> {
    requests: &'a Requests,
    threads: Threads<'a>,
    swmr: Swmr,
    /// Per thread.
    seats: Vec<Seat>,
    /// Coherent agents: cores first, then the L2 of each GPU.
    agents: Vec<Agent>,
    /// Streaming multiprocessors: the agent number of the L2, and the locations its threads load.
    multiprocessors: Vec<Multiprocessor>,
    layout: Layout,
}

/// Where a thread runs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Seat {
    /// The agent number of its core.
    Core(usize),
    Multiprocessor(usize),
}

struct Agent {
    name: String,
    /// Of a core.
    thread: Option<usize>,
    /// Locations that are loaded through it.
    loads: SortedSet<LocationId>,
}

struct Multiprocessor {
    name: String,
    l2: usize,
    loads: SortedSet<LocationId>,
}

/// A transition. Agents are cores and L2s.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Execute(EventId),
    /// The oldest store in a core's buffer is written into its cache.
    Drain(u32),
    /// An agent fetches a line to share it.
    Fetch {
        agent: u32,
        location: LocationId,
    },
    /// An agent asks the directory for ownership.
    Ask {
        agent: u32,
        location: LocationId,
    },
    /// An invalidation arrives.
    Invalidate {
        agent: u32,
        location: LocationId,
    },
    /// The directory grants what was asked.
    Grant {
        location: LocationId,
    },
    /// A line comes from the L2 into an L1.
    Fill {
        multiprocessor: u32,
        location: LocationId,
    },
    /// An L1 drops a clean line.
    Evict {
        multiprocessor: u32,
        location: LocationId,
    },
    /// An L1 writes a dirty line back, and the L2 acknowledges.
    WriteBack {
        multiprocessor: u32,
        location: LocationId,
    },
}

impl<'a> Coherence<'a> {
    pub fn new(requests: &'a Requests, swmr: Swmr) -> Result<Coherence<'a>, Unsupported> {
        let threads = Threads::new(requests);
        let known = [Architecture::X86, Architecture::Ptx, Architecture::Xc];
        threads.only(&known, "the coherence protocol")?;
        let loads = |thread: usize| -> SortedSet<LocationId> {
            let is_load = |request: &&Request| request.thread == Some(ThreadId::new(thread)) && request.is_read();
            requests.requests.iter().filter(is_load).filter_map(Request::location).collect()
        };
        let mut agents = Vec::new();
        for (index, thread) in requests.threads.iter().enumerate() {
            if thread.architecture == Architecture::X86 {
                agents.push(Agent {
                    name: format!("{}'s core", thread.name),
                    thread: Some(index),
                    loads: loads(index),
                });
            }
        }
        let cores = agents.len();
        let (mut gpus, mut places) = (Vec::new(), Vec::new());
        let mut multiprocessors: Vec<Multiprocessor> = Vec::new();
        let mut seats = Vec::new();
        for (index, thread) in requests.threads.iter().enumerate() {
            if thread.architecture == Architecture::X86 {
                let core = agents.iter().position(|agent| agent.thread == Some(index)).unwrap_or(0);
                seats.push(Seat::Core(core));
                continue;
            }
            let Place::Gpu { gpu, .. } = thread.place else {
                let what = "a GPU thread on the host, on the coherence protocol".to_owned();
                return Err(Unsupported { span: fencepost_syntax::Span::default(), what });
            };
            let l2 = position_or_push(&mut gpus, gpu) + cores;
            if l2 == agents.len() {
                agents.push(Agent { name: format!("the L2 of GPU {gpu}"), thread: None, loads: SortedSet::new() });
            }
            let at = position_or_push(&mut places, thread.place);
            if at == multiprocessors.len() {
                multiprocessors.push(Multiprocessor { name: format!("SM {at}"), l2, loads: SortedSet::new() });
            }
            agents[l2].loads.extend(loads(index));
            multiprocessors[at].loads.extend(loads(index));
            seats.push(Seat::Multiprocessor(at));
        }
        let layout = Layout::default();
        let mut machine = Coherence { requests, threads, swmr, seats, agents, multiprocessors, layout };
        machine.layout = Layout::new(&machine);
        Ok(machine)
    }

    fn locations(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.requests.locations.len()).map(LocationId::new)
    }

    fn walk<'s>(&'s self, state: &'s State) -> Walk<'s, Progress> {
        Walk::new(self.requests, &state.progress)
    }

    /// Beyond the CTA, so that the L1 is in the way.
    fn is_wide(request: &Request) -> bool {
        request.scope != Scope::Cta
    }

    /// What memory holds once everything is written back.
    fn final_write(&self, state: &State, location: LocationId) -> EventId {
        let owned = |agent: usize| match state.line(agent, location) {
            Line::Modified(write) => Some(write),
            Line::Shared(_) | Line::Invalid => None,
        };
        (0..self.agents.len()).find_map(owned).unwrap_or(state.memory[location.index()])
    }

    /// Every store has left its buffer and its L1, and no request is under way.
    fn is_quiet(&self, state: &State) -> bool {
        let has_store = |agent: &Agent| agent.thread.is_some_and(|thread| !self.buffer(state, thread).is_empty());
        let has_dirty = |at: usize| self.locations().any(|location| state.l1(at, location).is_dirty());
        !self.agents.iter().any(has_store)
            && !(0..self.multiprocessors.len()).any(has_dirty)
            && state.asking.iter().all(Option::is_none)
    }
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|other| *other == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

impl Machine for Coherence<'_> {
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
        self.executions(state, steps);
        self.protocol_steps(state, steps);
    }

    fn take(&self, state: &mut State, step: Step) {
        self.take_step(state, step);
    }

    /// Caches never come to rest, so a run has ended when the threads have and nothing waits to be written.
    fn ending(&self, state: &State, steps: &[Step]) -> Ending {
        let walk = self.walk(state);
        let all_ended = (0..self.requests.threads.len()).all(|thread| walk.ended(ThreadId::new(thread)).is_some());
        if !all_ended || !self.is_quiet(state) {
            return if steps.is_empty() { Ending::Stuck(Stuck::Deadlock) } else { Ending::Running };
        }
        walk.ending(|location| walk.written(self.final_write(state, location)))
    }

    fn known(&self, state: &State, term: &Term) -> Option<Value> {
        self.walk(state).known(term)
    }

    fn reveals(&self, step: Step) -> bool {
        matches!(step, Step::Execute(_))
    }

    fn describe(&self, state: &State, step: Step) -> String {
        self.describe_step(state, step)
    }

    fn show(&self, state: &State) -> Vec<String> {
        self.show_state(state)
    }
}
