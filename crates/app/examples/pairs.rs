//! Pairs of a broken test and its fixed twin, and how a built `fencepost fix` compares with the twin:
//! `cargo run --release --example pairs -- list|compare [--only TEXT] [--seconds N] > corpus/pairs.tsv`.
//!
//! `list` finds the pairs: a test of which its expectation says that something is wrong, and the test of the same folder that
//! is right, has the same questions and differs in the fewest instructions. `compare` repairs every broken one as well
//! and prints the rows of `corpus/pairs.tsv`; figures and the slowest rows go to standard error. `--only` takes the broken
//! tests whose names contain a text. Each repair ends by the work that it takes, as it does by default; `--seconds` limits its
//! time instead.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/twins.rs"]
mod twins;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use twins::{Pair, pairs};

/// What a row says of our repair.
struct Row {
    pair: Pair,
    cost: Option<u64>,
    word: String,
    reason: String,
    time: Duration,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = pairs(&root);
    match arguments.first().map(String::as_str) {
        Some("list") => {
            found.iter().for_each(|pair| println!("{}\t{}\t{}\t{}", pair.broken, pair.fixed, pair.cost, pair.changes));
            ExitCode::SUCCESS
        }
        Some("compare") => {
            let seconds = option("--seconds");
            let only = option("--only").unwrap_or_default();
            let found: Vec<Pair> = found.into_iter().filter(|pair| pair.broken.contains(&only)).collect();
            compare(&root, found, seconds.as_deref())
        }
        _ => {
            eprintln!("error: write `list` or `compare`");
            ExitCode::from(2)
        }
    }
}

/// Examples are built into a folder beside the program.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join(format!("fencepost{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

fn compare(root: &Path, found: Vec<Pair>, seconds: Option<&str>) -> ExitCode {
    let Some(program) = program() else {
        eprintln!("error: there is no `fencepost` beside this program; run `cargo build --release` first");
        return ExitCode::from(2);
    };
    println!("{}", twins::HEAD);
    let mut rows = Vec::new();
    for pair in found {
        let row = repaired(&program, root, pair, seconds);
        let cost = row.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        let Pair { broken, fixed, cost: own, .. } = &row.pair;
        println!("{broken}\t{fixed}\t{own}\t{cost}\t{}\t{}", row.word, row.reason);
        rows.push(row);
    }
    figures(&rows);
    ExitCode::SUCCESS
}

fn repaired(program: &Path, root: &Path, pair: Pair, seconds: Option<&str>) -> Row {
    let begun = Instant::now();
    let file = format!("corpus/{}.litmus", pair.broken);
    let limit = seconds.into_iter().flat_map(|seconds| ["--time-limit", seconds]);
    let ran = Command::new(program).current_dir(root).args(["fix", &file, "--json"]).args(limit).output();
    let time = begun.elapsed();
    let out = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned()).unwrap_or_default();
    let report: serde_json::Value = serde_json::from_str(out.trim()).unwrap_or_default();
    let cost = report["repair"]["cost"].as_u64();
    let word = match report["answer"].as_str() {
        Some("repaired") if report["repair"]["cheapest"] == true => "cheapest",
        Some("repaired") => "best found",
        Some("no-repair") => "none",
        Some("right") => "right",
        _ => "undecided",
    };
    let is_dear = cost.is_none_or(|cost| cost > u64::from(pair.cost));
    let why = report["why"]["message"].as_str().map(|why| format!("{why}; ")).unwrap_or_default();
    let reason = if is_dear { format!("{why}the twin: {}", pair.changes) } else { String::new() };
    Row { pair, cost, word: word.to_owned(), reason, time }
}

fn figures(rows: &[Row]) {
    let all = rows.len().max(1);
    let percent = |number: usize| 100.0 * number as f64 / all as f64;
    let as_good = rows.iter().filter(|row| row.cost.is_some_and(|cost| cost <= u64::from(row.pair.cost))).count();
    let number = |word: &str| rows.iter().filter(|row| row.word == word).count();
    let mut times: Vec<(Duration, &str)> = rows.iter().map(|row| (row.time, row.pair.broken.as_str())).collect();
    times.sort();
    eprintln!("{} pairs", rows.len());
    eprintln!("{as_good} at most as dear as the twin ({:.1} %)", percent(as_good));
    for word in ["cheapest", "best found", "none", "undecided", "right"] {
        eprintln!("{} {word} ({:.1} %)", number(word), percent(number(word)));
    }
    if let Some((median, _)) = times.get(times.len() / 2) {
        eprintln!("median {:.2} s", median.as_secs_f64());
    }
    for (time, name) in times.iter().rev().take(10) {
        eprintln!("{:.1} s {name}", time.as_secs_f64());
    }
}
