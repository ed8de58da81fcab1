//! One search, by the engine that fits, with a fall-over to the other.
//!
//! Which engine answers never changes the answer, but it may change the witness and is told: so the choice depends on counted
//! work and never on a clock. Counting everything starts with enumeration, whose unit of work is an execution; looking for
//! one execution lets the engines take turns, enumeration first. A race of two threads was not taken: a corpus run has a
//! check for every core already.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::determined::{self, Orders};
use fencepost_axiom::engine::exchange::Exchange;
use fencepost_axiom::engine::{Ends, Exploration, Goal, Limits, Multiplicity, Reach, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_axiom::watch::Watch;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::limits;

use crate::look::estimate::Estimate;
use crate::look::executions::{EngineName, Executions};
use crate::look::one_run::{self, OneRun};
use crate::look::outcome;
use crate::look::second_checks::SecondChecks;
use crate::model::load::LoadedModel;
use crate::options::{
    EngineChoice, LITTLE_WORK, MOST_COUNTED, MOST_COUNTED_BITS, MOST_COUNTED_BY_SAT, MOST_STRAND_WORK, MOST_WORK,
    Options, Outcomes,
};

/// Work for an engine's first turn when there is a second one to ask, and for a second opinion: some tenths of a second.
const SOFT: u64 = 60_000;
/// Work for the question whether a loop can run on past the bound: a few seconds.
const CUT_WORK: u64 = 600_000;
/// Work for what else is asked of a large test of which one run has shown that it is wrong.
const MOST_WRONG_WORK: u64 = 4_000;

/// Search spaces above two to the power of this have much to choose.
const MUCH_BITS: f64 = 24.0;

pub struct Searcher<'a> {
    unfolding: &'a Unfolding,
    model: &'a Model,
    pub estimate: Estimate,
    choice: EngineChoice,
    limits: Limits<'a>,
    /// How much longer what was found may be judged.
    grace: Duration,
    /// There are asynchronous operations or mbarriers. Their executions are many to list for what they have to say, and few:
    /// whatever is asked of them, counting first is best.
    pub has_strands: bool,
    /// Whether a cut can be reached, once that was asked.
    reach: OnceCell<Reach>,
    /// For the theorem that one run decides, if it may be used.
    one_run: Option<(&'a LoadedModel, Orders)>,
    run: OnceCell<Option<OneRun>>,
}

/// What a search brought: the collected results, and whether it saw everything.
pub struct Found<T> {
    pub results: T,
    pub exploration: Exploration,
    pub engine: EngineName,
}

/// The events of one execution from which on a changed test is not checked for what it lacks.
const LARGE: usize = 120;

/// Whether executions are large: some take every thread's longest trace.
pub fn is_large(unfolding: &Unfolding) -> bool {
    longest(unfolding) > LARGE
}

/// The events of an execution in which every thread takes its longest way.
pub fn longest(unfolding: &Unfolding) -> usize {
    let longest = |thread: &fencepost_program::unfolding::ThreadUnfolding| {
        let traces = thread.traces.iter().filter_map(|trace| unfolding.traces.get(trace.index()));
        traces.map(|trace| trace.events.len()).max().unwrap_or(0)
    };
    unfolding.threads.iter().map(longest).sum::<usize>()
}

fn has_strands(unfolding: &Unfolding) -> bool {
    unfolding.events.iter().any(|event| !event.is_main() || event.has(Tag::Mbarrier))
}

impl<'a> Searcher<'a> {
    pub fn new(unfolding: &'a Unfolding, model: &'a LoadedModel, options: &'a Options) -> Searcher<'a> {
        let (limits, grace) = (options.budget.limits(), options.budget.grace());
        let has_strands = has_strands(unfolding);
        // Who wants every execution counted gets no classes, and who chose an engine gets that.
        let may_class = options.outcomes != Outcomes::All && options.engine == EngineChoice::Auto;
        let one_run = if may_class { one_run::orders(model).map(|orders| (model, orders)) } else { None };
        Searcher {
            unfolding,
            model: &model.model,
            estimate: Estimate::new(unfolding),
            choice: options.engine,
            limits,
            grace,
            has_strands,
            reach: OnceCell::new(),
            one_run,
            run: OnceCell::new(),
        }
    }

    /// The same search in another unfolding, by the same deadline.
    pub fn within<'b>(&self, unfolding: &'b Unfolding) -> Searcher<'b>
    where
        'a: 'b,
    {
        let limits = self.limits.clone();
        let has_strands = self.has_strands;
        let estimate = Estimate::new(unfolding);
        Searcher {
            unfolding,
            model: self.model,
            estimate,
            choice: self.choice,
            limits,
            grace: self.grace,
            has_strands,
            reach: OnceCell::new(),
            one_run: self.one_run,
            run: OnceCell::new(),
        }
    }

    /// Whether the time is up.
    pub fn is_late(&self) -> bool {
        self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// What ends the judging of a large execution: a little after the search, so that what was found last counts.
    pub fn watch(&self) -> Watch<'a> {
        let deadline = self.limits.deadline.and_then(|deadline| deadline.checked_add(self.grace));
        Watch::new(&Limits { deadline, ..self.limits.clone() })
    }

    /// Explores with a fresh collection per engine that is asked.
    pub fn run<T>(
        &self,
        goal: &Goal<'_>,
        fresh: impl Fn() -> T,
        mut visit: impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let first = match self.choice {
            EngineChoice::Enumerate => return self.with(EngineName::Enumerate, goal, None, &fresh, &mut visit),
            EngineChoice::Sat => return self.with(EngineName::Sat, goal, None, &fresh, &mut visit),
            // What a question pins down it propagates, and SAT encodes all there is before it looks at the question.
            EngineChoice::Auto => EngineName::Enumerate,
        };
        if goal.multiplicity == Multiplicity::All {
            let found = self.with(first, goal, None, &fresh, &mut visit);
            return match found.exploration {
                Exploration::Incomplete(Stop::Unsupported { .. }) => {
                    self.with(first.other(), goal, None, &fresh, &mut visit)
                }
                _ => found,
            };
        }
        self.alternate(first, goal, &fresh, &mut visit)
    }

    fn executions(&self, work: Option<u64>) -> Executions<'_> {
        let limits = Limits { work, ..self.limits.clone() };
        Executions { unfolding: self.unfolding, model: self.model, limits }
    }

    /// The first execution that the goal asks for.
    pub fn first_of(&self, goal: &Goal<'_>) -> Found<Option<Execution>> {
        let goal = Goal { multiplicity: Multiplicity::First, ..goal.clone() };
        self.run(
            &goal,
            || None,
            |first: &mut Option<Execution>, execution| {
                *first = Some(execution.clone());
                ControlFlow::Break(())
            },
        )
    }

    /// Explores all executions until the visitor or [`MOST_WORK`] ends it, which does not depend on any clock.
    pub fn run_capped<T>(
        &self,
        goal: &Goal<'_>,
        fresh: impl Fn() -> T,
        visit: impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let work = match self.has_strands {
            true => MOST_STRAND_WORK,
            false if self.estimate.bits > MOST_COUNTED_BITS => LITTLE_WORK,
            false => MOST_WORK,
        };
        self.run_bounded(goal, work, fresh, visit)
    }

    /// The same with so much work.
    pub fn run_bounded<T>(
        &self,
        goal: &Goal<'_>,
        work: u64,
        fresh: impl Fn() -> T,
        mut visit: impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        if self.choice == EngineChoice::Sat {
            return self.with(EngineName::Sat, goal, None, &fresh, &mut visit);
        }
        if let Some(found) = self.run_only(goal, &fresh, &mut visit) {
            return found;
        }
        self.with(EngineName::Enumerate, goal, Some(work), &fresh, &mut visit)
    }

    /// Explores executions with which all others are alike, up to so much work.
    pub fn run_classes(
        &self,
        goal: &Goal<'_>,
        exchange: &Exchange,
        work: u64,
        mut visit: impl FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        self.executions(Some(work)).explore_classes(goal, exchange, &mut visit)
    }

    /// How many executions are enough for a capped count.
    pub fn most_counted(&self) -> u64 {
        match self.choice {
            EngineChoice::Sat => MOST_COUNTED_BY_SAT,
            EngineChoice::Auto | EngineChoice::Enumerate => MOST_COUNTED,
        }
    }

    /// The engines take turns, each with more work than before, so that the answer takes at most a few times as long as
    /// the better engine alone would. An engine that gave up for another reason is not asked again.
    fn alternate<T>(
        &self,
        first: EngineName,
        goal: &Goal<'_>,
        fresh: &impl Fn() -> T,
        visit: &mut impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let mut results = fresh();
        if let Some(run) = self.sequential(goal)
            && visit(&mut results, &run).is_break()
        {
            return Found { results, exploration: Exploration::Stopped, engine: first };
        }
        let mut waiting = vec![first.other(), first];
        let is_wrong = self.run_once().is_some_and(OneRun::is_wrong);
        let mut budget = if is_wrong { MOST_WRONG_WORK } else { SOFT };
        let mut last = None;
        while let Some(engine) = waiting.pop() {
            // The last engine left may work as long as the user lets it.
            let work = (!waiting.is_empty()).then_some(budget);
            if is_wrong && budget > MOST_WRONG_WORK {
                return Found { results: fresh(), exploration: Exploration::Incomplete(Stop::Work), engine };
            }
            let found = self.with(engine, goal, work, fresh, visit);
            match &found.exploration {
                // Whether a cut can be reached is asked in one way by all engines.
                Exploration::Complete
                | Exploration::Stopped
                | Exploration::Incomplete(Stop::Cancelled | Stop::Time | Stop::Bound(_) | Stop::Outside { .. }) => {
                    return found;
                }
                // Nothing more may be done in this thread.
                Exploration::Incomplete(Stop::Work) if limits::ended().is_some() => return found,
                Exploration::Incomplete(Stop::Work) => {
                    waiting.insert(0, engine);
                    budget = budget.saturating_mul(2);
                }
                Exploration::Incomplete(_) => last = Some(found),
            }
        }
        last.expect("invariant: the loop ends only when every engine gave up")
    }

    /// Where there is much to choose, the plainest run may be one that the goal asks for.
    fn sequential(&self, goal: &Goal<'_>) -> Option<Execution> {
        if self.estimate.bits <= MUCH_BITS || goal.ends != Ends::Terminating || goal.raised.is_some() {
            return None;
        }
        let wanted = [goal.filter, goal.condition];
        let is_wanted = |run: &Execution| {
            wanted.into_iter().flatten().all(|condition| outcome::satisfies(self.unfolding, run, condition))
        };
        determined::sequential(self.unfolding, self.model, &Watch::new(&self.limits), is_wanted)
    }

    /// Explores with the engine that did not answer, for a second opinion.
    pub fn cross_check(
        &self,
        answered: EngineName,
        goal: &Goal<'_>,
        mut visit: impl FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        let found = self.by_engine(answered.other(), goal, Some(SOFT), &|| (), &mut |(), execution| visit(execution));
        if !matches!(found.exploration, Exploration::Incomplete(_)) {
            SecondChecks::count_confirmation();
        }
        found.exploration
    }

    /// Explores with this engine, up to so much work if that is limited, unless one run is the answer.
    fn with<T>(
        &self,
        engine: EngineName,
        goal: &Goal<'_>,
        work: Option<u64>,
        fresh: &impl Fn() -> T,
        visit: &mut impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        if let Some(run) = self.run_once() {
            let mut results = fresh();
            let mut visitor = |execution: &Execution| visit(&mut results, execution);
            if let Some(exploration) = run.explore(self.unfolding, goal, &mut visitor) {
                let engine = if run.is_all() { EngineName::OneRun } else { engine };
                return Found { results, exploration, engine };
            }
        }
        self.by_engine(engine, goal, work, fresh, visit)
    }

    fn by_engine<T>(
        &self,
        engine: EngineName,
        goal: &Goal<'_>,
        work: Option<u64>,
        fresh: &impl Fn() -> T,
        visit: &mut impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Found<T> {
        let mut results = fresh();
        let mut visitor = |execution: &Execution| visit(&mut results, execution);
        let exploration = match self.executions(work).explore(engine, goal, &mut visitor) {
            // It saw everything but what lies past a cut.
            Exploration::Incomplete(Stop::Bound(_) | Stop::Outside { .. }) if self.reach() == Reach::Never => {
                Exploration::Complete
            }
            exploration => exploration,
        };
        Found { results, exploration, engine }
    }

    /// The one run that may decide a large test. Small ones are counted whole.
    fn run_once(&self) -> Option<&OneRun> {
        let (model, orders) = self.one_run.filter(|_| self.has_strands && is_large(self.unfolding))?;
        let watch = || Watch::new(&self.limits);
        self.run.get_or_init(|| OneRun::new(self.unfolding, model, orders, &watch())).as_ref()
    }

    /// Of a large test that one run shows something wrong of, no more than that run is counted: the others are too many to
    /// list, and have nothing to say that a search for it would not find.
    fn run_only<T>(
        &self,
        goal: &Goal<'_>,
        fresh: &impl Fn() -> T,
        visit: &mut impl FnMut(&mut T, &Execution) -> ControlFlow<()>,
    ) -> Option<Found<T>> {
        let run = self.run_once().filter(|run| run.is_wrong())?;
        let mut results = fresh();
        let first = Goal { multiplicity: Multiplicity::First, ..goal.clone() };
        run.explore(self.unfolding, &first, &mut |execution| visit(&mut results, execution));
        Some(Found { results, exploration: Exploration::Incomplete(Stop::Work), engine: EngineName::Enumerate })
    }

    /// Whether a cut can be reached, as far as so much work tells.
    pub fn reach(&self) -> Reach {
        let ask = |engine, work| self.executions(Some(work)).reach_cut(engine);
        *self.reach.get_or_init(|| match self.choice {
            EngineChoice::Enumerate => ask(EngineName::Enumerate, CUT_WORK),
            EngineChoice::Sat => ask(EngineName::Sat, CUT_WORK),
            EngineChoice::Auto => match ask(EngineName::Enumerate, SOFT) {
                Reach::Never => Reach::Never,
                Reach::Perhaps => ask(EngineName::Sat, CUT_WORK),
            },
        })
    }
}

/// Why a search that stopped so leaves its answer open.
pub fn why_open(stop: Stop) -> Why {
    match stop {
        Stop::Time => Why::Time,
        Stop::Memory => Why::Memory,
        Stop::Cancelled => Why::Cancelled,
        Stop::Bound(span) => Why::Bound(span),
        Stop::Outside { span, what } | Stop::Unsupported { span, what } => Why::Unsupported { span, what },
        Stop::ThinAir => Why::ThinAir,
        Stop::Work => Why::Size(Undecided::Search),
    }
}
