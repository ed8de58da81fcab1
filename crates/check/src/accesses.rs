//! The races of a program that can wait: with spin loops or barriers, what its executions end in is not all they do.
//!
//! A failing iteration of a spin loop accesses memory, and so does a thread before it is stuck for good. Outcomes need
//! neither, races both: they are looked for in an unfolding that keeps a failing iteration
//! ([`fencepost_program::unfold::unfold_accesses`]), among the executions that end and those that never do. A program that
//! never waits has its races read off the executions that are counted anyway.

use std::ops::ControlFlow;

use fencepost_axiom::engine::{Ends, Exploration, Goal};
use fencepost_axiom::execution::Execution;
use fencepost_program::program::Condition;
use fencepost_program::unfolding::{TraceEnd, Unfolding};

use crate::models::LoadedModel;
use crate::protocol::{Examiner, ProtocolSet};
use crate::race::{Example, Flags, RaceKey, RaceSet};
use crate::report::{Count, ProtocolAnswer, RaceAnswer};
use crate::search::Searcher;

/// Whether a thread of the program can wait.
pub(crate) fn can_wait(unfolding: &Unfolding) -> bool {
    unfolding.traces.iter().any(|trace| matches!(trace.end, TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }))
}

/// Whether the executions of this unfolding are only those of which something is assumed.
pub(crate) fn is_assuming(unfolding: &Unfolding, filter: Option<&Condition>) -> bool {
    filter.is_some() || unfolding.traces.iter().any(|trace| !trace.assumptions.is_empty())
}

/// How many executions are looked at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    Capped,
    Complete,
}

pub(crate) struct RaceSearch<'a> {
    /// With failing iterations.
    pub(crate) unfolding: &'a Unfolding,
    pub(crate) model: &'a LoadedModel,
    pub(crate) filter: Option<&'a Condition>,
    pub(crate) searcher: Searcher<'a>,
}

#[derive(Default)]
struct Seen {
    races: RaceSet,
    protocol: ProtocolSet,
    executions: u64,
    capped: bool,
}

/// What the search saw, and how much of what there is.
pub(crate) struct Met {
    pub(crate) races: RaceSet,
    pub(crate) protocol: ProtocolSet,
    pub(crate) executions: Count,
}

impl RaceSearch<'_> {
    /// None if the independent evaluator does not confirm what was met.
    pub(crate) fn run(&self, flags: &Flags, effort: Effort) -> Option<Met> {
        let mut all = RaceSet::default();
        let mut protocol = ProtocolSet::default();
        let examiner = Examiner::new(self.unfolding);
        let mut executions = Count { count: 0, complete: true };
        for ends in [Ends::Terminating, Ends::Stuck] {
            // An execution that never ends has no final state to pass a filter with.
            if ends == Ends::Stuck && self.filter.is_some() {
                continue;
            }
            let (seen, exploration) = self.explore(flags, &examiner, ends, effort);
            executions.count = executions.count.saturating_add(seen.executions);
            executions.complete &= exploration == Exploration::Complete && !seen.capped;
            for (key, example) in seen.races.races {
                all.races.entry(key).or_insert(example);
            }
            protocol.extend(seen.protocol);
        }
        self.confirmed(&all, &protocol).then_some(Met { races: all, protocol, executions })
    }

    fn goal(&self, ends: Ends) -> Goal<'_> {
        let filter = self.filter.filter(|_| ends == Ends::Terminating);
        Goal { filter, ..Goal::new(ends) }
    }

    fn explore(&self, flags: &Flags, examiner: &Examiner<'_>, ends: Ends, effort: Effort) -> (Seen, Exploration) {
        let goal = self.goal(ends);
        let mut evaluators = flags.evaluators();
        let most = (effort == Effort::Capped).then(|| self.searcher.most_counted());
        let visit = |seen: &mut Seen, execution: &Execution| {
            for evaluator in &mut evaluators {
                evaluator.add(self.unfolding, execution, &mut seen.races);
            }
            examiner.add(execution, &mut seen.protocol);
            seen.executions += 1;
            seen.capped = most.is_some_and(|most| seen.executions >= most);
            if seen.capped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = match effort {
            Effort::Complete => self.searcher.run(&goal, Seen::default, visit),
            Effort::Capped => self.searcher.run_capped(&goal, Seen::default, visit),
        };
        (found.results, found.exploration)
    }

    /// The example of each race must be one for the independent evaluator too.
    fn confirmed(&self, races: &RaceSet, protocol: &ProtocolSet) -> bool {
        if races.races.is_empty() && protocol.errors.is_empty() {
            return true;
        }
        let Ok(replayer) = self.model.replayer(self.unfolding) else { return false };
        let ends = |execution: &Execution| {
            let exits = |trace: &fencepost_program::TraceId| {
                self.unfolding.traces.get(trace.index()).is_some_and(|trace| trace.end == TraceEnd::Exit)
            };
            if execution.traces.iter().all(exits) { Ends::Terminating } else { Ends::Stuck }
        };
        let judge = |execution: &Execution| {
            let judged = replayer.judge(execution, &self.goal(ends(execution)));
            judged.ok().filter(|judgement| judgement.violated.is_empty())
        };
        let raised = |(key, example): (&RaceKey, &Example)| {
            let judged = judge(&example.execution);
            judged.is_some_and(|judgement| judgement.flags.iter().any(|(name, _)| *name == key.flag))
        };
        races.races.iter().all(raised) && protocol.errors.values().all(|error| judge(&error.execution).is_some())
    }
}

/// What so many executions say. Nothing is said of no execution.
pub(crate) fn answer(races: &RaceSet, executions: Count) -> RaceAnswer {
    if races.has_race() {
        RaceAnswer::Found
    } else if executions.complete && executions.count > 0 {
        RaceAnswer::None
    } else {
        RaceAnswer::Unknown
    }
}

/// The same of broken rules about mbarriers.
pub(crate) fn protocol_answer(protocol: &ProtocolSet, executions: Count) -> ProtocolAnswer {
    if !protocol.errors.is_empty() {
        ProtocolAnswer::Found
    } else if executions.complete && executions.count > 0 {
        ProtocolAnswer::None
    } else {
        ProtocolAnswer::Unknown
    }
}
