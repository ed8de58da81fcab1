//! Instructions of ten fixed commands, counted with `valgrind` and compared with the recorded numbers.
//!
//! Times on a shared machine vary by half, instruction counts by a thousandth. The commands are a small test of each kind,
//! whole kernels, and folders, so that both the start of the program and each engine show.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A name and the arguments of `fencepost`, run in the root of the repository.
pub(crate) const COMMANDS: [(&str, &str); 10] = [
    ("small-x86", "check corpus/x86/CoRR.litmus"),
    ("small-ptx-7.5", "check corpus/mp/MP+fence.gpu+acquire.gpu@ctas.litmus --model ptx-7.5"),
    ("small-advice", "check corpus/mp/MP+atom.gpu+acquire.gpu@ctas.litmus --model ptx"),
    ("explain", "check corpus/sb/SB+acq_rel.gpu+acq_rel.gpu@ctas.litmus --model ptx --explain"),
    ("all-x86", "check corpus/x86 -j 1 --all"),
    ("kernel-clean", "check corpus/algorithms/01-tma-load/tma-load.litmus -j 1"),
    ("kernel-advice", "check corpus/algorithms/01-tma-load/tma-load-bytes-too-few.litmus -j 1"),
    ("tensor", "check corpus/tcgen05/4-composed-no-before.litmus -j 1"),
    ("compare", "compare sc x86-tso corpus/x86 -j 1"),
    ("machine", "machine lost-pop corpus/compound/fig11c.litmus"),
];

pub(crate) const BASELINE: &str = "crates/app/examples/support/instructions.txt";

/// A command may take so much more than was recorded, in percent, and all together.
const MORE: u64 = 5;
const MORE_IN_ALL: u64 = 10;
/// What takes so much less is to be recorded anew, so that the next change is measured by it.
const LESS: u64 = 10;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command, what it took and what was recorded.
pub(crate) struct Counted {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) now: u64,
    pub(crate) before: Option<u64>,
}

/// What valgrind counts, of all threads; None if it does not.
pub(crate) fn count(program: &Path, arguments: &str) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = command.args(arguments.split(' ')).current_dir(root()).stdout(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// All commands; the first that could not be counted otherwise.
pub(crate) fn count_all(program: &Path) -> Result<Vec<Counted>, &'static str> {
    let baseline = std::fs::read_to_string(root().join(BASELINE)).unwrap_or_default();
    let one = |(name, arguments): (&'static str, &'static str)| {
        let now = count(program, arguments).ok_or(arguments)?;
        Ok(Counted { name, arguments, now, before: recorded(&baseline, name) })
    };
    COMMANDS.into_iter().map(one).collect()
}

/// The recorded number of a command.
fn recorded(baseline: &str, name: &str) -> Option<u64> {
    let line = baseline.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// What is wrong with these counts: what takes more than is allowed, and what takes so much less that it is to be recorded.
pub(crate) fn complaints(counted: &[Counted]) -> Vec<String> {
    let mut found = Vec::new();
    let (mut now, mut before) = (0, 0);
    for Counted { name, arguments, now: own, before: recorded } in counted {
        let name = format!("{name} (fencepost {arguments})");
        let Some(recorded) = recorded else {
            found.push(format!("{name}: nothing is recorded"));
            continue;
        };
        (now, before) = (now + own, before + recorded);
        if own * 100 > recorded * (100 + MORE) {
            found.push(format!("{name}: {own} instructions, {recorded} were recorded: more than {MORE} % more"));
        }
        if own * 100 < recorded * (100 - LESS) {
            found.push(format!("{name}: {own} instructions, {recorded} were recorded: record the lower number"));
        }
    }
    if now * 100 > before * (100 + MORE_IN_ALL) {
        found.push(format!("all: {now} instructions, {before} were recorded: more than {MORE_IN_ALL} % more"));
    }
    found
}
