//! The checks of one file: read, parse, find out what is expected, check under each model, compare.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fencepost_check::expect::expectation::{self, Comparison, Expectations};
use fencepost_check::expect::requirement::Requirement;
use fencepost_check::model::purpose::Purpose;
use fencepost_check::model::readings::Settings;
use fencepost_check::options::Wanted;
use fencepost_check::{Checked, LoadedModel, Models, Options, Test, Why};
use fencepost_syntax::limits::{self, Ended};
use fencepost_syntax::{Diagnostic, Source};
use fencepost_tell::output::Row;
use fencepost_tell::words;

use super::library::Library;
use crate::diagnostics;
use crate::inputs::{Input, read_regular, reason, shown};
use crate::signals::CANCELLED;
use crate::terminal;

/// Which models a test is checked under.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Those of the expectations beside the test, else the default of its architecture.
    Expected,
    /// Those of the expectations beside the test, else all of its architecture.
    ExpectedOrAll,
    /// Every shipped model of its architecture.
    All,
    These(Vec<Arc<LoadedModel>>),
}

/// Whether what is missing is shown: it is looked for only then.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    NotShown,
    /// If the file is one check.
    ShownOfOne,
    Shown,
}

impl Advice {
    fn wanted(self, checks: usize) -> Wanted {
        match self {
            Advice::Shown => Wanted::Yes,
            Advice::ShownOfOne if checks == 1 => Wanted::Yes,
            Advice::ShownOfOne | Advice::NotShown => Wanted::No,
        }
    }
}

/// One test under one model.
pub(crate) struct Result {
    pub(crate) test: usize,
    pub(crate) model: Arc<LoadedModel>,
    pub(crate) checked: Checked,
    pub(crate) comparison: Comparison,
    pub(crate) required: Vec<Requirement>,
}

impl Result {
    pub(crate) fn row(&self) -> Row<'_> {
        Row { report: &self.checked.report, comparison: &self.comparison, required: &self.required }
    }
}

#[derive(Default)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) tests: Vec<Arc<Test>>,
    pub(crate) results: Vec<Result>,
    pub(crate) expectations: Expectations,
    /// For standard error.
    pub(crate) messages: String,
    /// The first error in one line, if the file could not be used as a whole.
    pub(crate) broken: Option<String>,
    /// Ctrl-C came before it was its turn, or a limit before it was read to its end.
    pub(crate) skipped: bool,
}

/// A check that is still to be done: of which test, under which model.
struct Pending {
    test: usize,
    model: Arc<LoadedModel>,
    readings: Settings,
}

/// A file while it is checked, so that what is known of it is there when its check is given up.
#[derive(Default)]
pub(crate) struct Desk {
    file: Mutex<File>,
    pending: Mutex<VecDeque<Pending>>,
    /// When the work in progress is not waited for any longer.
    due: Mutex<Option<Instant>>,
    begun: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub(crate) fn is_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn is_overdue(&self) -> bool {
        locked(&self.due).is_some_and(|due| Instant::now() >= due)
    }

    /// What begins now ends by itself a little after its limit, or is given up: before twice the limit or a second more.
    fn begin(&self, limit: Option<Duration>) {
        self.begun.store(true, Ordering::Relaxed);
        let patience =
            limit.map(|limit| (limit.saturating_mul(9) / 5).max(limit.saturating_add(Duration::from_millis(750))));
        *locked(&self.due) = patience.and_then(|patience| Instant::now().checked_add(patience));
    }

    /// What is known, with the rest undecided.
    pub(crate) fn give_up(&self, input: &Input, options: &Options, ended: Ended) -> File {
        let mut file = std::mem::take(&mut *locked(&self.file));
        file.name = input.name();
        if file.tests.is_empty() && file.broken.is_none() {
            file.stop(&ended.into());
        }
        for Pending { test, model, .. } in locked(&self.pending).drain(..) {
            let undecided = |test| fencepost_check::undecided(test, &model, options, ended.into());
            let Some(mut checked) = file.tests.get(test).map(|test| undecided(test)) else { continue };
            words::put_into_words(&mut checked.report);
            file.push(test, model, checked);
        }
        file
    }
}

impl File {
    /// A limit came before the file was read.
    fn stop(&mut self, why: &Why) {
        let next = match why {
            Why::Time => "; `--time-limit` gives it more",
            Why::Memory => "; `--memory-limit` gives it more",
            _ => "",
        };
        let note = terminal::stderr_colour().paint("1;33", "warning");
        self.messages.push_str(&format!(
            "{note}: `{}` was not read to its end: {}{next}\n",
            self.name,
            words::why(why)
        ));
        self.skipped = true;
    }

    fn push(&mut self, test: usize, model: Arc<LoadedModel>, checked: Checked) {
        let comparison = self.expectations.compare(&checked.report);
        // Explanations are about the model as it was read.
        let model = checked.model.clone().unwrap_or(model);
        self.results.push(Result { test, model, checked, comparison, required: Vec::new() });
    }

    fn complain(&mut self, message: &str) {
        let error = terminal::stderr_colour().paint("1;31", "error");
        self.messages.push_str(&format!("{error}: {message}\n"));
        self.broken.get_or_insert(message.to_owned());
    }

    fn diagnose(&mut self, source: &Source, diagnostics: &[Diagnostic]) {
        self.messages.push_str(&diagnostics::render(source, diagnostics, terminal::stderr_colour()));
        if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
            let line = source.position(error.span.start).line;
            self.broken.get_or_insert(format!("{} (line {line})", error.message));
        }
    }
}

/// Reading has so long, or as long as the time limit.
const READING: Duration = Duration::from_millis(30);

pub(crate) fn check(
    input: &Input,
    choice: &Choice,
    (options, advice): (&Options, Advice),
    library: &Library,
    desk: &Desk,
) -> File {
    let start = Instant::now();
    // Reading the models, and then the file, is part of the first check.
    let models_took = library.take_spent();
    let mut file = File { name: input.name(), ..File::default() };
    if options.budget.is_cancelled() {
        file.skipped = true;
        return file;
    }
    let left = options.budget.less(models_took).time();
    desk.begin(left);
    // A small test is read whatever the limit, so that the answer to its question is `Unknown`.
    let deadline = left.and_then(|left| start.checked_add(left.max(READING)));
    let Some(tests) = load(input, deadline, &mut file) else { return file };
    let usable = read_expectations(input, &tests, &mut file);
    let named = matches!(choice, Choice::These(_) | Choice::All);
    let mut pending = VecDeque::new();
    // Else it is not known which models were meant: another one would answer a question that nobody asked.
    if usable || named {
        for (at, test) in tests.iter().enumerate() {
            let models = models(test, choice, &options.readings, library, &mut file);
            pending.extend(models.into_iter().map(|(model, readings)| Pending { test: at, model, readings }));
        }
    }
    file.tests.clone_from(&tests);
    let advice = advice.wanted(pending.len());
    *locked(&desk.pending) = pending;
    *locked(&desk.file) = file;
    let mut spent = start.elapsed() + models_took;
    loop {
        let next = locked(&desk.pending).front().map(|next| (next.test, next.model.clone(), next.readings.clone()));
        let Some((test, model, readings)) = next else { break };
        let budget = options.budget.less(std::mem::take(&mut spent));
        desk.begin(budget.time());
        let options = Options { readings, budget, advice, ..options.clone() };
        let mut checked = fencepost_repair::advise(&tests[test], &model, &options);
        words::put_into_words(&mut checked.report);
        let mut file = locked(&desk.file);
        locked(&desk.pending).pop_front();
        file.push(test, model, checked);
    }
    std::mem::take(&mut *locked(&desk.file))
}

/// The tests of a file; none if it cannot be read, or not within the limits.
fn load(input: &Input, deadline: Option<Instant>, file: &mut File) -> Option<Vec<Arc<Test>>> {
    let source = match input.read() {
        Ok(source) => source,
        // Nobody wrote into a pipe before Ctrl-C.
        Err(_) if CANCELLED.load(Ordering::Relaxed) => {
            file.skipped = true;
            return None;
        }
        Err(problem) => {
            file.complain(&problem.0);
            return None;
        }
    };
    let entered = limits::enter(deadline, None);
    let (tests, diagnostics) = fencepost_check::load(&source);
    if let Some(ended) = limits::ended() {
        file.stop(&ended.into());
        return None;
    }
    drop(entered);
    file.diagnose(&source, &diagnostics);
    file.diagnose(&source, &slips(&tests));
    if tests.is_empty() && file.broken.is_none() {
        file.complain(&format!("`{}` holds no test", source.name));
    }
    Some(tests.into_iter().map(Arc::new).collect())
}

/// Reads the file beside the test, if there is one; whether every line of it can be used.
fn read_expectations(input: &Input, tests: &[Arc<Test>], file: &mut File) -> bool {
    let Some(path) = input.expectation_path() else { return true };
    match read_regular(&path).and_then(utf8) {
        Ok(text) => {
            let (expectations, diagnostics) = expectation::parse(&text);
            // A file with an error may have lost the test that a line is about.
            let stray = if file.broken.is_some() { None } else { stray(&expectations, tests) };
            file.expectations = expectations;
            file.diagnose(&Source::new(shown(&path), text), &diagnostics);
            if let Some(stray) = &stray {
                file.complain(&format!("`{}` expects `{stray}`, and there is no such row", shown(&path)));
            }
            diagnostics.is_empty() && stray.is_none()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            file.complain(&format!("cannot read `{}`: {}", shown(&path), reason(&error)));
            false
        }
    }
}

fn utf8(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is no UTF-8 text"))
}

/// A line about a row that the file does not have.
fn stray(expectations: &Expectations, tests: &[Arc<Test>]) -> Option<String> {
    let line = expectations.lines.iter().find(|line| tests.iter().all(|test| test.row != line.row))?;
    Some(line.print())
}

/// The models a test is checked under, each with the readings that are decided.
fn models(
    test: &Test,
    choice: &Choice,
    readings: &Settings,
    library: &Library,
    file: &mut File,
) -> Vec<(Arc<LoadedModel>, Settings)> {
    let with_readings = |names: Vec<String>| names.into_iter().map(|name| (name, readings.clone())).collect();
    let names: Vec<(String, Settings)> = match choice {
        Choice::These(models) => {
            return models.iter().map(|model| (model.clone(), of_model(readings, model))).collect();
        }
        Choice::All => with_readings(owned(&Models::of_test(test))),
        Choice::Expected if file.expectations.lines.is_empty() => {
            with_readings(vec![default_model(test, readings).to_owned()])
        }
        Choice::ExpectedOrAll if file.expectations.lines.is_empty() => with_readings(owned(&Models::of_test(test))),
        Choice::Expected | Choice::ExpectedOrAll => expected(test, readings, &file.expectations),
    };
    let mut models = Vec::with_capacity(names.len());
    for (name, wanted) in names {
        let model = match library.get(&name) {
            Ok(model) => model,
            Err(refused) => {
                if file.broken.is_none() {
                    file.messages.push_str(&refused.0);
                }
                file.broken.get_or_insert(format!("the expectations name a model `{name}` that cannot be used"));
                continue;
            }
        };
        // What the command line chose need not be about every model; what an expectation chose is about its own.
        let readings = if readings.is_empty() { wanted } else { of_model(&wanted, &model) };
        if let Err(bad) = readings.check(&model.points) {
            file.complain(&format!("the expectations name a reading that cannot be used: {bad}"));
            continue;
        }
        models.push((model, readings));
    }
    models
}

/// The model of a test for which nobody names one.
pub(crate) fn default_model(test: &Test, readings: &Settings) -> &'static str {
    Models::default_for(match Purpose::of(test) {
        // Readings are of the whole model.
        Purpose::Ptx if !readings.is_empty() => Purpose::PtxSinceClusters,
        purpose => purpose,
    })
}

/// What the lines of the expectations ask for. Readings chosen on the command line come before theirs.
fn expected(test: &Test, readings: &Settings, expectations: &Expectations) -> Vec<(String, Settings)> {
    let mut names = Vec::new();
    for line in expectations.lines.iter().filter(|line| line.row == test.row) {
        let readings = if readings.is_empty() { &line.readings } else { readings };
        let one = (line.model.clone(), readings.clone());
        if !names.contains(&one) {
            names.push(one);
        }
    }
    names
}

/// Other models than the one somebody had in mind do not have the reading.
fn of_model(readings: &Settings, model: &LoadedModel) -> Settings {
    let known = readings.0.iter().filter(|(name, _)| model.has_reading(name));
    Settings(known.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Words that are probably misspelt, shown in their line: the answer is `Unknown` and names the instruction.
fn slips(tests: &[Test]) -> Vec<Diagnostic> {
    let unsupported = tests.iter().flat_map(|test| &test.program.unsupported);
    let is_slip = |what: &&fencepost_program::program::Unsupported| what.what.contains("did you mean");
    let shown = unsupported
        .filter(is_slip)
        .map(|found| Diagnostic::warning(found.span, format!("{} has no model", found.what)));
    shown.map(|warning| warning.label("not known here")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_given_up_has_a_reason() {
        let text = "PTX t\n{ nvm x = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [x], 1; }\ncrash exists (x = 1)\n";
        let tests = fencepost_check::load(&Source::new("t.litmus", text)).0;
        let desk = Desk::default();
        locked(&desk.file).tests = tests.into_iter().map(Arc::new).collect();
        let model = Arc::new(Models::shipped("sbrp").expect("shipped"));
        locked(&desk.pending).push_back(Pending { test: 0, model, readings: Settings::default() });
        let file = desk.give_up(&Input::Stdin, &Options::default(), Ended::Time);
        let report = &file.results[0].checked.report;
        let reasons = [report.why.as_ref(), report.crashes.as_ref().and_then(|found| found.questions[0].why.as_ref())];
        assert!(reasons.iter().all(|why| why.is_some_and(|why| why.message.contains("time limit"))), "{reasons:?}");
    }
}
