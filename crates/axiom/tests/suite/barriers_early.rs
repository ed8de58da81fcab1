//! Which barriers meet is decided before reads are chosen where the traces alone decide it, and only there
//! (`enumerate/barriers.rs`): the executions must be those of the oracle, and fewer choices are tried.

use crate::support;

use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};

use support::{Subject, front_end, run_text};

fn program(declarations: &str, threads: &[&str], question: &str) -> String {
    let mut text = format!("PTX t\n{{ {declarations} }}\n");
    for (at, thread) in threads.iter().enumerate() {
        text += &format!("P{at}@cta 0, gpu 0 {{\n{thread}\n}}\n");
    }
    text + question + "\n"
}

/// The first two that arrive meet, whoever they are: what is read depends on it.
#[test]
fn several_ways_to_meet_are_all_tried() {
    let write = "st.weak.u32 [x], 1;\nbar.sync 0, 2;";
    let read = "bar.sync 0, 2;\nld.weak.u32 %r, [x];";
    let text = program("x = 0;", &[write, read, read, "bar.sync 0, 2;"], "exists (P1:%r = 0 /\\ P2:%r = 1)");
    assert_eq!(run_text(&text), Ok(()));
}

/// The thread meets one or the other, as the flag says that it reads.
#[test]
fn a_barrier_that_is_read_meets_when_it_is_known() {
    let first = "st.weak.u32 [x], 1;\nbar.sync 1, 2;";
    let second = "bar.sync 2, 2;";
    let reader = "ld.relaxed.gpu.u32 %i, [i];\nbar.sync %i, 2;\nld.weak.u32 %r, [x];";
    let writer = "st.relaxed.gpu.u32 [i], 2;";
    let threads = [first, second, reader, writer];
    let text = program("x = 0; i = 1;", &threads, "exists (P2:%i = 1 /\\ P2:%r = 1)");
    assert_eq!(run_text(&text), Ok(()));
}

/// Barriers that cannot meet: nothing ends, and each of the two may be first to wait.
#[test]
fn barriers_that_cannot_meet_block() {
    let threads = ["bar.sync 0;\nld.weak.u32 %r, [x];\nbar.sync 1;", "bar.sync 1;\nst.weak.u32 [x], 1;\nbar.sync 0;"];
    assert_eq!(run_text(&program("x = 0;", &threads, "exists (P0:%r = 1)")), Ok(()));
}

/// A kernel whose four warps meet before they use its mbarriers: that none of them waits for good takes little work, because
/// traces whose barriers cannot meet are left at once and nobody finds an mbarrier as it was before it was initialised.
#[test]
fn what_barriers_order_is_known_while_reads_are_chosen() {
    let text = include_str!("../../../../corpus/tcgen05/gemm-two-epilogue-warps.litmus");
    let (_, unfolding) = front_end(text, 2).expect("a program").expect("a meaning");
    let subject = Subject::shipped("ptx");
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: Some(WORK) };
    let mut executions = 0;
    let end = Enumerate.explore(&unfolding, subject.model(), &Goal::new(Ends::Stuck), &limits, &mut |_| {
        executions += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((end, executions), (Exploration::Complete, 0));
}

/// A little more than it takes, and not half of what it takes where barriers are decided last.
const WORK: u64 = 200_000;
