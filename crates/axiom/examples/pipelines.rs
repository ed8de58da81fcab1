//! Times the engines on bulk-copy pipelines: `cargo run --release --example pipelines`.

#[path = "../tests/support/handmade.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod handmade;
#[path = "../tests/support/pipelines.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod pipelines;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Goal, Limits};
use fencepost_axiom::model::compile::compile_text;

use pipelines::{Bug, Pipeline};

fn main() {
    let text = include_str!("../../../models/ptx.cat");
    let compilation = compile_text("ptx", text);
    let errors: Vec<_> = compilation.errors().map(|found| found.diagnostic.message.clone()).collect();
    let Some(model) = compilation.model else { panic!("{errors:?}") };
    let small = Pipeline { elements: 1, ..Pipeline::TMA };
    let only = std::env::args().nth(1);
    for (name, pipeline) in [
        ("1 stage, 1 iteration", Pipeline { stages: 1, iterations: 1, consumers: 1, ..small }),
        ("1 stage, 2 iterations", Pipeline { stages: 1, iterations: 2, consumers: 1, ..small }),
        ("2 consumers", Pipeline { stages: 1, iterations: 2, ..small }),
        ("2 stages, 3 iterations", small),
        ("no wait for empty", Pipeline { bug: Some(Bug::NoEmptyWait), ..small }),
        ("early arrive", Pipeline { bug: Some(Bug::EarlyArrive), ..small }),
        ("4 elements", Pipeline::TMA),
        ("6 iterations", Pipeline { iterations: 6, ..small }),
    ] {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let unfolding = pipeline.unfolding();
        let engines: [&dyn Engine; 2] = [&Enumerate, &Sat];
        for engine in engines {
            let deadline = Some(Instant::now() + Duration::from_secs(20));
            let limits = Limits { deadline, memory: None, cancelled: None };
            let start = Instant::now();
            let mut executions = 0;
            let end = engine.explore(&unfolding, &model, &Goal::new(Ends::Terminating), &limits, &mut |execution| {
                executions += execution.weight;
                ControlFlow::Continue(())
            });
            let (events, spent) = (unfolding.events.len(), start.elapsed());
            // An example's output is its purpose.
            #[allow(clippy::print_stdout)]
            {
                println!(
                    "{name:24} {:10} {events:4} events {executions:6} executions {spent:>10.1?} {end:?}",
                    engine.name()
                );
            }
        }
    }
    #[allow(clippy::print_stdout)]
    {
        println!("{} nodes", model.nodes.len());
    }
}
