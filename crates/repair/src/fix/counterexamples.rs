//! Bad executions that were found, tried again in changed tests.
//!
//! A change that only takes executions away leaves most of them: a bad execution of one test is one of the changed test too,
//! with events put in, moved or taken away, unless the model rules it out there. So before a changed test is searched, each
//! counterexample is followed in it: the same traces, and the same writes that are read from. Whatever is found so is an
//! execution of the changed test and bad, so the answer is as good as that of a search; where none is found nothing is known.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::engine::{Ends, Exploration, Goal, Limits, Multiplicity, Raised};
use fencepost_axiom::execution::Execution;
use fencepost_check::judge::found::{Answers, Aspect, Shown, Subject};
use fencepost_check::judge::question::looked_for;
use fencepost_check::look::executions::{Executions, Ways};
use fencepost_check::look::protocol::{Examiner, ProtocolSet};
use fencepost_check::look::race::Meaning;
use fencepost_check::look::race_search;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::Options;
use fencepost_check::session::Session;
use fencepost_program::program::{Condition, Program};
use fencepost_program::unfolding::{Event, Trace, TraceEnd, Unfolding};
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::Span;
use fencepost_syntax::limits;
use fencepost_syntax::sorted::SharedSort as _;

use super::effort;
use super::want::Want;

/// How many are kept: what was of use last comes first.
const MOST: usize = 8;
/// Of one answer.
const MOST_OF_ONE: usize = 4;
/// Work for following one, in the engine's units: there is little to choose.
const WORK: u64 = 4_000;
/// For following them all: where it takes more, a search is as soon done.
const WORK_OF_ALL: u64 = 50_000;

/// What is wrong with an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Bad {
    Question(usize),
    /// It raises this flag.
    Flag(String),
    /// It never ends.
    Hang,
    Protocol,
}

/// An event by what is the same in a changed test: its instruction, and what it does to which location.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Step {
    span: Span,
    reads: bool,
    writes: bool,
    location: Option<LocationId>,
}

impl Step {
    fn of(event: &Event) -> Step {
        Step { span: event.span, reads: event.is_read(), writes: event.is_write(), location: event.location() }
    }
}

/// The way of one thread.
#[derive(Clone, Debug)]
struct Way {
    /// With their numbers, ascending: what comes several times in the order in which it comes.
    steps: Vec<(Step, usize)>,
    end: std::mem::Discriminant<TraceEnd>,
}

/// An event by its thread and number, or the init write of a location.
#[derive(Copy, Clone, Debug)]
enum Which {
    Init(LocationId),
    Step { thread: usize, at: usize },
}

#[derive(Clone, Debug)]
struct Counterexample {
    bad: Bad,
    ways: Vec<Way>,
    /// `(read, write)`.
    sources: Vec<(Which, Which)>,
    ends: Ends,
    /// Those whose accesses race, or that wait for good; none where it is about all of them.
    threads: Vec<ThreadId>,
    /// How often loops were unrolled for it.
    bound: u32,
}

/// Per step the event that takes it; none where it was taken away.
type Followed = Vec<Option<EventId>>;

/// A bad execution, and the two accesses of a race.
type Found = (Bad, Shown, Option<(EventId, EventId)>);

#[derive(Default)]
pub(super) struct Counterexamples(Vec<Counterexample>);

impl Counterexamples {
    /// Keeps what an answer shows of what must not be.
    pub(super) fn learn(&mut self, answers: &Answers, wants: &[Want], bound: u32) {
        if !matches!(answers.subject, Subject::AsGiven) {
            return;
        }
        let bound = answers.deepened.unwrap_or(bound);
        let mut found = Vec::new();
        for want in wants.iter().filter(|want| !want.possible) {
            if let Aspect::Question(at) = want.aspect
                && let Some(shown) = answers.witness(at)
            {
                found.push((Bad::Question(at), shown.clone(), None));
            }
        }
        for raced in &answers.races {
            let races = raced.set.races.iter().filter(|(key, _)| key.is_pair() && key.meaning != Meaning::Noted);
            let shown =
                |execution: &Arc<Execution>| Shown { execution: Arc::clone(execution), of: Arc::clone(&raced.of) };
            let races = races
                .map(|(key, example)| (Bad::Flag(key.flag.clone()), shown(&example.execution), Some(example.pair)));
            found.extend(of_most_threads(&raced.of, races.collect()).into_iter().take(MOST_OF_ONE));
        }
        found.extend(answers.hang.yes().map(|shown| (Bad::Hang, shown.clone(), None)));
        for broken in &answers.broken {
            let errors = broken.set.errors.iter().filter(|(key, _)| key.kind.is_error());
            let shown =
                |execution: &Execution| Shown { execution: Arc::new(execution.clone()), of: Arc::clone(&broken.of) };
            found.extend(errors.take(1).map(|(_, example)| (Bad::Protocol, shown(&example.execution), None)));
        }
        found.dedup_by(|one, other| one.0 == other.0 && Arc::ptr_eq(&one.1.execution, &other.1.execution));
        let new = found.into_iter().filter_map(|(bad, shown, pair)| Counterexample::new(bad, &shown, pair, bound));
        self.0.splice(0..0, new.take(MOST_OF_ONE));
        self.0.truncate(MOST);
    }

    /// Whether one of them races.
    pub(super) fn race(&self) -> bool {
        self.0.iter().any(|one| matches!(one.bad, Bad::Flag(_)))
    }

    /// How many of them are about none of these threads.
    pub(super) fn left_alone(&self, threads: &[ThreadId]) -> usize {
        let is_other = |one: &&Counterexample| {
            !one.threads.is_empty() && !one.threads.iter().any(|thread| threads.contains(thread))
        };
        self.0.iter().filter(is_other).count()
    }

    /// Whether one of them is an execution of this program too.
    pub(super) fn survive(&mut self, program: &Program, model: &LoadedModel, options: &Options) -> bool {
        let mut bounds: Vec<u32> = self.0.iter().map(|one| one.bound).collect();
        bounds.shared_sort();
        bounds.dedup();
        let end = limits::work().saturating_add(WORK_OF_ALL);
        for bound in bounds {
            // What they share is unfolded once.
            let options = Options { bound, ..options.clone() };
            let session = Session::new(program, model, &options);
            let of_bound = |one: &Counterexample| one.bound == bound && limits::work() < end && one.survives(&session);
            if let Some(at) = self.0.iter().position(of_bound) {
                self.0[..=at].rotate_right(1);
                return true;
            }
        }
        false
    }
}

/// Those of other threads first: one change may rule out all that two threads do.
fn of_most_threads(of: &Unfolding, mut found: Vec<Found>) -> Vec<Found> {
    let thread = |id: EventId| of.events.get(id.index()).and_then(|event| event.thread);
    let mut known = Vec::new();
    found.sort_by_cached_key(|(bad, _, pair)| {
        let threads = pair.map(|(one, other)| (thread(one), thread(other)));
        let is_known = known.contains(&(bad.clone(), threads));
        known.push((bad.clone(), threads));
        is_known
    });
    found
}

impl Counterexample {
    fn new(bad: Bad, shown: &Shown, pair: Option<(EventId, EventId)>, bound: u32) -> Option<Counterexample> {
        let Shown { execution, of } = shown;
        let event = |id: EventId| of.events.get(id.index());
        let way = |trace: &TraceId| {
            let trace = of.traces.get(trace.index())?;
            Some(Way { steps: steps(of, trace)?, end: std::mem::discriminant(&trace.end) })
        };
        let which = |id: EventId| {
            let event = event(id)?;
            let Some(thread) = event.thread else { return event.location().map(Which::Init) };
            let trace = of.traces.get(execution.traces.get(thread.index())?.index())?;
            let at = trace.events.iter().position(|own| *own == id)?;
            Some(Which::Step { thread: thread.index(), at })
        };
        let source = |(write, read): &(EventId, EventId)| Some((which(*read)?, which(*write)?));
        let threads = pair.into_iter().flat_map(|(one, other)| [one, other]);
        let threads = threads.filter_map(|id| event(id)?.thread).collect();
        Some(Counterexample {
            threads,
            bad,
            ways: execution.traces.iter().map(way).collect::<Option<_>>()?,
            sources: execution.rf.iter().map(source).collect::<Option<_>>()?,
            ends: race_search::ends(of, execution),
            bound,
        })
    }

    fn survives(&self, session: &Session<'_>) -> bool {
        let unfolding = match self.bad {
            Bad::Question(_) => session.unfolding(),
            Bad::Flag(_) | Bad::Hang | Bad::Protocol => session.accesses(),
        };
        let Ok(unfolding) = unfolding else { return false };
        effort::followed(unfolding);
        let Some(ways) = self.followed(unfolding) else { return false };
        self.is_found(session, unfolding, &ways).unwrap_or(false)
    }

    /// Its ways in another unfolding.
    fn followed(&self, unfolding: &Unfolding) -> Option<Ways> {
        let threads = unfolding.threads.iter().map(|thread| &*thread.traces);
        let found: Option<Vec<(TraceId, Followed)>> =
            self.ways.iter().zip(threads).map(|(way, traces)| way.followed(unfolding, traces)).collect();
        let found = found.filter(|found| found.len() == unfolding.threads.len())?;
        let event = |which: Which| match which {
            Which::Init(location) => unfolding.locations.get(location.index()).map(|location| location.init),
            Which::Step { thread, at } => *found.get(thread)?.1.get(at)?,
        };
        // What a change takes away reads no more, and is not read from.
        let source = |(read, write): &(Which, Which)| Some((event(*read)?, event(*write)?));
        let mut sources: Vec<(EventId, EventId)> = self.sources.iter().filter_map(source).collect();
        sources.shared_sort();
        Some(Ways { traces: found.into_iter().map(|(trace, _)| trace).collect(), sources })
    }

    /// Whether an execution that goes these ways is bad in the same manner; None where that is too much to say.
    fn is_found(&self, session: &Session<'_>, unfolding: &Unfolding, ways: &Ways) -> Option<bool> {
        let Session { program, model, options, .. } = session;
        let filter = program.filter.as_ref().map(|filter| &filter.node).filter(|_| self.ends == Ends::Terminating);
        let mut goal = Goal { filter, multiplicity: Multiplicity::First, ..Goal::new(self.ends) };
        let condition: Condition;
        match &self.bad {
            Bad::Question(at) => {
                let question = program.questions.get(*at)?;
                if unfolding.is_unmodelled(&question.condition) {
                    return None;
                }
                condition = looked_for(program, question).into_owned();
                goal.condition = Some(&condition);
            }
            Bad::Flag(name) => {
                let flag = model.flags().each().find(|flag| flag.name == *name)?.check;
                goal.raised = Some(Raised { flag, beyond: &[] });
            }
            Bad::Hang if self.ends != Ends::Stuck => return None,
            Bad::Hang => {}
            Bad::Protocol => goal.multiplicity = Multiplicity::All,
        }
        let examiner = (self.bad == Bad::Protocol).then(|| Examiner::new(unfolding));
        let mut is_bad = |execution: &Execution| {
            let Some(examiner) = &examiner else { return ControlFlow::Break(()) };
            let mut set = ProtocolSet::default();
            examiner.add(execution, &mut set);
            if set.has_error() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let limits = Limits { work: Some(WORK), ..options.budget.limits() };
        let executions = Executions { unfolding, model: &model.model, limits };
        Some(executions.explore_ways(&goal, ways, &mut is_bad) == Exploration::Stopped)
    }
}

/// The events of a trace by what is the same in a changed test, as [`Way::steps`] has them.
fn steps(of: &Unfolding, trace: &Trace) -> Option<Vec<(Step, usize)>> {
    let step = |(at, id): (usize, &EventId)| Some((Step::of(of.events.get(id.index())?), at));
    let mut steps: Vec<(Step, usize)> = trace.events.iter().enumerate().map(step).collect::<Option<_>>()?;
    steps.shared_sort();
    Some(steps)
}

impl Way {
    /// The trace of these that takes the same steps, in whatever order, but for those that were taken away, and otherwise only
    /// what was put in. Where several do, the one with the most of them.
    fn followed(&self, unfolding: &Unfolding, traces: &[TraceId]) -> Option<(TraceId, Followed)> {
        let traces = traces.iter().filter_map(|id| {
            let trace =
                unfolding.traces.get(id.index()).filter(|trace| std::mem::discriminant(&trace.end) == self.end)?;
            let found = self.found(&trace.events, &steps(unfolding, trace)?)?;
            Some((*id, found))
        });
        traces.min_by_key(|(_, found)| found.iter().filter(|step| step.is_none()).count())
    }

    /// The steps among those of a trace; None where it takes others.
    fn found(&self, events: &[EventId], steps: &[(Step, usize)]) -> Option<Followed> {
        let mut found = vec![None; self.steps.len()];
        let mut own = self.steps.iter().peekable();
        for (step, at) in steps {
            while own.next_if(|(own, _)| own < step).is_some() {}
            match own.next_if(|(own, _)| own == step) {
                Some((_, number)) => *found.get_mut(*number)? = events.get(*at).copied(),
                None if step.span != Span::default() => return None,
                None => {}
            }
        }
        Some(found)
    }
}
