//! Times the engines on bulk-copy pipelines: `cargo run --release --example pipelines [NAME]`. Every execution, and the
//! search for a race, with the reading in which a fence-free reuse of a buffer is fine and without.

#[path = "../tests/suite/support/handmade.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod handmade;
#[path = "../tests/suite/support/pipelines.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod pipelines;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Goal, Limits, Multiplicity, Raised};
use fencepost_axiom::model::compile::{Options, compile};
use fencepost_axiom::model::{CheckId, Model, shipped};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Source;
use fencepost_syntax::cat::CheckRole;

use pipelines::{Bug, Pipeline};

fn model(variants: &[&str]) -> Option<Model> {
    let variants: BTreeSet<String> = variants.iter().map(|variant| (*variant).to_owned()).collect();
    let options = Options { variants, ..Options::default() };
    compile(Source::new("ptx", shipped("ptx")?), &options, &mut |_| None).model
}

fn time(name: &str, unfolding: &Unfolding, model: &Model, raised: Option<Raised<'_>>) {
    let engines: [&dyn Engine; 2] = [&Enumerate, &Sat];
    for engine in engines {
        let deadline = Some(Instant::now() + Duration::from_secs(20));
        let limits = Limits { deadline, memory: None, cancelled: None, work: None };
        let start = Instant::now();
        let mut executions = 0;
        let multiplicity = if raised.is_some() { Multiplicity::First } else { Multiplicity::All };
        let goal = Goal { raised, multiplicity, ..Goal::new(Ends::Terminating) };
        let end = engine.explore(unfolding, model, &goal, &limits, &mut |execution| {
            executions += execution.weight;
            if raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let (events, spent) = (unfolding.events.len(), start.elapsed());
        let what = if raised.is_some() { "race" } else { "all" };
        // An example's output is its purpose.
        #[allow(clippy::print_stdout)]
        {
            println!(
                "{name:24} {what:5} {:10} {events:4} events {executions:6} executions {spent:>10.1?} {end:?}",
                engine.name()
            );
        }
    }
}

fn main() {
    let only = std::env::args().nth(1);
    let small = Pipeline { elements: 1, ..Pipeline::TMA };
    for (name, pipeline, variants) in [
        ("1 stage, 2 iterations", Pipeline { stages: 1, iterations: 2, consumers: 1, ..small }, &[][..]),
        ("small", small, &[]),
        ("small, raw-only", small, &["cross-proxy-war=raw-only"]),
        ("no wait for empty", Pipeline { bug: Some(Bug::NoEmptyWait), ..small }, &["cross-proxy-war=raw-only"]),
        ("early arrive", Pipeline { bug: Some(Bug::EarlyArrive), ..small }, &["cross-proxy-war=raw-only"]),
        ("4 elements", Pipeline::TMA, &[]),
        ("4 elements, raw-only", Pipeline::TMA, &["cross-proxy-war=raw-only"]),
        ("6 iterations, raw-only", Pipeline { iterations: 6, ..small }, &["cross-proxy-war=raw-only"]),
        ("4 consumers, raw-only", Pipeline { consumers: 4, ..small }, &["cross-proxy-war=raw-only"]),
    ] {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let Some(model) = model(variants) else { return };
        let unfolding = pipeline.unfolding();
        time(name, &unfolding, &model, None);
        let flag = model.checks.iter().position(|check| check.role == CheckRole::Flag);
        let flag = flag.map(|index| Raised { flag: CheckId(index as u32), beyond: &[] });
        time(name, &unfolding, &model, flag);
    }
}
