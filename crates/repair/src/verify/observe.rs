//! What is noted of each execution of a changed test: its races, answers that should not be, where threads are stuck and
//! which rules of mbarriers are broken.

use std::ops::ControlFlow;

use fencepost_axiom::execution::Execution;
use fencepost_check::look::outcome::{self, Reader};
use fencepost_check::look::protocol::{Examiner, ProtocolSet};
use fencepost_check::look::race::{FlagEvaluator, Flags, RaceSet};
use fencepost_program::EventId;
use fencepost_program::program::{Program, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::sorted::SortedSet;

pub(crate) struct Visit<'a> {
    program: &'a Program,
    unfolding: &'a Unfolding,
    evaluator: FlagEvaluator<'a>,
    examiner: Examiner<'a>,
    terms: Vec<Term>,
    until: Until<'a>,
    races: RaceSet,
    rules: ProtocolSet,
    manners: Manners,
}

/// When enough is known.
#[derive(Copy, Clone)]
pub(crate) enum Until<'a> {
    Never,
    /// This race is still there, or one that the test does not have.
    Race {
        race: Places,
        known: &'a [Places],
    },
    /// A thread waits for good, or there is a race that the test does not have.
    Stuck {
        known: &'a [Places],
    },
    /// There is a race, a broken rule, or a thread that waits for good.
    Wrong,
    /// Or a question has the answer that it should not have.
    WrongOrBroken,
}

/// How the executions end that are visited.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Reached,
    Never,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(program: &'a Program, unfolding: &'a Unfolding, flags: &'a Flags, until: Until<'a>) -> Self {
        Visit {
            program,
            unfolding,
            evaluator: flags.evaluator(),
            examiner: Examiner::new(unfolding),
            terms: outcome::terms(program),
            until,
            races: RaceSet::default(),
            rules: ProtocolSet::default(),
            manners: Manners::default(),
        }
    }

    pub(crate) fn add(&mut self, execution: &Execution, end: End) -> ControlFlow<()> {
        let before = self.races.races.len();
        self.evaluator.add(self.unfolding, execution, &mut self.races);
        if self.races.races.len() > before && self.is_enough() {
            return ControlFlow::Break(());
        }
        self.examiner.add(execution, &mut self.rules);
        match end {
            End::Reached => {
                self.manners.ended += 1;
                self.manners.is_wide |= matches!(self.until, Until::Never) && is_wide(self.unfolding, execution);
                let breaks = breaks(self.program, &self.terms, self.unfolding, execution);
                self.manners.broken |= breaks;
                self.manners.kept |= !breaks;
            }
            End::Never => self.stuck(execution),
        }
        match self.is_wrong() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Whether something beside races is known to be wrong, where that is enough.
    fn is_wrong(&self) -> bool {
        let broken = self.manners.broken && matches!(self.until, Until::WrongOrBroken);
        let wrong = !self.manners.stuck.is_empty() || self.rules.errors.keys().any(|key| key.kind.is_error());
        let stuck = !self.manners.stuck.is_empty() && matches!(self.until, Until::Stuck { .. });
        broken || stuck || wrong && matches!(self.until, Until::Wrong | Until::WrongOrBroken)
    }

    /// Whether an mbarrier itself is raced for: a wait that answers no may then show what no later one does.
    pub(crate) fn objects_race(&self) -> bool {
        let is_of_one =
            |event: EventId| self.unfolding.events.get(event.index()).is_some_and(|event| event.has(Tag::Mbarrier));
        let mut races = self.races.races.iter().filter(|(key, _)| key.is_pair());
        races.any(|(_, example)| is_of_one(example.pair.0) || is_of_one(example.pair.1))
    }

    fn is_enough(&self) -> bool {
        let mut pairs = self.races.races.iter().filter(|(key, _)| key.is_pair());
        match self.until {
            Until::Never => false,
            Until::Wrong | Until::WrongOrBroken => pairs.next().is_some(),
            Until::Race { race, known } => pairs.any(|(_, example)| {
                let found = places(self.unfolding, example.pair);
                found == race || !known.contains(&found)
            }),
            Until::Stuck { known } => pairs.any(|(_, example)| !known.contains(&places(self.unfolding, example.pair))),
        }
    }

    fn stuck(&mut self, execution: &Execution) {
        for trace in execution.traces.iter().filter_map(|trace| self.unfolding.traces.get(trace.index())) {
            match &trace.end {
                TraceEnd::Spin { span, .. } => self.manners.stuck.insert(span.start),
                TraceEnd::Blocked { barrier } => {
                    let event = self.unfolding.events.get(barrier.index());
                    self.manners.stuck.insert(event.map_or(0, |event| event.span.start))
                }
                TraceEnd::Exit | TraceEnd::NotStarted | TraceEnd::Bound { .. } | TraceEnd::Wild { .. } => false,
            };
        }
    }

    pub(crate) fn finish(mut self) -> (RaceSet, Manners) {
        for key in self.rules.errors.keys().filter(|key| key.kind.is_error()) {
            let location = self.unfolding.locations.get(key.location.index());
            let name = location.map_or_else(String::new, |location| location.name.to_string());
            self.manners.rules.insert((key.kind.name(), name));
        }
        (self.races, self.manners)
    }
}

/// Whether a final state of the execution answers a question as it should not be answered.
fn breaks(program: &Program, terms: &[Term], unfolding: &Unfolding, execution: &Execution) -> bool {
    let states = Reader::new(unfolding, execution).states(terms);
    let filter = program.filter.as_ref().map(|filter| &filter.node);
    let passes = |state: &&outcome::State| filter.is_none_or(|filter| outcome::holds(filter, terms, state));
    let wrong = |state: &outcome::State| {
        let asked = program.questions.iter();
        // A question that rests on a value without a model has no wrong answer.
        asked.filter(|question| !unfolding.is_unmodelled(&question.condition)).any(|question| {
            let holds = outcome::holds(&question.condition, terms, state);
            match question.kind {
                QuestionKind::Forall | QuestionKind::Assert => !holds,
                QuestionKind::NotExists => holds,
                QuestionKind::Exists | QuestionKind::Permit | QuestionKind::Check => false,
            }
        })
    };
    states.iter().filter(passes).any(wrong)
}

/// Two places of the source, in order: what a race is known by.
pub(crate) type Places = (u32, u32);

/// What was seen of a test beside its races.
#[derive(Clone, Default)]
pub(crate) struct Manners {
    /// Where threads are stuck for good.
    pub(crate) stuck: SortedSet<u32>,
    /// Rules of mbarriers that are broken, and of which.
    pub(crate) rules: SortedSet<(&'static str, String)>,
    pub(crate) broken: bool,
    /// Some execution answers every question as it should be answered.
    pub(crate) kept: bool,
    pub(crate) ended: u64,
    /// Something is written that one byte does not hold. Known only where nothing ends the search early.
    pub(crate) is_wide: bool,
}

fn is_wide(unfolding: &Unfolding, execution: &Execution) -> bool {
    let writes = |id: &EventId| unfolding.events.get(id.index()).is_some_and(|event| event.is_write());
    let mut written = execution.events.iter().zip(&execution.values).filter(|(id, _)| writes(id));
    written.any(|(_, value)| value.is_none_or(|value| !(0..=i128::from(u8::MAX)).contains(&value.0)))
}

pub(crate) fn places(unfolding: &Unfolding, pair: (EventId, EventId)) -> Places {
    let start = |id: EventId| unfolding.events.get(id.index()).map_or(0, |event| event.span.start);
    let exits = |id: EventId| unfolding.events.get(id.index()).is_some_and(|event| event.has(Tag::Exit));
    // An exit stands nowhere in the text.
    let start = |id: EventId| if exits(id) { u32::MAX } else { start(id) };
    let (a, b) = (start(pair.0), start(pair.1));
    (a.min(b), a.max(b))
}
