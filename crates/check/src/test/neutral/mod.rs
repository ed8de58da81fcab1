//! The neutral form of litmus tests: JSON, `{ "tests": [ … ] }`, in which the tests of "Compound Memory Models" are passed
//! on with the verdicts that others found (`docs/litmus.md` has the form).
//!
//! Each test becomes litmus text of ours (`write`), which is then loaded like any other: what the text means is said in
//! one place, and `fencepost print` shows it. Spans and lines of a test are those of its text. What the form does not
//! have is refused by name, at the test it is in; the other tests of the file stay.

mod form;
mod write;

use fencepost_machine::requests::Architecture;
use fencepost_report::verdict::Verdict;
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::{Diagnostic, Source, Span};
use serde_json::Value;

use crate::model::load::Models;
use crate::test::{Test, load_litmus};

/// A test, and what others say of it.
#[derive(Clone, Debug)]
pub struct Neutral {
    pub test: Test,
    pub rows: Vec<Row>,
}

/// A published verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub by: By,
    pub expected: Reachable,
}

/// Whose verdict it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum By {
    /// A shipped model, by its name here.
    Axioms(&'static str),
    LostPop,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reachable {
    Allowed,
    Forbidden,
}

impl Reachable {
    pub fn word(self) -> &'static str {
        match self {
            Reachable::Allowed => "allowed",
            Reachable::Forbidden => "forbidden",
        }
    }
}

/// The authors' names of models, and ours.
const MODELS: [(&str, &str); 3] = [("tso_als", "x86-tso"), ("ptx_als", "ptx-6.0"), ("cmm_als_HEAD", "cmm")];

/// What is not understood, in words.
struct Refused(String);

fn refuse<T>(what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(what.into()))
}

/// Whose instructions a thread has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Family {
    Sc,
    X86,
    Ptx,
    Xc,
    Arm,
}

impl Family {
    const ALL: [Family; 5] = [Family::Sc, Family::X86, Family::Ptx, Family::Xc, Family::Arm];

    fn of(name: &str) -> Result<Family, Refused> {
        let known = Family::ALL.into_iter().find(|family| family.name() == name);
        known.ok_or_else(|| Refused(format!("the architecture `{name}`")))
    }

    fn name(self) -> &'static str {
        match self {
            Family::Sc => "SC",
            Family::X86 => "x86",
            Family::Ptx => "PTX",
            Family::Xc => "XC",
            Family::Arm => "ARM",
        }
    }

    /// Its threads are written in x86 and run on the host.
    fn is_x86(self) -> bool {
        matches!(self, Family::Sc | Family::X86)
    }

    /// What the text does not say of it.
    fn architecture(self) -> Option<Architecture> {
        match self {
            Family::Sc => Some(Architecture::Sc),
            Family::Xc => Some(Architecture::Xc),
            Family::Arm => Some(Architecture::Arm),
            Family::X86 | Family::Ptx => None,
        }
    }

    /// The value of `--arch`.
    fn option(self) -> Option<&'static str> {
        self.architecture().map(Architecture::name)
    }
}

/// Whether a file of this name holds tests of this form.
pub fn is_neutral(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".json")
}

/// The same of a text, which may come from standard input: no litmus test starts with a brace.
pub fn holds_neutral(source: &Source) -> bool {
    is_neutral(&source.name) || (source.text.trim_start().starts_with('{') && source.text.contains("\"tests\""))
}

/// The tests of a file. Diagnostics are about the file.
pub fn load(source: &Source) -> (Vec<Neutral>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let tests = match serde_json::from_str::<Value>(&source.text) {
        Ok(Value::Object(mut file)) => file.remove("tests"),
        Ok(_) => None,
        Err(error) => {
            diagnostics.push(Diagnostic::error(place(&source.text, &error), format!("this is no JSON: {error}")));
            return (Vec::new(), diagnostics);
        }
    };
    let Some(Value::Array(tests)) = tests else {
        let message = "a file of tests is `{ \"tests\": [ … ] }`";
        diagnostics.push(Diagnostic::error(Span::default(), message));
        return (Vec::new(), diagnostics);
    };
    let mut loaded = Vec::with_capacity(tests.len());
    for (number, mut test) in tests.into_iter().enumerate() {
        let id = test.get("id").and_then(Value::as_str).map_or_else(|| format!("number {number}"), str::to_owned);
        for field in descriptive(&mut test) {
            let message = format!("the test {id}: the field `{field}` is not looked at");
            diagnostics.push(Diagnostic::warning(mention(&source.text, &field), message));
        }
        match load_one(source, test) {
            Ok(test) => loaded.push(test),
            Err(Refused(what)) => {
                let span = mention(&source.text, &id);
                diagnostics.push(Diagnostic::error(span, format!("the test {id}: not understood: {what}")));
            }
        }
    }
    (loaded, diagnostics)
}

/// Fields that can only describe a test. Another one might say what it means, and is refused.
const DESCRIPTIVE: [&str; 16] = [
    "author",
    "authors",
    "category",
    "comment",
    "comments",
    "date",
    "description",
    "doc",
    "figure",
    "link",
    "origin",
    "paper",
    "reference",
    "source",
    "title",
    "url",
];

/// Takes them out of a test.
fn descriptive(test: &mut Value) -> Vec<String> {
    let Value::Object(fields) = test else { return Vec::new() };
    DESCRIPTIVE.iter().filter(|name| fields.remove(**name).is_some()).map(|name| (*name).to_owned()).collect()
}

fn load_one(source: &Source, test: Value) -> Result<Neutral, Refused> {
    let form: form::Form = serde_json::from_value(test).map_err(|error| Refused(error.to_string()))?;
    let mut architecture = None;
    for thread in &form.threads {
        let family = Family::of(&thread.arch)?;
        let device = if family == Family::Ptx || family == Family::Xc { "gpu" } else { "cpu" };
        if thread.device != device {
            return refuse(format!("{} on the device `{}`", family.name(), thread.device));
        }
        architecture = architecture.or(family.architecture());
    }
    let is_alone = |family: Family| form.threads.iter().all(|thread| Family::of(&thread.arch).ok() == Some(family));
    if matches!(architecture, Some(Architecture::Sc)) && !is_alone(Family::Sc)
        || matches!(architecture, Some(Architecture::Arm)) && !is_alone(Family::Arm)
        || matches!(architecture, Some(Architecture::Xc)) && form.threads.iter().any(|thread| thread.arch == "PTX")
    {
        return refuse("threads of architectures that no machine puts together");
    }
    let rows = rows(&form)?;
    let text = write::text(&form)?;
    let (mut tests, diagnostics) = load_litmus(&Source::new(source.name.clone(), text));
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return refuse(error.message.clone());
    }
    match tests.pop() {
        Some(mut test) => {
            test.architecture = architecture;
            Ok(Neutral { test, rows })
        }
        None => refuse("it is not a test"),
    }
}

/// Whether the state that the test asks about is reachable, by the verdict; None where that is not known.
pub fn reachable(test: &Test, verdict: &Verdict) -> Option<Reachable> {
    let is_asked = test.program.questions.iter().all(|question| question.kind == QuestionKind::Exists);
    match (verdict, is_asked) {
        (Verdict::Holds, true) | (Verdict::Violated, false) => Some(Reachable::Allowed),
        (Verdict::Violated, true) | (Verdict::Holds, false) => Some(Reachable::Forbidden),
        (Verdict::Unknown(_) | Verdict::Depends(_), _) => None,
    }
}

fn rows(form: &form::Form) -> Result<Vec<Row>, Refused> {
    let mut rows = Vec::new();
    for (key, verdict) in form.expected.axiomatic.iter().flat_map(|table| &table.0) {
        let Some(verdict) = verdict else { continue };
        let ours = MODELS.iter().find(|(theirs, _)| theirs == key).map_or(key.as_str(), |(_, ours)| ours);
        let Some(model) = Models::names().into_iter().find(|name| *name == ours) else {
            return refuse(format!("the model `{key}`"));
        };
        rows.extend(verdict_of(verdict)?.map(|expected| Row { by: By::Axioms(model), expected }));
    }
    if let Some(verdict) = &form.expected.operational {
        rows.extend(verdict_of(verdict)?.map(|expected| Row { by: By::LostPop, expected }));
    }
    Ok(rows)
}

fn verdict_of(word: &str) -> Result<Option<Reachable>, Refused> {
    match word {
        "allowed" => Ok(Some(Reachable::Allowed)),
        "forbidden" => Ok(Some(Reachable::Forbidden)),
        "unknown" => Ok(None),
        other => refuse(format!("the verdict `{other}`")),
    }
}

/// Where an error of the JSON is.
fn place(text: &str, error: &serde_json::Error) -> Span {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (before + error.column().saturating_sub(1)).min(text.len()) as u32;
    Span::new(at, at)
}

/// Where the file names a test.
fn mention(text: &str, id: &str) -> Span {
    let quoted = format!("\"{id}\"");
    match text.find(&quoted) {
        Some(at) => Span::new(at as u32, (at + quoted.len()) as u32),
        None => Span::default(),
    }
}
