//! One interface, several engines. An engine takes an unfolding, a model and a goal, and hands each consistent
//! execution that meets the goal to a visitor; it answers whether it saw everything.

mod alike;
mod bounds;
pub mod brute;
mod canonical;
mod cut;
pub mod decide;
pub mod determined;
pub mod enumerate;
pub mod exchange;
mod may;
mod meeting;
mod raised;
pub mod sat;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fencepost_program::TraceId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_syntax::Span;

use crate::execution::Execution;
use crate::model::Model;

pub use cut::{Reach, reaches_cut};
pub use may::written_values;
pub use raised::{Raised, is_raised_within};

/// What is searched for.
#[derive(Clone, Debug)]
pub struct Goal<'a> {
    pub ends: Ends,
    /// A hard assumption (`filter`), judged like a condition.
    pub filter: Option<&'a Condition>,
    /// Only executions with a final state that satisfies this are reported; None reports all.
    pub condition: Option<&'a Condition>,
    pub multiplicity: Multiplicity,
    /// Which final values the visitor looks at, besides those the condition and the filter mention.
    pub observed: Observed<'a>,
    /// Only executions that raise this flag of the model are reported. Each is reported by itself then.
    pub raised: Option<Raised<'a>>,
}

impl Goal<'_> {
    /// Every execution that ends so, each reported by itself.
    pub fn new(ends: Ends) -> Self {
        Goal {
            ends,
            filter: None,
            condition: None,
            multiplicity: Multiplicity::All,
            observed: Observed::Everything,
            raised: None,
        }
    }
}

/// What an engine must keep apart. Executions that agree on what is observed and differ only by exchanging
/// interchangeable threads may be reported once, with `Execution::weight` saying how many they are.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Observed<'a> {
    /// The whole execution: every weight is 1.
    #[default]
    Everything,
    /// The final values of these terms only (and those of the condition and the filter). A visitor that prints the
    /// final memory of a location must name it here.
    Terms(&'a [Term]),
}

/// How many executions the visitor wants. With `First`, an engine may pick one of several symmetric executions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Multiplicity {
    /// Every execution that meets the goal.
    #[default]
    All,
    /// One is enough (reachability): the visitor breaks after it, and its absence still proves that there is none.
    First,
}

/// How the threads of a reported execution end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Every thread exits.
    Terminating,
    /// At least one thread is stuck for good under fair scheduling: in a spin loop whose reads all read co-maximal
    /// writes, or at a barrier that never completes. The others exit or are stuck too.
    Stuck,
    /// At least one thread is at a cut; the others exit, are at a cut too, or wait for something, perhaps not for good.
    /// Such an execution is the beginning of one, and none is all of one ([`reaches_cut`]).
    Cut,
}

impl Ends {
    /// Whether traces that may each be part of such an execution have among them what makes it one.
    fn meet(self, unfolding: &Unfolding, traces: &[TraceId]) -> bool {
        let any = |test: fn(&TraceEnd) -> bool| traces.iter().any(|trace| test(&unfolding.traces[trace.index()].end));
        match self {
            Ends::Terminating => true,
            Ends::Stuck => any(|end| matches!(end, TraceEnd::Spin { .. } | TraceEnd::Blocked { .. })),
            Ends::Cut => any(|end| matches!(end, TraceEnd::Bound { .. } | TraceEnd::Wild { .. })),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Limits<'a> {
    pub deadline: Option<Instant>,
    /// Bytes the engine itself may hold.
    pub memory: Option<u64>,
    /// Set from outside (Ctrl-C, a closed connection).
    pub cancelled: Option<&'a AtomicBool>,
    /// Some hundred thousand units are a second. Counted and not timed, so that a search stops at the same place each time
    /// ([`Stop::Work`]).
    pub work: Option<u64>,
}

/// Whether the search saw everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exploration {
    /// All executions that meet the goal were reported.
    Complete,
    /// The visitor asked to stop.
    Stopped,
    /// Something kept the engine from finishing: an absence proves nothing.
    Incomplete(Stop),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    Time,
    Memory,
    Cancelled,
    /// The work that was allowed is done; counted in search nodes, so that the same search ends at the same place.
    Work,
    /// A loop was cut at the unrolling bound.
    Bound(Span),
    /// A thread was cut where it accesses what it cannot, or traps: in words.
    Outside {
        span: Span,
        what: String,
    },
    /// The model or program needs something this engine does not do, or does something that has no meaning, in words.
    Unsupported {
        span: Span,
        what: String,
    },
    /// A value depends on itself and the model does not rule the execution out (no axiom against thin air).
    ThinAir,
}

/// Receives executions. `Break` ends the search.
pub type Visitor<'a> = dyn FnMut(&Execution) -> ControlFlow<()> + 'a;

pub trait Engine {
    fn name(&self) -> &'static str;

    /// Reports every consistent execution that meets the goal, each exactly once (see `Execution::weight`).
    fn explore(
        &self,
        unfolding: &Unfolding,
        model: &Model,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        visit: &mut Visitor<'_>,
    ) -> Exploration;
}
