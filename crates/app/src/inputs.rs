//! Which files a command line means: files as they are, folders recursively in sorted order, `-` for standard input.
//!
//! A tree of files may be hostile. Each folder is listed once, whatever links lead to it, so that a loop of links ends; in a
//! folder only regular files are read, because a FIFO or a device named like a test may block or never end. What is left
//! out is named in a [`Note`]. A path that somebody writes on the command line may be a pipe (`<(generate)`): it is read in
//! a thread of its own, so that Ctrl-C need not wait for whoever writes into it.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use fencepost_check::test::neutral::is_neutral;
use fencepost_kernel::container::ENDINGS;
use fencepost_syntax::Source;
use fencepost_syntax::sorted::SharedSort as _;

use crate::signals::CANCELLED;
use crate::visible;

/// What kinds of file a folder is searched for.
const TESTS: [&str; 2] = ["litmus", "test"];

/// The longest text that is read. A device such as `/dev/zero` has no end, and no test is so long.
const LONGEST: u64 = 256 << 20;

/// One file to read, or standard input.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

/// A path that leads nowhere, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem(pub(crate) String);

/// Something in a folder that is left out though nothing is wrong with the tests, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Note(pub(crate) String);

/// What the paths of a command line lead to.
#[derive(Default, Debug)]
pub(crate) struct Collected {
    /// Each path once.
    pub(crate) inputs: Vec<Input>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<Note>,
}

/// A name of a path for people: every path has its own, without control characters.
pub(crate) fn shown(path: &Path) -> String {
    visible::name(path.as_os_str())
}

impl Input {
    pub(crate) fn name(&self) -> String {
        match self {
            Input::Stdin => "<stdin>".to_owned(),
            Input::File(path) => shown(path),
        }
    }

    pub(crate) fn read(&self) -> Result<Source, Problem> {
        Ok(Source::new(self.name(), visible::text(self.bytes()?)))
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Problem> {
        let bytes = match self {
            Input::Stdin => in_a_thread(|| bounded(std::io::stdin().lock(), 0)),
            Input::File(path) => match std::fs::metadata(path) {
                Ok(found) if found.is_file() || found.is_dir() => {
                    File::open(path).and_then(|file| bounded(file, found.len()))
                }
                Ok(_) => {
                    let path = path.clone();
                    in_a_thread(move || File::open(path).and_then(|file| bounded(file, 0)))
                }
                Err(error) => Err(error),
            },
        };
        bytes.map_err(|error| Problem(format!("cannot read `{}`: {}", self.name(), reason(&error))))
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

/// The bytes of a regular file: one that belongs to a test or to a model, and that nobody named on the command line.
pub(crate) fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    bounded(File::open(path)?, found.len())
}

/// All there is to read, which is about so long.
fn bounded(reader: impl Read, length: u64) -> std::io::Result<Vec<u8>> {
    /// What is longer is read in pieces: a file may say what it likes.
    const AT_ONCE: u64 = 1 << 20;
    // A little more, so that the end is seen without asking for more room; in few sizes, so that files of a folder get the room of
    // those before.
    let room = (length.min(AT_ONCE) as usize + 64).next_multiple_of(256);
    let mut bytes = Vec::with_capacity(room);
    reader.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(std::io::Error::other(format!("it is longer than {} MiB", LONGEST >> 20)));
    }
    Ok(bytes)
}

/// Reads in a thread of its own, which is left behind where Ctrl-C comes first.
fn in_a_thread(read: impl FnOnce() -> std::io::Result<Vec<u8>> + Send + 'static) -> std::io::Result<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || sender.send(read()))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) if !CANCELLED.load(Ordering::Relaxed) => {}
            Err(_) => return Err(std::io::Error::other("stopped before its end was read")),
        }
    }
}

/// The words of an error without Rust's `(os error 2)`.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::StorageFull => "no space is left".to_owned(),
        _ => match error.to_string().split_once(" (os error ") {
            Some((words, _)) => words.to_lowercase(),
            None => error.to_string(),
        },
    }
}

/// Every input the paths name, in order, each path once; and what could not be found.
pub(crate) fn collect(paths: &[PathBuf]) -> Collected {
    let mut found = Collected::default();
    for path in paths {
        if path.as_os_str() == "-" {
            found.inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = found.inputs.len();
            folder(path, &TESTS, &mut found);
            let neutral = path.join("tests.json");
            if found.inputs.len() == before && neutral.is_file() {
                found.inputs.push(Input::File(neutral));
            }
            if found.inputs.len() == before {
                found.problems.push(Problem(format!("`{}` holds no .litmus or .test file", shown(path))));
            }
        } else {
            found.inputs.push(Input::File(path.clone()));
        }
    }
    found.once();
    found
}

/// The same for PTX modules: folders are searched for `.ptx` and `.fatbin`; a path itself may be any file.
pub(crate) fn collect_modules(paths: &[PathBuf]) -> Collected {
    let mut found = Collected::default();
    for path in paths {
        if path.as_os_str() == "-" {
            found.inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = found.inputs.len();
            folder(path, &ENDINGS, &mut found);
            if found.inputs.len() == before {
                found.problems.push(Problem(format!("`{}` holds no .ptx or .fatbin file", shown(path))));
            }
        } else {
            found.inputs.push(Input::File(path.clone()));
        }
    }
    found.once();
    found
}

impl Collected {
    /// Each input once, where it came first.
    fn once(&mut self) {
        let mut seen = BTreeSet::new();
        self.inputs.retain(|input| seen.insert(input.clone()));
    }
}

/// A folder and what is below it, without recursion: nothing bounds how deep folders are nested.
fn folder(path: &Path, kinds: &[&str], found: &mut Collected) {
    let mut listed = BTreeSet::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = match std::fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => {
                let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
                match is_of(&path, kinds) {
                    // A test that is not there: an error when it is read.
                    true if is_missing => found.inputs.push(Input::File(path)),
                    false if is_missing => {}
                    // A link that leads to itself.
                    _ => found.notes.push(Note(format!("`{}` is skipped: {}", shown(&path), reason(&error)))),
                }
                continue;
            }
        };
        if metadata.is_dir() {
            if listed.insert(identity(&path, &metadata)) {
                waiting.extend(entries(&path, found).into_iter().rev());
            } else {
                let what = "it leads to a folder that is listed already";
                found.notes.push(Note(format!("`{}` is skipped: {what}", shown(&path))));
            }
        } else if is_of(&path, kinds) {
            if metadata.is_file() {
                found.inputs.push(Input::File(path));
            } else {
                found.notes.push(Note(format!("`{}` is skipped: it is {}", shown(&path), kind(&metadata))));
            }
        }
    }
}

fn is_of(path: &Path, kinds: &[&str]) -> bool {
    path.extension().is_some_and(|extension| kinds.iter().any(|kind| extension == *kind))
}

/// What is in a folder, sorted.
fn entries(path: &Path, found: &mut Collected) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => {
            found.problems.push(Problem(format!("cannot read `{}`: {}", shown(path), reason(&error))));
            return Vec::new();
        }
    };
    let mut all = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => all.push(entry.path()),
            Err(error) => {
                found.problems.push(Problem(format!("cannot read all of `{}`: {}", shown(path), reason(&error))));
                break;
            }
        }
    }
    all.shared_sort();
    all
}

/// What tells a folder from every other, by whatever name.
#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(unix)]
fn kind(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "no regular file",
    }
}

#[cfg(not(unix))]
fn kind(_: &Metadata) -> &'static str {
    "no regular file"
}
