//! How much memory the process holds, and how much it may. Read from `/proc`; where there is none, nothing is known and
//! only the engines' own estimates hold.
//!
//! The limit is on the resident size of the whole process, because that is what a machine runs out of, whichever phase
//! takes it. Counting in the allocator would be exact, but takes unsafe code and time in every allocation.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use fencepost_syntax::limits::Signals;

use crate::signals::CANCELLED;

/// Without `--memory-limit`: half of what the machine, or the control group that the process runs in, has.
const DEFAULT_SHARE: u64 = 2;

/// What ends the work of every thread of this process: Ctrl-C, and memory that runs out.
static SIGNALS: LazyLock<Arc<Signals>> =
    LazyLock::new(|| Arc::new(Signals { cancelled: Arc::clone(&CANCELLED), ..Signals::default() }));

/// Asked when something is measured for the first time: a small test is done before that.
static DEFAULT: LazyLock<Option<u64>> = LazyLock::new(|| Some(of_machine()? / DEFAULT_SHARE));

/// The limit of the command line, if it has one. Before any work begins.
pub(crate) fn choose(limit: Option<u64>) {
    if let Some(limit) = limit {
        SIGNALS.memory.store(limit.max(1), Ordering::Relaxed);
    }
}

pub(crate) fn signals() -> Arc<Signals> {
    Arc::clone(&SIGNALS)
}

/// Measures, and tells everybody who works; the share of the limit that is in use, in percent.
pub(crate) fn measure() -> u64 {
    let Some(limit) = SIGNALS.limit().or(*DEFAULT) else { return 0 };
    let Some(resident) = resident() else { return 0 };
    SIGNALS.memory.store(limit, Ordering::Relaxed);
    SIGNALS.full.store(resident > limit, Ordering::Relaxed);
    resident.saturating_mul(100) / limit.max(1)
}

/// Whether it was too much when it was measured last.
pub(crate) fn is_full() -> bool {
    SIGNALS.full.load(Ordering::Relaxed)
}

/// `VmRSS`, in bytes.
fn resident() -> Option<u64> {
    /// One thread measures, again and again: into the same memory, and the line stays where it was. In the memory of
    /// threads it would be filled with zeros for each of them.
    static START: Mutex<(Vec<u8>, usize)> = Mutex::new((Vec::new(), 0));
    let mut start = START.lock().unwrap_or_else(PoisonError::into_inner);
    let (text, line) = &mut *start;
    read_start("/proc/self/status", text)?;
    field(text, b"VmRSS:", line)
}

/// What the machine has, or less where a control group says so.
fn of_machine() -> Option<u64> {
    let mut text = Vec::new();
    read_start("/proc/meminfo", &mut text)?;
    let total = field(&text, b"MemTotal:", &mut 0)?;
    let group = read_start("/sys/fs/cgroup/memory.max", &mut text).and_then(|()| str::from_utf8(&text).ok());
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(total, |group| group.min(total)))
}

/// Reads a file of the system, as far as it can matter.
fn read_start(path: &str, text: &mut Vec<u8>) -> Option<()> {
    /// More than those files have, up to the line.
    const ENOUGH: usize = 4096;
    text.clear();
    text.reserve(ENOUGH);
    std::fs::File::open(path).ok()?.take(ENOUGH as u64).read_to_end(text).ok()?;
    Some(())
}

/// `VmRSS:     1234 kB`, on a line of its own; where that line begins is looked at first, and remembered.
fn field(text: &[u8], name: &[u8], line: &mut usize) -> Option<u64> {
    let begins_a_line = |at: usize| at == 0 || text.get(at - 1) == Some(&b'\n');
    let is_there = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with(name));
    if !begins_a_line(*line) || !is_there(*line) {
        *line = 0;
        while !is_there(*line) {
            *line += text.get(*line..)?.iter().position(|byte| *byte == b'\n')? + 1;
        }
    }
    let after = text[*line + name.len()..].split(|byte| *byte == b'\n').next()?;
    let kilobytes: u64 = str::from_utf8(after).ok()?.split_ascii_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_systems_files() {
        let mut line = 0;
        let status = b"Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t1\n";
        assert_eq!(field(status, b"VmRSS:", &mut line), Some(1234 * 1024));
        assert_eq!(line, 8);
        assert_eq!(field(status, b"VmRSS:", &mut line), Some(1234 * 1024));
        // It has moved, or the place is none of this text.
        assert_eq!(field(b"Name:\txyz\nVmRSS:\t 5 kB", b"VmRSS:", &mut line), Some(5 * 1024));
        assert_eq!(field(b"VmRSS: 1", b"VmRSS:", &mut 100), Some(1024));
        assert_eq!(field(b"Name:\tVmRSS: 1\n", b"VmRSS:", &mut line), None);
    }
}
