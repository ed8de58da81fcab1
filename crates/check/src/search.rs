//! One search, by the engine that fits, with a fall-over to the other.
//!
//! Which engine answers never changes the answer, so the choice may depend on a clock: counting everything starts with
//! enumeration, whose unit of work is an execution; looking for one execution starts with enumeration on small tests and
//! goes over to SAT when that has not finished within [`SOFT`].

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Engine, Exploration, Goal, Limits, Multiplicity, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_program::unfolding::Unfolding;

use crate::estimate::Estimate;
use crate::options::{EngineChoice, Options};

/// Time for the first engine when there is a second one to ask.
const SOFT: Duration = Duration::from_millis(300);
/// Search spaces above two to the power of this are looked through by SAT first.
const SAT_BITS: f64 = 24.0;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum EngineName {
    Enumerate,
    Sat,
}

impl EngineName {
    pub(crate) fn other(self) -> EngineName {
        match self {
            EngineName::Enumerate => EngineName::Sat,
            EngineName::Sat => EngineName::Enumerate,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            EngineName::Enumerate => "enumerate",
            EngineName::Sat => "sat",
        }
    }
}

pub(crate) struct Searcher<'a> {
    unfolding: &'a Unfolding,
    model: &'a Model,
    pub(crate) estimate: Estimate,
    choice: EngineChoice,
    limits: Limits<'a>,
}

/// What a search brought: the collected results, and whether it saw everything.
pub(crate) struct Found<T> {
    pub(crate) results: T,
    pub(crate) exploration: Exploration,
    pub(crate) engine: EngineName,
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding, model: &'a Model, options: &Options<'a>) -> Searcher<'a> {
        let limits = Limits {
            deadline: options.time_limit.map(|limit| Instant::now() + limit),
            memory: options.memory_limit,
            cancelled: options.cancelled,
        };
        Searcher { unfolding, model, estimate: Estimate::new(unfolding), choice: options.engine, limits }
    }

    /// Explores with a fresh collection per engine that is asked.
    pub(crate) fn run<T>(
        &self,
        goal: &Goal<'_>,
        fresh: impl Fn() -> T,
        mut visit: impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let (first, may_fall_over) = match self.choice {
            EngineChoice::Enumerate => (EngineName::Enumerate, false),
            EngineChoice::Sat => (EngineName::Sat, false),
            EngineChoice::Auto => (self.first(goal), true),
        };
        let limits = match (may_fall_over, first, goal.multiplicity) {
            (true, EngineName::Enumerate, Multiplicity::First) => self.soft_limits(),
            _ => self.limits.clone(),
        };
        let found = self.with(first, goal, &limits, &fresh, &mut visit);
        match &found.exploration {
            Exploration::Incomplete(Stop::Time) if may_fall_over && self.limits.deadline != limits.deadline => {
                let other = self.with(first.other(), goal, &self.limits, &fresh, &mut visit);
                // If the second engine cannot do it at all, the first gets the time it was refused.
                match other.exploration {
                    Exploration::Incomplete(Stop::Unsupported { .. }) => {
                        self.with(first, goal, &self.limits, &fresh, &mut visit)
                    }
                    _ => other,
                }
            }
            Exploration::Incomplete(Stop::Memory | Stop::Unsupported { .. }) if may_fall_over => {
                let other = self.with(first.other(), goal, &self.limits, &fresh, &mut visit);
                match other.exploration {
                    Exploration::Incomplete(_) => found,
                    _ => other,
                }
            }
            _ => found,
        }
    }

    /// Explores with the engine that did not answer, for a second opinion.
    pub(crate) fn cross_check(
        &self,
        answered: EngineName,
        goal: &Goal<'_>,
        mut visit: impl FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        let limits = self.soft_limits();
        self.with(answered.other(), goal, &limits, &|| (), &mut |(), execution| visit(execution)).exploration
    }

    fn first(&self, goal: &Goal<'_>) -> EngineName {
        match goal.multiplicity {
            Multiplicity::First if self.estimate.bits > SAT_BITS => EngineName::Sat,
            _ => EngineName::Enumerate,
        }
    }

    fn soft_limits(&self) -> Limits<'a> {
        let soft = Instant::now() + SOFT;
        Limits { deadline: Some(self.limits.deadline.map_or(soft, |hard| hard.min(soft))), ..self.limits.clone() }
    }

    fn with<T>(
        &self,
        engine: EngineName,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        fresh: &impl Fn() -> T,
        visit: &mut impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let mut results = fresh();
        let mut visitor = |execution: &Execution| visit(&mut results, execution);
        let exploration = match engine {
            EngineName::Enumerate => Enumerate.explore(self.unfolding, self.model, goal, limits, &mut visitor),
            EngineName::Sat => Sat.explore(self.unfolding, self.model, goal, limits, &mut visitor),
        };
        Found { results, exploration, engine }
    }
}
