//! The engines under sequential consistency against a machine that runs every interleaving of the program as written:
//! what the unfolding, its loop rules and its arithmetic leave out or add shows as an outcome that only one side has.

use crate::support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::replay::final_states;
use fencepost_program::program::{Operation, Program};
use fencepost_program::unfolding::{FinalState, Unfolding};
use support::generate::{Barriers, generate};
use support::machine;
use support::program::{Entry, Step, Style, Test, Thread};
use support::random::Random;
use support::shrink::shrink;
use support::{Failure, Stage, Subject};

const PROGRAMS: u64 = 800;

#[derive(Default, Debug)]
struct Tally {
    compared: u64,
    outcomes: u64,
    blocked: u64,
    /// Too many states for the machine, or cut at the unrolling bound.
    skipped: u64,
}

fn found(engine: &dyn Engine, unfolding: &Unfolding, subject: &Subject, ends: Ends) -> Option<BTreeSet<FinalState>> {
    let mut states = BTreeSet::new();
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let end = engine.explore(unfolding, subject.model(), &Goal::new(ends), &limits, &mut |execution| {
        states.extend(final_states(unfolding, execution));
        ControlFlow::Continue(())
    });
    (end == Exploration::Complete).then_some(states)
}

fn has(program: &Program, wanted: fn(usize, &Operation) -> bool) -> bool {
    let mut code = program.threads.iter().flat_map(|thread| thread.code.iter().enumerate());
    code.any(|(at, instruction)| wanted(at, &instruction.operation))
}

fn jumps_back(at: usize, operation: &Operation) -> bool {
    matches!(operation, Operation::Branch { target } | Operation::BranchIf { target, .. } if target.0 as usize <= at)
}

fn check(test: &Test, subject: &Subject, tally: &mut Tally) -> Result<(), Failure> {
    let wrong = |stage, message| Failure { stage, message };
    let Some((program, unfolding)) =
        support::front_end(&test.text(), 4).map_err(|message| wrong(Stage::FrontEnd, message))?
    else {
        return Ok(());
    };
    let Some(outcomes) = machine::outcomes(&program) else {
        tally.skipped += 1;
        return Ok(());
    };
    let mut sides = vec![(Ends::Terminating, &outcomes.terminating)];
    // A loop without progress is no end of the machine's.
    if !has(&program, jumps_back) {
        sides.push((Ends::Stuck, &outcomes.blocked));
    }
    for (ends, expected) in sides {
        for engine in [&Enumerate as &dyn Engine, &Sat] {
            let Some(states) = found(engine, &unfolding, subject, ends) else {
                tally.skipped += 1;
                continue;
            };
            tally.compared += 1;
            tally.outcomes += expected.len() as u64;
            tally.blocked += u64::from(ends == Ends::Stuck && !expected.is_empty());
            let missing = expected.difference(&states).next();
            let extra = states.difference(expected).next();
            if missing.is_some() || extra.is_some() {
                let message = format!("{}, {ends:?}\nmissing {missing:?}\nextra {extra:?}", engine.name());
                return Err(wrong(Stage::Engines, message));
            }
        }
    }
    Ok(())
}

/// Threads that meet at barriers of two, more of them than two, and communicate before and behind.
fn meetings(random: &mut Random) -> Test {
    let declare = |text: &str| Entry { thread: None, text: text.to_string() };
    let declarations = [".shared .u32 x = 0", ".shared .u32 y = 0"].map(declare).to_vec();
    let count = random.pick(&["1", "2", "2", "2"]);
    let mut threads = Vec::new();
    for index in 0..random.pick(&[3, 4]) {
        let mut code = Vec::new();
        let mut left = 2;
        for _ in 0..1 + random.below(4) {
            let place = random.pick(&["x", "y"]);
            let line = match random.below(8) {
                0..4 => format!("bar.sync {}, {count};", random.pick(&["0", "0", "0", "1"])),
                4 => format!("bar.arrive 0, {count};"),
                _ if left == 0 => continue,
                5 => format!("ld.relaxed.cta.shared.u32 %r{left}, [{place}];"),
                _ => format!("st.relaxed.cta.shared.u32 [{place}], {};", index + 1),
            };
            left -= usize::from(!line.starts_with("bar"));
            code.push(Step::new(1, &[line]));
        }
        threads.push(Thread { cta: 0, gpu: 0, code });
    }
    Test { style: Style::Ptx, declarations, threads, condition: Vec::new(), connective: "/\\", filter: Vec::new() }
}

fn run(style: Style, barriers: Barriers) -> Tally {
    let name = format!("{style:?}, barriers {barriers:?}");
    run_all(&name, &|random| generate(random, style, barriers))
}

#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn run_all(name: &str, make: &dyn Fn(&mut Random) -> Test) -> Tally {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("PROGRAMS", PROGRAMS));
    let subject = Subject::shipped("sc");
    let mut tally = Tally::default();
    for seed in first..first + count {
        let mut test = make(&mut Random::new(seed));
        // Without a question every register is looked at.
        test.condition.clear();
        test.filter.clear();
        if let Err(failure) = check(&test, &subject, &mut tally) {
            let (small, failure) =
                shrink(test, failure, &mut |candidate| check(candidate, &subject, &mut Tally::default()).err());
            panic!("{name}, seed {seed}\n{}\n{}", small.text(), failure.message);
        }
    }
    println!("{name}: {count} programs, {tally:?}");
    assert!(tally.skipped * 10 < tally.compared, "{tally:?}");
    tally
}

#[test]
fn ptx_has_the_outcomes_of_all_interleavings() {
    run(Style::Ptx, Barriers::Never);
}

#[test]
fn dartagnan_has_the_outcomes_of_all_interleavings() {
    run(Style::Dartagnan, Barriers::Never);
}

#[test]
fn x86_has_the_outcomes_of_all_interleavings() {
    run(Style::X86, Barriers::Never);
}

#[test]
fn ptx_barriers_have_the_outcomes_of_all_interleavings() {
    let tally = run(Style::Ptx, Barriers::Always);
    assert!(tally.blocked > 20, "{tally:?}");
}

#[test]
fn meetings_of_some_have_the_outcomes_of_all_interleavings() {
    let tally = run_all("meetings", &meetings);
    assert!(tally.blocked > 20, "{tally:?}");
}

#[test]
fn meetings_of_some_have_the_executions_of_the_definitions() {
    let mut tally = support::Tally::default();
    for seed in 0..60 {
        let text = meetings(&mut Random::new(seed)).text();
        assert_eq!(support::run_text_under(&text, &[Subject::shipped("sc")], &mut tally), Ok(()), "seed {seed}");
    }
}
