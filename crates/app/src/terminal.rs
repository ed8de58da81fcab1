//! Standard output and error. Writing goes through here so that no control character of a test reaches a terminal
//! ([`crate::visible`]), a closed pipe ends the output quietly, any other failure to write is an error of the run, and
//! colours appear on a terminal only, unless `NO_COLOR` is set.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use fencepost_tell::output::table::Colour;
use fencepost_tell::output::width::Width;

use crate::inputs::reason;
use crate::visible::{Notation, escaped};

/// Why standard output could not be written, if so. What is lost is no result: the run ends with exit code 2.
static FAILED: OnceLock<String> = OnceLock::new();

/// Text for standard output.
pub(crate) fn out(text: &str) {
    // As of most tests of a folder.
    if text.is_empty() {
        return;
    }
    raw_out(&escaped(text, notation(stdout_colour())));
}

/// JSON for standard output.
pub(crate) fn out_json(text: &str) {
    raw_out(&escaped(text, Notation::Json));
}

/// A reader that went away (`fencepost check … | head`) is no error of ours: what cannot be written is dropped.
pub(crate) fn raw_out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = FAILED.set(reason(&error));
    }
}

/// Why something that was printed did not arrive.
pub(crate) fn failure() -> Option<&'static str> {
    FAILED.get().map(String::as_str)
}

pub(crate) fn err(text: &str) {
    if text.is_empty() {
        return;
    }
    raw_err(&escaped(text, notation(stderr_colour())));
}

/// Characters of our own that move the cursor.
pub(crate) fn raw_err(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// `error: …` on standard error.
pub(crate) fn complain(message: &str) {
    let error = stderr_colour().paint("1;31", "error");
    err(&format!("{error}: {message}\n"));
}

/// `note: …` on standard error.
pub(crate) fn note(message: &str) {
    err(&format!("note: {message}\n"));
}

/// Asked once: a folder prints thousands of lines.
pub(crate) fn stdout_colour() -> Colour {
    static STDOUT: OnceLock<Colour> = OnceLock::new();
    *STDOUT.get_or_init(|| colour(std::io::stdout().is_terminal()))
}

pub(crate) fn stderr_colour() -> Colour {
    static STDERR: OnceLock<Colour> = OnceLock::new();
    *STDERR.get_or_init(|| colour(std::io::stderr().is_terminal()))
}

/// How wide a table may be: as wide as it needs to be, except on a terminal whose shell says how wide it is (`COLUMNS`).
/// The standard library does not know a terminal's size, asking the system takes unsafe code, and asking `stty` would run
/// whatever program of that name comes first in the search path.
pub(crate) fn stdout_width() -> Width {
    if !std::io::stdout().is_terminal() {
        return Width::Unlimited;
    }
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
    columns.map_or(Width::Unlimited, Width::Columns)
}

fn colour(terminal: bool) -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if terminal && !refused { Colour::Ansi } else { Colour::Plain }
}

fn notation(colour: Colour) -> Notation {
    match colour {
        Colour::Ansi => Notation::Coloured,
        Colour::Plain => Notation::Plain,
    }
}
