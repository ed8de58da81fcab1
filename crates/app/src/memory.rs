//! How much memory the process holds, and how much it may. Read from `/proc`; where there is none, nothing is known and
//! only the engines' own estimates hold.
//!
//! The limit is on the resident size of the whole process, because that is what a machine runs out of, whichever phase
//! takes it. Counting in the allocator would be exact, but takes unsafe code and time in every allocation.

use std::cell::RefCell;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

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
    /// More than that file has, up to the line.
    const ENOUGH: usize = 4096;
    thread_local! {
        /// One thread measures, again and again; the line stays where it was.
        static START: RefCell<([u8; ENOUGH], usize)> = const { RefCell::new(([0; ENOUGH], 0)) };
    }
    let mut file = std::fs::File::open("/proc/self/status").ok()?;
    START.with_borrow_mut(|(start, line)| {
        // The kernel writes such a file in one piece.
        let length = file.read(start).ok()?;
        field(&start[..length], b"VmRSS:", line)
    })
}

/// What the machine has, or less where a control group says so.
fn of_machine() -> Option<u64> {
    let total = field(&std::fs::read("/proc/meminfo").ok()?, b"MemTotal:", &mut 0)?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(total, |group| group.min(total)))
}

/// `VmRSS:     1234 kB`, on a line of its own; where that line begins is looked at first, and remembered.
fn field(text: &[u8], name: &[u8], line: &mut usize) -> Option<u64> {
    let begins_a_line = |at: usize| at == 0 || text.get(at - 1) == Some(&b'\n');
    let is_there = |at: usize| begins_a_line(at) && text.get(at..).is_some_and(|rest| rest.starts_with(name));
    if !is_there(*line) {
        *line = (0..text.len()).find(|at| is_there(*at))?;
    }
    let after = text[*line + name.len()..].split(|byte| *byte == b'\n').next()?;
    let kilobytes: u64 = std::str::from_utf8(after).ok()?.split_ascii_whitespace().next()?.parse().ok()?;
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
