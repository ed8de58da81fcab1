//! Attacks the limits of a built `fencepost` and prints what does not hold:
//! `cargo run --release --example limits -- sizes|tiny [--seed N] [--count N]`.
//!
//! `sizes` lets every shape of input grow until it is 10 MB large, beyond where it is refused, each size under limits chosen by the seed.
//! `tiny` checks `--count` tests of the corpus, each under several limits that are too small for many of them. A run that
//! takes too long is repeated twice: other work on the machine is no defect. Exit code 1 if anything does not hold.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/hostile.rs"]
mod hostile;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hostile::{Limits, Random, SHAPES, attempt, squeezed, tests_below};

/// Larger inputs are nobody's.
const LARGEST: usize = 10_000_000;
const TRIES: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let Some(program) = program() else {
        eprintln!("error: there is no `fencepost` beside this program; run `cargo build --release` first");
        return ExitCode::from(2);
    };
    let folder = std::env::temp_dir().join(format!("fencepost-limits-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("error: cannot create `{}`: {error}", folder.display());
        return ExitCode::from(2);
    }
    let seed = number("--seed", 1);
    println!("seed {seed}");
    let random = Random(seed);
    let broken = match arguments.first().map(String::as_str) {
        Some("sizes") => sizes(&program, &folder, random),
        Some("tiny") => tiny(&program, &folder, random, number("--count", 200) as usize),
        _ => {
            eprintln!("error: write `sizes` or `tiny`");
            return ExitCode::from(2);
        }
    };
    let _ = std::fs::remove_dir_all(&folder);
    println!("{broken} broken");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Examples are built into a folder beside the program.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join(format!("fencepost{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

fn sizes(program: &Path, folder: &Path, mut random: Random) -> usize {
    let (mut broken, mut runs) = (0, 0);
    for shape in SHAPES {
        let (mut size, mut refused) = (1, None);
        loop {
            let limits = Limits {
                seconds: random.choose(&[0.01, 0.1, 0.5, 2.0]),
                memory: random.choose(&[None, Some(64), Some(256), Some(1024)]),
            };
            let wrong =
                tried(|| attempt(program, folder, shape, size, limits).map(|ran| (limits.broken_by(&ran), ran)));
            runs += 1;
            let code = match &wrong {
                Ok((_, ran)) => ran.code,
                Err(_) => None,
            };
            let told = match wrong {
                Ok((Some(what), _)) => Some(what),
                Ok((None, _)) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(what) = told {
                broken += 1;
                println!("{} {size} under {limits:?}: {what}", shape.name);
            }
            if code == Some(2) {
                refused.get_or_insert(size);
            }
            let next = size * 3 + random.below(size);
            if (shape.text)(next).len() > LARGEST {
                let refused = refused.map_or(String::new(), |size| format!(", refused from {size} on"));
                println!("{}: up to {size}{refused}", shape.name);
                break;
            }
            size = next;
        }
    }
    println!("{runs} runs");
    broken
}

/// Repeats what does not hold.
fn tried<T>(run: impl Fn() -> std::io::Result<(Option<String>, T)>) -> std::io::Result<(Option<String>, T)> {
    let mut last = run()?;
    for _ in 1..TRIES {
        if last.0.is_none() {
            break;
        }
        last = run()?;
    }
    Ok(last)
}

fn tiny(program: &Path, folder: &Path, mut random: Random, count: usize) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut tests = tests_below(&root.canonicalize().unwrap_or(root));
    let (mut broken, mut runs) = (0, 0);
    for _ in 0..count.min(tests.len()) {
        let test = tests.swap_remove(random.below(tests.len()));
        for seconds in [0.001, 0.003, 0.01, 0.03, 0.1] {
            let limits = Limits { seconds, memory: random.choose(&[None, Some(1), Some(12), Some(20), Some(50)]) };
            runs += 1;
            let wrong = tried(|| squeezed(program, folder, &test, limits).map(|wrong| (wrong, ())));
            let wrong = wrong.map_or_else(|error| Some(error.to_string()), |(wrong, ())| wrong);
            if let Some(what) = wrong {
                broken += 1;
                println!("{} under {limits:?}: {what}", test.display());
            }
        }
    }
    println!("{runs} runs");
    broken
}
