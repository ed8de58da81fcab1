//! Runs the scaling families and prints one row per test: `cargo run --release --example scaling -- [SIZE…]`.
//! With `--write DIR` it writes the tests instead. Each test runs in a process of its own, so that the times include
//! start-up; one that takes longer than 60 s is reported as such. Exit code 1 if an answer is wrong or missing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/families.rs"]
mod families;

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder, sizes @ ..] = arguments.as_slice()
        && flag == "--write"
    {
        return write(folder, &parse(sizes));
    }
    let sizes = parse(&arguments);
    let mut wrong = 0;
    println!("{:<44} {:>9}  answer", "test", "seconds");
    for instance in sizes.iter().flat_map(|&size| families::all(size)) {
        let started = Instant::now();
        let code = run(&instance);
        let expected = if instance.reachable { Some(0) } else { Some(1) };
        let answer = match code {
            Some(0) => "reachable",
            Some(1) => "unreachable",
            Some(3) => "unknown",
            _ => "failed",
        };
        let mark = if code == expected { "" } else { "  WRONG" };
        wrong += u32::from(code != expected);
        println!("{:<44} {:>9.3}  {answer}{mark}", instance.name(), started.elapsed().as_secs_f64());
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// 12 by default: the size herd7 reaches on rings.
fn parse(sizes: &[String]) -> Vec<u32> {
    let sizes: Vec<u32> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() { vec![12] } else { sizes }
}

/// The exit code of `fencepost check -` on one test: 0 reachable, 1 unreachable, 3 unknown.
fn run(instance: &families::Instance) -> Option<i32> {
    let binary = std::env::current_exe().ok()?.parent()?.parent()?.join("fencepost");
    let mut child = Command::new(binary)
        .args(["check", "-", "--model", instance.model, "--time-limit", "60"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .inspect_err(|error| eprintln!("cannot start fencepost (build it first with --release): {error}"))
        .ok()?;
    child.stdin.take()?.write_all(instance.text.as_bytes()).ok()?;
    child.wait().ok()?.code()
}

fn write(folder: &str, sizes: &[u32]) -> ExitCode {
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        for instance in sizes.iter().flat_map(|&size| families::all(size)) {
            std::fs::write(format!("{folder}/{}.litmus", instance.name()), instance.text)?;
        }
        Ok(())
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write to {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
