//! The explorer: every reachable state of a machine, breadth first, so that the way to an outcome is a shortest one.
//!
//! The frontier is expanded in batches of a fixed size. Within a batch the states are divided among threads, and then the
//! shards of the store are; each shard takes what arrives in the order of the frontier. So states, their numbers, the
//! outcomes and the traces are the same whatever the number of threads; only a time limit depends on the clock.
//!
//! Which transitions are taken is the machine's to say ([`Machine::choices`]): all that are enabled, or an ample set of
//! them. Pruning by the question ([`Aim::Reach`], [`Aim::Decide`]) leaves out states from which the condition can no longer
//! come true.

mod expand;
pub(crate) mod store;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::FinalState;
use fencepost_syntax::sorted::SortedMap;

use crate::machine::{CrashState, Cut, Machine, Stuck};
use expand::Explorer;
pub(crate) use expand::{holds, shared};
pub use store::StateId;
use store::Store;

/// What keeps an exploration from going on for ever.
#[derive(Copy, Clone, Debug)]
pub struct Limits<'a> {
    /// The most states to be seen.
    pub states: u64,
    pub deadline: Option<Instant>,
    /// Bytes that the states may take.
    pub memory: Option<u64>,
    /// Set from outside.
    pub cancelled: Option<&'a AtomicBool>,
    /// How many threads expand states.
    pub workers: u32,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits { states: 20_000_000, deadline: None, memory: None, cancelled: None, workers: 1 }
    }
}

/// What is looked for.
#[derive(Copy, Clone, Debug)]
pub enum Aim<'a> {
    /// All outcomes.
    Everything,
    /// All outcomes, and what a crash may leave of these terms: at any point of a run, so that every state counts.
    Crashes(&'a [Term]),
    /// Some state in which a crash leaves what satisfies the condition, by a shortest way.
    Crash(&'a Condition),
    /// Some outcome that satisfies the condition, by a shortest way: the search ends at the first, and goes nowhere where
    /// the condition can no longer hold.
    Reach(&'a Condition),
    /// The same by any way, which is found sooner: depth first, by one thread.
    Decide(&'a Condition),
}

/// Why an exploration is not complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    States,
    Time,
    Memory,
    Cancelled,
    /// A thread left the part of the program that was unrolled.
    Cut(Cut),
}

/// Whether everything was seen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Every reachable outcome (that the aim asks for) is among those found.
    Complete,
    /// One that the aim asks for was found, and the search ended.
    Found,
    /// Outcomes that were found are reachable; nothing follows from the absence of others.
    Incomplete(Stop),
}

/// The final states of one outcome, or those in which a crash leaves the same.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// How many states of the machine show it.
    pub states: u64,
    /// The first of them that was found: none is nearer to the initial state.
    pub first: StateId,
}

/// What an exploration saw.
pub struct Explored<'m, M> {
    machine: &'m M,
    store: Store,
    pub extent: Extent,
    pub outcomes: BTreeMap<FinalState, Tally>,
    /// States that end a run without an outcome.
    pub stuck: SortedMap<Stuck, Tally>,
    /// What a crash may leave of the terms that the aim names.
    pub crashes: BTreeMap<CrashState, Tally>,
    /// The first state in which a crash leaves what the aim asks for.
    pub crash: Option<StateId>,
    /// How many transitions were taken.
    pub transitions: u64,
    /// The length of the longest of the shortest ways to a state.
    pub depth: u32,
}

impl<M: Machine> Explored<'_, M> {
    /// How many states were seen.
    pub fn states(&self) -> u64 {
        self.store.len()
    }

    /// Bytes that the states take.
    pub fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// The transitions from the initial state to this one, a shortest way.
    pub fn path(&self, to: StateId) -> Vec<M::Step> {
        let origins = std::iter::successors(self.store.origin(to), |origin| self.store.origin(origin.parent));
        let mut steps = Vec::new();
        let mut state = self.machine.initial();
        let mut path: Vec<M::Step> = origins
            .filter_map(|origin| {
                self.machine.unpack(self.store.state(origin.parent), &mut state);
                steps.clear();
                self.machine.choices(&state, &mut steps);
                steps.get(origin.step as usize).copied()
            })
            .collect();
        path.reverse();
        path
    }

    /// The same in words.
    pub fn trace(&self, to: StateId) -> Vec<String> {
        self.in_words(self.path(to))
    }

    pub(crate) fn in_words(&self, path: Vec<M::Step>) -> Vec<String> {
        let mut state = self.machine.initial();
        let describe = |step: M::Step| {
            let words = self.machine.describe(&state, step);
            self.machine.take(&mut state, step);
            words
        };
        path.into_iter().map(describe).collect()
    }
}

/// Explores a machine.
pub fn explore<'m, M: Machine>(machine: &'m M, aim: &Aim<'_>, limits: &Limits<'_>) -> Explored<'m, M> {
    let mut explorer = Explorer::new(machine, aim, limits);
    let extent = explorer.run();
    let Explorer { store, outcomes, stuck, crashes, crash, transitions, depth, .. } = explorer;
    Explored { machine, store, extent, outcomes, stuck, crashes, crash, transitions, depth }
}
