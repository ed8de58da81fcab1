//! What the unfolding says a program does against a second reading of the program that shares nothing with it
//! (`support/second.rs`): the same outcomes under every model, of the executions that end and of those that are stuck.
//!
//! Where dependencies are syntactic both must agree on them. Of real ones (`ptx`) the unfolding may keep more than running
//! again shows, and never fewer: its outcomes lie between those of the two ways to find them.

use crate::support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Reach, Stop, reaches_cut};
use fencepost_axiom::replay::final_states;
use fencepost_program::program::{Feature, Program};
use fencepost_program::unfold::{Dependencies, Rewriting, UnfoldOptions, unfold};
use fencepost_program::unfolding::{FinalState, Unfolding};

use support::generate::{Barriers, generate};
use support::program::{Style, Test};
use support::random::Random;
use support::second::{Means, Outcomes, outcomes};
use support::shrink::shrink;
use support::{Failure, Stage, Subject, front_end, ways};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

#[derive(Default, Debug)]
struct Tally {
    compared: u64,
    states: u64,
    stuck: u64,
    /// Programs in which running again shows more outcomes than the dependencies of the unfolding allow.
    wider: u64,
    /// And in which the unfolding has more than the syntactic dependencies allow.
    freed: u64,
    skipped: u64,
}

/// The outcomes, and whether there are no others, as an engine finds them.
fn found(
    engine: &dyn Engine,
    unfolding: &Unfolding,
    subject: &Subject,
    ends: Ends,
) -> Option<(BTreeSet<FinalState>, bool)> {
    let mut states = BTreeSet::new();
    let goal = Goal::new(ends);
    let end = engine.explore(unfolding, subject.model(), &goal, &NO_LIMITS, &mut |execution| {
        states.extend(final_states(unfolding, execution));
        ControlFlow::Continue(())
    });
    match end {
        Exploration::Complete => Some((states, true)),
        Exploration::Incomplete(Stop::Bound(_)) => {
            Some((states, reaches_cut(engine, unfolding, subject.model(), &NO_LIMITS) == Reach::Never))
        }
        Exploration::Incomplete(Stop::Outside { .. }) => Some((states, false)),
        _ => None,
    }
}

fn takes(program: &Program) -> bool {
    program.features.iter().all(|feature| matches!(feature.node, Feature::Proxy))
}

fn check(test: &Test, subject: &Subject, dependencies: Dependencies, tally: &mut Tally) -> Result<(), Failure> {
    check_changed(test, subject, dependencies, |_| {}, tally)
}

/// With a mistake put into the unfolding.
fn check_changed(
    test: &Test,
    subject: &Subject,
    dependencies: Dependencies,
    change: fn(&mut Unfolding),
    tally: &mut Tally,
) -> Result<(), Failure> {
    let wrong = |stage, message| Failure { stage, message };
    let front = front_end(&test.text(), 1).map_err(|message| wrong(Stage::FrontEnd, message))?;
    let Some((program, _)) = front.filter(|(program, _)| takes(program)) else {
        tally.skipped += 1;
        return Ok(());
    };
    let options = UnfoldOptions { bound: 3, rewriting: Rewriting::Spins, dependencies, ..UnfoldOptions::default() };
    let mut unfolding = unfold(&program, &options).map_err(|error| wrong(Stage::FrontEnd, format!("{error:?}")))?;
    change(&mut unfolding);
    let Some(tainted) = outcomes(&program, subject.model(), Means::Taint) else {
        tally.skipped += 1;
        return Ok(());
    };
    let least = match dependencies {
        Dependencies::Syntactic => None,
        Dependencies::Real => outcomes(&program, subject.model(), Means::Rerun),
    };
    let most = least.as_ref().unwrap_or(&tainted);
    for ends in [Ends::Terminating, Ends::Stuck] {
        let side = |outcomes: &Outcomes| match ends {
            Ends::Stuck => outcomes.stuck.clone(),
            _ => outcomes.terminating.clone(),
        };
        let Some((states, is_all)) = found(&Enumerate, &unfolding, subject, ends) else {
            tally.skipped += 1;
            continue;
        };
        // The oracle's tests have syntactic dependencies only.
        if dependencies == Dependencies::Real {
            let other = found(&Sat, &unfolding, subject, ends).map(|(states, _)| states);
            if other.is_some_and(|other| other != states) {
                return Err(wrong(Stage::Engines, format!("{ends:?}, the engines differ")));
            }
        }
        let (few, many) = (side(&tainted), side(most));
        tally.compared += 1;
        tally.states += many.len() as u64;
        tally.stuck += u64::from(ends == Ends::Stuck && !states.is_empty());
        tally.wider += u64::from(many.difference(&states).next().is_some());
        tally.freed += u64::from(!tainted.is_cut && states.difference(&few).next().is_some());
        let missing = few.difference(&states).next().filter(|_| is_all);
        let extra = states.difference(&many).next().filter(|_| !most.is_cut);
        if missing.is_some() || extra.is_some() {
            let message = format!("{}, {ends:?}\nmissing {missing:?}\nextra {extra:?}", subject.name);
            return Err(wrong(Stage::Engines, message));
        }
    }
    Ok(())
}

#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn run(
    name: &str,
    (first, count): (u64, u64),
    subject: &Subject,
    dependencies: Dependencies,
    make: &dyn Fn(&mut Random) -> Test,
) -> Tally {
    let mut tally = Tally::default();
    for seed in first..first + count {
        let mut test = make(&mut Random::new(seed));
        // Without a question every register is looked at.
        test.condition.clear();
        test.filter.clear();
        if let Err(failure) = check(&test, subject, dependencies, &mut tally) {
            // What is wrong with the text of a smaller program may be another thing.
            let (small, failure) = match failure.stage {
                Stage::FrontEnd => (test, failure),
                Stage::Engines => shrink(test, failure, &mut |candidate| {
                    check(candidate, subject, dependencies, &mut Tally::default()).err()
                }),
            };
            panic!("{name}, seed {seed}\n{}\n{}", small.text(), failure.message);
        }
    }
    println!("{name}, {}: {count} programs, {tally:?}", subject.name);
    assert!(tally.skipped * 2 < tally.compared, "{tally:?}");
    tally
}

/// The model `ptx` as it is for programs without a version.
fn newest() -> Subject {
    Subject::ptx()
}

fn seeds() -> (u64, u64) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    (number("SEED", 0), number("PROGRAMS", 250))
}

#[test]
fn ways_through_a_program_are_those_of_ptx() {
    let tally = run("ways", seeds(), &newest(), Dependencies::Real, &ways::test);
    assert!(tally.freed > 0, "{tally:?}");
}

#[test]
fn ways_through_a_program_are_those_of_ptx_7_5() {
    let subject = Subject::shipped("ptx-7.5");
    let tally = run("ways", seeds(), &subject, Dependencies::Syntactic, &ways::test);
    assert!(tally.stuck > 0, "{tally:?}");
}

#[test]
fn ways_through_a_program_are_those_of_sc() {
    run("ways", seeds(), &Subject::shipped("sc"), Dependencies::Syntactic, &ways::test);
}

#[test]
fn mistakes_of_an_unfolding_are_seen() {
    let subject = Subject::shipped("ptx-7.5");
    let seen = |change: fn(&mut Unfolding)| {
        let wrong = |seed: &u64| {
            let test = ways::test(&mut Random::new(*seed));
            check_changed(&test, &subject, Dependencies::Syntactic, change, &mut Tally::default()).is_err()
        };
        (0..150).filter(wrong).count()
    };
    let no_control = seen(|unfolding| unfolding.events.iter_mut().for_each(|event| event.control_deps.clear()));
    let no_data = seen(|unfolding| unfolding.events.iter_mut().for_each(|event| event.data_deps.clear()));
    let any_way = seen(|unfolding| unfolding.traces.iter_mut().for_each(|trace| trace.constraints.clear()));
    let fewer_ways = seen(|unfolding| {
        unfolding.threads.iter_mut().for_each(|thread| thread.traces = thread.traces.iter().copied().take(1).collect())
    });
    assert!(
        no_control > 0 && no_data > 0 && any_way > 20 && fewer_ways > 20,
        "{no_control} {no_data} {any_way} {fewer_ways}"
    );
}

#[test]
fn random_programs_have_no_other_outcomes() {
    for (style, model) in [(Style::Ptx, "ptx-7.5"), (Style::Dartagnan, "ptx-7.5"), (Style::X86, "x86-tso")] {
        let make = |random: &mut Random| generate(random, style, Barriers::Never);
        run(&format!("{style:?}"), seeds(), &Subject::shipped(model), Dependencies::Syntactic, &make);
    }
}
