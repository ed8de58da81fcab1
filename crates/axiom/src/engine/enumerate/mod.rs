//! The enumeration engine: depth-first over traces, reads-from with values propagated, barrier matchings, then over the
//! orders the model demands.
//!
//! * Before any search, may-values ([`super::may`]) drop traces and reads-from choices that the constraints, the filter or the
//!   condition rule out; in many large tests every read is then pinned.
//! * While reads-from is partly chosen ([`reads`]), checks that are monotone in it prune, and so does a table of pairs of
//!   choices that cannot go together ([`pairs`]). With many reads the model
//!   is also evaluated backwards, and says after each choice what is left of the others ([`narrow`]).
//! * The orders ([`orders`], [`propagate`]) are searched by pairs: Fence-SC and coherence edges that the model forces are added first,
//!   then both ways of a pair are tried. Permutations are never listed, and an order that is already impossible is never
//!   completed. Before branching, every pair is tried both ways once (failed literals).
//! * Threads nobody can tell apart are explored in one order only ([`symmetry`]). Where all that are wanted are too many, of
//!   choices of reads-from that are alike one is explored ([`classes`]).
//!
//! Tried and rejected: choosing coherence per location as permutations (no sharing of failures between them), and failed
//! literals at every node (doubles the time of counting).

mod barriers;
mod budget;
mod classes;
mod guess;
mod narrow;
mod orders;
mod pairs;
mod propagate;
mod question;
mod reads;
mod report;
mod spare;
mod symmetry;
mod traces;
mod values;
mod ways;

pub use self::classes::explore_classes;
pub use self::ways::{Ways, explore_ways};

use std::ops::ControlFlow;

use fencepost_program::expression::Expression;
use fencepost_program::unfolding::{EventKind, Traces, Unfolding};
use fencepost_program::{ThreadId, TraceId, launch};

use self::budget::{Budget, End, Flow};
use self::classes::Classes;
use self::question::Question;
use self::spare::Work;
use self::values::Consistent;
use crate::engine::meeting::Meetings;
use crate::engine::raised::{Wanted, exceeds};
use crate::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop, Visitor, cut};
use crate::evaluate::Evaluator;
use crate::model::{Coherence, Model, NodeId};

/// From this many combinations of reads-from on, the model narrows the choice after each step (see [`narrow`]).
const NARROW_FROM: u64 = 4096;
/// The same where all executions are wanted and every written value is a constant: what rules a combination out is found
/// sooner than it is narrowed (8 exchanges: 0.4 s against 1.4).
const NARROW_LISTED_FROM: u64 = 1 << 40;

/// How much is done before branching, to find out that there is nothing to find.
#[derive(Copy, Clone, Debug)]
struct Foresight {
    /// From this many combinations of reads-from on, they are narrowed by propagation.
    narrow_from: u64,
    /// With more undecided pairs of the orders than this, each is tried both ways before the first is decided.
    probe_above: usize,
    /// With more than this, one way to order them all is tried before any other.
    guess_above: usize,
}

const SEARCHING: Foresight =
    Foresight { narrow_from: NARROW_FROM, probe_above: orders::PROBE_ABOVE, guess_above: usize::MAX };
/// Where one execution is all that is wanted.
const FINDING: Foresight = Foresight { guess_above: orders::GUESS_ABOVE, ..SEARCHING };
/// A choice of reads-from that leads nowhere is still probed, after the first branch that failed.
const LISTING: Foresight =
    Foresight { narrow_from: NARROW_LISTED_FROM, probe_above: usize::MAX, guess_above: usize::MAX };

/// Candidates with rows of more words than this take long to prepare.
const WIDE: usize = 4;

/// The enumeration engine.
#[derive(Copy, Clone, Debug, Default)]
pub struct Enumerate;

impl Engine for Enumerate {
    fn name(&self) -> &'static str {
        "enumerate"
    }

    fn explore(
        &self,
        unfolding: &Unfolding,
        model: &Model,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        visit: &mut Visitor<'_>,
    ) -> Exploration {
        let foresight = match goal.multiplicity {
            Multiplicity::First => FINDING,
            Multiplicity::All if writes_constants(unfolding) => LISTING,
            Multiplicity::All => SEARCHING,
        };
        explore(unfolding, model, goal, (Budget::new(limits), foresight, Among::All), visit)
    }
}

fn writes_constants(unfolding: &Unfolding) -> bool {
    unfolding.events.iter().all(|event| match &event.kind {
        EventKind::Write { value, .. } => matches!(value, Expression::Constant(_)),
        _ => true,
    })
}

/// The enumeration engine, which narrows the choice of reads-from by propagation however few there are, and guesses orders
/// however few are open. It finds the same as [`Enumerate`], which does so for many only: a second opinion for tests.
#[derive(Copy, Clone, Debug, Default)]
pub struct EnumerateNarrowing;

impl Engine for EnumerateNarrowing {
    fn name(&self) -> &'static str {
        "enumerate, narrowing"
    }

    fn explore(
        &self,
        unfolding: &Unfolding,
        model: &Model,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        visit: &mut Visitor<'_>,
    ) -> Exploration {
        let guess_above = if goal.multiplicity == Multiplicity::First { 0 } else { usize::MAX };
        let foresight = Foresight { narrow_from: 2, guess_above, ..SEARCHING };
        explore(unfolding, model, goal, (Budget::new(limits), foresight, Among::All), visit)
    }
}

fn explore(
    unfolding: &Unfolding,
    model: &Model,
    goal: &Goal<'_>,
    (budget, foresight, among): (Budget<'_>, Foresight, Among<'_>),
    visit: &mut Visitor<'_>,
) -> Exploration {
    if model.coherence == Coherence::Partial
        && let Some(unrecognised) = model.unrecognised.first()
    {
        let what = unrecognised.message.clone();
        return Exploration::Incomplete(Stop::Unsupported { span: unrecognised.span, what });
    }
    let wanted = match Wanted::new(model, unfolding, goal) {
        Ok(wanted) => wanted,
        Err(stop) => return Exploration::Incomplete(stop),
    };
    // Nothing is prepared when it is too late already.
    if let ControlFlow::Break(End::Incomplete(stop)) = budget.check() {
        return Exploration::Incomplete(stop);
    }
    if wanted.as_ref().is_some_and(|wanted| !wanted.is_possible) {
        return cut::doubt(unfolding, goal.ends).map_or(Exploration::Complete, Exploration::Incomplete);
    }
    let question = Question::new(goal);
    let choices = match &among {
        Among::Ways(ways) => ways.traces.iter().map(|trace| Traces::filled(*trace, 1)).collect(),
        Among::All | Among::Classes(_) => traces::choices(unfolding, &question, goal.ends),
    };
    let mut search = Search::new(unfolding, model, (question, wanted), (goal.ends, goal.multiplicity), budget, visit);
    search.foresight = foresight;
    search.among = among;
    let mut meetings = Meetings::new(unfolding);
    let exploration = match search.choose_traces(&choices, &mut meetings, &mut Vec::with_capacity(choices.len())) {
        ControlFlow::Break(End::Stopped) => Exploration::Stopped,
        ControlFlow::Break(End::Incomplete(stop)) => Exploration::Incomplete(stop),
        ControlFlow::Continue(()) => search.conclude(cut::doubt(unfolding, goal.ends)),
    };
    search.leave();
    exploration
}

/// The executions that are looked at.
#[derive(Debug)]
enum Among<'a> {
    All,
    /// Those that are alike once.
    Classes(Classes<'a>),
    /// Those that go the ways of another.
    Ways(&'a Ways),
}

/// The writes of a candidate to one location, counted thread by thread.
#[derive(Copy, Clone, Default)]
struct Written {
    all: u64,
    /// Of the writes that may have to be ordered: how many there are, how many of them are the last thread's, and the pairs of
    /// different threads.
    ordered: u64,
    last: (Option<ThreadId>, u64),
    apart: u64,
}

impl Written {
    /// A write, which this thread has to order.
    fn add(&mut self, thread: Option<ThreadId>) {
        self.all += 1;
        if thread.is_none() {
            return;
        }
        if self.last.0 != thread {
            self.last = (thread, 0);
        }
        self.apart += self.ordered - self.last.1;
        self.ordered += 1;
        self.last.1 += 1;
    }
}

/// How much of an execution is chosen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Progress {
    Partial,
    Complete,
}

/// The state of one exploration.
struct Search<'a, 'v> {
    unfolding: &'a Unfolding,
    model: &'a Model,
    question: Question<'a>,
    ends: Ends,
    multiplicity: Multiplicity,
    budget: Budget<'a>,
    visit: &'v mut Visitor<'v>,
    /// What kept a part of the search from being decided, if anything did.
    gap: Option<Stop>,
    foresight: Foresight,
    among: Among<'a>,
    /// How often the visitor was called.
    reported: u64,
    evaluator: Evaluator<'a>,
    /// The flag that must be raised, if one must.
    wanted: Option<Wanted>,
    work: Box<Work>,
}

impl<'a, 'v> Search<'a, 'v> {
    fn new(
        unfolding: &'a Unfolding,
        model: &'a Model,
        (question, wanted): (Question<'a>, Option<Wanted>),
        (ends, multiplicity): (Ends, Multiplicity),
        budget: Budget<'a>,
        visit: &'v mut Visitor<'_>,
    ) -> Search<'a, 'v> {
        let roots: Vec<NodeId> = wanted.iter().map(|wanted| wanted.node).collect();
        let work = Work::take();
        let evaluator = Evaluator::with_roots(model, &roots).watched(budget.watch.clone());
        Search {
            unfolding,
            model,
            question,
            ends,
            multiplicity,
            budget,
            visit,
            gap: None,
            foresight: SEARCHING,
            among: Among::All,
            reported: 0,
            evaluator,
            wanted,
            work,
        }
    }

    fn conclude(&mut self, cut: Option<Stop>) -> Exploration {
        match self.budget.watch.ended().or(self.gap.take()).or(cut) {
            Some(stop) => Exploration::Incomplete(stop),
            None => Exploration::Complete,
        }
    }

    /// One trace per thread.
    fn choose_traces(&mut self, threads: &[Traces], meetings: &mut Meetings<'_>, chosen: &mut Vec<TraceId>) -> Flow {
        let Some((first, rest)) = threads.split_first() else {
            return self.candidate(chosen);
        };
        for trace in first {
            chosen.push(*trace);
            let flow = match meetings.are_possible(chosen) {
                true => self.choose_traces(rest, meetings, chosen),
                false => self.budget.tick(1),
            };
            chosen.pop();
            flow?;
        }
        Flow::Continue(())
    }

    fn candidate(&mut self, traces: &[TraceId]) -> Flow {
        self.budget.tick(4)?;
        if !self.ends.meet(self.unfolding, traces) || !launch::admits(self.unfolding, traces) {
            return Flow::Continue(());
        }
        self.work.candidate.choose(self.unfolding, traces);
        self.work.filled.is_current = false;
        self.budget.resize(self.work.candidate.shape);
        let (pairs, to_order) = self.pairs_of_writes();
        // One execution is found by guessing all orders at once.
        if self.multiplicity == Multiplicity::All {
            self.budget.weigh_pairs(to_order)?;
        }
        self.budget.hold(self.memory_for_candidate(pairs))?;
        if self.work.candidate.shape.words() > WIDE {
            self.budget.check()?;
        }
        self.work.values.begin(self.unfolding, &self.work.candidate, &self.question);
        if self.work.values.start(self.unfolding, &self.work.candidate, &self.question) == Consistent::No
            || !self.find_reads()
            || self.evaluator.begin(self.unfolding, &self.work.candidate).is_some()
        {
            return self.budget.ended();
        }
        if let Some(wanted) = &self.wanted {
            self.work.mask = wanted.mask(&self.work.candidate);
        }
        if !self.prepare_orders() {
            return self.budget.ended();
        }
        // Thousands of events take seconds to prepare.
        self.budget.check()?;
        if matches!(self.among, Among::Classes(_)) { self.choose_classes() } else { self.choose_reads() }
    }

    /// The pairs of writes of the candidate to one location: all, and those of different threads that may have to be ordered. Where
    /// coherence is partial, the latter say their scope: no others are morally strong (PTX ISA 8.7).
    fn pairs_of_writes(&mut self) -> (u64, u64) {
        let is_total = self.model.coherence == Coherence::Total;
        let writes = &mut self.work.written;
        writes.clear();
        writes.resize(self.unfolding.locations.len(), Written::default());
        for id in &self.work.candidate.events {
            let event = &self.unfolding.events[id.index()];
            if let EventKind::Write { location, .. } = &event.kind {
                writes[location.index()].add(event.thread.filter(|_| is_total || event.scope.is_some()));
            }
        }
        let sums =
            |(all, apart): (u64, u64), own: &Written| (all + own.all.saturating_sub(1).pow(2) / 2, apart + own.apart);
        writes.iter().fold((0, 0), sums)
    }

    /// The model's values, some relations, and three lists of the pairs of writes that may be ordered either way. What the
    /// levels of the search hold comes to it.
    fn memory_for_candidate(&self, pairs: u64) -> u64 {
        let matrix = self.work.candidate.shape.matrix() as u64 * 8;
        self.evaluator.memory_for(self.work.candidate.shape) + 8 * matrix + 3 * pairs * size_of::<orders::Pair>() as u64
    }

    /// Whether the flag that must be raised still can be, with the values the evaluator holds.
    fn can_raise(&self, chosen: Progress) -> bool {
        match &self.wanted {
            Some(wanted) if wanted.shrinks || chosen == Progress::Complete => {
                exceeds(self.evaluator.relation(wanted.node), &self.work.mask)
            }
            _ => true,
        }
    }

    fn note_gap(&mut self, stop: Stop) {
        self.gap.get_or_insert(stop);
    }
}
