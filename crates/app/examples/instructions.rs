//! Counts the instructions of ten fixed commands with `valgrind` and prints them beside the recorded baseline:
//! `cargo build --release && cargo run --release --example instructions`; `-- --write` records a new baseline.
//!
//! Times on a shared machine vary by half, instruction counts by a thousandth. The commands are a small test of each kind,
//! whole kernels, and folders, so that both the start of the program and each engine show.
//! Exit code 1 if a command needs 5 % more than its baseline.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A name and the arguments of `fencepost`, run in the root of the repository.
const COMMANDS: [(&str, &str); 10] = [
    ("small-x86", "check corpus/x86/CoRR.litmus"),
    ("small-ptx-7.5", "check corpus/mp/MP+fence.gpu+acquire.gpu@ctas.litmus --model ptx-7.5"),
    ("small-advice", "check corpus/mp/MP+atom.gpu+acquire.gpu@ctas.litmus --model ptx"),
    ("explain", "check corpus/sb/SB+acq_rel.gpu+acq_rel.gpu@ctas.litmus --model ptx --explain"),
    ("all-x86", "check corpus/x86 -j 1 --all"),
    ("kernel-clean", "check corpus/algorithms/01-tma-load/tma-load.litmus -j 1"),
    ("kernel-advice", "check corpus/algorithms/01-tma-load/tma-load-bytes-too-few.litmus -j 1"),
    ("tensor", "check corpus/tcgen05/4-composed-no-before.litmus -j 1"),
    ("compare", "compare sc x86-tso corpus/x86 -j 1"),
    ("machine", "machine lost-pop corpus/compound -j 1"),
];

const BASELINE: &str = "crates/app/examples/support/instructions.txt";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What valgrind counts, of all threads.
fn count(program: &Path, arguments: &str) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = command.args(arguments.split(' ')).current_dir(root()).stdout(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// The recorded number of a command.
fn recorded(baseline: &str, name: &str) -> Option<u64> {
    let line = baseline.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() -> ExitCode {
    let write = std::env::args().any(|argument| argument == "--write");
    let program = root().join("target/release/fencepost");
    let baseline = std::fs::read_to_string(root().join(BASELINE)).unwrap_or_default();
    let mut lines = String::new();
    let mut is_worse = false;
    println!("{:<16} {:>14} {:>14} {:>7}", "command", "instructions", "baseline", "ratio");
    for (name, arguments) in COMMANDS {
        let Some(counted) = count(&program, arguments) else {
            eprintln!(
                "{name}: valgrind did not count `fencepost {arguments}`; is it installed, and the program built?"
            );
            return ExitCode::from(2);
        };
        let before = recorded(&baseline, name).unwrap_or(counted);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = counted as f64 / before as f64;
        is_worse |= ratio > 1.05;
        println!("{name:<16} {counted:>14} {before:>14} {ratio:>7.3}");
        lines += &format!("{name} {counted} {arguments}\n");
    }
    if write {
        return match std::fs::write(root().join(BASELINE), lines) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{BASELINE}: {error}");
                ExitCode::from(2)
            }
        };
    }
    if is_worse { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
