//! `checked 12 of 300` on standard error, only on a terminal and only once a run has taken two seconds. One line that
//! overwrites itself is all this tool needs of a progress bar.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::memory;
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

/// Progress of work on other threads: how much is finished, and how many steps were done. The line is drawn by a thread of
/// its own, also while one long run goes on.
pub(crate) struct Meter {
    shared: Arc<Shared>,
    drawer: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    finished: AtomicUsize,
    over: AtomicBool,
    /// Whether the line is there; held while something else is written.
    shown: Mutex<bool>,
}

impl Shared {
    /// Takes the line away while something is written.
    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *shown) {
            terminal::raw_err("\r\u{1b}[K");
        }
        write()
    }

    fn draw(&self, total: usize, seconds: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let millions = memory::signals().steps.load(Ordering::Relaxed) as f64 / 1e6;
        let finished = self.finished.load(Ordering::Relaxed);
        let part = if total > 1 { format!("checked {finished} of {total}, ") } else { String::new() };
        terminal::raw_err(&format!("\r\u{1b}[K{part}{millions:.1} M warp instructions, {seconds} s"));
        *shown = true;
    }
}

impl Meter {
    pub(crate) fn start(total: usize) -> Meter {
        let shared =
            Arc::new(Shared { finished: AtomicUsize::new(0), over: AtomicBool::new(false), shown: Mutex::new(false) });
        let drawer = std::io::stderr().is_terminal().then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let started = Instant::now();
                while !shared.over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_millis(200));
                    if started.elapsed() > Duration::from_secs(2) {
                        shared.draw(total, started.elapsed().as_secs());
                    }
                }
            })
        });
        Meter { shared, drawer }
    }

    /// One more is finished, and its result is written without the line in between.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.shared.finished.fetch_add(1, Ordering::Relaxed);
        self.shared.aside(write)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            let _ = drawer.join();
        }
        self.shared.aside(|| ());
    }
}
