//! What keeps a test from being checked or run at all, and the answers that it has then.

use fencepost_machine::requests::Architecture;
use fencepost_program::program::{Feature, LocationRole, Program};
use fencepost_program::unfold::UnfoldError;
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::sorted::SortedSet;

use crate::judge::found::{Answers, CrashAnswers, RecoveryAnswers};
use crate::model::load::LoadedModel;
use crate::model::purpose::Purpose;
use crate::options::Options;
use crate::test::Test;

/// An instruction without a meaning.
pub(crate) fn without_meaning(program: &Program) -> Option<Why> {
    let first = program.unsupported.iter().min_by_key(|found| found.span)?;
    let forms: SortedSet<&str> = program.unsupported.iter().map(|found| found.what.as_str()).collect();
    let more = forms.len() as u64 - 1;
    let more = if more == 0 { String::new() } else { format!(" and {}", crate::phrase::count(more, "more form")) };
    Some(Why::Unsupported { span: first.span, what: format!("{}{more}", first.what) })
}

/// What keeps this test from being checked at all: an instruction without a meaning, or a feature the model does not know.
pub fn refusal(test: &Test, model: &LoadedModel) -> Option<Why> {
    refusal_of(test, &test.program, model)
}

/// The same of the test with another program.
pub fn refusal_of(test: &Test, program: &Program, model: &LoadedModel) -> Option<Why> {
    if let Some(why) = without_meaning(program) {
        return Some(why);
    }
    let interleaves = model.vocabulary.purposes.contains(&Purpose::Interleaving);
    if let Some(architecture) = test.architecture.filter(|it| *it != Architecture::Sc || !interleaves) {
        let what = format!("axioms of {0} (`fencepost machine lost-pop --arch {0}` runs it)", architecture.name());
        return Some(Why::Unsupported { span: test.litmus.span(), what });
    }
    if !model.is_about(program.arch) {
        let what = format!("the model {} is not about {} programs", model.name, crate::phrase::arch(program.arch));
        return Some(Why::Unsupported { span: test.litmus.span(), what });
    }
    let unknown = program.features.iter().find(|feature| !model.knows(feature.node))?;
    let what = match unknown.node {
        Feature::Cluster => "clusters",
        Feature::Proxy => "proxies and aliases",
        Feature::Async => "asynchronous operations, mbarriers and the fences that came with them",
        Feature::Launch => "several kernels",
        Feature::Span => "vectors and accesses of different sizes",
        Feature::Mixed => "threads of several architectures",
        Feature::Multimem => "multimem operations",
        Feature::Persistence => "persistent memory",
    };
    let what = format!("the model {} has no rules for {what}", model.name);
    Some(Why::Unsupported { span: unknown.span, what })
}

pub(crate) fn not_unfolded(test: &Test, error: &UnfoldError) -> Why {
    let is_limit = matches!(
        error,
        UnfoldError::ExpressionTooLarge { .. }
            | UnfoldError::TooManyEvents { .. }
            | UnfoldError::TooManyTraces { .. }
            | UnfoldError::TooManySteps { .. }
    );
    if let UnfoldError::Limit(ended) = error {
        return (*ended).into();
    }
    match error.span() {
        Some(span) if !is_limit => Why::Unsupported { span, what: error.to_string() },
        span => {
            let line = span.map(|span| test.source.position(span.start).line);
            Why::Size(Undecided::Unrolling { what: error.to_string(), line })
        }
    }
}

/// Every answer is unknown for the same reason.
pub fn refused(test: &Test, model: &LoadedModel, options: &Options, why: Why) -> Answers {
    let findings = test.program.questions.iter().map(|_| Answer::Unknown(why.clone())).collect();
    let mut answers = Answers::new(findings);
    if options.termination.is_yes() {
        answers.hang = Answer::Unknown(why.clone());
    }
    if options.races.is_yes() {
        let is_open = model.flags().declare_races();
        answers.race = if is_open { Answer::Unknown(Why::Size(Undecided::Races)) } else { Answer::NotDefined };
        if test.program.locations.iter().any(|location| location.role == LocationRole::Mbarrier) {
            answers.protocol = Answer::Unknown(why.clone());
        }
    }
    if test.program.asks_of_crashes() {
        let open = |_| Answer::Unknown(why.clone());
        let crash = &test.program.crash;
        let findings = crash.questions.iter().map(|_| Answer::Unknown(why.clone())).collect();
        let recovery = crash.recovery.as_ref().map(|recovery| RecoveryAnswers {
            findings: recovery.program.questions.iter().map(open).collect(),
            hang: Answer::Unknown(why.clone()),
            states: 0,
        });
        answers.crash = Some(CrashAnswers { findings, recovery, ..CrashAnswers::default() });
    }
    answers.refused = Some(why);
    answers
}
