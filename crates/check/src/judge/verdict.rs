//! Verdicts: what the answers to its questions make of a test.

use fencepost_report::answer::Answer;
use fencepost_report::verdict::Verdict;
use fencepost_report::why::Why;
use fencepost_syntax::litmus::QuestionKind;

use crate::judge::found::{Answers, Aspect};
use crate::judge::question::verdict_of;
use crate::test::Test;

/// The verdict of a question, given whether what it looks for is possible.
pub fn of_question(kind: QuestionKind, answer: &Answer) -> Verdict {
    match answer {
        Answer::Yes(()) => verdict_of(kind, true),
        Answer::No => verdict_of(kind, false),
        Answer::Depends(on) => Verdict::Depends(on.clone()),
        Answer::Unknown(why) => Verdict::Unknown(why.clone()),
        Answer::NotAsked | Answer::NotDefined => {
            Verdict::Unknown(Why::Internal("a question was not answered".to_owned()))
        }
    }
}

/// What a test promises: its questions that can be broken, and those about crashes and about recovery.
fn promises(test: &Test, answers: &Answers) -> Vec<(QuestionKind, Aspect)> {
    let (program, crash) = (&test.program, &test.program.crash);
    let questions = program.questions.iter().take(answers.findings.len()).enumerate();
    let enforced = questions.filter(|(_, question)| question.kind != QuestionKind::Check);
    let mut promises: Vec<_> = enforced.map(|(at, question)| (question.kind, Aspect::Question(at))).collect();
    let Some(found) = &answers.crash else { return promises };
    let questions = crash.questions.iter().take(found.findings.len()).enumerate();
    promises.extend(questions.map(|(at, question)| (question.kind, Aspect::Crash(at))));
    if let (Some(recovery), Some(found)) = (&crash.recovery, &found.recovery) {
        let questions = recovery.program.questions.iter().take(found.findings.len()).enumerate();
        promises.extend(questions.map(|(at, question)| (question.kind, Aspect::Recovery(at))));
    }
    promises
}

/// The worst of the questions that can be broken. A recovery program that does not end has recovered nothing.
pub fn of_test(test: &Test, answers: &Answers) -> Verdict {
    let promises = promises(test, answers).into_iter().map(|(kind, aspect)| (kind, answers.answer(aspect)));
    let recovery = answers.crash.as_ref().and_then(|crash| crash.recovery.as_ref());
    let recovered = recovery.map(|found| (QuestionKind::NotExists, found.hang.plain()));
    let verdicts: Vec<Verdict> = promises.chain(recovered).map(|(kind, answer)| of_question(kind, &answer)).collect();
    // A test that asks nothing asks for everything: its executions, races and hangs.
    let stopped = answers.stopped.as_ref().filter(|_| test.program.questions.is_empty());
    match (Verdict::worst(&verdicts), answers.refused.as_ref().or(stopped)) {
        // A test that asks nothing still has not been looked at.
        (Verdict::Holds, Some(why)) => Verdict::Unknown(why.clone()),
        (verdict, _) => verdict,
    }
}
