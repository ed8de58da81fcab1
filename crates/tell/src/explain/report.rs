//! The explanation of a whole report: one part per question, then races and what never ends.

use std::time::{Duration, Instant};

use fencepost_axiom::engine::{Ends, Goal, Limits};
use fencepost_check::judge::found::{Checked, Crashed};
use fencepost_check::model::load::LoadedModel;
use fencepost_check::test::Test;
use fencepost_program::program::{Condition, Question};
use fencepost_program::unfolding::Unfolding;
use fencepost_repair::is_for;
use fencepost_report::crash::CrashAnswer;
use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::{Dependence, Verdict};
use fencepost_report::{Cause, Diagnosis, Report};
use fencepost_syntax::litmus::QuestionKind;

use super::crash;
use super::forbidden::{Search, Subject, forbidden, never_ends};
use super::race::diagnosed;
use super::{Context, Example, Explanation, Line, Rejected, allowed, race, stuck};
use crate::rounds::NO_LOOPS;

/// Candidates looked at for an unreachable outcome: enough for a test of litmus size, soon done for a large one.
const CANDIDATES: u64 = 512;
const SHOWN: u32 = 3;
/// A safety net only: the number of candidates is what limits the search, so that the text does not depend on the machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// An explanation, and which answer of the report it explains.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Part {
    pub about: About,
    /// Which question or pair of racing accesses, counted from 0 as in the report.
    pub index: u32,
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The paragraph of the report says all of it too.
    #[serde(skip)]
    is_told: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    Question,
    Crash,
    Race,
    Termination,
}

/// The text under a report for `--explain`.
pub fn explain(test: &Test, model: &LoadedModel, checked: &Checked) -> String {
    let parts = explain_parts(test, model, checked);
    let told = parts.iter().filter(|part| !part.is_told);
    told.map(|part| part.explanation.to_text()).collect::<Vec<_>>().join("\n")
}

/// What there is to explain: each question that was answered, each race, an execution that never ends.
pub fn explain_parts(test: &Test, model: &LoadedModel, checked: &Checked) -> Vec<Part> {
    let Some(unfolding) = &checked.evidence.unfolding else { return Vec::new() };
    let model = checked.model.as_deref().unwrap_or(model);
    let test = checked.test.as_deref().unwrap_or(test);
    let text = |span| test.instruction_text(span);
    let context = context(test, model, unfolding, &text);
    let report = &checked.report;
    let under = |explanation: Explanation, depends: Option<&Dependence>| {
        let readings = depends.map_or(&[][..], |depends| &depends.readings);
        match told_under(report, readings) {
            Some(label) => explanation.under(&label),
            None => explanation,
        }
    };
    let mut parts: Vec<Part> = Vec::new();
    for (index, question) in test.program.questions.iter().enumerate() {
        let depends = report.questions.get(index).and_then(|answer| answer.depends.as_ref());
        let explanation = explain_question(&context, checked, index, question);
        let explanation = explanation.map(|explanation| under(explanation, depends));
        let part = |explanation| Part { about: About::Question, index: index as u32, explanation, is_told: false };
        parts.extend(explanation.map(part));
    }
    parts.extend(explain_crashes(&context, checked, &under));
    let races = checked.report.races.pairs.iter().zip(&checked.evidence.races);
    let accesses = checked.evidence.accesses.as_ref().unwrap_or(unfolding);
    let racing = Context { unfolding: accesses, ..context };
    parts.extend((0..).zip(races).map(|(index, (found, (pair, execution)))| {
        let example = Example { flag: &found.flag, kind: found.kind, execution, pair: *pair };
        let (explanation, is_told) = match &found.diagnosis {
            // Under an older model the reason is in its own words, beside what the whole one finds missing.
            Some(diagnosis) if is_for(model) => diagnosed(&racing, &example, diagnosis),
            _ => (race(&racing, &example), false),
        };
        let explanation = under(explanation, report.races.depends.as_ref().filter(|_| found.contested));
        Part { about: About::Race, index, explanation, is_told }
    }));
    parts.extend(checked.evidence.stuck.iter().map(|execution| {
        let mut explanation = stuck(&context, execution);
        if checked.report.termination.never_ends {
            explanation.summary = "No execution ends, even if every thread gets its turn; in this one:".to_owned();
        }
        explanation.lines.extend(lacking(&context, report));
        let explanation = under(explanation, report.termination.depends.as_ref());
        Part { about: About::Termination, index: 0, explanation, is_told: false }
    }));
    parts
}

/// Each question about crashes that was answered.
fn explain_crashes(
    context: &Context<'_>,
    checked: &Checked,
    under: &dyn Fn(Explanation, Option<&Dependence>) -> Explanation,
) -> Vec<Part> {
    let (Some(report), Some(evidence)) = (&checked.report.crashes, &checked.evidence.crash) else { return Vec::new() };
    let questions = context.program.crash.questions.iter().zip(&report.questions).zip(&evidence.crashes);
    let part = |(index, ((question, answer), crashed)): (u32, ((&Question, &CrashAnswer), &Option<Crashed>))| {
        let explanation = match (crashed, &answer.witness) {
            (Some(crashed), Some(witness)) => {
                let context = Context { unfolding: &crashed.shown.of, ..*context };
                crash::story(&context, crashed, &witness.state.to_string(), &answer.missing)
            }
            _ if !matches!(answer.verdict, Verdict::Holds | Verdict::Violated) => return None,
            _ => crash::impossible(context, &question.condition)?,
        };
        let explanation = under(explanation, answer.depends.as_ref());
        Some(Part { about: About::Crash, index, explanation, is_told: false })
    };
    (0..).zip(questions).filter_map(part).collect()
}

/// What a wait that never ends lacks, where no race has said so already.
fn lacking(context: &Context<'_>, report: &Report) -> Vec<Line> {
    if report.termination.cause.is_empty() {
        return Vec::new();
    }
    let line = |text: String, section: Option<String>| Line { text, section, ..Line::default() };
    if report.is_told_of_a_race(&report.termination.missing) {
        return vec![line(
            "missing: the repair of the race, with which every fair execution ends too".to_owned(),
            None,
        )];
    }
    let mut lines = vec![line(report.termination.cause.clone(), None)];
    for missing in &report.termination.missing {
        lines.push(line(format!("missing: {}", missing.text), context.section(&missing.section)));
    }
    if !report.termination.missing.is_empty() {
        lines.push(line("with it every fair execution ends: the changed test was checked".to_owned(), None));
    }
    lines
}

/// What an outcome comes from that must not be, and what rules it out.
fn ruled_out(context: &Context<'_>, cause: &Cause) -> Vec<Line> {
    let Diagnosis { why, missing, confirmed, .. } = &cause.diagnosis;
    let line = |text: String, section: Option<String>| Line { text, section, ..Line::default() };
    let word = if *confirmed { "missing" } else { "probably missing" };
    let mut lines = vec![line(why.clone(), None)];
    lines.extend(missing.iter().map(|it| line(format!("{word}: {}", it.text), context.section(&it.section))));
    if *confirmed {
        let with = if missing.len() == 1 { "it" } else { "these" };
        lines.push(line(format!("with {with} no execution ends so: the changed test was checked"), None));
    }
    lines
}

/// The candidate with the shortest reason against it, of the first question that has one.
pub(crate) fn closest(test: &Test, model: &LoadedModel, checked: &Checked) -> Option<Rejected> {
    let unfolding = checked.evidence.unfolding.as_ref()?;
    let model = checked.model.as_deref().unwrap_or(model);
    let test = checked.test.as_deref().unwrap_or(test);
    let text = |span| test.instruction_text(span);
    let context = context(test, model, unfolding, &text);
    let questions = test.program.questions.iter().enumerate();
    questions
        .filter_map(|(index, question)| explain_question(&context, checked, index, question))
        .find_map(|explanation| explanation.rejected.into_iter().next())
}

fn context<'a>(
    test: &'a Test,
    model: &'a LoadedModel,
    unfolding: &'a Unfolding,
    text: &'a dyn Fn(fencepost_syntax::Span) -> String,
) -> Context<'a> {
    let vocabulary = &model.vocabulary;
    let (program, source, rounds) = (&test.program, &test.source, &NO_LOOPS);
    Context { unfolding, program, model: &model.model, source, vocabulary, text, rounds }
}

/// The model with those readings that were chosen, and these, which the answer depends on: `ptx, async-fence=both`.
/// None where there is nothing to choose.
pub(crate) fn told_under(report: &Report, readings: &[String]) -> Option<String> {
    let told = report.readings.iter().filter(|used| used.chosen || readings.contains(&used.name));
    let told: Vec<String> = told.map(|used| format!("{}={}", used.name, used.value)).collect();
    (!told.is_empty()).then(|| format!("{}, {}", report.model, told.join(", ")))
}

/// What makes the behaviour undefined.
fn cause(checked: &Checked) -> &'static str {
    let kinds = checked.report.undefined.as_ref().map_or(&[][..], |undefined| &undefined.kinds);
    let all = |is: fn(FindingKind) -> bool| kinds.iter().copied().all(is);
    match () {
        () if all(|kind| kind == FindingKind::WgmmaRegisterInFlight) => "register that is used too early",
        () if all(FindingKind::is_of_registers) => "missing fence of registers",
        () if all(FindingKind::is_of_tensor_memory) => "misuse of tensor memory",
        () if all(|kind| kind == FindingKind::OutsideWindow) => "access outside the window of its CTA",
        () if all(FindingKind::is_of_one_thread) => "misuse of the cluster's barrier, of launches or of registers",
        () => "race",
    }
}

/// No execution shows it, and no rule forbids it.
fn undefined(kind: QuestionKind, cause: &str) -> Explanation {
    let outcome = match kind {
        QuestionKind::Forall | QuestionKind::Assert => "An outcome that breaks the condition",
        _ => "This outcome",
    };
    let summary = format!(
        "{outcome} is possible: the {cause} below makes the behaviour undefined, and then everything is. No execution of the \
         model shows it."
    );
    Explanation { summary, lines: Vec::new(), rejected: Vec::new(), remark: None }
}

fn explain_question(
    context: &Context<'_>,
    checked: &Checked,
    index: usize,
    question: &Question,
) -> Option<Explanation> {
    let condition = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Condition::Not(Box::new(question.condition.clone())),
        _ => question.condition.clone(),
    };
    if let Some(execution) = checked.evidence.witnesses.get(index)?.as_ref() {
        let mut told = allowed(context, execution, Some(&condition));
        let wrong = checked.report.questions.get(index).and_then(|answer| answer.cause.as_deref());
        told.lines.extend(wrong.map_or(Vec::new(), |wrong| ruled_out(context, wrong)));
        if checked.report.undefined.is_some() {
            let cause = cause(checked);
            told.remark =
                Some(format!("Other outcomes are possible too: the {cause} below makes the behaviour undefined."));
        }
        return Some(told);
    }
    let answer = checked.report.questions.get(index)?;
    if answer.undefined {
        return Some(undefined(question.kind, cause(checked)));
    }
    if !matches!(answer.verdict, Verdict::Holds | Verdict::Violated) {
        return None;
    }
    let subject = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Subject::OutsideCondition,
        _ => Subject::Condition,
    };
    if checked.report.termination.never_ends {
        return Some(never_ends(subject));
    }
    let ends = checked.report.executions.is_some_and(|count| count.count > 0);
    if ends && question.condition.terms().is_empty() {
        // `forall (true)` asks nothing.
        return None;
    }
    let filter = context.program.filter.as_ref().map(|filter| &filter.node);
    let goal = Goal { filter, condition: Some(&condition), ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: Instant::now().checked_add(PATIENCE), memory: None, cancelled: None, work: None };
    Some(forbidden(context, &goal, &Search { limits, candidates: CANDIDATES, shown: SHOWN, subject }))
}
