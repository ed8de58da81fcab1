//! Changes texts of every notation at random and sees how the program takes it, for as long as wanted:
//! `cargo build --release && cargo run --release -p fencepost --example mutants -- --count 20000 --seed 1`.
//! The program that runs is the one beside this example. `--keep DIR` writes the mutants that go wrong.
//!
//! Exit code 1 if one did.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::panic, clippy::expect_used)]

#[path = "../tests/suite/common/mutants.rs"]
mod mutants;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mutants::{Mutant, Notation, Runner, Seeds, read};

fn main() -> ExitCode {
    let (mut count, mut seed, mut keep) = (1000, 0, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (argument.as_str(), value.parse::<u64>()) {
            ("--count", Ok(value)) => count = value,
            ("--seed", Ok(value)) => seed = value,
            ("--keep", _) => keep = Some(PathBuf::from(value)),
            _ => {
                eprintln!("usage: mutants [--count N] [--seed N] [--keep DIR]");
                return ExitCode::from(2);
            }
        }
    }
    let seeds = Seeds::new();
    let folder = std::env::temp_dir().join(format!("fencepost-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let beside = std::env::current_exe().ok().and_then(|it| Some(it.parent()?.parent()?.join("fencepost")));
    let binary = beside.expect("the program lies beside its examples");
    let runner = Runner { binary, folder: folder.clone(), patience: Duration::from_secs(10) };
    let mut codes: BTreeMap<Notation, [u64; 4]> = BTreeMap::new();
    let (mut wrong, mut slowest) = (0, Duration::ZERO);
    for index in 0..count {
        let number = seed.wrapping_mul(1 << 32).wrapping_add(index);
        let mutant = Mutant::new(&seeds, number);
        let start = Instant::now();
        let read = catch_unwind(AssertUnwindSafe(|| read(&mutant))).unwrap_or_else(|_| Err("a panic".to_owned()));
        let run = read.and_then(|()| runner.run(&mutant, number));
        slowest = slowest.max(start.elapsed());
        match run {
            Ok(code) => codes.entry(mutant.notation).or_default()[code as usize] += 1,
            Err(what) => {
                wrong += 1;
                println!("{number} ({}): {}", mutant.notation.name(), what.chars().take(2000).collect::<String>());
                if let Some(folder) = &keep {
                    let _ = std::fs::create_dir_all(folder);
                    let _ = std::fs::write(folder.join(format!("{number}.{}", mutant.notation.name())), &mutant.bytes);
                }
            }
        }
        if (index + 1) % 1000 == 0 {
            eprintln!("{} of {count}: {wrong} wrong, the slowest {slowest:?}", index + 1);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{:<10} {:>7} {:>7} {:>7} {:>7}", "notation", "exit 0", "exit 1", "exit 2", "exit 3");
    for (notation, [good, bad, broken, unknown]) in &codes {
        println!("{:<10} {good:>7} {bad:>7} {broken:>7} {unknown:>7}", notation.name());
    }
    println!("{count} mutants, {wrong} wrong, the slowest took {slowest:?}");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
