//! Forks of the symbolic run: branches, guards, compare-and-swap, addresses; and what keeps a run straight.

use crate::common;

use common::{dartagnan, program, ptx, unfolded};
use fencepost_program::unfold::{UnfoldError, UnfoldOptions, unfold};
use fencepost_program::unfolding::TraceEnd;

#[test]
fn straight_line_code_has_one_trace() {
    let code = ["ld.weak r1, x", "add r2, r1, 1", "st.weak y, r2", "fence.sc.gpu"];
    let unfolding = unfolded(&dartagnan(&code), 1);
    assert_eq!(unfolding.traces.len(), 1);
    assert_eq!(unfolding.events.len(), 2 + 3);
    assert_eq!(unfolding.traces[0].end, TraceEnd::Exit);
}

#[test]
fn a_branch_on_a_constant_does_not_fork() {
    let unfolding = unfolded(&dartagnan(&["ld r1, 1", "beq r1, 1, LC00", "st.weak x, 1", "LC00:"]), 1);
    assert_eq!((unfolding.traces.len(), unfolding.events.len()), (1, 2));
}

#[test]
fn a_branch_on_a_read_forks_and_is_not_asked_twice() {
    let code =
        ["ld.weak r1, x", "beq r1, 1, LC00", "st.weak y, 1", "LC00:", "beq r1, 1, LC01", "st.weak y, 2", "LC01:"];
    let unfolding = unfolded(&dartagnan(&code), 1);
    let mut lengths: Vec<usize> = unfolding.traces.iter().map(|trace| trace.events.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 3]);
    assert!(unfolding.traces.iter().all(|trace| trace.constraints.len() == 1));
}

#[test]
fn a_guard_forks_around_its_instruction() {
    let code = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 st.u32 [y], 1;", "st.u32 [y], 2;"];
    let unfolding = unfolded(&ptx("x = 0; y = 0;", &code), 1);
    let mut lengths: Vec<usize> = unfolding.traces.iter().map(|trace| trace.events.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [2, 3]);
}

#[test]
fn exit_ends_the_thread() {
    let unfolding = unfolded(&ptx("x = 0;", &["ret;", "st.u32 [x], 1;"]), 1);
    assert_eq!(unfolding.events.len(), 1);
}

#[test]
fn a_failing_cas_of_ptx_is_a_read() {
    let unfolding = unfolded(&ptx("x = 0;", &["atom.cas.b32 %r1, [x], 0, 1;"]), 1);
    let mut lengths: Vec<usize> = unfolding.traces.iter().map(|trace| trace.events.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 2]);
    for trace in &unfolding.traces {
        let read = unfolding.event(trace.events[0]);
        assert_eq!(read.rmw_partner, trace.events.get(1).copied(), "the partner is on the trace");
    }
}

#[test]
fn a_failing_cas_of_dartagnan_writes_the_old_value() {
    let unfolding = unfolded(&dartagnan(&["atom.relaxed.gpu.cas r1, x, 0, 1"]), 1);
    assert!(unfolding.traces.len() == 2 && unfolding.traces.iter().all(|trace| trace.events.len() == 2));
}

#[test]
fn an_address_in_a_register_forks_over_the_addresses() {
    let text = ptx(
        "x = 0; y = 0; p = 0; P0:%rd1 = x;",
        &["ld.u64 %rd2, [p];", "st.u64 [%rd2], 1;", "st.u64 [x], 1;", "st.u64 [y], 1;"],
    );
    let unfolding = unfolded(&text, 1);
    let exits = unfolding.traces.iter().filter(|trace| trace.end == TraceEnd::Exit).count();
    let cut = unfolding.traces.iter().filter(|trace| matches!(trace.end, TraceEnd::Wild { .. })).count();
    assert_eq!((exits, cut), (3, 1), "one per address, and the wild one of which nothing is known");
    let known = ptx("x = 0; P0:%rd1 = x;", &["st.u64 [%rd1], 1;"]);
    assert_eq!(unfolded(&known, 1).traces.len(), 1);
}

#[test]
fn an_access_that_is_longer_than_what_a_register_points_to_is_refused() {
    let text = ptx(".global .u32 x; P0:%rd1 = x;", &["st.u32 [x], 1;", "ld.u64 %r1, [%rd1];"]);
    let error = unfold(&program(&text), &UnfoldOptions::default()).expect_err("too long");
    assert!(matches!(error, UnfoldError::Beyond { .. }), "{error}");
}

#[test]
fn the_limit_on_events_is_an_error_with_the_number() {
    let text = dartagnan(&["LC00:", "atom.relaxed.gpu.add r1, x, 1", "goto LC00"]);
    let options = UnfoldOptions { bound: 1000, max_events: 100, ..UnfoldOptions::default() };
    assert_eq!(unfold(&program(&text), &options).expect_err("too many"), UnfoldError::TooManyEvents { limit: 100 });
}

#[test]
fn traces_without_events_are_limited_too() {
    let mut code = vec!["ld.weak r1, x".to_string()];
    for index in 0..40 {
        code.push(format!("beq r1, {index}, LC{index}"));
        code.push("add r2, r2, 1".to_string());
        code.push(format!("LC{index}:"));
        code.push("ld.weak r1, x".to_string());
    }
    let rows: Vec<&str> = code.iter().map(String::as_str).collect();
    let options = UnfoldOptions { bound: 1, max_events: 500, ..UnfoldOptions::default() };
    assert!(unfold(&program(&dartagnan(&rows)), &options).is_err());
}

#[test]
fn doubling_expressions_are_limited() {
    let mut code = vec!["ld.weak r1, x"];
    code.extend(std::iter::repeat_n("add r1, r1, r1", 60));
    let error = unfold(&program(&dartagnan(&code)), &UnfoldOptions::default()).expect_err("too large");
    assert!(matches!(error, UnfoldError::ExpressionTooLarge { .. }), "{error}");
}
