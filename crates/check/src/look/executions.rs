//! The executions of an unfolding under a model: what every search goes through, whoever asks. Nothing above names an engine's
//! own functions.

use std::ops::ControlFlow;

pub use fencepost_axiom::engine::enumerate::Ways;
use fencepost_axiom::engine::enumerate::{Enumerate, explore_classes, explore_ways};
use fencepost_axiom::engine::exchange::Exchange;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Engine, Exploration, Goal, Limits, Reach, reaches_cut};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_program::unfolding::Unfolding;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum EngineName {
    Enumerate,
    Sat,
    /// One run that decides for all executions ([`fencepost_axiom::engine::determined`]).
    OneRun,
}

impl EngineName {
    pub fn other(self) -> EngineName {
        match self {
            EngineName::Enumerate => EngineName::Sat,
            EngineName::Sat | EngineName::OneRun => EngineName::Enumerate,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            EngineName::Enumerate => "enumerate",
            EngineName::Sat => "sat",
            EngineName::OneRun => fencepost_report::ONE_RUN,
        }
    }

    fn engine(self) -> &'static dyn Engine {
        match self {
            // Who asks for executions beyond the run gets them.
            EngineName::Enumerate | EngineName::OneRun => &Enumerate,
            EngineName::Sat => &Sat,
        }
    }
}

/// The executions of an unfolding under a model, as far as the limits let them be looked at.
pub struct Executions<'a> {
    pub unfolding: &'a Unfolding,
    pub model: &'a Model,
    pub limits: Limits<'a>,
}

impl Executions<'_> {
    /// Visits those that the goal asks for, until the visitor has seen enough.
    pub fn explore(
        &self,
        engine: EngineName,
        goal: &Goal<'_>,
        visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        engine.engine().explore(self.unfolding, self.model, goal, &self.limits, visit)
    }

    /// Visits some with which all others are alike, each with the number of those that are.
    pub fn explore_classes(
        &self,
        goal: &Goal<'_>,
        exchange: &Exchange,
        visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        explore_classes(self.unfolding, self.model, goal, exchange, &self.limits, visit)
    }

    /// Visits those that go the ways of another.
    pub fn explore_ways(
        &self,
        goal: &Goal<'_>,
        ways: &Ways,
        visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        explore_ways(self.unfolding, self.model, goal, ways, &self.limits, visit)
    }

    /// Whether a run that is not followed to its end is the beginning of one of them.
    pub fn reach_cut(&self, engine: EngineName) -> Reach {
        reaches_cut(engine.engine(), self.unfolding, self.model, &self.limits)
    }
}
