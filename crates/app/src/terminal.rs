//! Standard output and error. Writing goes through here so that a closed pipe ends the output quietly, and colours
//! appear on a terminal only, unless `NO_COLOR` is set.

use std::io::{IsTerminal, Write};

use fencepost_check::output::table::Colour;

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

fn colour(terminal: bool) -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if terminal && !refused { Colour::Ansi } else { Colour::Plain }
}
