//! `checked 12 of 300` on standard error, only on a terminal and only once a run has taken two seconds. One line that
//! overwrites itself is all this tool needs of a progress bar.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::terminal;

pub(crate) struct Progress {
    started: Instant,
    last: Option<Instant>,
    total: usize,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Progress {
        Progress { started: Instant::now(), last: None, total, terminal: std::io::stderr().is_terminal() }
    }

    pub(crate) fn done(&mut self, finished: usize) {
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now - last > Duration::from_millis(100));
        if self.terminal && due && now - self.started > Duration::from_secs(2) {
            self.last = Some(now);
            terminal::raw_err(&format!("\r\u{1b}[Kchecked {finished} of {}", self.total));
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            terminal::raw_err("\r\u{1b}[K");
        }
    }
}
