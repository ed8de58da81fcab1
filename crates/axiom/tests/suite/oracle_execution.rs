//! `check_execution` refuses each kind of broken execution by name, and the brute-force oracle counts what the
//! literature counts.

use crate::support::handmade;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::brute::Brute;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::{Coherence, FenceOrder, Model};
use fencepost_axiom::replay::{Includes, Mismatch, check_execution, fence_order, final_states};
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::program::{Condition, Scope, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_program::value::{Type, Value};
use fencepost_program::{EventId, LocationId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Span, cat};

use handmade::{Build, gpu};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };
const SC: &str = "acyclic po | rf | co | fr as sc";
const COHERENCE_ONLY: &str = "acyclic (po & loc) | rf | co | fr as coherence";
const TSO: &str = "acyclic (po & loc) | rf | co | fr as coherence
    acyclic (po \\ (W * R)) | rfe | co | fr as tso";

fn constant(value: i128) -> Expression {
    Expression::constant(value)
}

fn e(event: u32) -> EventId {
    EventId(event)
}

/// 0, 1: inits of x, y. P0: 2: W x=1, 3: R y, 4: fence.sc. P1: 5: W x=2, 6: R x, 7: fence.sc.
fn sample() -> (Build, Execution) {
    let mut build = Build::new(&["x", "y"]);
    build.thread(gpu(0, 0));
    build.write(0, constant(1), &[], None);
    build.read(1, &[], None);
    build.fence(&[Tag::Sc], Some(Scope::Gpu));
    build.thread(gpu(0, 1));
    build.write(0, constant(2), &[], None);
    let read = build.read(0, &[], None);
    build.fence(&[Tag::Sc], Some(Scope::Gpu));
    let two = Box::new(constant(2));
    let taken = Expression::Binary(BinaryOperator::Equal, Type::UNTYPED, Box::new(Expression::Read(read)), two);
    build.trace().constraints.push(taken);
    let co = [(e(0), e(2)), (e(0), e(5)), (e(2), e(5))];
    let mut execution = build.execution(&[(e(1), e(3)), (e(5), e(6))], &co, &[0, 0, 1, 0, 2, 2]);
    execution.sync_fence = vec![(e(4), e(7))];
    (build, execution)
}

fn broken(change: impl Fn(&mut Build, &mut Execution)) -> Result<(), Mismatch> {
    let (mut build, mut execution) = sample();
    change(&mut build, &mut execution);
    check_execution(&build.unfolding, &execution, &Goal::new(Ends::Terminating), &Coherence::Total, FenceOrder::Ordered)
}

#[test]
fn a_good_execution_passes() {
    assert_eq!(broken(|_, _| {}), Ok(()));
}

#[test]
fn broken_traces_and_events_are_refused() {
    assert_eq!(broken(|_, x| x.traces.truncate(1)), Err(Mismatch::Traces));
    assert_eq!(broken(|_, x| x.traces[0] = TraceId(1)), Err(Mismatch::Traces));
    assert_eq!(broken(|_, x| x.events.truncate(7)), Err(Mismatch::Events));
    assert_eq!(broken(|_, x| x.events.reverse()), Err(Mismatch::Events));
    assert_eq!(broken(|_, x| x.weight = 0), Err(Mismatch::Weight));
}

#[test]
fn broken_reads_from_is_refused() {
    assert_eq!(broken(|_, x| x.rf.truncate(1)), Err(Mismatch::ReadsFrom(e(6))));
    assert_eq!(broken(|_, x| x.rf.push((e(2), e(6)))), Err(Mismatch::ReadsFrom(e(6))));
    assert_eq!(broken(|_, x| x.rf[0].0 = e(0)), Err(Mismatch::ReadsFrom(e(3))), "another location");
    assert_eq!(broken(|_, x| x.rf[0].0 = e(3)), Err(Mismatch::ReadsFrom(e(3))), "not a write");
    assert_eq!(broken(|_, x| x.rf.reverse()), Err(Mismatch::ReadsFrom(e(6))), "not ascending");
}

#[test]
fn broken_values_are_refused() {
    assert_eq!(broken(|_, x| x.values[3] = Some(Value(7))), Err(Mismatch::Value(e(3))));
    assert_eq!(broken(|_, x| x.values[4] = Some(Value(0))), Err(Mismatch::Value(e(4))), "a fence has no value");
    let other = |_: &mut Build, x: &mut Execution| {
        x.rf[1].0 = e(2);
        x.values[6] = Some(Value(1));
    };
    assert_eq!(broken(other), Err(Mismatch::Constraint(ThreadId(1))));
}

#[test]
fn values_out_of_thin_air_are_refused() {
    let mut build = Build::new(&["x", "y"]);
    for (from, to) in [(0, 1), (1, 0)] {
        build.thread(gpu(0, 0));
        let read = build.read(from, &[], None);
        build.write(to, Expression::Read(read), &[], None);
    }
    let co = [(e(0), e(5)), (e(1), e(3))];
    let execution = build.execution(&[(e(5), e(2)), (e(3), e(4))], &co, &[0, 0, 42, 42, 42, 42]);
    let goal = Goal::new(Ends::Terminating);
    let result = check_execution(&build.unfolding, &execution, &goal, &Coherence::Total, FenceOrder::Ordered);
    assert_eq!(result, Err(Mismatch::ThinAir));
    // The oracle does not call a search complete in which only thin air is left undecided.
    assert_eq!(explore(&build.unfolding, COHERENCE_ONLY, Coherence::Total, &goal).1, incomplete(Stop::ThinAir));
    assert_eq!(explore(&build.unfolding, SC, Coherence::Total, &goal).1, Exploration::Complete);
}

#[test]
fn broken_coherence_is_refused() {
    assert_eq!(broken(|_, x| x.co[2] = (e(2), e(2))), Err(Mismatch::Coherence(e(2), e(2))));
    assert_eq!(broken(|_, x| x.co.push((e(5), e(2)))), Err(Mismatch::Coherence(e(2), e(5))), "a cycle");
    assert_eq!(broken(|_, x| x.co.push((e(2), e(6)))), Err(Mismatch::Coherence(e(0), e(2))), "a read");
    assert_eq!(broken(|_, x| x.co.insert(1, (e(0), e(1)))), Err(Mismatch::Coherence(e(0), e(1))), "two locations");
    assert_eq!(broken(|_, x| x.co.swap(0, 1)), Err(Mismatch::Coherence(e(0), e(2))), "not ascending");
    assert_eq!(broken(|_, x| x.co = vec![(e(0), e(2)), (e(2), e(5))]), Err(Mismatch::Coherence(e(0), e(2))));
    assert_eq!(broken(|_, x| x.co.truncate(2)), Err(Mismatch::Unrelated(e(2), e(5))));
    let (build, mut execution) = sample();
    execution.co.truncate(2);
    let goal = Goal::new(Ends::Terminating);
    assert_eq!(check_execution(&build.unfolding, &execution, &goal, &Coherence::Partial, FenceOrder::Ordered), Ok(()));
    execution.co.truncate(1);
    let result = check_execution(&build.unfolding, &execution, &goal, &Coherence::Partial, FenceOrder::Ordered);
    assert_eq!(result, Err(Mismatch::InitFirst(e(5))));
}

#[test]
fn broken_fence_order_is_refused() {
    assert_eq!(broken(|_, x| x.sync_fence = vec![(e(7), e(4))]), Ok(()), "either way is an orientation");
    assert_eq!(broken(|_, x| x.sync_fence.clear()), Err(Mismatch::SyncFence));
    assert_eq!(broken(|_, x| x.sync_fence.push((e(7), e(4)))), Err(Mismatch::SyncFence));
    assert_eq!(broken(|build, _| build.event(e(4)).scope = Some(Scope::Cta)), Err(Mismatch::SyncFence));
}

#[test]
fn an_unmatched_barrier_group_is_refused() {
    assert_eq!(broken(|_, x| x.barriers.groups.push(vec![e(4), e(7)])), Err(Mismatch::Barriers));
}

#[test]
fn ends_are_judged_by_the_goal() {
    let cut = |build: &mut Build, _: &mut Execution| {
        build.trace().end = TraceEnd::Bound { span: Span::default(), rests_on: Vec::new() }
    };
    assert_eq!(broken(cut), Err(Mismatch::End(ThreadId(1))));
    let spin = TraceEnd::Spin { reads: vec![e(6)], span: Span::default() };
    let (mut build, mut execution) = sample();
    build.trace().end = spin;
    let check = |build: &Build, execution: &Execution, ends| {
        check_execution(&build.unfolding, execution, &Goal::new(ends), &Coherence::Total, FenceOrder::Ordered)
    };
    assert_eq!(check(&build, &execution, Ends::Terminating), Err(Mismatch::End(ThreadId(1))));
    assert_eq!(check(&build, &execution, Ends::Stuck), Ok(()));
    execution.co = vec![(e(0), e(2)), (e(0), e(5)), (e(5), e(2))];
    assert_eq!(check(&build, &execution, Ends::Stuck), Err(Mismatch::End(ThreadId(1))), "not co-maximal");
    let (build, execution) = sample();
    assert!(check(&build, &execution, Ends::Stuck).is_err(), "nobody is stuck");
}

fn equals(left: Term, value: i128) -> Condition {
    Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(Value(value)) }
}

#[test]
fn a_condition_holds_in_one_final_state() {
    let (build, mut execution) = sample();
    let check = |execution: &Execution, filter: Option<&Condition>, condition: &Condition, coherence| {
        let goal = Goal { filter, condition: Some(condition), ..Goal::new(Ends::Terminating) };
        check_execution(&build.unfolding, execution, &goal, &coherence, FenceOrder::Ordered)
    };
    let x = Term::Memory(LocationId(0));
    let (one, two) = (equals(x, 1), equals(x, 2));
    let register = equals(Term::Register(ThreadId(1), RegisterId(0)), 2);
    assert_eq!(check(&execution, None, &two, Coherence::Total), Ok(()));
    assert_eq!(check(&execution, None, &one, Coherence::Total), Err(Mismatch::Condition));
    assert_eq!(check(&execution, None, &register, Coherence::Total), Ok(()));
    // Unrelated writes: the final value is that of either, but of one at a time.
    execution.co.truncate(2);
    assert_eq!(final_states(&build.unfolding, &execution).len(), 2);
    assert_eq!(check(&execution, None, &one, Coherence::Partial), Ok(()));
    assert_eq!(check(&execution, Some(&two), &two, Coherence::Partial), Ok(()));
    assert_eq!(check(&execution, Some(&one), &two, Coherence::Partial), Err(Mismatch::Condition));
}

fn incomplete(stop: Stop) -> Exploration {
    Exploration::Incomplete(stop)
}

/// The oracle reads nothing of a compiled model but its coherence.
fn bare(coherence: Coherence) -> Model {
    let mut model = compile_text("bare", "").model.expect("a model without axioms");
    model.coherence = coherence;
    model
}

fn explore(unfolding: &Unfolding, text: &str, coherence: Coherence, goal: &Goal<'_>) -> (Vec<Execution>, Exploration) {
    let (cat, diagnostics) = cat::parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let model = bare(coherence);
    let includes = Includes::new();
    let brute = Brute { cat: &cat, includes: &includes, variants: &BTreeSet::new(), candidates: 1_000_000 };
    let fences = fence_order(&cat, &includes, unfolding).expect("the model is interpreted");
    let mut found = Vec::new();
    let end = brute.explore(unfolding, &model, goal, &NO_LIMITS, &mut |execution| {
        assert_eq!(check_execution(unfolding, execution, goal, &model.coherence, fences), Ok(()));
        found.push(execution.clone());
        ControlFlow::Continue(())
    });
    (found, end)
}

/// Store buffering.
fn store_buffering() -> Build {
    let mut build = Build::new(&["x", "y"]);
    for (mine, other) in [(0, 1), (1, 0)] {
        build.thread(gpu(0, 0));
        build.write(mine, constant(1), &[], None);
        build.read(other, &[], None);
    }
    build
}

fn outcomes(build: &Build, text: &str) -> (usize, usize) {
    let (found, end) = explore(&build.unfolding, text, Coherence::Total, &Goal::new(Ends::Terminating));
    assert_eq!(end, Exploration::Complete);
    let states: BTreeSet<_> = found.iter().flat_map(|one| final_states(&build.unfolding, one)).collect();
    (found.len(), states.len())
}

#[test]
fn the_oracle_counts_store_buffering() {
    assert_eq!(outcomes(&store_buffering(), SC), (3, 3));
    assert_eq!(outcomes(&store_buffering(), TSO), (4, 4));
}

#[test]
fn the_oracle_counts_coherence_orders() {
    // Three writers of one location: 3! total orders.
    let mut build = Build::new(&["x"]);
    for value in 1..=3 {
        build.thread(gpu(0, 0));
        build.write(0, constant(value), &[], None);
    }
    assert_eq!(outcomes(&build, SC), (6, 3));
    let goal = Goal::new(Ends::Terminating);
    // Nothing demanded: one execution, with all writes unrelated and three final values.
    let (found, _) = explore(&build.unfolding, "acyclic po | co", Coherence::Partial, &goal);
    assert_eq!((found.len(), final_states(&build.unfolding, &found[0]).len()), (1, 3));
    // Two of them demanded: one orientation of that pair, the third unrelated.
    build.event(e(1)).tags = build.event(e(1)).tags.with(Tag::Relaxed);
    build.event(e(2)).tags = build.event(e(2)).tags.with(Tag::Relaxed);
    let demand = "empty (((RLX * RLX) & loc) \\ id) \\ (co | co^-1) as demanded";
    let (found, end) = explore(&build.unfolding, demand, Coherence::Partial, &goal);
    assert_eq!(end, Exploration::Complete);
    let sizes: Vec<usize> = found.iter().map(|one| one.co.len()).collect();
    assert_eq!(sizes, [4, 4], "init edges and one orientation each");
}

#[test]
fn the_oracle_gives_up_at_its_cap_and_stops_when_asked() {
    let build = store_buffering();
    let (cat, _) = cat::parse(SC);
    let includes = Includes::new();
    let model = bare(Coherence::Total);
    let goal = Goal::new(Ends::Terminating);
    let few = Brute { cat: &cat, includes: &includes, variants: &BTreeSet::new(), candidates: 3 };
    let end = few.explore(&build.unfolding, &model, &goal, &NO_LIMITS, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(end, Exploration::Incomplete(Stop::Unsupported { .. })));
    let enough = Brute { candidates: 1000, ..few };
    let end = enough.explore(&build.unfolding, &model, &goal, &NO_LIMITS, &mut |_| ControlFlow::Break(()));
    assert_eq!(end, Exploration::Stopped);
}

#[test]
fn a_cut_trace_makes_the_search_incomplete_unless_it_contradicts_itself() {
    let mut build = store_buffering();
    build.trace().end = TraceEnd::Bound { span: Span::new(1, 2), rests_on: Vec::new() };
    let goal = Goal::new(Ends::Terminating);
    let (found, end) = explore(&build.unfolding, SC, Coherence::Total, &goal);
    assert_eq!((found.len(), end), (0, incomplete(Stop::Bound(Span::new(1, 2)))));
    let (_, end) = explore(&build.unfolding, "empty R as never", Coherence::Total, &goal);
    assert_eq!(end, incomplete(Stop::Bound(Span::new(1, 2))), "others may wait for what lies past the cut");
    build.trace().constraints = vec![Expression::Constant(Value(0))];
    let (_, end) = explore(&build.unfolding, SC, Coherence::Total, &goal);
    assert_eq!(end, Exploration::Complete);
}
