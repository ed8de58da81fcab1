//! Whether a search that calls itself complete beside a cut loop is: what a small unrolling bound leaves no doubt about
//! must be the same under a larger one. The larger unfolding is an oracle that shares nothing with the rule for cuts.

use crate::support;

use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Reach, Stop, reaches_cut};
use fencepost_program::unfolding::{TraceEnd, Unfolding};
use fencepost_syntax::litmus::Arch;

use support::{Subject, front_end};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

fn count(engine: &dyn Engine, unfolding: &Unfolding, subject: &Subject, ends: Ends) -> (u64, Exploration) {
    let mut found = 0;
    let end = engine.explore(unfolding, subject.model(), &Goal::new(ends), &NO_LIMITS, &mut |execution| {
        found += execution.weight;
        ControlFlow::Continue(())
    });
    (found, end)
}

fn is_cut(unfolding: &Unfolding) -> bool {
    unfolding.traces.iter().any(|trace| matches!(trace.end, TraceEnd::Bound { .. } | TraceEnd::Wild { .. }))
}

#[test]
fn what_is_complete_at_a_small_bound_is_the_same_at_a_larger_one() {
    let (ptx, x86) = (Subject::shipped("ptx-7.5"), Subject::shipped("x86-tso"));
    let (mut decided, mut by_beginnings, mut doubted) = (0, 0, 0);
    for seed in 0..20_000 {
        let text = support::text(seed);
        let Some((program, small)) = front_end(&text, 1).expect("a program") else { continue };
        if !is_cut(&small) || small.events.len() > 30 {
            continue;
        }
        let Some((_, large)) = front_end(&text, 3).expect("a program") else { continue };
        let subject = if program.arch == Arch::Ptx { &ptx } else { &x86 };
        let reach = reaches_cut(&Enumerate, &small, subject.model(), &NO_LIMITS);
        assert_eq!(reach, reaches_cut(&Sat, &small, subject.model(), &NO_LIMITS), "seed {seed}\n{text}");
        for ends in [Ends::Terminating, Ends::Stuck] {
            let (executions, end) = count(&Enumerate, &small, subject, ends);
            let (by_sat, sat) = count(&Sat, &small, subject, ends);
            if !matches!(sat, Exploration::Incomplete(Stop::Unsupported { .. })) {
                assert_eq!((executions, &end), (by_sat, &sat), "seed {seed}\n{text}");
            }
            match end {
                Exploration::Complete => {
                    let more = count(&Enumerate, &large, subject, ends);
                    assert_eq!((executions, end), more, "seed {seed}, {ends:?}\n{text}");
                    decided += 1;
                }
                Exploration::Incomplete(Stop::Bound(_)) if reach == Reach::Never => {
                    let more = count(&Enumerate, &large, subject, ends);
                    assert_eq!(executions, more.0, "seed {seed}, {ends:?}, by beginnings\n{text}");
                    by_beginnings += 1;
                }
                _ => doubted += 1,
            }
        }
    }
    println!("{decided} searches decided beside a cut, {by_beginnings} more by beginnings, {doubted} not");
    assert!(decided > 10 && by_beginnings > 10 && doubted > 10, "{decided}, {by_beginnings} decided, {doubted} not");
}

/// A thread waits for what another does past its cut: no engine may take its absence, or its waiting, for all there is.
#[test]
fn a_thread_that_waits_for_what_lies_past_a_cut_leaves_doubt() {
    const COUNTER: &str = "PTX T\n{ n=0; x=0; y=0; P0:r9=0; P1:r1=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n\
        LC00: | LC10: ;\natom.relaxed.gpu.add r9, n, 1 | ld.acquire.gpu r1, y ;\n\
        bne r9, 5, LC00 | beq r1, 0, LC10 ;\nst.release.gpu y, 1 | st.weak x, 1 ;\nexists (x == 1)\n";
    let (_, unfolding) = front_end(COUNTER, 2).expect("a program").expect("a meaning");
    let subject = Subject::shipped("ptx-7.5");
    let engines: [&dyn Engine; 2] = [&Enumerate, &Sat];
    for engine in engines {
        for ends in [Ends::Terminating, Ends::Stuck] {
            let (found, end) = count(engine, &unfolding, &subject, ends);
            assert!(found == 0 && matches!(end, Exploration::Incomplete(Stop::Bound(_))), "{} {end:?}", engine.name());
        }
    }
    support::run_text(COUNTER).expect("the engines agree with the oracle");
}
