//! Spin loops are left in their first iteration and otherwise sit; other loops are unrolled to the bound.

use crate::common;

use common::{dartagnan, program, ptx, unfolded};
use fencepost_program::unfold::{UnfoldOptions, unfold_accesses};
use fencepost_program::unfolding::{TraceEnd, Unfolding};

/// How the traces end, with their number of events, sorted.
fn ends(unfolding: &Unfolding) -> Vec<(String, usize)> {
    let name = |end: &TraceEnd| match end {
        TraceEnd::Exit => "exit".to_string(),
        TraceEnd::NotStarted => "not started".to_string(),
        TraceEnd::Spin { reads, .. } => format!("spin on {}", reads.len()),
        TraceEnd::Blocked { .. } => "blocked".to_string(),
        TraceEnd::Bound { .. } => "bound".to_string(),
        TraceEnd::Wild { .. } => "wild".to_string(),
    };
    let mut found: Vec<_> = unfolding.traces.iter().map(|trace| (name(&trace.end), trace.events.len())).collect();
    found.sort();
    found
}

fn check(text: &str, bound: u32, expected: &[(&str, usize)]) {
    let expected: Vec<(String, usize)> = expected.iter().map(|(end, count)| (end.to_string(), *count)).collect();
    assert_eq!(ends(&unfolded(text, bound)), expected, "{text}");
}

#[test]
fn a_loop_that_only_reads_spins() {
    for bound in [1, 5] {
        let upward = dartagnan(&["LC00:", "ld.relaxed.gpu r1, x", "bne r1, 0, LC01", "goto LC00", "LC01:"]);
        check(&upward, bound, &[("exit", 1), ("spin on 1", 1)]);
        let conditional = dartagnan(&["LC00:", "ld.relaxed.gpu r1, x", "beq r1, 0, LC00"]);
        check(&conditional, bound, &[("exit", 1), ("spin on 1", 1)]);
    }
}

#[test]
fn a_spin_of_real_ptx_with_a_predicate() {
    let code = ["L0:", "ld.acquire.gpu.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 bra L0;", "st.u32 [y], 1;"];
    check(&ptx("x = 0; y = 0;", &code), 4, &[("exit", 2), ("spin on 1", 1)]);
}

#[test]
fn two_reads_in_one_iteration_are_both_waited_on() {
    let code = ["LC00:", "ld.relaxed.gpu r1, x", "ld.relaxed.gpu r2, y", "beq r2, 0, LC00"];
    check(&dartagnan(&code), 1, &[("exit", 2), ("spin on 2", 2)]);
}

/// The register of the first read is observed and not rewritten on the way out, but the constraint fixes its value.
#[test]
fn a_live_register_with_a_fixed_value_does_not_hide_a_spin() {
    let code = [
        "LC00:",
        "ld.relaxed.gpu r1, x",
        "bne r1, 1, LC01",
        "goto LC02",
        "LC01:",
        "ld.relaxed.gpu r2, x",
        "bne r2, 0, LC02",
        "goto LC00",
        "LC02:",
    ];
    check(&dartagnan(&code), 1, &[("exit", 1), ("exit", 2), ("spin on 2", 2)]);
}

#[test]
fn a_failing_cas_spins_in_both_dialects() {
    let real = ["L0:", "atom.cas.b32 %r1, [x], 0, 1;", "setp.ne.u32 %p1, %r1, 0;", "@%p1 bra L0;"];
    check(&ptx("x = 0;", &real), 3, &[("exit", 2), ("spin on 1", 1)]);
    let written_back = ["LC00:", "atom.relaxed.gpu.cas r1, x, 0, 1", "bne r1, 0, LC00"];
    check(&dartagnan(&written_back), 3, &[("exit", 2), ("spin on 1", 1)]);
}

#[test]
fn the_failed_swap_on_which_a_thread_spins_has_no_partner() {
    let unfolding = unfolded(&dartagnan(&["LC00:", "atom.relaxed.gpu.cas r1, x, 0, 1", "bne r1, 0, LC00"]), 3);
    let spin = unfolding.traces.iter().find(|trace| matches!(trace.end, TraceEnd::Spin { .. })).expect("a spin");
    assert_eq!(unfolding.event(spin.events[0]).rmw_partner, None);
}

#[test]
fn every_event_is_on_a_trace() {
    let unfolding =
        unfolded(&dartagnan(&["LC00:", "atom.relaxed.gpu.cas r1, x, 0, 1", "bne r1, 0, LC00", "st.weak y, r1"]), 3);
    for (index, event) in unfolding.events.iter().enumerate() {
        let id = fencepost_program::EventId::new(index);
        let used = unfolding.traces.iter().any(|trace| trace.events.contains(&id));
        assert!(used || event.is_init(), "{id:?}");
        assert!(event.parent.is_none_or(|parent| parent < id));
    }
}

#[test]
fn a_loop_with_an_effect_is_unrolled_to_the_bound() {
    let code = ["LC00:", "atom.relaxed.gpu.exch r1, x, 1", "bne r1, 0, LC00"];
    check(&dartagnan(&code), 1, &[("bound", 2), ("exit", 2)]);
    check(&dartagnan(&code), 3, &[("bound", 6), ("exit", 2), ("exit", 4), ("exit", 6)]);
}

/// The counter can be seen in the end. One that nobody looks at does not count ([`a_counter_that_nobody_reads_is_a_spin`]).
#[test]
fn a_retry_counter_is_no_spin() {
    let code = ["LC00:", "ld.relaxed.gpu r1, x", "add r2, r2, 1", "beq r1, 0, LC00"];
    check(&dartagnan(&code), 2, &[("bound", 2), ("exit", 1), ("exit", 2)]);
}

#[test]
fn a_counter_that_nobody_reads_is_a_spin() {
    let text = "PTX T\n{ x = 0; }\nP0@cta 0, gpu 0 {\nL:\n  ld.relaxed.gpu.u32 %r1, [x];\n  add.u32 %r2, %r2, 1;\n  \
                setp.eq.u32 %p, %r1, 0;\n  @%p bra L;\n}\nexists (P0:%r1 = 1)\n";
    check(text, 2, &[("exit", 1), ("spin on 1", 1)]);
}

#[test]
fn a_counted_loop_runs_to_its_end() {
    let code = ["LC00:", "st.weak x, r1", "add r1, r1, 1", "blt r1, 5, LC00"];
    check(&dartagnan(&code), 1, &[("exit", 5)]);
    let iterations: Vec<u32> = unfolded(&dartagnan(&code), 1)
        .events
        .iter()
        .filter(|event| !event.is_init())
        .map(|event| event.iteration)
        .collect();
    assert_eq!(iterations, [0, 1, 2, 3, 4]);
}

#[test]
fn an_empty_endless_loop_sits() {
    check(&dartagnan(&["LC00:", "goto LC00"]), 1, &[("spin on 0", 0)]);
}

#[test]
fn an_inner_spin_starts_afresh_in_each_outer_round() {
    let code = ["LC00:", "st.weak y, 1", "LC01:", "ld.relaxed.gpu r1, x", "beq r1, 0, LC01", "beq r1, 1, LC00"];
    check(&dartagnan(&code), 2, &[("bound", 4), ("exit", 2), ("exit", 4), ("spin on 1", 2), ("spin on 1", 4)]);
}

/// For races: one failing iteration per thread stays, before the successful one or before the thread is stuck.
#[test]
fn a_failing_iteration_is_kept_where_accesses_matter() {
    let code = ["LC00:", "ld.acquire.gpu r1, x", "ld.weak r2, y", "beq r1, 0, LC00"];
    let text = dartagnan(&code);
    check(&text, 2, &[("exit", 2), ("spin on 2", 2)]);
    let accesses = unfold_accesses(&program(&text), &UnfoldOptions::default()).expect("an unfolding");
    let expected = [("exit", 2), ("exit", 4), ("spin on 2", 2), ("spin on 2", 4)];
    assert_eq!(ends(&accesses), expected.map(|(end, count)| (end.to_string(), count)));
}

/// An arrive leaves no object as it is, so that a run of a loop is not split at each (rings of three rounds would have a
/// hundred runs per thread).
#[test]
fn an_arrive_in_a_loop_is_one_run() {
    let text = "PTX t\n{ .shared .mbarrier b = 1; }\nP0@cta 0 {\nmov.u32 %i, 0;\nLOOP: mbarrier.arrive.shared::cta.b64 _, [b];\n\
                add.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, 3;\n@%q bra LOOP;\n}\nforall (true)\n";
    assert_eq!(unfolded(text, 5).traces.len(), 1);
}
