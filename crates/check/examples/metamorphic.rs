//! Strengthens tests of the corpus and random programs, one fence, scope, word, barrier or wait at a time, and looks for
//! outcomes, races and broken rules that come with it, for as long as wanted:
//! `cargo run --release -p fencepost-check --example metamorphic -- --count 5000 --seed 1`.
//!
//! Exit code 1 if there was a difference; each is printed as litmus text, made smaller.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::panic)]

#[path = "../tests/suite/metamorphic/mod.rs"]
mod metamorphic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fencepost_check::{Models, Test, load};
use fencepost_syntax::Source;

use metamorphic::{Compared, Random, Readings, Subject, compare, programs};

/// The PTX tests under a folder.
fn tests(folder: &Path) -> Vec<Test> {
    let mut folders = vec![folder.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "litmus") {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a readable test");
        load(&Source::new(file.display().to_string(), text)).0
    };
    let all = files.iter().flat_map(read);
    all.filter(|test| test.program.arch == fencepost_syntax::litmus::Arch::Ptx).collect()
}

fn main() -> ExitCode {
    let (mut count, mut seed, mut folder) = (1000, 0, "corpus".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (argument.as_str(), value.parse::<u64>()) {
            ("--count", Ok(value)) => count = value,
            ("--seed", Ok(value)) => seed = value,
            ("--corpus", _) => folder = value,
            _ => {
                eprintln!("usage: metamorphic [--count N] [--seed N] [--corpus FOLDER]");
                return ExitCode::from(2);
            }
        }
    }
    let model = Models::shipped("ptx").expect("a model");
    let corpus = tests(Path::new(&folder));
    let subjects = [Readings::Weakest, Readings::Strongest].map(|readings| Subject {
        model: &model,
        readings: readings.of(&model),
        time_limit: Duration::from_secs(3),
    });
    let mut tally: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let (mut compared, mut different, mut tried) = (0, 0, 0);
    while compared < count {
        let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(tried));
        tried += 1;
        let random_test;
        let test = if random.chance(2) {
            let text = programs::text(&mut random);
            let source = Source::new(format!("random {}", tried - 1), text);
            random_test = load(&source).0.into_iter().next().expect("a random program is sound");
            &random_test
        } else {
            random.pick(&corpus).expect("a corpus")
        };
        let (kind, result) = compare(&subjects[random.below(2)], test, &mut random);
        let column = match result {
            Compared::Skipped => 0,
            Compared::Same => 1,
            Compared::Different(text) => {
                println!("difference {} (number {}):\n{text}\n", different + 1, tried - 1);
                different += 1;
                2
            }
        };
        tally.entry(format!("{kind:?}")).or_default()[column] += 1;
        compared += u64::from(column > 0);
        if column > 0 && compared % 500 == 0 {
            eprintln!("{compared} of {count}: {different} differences");
        }
    }
    println!("{compared} compared of {tried} tried, {different} different (skipped, same, different): {tally:?}");
    if different > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
