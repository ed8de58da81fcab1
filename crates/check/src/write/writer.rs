//! Names, values and executions of a test as a report has them.

use std::sync::Arc;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{Question, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{self, Unfolding};
use fencepost_program::value::Value;
use fencepost_report::verdict::{Dependence, Verdict};
use fencepost_report::why::Why;
use fencepost_report::{Assignment, EventKind, Number, WhyUnknown, Witness, WitnessEvent};
use fencepost_syntax::Lines;
use fencepost_syntax::litmus::QuestionKind;

use crate::judge::whole::Whole;
use crate::look::outcome::{Reader, State, holds};
use crate::look::proxy::proxy_of;
use crate::test::Test;

pub(super) struct Writer<'a> {
    /// What was searched.
    pub(super) test: &'a Test,
    /// What its parts were before it was cut, if it was.
    pub(super) whole: Option<&'a Whole>,
    pub(super) terms: &'a [Term],
    /// What each of them is called.
    pub(super) names: &'a [Arc<str>],
}

impl Writer<'_> {
    pub(super) fn reason(&self, why: &Why) -> Option<WhyUnknown> {
        why.told().map(|why| WhyUnknown::new(why, &self.test.source))
    }

    /// Why a verdict is not known, if it is not.
    pub(super) fn open(&self, verdict: &Verdict) -> Option<WhyUnknown> {
        match verdict {
            Verdict::Unknown(why) => self.reason(why),
            _ => None,
        }
    }

    pub(super) fn assignment(&self, state: &[Value]) -> Assignment {
        Assignment(self.names.iter().zip(state).map(|(name, value)| (Arc::clone(name), self.number(*value))).collect())
    }

    /// A value that stands for an unknown initial one has a name.
    pub(super) fn number(&self, value: Value) -> Number {
        let named = self.test.program.unknown_values.iter().find(|(own, _)| *own == value);
        named.map_or(Number::Known(value.0), |(_, name)| Number::Unknown(name.clone()))
    }

    pub(super) fn witness(&self, unfolding: &Unfolding, execution: &Execution, question: Option<&Question>) -> Witness {
        let reader = Reader::new(unfolding, execution);
        let state = question.and_then(|question| {
            let negated = matches!(question.kind, QuestionKind::Forall | QuestionKind::Assert);
            let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
            let wanted = |state: &State| {
                filter.is_none_or(|filter| holds(filter, self.terms, state))
                    && holds(&question.condition, self.terms, state) != negated
            };
            reader.states(self.terms).into_iter().find(wanted)
        });
        let state = state.map_or(Assignment::default(), |state| self.assignment(&state));
        let state = match self.whole.filter(|_| question.is_some()) {
            Some(whole) => whole.assemble(&state),
            None => state,
        };
        let lines = Lines::of(&self.test.source.text);
        let event = |&event: &EventId| self.event(unfolding, &reader, &lines, event);
        let pairs = |pairs: &[(EventId, EventId)]| pairs.iter().map(|(from, to)| (from.0, to.0)).collect();
        Witness {
            events: execution.events.iter().filter_map(event).collect(),
            rf: pairs(&execution.rf),
            co: pairs(&execution.co),
            sync_fence: pairs(&execution.sync_fence),
            barriers: execution
                .barriers
                .groups
                .iter()
                .map(|group| group.iter().map(|event| event.0).collect())
                .collect(),
            state,
        }
    }

    fn event(&self, unfolding: &Unfolding, reader: &Reader<'_>, lines: &Lines, id: EventId) -> Option<WitnessEvent> {
        let event = unfolding.events.get(id.index())?;
        let kind = match &event.kind {
            unfolding::EventKind::Write { .. } if event.tags.has(Tag::Init) => EventKind::Init,
            unfolding::EventKind::Write { .. } => EventKind::Write,
            unfolding::EventKind::Read { .. } => EventKind::Read,
            unfolding::EventKind::Fence => EventKind::Fence,
            unfolding::EventKind::Issue if event.has(Tag::Exit) => EventKind::Exit,
            unfolding::EventKind::Issue => EventKind::Issue,
            unfolding::EventKind::Barrier(_) => EventKind::Barrier,
            // What is not done is no part of what happened.
            unfolding::EventKind::Omitted(_) => return None,
        };
        let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
        Some(WitnessEvent {
            id: id.0,
            thread: thread.map(|thread| thread.name.to_string()),
            kind,
            location: self.location(event),
            value: reader.value(id).map(|value| self.number(value)),
            line: thread.map(|_| lines.line(event.span.start)),
            text: if thread.is_some() { self.test.instruction_text(event.span) } else { String::new() },
            proxy: matches!(kind, EventKind::Read | EventKind::Write).then(|| proxy_of(event)),
            started_by: event.strand.as_ref().map(|strand| strand.issue.0),
        })
    }

    /// The name by which the instruction reached its location.
    pub(super) fn location(&self, event: &unfolding::Event) -> Option<String> {
        match &event.kind {
            unfolding::EventKind::Read { address, .. } | unfolding::EventKind::Write { address, .. } => {
                self.test.program.addresses.get(address.index()).map(|address| address.name.to_string())
            }
            _ => None,
        }
    }
}

/// What a verdict depends on.
pub(super) fn depends(verdict: &Verdict) -> Option<Dependence> {
    match verdict {
        Verdict::Depends(on) => Some(on.clone()),
        _ => None,
    }
}
