//! Chains of n threads (MP, SB, LB, IRIW with release and acquire: the families of the scaling experiment in "Towards
//! unified analysis of GPU consistency", ASPLOS 2024) under ptx-7.5, and how long they take. The limits are generous: they catch a wrong growth, not a slow machine.

#![expect(clippy::panic, clippy::print_stdout, reason = "helpers of tests report and fail")]

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity};
use fencepost_axiom::model::{compile::compile_text, shipped};
use fencepost_program::lower::lower;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_syntax::litmus::parse;

fn store(location: usize) -> String {
    format!("st.release.gpu x{location}, 1")
}

fn load(register: usize, location: usize) -> String {
    format!("ld.acquire.gpu r{register}, x{location}")
}

/// A litmus test from the columns of its threads.
fn test(name: &str, locations: usize, columns: &[Vec<String>], condition: &[String]) -> String {
    let mut text = format!("PTX {name}\n{{\n");
    (0..locations).for_each(|index| {
        let _ = writeln!(text, "x{index}=0;");
    });
    text.push_str("}\n");
    let heads: Vec<String> = (0..columns.len()).map(|thread| format!("P{thread}@cta {thread}, gpu 0")).collect();
    let _ = writeln!(text, "{} ;", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = columns.iter().map(|column| column.get(row).map_or(" ", String::as_str)).collect();
        let _ = writeln!(text, "{} ;", cells.join(" | "));
    }
    let _ = writeln!(text, "exists\n({})", condition.join(" /\\ "));
    text
}

fn message_passing(n: usize, last: i32) -> String {
    let mut columns = vec![vec!["st.weak x0, 1".to_owned(), store(1)]];
    columns.extend((1..n - 1).map(|index| vec![load(index, index), store(index + 1)]));
    columns.push(vec![load(n - 1, n - 1), "ld.weak r0, x0".to_owned()]);
    let mut condition: Vec<String> = (1..n).map(|index| format!("P{index}:r{index} == 1")).collect();
    condition.push(format!("P{}:r0 == {last}", n - 1));
    test("MP", n, &columns, &condition)
}

fn ring(name: &str, n: usize, value: i32) -> String {
    let next = |index: usize| (index + 1) % n;
    let columns: Vec<Vec<String>> = (0..n)
        .map(|index| {
            let (store, load) = (store(index), load(next(index), next(index)));
            if name == "SB" { vec![store, load] } else { vec![load, store] }
        })
        .collect();
    let condition: Vec<String> = (0..n).map(|index| format!("P{index}:r{} == {value}", next(index))).collect();
    test(name, n, &columns, &condition)
}

fn independent_reads(n: usize) -> String {
    let half = n / 2;
    let mut columns: Vec<Vec<String>> = (0..half).map(|index| vec![store(index)]).collect();
    let mut condition = Vec::new();
    for reader in 0..half {
        let others = (0..half).filter(|other| *other != reader);
        columns.push([reader].into_iter().chain(others).map(|location| load(location, location)).collect());
        condition
            .extend((0..half).map(|other| format!("P{}:r{other} == {}", half + reader, i32::from(other == reader))));
    }
    test("IRIW", half, &columns, &condition)
}

fn reachable(text: &str) -> (bool, Duration) {
    let model = compile_text("ptx-7.5", shipped("ptx-7.5").expect("shipped")).model.expect("it compiles");
    let program = lower(&parse(text).0.expect("it parses")).0.expect("it lowers");
    let unfolding = unfold(&program, &UnfoldOptions::default()).expect("it unfolds");
    let started = Instant::now();
    let condition = Some(&program.questions[0].condition);
    let goal = Goal { condition, multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let end = Sat.explore(&unfolding, &model, &goal, &limits, &mut |_| ControlFlow::Break(()));
    let elapsed = started.elapsed();
    println!("{} threads, {} events: {end:?} in {elapsed:?}", unfolding.threads.len(), unfolding.events.len());
    match end {
        Exploration::Stopped => (true, elapsed),
        Exploration::Complete => (false, elapsed),
        Exploration::Incomplete(stop) => panic!("{stop:?}"),
    }
}

fn chains(n: usize) {
    let questions = [
        (message_passing(n, 0), false),
        (message_passing(n, 1), true),
        (ring("SB", n, 0), true),
        (ring("SB", n, 1), true),
        (ring("LB", n, 1), false),
        (ring("LB", n, 0), true),
        (independent_reads(n), true),
    ];
    for (text, expected) in questions {
        let (found, elapsed) = reachable(&text);
        assert_eq!(found, expected, "{text}");
        assert!(elapsed < Duration::from_secs(20), "{elapsed:?} for\n{text}");
    }
}

#[test]
fn chains_of_40_threads() {
    chains(40);
}

/// Where the curve goes. Slow without optimisation, so only then at full size.
#[test]
fn chains_of_more_threads() {
    let sizes: &[usize] = if cfg!(debug_assertions) { &[60] } else { &[60, 80, 100] };
    sizes.iter().for_each(|n| chains(*n));
}
