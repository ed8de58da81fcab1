//! The checks of one file: read, parse, find out what is expected, check under each model, compare.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_check::expectation::{self, Comparison, Expectations};
use fencepost_check::output::Row;
use fencepost_check::readings::Settings;
use fencepost_check::requirement::Requirement;
use fencepost_check::{Checked, LoadedModel, Models, Options, Test};
use fencepost_syntax::litmus::Arch;
use fencepost_syntax::{Diagnostic, Source};

use super::library::Library;
use crate::diagnostics;
use crate::inputs::{Input, read_regular, reason, shown};
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
    pub(crate) tests: Vec<Test>,
    pub(crate) results: Vec<Result>,
    pub(crate) expectations: Expectations,
    /// For standard error.
    pub(crate) messages: String,
    /// The first error in one line, if the file could not be used as a whole.
    pub(crate) broken: Option<String>,
    /// Ctrl-C came before it was its turn.
    pub(crate) skipped: bool,
}

impl File {
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

pub(crate) fn check(
    input: &Input,
    choice: &Choice,
    options: &Options<'_>,
    library: &Library,
    cancelled: &AtomicBool,
) -> File {
    let mut file = File { name: input.name(), ..File::default() };
    if cancelled.load(Ordering::Relaxed) {
        file.skipped = true;
        return file;
    }
    let source = match input.read() {
        Ok(source) => source,
        // Nobody wrote into a pipe before Ctrl-C.
        Err(_) if cancelled.load(Ordering::Relaxed) => {
            file.skipped = true;
            return file;
        }
        Err(problem) => {
            file.complain(&problem.0);
            return file;
        }
    };
    let (tests, diagnostics) = fencepost_check::load(&source);
    file.diagnose(&source, &diagnostics);
    file.diagnose(&source, &slips(&tests));
    if tests.is_empty() && file.broken.is_none() {
        file.complain(&format!("`{}` holds no test", source.name));
    }
    let usable = read_expectations(input, &tests, &mut file);
    let named = matches!(choice, Choice::These(_) | Choice::All);
    if !usable && !named {
        // Which models were meant is not known: another one would answer a question that nobody asked.
        file.tests = tests;
        return file;
    }
    for (at, test) in tests.iter().enumerate() {
        for (model, readings) in models(test, choice, &options.readings, library, &mut file) {
            let options = Options { readings, ..options.clone() };
            let checked = fencepost_check::check(test, &model, &options);
            let comparison = file.expectations.compare(&checked.report);
            // Explanations are about the model as it was read.
            let model = checked.model.clone().unwrap_or(model);
            file.results.push(Result { test: at, model, checked, comparison, required: Vec::new() });
        }
    }
    file.tests = tests;
    file
}

/// Reads the file beside the test, if there is one; whether every line of it can be used.
fn read_expectations(input: &Input, tests: &[Test], file: &mut File) -> bool {
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
fn stray(expectations: &Expectations, tests: &[Test]) -> Option<String> {
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
    let arch = test.program.arch;
    let with_readings = |names: Vec<String>| names.into_iter().map(|name| (name, readings.clone())).collect();
    let names: Vec<(String, Settings)> = match choice {
        Choice::These(models) => {
            return models.iter().map(|model| (model.clone(), of_model(readings, model))).collect();
        }
        Choice::All => with_readings(owned(&Models::of_test(test))),
        Choice::Expected if file.expectations.lines.is_empty() => {
            let default = Models::default_for(test);
            // Readings are of the whole model.
            let is_ptx = arch == Arch::Ptx && default.starts_with("ptx");
            let name = if is_ptx && !readings.is_empty() { "ptx" } else { default };
            with_readings(vec![name.to_owned()])
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
