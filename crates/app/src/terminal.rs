//! Standard output and error. Writing goes through here so that a closed pipe ends the output quietly, and colours
//! appear on a terminal only, unless `NO_COLOR` is set.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use fencepost_check::output::table::Colour;
use fencepost_check::output::width::Width;

/// A reader that went away (`fencepost check … | head`) is no error of ours: what cannot be written is dropped.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

pub(crate) fn err(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// `error: …` on standard error.
pub(crate) fn complain(message: &str) {
    let error = stderr_colour().paint("1;31", "error");
    err(&format!("{error}: {message}\n"));
}

pub(crate) fn stdout_colour() -> Colour {
    colour(std::io::stdout().is_terminal())
}

pub(crate) fn stderr_colour() -> Colour {
    colour(std::io::stderr().is_terminal())
}

/// How wide a table may be: as wide as it needs to be, except on a terminal.
pub(crate) fn stdout_width() -> Width {
    if !std::io::stdout().is_terminal() {
        return Width::Unlimited;
    }
    let columns = std::env::var("COLUMNS").ok().or_else(asked_columns);
    let columns = columns.and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
    columns.map_or(Width::Unlimited, Width::Columns)
}

/// The standard library does not know a terminal's size and asking the system for it takes unsafe code: `stty` does it.
/// Only a person who reads a table waits the millisecond for it.
fn asked_columns() -> Option<String> {
    let terminal = std::fs::File::open("/dev/tty").ok()?;
    let size = Command::new("stty").arg("size").stdin(terminal).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(size.stdout).ok()?.split_whitespace().nth(1).map(str::to_owned)
}

fn colour(terminal: bool) -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if terminal && !refused { Colour::Ansi } else { Colour::Plain }
}
