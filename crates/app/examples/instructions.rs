//! Counts the instructions of ten fixed commands with `valgrind` and prints them beside the recorded baseline:
//! `cargo build --release && cargo run --release --example instructions`; `-- --write` records a new baseline.
//! Exit code 1 if a command needs more than it may, or so much less that the baseline is to be recorded anew.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/instructions.rs"]
mod instructions;

use std::process::ExitCode;

use instructions::{BASELINE, Counted, complaints, count_all, root};

fn main() -> ExitCode {
    let write = std::env::args().any(|argument| argument == "--write");
    let counted = match count_all(&root().join("target/release/fencepost")) {
        Ok(counted) => counted,
        Err(arguments) => {
            eprintln!("valgrind did not count `fencepost {arguments}`; is it installed, and the program built?");
            return ExitCode::from(2);
        }
    };
    println!("{:<16} {:>14} {:>14} {:>7}", "command", "instructions", "baseline", "ratio");
    let mut lines = String::new();
    for Counted { name, arguments, now, before } in &counted {
        let before = before.unwrap_or(*now);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = *now as f64 / before as f64;
        println!("{name:<16} {now:>14} {before:>14} {ratio:>7.3}");
        lines += &format!("{name} {now} {arguments}\n");
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
    let complaints = complaints(&counted);
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
