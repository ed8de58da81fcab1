//! LOST-POP: the operational model of "Compound Memory Models" (Goens et al., PLDI 2023), generic in the architecture of
//! each thread.
//!
//! The state is a set of requests in a memory without a memory: each request propagates from its thread to the others, one
//! at a time, and the order constraints between requests say who must go first. A read is satisfied by the write before
//! it once both have propagated to the same threads, and is then removed. Local Ordering by Stalling on Threads: an
//! architecture only says which requests of one thread are ordered and what stalls there ([`architecture`]).
//!
//! The rules are those of the Lean implementation (goens/lost-pop-lean) at 6b8f5a7, written from a description of them;
//! [`rules`] has the points where Appendix A differs. Deliberate deviations, besides names: init writes belong to thread 0
//! in its architecture, as there, but a program without threads has none; satisfied reads keep no scope; `.gpu` means the
//! device (see [`rules`]); read-modify-writes, locked x86 instructions and final memory are added (see `atomic`).

mod architecture;
mod atomic;
mod eager;
mod pairs;
pub mod rules;
mod settled;
mod state;
mod transitions;

use fencepost_program::program::{Term, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, ThreadId};

use crate::lostpop::architecture::{Face, Kinds, compose};
use crate::lostpop::pairs::Pairs;
use crate::lostpop::rules::{Difference, Rules};
use crate::lostpop::settled::Settled;
pub use crate::lostpop::state::State;
use crate::lostpop::state::{Layout, View};
use crate::machine::{Ending, Machine};
use crate::pack::members;
use crate::requests::{AtomicHalf, GpuScope, Requests, ScopeTree, Sources, ThreadScope, ThreadSet};

/// A program on LOST-POP.
pub struct LostPop<'a> {
    requests: &'a Requests,
    rules: Rules,
    tree: ScopeTree,
    slots: u32,
    /// Per event.
    faces: Vec<Face>,
    pairs: Pairs,
    parent: Vec<Option<EventId>>,
    /// Per event of a thread: its number among the thread's events, and back.
    node_of: Vec<u32>,
    nodes: Vec<Vec<EventId>>,
    /// Per slot: the thread whose request it holds.
    owner: Vec<usize>,
    /// Per thread: its slots; those of the init writes are thread 0's.
    thread_slots: Vec<u64>,
    init_slots: u64,
    /// Init writes whose part in the order is implied (see [`Reduction::Init`]).
    implied: u64,
    /// Slots that may hold the write of a read-modify-write.
    atomic_writes: u64,
    /// Per thread: whether no predecessor gets ordered later than at an acceptance (see `eager`).
    predecessors_early: Vec<bool>,
    /// The threads where nobody asks for predecessors, and those where nobody does once they are everywhere.
    no_predecessors: u64,
    no_predecessors_everywhere: u64,
    settled: Settled,
    /// The reductions in use, by bit.
    reductions: u8,
    layout: Layout,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The thread hands the request to the memory system.
    Accept(EventId),
    /// The request in a slot reaches another thread.
    Propagate { slot: u32, to: u32 },
    /// A read gets its value from a write; if it is the read of a read-modify-write, the write is accepted with it.
    Satisfy { read: u32, write: u32 },
}

/// What an exploration may leave out. Each is safe by itself, and so are they together: an exploration takes all enabled
/// steps or one of the sets below, and each of these is safe with respect to all runs.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reduction {
    /// The part of init writes in the order is implied: an init write has propagated everywhere, so it covers every scope
    /// and stalls nothing itself; it is before everything at its location from the start; and nothing is ever ordered before
    /// it, so that it holds nothing back as a fence-like request either. (Observations only order what has no order yet. A
    /// predecessor is ordered before a request of its thread by the architecture: in x86 and SC such a pair is of one
    /// thread, where the init write came first and is before every write already; elsewhere an init write is a relaxed access,
    /// which holds nothing back.) So its edges to other locations and whether it is a predecessor decide nothing,
    /// and are not kept.
    Init,
    /// The order of acceptance is left open only where it matters (see `eager`).
    Acceptance,
    /// A read that is everywhere gets its value at once (see `settled`).
    Satisfaction,
    /// A request goes at once to where it decides nothing (see `settled`).
    Propagation,
    /// Whether a write is a predecessor at a thread is kept only where somebody asks. That is asked when a fence-like request
    /// waits for predecessors that have not reached its scope, and when predecessors are ordered with the requests of the thread.
    /// The latter has no effect where predecessors are ordered early (see `eager`); and there the former needs
    /// a fence-like request in the thread and a write that is not yet everywhere.
    Predecessors,
}

impl Reduction {
    pub const ALL: [Reduction; 5] = [
        Reduction::Init,
        Reduction::Acceptance,
        Reduction::Satisfaction,
        Reduction::Propagation,
        Reduction::Predecessors,
    ];
}

/// What an exploration visits.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// With all reductions.
    #[default]
    Needed,
    /// With one, to check it by itself.
    Only(Reduction),
    Everything,
}

impl<'a> LostPop<'a> {
    /// Refuses combinations of architectures that the paper does not define.
    pub fn new(requests: &'a Requests, rules: Rules) -> Result<LostPop<'a>, Unsupported> {
        LostPop::with_detail(requests, rules, Detail::Needed)
    }

    pub fn with_detail(requests: &'a Requests, rules: Rules, detail: Detail) -> Result<LostPop<'a>, Unsupported> {
        for thread in &requests.threads {
            for other in &requests.threads {
                if !compose(thread.architecture, other.architecture) {
                    let names = (thread.architecture.name(), other.architecture.name());
                    let what = format!("a compound of {} and {}", names.0, names.1);
                    return Err(Unsupported { span: fencepost_syntax::Span::default(), what });
                }
            }
        }
        let places: Vec<_> = requests.threads.iter().map(|thread| thread.place).collect();
        let gpu = if rules.lean(Difference::GpuScope) { GpuScope::SecondSmallest } else { GpuScope::Device };
        let own = if rules.lean(Difference::WeakScope) { ThreadScope::None } else { ThreadScope::Own };
        let tree = ScopeTree::new(&places, gpu, own);
        let events = requests.requests.len();
        let face =
            |id: EventId| Face::new(requests.request(id), requests.owner(id), requests.architecture(id), rules, &tree);
        let faces: Vec<Face> = (0..events).map(EventId::new).map(face).collect();
        let pairs = Pairs::new(&faces, rules, &tree)?;
        let is_atomic = |request: &&crate::requests::Request| matches!(request.atomic, Some(AtomicHalf::Write(_)));
        let mut machine = LostPop {
            requests,
            rules,
            slots: requests.slots,
            faces,
            pairs,
            owner: vec![0; requests.slots as usize],
            thread_slots: vec![0; requests.threads.len()],
            parent: requests.parents(),
            node_of: vec![0; events],
            nodes: vec![Vec::new(); requests.threads.len()],
            init_slots: (1 << requests.locations.len()) - 1,
            implied: 0,
            atomic_writes: requests.requests.iter().filter(is_atomic).fold(0, |set, it| set | it.slot.bit()),
            predecessors_early: vec![false; requests.threads.len()],
            no_predecessors: 0,
            no_predecessors_everywhere: 0,
            settled: Settled::default(),
            reductions: 0,
            layout: Layout::default(),
            tree,
        };
        for (index, request) in requests.requests.iter().enumerate() {
            let id = EventId::new(index);
            let owner = requests.owner(id);
            machine.owner[request.slot.index()] = owner;
            if let Some(slots) = machine.thread_slots.get_mut(owner) {
                *slots |= request.slot.bit();
            }
            if let Some(thread) = request.thread {
                machine.node_of[index] = machine.nodes[thread.index()].len() as u32;
                machine.nodes[thread.index()].push(id);
            }
        }
        machine.reduce(detail);
        machine.layout = Layout::new(&machine);
        Ok(machine)
    }

    fn reduce(&mut self, detail: Detail) {
        let is_safe = |reduction: &Reduction| *reduction == Reduction::Init || self.observes_as_lean();
        let is_wanted = |reduction: &Reduction| match detail {
            Detail::Needed => true,
            Detail::Only(only) => only == *reduction,
            Detail::Everything => false,
        };
        let used = Reduction::ALL.into_iter().filter(is_safe).filter(is_wanted);
        self.reductions = used.fold(0, |set, reduction| set | 1 << reduction as u8);
        if self.reduces(Reduction::Init) {
            self.implied = self.init_slots;
        }
        self.predecessors_early = self.threads_of_early_predecessors();
        self.settled = self.find_settled();
        if self.reduces(Reduction::Predecessors) {
            self.forget_predecessors();
        }
    }

    fn forget_predecessors(&mut self) {
        for (thread, nodes) in self.nodes.iter().enumerate() {
            let is_early = self.predecessors_early[thread];
            let asks = nodes.iter().any(|event| self.faces[event.index()].kinds != Kinds::NONE);
            self.no_predecessors |= u64::from(is_early && !asks) << thread;
            self.no_predecessors_everywhere |= u64::from(is_early) << thread;
        }
    }

    fn reduces(&self, reduction: Reduction) -> bool {
        self.reductions >> reduction as u8 & 1 == 1
    }

    fn slot(&self, event: EventId) -> u32 {
        u32::from(self.requests.request(event).slot.0)
    }

    fn threads_text(&self, threads: u64) -> String {
        members(threads)
            .map(|thread| self.requests.threads[thread as usize].name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Machine for LostPop<'_> {
    type State = State;
    type Step = Step;

    /// Thread 0 has accepted the init writes, and they have propagated everywhere.
    fn initial(&self) -> State {
        let mut state = State::empty(self);
        if self.requests.threads.is_empty() {
            return state;
        }
        for location in 0..self.requests.locations.len() {
            self.accept(&mut state, EventId::new(location));
            for to in 1..self.requests.threads.len() {
                self.propagate(&mut state, location as u32, to as u32);
            }
        }
        state
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
        self.accepts(state, steps);
        self.satisfactions(state, steps);
        self.propagations(state, steps);
    }

    fn choices(&self, state: &State, steps: &mut Vec<Step>) {
        self.accepts(state, steps);
        if self.reduces(Reduction::Acceptance) && self.keep_eager(state, steps) {
            return;
        }
        self.satisfactions(state, steps);
        if self.keep_settled(state, steps) {
            return;
        }
        self.propagations(state, steps);
        self.keep_settled(state, steps);
    }

    fn take(&self, state: &mut State, step: Step) {
        match step {
            Step::Accept(event) => self.accept(state, event),
            Step::Propagate { slot, to } => self.propagate(state, slot, to),
            Step::Satisfy { read, write } => self.satisfy(state, read, write),
        }
    }

    fn ending(&self, state: &State, steps: &[Step]) -> Ending {
        if steps.is_empty() { self.end(state) } else { Ending::Running }
    }

    fn known(&self, state: &State, term: &Term) -> Option<Value> {
        self.walk(&View { machine: self, state }).known(term)
    }

    fn reveals(&self, step: Step) -> bool {
        matches!(step, Step::Satisfy { .. })
    }

    fn describe(&self, state: &State, step: Step) -> String {
        let view = View { machine: self, state };
        let walk = self.walk(&view);
        let text = |slot: u32| walk.text_with_thread(state.event(slot));
        match step {
            Step::Accept(event) => {
                let thread = &self.requests.threads[self.requests.owner(event)].name;
                format!("{thread} accepts {}", walk.text(event))
            }
            Step::Propagate { slot, to } => {
                format!("{} propagates to {}", text(slot), self.requests.threads[to as usize].name)
            }
            Step::Satisfy { read, write } => {
                let value = walk.written(state.event(write));
                let value = value.map_or(String::new(), |value| format!(" and returns {value}"));
                let mut after = state.clone();
                self.satisfy(&mut after, read, write);
                let after = View { machine: self, state: &after };
                let thread = ThreadId::new(self.owner[read as usize]);
                let half = after.last(thread).filter(|half| Some(*half) != view.last(thread));
                let half = half.map_or(String::new(), |half| {
                    format!("; {} accepts {}", self.requests.threads[thread.index()].name, self.walk(&after).text(half))
                });
                format!("{} is satisfied by {}{value}{half}", text(read), text(write))
            }
        }
    }

    fn show(&self, state: &State) -> Vec<String> {
        let mut lines = Vec::new();
        let view = View { machine: self, state };
        let text = |slot: u32| self.walk(&view).text_with_thread(state.event(slot));
        for slot in members(state.active & !self.init_slots) {
            let mut line = format!("{}: propagated to {}", text(slot), self.threads_text(state.propagated(slot)));
            if !self.face(state, slot).is_memory() {
                line = text(slot);
            }
            if state.predecessor(slot) != 0 {
                line += &format!(", predecessor at {}", self.threads_text(state.predecessor(slot)));
            }
            lines.push(line);
        }
        for from in members(state.active & !self.init_slots) {
            for to in members(state.active) {
                if let Some(level) = state.highest(from, to, self.tree.levels()) {
                    let set = self.tree.set(self.face(state, from).thread, level);
                    let at = if set == ThreadSet(self.tree.system().0) {
                        String::new()
                    } else {
                        format!(" at {{{}}}", self.threads_text(set.0))
                    };
                    lines.push(format!("{} before {}{at}", text(from), text(to)));
                }
            }
        }
        lines
    }
}
