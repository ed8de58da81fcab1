//! PTX's barriers: the whole CTA or a count, generations, arrive, exit, and reductions.

use crate::common;

use common::{choices, matchings, program};
use fencepost_program::barrier::reduction;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::{BarrierMatching, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId};

/// One CTA of these threads. The `%` of a register is what shows that the notation is real PTX.
fn test(threads: &[&str]) -> Unfolding {
    let blocks: String = threads
        .iter()
        .enumerate()
        .map(|(index, code)| format!("P{index}@cta 0, gpu 0 {{\nmov.u32 %r0, 0;\n{code}\n}}\n"))
        .collect();
    let text = format!("PTX t\n{{ x = 0; }}\n{blocks}");
    unfold(&program(&text), &UnfoldOptions::default()).expect("an unfolding")
}

fn possible(unfolding: &Unfolding) -> Vec<(Vec<TraceId>, Vec<BarrierMatching>)> {
    let matched = choices(unfolding).into_iter().map(|traces| {
        let found = matchings(unfolding, &traces);
        (traces, found)
    });
    matched.filter(|(_, found)| !found.is_empty()).collect()
}

/// The number of blocked threads and the group sizes of each matching.
fn outcomes(threads: &[&str]) -> Vec<(usize, Vec<Vec<usize>>)> {
    let unfolding = test(threads);
    let blocked = |trace: &&TraceId| matches!(unfolding.traces[trace.index()].end, TraceEnd::Blocked { .. });
    let sizes = |found: &BarrierMatching| found.groups.iter().map(Vec::len).collect::<Vec<_>>();
    let mut all: Vec<_> = (possible(&unfolding).iter())
        .map(|(traces, found)| (traces.iter().filter(blocked).count(), found.iter().map(sizes).collect::<Vec<_>>()))
        .collect();
    all.sort();
    all
}

#[test]
fn the_whole_cta_meets() {
    assert_eq!(outcomes(&["bar.sync 0;", "bar.sync 0;", "barrier.cta.sync 0;"]), [(0, vec![vec![3]])]);
}

#[test]
fn generations_follow_program_order() {
    assert_eq!(outcomes(&["bar.sync 0; bar.sync 0;", "bar.sync 0; bar.sync 0;"]), [(0, vec![vec![2, 2]])]);
}

/// PTX ISA 9.7.14.7: a barrier that only exited threads are missing from is released.
#[test]
fn exited_threads_are_not_waited_for() {
    assert_eq!(outcomes(&["bar.sync 0;", "ret;"]), [(0, vec![vec![1]])]);
    assert_eq!(outcomes(&["bar.sync 0; bar.sync 0;", "bar.sync 0;"]), [(0, vec![vec![2, 1]])]);
}

#[test]
fn a_thread_that_spins_is_waited_for() {
    let spin = "L0: ld.relaxed.gpu.u32 %r1, [x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L0;";
    assert_eq!(outcomes(&["bar.sync 0;", spin]), [(0, vec![vec![1]]), (1, vec![vec![]])]);
}

#[test]
fn crossed_barriers_block() {
    assert_eq!(outcomes(&["bar.sync 0; bar.sync 1;", "bar.sync 1; bar.sync 0;"]), [(2, vec![vec![]])]);
}

#[test]
fn a_count_is_exact() {
    assert_eq!(outcomes(&["bar.sync 0, 2;", "bar.sync 0, 2;"]), [(0, vec![vec![2]])]);
    assert_eq!(outcomes(&["bar.sync 0, 3;", "bar.sync 0, 3;"]), [(2, vec![vec![]])], "exit does not lower a count");
}

/// PTX's counts are multiples of the warp size, and a thread of a test stands for a warp.
#[test]
fn a_multiple_of_32_counts_warps() {
    assert_eq!(outcomes(&["bar.sync 0, 64;", "bar.sync 0, 64;"]), [(0, vec![vec![2]])]);
    assert_eq!(outcomes(&["bar.sync 0, 96;", "bar.sync 0, 96;"]), [(2, vec![vec![]])]);
    let counted = "mov.u32 %r1, 64; bar.sync 0, %r1;";
    assert_eq!(outcomes(&[counted, counted]), [(0, vec![vec![2]])], "in a register too");
    assert_eq!(outcomes(&["bar.arrive 1, 64;", "bar.sync 1, 64;"]), [(0, vec![vec![2]])]);
}

#[test]
fn who_comes_first_forms_the_generation() {
    let three = outcomes(&["bar.sync 0, 2;", "bar.sync 0, 2;", "bar.sync 0, 2;"]);
    assert_eq!(three, vec![(1, vec![vec![2]]); 3], "any two meet, the third waits for good");
    let four = outcomes(&["bar.sync 0, 2;", "bar.sync 0, 2;", "bar.sync 0, 2;", "bar.sync 0, 2;"]);
    assert_eq!(four, [(0, vec![vec![2, 2]; 3])], "three ways to pair four threads");
}

#[test]
fn a_producer_arrives_and_a_consumer_waits() {
    let unfolding = test(&["bar.arrive 1, 2;", "bar.sync 1, 2;"]);
    let found = possible(&unfolding);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1[0].synchronises.len(), 1);
}

#[test]
fn arrivals_alone_complete_a_generation() {
    assert_eq!(outcomes(&["bar.arrive 1, 2;", "bar.arrive 1, 2;"]), [(0, vec![vec![2]])]);
    assert_eq!(outcomes(&["bar.arrive 1, 2;", "ret;"]), [(0, vec![vec![]])], "one of two arrived and went on");
}

#[test]
fn ctas_have_their_own_barriers() {
    let text =
        "PTX t\n{ x = 0; }\nP0@cta 0, gpu 0 {\nmov.u32 %r0, 0;\nbar.sync 0;\n}\nP1@cta 1, gpu 0 {\nbar.sync 0;\n}\n";
    let unfolding = unfold(&program(text), &UnfoldOptions::default()).expect("an unfolding");
    let found = possible(&unfolding);
    assert_eq!(found[0].1[0].groups.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn reductions_combine_the_group() {
    for (form, expected) in [("popc.u32 %r1", 1), ("and.pred %p2", 0), ("or.pred %p2", 1)] {
        let thread = |value: i32| format!("mov.u32 %r9, {value}; setp.ne.u32 %p1, %r9, 0; bar.red.{form}, 0, %p1;");
        let unfolding = test(&[&thread(0), &thread(5)]);
        let found = possible(&unfolding);
        assert_eq!(found.len(), 1);
        let matching = &found[0].1[0];
        let member: EventId = matching.groups[0][0];
        let mut value = |expression: &fencepost_program::expression::Expression| expression.evaluate(&mut |_| None);
        assert_eq!(reduction(&unfolding, matching, member, &mut value), Some(Value(expected)), "{form}");
    }
}

/// The completion of barrier 1 lets the first thread exit, and that releases barrier 0.
#[test]
fn a_completed_barrier_may_release_another_by_an_exit() {
    assert_eq!(outcomes(&["bar.sync 1, 1;", "bar.sync 0; bar.sync 1, 1;"]), [(0, vec![vec![1, 1, 1]])]);
}
