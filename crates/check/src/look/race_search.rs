//! The races of a program that can wait: with spin loops or barriers, what its executions end in is not all they do.
//!
//! A failing iteration of a spin loop accesses memory, and so does a thread before it is stuck for good. Outcomes need
//! neither, races both: they are looked for in an unfolding that keeps a failing iteration
//! ([`fencepost_program::unfold::unfold_accesses`]), among the executions that end and those that never do. Where that is
//! the same unfolding, the races are read off the executions that are counted anyway.
//!
//! Where there are too many executions to look at each, the engines search for one with a race that is not known yet,
//! until there is none.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Raised, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::CheckId;
use fencepost_program::program::Condition;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_program::{EventId, TraceId};
use fencepost_report::Count;
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedMap;

use crate::look::failing_waits::{self, Part};
use crate::look::protocol::{Examiner, ProtocolSet};
use crate::look::race::{Example, Flag, FlagEvaluator, Flags, RaceKey, RaceSet};
use crate::look::replayer::{NotConfirmed, Replayer};
use crate::look::search::{Searcher, why_open};
use crate::model::load::LoadedModel;
use crate::options::MOST_RACE_WORK;

/// Whether a thread of the program can wait.
pub fn can_wait(unfolding: &Unfolding) -> bool {
    unfolding.traces.iter().any(|trace| matches!(trace.end, TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }))
}

/// Whether the executions of this unfolding are only those of which something is assumed.
pub fn is_assuming(unfolding: &Unfolding, filter: Option<&Condition>) -> bool {
    filter.is_some() || unfolding.traces.iter().any(|trace| !trace.assumptions.is_empty())
}

/// How many executions are looked at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Effort {
    Capped,
    Complete,
}

impl Effort {
    /// For one that is searched for.
    fn for_a_race(self) -> Allowed {
        match self {
            Effort::Capped => Allowed::Work(MOST_RACE_WORK),
            Effort::Complete => Allowed::Everything,
        }
    }
}

/// What one search may take.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Allowed {
    Work(u64),
    Everything,
}

/// Work for the question whether the failing iterations of a thread need be looked at: some tenths of a second. Where it is
/// not enough they are.
const CLEAR_WORK: u64 = 60_000;

pub struct RaceSearch<'a, 'r> {
    /// With failing iterations, if there can be any.
    pub unfolding: &'a Unfolding,
    pub model: &'a LoadedModel,
    pub filter: Option<&'a Condition>,
    pub searcher: Searcher<'a>,
    /// Its choices of traces, see [`crate::look::failing_waits`].
    pub parts: Vec<SearchedPart<'r>>,
    /// Of this unfolding, made ready when first needed.
    pub replayer: &'r OnceCell<Result<Replayer<'a>, NotConfirmed>>,
}

/// A part with what searches it: what is known of its executions once serves every question.
pub struct SearchedPart<'r> {
    part: &'r Part<'r>,
    searcher: Searcher<'r>,
}

impl<'r> SearchedPart<'r> {
    pub fn all(parts: &'r [Part<'_>], searcher: &Searcher<'r>) -> Vec<SearchedPart<'r>> {
        parts.iter().map(|part| SearchedPart { part, searcher: searcher.within(&part.unfolding) }).collect()
    }
}

#[derive(Default)]
struct Seen {
    races: RaceSet,
    protocol: ProtocolSet,
    executions: u64,
    capped: bool,
}

/// The events of each instruction.
struct Places {
    events: SortedMap<Span, Vec<EventId>>,
}

impl Places {
    fn new(unfolding: &Unfolding) -> Places {
        let mut events: SortedMap<Span, Vec<EventId>> = SortedMap::new();
        for (at, event) in unfolding.events.iter().enumerate() {
            events.entry(event.span).or_default().push(EventId(at as u32));
        }
        Places { events }
    }

    /// Every pair of events that is this race to a person: the same two instructions, in any iteration and order.
    fn pairs(&self, key: &RaceKey) -> Vec<(EventId, EventId)> {
        let of = |span: Span| self.events.get(&span).map_or(&[][..], Vec::as_slice);
        let mut pairs = Vec::new();
        for &first in of(key.first) {
            pairs.extend(of(key.second).iter().flat_map(|&second| [(first, second), (second, first)]));
        }
        pairs
    }
}

/// What the search saw, and how much of what there is.
#[derive(Clone)]
pub struct Met {
    pub races: RaceSet,
    /// Those are all races.
    pub complete: bool,
    pub protocol: ProtocolSet,
    pub executions: Count,
    /// Why executions were left out, if some were.
    pub why: Option<Why>,
}

impl Met {
    pub fn nothing() -> Met {
        let executions = Count { count: 0, complete: true };
        Met { races: RaceSet::default(), complete: true, protocol: ProtocolSet::default(), executions, why: None }
    }
}

impl RaceSearch<'_, '_> {
    /// Adds what the executions that end so show.
    pub fn look(&self, flags: &Flags, ends: Ends, effort: Effort, met: &mut Met) {
        for part in &self.parts {
            if self.objects_race(met) || !self.is_clear(flags, part, ends) {
                self.look_at(flags, part, ends, effort, met);
            }
        }
    }

    /// Whether an mbarrier itself is raced for: what changes it is then not known to be atomic, and a wait that answers no
    /// may show what no later one does.
    fn objects_race(&self, met: &Met) -> bool {
        let is_of_one = |event: EventId| {
            let event = self.unfolding.events.get(event.index());
            event.is_some_and(|event| event.has(Tag::Mbarrier))
        };
        let mut races = met.races.races.iter().filter(|(key, _)| key.is_pair());
        races.any(|(_, example)| is_of_one(example.pair.0) || is_of_one(example.pair.1))
    }

    /// Whether a part that is about some events is known to have nothing flagged that touches one of them.
    fn is_clear(&self, flags: &Flags, part: &SearchedPart<'_>, ends: Ends) -> bool {
        if part.part.about.is_empty() {
            return false;
        }
        let beyond = part.part.left_out();
        failing_waits::asked(flags, &self.model.model).iter().all(|flag| {
            let searched = self.another(part, flag.check, &beyond, ends, Allowed::Work(CLEAR_WORK));
            searched == (None, Exploration::Complete)
        })
    }

    fn look_at(&self, flags: &Flags, part: &SearchedPart<'_>, ends: Ends, effort: Effort, met: &mut Met) {
        let examiner = Examiner::new(&part.part.unfolding);
        let (seen, exploration) = self.explore(flags, part, &examiner, ends, effort);
        met.executions.count = met.executions.count.saturating_add(seen.executions);
        met.executions.complete &= exploration == Exploration::Complete && !seen.capped;
        met.complete &= met.executions.complete;
        if let Some(why) = left_out(exploration, seen.capped) {
            met.why.get_or_insert(why);
        }
        met.races.extend(seen.races);
        met.protocol.extend(seen.protocol);
    }

    /// Completes a set of races: looks for an execution with a race that is none of them, until there is none. Whether there
    /// is none in the end. Much less work than listing all executions, because a part of the search is left as soon as
    /// everything in it is ordered.
    pub fn hunt(&self, flags: &Flags, ends: &[Ends], effort: Effort, races: &mut RaceSet) -> bool {
        let places = Places::new(self.unfolding);
        let mut complete = true;
        let mut evaluator = flags.evaluator();
        for flag in flags.each() {
            let found = self.parts.iter().all(|part| {
                ends.iter().all(|&ends| self.hunt_one(flag, &mut evaluator, (part, &places), (ends, effort), races))
            });
            // Of what is only warned of, nobody says that there is none.
            complete &= found || !flag.is_race();
        }
        complete
    }

    fn hunt_one(
        &self,
        flag: &Flag,
        evaluator: &mut FlagEvaluator<'_>,
        (part, places): (&SearchedPart<'_>, &Places),
        (ends, effort): (Ends, Effort),
        races: &mut RaceSet,
    ) -> bool {
        let left_out = part.part.left_out();
        while !races.is_full(&flag.name) {
            let known = races.races.keys().filter(|key| key.flag == flag.name);
            let known = known.flat_map(|key| places.pairs(key));
            let beyond: Vec<(EventId, EventId)> = left_out.iter().copied().chain(known).collect();
            match self.another(part, flag.check, &beyond, ends, effort.for_a_race()) {
                (Some(execution), _) => {
                    let before = races.races.len();
                    evaluator.add_one(flag, self.unfolding, &execution, races);
                    if races.races.len() == before {
                        return false;
                    }
                }
                (None, exploration) => return exploration == Exploration::Complete,
            }
        }
        false
    }

    fn another(
        &self,
        part: &SearchedPart<'_>,
        flag: CheckId,
        beyond: &[(EventId, EventId)],
        ends: Ends,
        allowed: Allowed,
    ) -> (Option<Execution>, Exploration) {
        let raised = Some(Raised { flag, beyond });
        let goal = Goal { raised, multiplicity: Multiplicity::First, ..self.goal(ends) };
        let first = |first: &mut Option<Execution>, execution: &Execution| {
            *first = Some(execution.clone());
            ControlFlow::Break(())
        };
        let found = match allowed {
            Allowed::Everything => part.searcher.run(&goal, || None, first),
            Allowed::Work(work) => part.searcher.run_bounded(&goal, work, || None, first),
        };
        (found.results, found.exploration)
    }

    fn goal(&self, ends: Ends) -> Goal<'_> {
        let filter = self.filter.filter(|_| ends == Ends::Terminating);
        Goal { filter, ..Goal::new(ends) }
    }

    fn explore(
        &self,
        flags: &Flags,
        part: &SearchedPart<'_>,
        examiner: &Examiner<'_>,
        ends: Ends,
        effort: Effort,
    ) -> (Seen, Exploration) {
        let searcher = &part.searcher;
        let goal = self.goal(ends);
        let mut evaluator = flags.evaluator();
        let most = (effort == Effort::Capped).then(|| searcher.most_counted());
        let visit = |seen: &mut Seen, execution: &Execution| {
            evaluator.add(self.unfolding, execution, &mut seen.races);
            examiner.add(execution, &mut seen.protocol);
            seen.executions += 1;
            seen.capped = most.is_some_and(|most| seen.executions >= most);
            if seen.capped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = match effort {
            Effort::Complete => searcher.run(&goal, Seen::default, visit),
            Effort::Capped => searcher.run_capped(&goal, Seen::default, visit),
        };
        (found.results, found.exploration)
    }

    /// What is shown must be so for the independent evaluator too.
    pub fn is_confirmed(&self, met: &Met) -> bool {
        if met.races.races.is_empty() && met.protocol.errors.is_empty() {
            return true;
        }
        let replayer = self.replayer.get_or_init(|| {
            let replayer = Replayer::new(self.model, self.unfolding);
            replayer.map(|replayer| replayer.watched(|| self.searcher.watch()))
        });
        let Ok(replayer) = replayer.as_ref() else { return false };
        let judge = |execution: &Execution| {
            let judged = replayer.judge(execution, &self.goal(ends(self.unfolding, execution)));
            judged.ok().filter(|judgement| judgement.violated.is_empty())
        };
        // One execution has many races, and what the judge says of it does not change.
        let mut last: Option<(Arc<Execution>, Vec<String>)> = None;
        let raised = |(key, example): (&RaceKey, &Example)| {
            let known = last.as_ref().filter(|(execution, _)| Arc::ptr_eq(execution, &example.execution));
            if known.is_none() {
                let flags = judge(&example.execution).map(|judged| judged.flags);
                let names = flags.unwrap_or_default().into_iter().map(|(name, _)| name).collect();
                last = Some((Arc::clone(&example.execution), names));
            }
            last.as_ref().is_some_and(|(_, flags)| flags.contains(&key.flag))
        };
        let errors = met.protocol.errors.values();
        met.races.races.iter().all(raised) && errors.into_iter().all(|error| judge(&error.execution).is_some())
    }
}

/// How the threads of an execution end: all of them do, one waits for ever, or a bound cut one.
pub fn ends(unfolding: &Unfolding, execution: &Execution) -> Ends {
    let exits = |trace: &TraceId| {
        let trace = unfolding.traces.get(trace.index());
        trace.is_some_and(|trace| matches!(trace.end, TraceEnd::Exit | TraceEnd::NotStarted))
    };
    let is_cut = |trace: &TraceId| {
        let trace = unfolding.traces.get(trace.index());
        trace.is_some_and(|trace| trace.end.is_cut())
    };
    if execution.traces.iter().any(is_cut) {
        Ends::Cut
    } else if execution.traces.iter().all(exits) {
        Ends::Terminating
    } else {
        Ends::Stuck
    }
}

/// Why an exploration has not seen everything.
fn left_out(exploration: Exploration, capped: bool) -> Option<Why> {
    match exploration {
        Exploration::Incomplete(stop) => Some(why_open(stop)),
        Exploration::Complete | Exploration::Stopped => capped.then(|| why_open(Stop::Work)),
    }
}

/// What so many executions say. Nothing is said of no execution.
pub fn answer(is_found: bool, executions: Count, why: Option<Why>) -> Answer {
    if is_found {
        Answer::Yes(())
    } else if executions.complete && executions.count > 0 {
        Answer::No
    } else {
        Answer::Unknown(why.unwrap_or(Why::Size(Undecided::Races)))
    }
}
