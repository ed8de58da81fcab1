//! Compares what is reported of crashes with the definition, and the models of persistent memory with each other, on random
//! programs, for as long as wanted:
//! `cargo run --release -p fencepost-check --example crash_campaign -- --count 10000 --seed 1 --models sbrp,epoch`.
//!
//! `--kind equality` (the default): the crash states of each program under each model, with its default readings and with
//! random ones in turn, are those of the definition. `--kind inclusion`: images of strict persistency are images of epoch
//! persistency, and those of scoped buffered release persistency, but for exceptions of known classes; so are those of the
//! tests in `--corpus FOLDER` (`corpus/persistency`), as far as they are small. `--kind laws`: what
//! must hold of every program. `--kind recovery`: what recovery leaves is what the fixpoint by the letter leaves.
//!
//! Exit code 1 if there was a finding; each is printed as litmus text, made smaller. The same arguments print the same.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::panic)]

#[path = "../tests/suite/crash_compare.rs"]
mod crash_compare;
#[path = "../tests/suite/crash_inclusion.rs"]
mod crash_inclusion;
#[path = "../tests/suite/crash_laws.rs"]
mod crash_laws;
#[path = "../tests/suite/crash_literal.rs"]
mod crash_literal;
#[path = "../tests/suite/crash_programs.rs"]
mod crash_programs;
#[path = "../tests/suite/crash_recovery.rs"]
mod crash_recovery;
#[path = "../tests/suite/crash_shrink.rs"]
mod crash_shrink;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use crash_compare::{MODELS, Subject, Tally, compare};
use crash_inclusion::{Models, Outcome, outcome, outcome_of_test, shrunk, tests};
use crash_laws::{Asked, LAWS};
use crash_programs::{Random, program};
use crash_recovery::Recovered;

/// Readings that a model is compared under: the default ones, and this many sets of random ones.
const READINGS: usize = 24;

/// Tests of the corpus with more events are left out.
const MOST_EVENTS: usize = 64;

/// Programs by number, far from those of the tests, which count from 0.
#[derive(Copy, Clone)]
struct Numbers {
    seed: u64,
    count: u64,
}

impl Numbers {
    fn each(self, mut visit: impl FnMut(u64, u64)) {
        (0..self.count).for_each(|index| visit(index, self.seed.wrapping_mul(1 << 32).wrapping_add(index)));
    }
}

/// A model as it is read by default, and with random readings, in turn.
struct Readings {
    subjects: Vec<Subject>,
}

impl Readings {
    fn new(name: &'static str, seed: u64) -> Readings {
        let (shipped, mut random) = (Subject::shipped(name), Random::new(seed));
        let others = (0..READINGS).map(|_| shipped.with_random_readings(&mut random));
        Readings { subjects: others.flat_map(|other| [shipped.clone(), other]).collect() }
    }

    fn at(&self, index: u64) -> &Subject {
        &self.subjects[index as usize % self.subjects.len()]
    }
}

fn equality(numbers: Numbers, models: &[&'static str]) -> u64 {
    let mut findings = 0;
    for name in models {
        let readings = Readings::new(name, numbers.seed);
        let mut tally = Tally::default();
        numbers.each(|index, number| {
            if let Err(message) = compare(&program(number), readings.at(index), &mut tally) {
                println!("program {number}: {message}");
                findings += 1;
            }
        });
        println!("{name}: {tally}");
    }
    findings
}

fn laws(numbers: Numbers, models: &[&'static str]) -> u64 {
    let mut findings = 0;
    for name in models {
        let readings = Readings::new(name, numbers.seed);
        for law in LAWS {
            let mut asked = Asked::default();
            numbers.each(|index, number| {
                let (program, subject) = (program(number), readings.at(index));
                if law.broken(&program, subject, 1, &mut asked).is_some() {
                    println!("program {number}: {}", law.shrunk(&program, subject));
                    findings += 1;
                }
            });
            println!("{name}, {law:?}: {asked:?}");
        }
    }
    findings
}

fn recovery(numbers: Numbers, models: &[&'static str]) -> u64 {
    let mut findings = 0;
    for name in models {
        let readings = Readings::new(name, numbers.seed);
        let mut tally = crash_recovery::Tally::default();
        numbers.each(|index, number| {
            if let Err(message) = crash_recovery::compare(&Recovered::new(number), readings.at(index), &mut tally) {
                println!("programs {number}: {message}");
                findings += 1;
            }
        });
        println!("{name}: {tally:?}");
    }
    findings
}

fn inclusion(numbers: Numbers, corpus: &Path) -> u64 {
    let models = Models::new();
    let mut tally: BTreeMap<Outcome, u64> = BTreeMap::new();
    numbers.each(|_, number| {
        let program = program(number);
        let found = outcome(&program, &models);
        let is_first = !tally.contains_key(&found) && !matches!(found, Outcome::Included | Outcome::Open);
        if found.is_finding() || is_first {
            println!("program {number}: {}", shrunk(&program, &models));
        }
        *tally.entry(found).or_default() += 1;
    });
    tally.iter().for_each(|(outcome, count)| println!("{outcome:?}: {count}"));
    let findings: u64 = tally.iter().filter(|(outcome, _)| outcome.is_finding()).map(|(_, count)| count).sum();
    findings + corpus_inclusion(&models, corpus)
}

fn corpus_inclusion(models: &Models, corpus: &Path) -> u64 {
    let mut tally: BTreeMap<Outcome, u64> = BTreeMap::new();
    for test in tests(corpus) {
        let found = outcome_of_test(&test, models, MOST_EVENTS);
        if found.is_finding() {
            println!("{}: {found:?}", test.source.name);
        }
        *tally.entry(found).or_default() += 1;
    }
    tally.iter().for_each(|(outcome, count)| println!("corpus, {outcome:?}: {count}"));
    tally.iter().filter(|(outcome, _)| outcome.is_finding()).map(|(_, count)| count).sum()
}

fn main() -> ExitCode {
    let (mut numbers, mut models, mut kind) =
        (Numbers { seed: 1, count: 1000 }, MODELS.to_vec(), "equality".to_owned());
    let mut corpus = "corpus/persistency".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (argument.as_str(), value.parse::<u64>()) {
            ("--count", Ok(count)) => numbers.count = count,
            ("--seed", Ok(seed)) => numbers.seed = seed,
            ("--models", _) if value.split(',').all(|name| MODELS.contains(&name)) => {
                models.retain(|name| value.split(',').any(|wanted| wanted == *name));
            }
            ("--kind", _) => kind = value,
            ("--corpus", _) => corpus = value,
            _ => return usage(),
        }
    }
    let findings = match kind.as_str() {
        "equality" => equality(numbers, &models),
        "inclusion" => inclusion(numbers, Path::new(&corpus)),
        "laws" => laws(numbers, &models),
        "recovery" => recovery(numbers, &models),
        _ => return usage(),
    };
    println!("{findings} findings");
    if findings > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

fn usage() -> ExitCode {
    eprintln!("usage: crash_campaign [--count N] [--seed N] [--kind KIND] [--models NAMES] [--corpus FOLDER]");
    eprintln!("kinds: equality, inclusion, laws, recovery\nmodels: {}", MODELS.join(","));
    ExitCode::from(2)
}
