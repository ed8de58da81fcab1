//! The machines behind one interface, for a front end that takes a name.

use std::collections::BTreeMap;

use fencepost_program::program::{Condition, Unsupported};
use fencepost_program::unfolding::FinalState;

use crate::coherence::{Coherence, Swmr};
use crate::explore::{Aim, Explored, Extent, Limits, explore};
use crate::lostpop::rules::Rules;
use crate::lostpop::{Detail, LostPop};
use crate::machine::{Machine, Stuck};
use crate::requests::Requests;
use crate::step::{Stepper, Stepping};
use crate::store_buffer::StoreBuffers;

/// A machine to run a program on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Model {
    LostPop(Rules),
    StoreBuffers,
    Coherence(Swmr),
}

/// What an exploration found, without the states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcomes {
    pub extent: Extent,
    /// How many final states show each outcome.
    pub outcomes: BTreeMap<FinalState, u64>,
    /// How many states end a run without an outcome, by reason.
    pub stuck: BTreeMap<Stuck, u64>,
    pub states: u64,
    pub transitions: u64,
    /// Of the outcome that was asked for: a way there, in words.
    pub trace: Option<Vec<String>>,
}

/// Of which outcome a trace is wanted.
#[derive(Copy, Clone, Debug)]
pub enum Wanted<'a> {
    Nothing,
    /// The first outcome that satisfies the condition, by a shortest way.
    Trace(&'a Condition),
}

impl Model {
    pub const NAMES: [&'static str; 3] = ["lost-pop", "store-buffer", "coherence"];

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
        }
    }

    /// The name that a user types.
    pub fn name(self) -> &'static str {
        match self {
            Model::LostPop(_) => "lost-pop",
            Model::StoreBuffers => "store-buffer",
            Model::Coherence(_) => "coherence",
        }
    }

    /// The machine of that name, with its default options.
    pub fn named(name: &str) -> Option<Model> {
        let all = [Model::LostPop(Rules::default()), Model::StoreBuffers, Model::Coherence(Swmr::Kept)];
        all.into_iter().find(|model| model.name() == name)
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
        })
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
        })
    }
}

fn summary<M: Machine>(explored: &Explored<'_, M>, wanted: Wanted<'_>) -> Outcomes {
    let trace = match wanted {
        Wanted::Nothing => None,
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
        states: explored.states(),
        transitions: explored.transitions,
        trace,
    }
}
