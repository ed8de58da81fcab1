//! Times the enumeration engine on the families whose numbers are known: `cargo run --release --example
//! enumerate_families`. With arguments `MODEL FILE...`: the first question of each litmus test, as reachability.

#[path = "../tests/suite/enumerate_programs/mod.rs"]
mod enumerate_programs;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use enumerate_programs::*;
use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Goal, Limits, Multiplicity, Observed};
use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::{Model, shipped};
use fencepost_program::unfolding::Unfolding;

fn time(name: &str, unfolding: &Unfolding, model: &Model, observed: Observed<'_>) {
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let goal = Goal { observed, ..Goal::new(Ends::Terminating) };
    let start = Instant::now();
    let (mut executions, mut calls) = (0, 0);
    let end = Enumerate.explore(unfolding, model, &goal, &limits, &mut |execution| {
        executions += execution.weight;
        calls += 1;
        ControlFlow::Continue(())
    });
    let spent = start.elapsed();
    // An example's output is its purpose.
    #[allow(clippy::print_stdout)]
    {
        println!("{name:24} {executions:8} executions {calls:8} reported {spent:>12.1?} {end:?}");
    }
}

/// Reachability of the first question's condition.
fn ask(model: &Model, file: &str) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let tree = fencepost_syntax::litmus::parse(&text).0;
    let Some(program) = tree.and_then(|tree| fencepost_program::lower::lower(&tree).0) else { return };
    let Ok(unfolding) = fencepost_program::unfold::unfold(&program, &Default::default()) else { return };
    let limits =
        Limits { deadline: Some(Instant::now() + Duration::from_secs(20)), memory: None, cancelled: None, work: None };
    let goal = Goal {
        condition: program.questions.first().map(|question| &question.condition),
        multiplicity: Multiplicity::First,
        ..Goal::new(Ends::Terminating)
    };
    let start = Instant::now();
    let end = Enumerate.explore(&unfolding, model, &goal, &limits, &mut |_| ControlFlow::Break(()));
    let spent = start.elapsed();
    #[allow(clippy::print_stdout)]
    {
        println!("{:24} {:5} events {spent:>12.1?} {end:?}", program.name, unfolding.events.len());
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((name, files)) = arguments.split_first() {
        let Some(model) = shipped(name).and_then(|text| compile_text(name, text).model) else { return };
        files.iter().for_each(|file| ask(&model, file));
        return;
    }
    let text = shipped("x86-tso").unwrap_or_default();
    let Some(tso) = compile_text("x86-tso", text).model else { return };
    time("SB 2 (first run)", &store_buffering(2, None), &tso, Observed::Everything);
    time("SB 2", &store_buffering(2, None), &tso, Observed::Everything);
    time("IRIW 2", &independent_reads(2), &tso, Observed::Everything);
    time("XCHG 5", &exchanges(5), &tso, Observed::Everything);
    time("XCHG 7", &exchanges(7), &tso, Observed::Everything);
    time("SB ring 14", &store_buffering(14, None), &tso, Observed::Everything);
    time("IRIW ring 7", &independent_reads(7), &tso, Observed::Everything);
    time("2+2W ring 12", &two_plus_two_writes(12), &tso, Observed::Everything);
    time("CoR 6", &coherent_reads(6), &tso, Observed::Everything);
    time("CoW 7", &writers(7), &tso, Observed::Terms(&[]));
    time("CoW 7, all observed", &writers(7), &tso, Observed::Everything);
}
