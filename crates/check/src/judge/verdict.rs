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

/// Those of the questions about crashes and about recovery. A recovery program that does not end has recovered nothing.
fn of_crashes(test: &Test, answers: &Answers) -> Vec<Verdict> {
    let crash = &test.program.crash;
    let Some(found) = &answers.crash else { return Vec::new() };
    let questions = crash.questions.iter().take(found.findings.len()).enumerate();
    let mut verdicts: Vec<Verdict> =
        questions.map(|(at, question)| of_question(question.kind, &answers.answer(Aspect::Crash(at)))).collect();
    if let (Some(recovery), Some(found)) = (&crash.recovery, &found.recovery) {
        let questions = recovery.program.questions.iter().take(found.findings.len()).enumerate();
        verdicts
            .extend(questions.map(|(at, question)| of_question(question.kind, &answers.answer(Aspect::Recovery(at)))));
        verdicts.push(of_question(QuestionKind::NotExists, &found.hang.plain()));
    }
    verdicts
}

/// The worst of the questions that can be broken.
pub fn of_test(test: &Test, answers: &Answers) -> Verdict {
    let questions = test.program.questions.iter().take(answers.findings.len()).enumerate();
    let enforced = questions.filter(|(_, question)| question.kind != QuestionKind::Check);
    let verdicts = enforced.map(|(at, question)| of_question(question.kind, &answers.answer(Aspect::Question(at))));
    let verdicts: Vec<Verdict> = verdicts.chain(of_crashes(test, answers)).collect();
    // A test that asks nothing asks for everything: its executions, races and hangs.
    let stopped = answers.stopped.as_ref().filter(|_| test.program.questions.is_empty());
    match (Verdict::worst(&verdicts), answers.refused.as_ref().or(stopped)) {
        // A test that asks nothing still has not been looked at.
        (Verdict::Holds, Some(why)) => Verdict::Unknown(why.clone()),
        (verdict, _) => verdict,
    }
}
