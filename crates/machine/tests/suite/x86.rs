//! x86-TSO twice: LOST-POP's x86 and the store-buffer machine have the same outcomes, on our corpus, on the public one,
//! and on random programs.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_machine::explore::{Aim, Limits};
use fencepost_machine::lostpop::rules::{Rules, Satisfaction};
use fencepost_machine::machine::Stuck;
use fencepost_machine::model::{Model, Wanted};
use fencepost_machine::requests::{Architecture, Instruction, Placement, Requests, Semantics, Straight};
use fencepost_program::program::{Place, Scope};
use fencepost_program::unfolding::FinalState;
use fencepost_syntax::litmus::Arch;

use crate::random::{self, Ingredients, Random, shrink};
use crate::support::{Verdict, ask, corpus, finally, lostpop, outcomes, parse, program, root, unfolded, within};

pub(crate) fn litmus_files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            litmus_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
}

/// Tests of ours in which a read is satisfied early (see `lostpop_as_published_is_weaker_than_tso`).
const SHOW_THE_WEAKNESS: [&str; 2] = ["Own-write-early.litmus", "Own-write-early+observer.litmus"];

/// How many tests were compared, and what could not be.
fn compare(files: &[std::path::PathBuf], states: u64) -> (u32, Vec<String>) {
    let (mut compared, mut left_out) = (0, Vec::new());
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("readable");
        if !text.trim_start().to_ascii_uppercase().starts_with("X86") {
            continue;
        }
        let Some(program) = program(&text).filter(|it| it.unsupported.is_empty() && it.arch != Arch::Ptx) else {
            left_out.push(format!("{name}: not understood"));
            continue;
        };
        let Some(unfolding) = unfolded(&program) else {
            left_out.push(format!("{name}: not unfolded"));
            continue;
        };
        let requests = match Requests::of(&unfolding, &Placement::of(&program).expect("instructions")) {
            Ok(requests) => requests,
            Err(refused) => {
                left_out.push(format!("{name}: {}", refused.what));
                continue;
            }
        };
        let buffers = within(Model::StoreBuffers, &requests, states);
        let lostpop = within(Model::LostPop(Rules::default()), &requests, states);
        match (buffers, lostpop) {
            (Some(buffers), Some(lostpop)) => {
                assert!(!buffers.is_empty(), "{name} has no outcome");
                let repaired = within(Model::LostPop(Rules::default().satisfying(REPAIRED)), &requests, states);
                assert_eq!(Some(&buffers), repaired.as_ref(), "{name}");
                if SHOW_THE_WEAKNESS.contains(&name.as_str()) {
                    assert!(buffers.is_subset(&lostpop) && buffers != lostpop, "{name}");
                } else {
                    assert_eq!(buffers, lostpop, "{name}");
                }
                compared += 1;
            }
            _ => left_out.push(format!("{name}: more than {states} states")),
        }
    }
    (compared, left_out)
}

/// Every attempt to take a lock by `xchg` writes, so that on a machine no bound is enough.
const ATTEMPTS: [&str; 2] = ["X86-exchange-lock-kept.litmus", "X86-exchange-lock.litmus"];

/// Both processes go into the critical section twice, and on the way there into loops that write.
const TWICE: [&str; 3] = ["burns-twice-x86.litmus", "lamport-bakery-twice-x86.litmus", "szymanski-twice-x86.litmus"];

#[test]
fn on_our_x86_tests_both_machines_have_the_same_outcomes() {
    let mut files = Vec::new();
    litmus_files(&root().join("corpus"), &mut files);
    let (compared, left_out) = compare(&files, 400_000);
    println!("{compared} tests; left out: {left_out:#?}");
    let known: Vec<String> =
        TWICE.iter().chain(&ATTEMPTS).map(|name| format!("{name}: more than 400000 states")).collect();
    assert!(compared >= 40 && left_out == known, "{compared}, {left_out:#?}");
}

#[test]
fn on_the_public_x86_tests_both_machines_have_the_same_outcomes() {
    let Some(folder) = corpus("dat3m-x86") else { return };
    let mut files = Vec::new();
    litmus_files(&folder, &mut files);
    let (compared, left_out) = compare(&files, 3_000_000);
    println!("{compared} tests; left out: {left_out:#?}");
    assert!(compared >= 208 && left_out.is_empty(), "{compared}, {left_out:#?}");
}

const REPAIRED: Satisfaction = Satisfaction::InOrder;

/// Store buffers, LOST-POP, and LOST-POP with reads satisfied in order.
fn outcomes_of(program: &Straight, satisfaction: Satisfaction) -> (BTreeSet<FinalState>, BTreeSet<FinalState>) {
    let requests = program.requests().expect("small");
    let rules = Rules::default().satisfying(satisfaction);
    (outcomes(Model::StoreBuffers, &requests), outcomes(Model::LostPop(rules), &requests))
}

fn on_random_programs(seed: u64, count: u32, ingredients: &Ingredients<'_>) {
    let mut random = Random(seed);
    for number in 0..count {
        let program = random::program(&mut random, ingredients);
        let differs = |program: &Straight| {
            let (buffers, repaired) = outcomes_of(program, REPAIRED);
            let (_, published) = outcomes_of(program, Satisfaction::Early);
            buffers != repaired || !buffers.is_subset(&published)
        };
        if differs(&program) {
            let small = shrink(program, differs);
            let (buffers, repaired) = outcomes_of(&small, REPAIRED);
            let more: Vec<_> = repaired.difference(&buffers).collect();
            let fewer: Vec<_> = buffers.difference(&repaired).collect();
            panic!("seed {seed}, program {number}: {small:#?}\nonly store buffers: {fewer:?}\nonly LOST-POP: {more:?}");
        }
    }
}

const HOST: [(Architecture, Place); 1] = [(Architecture::X86, Place::Host)];

#[test]
fn on_random_programs_lostpop_in_order_is_the_store_buffer_machine_and_as_published_contains_it() {
    let two =
        Ingredients { seats: &HOST, threads: 2, locations: 2, instructions: 8, atomics: 2, scopes: &[Scope::Sys] };
    on_random_programs(1, 300, &two);
    on_random_programs(2, 80, &Ingredients { threads: 3, instructions: 6, ..two });
    on_random_programs(3, 300, &Ingredients { atomics: 0, ..two });
    on_random_programs(4, 100, &Ingredients { locations: 1, atomics: 4, threads: 3, instructions: 6, ..two });
}

/// As published, a read takes its thread's own write before an earlier read has its value; x86-TSO forbids that.
#[test]
fn lostpop_as_published_is_weaker_than_tso() {
    let (program, condition) = finally(parse("x86: W x=1; W y=1 || x86: W x=2; R y // 1; R x // 2"), "x", 1);
    let requests = program.requests().expect("small");
    let verdict = |model| ask(model, &requests, &condition).0;
    assert_eq!(verdict(Model::StoreBuffers), Verdict::Forbidden);
    assert_eq!(verdict(Model::LostPop(Rules::default())), Verdict::Allowed);
    assert_eq!(verdict(Model::LostPop(Rules::default().satisfying(REPAIRED))), Verdict::Forbidden);
    // The same without a final memory, seen by a third thread.
    let seen = parse("x86: W x=1; W y=1 || x86: W x=2; R y // 1; R x // 2 || x86: R x // 2; R x // 1");
    assert_eq!(lostpop(&seen, Rules::default()), Verdict::Allowed);
    assert_eq!(ask(Model::StoreBuffers, &seen.0.requests().expect("small"), &seen.1).0, Verdict::Forbidden);
}

/// SC is x86-TSO with a fence after every instruction.
#[test]
fn lostpop_in_order_under_sc_is_store_buffers_with_fences_everywhere() {
    let of = Ingredients { seats: &HOST, threads: 3, locations: 2, instructions: 6, atomics: 2, scopes: &[Scope::Sys] };
    let fence = || Instruction::Fence { semantics: Semantics::Sc, scope: Scope::Sys };
    // Dependencies name instructions by number, and fences come in between.
    let spread = |instruction: &Instruction| match instruction.clone() {
        Instruction::WriteRead { location, from, add, semantics, scope } => {
            [Instruction::WriteRead { location, from: 2 * from, add, semantics, scope }, fence()]
        }
        other => [other, fence()],
    };
    let differs = |program: &Straight| {
        let (mut fenced, mut sc) = (program.clone(), program.clone());
        fenced.threads.iter_mut().for_each(|thread| thread.2 = thread.2.iter().flat_map(spread).collect());
        sc.threads.iter_mut().for_each(|thread| thread.0 = Architecture::Sc);
        let fenced = outcomes(Model::StoreBuffers, &fenced.requests().expect("small"));
        let without_fences = |mut state: FinalState| {
            let every_second = |registers: &mut Vec<_>| *registers = registers.iter().step_by(2).copied().collect();
            state.registers.iter_mut().for_each(every_second);
            state
        };
        let fenced: BTreeSet<FinalState> = fenced.into_iter().map(without_fences).collect();
        let sc = sc.requests().expect("small");
        let rules = Rules::default();
        let published = outcomes(Model::LostPop(rules), &sc);
        outcomes(Model::LostPop(rules.satisfying(REPAIRED)), &sc) != fenced || !fenced.is_subset(&published)
    };
    let mut random = Random(5);
    for number in 0..150 {
        let program = random::program(&mut random, &of);
        if differs(&program) {
            panic!("program {number}: {:#?}", shrink(program, differs));
        }
    }
}

/// Three writes to one address can be ordered in a cycle, since arrivals are compared with a thread's own writes only.
#[test]
fn runs_without_a_last_write_are_discarded() {
    let (program, _) = parse("x86: W x=1 || x86: W x=2 || x86: W x=3");
    let requests = program.requests().expect("small");
    let explored = Model::LostPop(Rules::default())
        .explore(&requests, &Aim::Everything, Wanted::Nothing, &Limits::default())
        .expect("x86");
    assert!(explored.stuck.contains_key(&Stuck::NoLastWrite), "{explored:?}");
    let finals: Vec<i128> = explored.outcomes.keys().map(|state| state.memory[0].0).collect();
    assert_eq!(finals, [1, 2, 3]);
}
