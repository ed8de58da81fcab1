//! The machines behind one interface, for a front end that takes a name.

use std::collections::BTreeSet;

use fencepost_program::program::{Condition, Term, Unsupported};
use fencepost_program::unfolding::FinalState;
use fencepost_syntax::sorted::SortedMap;

use crate::coherence::{Coherence, Swmr};
use crate::explore::{Aim, Explored, Extent, Limits, explore};
use crate::lostpop::rules::Rules;
use crate::lostpop::{Detail, LostPop};
use crate::machine::{CrashState, Machine, Stuck};
use crate::persist_buffer::multiprocessors::{Hardware, Multiprocessors, Reduced};
use crate::requests::Requests;
use crate::step::{Stepper, Stepping};
use crate::store_buffer::StoreBuffers;

/// A machine to run a program on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Model {
    LostPop(Rules),
    StoreBuffers,
    Coherence(Swmr),
    PersistBuffer(Hardware),
}

/// What an exploration found, without the states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcomes {
    pub extent: Extent,
    /// How many final states show each outcome.
    pub outcomes: SortedMap<FinalState, u64>,
    /// How many states end a run without an outcome, by reason.
    pub stuck: SortedMap<Stuck, u64>,
    /// How many states there are in which a crash leaves each of these, of the terms that the aim names.
    pub crashes: SortedMap<CrashState, u64>,
    pub states: u64,
    pub transitions: u64,
    /// Of the outcome or the crash that was asked for: a way there, in words.
    pub trace: Option<Vec<String>>,
}

/// What a crash may leave, without in how many states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Images {
    pub extent: Extent,
    pub images: BTreeSet<CrashState>,
    /// How many states were seen to find them. They may be far fewer than the machine has.
    pub states: u64,
}

/// Of what a trace is wanted.
#[derive(Copy, Clone, Debug)]
pub enum Wanted<'a> {
    Nothing,
    /// The first outcome that satisfies the condition, by a shortest way.
    Trace(&'a Condition),
    /// The crash that the aim looks for, by a shortest way.
    Crash,
}

impl Model {
    pub const NAMES: [&'static str; 4] = ["lost-pop", "store-buffer", "coherence", "persist-buffer"];

    /// What it is, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Model::LostPop(_) => {
                "LOST-POP, the operational model of compound CPU/GPU systems (PLDI 2023): SC, x86, PTX, XC, ARM, x86 with a GPU"
            }
            Model::StoreBuffers => "x86-TSO as one memory and a store buffer per thread (Owens, Sarkar, Sewell 2009)",
            Model::Coherence(_) => {
                "a cache-coherence protocol for a CPU and GPUs: the gem5 study of the PLDI 2023 paper"
            }
            Model::PersistBuffer(_) => {
                "GPU multiprocessors with persist buffers in front of memory that survives crashes: the hardware of SBRP (ASPLOS 2023)"
            }
        }
    }

    /// The name that a user types.
    pub fn name(self) -> &'static str {
        match self {
            Model::LostPop(_) => "lost-pop",
            Model::StoreBuffers => "store-buffer",
            Model::Coherence(_) => "coherence",
            Model::PersistBuffer(_) => "persist-buffer",
        }
    }

    /// The machine of that name, with its default options.
    pub fn named(name: &str) -> Option<Model> {
        let all = [
            Model::LostPop(Rules::default()),
            Model::StoreBuffers,
            Model::Coherence(Swmr::Kept),
            Model::PersistBuffer(Hardware::default()),
        ];
        all.into_iter().find(|model| model.name() == name)
    }

    /// Whether its memory, or some of it, survives crashes: it is for programs with such memory, and others are for programs
    /// without.
    pub fn survives_crashes(self) -> bool {
        matches!(self, Model::PersistBuffer(_))
    }

    /// Explores a program. What the machine cannot run is refused.
    pub fn explore(
        self,
        requests: &Requests,
        aim: &Aim<'_>,
        wanted: Wanted<'_>,
        limits: &Limits<'_>,
    ) -> Result<Outcomes, Unsupported> {
        Ok(match self {
            Model::LostPop(rules) => summary(&explore(&LostPop::new(requests, rules)?, aim, limits), wanted),
            Model::StoreBuffers => summary(&explore(&StoreBuffers::new(requests)?, aim, limits), wanted),
            Model::Coherence(swmr) => summary(&explore(&Coherence::new(requests, swmr)?, aim, limits), wanted),
            Model::PersistBuffer(hardware) => {
                summary(&explore(&Multiprocessors::new(requests, hardware)?, aim, limits), wanted)
            }
        })
    }

    /// What a crash may leave of these terms, in as few states as that takes.
    pub fn images(self, requests: &Requests, terms: &[Term], limits: &Limits<'_>) -> Result<Images, Unsupported> {
        let aim = Aim::Crashes(terms);
        let is_memory = terms.iter().all(|term| matches!(term, Term::Memory(_)));
        if let Model::PersistBuffer(hardware) = self
            && is_memory
            && let Some(reduced) = Reduced::new(requests, hardware)?
        {
            return Ok(Images::of(&explore(&reduced, &aim, limits)));
        }
        let Outcomes { extent, crashes, states, .. } = self.explore(requests, &aim, Wanted::Nothing, limits)?;
        Ok(Images { extent, images: crashes.into_keys().collect(), states })
    }

    /// Steps through a program by hand: `drive` gets the run and gives what it likes.
    pub fn step<T>(self, requests: &Requests, drive: impl FnOnce(&mut dyn Stepping) -> T) -> Result<T, Unsupported> {
        Ok(match self {
            // Who looks at a state wants all of it.
            Model::LostPop(rules) => {
                drive(&mut Stepper::new(&LostPop::with_detail(requests, rules, Detail::Everything)?))
            }
            Model::StoreBuffers => drive(&mut Stepper::new(&StoreBuffers::new(requests)?)),
            Model::Coherence(swmr) => drive(&mut Stepper::new(&Coherence::new(requests, swmr)?)),
            Model::PersistBuffer(hardware) => drive(&mut Stepper::new(&Multiprocessors::new(requests, hardware)?)),
        })
    }
}

impl Images {
    fn of<M: Machine>(explored: &Explored<'_, M>) -> Images {
        let images = explored.crashes.keys().cloned().collect();
        Images { extent: explored.extent, images, states: explored.states() }
    }
}

fn summary<M: Machine>(explored: &Explored<'_, M>, wanted: Wanted<'_>) -> Outcomes {
    let trace = match wanted {
        Wanted::Nothing => None,
        Wanted::Crash => explored.crash.map(|state| explored.trace(state)),
        Wanted::Trace(condition) => {
            let meets = explored.outcomes.iter().filter(|(state, _)| crate::explore::holds(condition, state));
            let shortest = meets.map(|(_, tally)| explored.path(tally.first)).min_by_key(Vec::len);
            shortest.map(|path| explored.in_words(path))
        }
    };
    Outcomes {
        extent: explored.extent,
        outcomes: explored.outcomes.iter().map(|(state, tally)| (state.clone(), tally.states)).collect(),
        stuck: explored.stuck.iter().map(|(why, tally)| (*why, tally.states)).collect(),
        crashes: explored.crashes.iter().map(|(left, tally)| (left.clone(), tally.states)).collect(),
        states: explored.states(),
        transitions: explored.transitions,
        trace,
    }
}
