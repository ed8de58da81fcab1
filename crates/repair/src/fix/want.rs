//! What a repaired test is to do: which questions must find nothing and which must find something.

use fencepost_check::judge::found::{Answers, Aspect};
use fencepost_check::model::load::Models;
use fencepost_check::options::{CrossCheck, Options, Outcomes, Wanted};
use fencepost_check::phrase::{self, Notation};
use fencepost_check::test::Test;
use fencepost_report::answer::Answer;
use fencepost_report::fix::{Because, FixWant};
use fencepost_syntax::litmus::QuestionKind;

/// What is wanted of one question.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Want {
    pub aspect: Aspect,
    /// Whether what it looks for is to be possible.
    pub possible: bool,
    pub because: Because,
}

impl Want {
    pub(crate) fn told(&self, test: &Test) -> FixWant {
        let crash = &test.program.crash;
        let (program, prefix, question) = match self.aspect {
            Aspect::Crash(at) => (&test.program, "crash ", crash.questions.get(at)),
            Aspect::Recovery(at) => {
                let program = crash.recovery.as_ref().map_or(&test.program, |recovery| &*recovery.program);
                (program, "recover ", program.questions.get(at))
            }
            Aspect::Question(at) => (&test.program, "", test.program.questions.get(at)),
            Aspect::Races | Aspect::Protocol | Aspect::Termination => (&test.program, "", None),
        };
        let text = question.map_or_else(String::new, |question| {
            let condition = phrase::condition(program, &question.condition, Notation::Named);
            format!("{prefix}{} ({condition})", phrase::question_kind(question.kind))
        });
        let line = question.map_or(0, |question| test.source.line(question.span.start));
        FixWant { question: text, line, possible: self.possible, because: self.because }
    }
}

/// What somebody has said of an `exists`: None where nobody has.
pub type Said<'s> = &'s dyn Fn(usize) -> Option<(bool, Because)>;

/// The wants of a test. Questions that only report (`check`), and an `exists` of which nothing is known, have none.
pub(super) fn wants(test: &Test, options: &Options, said: Said<'_>) -> Vec<Want> {
    let mut sequential: Option<Option<Answers>> = None;
    let mut wants = Vec::new();
    for (at, question) in test.program.questions.iter().enumerate() {
        let aspect = Aspect::Question(at);
        let want = match question.kind {
            QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists => Some((false, Because::Question)),
            QuestionKind::Check => None,
            QuestionKind::Exists | QuestionKind::Permit => said(at).or_else(|| {
                let found = sequential.get_or_insert_with(|| under_sc(test, options));
                match found.as_ref()?.answer(aspect) {
                    Answer::Yes(()) => Some((true, Because::SequentialConsistency)),
                    Answer::No => Some((false, Because::SequentialConsistency)),
                    _ => None,
                }
            }),
        };
        wants.extend(want.map(|(possible, because)| Want { aspect, possible, because }));
    }
    let promised = |kind: QuestionKind| match kind {
        QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists => Some(false),
        QuestionKind::Exists | QuestionKind::Permit => Some(true),
        QuestionKind::Check => None,
    };
    let crash = test.program.crash.questions.iter().enumerate();
    let crash = crash.map(|(at, question)| (Aspect::Crash(at), question.kind));
    let recovery = test.program.crash.recovery.as_ref().map(|recovery| &recovery.program.questions);
    let recovery = recovery.into_iter().flatten().enumerate();
    let recovery = recovery.map(|(at, question)| (Aspect::Recovery(at), question.kind));
    for (aspect, kind) in crash.chain(recovery) {
        wants.extend(promised(kind).map(|possible| Want { aspect, possible, because: Because::Question }));
    }
    wants
}

/// What interleavings alone can do.
fn under_sc(test: &Test, options: &Options) -> Option<Answers> {
    let sc = Models::shipped("sc")?;
    let options = Options {
        outcomes: Outcomes::Skip,
        races: Wanted::No,
        termination: Wanted::No,
        cross_check: CrossCheck::Off,
        readings: Default::default(),
        ..options.clone()
    };
    Some(fencepost_check::judge::layers::answers_as_read(test, &sc, &options))
}
