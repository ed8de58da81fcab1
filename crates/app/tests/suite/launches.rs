//! The launches of `corpus/launches` for kernels that nvcc and Triton compiled, and their answers in `expected.tsv`. The
//! modules are no part of the repository: without them only the list is checked. By default the launches run that take less
//! than 0.15 s in a release build; `FENCEPOST_LAUNCHES=all` runs all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, fencepost};
use crate::docs::root;

/// What is said of several launches of one file is the first of these that is said of one.
const ANSWERS: [&str; 4] = ["found", "depends", "unproved", "proved"];

/// One row of the table.
struct Row {
    module: String,
    launch: String,
    answer: String,
    /// Kinds of findings of what is found, readings that what depends on some depends on.
    details: BTreeSet<String>,
    seconds: f64,
}

fn folder() -> PathBuf {
    root().join("corpus/launches")
}

fn set<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    words.map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(folder().join("expected.tsv")).expect("the table");
    let row = |line: &str| {
        let [module, launch, answer, details, seconds, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let details = set(details.split(',').filter(|it| *it != "-"));
        let [module, launch, answer] = [module, launch, answer].map(str::to_owned);
        Row { module, launch, answer, details, seconds: seconds.parse().expect("seconds") }
    };
    table.lines().skip(1).map(row).collect()
}

/// What `kernel --json` tells of each launch of the file.
pub(crate) fn told(module: &Path, launch: &Path) -> Vec<Value> {
    let here = Folder::new();
    let run = fencepost(&here, &["kernel", &module.to_string_lossy(), "--launch", &launch.to_string_lossy(), "--json"]);
    assert!(!run.out.is_empty(), "{}: {}", launch.display(), run.err);
    run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The answer for all launches, and the details of it that the table names.
fn answer(told: &[Value]) -> (&'static str, BTreeSet<String>) {
    let said = |answer: &&&str| told.iter().any(|one| one["answer"] == **answer);
    let answer = *ANSWERS.iter().find(said).unwrap_or(&"nothing");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut details = BTreeSet::new();
    for finding in told.iter().flat_map(|one| list(&one["findings"])) {
        let readings = list(&finding["not_under"]);
        let named = match answer {
            "depends" => readings,
            _ if readings.is_empty() => vec![finding["kind"].clone()],
            _ => Vec::new(),
        };
        details.extend(named.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    (answer, details)
}

#[test]
fn every_launch_has_an_expected_answer_and_every_answer_a_launch() {
    let rows = rows();
    let listed = set(rows.iter().map(|row| row.launch.as_str()));
    let files = fs::read_dir(folder()).expect("the folder").flatten();
    let names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let there = set(names.iter().map(String::as_str).filter(|name| name.ends_with(".toml")));
    assert_eq!(listed, there);
    let pairs: BTreeSet<_> = rows.iter().map(|row| (&row.module, &row.launch)).collect();
    assert_eq!(pairs.len(), rows.len(), "a launch of a module is listed twice");
    for Row { module, launch, answer, details, .. } in &rows {
        assert!(ANSWERS.contains(&answer.as_str()), "{module} {launch}: {answer}");
        let has_details = matches!(answer.as_str(), "found" | "depends");
        assert_eq!(!details.is_empty(), has_details, "{module} {launch}: {details:?}");
        // `cuda_sync.sm90a.ptx` and `cuda_sync.mp_release_acquire.toml`: a launch is named after its modules.
        let family = launch.split('.').next().unwrap_or("");
        assert!(module.starts_with(family), "{module} {launch}");
        let text = fs::read_to_string(folder().join(launch)).expect("a launch");
        assert!(text.starts_with("# "), "{launch} does not say what it is");
    }
}

#[test]
fn compiled_kernels_have_the_answers_that_the_table_gives() {
    let base = std::env::var_os("FENCEPOST_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    let modules = base.join("real-ptx");
    if !modules.is_dir() {
        println!("note: no real-ptx at $FENCEPOST_CORPORA or ../shared/corpora: no launch is run");
        return;
    }
    let all = std::env::var("FENCEPOST_LAUNCHES").is_ok_and(|which| which == "all");
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows().into_iter().filter(|row| all || row.seconds < 0.15) {
        if !modules.join(&row.module).is_file() {
            println!("note: no {} there: not run under {}", row.module, row.launch);
            continue;
        }
        let told = told(&modules.join(&row.module), &folder().join(&row.launch));
        let (answer, details) = answer(&told);
        if (answer, &details) != (row.answer.as_str(), &row.details) {
            wrong.push(format!(
                "{} {}: {} {:?}, got {answer} {details:?}",
                row.module, row.launch, row.answer, row.details
            ));
        }
        count += 1;
    }
    assert!(count >= 80, "only {count} launches");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
