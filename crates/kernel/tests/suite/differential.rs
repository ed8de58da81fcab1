//! Random kernels: what one run with clocks says, and what the axioms of `models/ptx.cat` say of all executions.
//!
//! FENCEPOST_KERNELS=N checks N programs, FENCEPOST_KERNELS_FROM=S starts at seed S.

use std::collections::BTreeMap;

use crate::compare::{Kind, compare, shrunk};
use crate::program::Program;
use crate::sides::Readings;
use crate::{atomics, edits, ends, flags, locks};

/// Programs of `cargo test`, per policy.
const SAMPLE: u64 = 300;

#[derive(Default, Debug)]
struct Figures {
    programs: u64,
    proved: u64,
    racy: u64,
    hangs: u64,
    errors: u64,
    doubtful: u64,
    undecided: u64,
    /// Programs that the axioms find clean, with one outcome, and how many of them are proved.
    right: u64,
    right_proved: u64,
    /// The same of those with any number of outcomes.
    clean: u64,
    clean_proved: u64,
    /// Programs in which a CTA may end before an access to its memory: of the axioms, and those of which a run says so.
    early: u64,
    early_found: u64,
    unproved: BTreeMap<String, u64>,
    kinds: BTreeMap<Kind, Vec<u64>>,
    /// By kind of program: how many, those that are right, and of those the proved ones.
    by_kind: BTreeMap<&'static str, [u64; 3]>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(readings: Readings, program_of: fn(u64) -> Program, sample: u64) -> Figures {
    let count = number("FENCEPOST_KERNELS").unwrap_or(sample);
    let from = number("FENCEPOST_KERNELS_FROM").unwrap_or(1);
    let mut figures = Figures::default();
    for seed in from..from + count {
        let program = program_of(seed);
        if number("FENCEPOST_KERNELS_TRACE").is_some() {
            eprintln!("{readings:?} seed {seed}");
        }
        let compared = compare(&program, readings);
        let (kernel, model) = (&compared.kernel, &compared.model);
        figures.programs += 1;
        figures.proved += u64::from(kernel.is_proved());
        figures.racy += u64::from(!kernel.races.is_empty());
        figures.hangs += u64::from(kernel.hang);
        figures.errors += u64::from(!kernel.protocol.is_empty() || !kernel.other.is_empty());
        figures.doubtful += u64::from(!kernel.is_sure());
        figures.undecided += u64::from(!model.is_decided());
        let right = model.is_clean() && model.outcomes == Some(1);
        figures.early += u64::from(model.ends_early());
        figures.early_found += u64::from(model.ends_early() && kernel.ends_early());
        if number("FENCEPOST_KERNELS_UNPROVED").is_some() && model.ends_early() && !kernel.ends_early() {
            eprintln!("seed {seed} ends early and is not found: {kernel:?}\n{}", program.litmus().text);
        }
        figures.clean += u64::from(model.is_clean());
        figures.clean_proved += u64::from(model.is_clean() && kernel.is_proved());
        let of_kind = figures.by_kind.entry(edits::kind_of(seed)).or_default();
        of_kind[0] += 1;
        of_kind[1] += u64::from(right);
        of_kind[2] += u64::from(right && kernel.is_proved());
        if right {
            figures.right += 1;
            figures.right_proved += u64::from(kernel.is_proved());
            if !kernel.is_proved() {
                let why = if kernel.flags {
                    "flags".to_owned()
                } else {
                    let doubt = kernel.doubts.first().map_or(String::new(), |doubt| doubt.clone());
                    doubt.split(" at ").next().unwrap_or_default().to_owned()
                };
                if number("FENCEPOST_KERNELS_UNPROVED").is_some() {
                    eprintln!("seed {seed} is right and not proved: {kernel:?}\n{}", program.litmus().text);
                }
                *figures.unproved.entry(why).or_default() += 1;
            }
        }
        for kind in &compared.kinds {
            figures.kinds.entry(*kind).or_default().push(seed);
        }
    }
    eprintln!("{readings:?}: {figures:?} of seeds {from} to {}", from + count - 1);
    // The smallest program of every kind that must not be.
    let shown = number("FENCEPOST_KERNELS_SHOW").unwrap_or(2) as usize;
    let all = number("FENCEPOST_KERNELS_ALL").is_some();
    for (kind, seeds) in &figures.kinds {
        if !kind.is_wrong() && !all {
            continue;
        }
        for seed in seeds.iter().take(shown) {
            let small = shrunk(&program_of(*seed), readings, *kind);
            let compared = compare(&small, readings);
            eprintln!(
                "== {kind} under {readings:?}, seed {seed}\n{}\nkernel: {:?}\nmodel: {:?}\n",
                small.litmus().text,
                compared.kernel,
                compared.model
            );
        }
    }
    figures
}

fn hold(readings: Readings, program_of: fn(u64) -> Program) {
    let figures = none_wrong(readings, program_of, SAMPLE);
    assert!(figures.right_proved * 10 >= figures.right * 9, "{figures:?}");
}

fn none_wrong(readings: Readings, program_of: fn(u64) -> Program, sample: u64) -> Figures {
    let figures = run(readings, program_of, sample);
    let wrong: Vec<(&Kind, &Vec<u64>)> = figures.kinds.iter().filter(|(kind, _)| kind.is_wrong()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    figures
}

#[test]
fn one_run_and_the_axioms_agree_under_the_weakest_readings() {
    hold(Readings::Weakest, edits::program);
}

#[test]
fn one_run_and_the_axioms_agree_under_the_strongest_readings() {
    hold(Readings::Strongest, edits::program);
}

/// Flags, counters and loops that wait for them.
#[test]
fn one_run_and_the_axioms_agree_about_flags() {
    hold(Readings::Weakest, flags::program);
}

/// Locks and tickets: every order of them. Who comes first shows, so that right programs have several outcomes.
#[test]
fn the_orders_of_locks_and_the_axioms_agree() {
    let figures = none_wrong(Readings::Weakest, locks::program, 120);
    assert!(figures.clean_proved * 10 >= figures.clean * 7, "{figures:?}");
}

/// CTAs of a cluster that access each other's shared memory, and end: nothing but doubts where the two differ.
#[test]
fn one_run_and_the_axioms_agree_about_the_ends_of_ctas() {
    let figures = none_wrong(Readings::Weakest, ends::program, 60);
    assert!(figures.early_found * 10 >= figures.early * 9 && figures.early > 0, "{figures:?}");
    assert!(figures.clean_proved * 10 >= figures.clean * 8, "{figures:?}");
}

/// Compare-and-swaps, exchanges and additions without locks, observed and followed by weak accesses; vectors.
#[test]
fn one_run_and_the_axioms_agree_about_atomics() {
    let figures = none_wrong(Readings::Weakest, atomics::program, 300);
    assert!(!figures.kinds.contains_key(&Kind::FalseRaceWithDoubts), "{figures:?}");
}

/// What the other generators make, where every contested point is read in favour of the program.
#[test]
fn one_run_and_the_axioms_agree_about_all_of_it_under_the_strongest_readings() {
    for program_of in [flags::program, locks::program, ends::program, atomics::program] {
        none_wrong(Readings::Strongest, program_of, 40);
    }
}
