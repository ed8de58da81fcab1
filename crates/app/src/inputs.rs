//! Which files a command line means: files as they are, folders recursively in sorted order, `-` for standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use fencepost_check::neutral::is_neutral;
use fencepost_syntax::Source;

/// What kinds of file a folder is searched for.
const TESTS: [&str; 2] = ["litmus", "test"];

/// One file to read, or standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

/// A path that leads nowhere, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem(pub(crate) String);

impl Input {
    pub(crate) fn name(&self) -> String {
        match self {
            Input::Stdin => "<stdin>".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    pub(crate) fn read(&self) -> Result<Source, Problem> {
        let bytes = match self {
            Input::Stdin => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            Input::File(path) => std::fs::read(path),
        };
        let bytes = bytes.map_err(|error| Problem(format!("cannot read `{}`: {}", self.name(), reason(&error))))?;
        // Spans are 32-bit offsets.
        if u32::try_from(bytes.len()).is_err() {
            return Err(Problem(format!("cannot read `{}`: it is larger than 4 GiB", self.name())));
        }
        // A byte that is no UTF-8 becomes a character no language of ours knows, and gets its diagnostic there.
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Ok(Source::new(self.name(), text))
    }

    /// The expectation file beside a test.
    pub(crate) fn expectation_path(&self) -> Option<PathBuf> {
        match self {
            Input::Stdin => None,
            // Such a file has its expectations inside.
            Input::File(path) if is_neutral(&path.display().to_string()) => None,
            Input::File(path) => Some(path.with_extension("expect")),
        }
    }
}

/// The words of an error without Rust's `(os error 2)`.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Every input the paths name, in order, each file once; and what could not be found.
pub(crate) fn collect(paths: &[PathBuf]) -> (Vec<Input>, Vec<Problem>) {
    let mut inputs = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = inputs.len();
            folder(path, &mut inputs, &mut problems, 0);
            let neutral = path.join("tests.json");
            if inputs.len() == before && neutral.is_file() {
                inputs.push(Input::File(neutral));
            }
            if inputs.len() == before {
                problems.push(Problem(format!("`{}` holds no .litmus or .test file", path.display())));
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    inputs.retain(|input| seen.insert(input.name()));
    (inputs, problems)
}

/// A link that leads back up must not be followed for ever.
const DEEPEST: u32 = 64;

fn folder(path: &Path, inputs: &mut Vec<Input>, problems: &mut Vec<Problem>, depth: u32) {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(Problem(format!("cannot read `{}`: {}", path.display(), reason(&error))));
            return;
        }
    };
    let mut entries: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if depth < DEEPEST {
                folder(&entry, inputs, problems, depth + 1);
            }
        } else if entry.extension().is_some_and(|extension| TESTS.iter().any(|test| extension == *test)) {
            inputs.push(Input::File(entry));
        }
    }
}
