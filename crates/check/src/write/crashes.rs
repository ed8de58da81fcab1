//! What is written of crashes.

use std::sync::Arc;

use fencepost_program::program::{Program, Question, Term};
use fencepost_report::Assignment;
use fencepost_report::answer::Answer;
use fencepost_report::crash::{
    CrashAnswer, CrashState as Left, CrashWitness, Crashes, Recovery, RecoveryAnswer, RecoveryWitness,
};
use fencepost_report::verdict::Verdict;
use fencepost_syntax::litmus::QuestionKind;

use crate::judge::found::{Answers, Aspect, CrashAnswers, CrashEvidence, Crashed, Recovered};
use crate::judge::verdict;
use crate::look::crash::{CrashState, is_persist};
use crate::look::race_search;
use crate::phrase::{self, Notation};
use crate::test::Test;
use crate::write::stuck::stuck;
use crate::write::writer::{Writer, depends};

/// The answers about crashes of a test.
pub(super) fn written(test: &Test, writer: &Writer<'_>, answers: &Answers, crash: &CrashAnswers) -> Crashes {
    let own = Own { test, writer, answers, names: names(&test.program, &crash.terms) };
    let questions = test.program.crash.questions.iter().take(crash.findings.len()).enumerate();
    let state = |(state, executions): (&CrashState, &u64)| Left {
        values: own.assignment(&own.names, state),
        executions: *executions,
    };
    Crashes {
        questions: questions.map(|(at, question)| own.question(at, question, crash)).collect(),
        states: crash.states.iter().map(state).collect(),
        unlisted: 0,
        executions: crash.executions,
        cross_checked: crash.cross_checked,
        recovery: own.recovery(crash),
    }
}

/// What the terms are called.
fn names(program: &Program, terms: &[Term]) -> Vec<Arc<str>> {
    terms.iter().map(|term| phrase::term(program, term, Notation::Named).into()).collect()
}

struct Own<'a> {
    test: &'a Test,
    writer: &'a Writer<'a>,
    answers: &'a Answers,
    names: Vec<Arc<str>>,
}

impl Own<'_> {
    fn assignment(&self, names: &[Arc<str>], state: &CrashState) -> Assignment {
        let known = names.iter().zip(state).filter_map(|(name, value)| Some((name, (*value)?)));
        Assignment(known.map(|(name, value)| (Arc::clone(name), self.writer.number(value))).collect())
    }

    fn question(&self, at: usize, question: &Question, crash: &CrashAnswers) -> CrashAnswer {
        let verdict = verdict::of_question(question.kind, &self.answers.answer(Aspect::Crash(at)));
        let crashed = crash.findings.get(at).and_then(Answer::yes);
        CrashAnswer {
            kind: phrase::question_kind(question.kind).to_owned(),
            condition: phrase::condition(&self.test.program, &question.condition, Notation::Named),
            line: self.test.source.line(question.span.start),
            why: self.writer.open(&verdict),
            depends: depends(&verdict),
            verdict,
            witness: crashed.map(|crashed| self.crash(&self.names, self.writer, crashed)),
            missing: Vec::new(),
        }
    }

    fn crash(&self, names: &[Arc<str>], writer: &Writer<'_>, crashed: &Crashed) -> CrashWitness {
        let Crashed { shown, crash, state } = crashed;
        let lost = crash.happened.iter().filter(|event| is_persist(&shown.of, **event));
        CrashWitness {
            execution: writer.witness(&shown.of, &shown.execution, None),
            happened: crash.happened.iter().map(|event| event.0).collect(),
            durable: crash.durable.iter().map(|event| event.0).collect(),
            lost: lost.filter(|event| !crash.durable.contains(event)).map(|event| event.0).collect(),
            state: self.assignment(names, state),
        }
    }

    fn recovery(&self, crash: &CrashAnswers) -> Option<Recovery> {
        let program = &self.test.program.crash.recovery.as_ref()?.program;
        let found = crash.recovery.as_ref()?;
        let test = self.test.with_program((**program).clone());
        let writer = Writer { test: &test, whole: None, terms: &[], names: &[] };
        let questions = program.questions.iter().take(found.findings.len()).enumerate();
        let answer = |(at, question): (usize, &Question)| {
            let verdict = verdict::of_question(question.kind, &self.answers.answer(Aspect::Recovery(at)));
            let recovered = found.findings.get(at).and_then(Answer::yes);
            RecoveryAnswer {
                kind: phrase::question_kind(question.kind).to_owned(),
                condition: phrase::condition(program, &question.condition, Notation::Named),
                line: self.test.source.line(question.span.start),
                ..self.recovered(&writer, verdict, recovered)
            }
        };
        let verdict = verdict::of_question(QuestionKind::NotExists, &found.hang.plain());
        let span = self.test.program.crash.recovery.as_ref()?.span;
        let line = self.test.source.line(span.start);
        Some(Recovery {
            questions: questions.map(answer).collect(),
            ending: RecoveryAnswer { line, ..self.recovered(&writer, verdict, found.hang.yes()) },
            states: found.states,
        })
    }

    fn recovered(&self, writer: &Writer<'_>, verdict: Verdict, recovered: Option<&Recovered>) -> RecoveryAnswer {
        let memory: Vec<Term> = writer.test.program.persistent().map(Term::Memory).collect();
        let memory = names(&writer.test.program, &memory);
        let witness = |recovered: &Recovered| {
            let crash = |(at, crashed): (usize, &Crashed)| match at {
                0 => self.crash(&self.names, self.writer, crashed),
                _ => self.crash(&memory, writer, crashed),
            };
            let run = &recovered.run;
            RecoveryWitness {
                crashes: recovered.crashes.iter().enumerate().map(crash).collect(),
                image: self.assignment(&memory, &recovered.image),
                run: writer.witness(&run.of, &run.execution, None),
                ends: race_search::ends(&run.of, &run.execution) == fencepost_axiom::engine::Ends::Terminating,
                stuck: stuck(writer.test, &run.of, &run.execution),
            }
        };
        RecoveryAnswer {
            kind: phrase::question_kind(QuestionKind::NotExists).to_owned(),
            condition: String::new(),
            line: 0,
            why: self.writer.open(&verdict),
            depends: depends(&verdict),
            verdict,
            witness: recovered.map(witness),
            missing: Vec::new(),
        }
    }
}

/// The crashes behind the answers.
pub(super) fn evidence(answers: CrashAnswers) -> CrashEvidence {
    let crashes: Vec<Option<Crashed>> = answers.findings.into_iter().map(evident).collect();
    let recovery = answers.recovery.map_or(Vec::new(), |recovery| recovery.findings);
    let recoveries: Vec<Option<Recovered>> = recovery.into_iter().map(evident).collect();
    let of_recoveries = recoveries.iter().flatten().filter_map(|recovered| recovered.crashes.first());
    let any = crashes.iter().flatten().chain(of_recoveries).next();
    let any = any.map(|crashed| (*crashed.shown.execution).clone());
    CrashEvidence { terms: answers.terms, crashes, recoveries, any }
}

fn evident<E>(answer: Answer<E>) -> Option<E> {
    match answer {
        Answer::Yes(evidence) => Some(evidence),
        _ => None,
    }
}
