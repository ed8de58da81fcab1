//! From answers to a report: names instead of numbers, lines instead of spans.

use std::collections::BTreeMap;
use std::sync::Arc;

use fencepost_axiom::execution::Execution;
use fencepost_program::ThreadId;
use fencepost_program::program::{Program, Question, Unsupported};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{self, Unfolding};
use fencepost_report::answer::Answer;
use fencepost_report::verdict::{Dependence, Verdict};
use fencepost_report::why::Why;
use fencepost_report::{
    Access, Alike, Assignment, Count, Form, Outcome, OutcomeClass, Place, Protocol, ProtocolAnswer, ProtocolError,
    QuestionAnswer, Race, RaceAnswer, Races, Report, SCHEMA, Termination, TerminationAnswer, WhyUnknown, Witness,
};
use fencepost_syntax::sorted::{SharedSort as _, SortedSet};
use fencepost_syntax::{Source, Span};

use crate::judge::found::{
    Answers, Aspect, Broken, Checked, Evidence, Finding, RacePlace, Raced, Reached, Shown, Subject,
};
use crate::judge::whole::Whole;
use crate::judge::{undefined, verdict};
use crate::look::classes::{Class, Classes};
use crate::look::outcome::State;
use crate::look::protocol::{self, Key};
use crate::look::race::{Example, RaceKey};
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::phrase::{self, Notation};
use crate::test::Test;
use crate::write::crashes;
use crate::write::stuck::stuck;
use crate::write::timeline::timeline;
use crate::write::warnings;
use crate::write::writer::{Writer, depends};

/// Verdicts alone, for comparison with others: nothing is written down that nobody reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    pub verdict: Verdict,
    /// Why the verdict is not known, if it is not.
    pub why: Option<WhyUnknown>,
    pub termination: TerminationAnswer,
    pub termination_why: Option<WhyUnknown>,
}

/// What a report of these answers would say.
pub fn judged(given: &Test, answers: &Answers) -> Judged {
    let (test, whole) = searched(given, answers);
    // Reasons name no outcomes.
    let writer = Writer { test, whole, terms: &[], names: &[] };
    let verdict = verdict::of_test(test, answers);
    let (termination, _, why) = termination_word(answers.answer(Aspect::Termination));
    Judged {
        why: writer.open(&verdict),
        verdict,
        termination,
        termination_why: why.and_then(|why| writer.reason(&why)),
    }
}

/// What was searched for the answers, and what its parts were before it was cut, if it was.
fn searched<'a>(given: &'a Test, answers: &'a Answers) -> (&'a Test, Option<&'a Whole>) {
    match &answers.subject {
        Subject::AsGiven => (given, None),
        Subject::Case(test) => (test, None),
        Subject::Cut(whole) => (&whole.cut, Some(whole)),
    }
}

/// Answers written down, with the executions behind them.
pub fn checked(test: &Test, model: &LoadedModel, options: &Options, answers: Answers) -> Checked {
    let report = report(test, model, options, &answers);
    let races = answers.races.iter().flat_map(|raced| raced.set.races.iter().filter(|(key, _)| key.is_pair()));
    let races = races.map(|(_, example)| (example.pair, Arc::clone(&example.execution))).collect();
    let accesses = answers.races.first().map(|raced| &raced.of);
    let accesses = accesses.filter(|of| answers.unfolding.as_ref().is_none_or(|own| !Arc::ptr_eq(own, of))).cloned();
    let execution = |shown: Shown| Arc::unwrap_or_clone(shown.execution);
    let stuck = match answers.hang {
        Answer::Yes(shown) => Some(execution(shown)),
        _ => None,
    };
    let witness = |finding: Finding| match finding {
        Answer::Yes(Reached::Shown(shown)) => Some(execution(shown)),
        _ => None,
    };
    // Nothing was looked at: there is not even an execution that was not found.
    let findings = if answers.unfolding.is_some() { answers.findings } else { Vec::new() };
    let witnesses = findings.into_iter().map(witness).collect();
    let cut = match answers.subject {
        Subject::Cut(whole) => Some(Arc::clone(&whole.cut)),
        Subject::AsGiven | Subject::Case(_) => None,
    };
    let crash = answers.crash.map(crashes::evidence);
    let evidence = Evidence { unfolding: answers.unfolding, witnesses, stuck, races, accesses, crash };
    Checked { report, evidence, model: answers.model, test: cut }
}

/// The report of a test, of which something else may have been searched.
fn report(given: &Test, model: &LoadedModel, options: &Options, answers: &Answers) -> Report {
    let (test, whole) = searched(given, answers);
    let terms = answers.terms(&test.program);
    let names: Vec<Arc<str>> =
        terms.iter().map(|term| phrase::term(&test.program, term, Notation::Named).into()).collect();
    let writer = Writer { test, whole, terms: &terms, names: &names };
    // What a person asked for is told in the words that were used.
    let asked = if whole.is_some() { given } else { test };
    let questions = test.program.questions.iter().zip(&asked.program.questions).take(answers.findings.len());
    let questions = questions.enumerate();
    let verdict = verdict::of_test(test, answers);
    // Classes of parts, or of one of several cases, say nothing of the whole.
    let classes = answers.classes.as_ref().filter(|_| whole.is_none() && !answers.is_merged);
    let are_lost = answers.classes.is_some() && classes.is_none();
    let Program { name, unsupported, .. } = &test.program;
    Report {
        schema: SCHEMA,
        test: name.clone(),
        file: test.source.name.clone(),
        row: test.row,
        arch: phrase::arch(test.program.arch).to_owned(),
        model: model.name.clone(),
        hash: if options.fingerprint.is_yes() { test.hash().to_owned() } else { String::new() },
        why: writer.open(&verdict),
        depends: depends(&verdict),
        verdict,
        undefined: undefined::of(answers.undefined.clone()),
        readings: answers.readings.clone(),
        unsupported: forms(unsupported, &test.source),
        questions: questions
            .map(|(at, (question, asked_question))| QuestionAnswer {
                condition: phrase::condition(&asked.program, &asked_question.condition, Notation::Named),
                ..writer.answer(at, question, answers)
            })
            .collect(),
        executions: answers.executions.map(|count| Count { complete: count.complete && !are_lost, ..count }),
        outcomes: writer.outcomes(answers),
        unlisted: classes.map_or(0, |classes| classes.all_outcomes),
        alike: classes.map(|classes| writer.alike(classes)),
        races: writer.races(answers),
        protocol: writer.protocol(answers),
        termination: writer.termination(answers),
        crashes: answers.crash.as_ref().map(|crash| crashes::written(test, &writer, answers, crash)),
        warnings: warnings::gather(test, answers),
        engine: answers.engine.map_or("none", |engine| engine.name()).to_owned(),
        cross_checked: answers.cross_checked,
        deepened: answers.deepened,
    }
}

/// The word for an answer about races, and what it depends on.
fn race_word(answer: Answer) -> (RaceAnswer, Option<Dependence>, Option<Why>) {
    match answer {
        Answer::No => (RaceAnswer::None, None, None),
        Answer::Yes(()) => (RaceAnswer::Found, None, None),
        Answer::Depends(on) => (RaceAnswer::Depends, Some(on), None),
        Answer::Unknown(why) => (RaceAnswer::Unknown, None, Some(why)),
        Answer::NotDefined => (RaceAnswer::NotDefined, None, None),
        Answer::NotAsked => (RaceAnswer::NotAsked, None, None),
    }
}

/// The same of rules about mbarriers.
fn protocol_word(answer: Answer) -> (ProtocolAnswer, Option<Dependence>) {
    match answer {
        Answer::No => (ProtocolAnswer::None, None),
        Answer::Yes(()) => (ProtocolAnswer::Found, None),
        Answer::Depends(on) => (ProtocolAnswer::Depends, Some(on)),
        Answer::Unknown(_) => (ProtocolAnswer::Unknown, None),
        Answer::NotDefined | Answer::NotAsked => (ProtocolAnswer::NotAsked, None),
    }
}

/// The same of whether a program may hang.
fn termination_word(answer: Answer) -> (TerminationAnswer, Option<Dependence>, Option<Why>) {
    match answer {
        Answer::No => (TerminationAnswer::Terminates, None, None),
        Answer::Yes(()) => (TerminationAnswer::MayHang, None, None),
        Answer::Depends(on) => (TerminationAnswer::Depends, Some(on), None),
        Answer::Unknown(why) => (TerminationAnswer::Unknown, None, Some(why)),
        Answer::NotDefined | Answer::NotAsked => (TerminationAnswer::NotAsked, None, None),
    }
}

impl Writer<'_> {
    fn termination(&self, answers: &Answers) -> Termination {
        let (answer, depends, why) = termination_word(answers.answer(Aspect::Termination));
        let shown = answers.hang.yes();
        Termination {
            answer,
            never_ends: answers.never_ends,
            why: why.and_then(|why| self.reason(&why)),
            witness: shown.map(|shown| self.witness(&shown.of, &shown.execution, None)),
            stuck: shown.map_or(Vec::new(), |shown| stuck(self.test, &shown.of, &shown.execution)),
            cause: String::new(),
            reasons: Vec::new(),
            missing: Vec::new(),
            depends,
        }
    }

    fn races(&self, answers: &Answers) -> Races {
        let (answer, depends, why) = race_word(answers.answer(Aspect::Races));
        let mut pairs = Vec::new();
        for Raced { set, of } in &answers.races {
            // The example of the last race that was written: one execution has many, and may be large.
            let mut last = None;
            let races = set.races.iter().filter(|(key, _)| key.is_pair());
            for (key, example) in races {
                pairs.extend(self.race(of, (key, example), answers.agreed.as_ref(), &mut last));
            }
        }
        Races {
            answer,
            assuming: answers.races_assume,
            pairs,
            more: answers.has_more_races(),
            undiagnosed: 0,
            depends,
            rest: answers.race_rest.as_ref().and_then(|why| self.reason(why)),
            why,
        }
    }

    fn answer(&self, at: usize, question: &Question, answers: &Answers) -> QuestionAnswer {
        let verdict = verdict::of_question(question.kind, &answers.answer(Aspect::Question(at)));
        let counts = answers.counts.get(at).copied().flatten();
        let is_undefined = |finding: &Finding| matches!(finding, Answer::Yes(Reached::Undefined));
        QuestionAnswer {
            kind: phrase::question_kind(question.kind).to_owned(),
            name: question.name.clone(),
            condition: String::new(),
            line: self.test.source.position(question.span.start).line,
            why: self.open(&verdict),
            depends: depends(&verdict),
            verdict,
            undefined: answers.findings.get(at).is_some_and(is_undefined),
            positive: counts.map(|(positive, _)| positive),
            negative: counts.map(|(_, negative)| negative),
            witness: answers.witness(at).map(|shown| self.witness(&shown.of, &shown.execution, Some(question))),
            cause: None,
        }
    }

    /// The distinct final states, ascending: by the values that were searched, or by the names of those that are told.
    fn outcomes(&self, answers: &Answers) -> Vec<Outcome> {
        let outcome = |(state, executions)| Outcome { values: self.assignment(state), executions };
        let outcomes = answers.outcomes.iter().map(outcome);
        if self.whole.is_none() && !answers.is_merged {
            return outcomes.collect();
        }
        let mut told: BTreeMap<Assignment, u64> = BTreeMap::new();
        for Outcome { values, executions } in outcomes {
            let values = self.whole.map_or_else(|| values.clone(), |whole| whole.assemble(&values));
            let count = told.entry(values).or_default();
            *count = count.checked_add(executions).unwrap_or(*count);
        }
        told.into_iter().map(|(values, executions)| Outcome { values, executions }).collect()
    }

    fn alike(&self, classes: &Classes) -> Alike {
        let name = |thread: &ThreadId| self.test.program.threads[thread.index()].name.to_string();
        let class = |(state, class): &(State, Class)| OutcomeClass {
            values: self.assignment(state),
            outcomes: class.outcomes,
            executions: class.executions,
        };
        Alike {
            threads: classes.threads.iter().map(|kind| kind.iter().map(name).collect()).collect(),
            classes: classes.classes.iter().map(class).collect(),
        }
    }

    fn race(
        &self,
        unfolding: &Unfolding,
        (key, example): (&RaceKey, &Example),
        agreed: Option<&SortedSet<RacePlace>>,
        last: &mut Option<(Arc<Execution>, Witness)>,
    ) -> Option<Race> {
        let first = unfolding.events.get(example.pair.0.index())?;
        let second = unfolding.events.get(example.pair.1.index())?;
        let location = self.location(first).or_else(|| self.location(second));
        let place = || (key.flag.clone(), key.first, key.second);
        let known = last.take().filter(|(known, _)| Arc::ptr_eq(known, &example.execution));
        let (_, written) = last
            .insert(known.unwrap_or_else(|| {
                (Arc::clone(&example.execution), self.witness(unfolding, &example.execution, None))
            }));
        Some(Race {
            flag: key.flag.clone(),
            kind: key.kind,
            first: access(self.test, unfolding, first, key.first),
            second: access(self.test, unfolding, second, key.second),
            location: location.map(|name| self.whole.map_or_else(|| name.clone(), |whole| whole.address(name.clone()))),
            contested: agreed.is_some_and(|agreed| !agreed.contains(&place())),
            diagnosis: None,
            example: written.clone(),
        })
    }

    fn protocol(&self, answers: &Answers) -> Protocol {
        let (answer, depends) = protocol_word(answers.answer(Aspect::Protocol));
        // The same in words, of several operations any of which may come last, is one error.
        let mut told = SortedSet::new();
        let mut errors = Vec::new();
        for Broken { set, of } in &answers.broken {
            let is_news = |(key, example): &(&Key, &protocol::Example)| {
                !key.kind.is_of_the_whole_life() || told.insert((key.location, key.kind, example.misuse.clone()))
            };
            let found = set.errors.iter().filter(|(key, _)| key.kind.is_error()).filter(is_news);
            errors.extend(found.filter_map(|(key, example)| self.error(of, key, example)));
        }
        Protocol { answer, errors, depends }
    }

    fn error(&self, unfolding: &Unfolding, key: &Key, example: &protocol::Example) -> Option<ProtocolError> {
        let event = unfolding.events.get(example.event.index())?;
        let location = unfolding.locations.get(key.location.index())?;
        Some(ProtocolError {
            kind: key.kind.name().to_owned(),
            mbarrier: location.name.to_string(),
            message: String::new(),
            reason: example.misuse.clone(),
            section: key.kind.section().to_owned(),
            access: access(self.test, unfolding, event, key.span),
            timeline: timeline(self.test, unfolding, &example.execution, key.location, example.event),
        })
    }
}

/// Who makes an access, and where.
pub fn access(test: &Test, unfolding: &Unfolding, event: &unfolding::Event, span: Span) -> Access {
    let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
    let position = test.source.position(span.start);
    Access {
        thread: thread.map_or("init".to_owned(), |thread| thread.name.to_string()),
        start: span.start,
        end: span.end,
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
    sorted.shared_sort_by_key(|found| found.span);
    let mut forms: Vec<Form> = Vec::new();
    for found in sorted {
        let position = source.position(found.span.start);
        let place =
            Place { start: found.span.start, end: found.span.end, line: position.line, column: position.column };
        match forms.iter_mut().find(|form| form.what == found.what) {
            Some(form) if form.places.contains(&place) => {}
            Some(form) => form.places.push(place),
            None => forms.push(Form { what: found.what.clone(), places: vec![place] }),
        }
    }
    forms
}
