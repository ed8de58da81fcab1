//! Compares the engines with the brute-force oracle on random programs, for as long as wanted:
//! `cargo run --release -p fencepost-axiom --example differential -- --count 100000 --seed 1`.
//!
//! Exit code 1 with the shrunk program on the first difference.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::panic)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut count = 1000;
    let mut seed = 0;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
        match (argument.as_str(), value) {
            ("--count", Some(value)) => count = value,
            ("--seed", Some(value)) => seed = value,
            _ => {
                eprintln!("usage: differential [--count N] [--seed N]");
                return ExitCode::from(2);
            }
        }
    }
    let subjects = support::subjects();
    let mut tally = support::Tally::default();
    for index in 0..count {
        // Far from the seeds of the test, which count from 0.
        let program = seed.wrapping_mul(1 << 32).wrapping_add(index);
        if let Err(message) = support::run(program, &subjects, &mut tally) {
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
