//! The engines under sequential consistency against a machine that runs every interleaving of the program as written:
//! what the unfolding, its loop rules and its arithmetic leave out or add shows as an outcome that only one side has.

mod support;

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
use support::program::{Style, Test};
use support::random::Random;
use support::shrink::shrink;
use support::{Failure, Stage, Subject};

const PROGRAMS: u64 = 800;

/// Sequential consistency in which a barrier is where its group meets: what comes before an arrival comes before what
/// comes after a completed wait.
const SC_BARRIERS: &str = "SC
let communication = rf | co | fr
acyclic po | communication | (po?; syncbar; po) as sc
empty rmw & (fre; coe) as atomicity
";

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
    let has_barriers = has(&program, |_, operation| matches!(operation, Operation::Barrier(_)));
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
            // That a barrier waits for a thread's exit orders nothing in a model: with barriers it may allow more.
            let extra = states.difference(expected).next().filter(|_| !has_barriers);
            if missing.is_some() || extra.is_some() {
                let message = format!("{}, {ends:?}\nmissing {missing:?}\nextra {extra:?}", engine.name());
                return Err(wrong(Stage::Engines, message));
            }
        }
    }
    Ok(())
}

#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn run(style: Style, barriers: Barriers) -> Tally {
    let subject = match barriers {
        Barriers::Never => Subject::shipped("sc"),
        _ => Subject::of_text("sc-barriers", SC_BARRIERS),
    };
    let mut tally = Tally::default();
    for seed in 0..PROGRAMS {
        let mut test = generate(&mut Random::new(seed), style, barriers);
        // Without a question every register is looked at.
        test.condition.clear();
        test.filter.clear();
        if let Err(failure) = check(&test, &subject, &mut tally) {
            let (small, failure) =
                shrink(test, failure, &mut |candidate| check(candidate, &subject, &mut Tally::default()).err());
            panic!("seed {seed}\n{}\n{}", small.text(), failure.message);
        }
    }
    println!("{style:?}, barriers {barriers:?}: {PROGRAMS} programs, {tally:?}");
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
fn ptx_barriers_lose_no_outcome_of_an_interleaving() {
    let tally = run(Style::Ptx, Barriers::Always);
    assert!(tally.blocked > 20, "{tally:?}");
}
