//! `fencepost fix`: the cheapest change with which a test is right.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fencepost_check::expect::expectation::{self, Expectations};
use fencepost_check::options::Wanted;
use fencepost_check::phrase;
use fencepost_check::{Budget, LoadedModel, Options, Test};
use fencepost_repair::fix;
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::fix::{Because, FixAnswer, FixReport, Fixed, Fixing};
use fencepost_syntax::Span;
use fencepost_syntax::limits as syntax_limits;
use fencepost_syntax::litmus::{Arch, QuestionKind};
use fencepost_tell::explain::{About, Part, explain_parts};
use fencepost_tell::output::Status;
use fencepost_tell::output::fix as output;

use super::check::{choice, collect, limits};
use super::file::{Choice, default_model};
use super::library::Library;
use super::readings;
use crate::cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{Input, read_regular, shown};
use crate::memory;
use crate::replace;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

/// Work for showing what is wrong, where no time is given.
const MOST_WORK: u64 = 2_500_000;

pub(crate) fn run(options: &cli::Fix) -> Exit {
    let asked =
        Asked { limits: &options.limits, model: options.model.as_ref(), reading: &options.reading, patience: None };
    let begun = match begin(&asked, options.costs.as_deref()) {
        Ok(begun) => begun,
        Err(exit) => return exit,
    };
    let mut exit = Exit::default();
    for input in &collect(&options.paths, &mut exit) {
        file(input, options, (&begun.checking, &begun.costs), (&begun.chosen, &begun.library), &mut exit);
    }
    exit
}

/// What `fix` and `slim` are asked alike.
pub(super) struct Asked<'a> {
    pub(super) limits: &'a cli::Limits,
    pub(super) model: Option<&'a String>,
    pub(super) reading: &'a [String],
    /// How long a test has unless somebody says otherwise.
    pub(super) patience: Option<Duration>,
}

/// What both start with.
pub(super) struct Begun {
    pub(super) checking: Options,
    pub(super) costs: Costs,
    pub(super) chosen: Choice,
    pub(super) library: Library,
}

pub(super) fn begin(asked: &Asked<'_>, costs: Option<&Path>) -> Result<Begun, Exit> {
    memory::choose(asked.limits.memory_limit);
    let library = Library::within(asked.limits.time_limit);
    let names: Vec<String> = asked.model.into_iter().cloned().collect();
    let chosen = choice(&names, false, &library)?;
    let readings = readings::chosen(asked.reading, &chosen)?;
    let costs = self::costs(costs).ok_or(Exit::BAD_INPUT)?;
    cancel_on_interrupt();
    let time = asked.limits.time_limit.or(asked.patience);
    let budget = Budget::new(time, asked.limits.memory_limit).cancelled_by(CANCELLED.clone());
    let checking = Options { readings, budget, ..limits(asked.limits) };
    Ok(Begun { checking, costs, chosen, library })
}

/// The shipped costs, or those with the rows of a file.
fn costs(path: Option<&Path>) -> Option<Costs> {
    let Some(path) = path else { return Some(Costs::default()) };
    let text = match read_regular(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
        Ok(text) => text,
        Err(error) => {
            terminal::complain(&format!("cannot read `{}`: {error}", path.display()));
            return None;
        }
    };
    match Costs::with(&text) {
        Ok(costs) => Some(costs),
        Err(bad) => {
            terminal::complain(&format!("`{}` line {}: {}", path.display(), bad.line, bad.what));
            None
        }
    }
}

fn file(
    input: &Input,
    options: &cli::Fix,
    (checking, costs): (&Options, &Costs),
    (chosen, library): (&Choice, &Library),
    exit: &mut Exit,
) {
    let Some(tests) = tests(input, "fix", options.write, exit) else { return };
    beyond(&tests, &options.keep_lines);
    let expected = expectations(input);
    for test in &tests {
        let Some(model) = model(test, checking, (chosen, library)) else { continue };
        let fixed = one(test, &model, options, (checking, costs), &expected);
        show(&fixed, test, input, options, exit);
        if fixed.report.answer == FixAnswer::NoRepair && !options.json {
            terminal::out(&bad_execution(test, &model, checking, &fixed.report).unwrap_or_default());
        }
    }
}

/// An execution of a test that no change repairs, with what is wrong in it.
fn bad_execution(test: &Test, model: &LoadedModel, checking: &Options, fixed: &FixReport) -> Option<String> {
    let _entered = checking.budget.time().is_none().then(|| syntax_limits::enter_work(MOST_WORK));
    let options = Options { advice: Wanted::No, fingerprint: Wanted::No, ..checking.clone() };
    let checked = fencepost_check::check(test, model, &options);
    let is_bad = |part: &Part| match part.about {
        About::Question => {
            let answer = checked.report.questions.get(part.index as usize);
            let is_unwanted = |line: u32| fixed.wants.iter().any(|want| want.line == line && !want.possible);
            answer.is_some_and(|answer| answer.witness.is_some() && is_unwanted(answer.line))
        }
        About::Race | About::Termination => true,
        About::Crash => false,
    };
    let parts = explain_parts(test, model, &checked);
    parts.iter().find(|part| is_bad(part)).map(|part| part.explanation.to_text())
}

/// The tests of a file that `command` may change.
pub(super) fn tests(input: &Input, command: &str, write: bool, exit: &mut Exit) -> Option<Vec<Test>> {
    let source = match input.read() {
        Ok(source) => source,
        Err(problem) => {
            terminal::complain(&problem.0);
            exit.bad_input();
            return None;
        }
    };
    let (mut tests, diagnostics) = fencepost_check::load(&source);
    terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
    let is_broken = diagnostics.iter().any(fencepost_syntax::Diagnostic::is_error);
    if tests.is_empty() || is_broken {
        // A test with an error is left out, and its errors are printed.
        if !is_broken {
            terminal::complain(&format!("`{}` holds no test", source.name));
        }
        exit.bad_input();
        return None;
    }
    if write && matches!(input, Input::Stdin) {
        terminal::complain("standard input cannot be written: `--diff` shows the changes");
        exit.bad_input();
        return None;
    }
    if write && tests.len() > 1 {
        terminal::complain(&format!("`{}` holds several tests: `--write` changes files of one", source.name));
        exit.bad_input();
        return None;
    }
    tests.retain(|test| {
        let is_c = test.litmus.threads.iter().all(|thread| thread.arch == Arch::C);
        if is_c {
            let name = test.name();
            terminal::complain(&format!("`{name}` is written in C, and `{command}` changes PTX and x86 instructions"));
            exit.bad_input();
        }
        !is_c
    });
    Some(tests)
}

/// Whether a line may not be changed (`--keep-lines`).
pub(super) fn is_kept(test: &Test, span: Span, lines: &[(u32, u32)]) -> bool {
    let line = test.source.line(span.start);
    lines.iter().any(|(first, last)| (*first..=*last).contains(&line))
}

/// Says which of the lines to keep are not there: of several files they may be meant for another.
pub(super) fn beyond(tests: &[Test], lines: &[(u32, u32)]) {
    let Some(test) = tests.first() else { return };
    let (name, count) = (&test.source.name, test.source.text.lines().count());
    for (first, _) in lines.iter().filter(|(first, _)| *first as usize > count) {
        terminal::note(&format!(
            "--keep-lines: `{name}` has no line {first}; it has {}",
            phrase::count(count as u64, "line")
        ));
    }
}

/// The model that a test is looked at under.
pub(super) fn model(
    test: &Test,
    checking: &Options,
    (chosen, library): (&Choice, &Library),
) -> Option<Arc<LoadedModel>> {
    match chosen {
        Choice::These(models) => models.first().cloned(),
        _ => library.get(default_model(test, &checking.readings)).ok(),
    }
}

fn expectations(input: &Input) -> Expectations {
    let text = input.expectation_path().and_then(|path| read_regular(&path).ok());
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(Expectations::default, |text| expectation::parse(&text).0)
}

fn one(
    test: &Test,
    model: &Arc<LoadedModel>,
    options: &cli::Fix,
    (checking, costs): (&Options, &Costs),
    expected: &Expectations,
) -> Fixed {
    let line = expected.lines.iter().find(|line| line.model == model.name && line.row == test.row);
    let is_one = test.program.questions.len() == 1;
    let said = |at: usize| {
        let question = test.program.questions.get(at)?;
        if !matches!(question.kind, QuestionKind::Exists | QuestionKind::Permit) {
            return None;
        }
        if options.forbid || options.keep {
            return Some((options.keep, Because::Asked));
        }
        match line.filter(|_| is_one)?.verdict.as_str() {
            "Holds" => Some((true, Because::Expected)),
            "Violated" => Some((false, Because::Expected)),
            _ => None,
        }
    };
    let kept = |span: Span| is_kept(test, span, &options.keep_lines);
    fix(test, model, &Fixing { options: checking, costs, said: &said, is_kept: &kept })
}

fn show(fixed: &Fixed, test: &Test, input: &Input, options: &cli::Fix, exit: &mut Exit) {
    let mut report = fixed.report.clone();
    output::put_into_words(&mut report);
    exit.status(match report.answer {
        FixAnswer::Repaired if report.why.is_some() => Status::Unknown,
        FixAnswer::Repaired if !report.left.is_empty() => Status::Bad,
        FixAnswer::Right | FixAnswer::Repaired => Status::Good,
        FixAnswer::NoRepair => Status::Bad,
        FixAnswer::Undecided => Status::Unknown,
    });
    if options.json {
        terminal::out_json(&output::json(&report));
    } else if !options.diff {
        terminal::out(&output::text(&report));
    }
    let Some(text) = &fixed.text else {
        if report.answer == FixAnswer::Repaired {
            exit.status(unwritten(options.write));
        }
        return;
    };
    if options.diff {
        terminal::out(&output::diff(&test.source.name, &test.source.text, text));
    }
    let is_confirmed =
        report.repair.is_some_and(|repair| repair.second_engine.is_none() && repair.more_rounds.is_none());
    if let (true, Input::File(path)) = (options.write, input) {
        write(path, text, ("repair is", is_confirmed), exit);
    }
}

/// What cannot be written although it was to be is for somebody to look at.
pub(super) fn unwritten(write: bool) -> Status {
    if write { Status::Unknown } else { Status::Good }
}

/// Writes what is confirmed. What is not leaves the file as it was, and is for somebody to look at.
pub(super) fn write(path: &Path, text: &str, (what, is_confirmed): (&str, bool), exit: &mut Exit) {
    if is_confirmed {
        if replace::replace(path, text, exit) {
            terminal::note(&format!("`{}` is written", shown(path)));
        }
        return;
    }
    let path = path.display();
    terminal::complain(&format!("`{path}` is not written: the {what} not confirmed (`--diff` shows what would be)"));
    exit.status(Status::Unknown);
}
