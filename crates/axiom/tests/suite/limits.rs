//! Limits on tests with many accesses of one location: they are kept while a model is evaluated and a problem is written
//! down, and what is left unfinished then is never taken for an answer.

use crate::enumerate_programs;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use enumerate_programs::*;
use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop};
use fencepost_axiom::model::Model;
use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::shipped;
use fencepost_program::unfolding::Unfolding;

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

fn named(name: &str) -> Model {
    compile_text("test", shipped(name).expect("a shipped model")).model.expect("no errors")
}

/// How a search ends, after how many executions.
fn explore(engine: &dyn Engine, unfolding: &Unfolding, goal: &Goal<'_>, limits: &Limits<'_>) -> (Exploration, usize) {
    let mut found = 0;
    let end = engine.explore(unfolding, &named("x86-tso"), goal, limits, &mut |_| {
        found += 1;
        ControlFlow::Continue(())
    });
    (end, found)
}

/// One thread with this many writes of one location, another one with as many reads of it.
fn long_threads(count: usize) -> Unfolding {
    coherent_reads(count)
}

/// So many threads write one location once, beside a thread that makes rows of the matrices wide.
fn wide_writers(count: usize, padding: usize) -> Unfolding {
    let padded = Builder::new(2).thread(&vec![Op::Write(1, 1); padding]);
    (0..count).fold(padded, |builder, i| builder.thread(&[Op::Write(0, i as i128 + 1)])).build()
}

#[test]
fn a_deadline_holds_while_a_large_test_is_prepared() {
    let unfolding = long_threads(2500);
    let goal = Goal::new(Ends::Terminating);
    let engines: [&dyn Engine; 2] = [&Enumerate, &Sat];
    for engine in engines {
        let start = Instant::now();
        let limits = Limits { deadline: Some(start + Duration::from_millis(100)), ..NO_LIMITS };
        let (end, _) = explore(engine, &unfolding, &goal, &limits);
        assert_eq!(end, Exploration::Incomplete(Stop::Time), "{}", engine.name());
        // Preparing it takes some ten times as long.
        assert!(start.elapsed() < Duration::from_secs(3), "{}: {:?}", engine.name(), start.elapsed());
    }
}

#[test]
fn what_comes_too_late_is_not_begun() {
    let unfolding = long_threads(2500);
    let flag = AtomicBool::new(true);
    let limits = Limits { cancelled: Some(&flag), ..NO_LIMITS };
    let engines: [&dyn Engine; 2] = [&Enumerate, &Sat];
    for engine in engines {
        let start = Instant::now();
        let (end, _) = explore(engine, &unfolding, &Goal::new(Ends::Terminating), &limits);
        assert_eq!(end, Exploration::Incomplete(Stop::Cancelled), "{}", engine.name());
        assert!(start.elapsed() < Duration::from_secs(1), "{}: {:?}", engine.name(), start.elapsed());
    }
}

#[test]
fn memory_is_refused_before_it_is_taken() {
    // The literals of the orders, and the values of the model.
    let goal = Goal { multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let limits = Limits { memory: Some(10 << 20), ..NO_LIMITS };
    for unfolding in [long_threads(1500), Builder::new(1).thread(&vec![Op::Read(0); 3000]).build()] {
        for engine in [&Enumerate as &dyn Engine, &Sat] {
            let start = Instant::now();
            let (end, found) = explore(engine, &unfolding, &goal, &limits);
            assert_eq!((end, found), (Exploration::Incomplete(Stop::Memory), 0), "{}", engine.name());
            assert!(start.elapsed() < Duration::from_secs(3), "{}: {:?}", engine.name(), start.elapsed());
        }
    }
}

#[test]
fn the_levels_of_a_search_count_as_memory() {
    // Fourteen writes in any order are some ninety levels, each with matrices of 300 events.
    let unfolding = wide_writers(14, 300);
    let goal = Goal::new(Ends::Terminating);
    let deadline = Some(Instant::now() + Duration::from_millis(500));
    let ample = Limits { deadline, memory: Some(100 << 20), ..NO_LIMITS };
    assert_eq!(explore(&Enumerate, &unfolding, &goal, &ample).0, Exploration::Incomplete(Stop::Time));
    let deadline = Some(Instant::now() + Duration::from_secs(20));
    let tight = Limits { deadline, memory: Some(1700 << 10), ..NO_LIMITS };
    assert_eq!(explore(&Enumerate, &unfolding, &goal, &tight).0, Exploration::Incomplete(Stop::Memory));
}

#[test]
fn an_evaluation_left_unfinished_is_no_answer() {
    // Some deadline falls into every part of a search with rows of several words.
    let unfolding = wide_writers(3, 400);
    let all = Goal::new(Ends::Terminating);
    let (possible, impossible) = (memory(0, 2), memory(0, 7));
    let one = |condition| Goal { condition: Some(condition), multiplicity: Multiplicity::First, ..all.clone() };
    let start = Instant::now();
    assert_eq!(explore(&Enumerate, &unfolding, &all, &NO_LIMITS), (Exploration::Complete, 6));
    let whole = start.elapsed();
    for part in 0..40 {
        let limits = |start: Instant| Limits { deadline: Some(start + whole * part / 32), ..NO_LIMITS };
        match explore(&Enumerate, &unfolding, &all, &limits(Instant::now())) {
            (Exploration::Complete, found) => assert_eq!(found, 6),
            (end, found) => {
                assert_eq!(end, Exploration::Incomplete(Stop::Time));
                assert!(found <= 6);
            }
        }
        for engine in [&Enumerate as &dyn Engine, &Sat] {
            let (end, found) = explore(engine, &unfolding, &one(&impossible), &limits(Instant::now()));
            assert_eq!(found, 0, "{}", engine.name());
            assert!(matches!(end, Exploration::Complete | Exploration::Incomplete(Stop::Time)), "{end:?}");
            let (end, found) = explore(engine, &unfolding, &one(&possible), &limits(Instant::now()));
            assert!(found > 0 || end == Exploration::Incomplete(Stop::Time), "{}: {end:?}", engine.name());
        }
    }
}
