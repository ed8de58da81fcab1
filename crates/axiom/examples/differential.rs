//! Compares the engines with the brute-force oracle on random programs, for as long as wanted:
//! `cargo run --release -p fencepost-axiom --example differential -- --count 100000 --seed 1`; with `--kind strands`
//! programs of asynchronous operations under the model `ptx`; with `--kind versions` the models `ptx` and `ptx-7.5` with
//! each other.
//!
//! Exit code 1 with the shrunk program on the first difference.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::panic)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::process::ExitCode;

#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Threads,
    Strands,
    Versions,
}

fn versions(count: u64, seed: u64) -> ExitCode {
    let models = support::versions::subjects();
    let mut compared = support::versions::Compared::default();
    for index in 0..count {
        let program = seed.wrapping_mul(1 << 32).wrapping_add(index);
        if let Err(message) = support::versions::run(program, &models, &mut compared) {
            println!("{message}");
            return ExitCode::from(1);
        }
    }
    println!("{compared:?}");
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let mut count = 1000;
    let mut seed = 0;
    let mut kind = Kind::Threads;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (argument.as_str(), value.parse::<u64>(), value.as_str()) {
            ("--count", Ok(value), _) => count = value,
            ("--seed", Ok(value), _) => seed = value,
            ("--kind", _, "threads") => kind = Kind::Threads,
            ("--kind", _, "strands") => kind = Kind::Strands,
            ("--kind", _, "versions") => kind = Kind::Versions,
            _ => {
                eprintln!("usage: differential [--count N] [--seed N] [--kind threads|strands|versions]");
                return ExitCode::from(2);
            }
        }
    }
    if kind == Kind::Versions {
        return versions(count, seed);
    }
    let strands = kind == Kind::Strands;
    let subjects = if strands { support::asynchronous_subjects() } else { support::subjects() };
    let mut tally = support::Tally::default();
    for index in 0..count {
        // Far from the seeds of the test, which count from 0.
        let program = seed.wrapping_mul(1 << 32).wrapping_add(index);
        let compared = match strands {
            true => support::run_strands(program, &subjects[index as usize % subjects.len()], &mut tally),
            false => support::run(program, &subjects, &mut tally),
        };
        if let Err(message) = compared {
            println!("{message}");
            return ExitCode::from(1);
        }
        if (index + 1) % 1000 == 0 {
            eprintln!("{} of {count}: {}", index + 1, tally.summary());
        }
    }
    println!("{}", tally.summary());
    ExitCode::SUCCESS
}
