//! Bulk-copy pipelines with mbarriers: chains of read-modify-writes with computed values and waits that depend on them.
//! Their executions are counted by hand: the only freedom is in which order the consumers of one phase arrive.

use crate::support::pipelines;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Raised, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::compile::{Options, compile};
use fencepost_axiom::model::{CheckId, Model, shipped};
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Source;

use pipelines::{Bug, Pipeline};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// Reuse of a buffer needs no fence in this reading: the pipelines are free of races as they stand.
fn ptx() -> Model {
    let variants = BTreeSet::from(["cross-proxy-war=raw-only".to_owned()]);
    let options = Options { variants, ..Options::default() };
    let source = Source::new("ptx", shipped("ptx").expect("shipped"));
    compile(source, &options, &mut |_| None).model.expect("compiles")
}

fn flag(model: &Model, name: &str) -> CheckId {
    let index = model.checks.iter().position(|check| check.name == name).expect("the flag");
    CheckId(index as u32)
}

fn count(engine: &dyn Engine, unfolding: &Unfolding) -> u64 {
    let mut executions = 0;
    let end = engine.explore(unfolding, &ptx(), &Goal::new(Ends::Terminating), &NO_LIMITS, &mut |execution| {
        executions += execution.weight;
        ControlFlow::Continue(())
    });
    assert_eq!(end, Exploration::Complete);
    executions
}

/// An execution with a race at a pair that is not known yet.
fn race(engine: &dyn Engine, unfolding: &Unfolding, beyond: &[(EventId, EventId)]) -> (Option<Execution>, Exploration) {
    let model = ptx();
    let raised = Some(Raised { flag: flag(&model, "data-race"), beyond });
    let goal = Goal { raised, multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let mut found = None;
    let end = engine.explore(unfolding, &model, &goal, &NO_LIMITS, &mut |execution| {
        found = Some(execution.clone());
        ControlFlow::Break(())
    });
    (found, end)
}

#[test]
fn arrivals_of_a_phase_are_all_that_is_free() {
    let one = Pipeline { stages: 1, iterations: 2, consumers: 1, elements: 1, bug: None };
    for engine in [&Enumerate as &dyn Engine, &Sat] {
        assert_eq!(count(engine, &one.unfolding()), 1, "{}", engine.name());
    }
    // Two consumers arrive in two orders in each of the phases.
    let two = Pipeline { consumers: 2, ..one };
    for engine in [&Enumerate as &dyn Engine, &Sat] {
        assert_eq!(count(engine, &two.unfolding()), 4, "{}", engine.name());
    }
}

#[test]
fn a_two_stage_pipeline_of_three_iterations_is_decided() {
    let unfolding = Pipeline::TMA.unfolding();
    assert_eq!(unfolding.events.len(), 108);
    assert_eq!(count(&Enumerate, &unfolding), 8);
    assert_eq!(race(&Enumerate, &unfolding, &[]), (None, Exploration::Complete));
}

#[test]
fn a_pipeline_without_its_waits_races() {
    for bug in [Bug::NoEmptyWait, Bug::EarlyArrive] {
        let unfolding = Pipeline { elements: 1, bug: Some(bug), ..Pipeline::TMA }.unfolding();
        for engine in [&Enumerate as &dyn Engine, &Sat] {
            let (found, end) = race(engine, &unfolding, &[]);
            assert!(found.is_some() && end == Exploration::Stopped, "{bug:?}, {}", engine.name());
        }
    }
}

#[test]
fn pairs_that_are_known_do_not_count() {
    let unfolding = Pipeline { elements: 1, bug: Some(Bug::EarlyArrive), ..Pipeline::TMA }.unfolding();
    let accesses: Vec<EventId> = (0..unfolding.events.len()).map(EventId::new).collect();
    let all: Vec<(EventId, EventId)> = accesses.iter().flat_map(|a| accesses.iter().map(|b| (*a, *b))).collect();
    let is_copy = |id: &EventId| unfolding.event(*id).has(Tag::Async);
    let generic: Vec<(EventId, EventId)> = all.iter().copied().filter(|(a, b)| !is_copy(a) && !is_copy(b)).collect();
    for engine in [&Enumerate as &dyn Engine, &Sat] {
        assert_eq!(race(engine, &unfolding, &all), (None, Exploration::Complete), "{}", engine.name());
        // The consumers' early arrival lets the next copy overwrite what they read: no race without a copy.
        assert!(race(engine, &unfolding, &generic).0.is_some(), "{}", engine.name());
    }
}

#[test]
fn an_axiom_is_no_flag() {
    let model = ptx();
    let raised = Some(Raised { flag: flag(&model, "causality"), beyond: &[] });
    let goal = Goal { raised, ..Goal::new(Ends::Terminating) };
    let unfolding = Pipeline::TMA.unfolding();
    for engine in [&Enumerate as &dyn Engine, &Sat] {
        let end = engine.explore(&unfolding, &model, &goal, &NO_LIMITS, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(end, Exploration::Incomplete(Stop::Unsupported { .. })), "{}: {end:?}", engine.name());
    }
}

#[test]
fn work_ends_a_search_at_the_same_place() {
    let unfolding = Pipeline { stages: 1, iterations: 2, consumers: 2, elements: 1, bug: None }.unfolding();
    let model = ptx();
    let run = |engine: &dyn Engine, work: u64| {
        let limits = Limits { work: Some(work), ..NO_LIMITS };
        let mut found = Vec::new();
        let end = engine.explore(&unfolding, &model, &Goal::new(Ends::Terminating), &limits, &mut |execution| {
            found.push(execution.clone());
            ControlFlow::Continue(())
        });
        (found, end)
    };
    for work in [1, 100, 1_000, 5_000, 20_000] {
        for engine in [&Sat as &dyn Engine, &Enumerate] {
            let (first, second) = (run(engine, work), run(engine, work));
            assert_eq!(first, second, "{} {work}", engine.name());
            assert!(matches!(first.1, Exploration::Complete | Exploration::Incomplete(Stop::Work)), "{:?}", first.1);
        }
    }
    assert_eq!(run(&Sat, 1), (Vec::new(), Exploration::Incomplete(Stop::Work)));
    let (found, end) = run(&Sat, 100_000_000);
    assert_eq!((found.len(), end), (4, Exploration::Complete));
}
