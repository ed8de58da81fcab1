//! What is stronger takes executions, races and broken rules away and adds none. A stronger reading: what a check with
//! nothing to report under the weakest readings rests on, when it does not try the strongest. A stronger program: a sample of
//! what `examples/metamorphic.rs` compares.

use std::time::Duration;

use fencepost_check::model::readings::Settings;
use fencepost_check::options::CrossCheck;
use fencepost_check::{Models, Options, Test, check, load};
use fencepost_program::program::Feature;
use fencepost_report::{ProtocolAnswer, RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_syntax::litmus::Arch;

use crate::{corpus, metamorphic};
use metamorphic::{Compared, Random, Readings, Subject, compare, programs};

/// The PTX tests of the corpus, without the rows of templates.
fn tests() -> Vec<&'static Test> {
    let is_one = |test: &&Test| test.source.name.ends_with(".litmus") && test.program.arch == Arch::Ptx;
    corpus::tests().iter().filter(is_one).collect()
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
    let (weakest, strongest) = (Readings::Weakest.of(&model), Readings::Strongest.of(&model));
    let is_async = |test: &&Test| test.program.features.iter().any(|feature| feature.node == Feature::Async);
    for test in tests().into_iter().filter(is_async) {
        let report = |readings: &Settings| {
            let (budget, cross_check) = (fencepost_check::Budget::of_time(Duration::from_secs(5)), CrossCheck::Off);
            let options = Options { readings: readings.clone(), budget, cross_check, ..Options::default() };
            check(test, &model, &options).report
        };
        let strong = found(&report(&strongest));
        if !strong.is_empty() {
            assert_contains(test, &report(&weakest), &strong, "the strongest readings");
        }
    }
}

/// What a stronger reading found is there under a weaker one.
fn assert_contains(test: &Test, weak: &Report, strong: &[String], under: &str) {
    let undecided = weak.verdict.word() == "Unknown" || weak.races.answer == RaceAnswer::Unknown;
    let missing: Vec<&String> = strong.iter().filter(|what| !undecided && !found(weak).contains(what)).collect();
    assert!(missing.is_empty(), "{}: {missing:?} under {under} only", test.source.name);
}

/// Values between the ends of a point need not be comparable with each other, but they are with the ends: so an answer that
/// is the same at both ends is the same between them.
#[test]
fn what_lies_between_the_ends_of_a_reading_is_between_them() {
    let model = Models::shipped("ptx").expect("a model");
    let points: Vec<_> = model.points.iter().filter(|point| point.values.len() > 2).collect();
    assert!(points.iter().any(|point| point.name == "async-fence"));
    let mut apart = 0;
    for test in tests().into_iter().filter(|test| test.source.name.contains("/async/fences/")) {
        for point in &points {
            let report = |value: &str| {
                let readings = Settings::default().with(&point.name, value);
                check(test, &model, &Options { readings, ..Options::default() }).report
            };
            let (weak, strong) = (report(point.weakest()), report(point.strongest()));
            let between: Vec<Report> =
                point.values[1..point.values.len() - 1].iter().map(|value| report(value)).collect();
            for (value, middle) in point.values[1..].iter().zip(&between) {
                assert_contains(test, &weak, &found(middle), value);
                assert_contains(test, middle, &found(&strong), point.strongest());
            }
            let differs = |one: &Report| between.iter().any(|other| found(one) != found(other));
            apart += usize::from(between.iter().any(differs));
        }
    }
    assert!(apart >= 3, "only {apart} tests tell the values between apart");
}

/// A limit of the rule about writes that are left out, with its reason in docs/testing.md: a release is widened on one way of a
/// branch, and that of the same flag on the other is not.
fn is_known(difference: &str) -> bool {
    const TESTS: [&str; 2] = ["LB+left-out-loop-alike", "LB+left-out-twice"];
    let first = difference.lines().next().unwrap_or_default();
    TESTS.iter().any(|test| first.contains(&format!("/{test}.litmus: `.release.")))
}

/// The long run is `cargo run --release -p fencepost-check --example metamorphic -- --count 5000` (docs/testing.md).
#[test]
fn a_stronger_program_does_nothing_more() {
    const SEED: u64 = 1 << 20;
    const COMPARED: usize = 150;
    let model = Models::shipped("ptx").expect("a model");
    let corpus = tests();
    let subjects = [Readings::Weakest, Readings::Strongest].map(|readings| {
        let readings = readings.of(&model);
        Subject { model: &model, readings, time_limit: Duration::from_secs(1) }
    });
    let mut compared = 0;
    for number in 0.. {
        let mut random = Random::new(SEED + number);
        let text = programs::text(&mut random);
        let drawn = load(&Source::new("random", text)).0;
        let test = if random.chance(2) { drawn.first() } else { random.pick(&corpus).copied() }.expect("a test");
        match compare(&subjects[random.below(2)], test, &mut random).1 {
            Compared::Skipped => {}
            Compared::Same => compared += 1,
            Compared::Different(text) if is_known(&text) => {}
            Compared::Different(text) => panic!("number {number}: {text}"),
        }
        if compared == COMPARED {
            return;
        }
    }
}
