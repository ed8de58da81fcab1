//! From answers to a report: names instead of numbers, lines instead of spans.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{Question, Term, Unsupported};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{self, Unfolding};
use fencepost_program::value::Value;
use fencepost_report::verdict::{Verdict, Why};
use fencepost_report::{
    Access, Answer, Assignment, Count, EventKind, Form, Number, Outcome, Place, Protocol, ProtocolError, Race,
    RaceAnswer, Races, Reason, Report, SCHEMA, Termination, TerminationAnswer, Witness, WitnessEvent,
};
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::{Source, Span};

use crate::judge::found::{Answers, Finding};
use crate::judge::known::verdict;
use crate::judge::undefined;
use crate::look::histogram::Histogram;
use crate::look::outcome::{Reader, State, holds};
use crate::look::protocol::{self, Key, ProtocolSet};
use crate::look::proxy::Proxy;
use crate::look::race::{Example, RaceKey};
use crate::look::race_search::is_assuming;
use crate::model::load::LoadedModel;
use crate::phrase::{self, Notation};
use crate::test::Test;
use crate::write::stuck::stuck;
use crate::write::timeline::timeline;
use crate::write::warnings;

pub fn report(
    test: &Test,
    model: &LoadedModel,
    unfolding: Option<&Unfolding>,
    accesses: Option<&Unfolding>,
    terms: &[Term],
    answers: &Answers,
) -> Report {
    let names: Vec<Arc<str>> =
        terms.iter().map(|term| phrase::term(&test.program, term, Notation::Named).into()).collect();
    let writer = Writer { test, unfolding, terms, names: &names, example: RefCell::default() };
    let racing = Writer { unfolding: accesses.or(unfolding), example: RefCell::default(), ..writer };
    let unanswered = Finding::Unknown(Why::Internal("a question was not answered".to_owned()));
    let questions: Vec<Answer> = test
        .program
        .questions
        .iter()
        .zip(&answers.findings)
        .map(|(question, finding)| writer.answer(question, finding.as_ref().unwrap_or(&unanswered), answers))
        .collect();
    let verdict = overall(test, &questions, answers);
    let why = match &verdict {
        Verdict::Unknown(why) => Some(Reason::new(why, &test.source)),
        _ => None,
    };
    let filter = test.program.filter.as_ref().map(|filter| &filter.node);
    let assuming = |filter| unfolding.is_some_and(|unfolding| is_assuming(unfolding, filter));
    Report {
        schema: SCHEMA,
        test: test.program.name.clone(),
        file: test.source.name.clone(),
        row: test.row,
        arch: phrase::arch(test.program.arch).to_owned(),
        model: model.name.clone(),
        hash: test.hash().to_owned(),
        verdict,
        why,
        depends: None,
        undefined: undefined::of(answers.undefined.clone()),
        readings: Vec::new(),
        unsupported: forms(&test.program.unsupported, &test.source),
        questions,
        executions: answers.executions,
        outcomes: answers.outcomes.iter().map(|(state, count)| writer.outcome(state, count)).collect(),
        unlisted: 0,
        races: racing.races(model, answers, assuming(undefined::race_filter(test, model))),
        protocol: Protocol {
            answer: answers.protocol_answer,
            errors: if answers.protocol_of_accesses { &racing } else { &writer }.protocol(&answers.protocol),
            depends: None,
        },
        termination: writer.termination(answers, assuming(filter)),
        warnings: warnings::gather(test, model, unfolding, answers),
        engine: answers.engine.map_or("none", |engine| engine.name()).to_owned(),
        cross_checked: answers.cross_checked,
        deepened: None,
    }
}

/// The worst of the questions that can be broken.
fn overall(test: &Test, questions: &[Answer], answers: &Answers) -> Verdict {
    let enforced = test.program.questions.iter().zip(questions);
    let enforced = enforced.filter(|(question, _)| question.kind != QuestionKind::Check);
    // A test that asks nothing asks for everything: its executions, races and hangs.
    let stopped = answers.stopped.as_ref().filter(|_| test.program.questions.is_empty());
    match (Verdict::worst(enforced.map(|(_, answer)| &answer.verdict)), answers.refused.as_ref().or(stopped)) {
        // A test that asks nothing still has not been looked at.
        (Verdict::Holds, Some(why)) => Verdict::Unknown(why.clone()),
        (verdict, _) => verdict,
    }
}

struct Writer<'a> {
    test: &'a Test,
    unfolding: Option<&'a Unfolding>,
    terms: &'a [Term],
    /// What each of them is called.
    names: &'a [Arc<str>],
    /// The example of the last race that was written: one execution has many, and may be large.
    example: RefCell<Option<(Arc<Execution>, Witness)>>,
}

impl Writer<'_> {
    /// Executions that a filter or an assumption keeps out are not counted, and may end.
    fn termination(&self, answers: &Answers, assuming: bool) -> Termination {
        let none_ends = answers.executions == Some(Count { count: 0, complete: true }) && !assuming;
        Termination {
            answer: answers.termination,
            never_ends: none_ends && answers.termination == TerminationAnswer::MayHang,
            why: answers.termination_why.as_ref().map(|why| Reason::new(why, &self.test.source)),
            witness: answers.stuck.as_ref().and_then(|execution| self.witness(execution, None)),
            stuck: answers
                .stuck
                .as_ref()
                .zip(self.unfolding)
                .map_or(Vec::new(), |(execution, unfolding)| stuck(self.test, unfolding, execution)),
            cause: String::new(),
            missing: Vec::new(),
            depends: None,
        }
    }

    fn races(&self, model: &LoadedModel, answers: &Answers, assuming: bool) -> Races {
        let pairs = answers.races.races.iter().filter(|(key, _)| key.is_pair());
        Races {
            answer: match answers.race_answer {
                // Its flags may be about anything.
                RaceAnswer::None | RaceAnswer::Unknown if !model.flags().declare_races() => RaceAnswer::NotDefined,
                answer => answer,
            },
            assuming,
            pairs: pairs.filter_map(|(key, example)| self.race(key, example)).collect(),
            more: answers.races.has_more(),
            undiagnosed: 0,
            depends: None,
            rest: answers.race_rest.as_ref().map(|why| Reason::new(why, &self.test.source)),
            why: answers.race_why.clone().filter(|_| answers.race_answer == fencepost_report::RaceAnswer::Unknown),
        }
    }

    fn answer(&self, question: &Question, finding: &Finding, answers: &Answers) -> Answer {
        let verdict = verdict(question.kind, finding);
        let why = match &verdict {
            Verdict::Unknown(why) => Some(Reason::new(why, &self.test.source)),
            _ => None,
        };
        let witness = match finding {
            Finding::Found(execution) => self.witness(execution, Some(question)),
            Finding::Absent | Finding::Undefined | Finding::Unknown(_) => None,
        };
        // Of values without a model there is nothing to count.
        let is_counted = !matches!(finding, Finding::Unknown(Why::Unsupported { .. }));
        let counts = answers.executions.filter(|_| is_counted).and_then(|_| self.counts(question, &answers.outcomes));
        Answer {
            kind: phrase::question_kind(question.kind).to_owned(),
            name: question.name.clone(),
            condition: phrase::condition(&self.test.program, &question.condition, Notation::Named),
            line: self.test.source.position(question.span.start).line,
            verdict,
            why,
            depends: None,
            undefined: matches!(finding, Finding::Undefined),
            positive: counts.map(|(positive, _)| positive),
            negative: counts.map(|(_, negative)| negative),
            witness,
            cause: None,
        }
    }

    /// How many (execution, final state) pairs satisfy the condition, and how many do not; None if that is more than can
    /// be said.
    fn counts(&self, question: &Question, outcomes: &Histogram) -> Option<(u64, u64)> {
        let mut counts = (0u64, 0u64);
        for (state, count) in outcomes.unsorted() {
            let side = if holds(&question.condition, self.terms, state) { &mut counts.0 } else { &mut counts.1 };
            *side = side.checked_add(count)?;
        }
        Some(counts)
    }

    fn assignment(&self, state: &[Value]) -> Assignment {
        Assignment(self.names.iter().zip(state).map(|(name, value)| (Arc::clone(name), self.number(*value))).collect())
    }

    /// A value that stands for an unknown initial one has a name.
    fn number(&self, value: Value) -> Number {
        let named = self.test.program.unknown_values.iter().find(|(own, _)| *own == value);
        named.map_or(Number::Known(value.0), |(_, name)| Number::Unknown(name.clone()))
    }

    fn outcome(&self, state: &[Value], executions: u64) -> Outcome {
        Outcome { values: self.assignment(state), executions }
    }

    fn witness(&self, execution: &Execution, question: Option<&Question>) -> Option<Witness> {
        let unfolding = self.unfolding?;
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
        let pairs = |pairs: &[(EventId, EventId)]| pairs.iter().map(|(from, to)| (from.0, to.0)).collect();
        Some(Witness {
            events: execution.events.iter().filter_map(|&event| self.event(unfolding, &reader, event)).collect(),
            rf: pairs(&execution.rf),
            co: pairs(&execution.co),
            sync_fence: pairs(&execution.sync_fence),
            barriers: execution
                .barriers
                .groups
                .iter()
                .map(|group| group.iter().map(|event| event.0).collect())
                .collect(),
            state: state.map_or(Assignment::default(), |state| self.assignment(&state)),
        })
    }

    fn event(&self, unfolding: &Unfolding, reader: &Reader<'_>, id: EventId) -> Option<WitnessEvent> {
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
            thread: thread.map(|thread| thread.name.clone()),
            kind,
            location: self.location(event),
            value: reader.value(id).map(|value| self.number(value)),
            line: thread.map(|_| self.test.source.line(event.span.start)),
            text: if thread.is_some() { self.test.instruction_text(event.span) } else { String::new() },
            proxy: matches!(kind, EventKind::Read | EventKind::Write).then(|| Proxy::of(event).name()),
            started_by: event.strand.as_ref().map(|strand| strand.issue.0),
        })
    }

    /// The name by which the instruction reached its location.
    fn location(&self, event: &unfolding::Event) -> Option<String> {
        match &event.kind {
            unfolding::EventKind::Read { address, .. } | unfolding::EventKind::Write { address, .. } => {
                self.test.program.addresses.get(address.index()).map(|address| address.name.clone())
            }
            _ => None,
        }
    }

    fn race(&self, key: &RaceKey, example: &Example) -> Option<Race> {
        let unfolding = self.unfolding?;
        let first = unfolding.events.get(example.pair.0.index())?;
        let second = unfolding.events.get(example.pair.1.index())?;
        Some(Race {
            flag: key.flag.clone(),
            kind: key.kind,
            first: self.access(unfolding, first, key.first),
            second: self.access(unfolding, second, key.second),
            location: self.location(first).or_else(|| self.location(second)),
            contested: false,
            diagnosis: None,
            example: self.example(&example.execution)?,
        })
    }

    fn example(&self, execution: &Arc<Execution>) -> Option<Witness> {
        let mut last = self.example.borrow_mut();
        match last.as_ref().filter(|(known, _)| Arc::ptr_eq(known, execution)) {
            Some((_, written)) => Some(written.clone()),
            None => {
                let written = self.witness(execution, None)?;
                *last = Some((Arc::clone(execution), written.clone()));
                Some(written)
            }
        }
    }

    fn protocol(&self, set: &ProtocolSet) -> Vec<ProtocolError> {
        let Some(unfolding) = self.unfolding else { return Vec::new() };
        let error = |(key, example): (&Key, &protocol::Example)| {
            let event = unfolding.events.get(example.event.index())?;
            let location = unfolding.locations.get(key.location.index())?;
            Some(ProtocolError {
                kind: key.kind.name().to_owned(),
                mbarrier: location.name.clone(),
                message: example.message.clone(),
                section: key.kind.section().to_owned(),
                access: self.access(unfolding, event, key.span),
                timeline: timeline(self.test, unfolding, &example.execution, key.location, example.event),
            })
        };
        // The same in words, of several operations any of which may come last, is one error.
        let mut told = BTreeSet::new();
        let is_news = |(key, example): &(&Key, &protocol::Example)| {
            !key.kind.is_of_the_whole_life() || told.insert((key.location, key.kind, example.message.clone()))
        };
        set.errors.iter().filter(|(key, _)| key.kind.is_error()).filter(is_news).filter_map(error).collect()
    }

    fn access(&self, unfolding: &Unfolding, event: &unfolding::Event, span: Span) -> Access {
        access(self.test, unfolding, event, span)
    }
}

/// Who makes an access, and where.
pub fn access(test: &Test, unfolding: &Unfolding, event: &unfolding::Event, span: Span) -> Access {
    let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
    let position = test.source.position(span.start);
    Access {
        thread: thread.map_or("init".to_owned(), |thread| thread.name.clone()),
        line: position.line,
        column: position.column,
        text: match test.instruction_text(span) {
            last if event.has(Tag::Exit) && last.is_empty() => "exit".to_owned(),
            last if event.has(Tag::Exit) => format!("exit, after `{}`", last.trim_end_matches(';')),
            text => text,
        },
    }
}

/// Those of a program, gathered by name.
fn forms(unsupported: &[Unsupported], source: &Source) -> Vec<Form> {
    let mut sorted: Vec<&Unsupported> = unsupported.iter().collect();
    sorted.sort_by_key(|found| found.span);
    let mut forms: Vec<Form> = Vec::new();
    for found in sorted {
        let position = source.position(found.span.start);
        let place = Place { line: position.line, column: position.column };
        match forms.iter_mut().find(|form| form.what == found.what) {
            Some(form) if form.places.contains(&place) => {}
            Some(form) => form.places.push(place),
            None => forms.push(Form { what: found.what.clone(), places: vec![place] }),
        }
    }
    forms
}
