//! What is noted of each execution of a changed test: its races, answers that should not be, where threads are stuck and
//! which rules of mbarriers are broken.

use std::ops::ControlFlow;

use fencepost_axiom::execution::Execution;
use fencepost_program::program::{Program, Term};
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_syntax::litmus::QuestionKind;

use crate::outcome::{self, Reader};
use crate::protocol::{Examiner, ProtocolSet};
use crate::race::{FlagEvaluator, Flags, RaceSet};

use super::verify::{Manners, Places, places};

pub(super) struct Visit<'a> {
    program: &'a Program,
    unfolding: &'a Unfolding,
    evaluator: FlagEvaluator<'a>,
    examiner: Examiner<'a>,
    terms: Vec<Term>,
    until: Option<Until<'a>>,
    races: RaceSet,
    rules: ProtocolSet,
    manners: Manners,
}

/// When enough is known: this race is still there, or one that the test does not have.
pub(super) struct Until<'a> {
    pub(super) race: Places,
    pub(super) known: &'a [Places],
}

/// How the executions end that are visited.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    Reached,
    Never,
}

impl<'a> Visit<'a> {
    pub(super) fn new(
        program: &'a Program,
        unfolding: &'a Unfolding,
        flags: &'a Flags,
        until: Option<Until<'a>>,
    ) -> Self {
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

    pub(super) fn add(&mut self, execution: &Execution, end: End) -> ControlFlow<()> {
        let before = self.races.races.len();
        self.evaluator.add(self.unfolding, execution, &mut self.races);
        if self.races.races.len() > before && self.is_enough() {
            return ControlFlow::Break(());
        }
        self.examiner.add(execution, &mut self.rules);
        match end {
            End::Reached => {
                self.manners.ended += 1;
                let breaks = breaks(self.program, &self.terms, self.unfolding, execution);
                self.manners.broken |= breaks;
                self.manners.kept |= !breaks;
            }
            End::Never => self.stuck(execution),
        }
        ControlFlow::Continue(())
    }

    fn is_enough(&self) -> bool {
        let Some(until) = &self.until else { return false };
        let pairs = self.races.races.iter().filter(|(key, _)| key.is_pair());
        let mut places = pairs.map(|(_, example)| places(self.unfolding, example.pair));
        places.any(|race| race == until.race || !until.known.contains(&race))
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

    pub(super) fn finish(mut self) -> (RaceSet, Manners) {
        for key in self.rules.errors.keys().filter(|key| key.kind.is_error()) {
            let location = self.unfolding.locations.get(key.location.index());
            let name = location.map_or_else(String::new, |location| location.name.clone());
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
        program.questions.iter().any(|question| {
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
