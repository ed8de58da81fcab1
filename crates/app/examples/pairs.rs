//! Pairs of a broken test and its fixed twin, and how a built `fencepost fix` compares with the twin:
//! `cargo run --release --example pairs -- list|compare|redundant [--only TEXT] [--seconds N] [--patience N] > corpus/pairs.tsv`.
//!
//! `list` finds the pairs: a test of which its expectation says that something is wrong, and the test of the same folder that
//! is right, has the same questions and differs in the fewest instructions. `compare` repairs every broken one as well
//! and prints the rows of `corpus/pairs.tsv`. It then asks `fencepost check` about each repaired text: both engines, two more
//! rounds of loops ([`confirm`]). What was not confirmed, figures and the slowest rows go to standard error. `--only` takes the
//! broken tests whose names contain a text. Each repair ends by the work that it takes, as it does by default; `--seconds` limits
//! its time instead, `--patience` that of each check (60).
//!
//! `redundant` prints what `fencepost slim` finds in the fixed twins, with `--all` in all tests that are right and follow published
//! code, and asks `check` in the same way. `--only` is about their names then.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/confirm.rs"]
mod confirm;
#[path = "support/redundant.rs"]
mod redundant;
#[path = "support/twins.rs"]
mod twins;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use confirm::{Answered, Asked, Confirmed, Confirming, Counted};
use fencepost_check::load;
use fencepost_report::fix::{FixAnswer, FixReport};
use fencepost_syntax::Source;
use fencepost_syntax::litmus::Litmus;
use twins::{Pair, pairs};

/// Folders with tests that follow published code.
const PUBLISHED: [&str; 2] = ["algorithms", "wild"];

/// What a row says of our repair.
struct Row {
    pair: Pair,
    cost: Option<u64>,
    word: String,
    reason: String,
    time: Duration,
    /// None where there is no repair.
    checked: Option<Checked>,
}

/// What confirms a repair.
struct Checked {
    /// What `fix` says of it: confirmed by the other engine, and with more rounds.
    told: [Confirmed; 2],
    /// What `check` says of the repaired text, or why there is none.
    asked: Result<Answered, String>,
    /// With more of the rounds that the text counts; None where it counts none.
    counted: Option<Counted>,
    /// What `check` says of the broken text: it must see that.
    broken: Confirmed,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = pairs(&root);
    let only = option("--only").unwrap_or_default();
    let confirming = || {
        let program =
            program().ok_or("there is no `fencepost` beside this program; run `cargo build --release` first")?;
        let patience = option("--patience").unwrap_or_else(|| "60".to_owned());
        Confirming::new(program, patience).map_err(|error| error.to_string())
    };
    match arguments.first().map(String::as_str) {
        Some("list") => {
            found.iter().for_each(|pair| println!("{}\t{}\t{}\t{}", pair.broken, pair.fixed, pair.cost, pair.changes));
            Ok(())
        }
        Some("compare") => {
            found.retain(|pair| pair.broken.contains(&only));
            compare(&confirming()?, &root, found, option("--seconds").as_deref()).map_err(|error| error.to_string())
        }
        Some("redundant") => {
            let mut tests: BTreeSet<String> = found.into_iter().map(|pair| pair.fixed).collect();
            if arguments.iter().any(|argument| argument == "--all") {
                tests.extend(PUBLISHED.iter().flat_map(|folder| twins::right(&root, folder)));
            }
            tests.retain(|test| test.contains(&only));
            redundant::list(&confirming()?, &root, &tests).map_err(|error| error.to_string())
        }
        _ => Err("write `list`, `compare` or `redundant`".to_owned()),
    }
}

/// Examples are built into a folder beside the program.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join(format!("fencepost{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

fn compare(confirming: &Confirming, root: &Path, found: Vec<Pair>, seconds: Option<&str>) -> std::io::Result<()> {
    println!("{}", twins::HEAD);
    let mut rows = Vec::new();
    for pair in found {
        let row = repaired(confirming, root, pair, seconds)?;
        let cost = row.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        let Pair { broken, fixed, cost: own, .. } = &row.pair;
        println!("{broken}\t{fixed}\t{own}\t{cost}\t{}\t{}", row.word, row.reason);
        rows.push(row);
    }
    figures(&rows);
    confirmations(&rows);
    Ok(())
}

/// Repairs a copy of the broken test, with its expectation beside it, in place.
fn repaired(confirming: &Confirming, root: &Path, pair: Pair, seconds: Option<&str>) -> std::io::Result<Row> {
    let corpus = root.join("corpus");
    let file = confirming.folder.join("broken.litmus");
    for ending in ["litmus", "expect"] {
        std::fs::copy(corpus.join(format!("{}.{ending}", pair.broken)), file.with_extension(ending))?;
    }
    let own = |name: &String| corpus.join(format!("{name}.litmus"));
    let limit = seconds.into_iter().flat_map(|seconds| ["--time-limit", seconds]);
    let mut command = Command::new(&confirming.program);
    command.arg("fix").arg(&file).args(["--json", "--write"]).args(limit);
    let begun = Instant::now();
    let out = String::from_utf8_lossy(&command.output()?.stdout).into_owned();
    let time = begun.elapsed();
    let report: Option<FixReport> = serde_json::from_str(out.trim()).ok();
    let repair = report.as_ref().and_then(|report| report.repair.as_ref());
    let word = match report.as_ref().map(|report| report.answer) {
        Some(FixAnswer::Repaired) if repair.is_some_and(|repair| repair.cheapest) => "cheapest",
        Some(FixAnswer::Repaired) => "best found",
        Some(FixAnswer::NoRepair) => "none",
        Some(FixAnswer::Right) => "right",
        Some(FixAnswer::Undecided) | None => "undecided",
    };
    let cost = repair.map(|repair| u64::from(repair.cost));
    let is_dear = cost.is_none_or(|cost| cost > u64::from(pair.cost));
    let why = report.as_ref().and_then(|report| report.why.as_ref());
    let why = why.map(|why| format!("{}; ", why.message)).unwrap_or_default();
    let reason = if is_dear { format!("{why}the twin: {}", pair.changes) } else { String::new() };
    let checked = match report.as_ref().filter(|report| report.repair.is_some()) {
        Some(report) => Some(checked(confirming, report, &file, [&pair.broken, &pair.fixed].map(own))?),
        None => None,
    };
    Ok(Row { pair, cost, word: word.to_owned(), reason, time, checked })
}

/// What confirms the repair that was written into a file.
fn checked(
    confirming: &Confirming,
    report: &FixReport,
    file: &Path,
    [broken, fixed]: [PathBuf; 2],
) -> std::io::Result<Checked> {
    let repair = report.repair.as_ref();
    let told = |why: Option<&fencepost_report::WhyUnknown>| why.map_or(Ok(()), |why| Err(why.message.clone()));
    let told = [
        told(repair.and_then(|repair| repair.second_engine.as_ref())),
        told(repair.and_then(|repair| repair.more_rounds.as_ref())),
    ];
    let (text, twin) = (std::fs::read_to_string(file)?, std::fs::read_to_string(fixed)?);
    let asked = Asked { model: &report.model, wants: &report.wants };
    let litmus = parsed(&text).filter(|_| repair.is_some_and(|repair| repair.writable));
    let counted = litmus.as_ref().zip(parsed(&twin)).and_then(|(ours, twin)| confirming.counted((ours, &twin), &asked));
    let litmus = litmus.ok_or_else(|| "the text has no place for it".to_owned());
    let broken = confirming.by(&std::fs::read_to_string(broken)?, &asked, &[]).0;
    Ok(Checked { told, asked: litmus.map(|litmus| confirming.confirm(&text, &litmus, &asked)), counted, broken })
}

fn parsed(text: &str) -> Option<Litmus> {
    let (mut tests, _) = load(&Source::new("test".to_owned(), text.to_owned()));
    Some(tests.pop()?.litmus)
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

/// A way to confirm a repair: its words, and what came of it. None where it does not apply.
type Way = (&'static str, fn(&Checked) -> Option<Confirmed>);

/// By what is asked of the text, a repair that has none is confirmed by nobody.
const WAYS: [Way; 6] = [
    ("fix: the other engine", |it| Some(it.told[0].clone())),
    ("fix: two more rounds", |it| Some(it.told[1].clone())),
    ("check: enumeration", |it| Some(it.asked.as_ref().map_or_else(|why| Err(why.clone()), |it| it.enumerate.clone()))),
    ("check: SAT", |it| Some(it.asked.as_ref().map_or_else(|why| Err(why.clone()), |it| it.sat.clone()))),
    ("check: loops unrolled twice more", |it| {
        it.asked.as_ref().map_or_else(|why| Some(Err(why.clone())), |it| it.unrolled.clone())
    }),
    ("check: two more counted rounds", |it| match it.counted.as_ref()? {
        Counted::Asked(answer) => Some(answer.clone()),
        Counted::WrongTwin => None,
    }),
];

fn confirmations(rows: &[Row]) {
    let repaired: Vec<(&Row, &Checked)> = rows.iter().filter_map(|row| Some((row, row.checked.as_ref()?))).collect();
    eprintln!("{} repairs", repaired.len());
    for (name, way) in WAYS {
        let answers: Vec<(&Row, Confirmed)> =
            repaired.iter().filter_map(|(row, checked)| Some((*row, way(checked)?))).collect();
        let confirmed = answers.iter().filter(|(_, answer)| answer.is_ok()).count();
        eprintln!("{name}: {confirmed} of {} confirmed", answers.len());
        for (row, answer) in answers {
            if let Err(why) = answer {
                eprintln!("  {}: {why}", row.pair.broken);
            }
        }
    }
    let is_left_out = |(_, checked): &&(&Row, &Checked)| matches!(checked.counted, Some(Counted::WrongTwin));
    eprintln!(
        "{} more count rounds, and their twin is wrong with two more",
        repaired.iter().filter(is_left_out).count()
    );
    let unseen: Vec<&Row> =
        repaired.iter().filter(|(_, checked)| checked.broken.is_ok()).map(|(row, _)| *row).collect();
    eprintln!("check: {} of {} broken tests are wrong", repaired.len() - unseen.len(), repaired.len());
    unseen.iter().for_each(|row| eprintln!("  {}: nothing is wrong with the broken test", row.pair.broken));
}
