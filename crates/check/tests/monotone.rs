//! A stronger reading takes executions, races and broken rules away and adds none: what a check with nothing to report
//! under the weakest readings rests on, when it does not try the strongest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fencepost_check::readings::{Settings, Standing};
use fencepost_check::report::{ProtocolAnswer, RaceAnswer, Report, TerminationAnswer};
use fencepost_check::{Models, Options, Test, check, load};
use fencepost_program::program::Feature;
use fencepost_syntax::Source;

fn tests() -> Vec<Test> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut folders = vec![root];
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
    let mut tests = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable test");
        tests.extend(load(&Source::new(file.display().to_string(), text)).0);
    }
    let is_async = |test: &Test| test.program.features.iter().any(|feature| feature.node == Feature::Async);
    tests.retain(is_async);
    tests
}

/// What a check found: what a stronger reading can only take away.
fn found(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    for answer in report.questions.iter().filter(|answer| answer.witness.is_some()) {
        found.push(answer.condition.clone());
    }
    if report.races.answer == RaceAnswer::Found {
        found.extend(report.races.pairs.iter().map(|race| format!("race {} {}", race.first.line, race.second.line)));
    }
    if report.protocol.answer == ProtocolAnswer::Found {
        found.push("protocol".to_owned());
    }
    if report.termination.answer == TerminationAnswer::MayHang {
        found.push("hang".to_owned());
    }
    found
}

#[test]
fn what_the_strongest_readings_find_the_weakest_find_too() {
    let model = Models::shipped("ptx").expect("a model");
    let contested: Vec<_> = model.points.iter().filter(|point| point.standing == Standing::Contested).collect();
    let weakest = contested.iter().fold(Settings::default(), |all, point| all.with(&point.name, point.weakest()));
    let strongest = contested.iter().fold(Settings::default(), |all, point| all.with(&point.name, point.strongest()));
    for test in tests() {
        let report = |readings: &Settings| {
            let time_limit = Some(Duration::from_secs(5));
            check(&test, &model, &Options { readings: readings.clone(), time_limit, ..Options::default() }).report
        };
        let strong = found(&report(&strongest));
        if strong.is_empty() {
            continue;
        }
        let weak = report(&weakest);
        let undecided = weak.verdict.word() == "Unknown" || weak.races.answer == RaceAnswer::Unknown;
        let missing: Vec<&String> = strong.iter().filter(|what| !undecided && !found(&weak).contains(what)).collect();
        assert!(missing.is_empty(), "{}: {missing:?} under the strongest readings only", test.source.name);
    }
}
