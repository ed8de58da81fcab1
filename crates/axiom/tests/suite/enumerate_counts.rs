//! Known numbers of executions, on programs and models small enough to count by hand, and on families with a closed form.

use crate::enumerate_programs;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use enumerate_programs::*;
use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Observed, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::shipped;
use fencepost_program::program::{Condition, Scope};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// No axiom at all: every candidate with a total coherence order is an execution.
const ANYTHING: &str = "let nothing = 0\n";
const SC: &str = "acyclic po | rf | co | fr as sc\n";
const PER_LOCATION: &str = "acyclic po-loc | rf | co | fr as coherence\n";
/// Partial coherence: relaxed writes in mutual scope are related, others only if the model says so.
const PARTIAL: &str = "let ms = ([W & RLX]; (sr & loc); [W & RLX]) \\ id\n\
    empty ms \\ (co | co^-1) as coherence\n\
    empty (([W]; (po & loc); [W])) \\ co as program-order\n";

fn model(text: &str) -> Model {
    let compilation = compile_text("test", text);
    let errors: Vec<_> = compilation.errors().collect();
    assert!(errors.is_empty(), "{errors:?}");
    compilation.model.expect("no errors")
}

fn named(name: &str) -> Model {
    model(shipped(name).expect("a shipped model"))
}

fn collect(unfolding: &Unfolding, model: &Model, goal: &Goal<'_>) -> (Vec<Execution>, Exploration) {
    let mut found = Vec::new();
    let end = Enumerate.explore(unfolding, model, goal, &NO_LIMITS, &mut |execution| {
        found.push(execution.clone());
        ControlFlow::Continue(())
    });
    (found, end)
}

/// The number of executions, each reported once.
fn count(unfolding: &Unfolding, text: &str) -> usize {
    count_model(unfolding, &model(text))
}

fn count_model(unfolding: &Unfolding, model: &Model) -> usize {
    let (found, end) = collect(unfolding, model, &Goal::new(Ends::Terminating));
    assert_eq!(end, Exploration::Complete);
    let distinct: BTreeSet<String> = found.iter().map(|execution| format!("{execution:?}")).collect();
    assert_eq!(distinct.len(), found.len(), "no execution is reported twice");
    assert!(found.iter().all(|execution| execution.weight == 1));
    found.len()
}

fn reachable(unfolding: &Unfolding, model: &Model, condition: &Condition) -> bool {
    let goal = Goal { condition: Some(condition), multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let mut seen = false;
    let end = Enumerate.explore(unfolding, model, &goal, &NO_LIMITS, &mut |_| {
        seen = true;
        ControlFlow::Break(())
    });
    assert_eq!(end, if seen { Exploration::Stopped } else { Exploration::Complete });
    seen
}

fn total_weight(unfolding: &Unfolding, model: &Model, observed: Observed<'_>) -> u64 {
    let (found, end) = collect(unfolding, model, &Goal { observed, ..Goal::new(Ends::Terminating) });
    assert_eq!(end, Exploration::Complete);
    found.iter().map(|execution| execution.weight).sum()
}

#[test]
fn store_buffering_has_three_sc_executions_and_four_without_axioms() {
    let sb = store_buffering(2, None);
    assert_eq!(count(&sb, SC), 3);
    assert_eq!(count(&sb, ANYTHING), 4);
    assert_eq!(count_model(&sb, &named("x86-tso")), 4);
    assert_eq!(count_model(&store_buffering(2, Some(Tag::Mfence)), &named("x86-tso")), 3);
}

/// Rows of no words at all.
#[test]
fn a_program_without_events_has_one_execution() {
    let nothing = Builder::new(0).thread(&[]).build();
    for text in [ANYTHING, SC, PARTIAL] {
        assert_eq!(count(&nothing, text), 1, "{text}");
    }
    assert_eq!(count_model(&nothing, &named("ptx-7.5")), 1);
}

#[test]
fn load_buffering_is_found_although_program_order_and_reads_from_cycle() {
    let lb = load_buffering(2);
    assert_eq!(count(&lb, SC), 3);
    assert_eq!(count(&lb, ANYTHING), 4);
    assert_eq!(count(&lb, PER_LOCATION), 4);
}

#[test]
fn message_passing_counts() {
    let mp = Builder::new(2).thread(&[Op::Write(0, 1), Op::Write(1, 1)]).thread(&[Op::Read(1), Op::Read(0)]).build();
    assert_eq!(count(&mp, SC), 3);
    assert_eq!(count(&mp, ANYTHING), 4);
    let both = Condition::And([register(1, 0, 1), register(1, 1, 0)].into());
    assert!(!reachable(&mp, &model(SC), &both));
    assert!(reachable(&mp, &model(PER_LOCATION), &both));
}

#[test]
fn reads_of_one_location_are_coherent() {
    // Monotone sequences of n reads over n + 1 writes in a fixed order: C(2n, n).
    assert_eq!(count(&coherent_reads(2), PER_LOCATION), 6);
    assert_eq!(count(&coherent_reads(4), PER_LOCATION), 70);
    // Without axioms: any of 3 writes each, and 2! orders.
    assert_eq!(count(&coherent_reads(2), ANYTHING), 18);
}

#[test]
fn two_plus_two_writes_counts() {
    assert_eq!(count(&two_plus_two_writes(2), SC), 3);
    assert_eq!(count(&two_plus_two_writes(2), ANYTHING), 4);
    let model = model(SC);
    let cycle = Condition::And([memory(0, 2), memory(1, 2)].into());
    assert!(!reachable(&two_plus_two_writes(2), &model, &cycle));
    assert!(reachable(&two_plus_two_writes(2), &model, &memory(0, 2)));
}

#[test]
fn exchanges_form_one_chain() {
    let tso = named("x86-tso");
    for (n, factorial) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        assert_eq!(count_model(&exchanges(n), &tso), factorial);
    }
    let both = Condition::And([register(0, 0, 0), register(1, 0, 0)].into());
    assert!(!reachable(&exchanges(4), &tso, &both));
    assert!(reachable(&exchanges(12), &tso, &register(3, 0, 0)));
}

#[test]
fn increments_count_up() {
    let tso = named("x86-tso");
    let four = (0..4).fold(Builder::new(1), |builder, _| builder.thread(&[Op::Increment(0)])).build();
    assert_eq!(count_model(&four, &tso), 24);
    assert!(reachable(&four, &tso, &memory(0, 4)));
    assert!(!reachable(&four, &tso, &Condition::Not(Box::new(memory(0, 4)))));
}

#[test]
fn partial_coherence_is_the_smallest_that_is_demanded() {
    let relaxed = |scope| {
        Builder::new(1).with(&[Tag::Relaxed], Some(scope)).thread(&[Op::Write(0, 1)]).thread(&[Op::Write(0, 2)])
    };
    // In mutual scope: one way or the other. Not in mutual scope: unrelated.
    assert_eq!(count(&relaxed(Scope::Gpu).build(), PARTIAL), 2);
    assert_eq!(count(&relaxed(Scope::Cta).build(), PARTIAL), 1);
    // A weak write in between is related to neither.
    let three = relaxed(Scope::Gpu).with(&[Tag::Weak], None).thread(&[Op::Write(0, 3)]).build();
    assert_eq!(count(&three, PARTIAL), 2);
    // Three in mutual scope: 3! total orders, not 2^3 orientations.
    assert_eq!(count(&relaxed(Scope::Gpu).thread(&[Op::Write(0, 3)]).build(), PARTIAL), 6);
    // Program order is demanded, and closes through the other thread's write.
    let ordered = relaxed(Scope::Gpu).thread(&[Op::Write(0, 3), Op::Write(0, 4)]).build();
    assert_eq!(count(&ordered, PARTIAL), 12);
}

#[test]
fn unrelated_writes_are_all_co_maximal() {
    let weak = Builder::new(1).thread(&[Op::Write(0, 1)]).thread(&[Op::Write(0, 2)]).build();
    let partial = model(PARTIAL);
    assert!(reachable(&weak, &partial, &memory(0, 1)));
    assert!(reachable(&weak, &partial, &memory(0, 2)));
    assert!(!reachable(&weak, &partial, &memory(0, 0)));
    // One choice must satisfy filter and condition together.
    let both = Condition::And([memory(0, 1), memory(0, 2)].into());
    assert!(!reachable(&weak, &partial, &both));
    let (filter, condition) = (memory(0, 1), memory(0, 2));
    let goal = Goal { filter: Some(&filter), condition: Some(&condition), ..Goal::new(Ends::Terminating) };
    assert!(collect(&weak, &partial, &goal).0.is_empty());
}

#[test]
fn fence_sc_orders_every_pair_in_mutual_scope_acyclically() {
    let fences = |n: usize, scope| {
        (0..n).fold(Builder::new(0).with(&[], Some(scope)), |builder, _| builder.thread(&[Op::Fence(Tag::Sc)])).build()
    };
    let free = "empty sync_fence & id as trivial\n";
    assert_eq!(count(&fences(2, Scope::Gpu), free), 2);
    assert_eq!(count(&fences(3, Scope::Gpu), free), 6);
    assert_eq!(count(&fences(4, Scope::Gpu), free), 24);
    assert_eq!(count(&fences(3, Scope::Cta), free), 1);
    // Two fences of one thread: the model decides whether program order counts.
    let two = Builder::new(0).with(&[], Some(Scope::Gpu)).thread(&[Op::Fence(Tag::Sc), Op::Fence(Tag::Sc)]).build();
    assert_eq!(count(&two, free), 2);
    assert_eq!(count(&two, "acyclic po | sync_fence as order\n"), 1);
}

#[test]
fn interchangeable_writers_are_weighed() {
    let tso = named("x86-tso");
    for n in 1..=5u64 {
        let all = writers(n as usize);
        let factorial: u64 = (1..=n).product();
        // Reads of a total order of n + 1 writes: (n + 1)(n + 2)/2 monotone pairs.
        let expected = factorial * (n + 1) * (n + 2) / 2;
        assert_eq!(total_weight(&all, &tso, Observed::Everything), expected);
        assert_eq!(total_weight(&all, &tso, Observed::Terms(&[])), expected);
        let x = [fencepost_program::program::Term::Memory(fencepost_program::LocationId(0))];
        assert_eq!(total_weight(&all, &tso, Observed::Terms(&x)), expected);
    }
    assert_eq!(total_weight(&writers(7), &tso, Observed::Terms(&[])), 181_440);
}

#[test]
fn opposite_orders_of_two_readers_are_refuted_at_the_root() {
    let tso = named("x86-tso");
    let base = (0..16).fold(Builder::new(1), |builder, i| builder.thread(&[Op::Write(0, i + 1)]));
    let all = base.thread(&[Op::Read(0), Op::Read(0)]).thread(&[Op::Read(0), Op::Read(0)]).build();
    let opposite = |a, b, c, d| {
        Condition::And([register(16, 0, a), register(16, 1, b), register(17, 0, c), register(17, 1, d)].into())
    };
    assert!(!reachable(&all, &tso, &opposite(1, 2, 2, 1)));
    assert!(reachable(&all, &tso, &opposite(1, 2, 1, 2)));
}

#[test]
fn a_value_out_of_thin_air_is_never_guessed() {
    let copies = Builder::new(2)
        .thread(&[Op::Read(0), Op::WriteRegister(1, 0)])
        .thread(&[Op::Read(1), Op::WriteRegister(0, 0)])
        .build();
    let (found, end) = collect(&copies, &model(PER_LOCATION), &Goal::new(Ends::Terminating));
    assert_eq!(end, Exploration::Incomplete(Stop::ThinAir));
    assert_eq!(found.len(), 3);
    // A model with an axiom against it has no gap.
    assert_eq!(count(&copies, "acyclic rf | data as no-thin-air\n"), 3);
    assert_eq!(count(&copies, SC), 3);
}

#[test]
fn wide_candidates_agree_with_narrow_ones() {
    // Threads that touch locations of their own change nothing, and take the candidate past 64 and 128 events.
    for padding in [0usize, 30, 61, 62, 63, 130] {
        let mut narrow = Builder::new(2 + padding);
        narrow = narrow.thread(&[Op::Write(0, 1), Op::Read(1)]).thread(&[Op::Write(1, 1), Op::Read(0)]);
        let wide = (0..padding).fold(narrow, |builder, i| builder.thread(&[Op::Write(2 + i, 1)])).build();
        assert_eq!(count(&wide, SC), 3, "{padding}");
        assert_eq!(count_model(&wide, &named("x86-tso")), 4, "{padding}");
        let exchange = (0..3).fold(Builder::new(1 + padding), |builder, i| builder.thread(&[Op::Exchange(0, i + 1)]));
        let wide = (0..padding).fold(exchange, |builder, i| builder.thread(&[Op::Write(1 + i, 1)])).build();
        assert_eq!(count_model(&wide, &named("x86-tso")), 6, "{padding}");
    }
}

#[test]
fn limits_are_answers() {
    let tso = named("x86-tso");
    let goal = Goal::new(Ends::Terminating);
    let mut ignore = |_: &Execution| ControlFlow::Continue(());
    let memory = Limits { memory: Some(16), ..NO_LIMITS };
    assert_eq!(
        Enumerate.explore(&exchanges(3), &tso, &goal, &memory, &mut ignore),
        Exploration::Incomplete(Stop::Memory)
    );
    let time = Limits { deadline: Some(std::time::Instant::now()), ..NO_LIMITS };
    assert_eq!(Enumerate.explore(&exchanges(8), &tso, &goal, &time, &mut ignore), Exploration::Incomplete(Stop::Time));
    let flag = std::sync::atomic::AtomicBool::new(true);
    let cancelled = Limits { cancelled: Some(&flag), ..NO_LIMITS };
    let end = Enumerate.explore(&exchanges(8), &tso, &goal, &cancelled, &mut ignore);
    assert_eq!(end, Exploration::Incomplete(Stop::Cancelled));
}
