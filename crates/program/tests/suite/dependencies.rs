//! Address, data and control dependencies: syntactic, through registers, whatever the values fold to; and real ones.

use crate::common;

use common::{dartagnan, ptx, unfolded};
use fencepost_program::EventId;
use fencepost_program::unfold::{Dependencies, UnfoldOptions, unfold};
use fencepost_program::unfolding::{Event, OmittedWrite, Trace, Unfolding};

/// The events of the only trace that ran through, init writes left out, and the id of the first.
fn longest(unfolding: &Unfolding) -> Vec<(EventId, &Event)> {
    let trace = unfolding.traces.iter().max_by_key(|trace| trace.events.len()).expect("a trace");
    trace.events.iter().map(|event| (*event, unfolding.event(*event))).collect()
}

#[test]
fn data_flows_through_arithmetic() {
    let unfolding = unfolded(&dartagnan(&["ld.weak r1, x", "add r2, r1, 1", "mul r3, r2, 2", "st.weak y, r3"]), 1);
    let events = longest(&unfolding);
    assert_eq!(events[1].1.data_deps, [events[0].0]);
    assert!(events[1].1.address_deps.is_empty() && events[1].1.control_deps.is_empty());
}

#[test]
fn a_false_dependency_is_a_dependency() {
    let code = ["ld.u32 %r1, [x];", "xor.b32 %r2, %r1, %r1;", "st.u32 [y], %r2;"];
    let unfolding = unfolded(&ptx("x = 0; y = 0;", &code), 1);
    let events = longest(&unfolding);
    assert_eq!(events[1].1.data_deps, [events[0].0]);
}

#[test]
fn overwriting_a_register_ends_the_dependency() {
    let unfolding = unfolded(&dartagnan(&["ld.weak r1, x", "ld r1, 5", "st.weak y, r1"]), 1);
    assert!(longest(&unfolding)[1].1.data_deps.is_empty());
}

#[test]
fn an_address_depends_on_the_reads_behind_it() {
    let code = ["ld.u32 %r1, [x];", "xor.b32 %r2, %r1, %r1;", "add.u64 %rd2, %rd1, %r2;", "ld.u32 %r3, [%rd2];"];
    let unfolding = unfolded(&ptx("x = 0; y = 0; P0:%rd1 = y;", &code), 1);
    assert_eq!(unfolding.traces.len(), 1, "the address folds");
    let events = longest(&unfolding);
    assert_eq!(events[1].1.address_deps, [events[0].0]);
}

#[test]
fn a_branch_controls_everything_after_it() {
    let code = ["ld.weak r1, x", "beq r1, 0, LC00", "LC00:", "st.weak y, 1", "fence.sc.gpu"];
    let unfolding = unfolded(&dartagnan(&code), 1);
    for (_, event) in &longest(&unfolding)[1..] {
        assert_eq!(event.control_deps.len(), 1);
    }
}

#[test]
fn a_guard_is_a_branch_around_its_instruction() {
    let code = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 st.u32 [y], 1;", "st.u32 [y], 2;"];
    let unfolding = unfolded(&ptx("x = 0; y = 0;", &code), 1);
    let events = longest(&unfolding);
    assert_eq!(events[1].1.control_deps, [events[0].0]);
    assert_eq!(events[2].1.control_deps, [events[0].0]);
    assert_eq!(real(&code), [0, 0]);
}

#[test]
fn a_guarded_branch_is_a_branch() {
    let code = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 bra L0;", "L0:", "st.u32 [y], 2;"];
    let unfolding = unfolded(&ptx("x = 0; y = 0;", &code), 1);
    let events = longest(&unfolding);
    assert_eq!(events[1].1.control_deps, [events[0].0]);
}

#[test]
fn the_write_of_an_atomic_depends_on_its_read_where_its_value_does() {
    for (operation, expected) in [("add r1, x, 1", 1), ("exch r1, x, 1", 0), ("cas r1, x, 0, 1", 1)] {
        let unfolding = unfolded(&dartagnan(&[&format!("atom.relaxed.gpu.{operation}")]), 1);
        assert_eq!(longest(&unfolding)[1].1.data_deps.len(), expected, "{operation}");
    }
}

#[test]
fn program_order_is_the_chain_of_parents() {
    let unfolding = unfolded(&dartagnan(&["ld.weak r1, x", "fence.sc.gpu", "st.weak y, 1"]), 1);
    let ids: Vec<EventId> = longest(&unfolding).iter().map(|(id, _)| *id).collect();
    assert!(unfolding.is_po(ids[0], ids[2]) && !unfolding.is_po(ids[2], ids[0]) && !unfolding.is_po(ids[1], ids[1]));
    assert_eq!(unfolding.po_before(ids[2]).collect::<Vec<_>>(), [ids[1], ids[0]]);
}

/// How many reads the last event of each trace depends on where dependencies are real.
fn real(code: &[&str]) -> Vec<usize> {
    let program = common::program(&ptx("x = 0; y = 0; z = 0;", code));
    let options = UnfoldOptions { dependencies: Dependencies::Real, ..UnfoldOptions::default() };
    let unfolding = unfold(&program, &options).expect("an unfolding");
    let count = |event: &Event| event.data_deps.len() + event.control_deps.len() + event.address_deps.len();
    let last = |trace: &Trace| trace.events.last().map_or(0, |event| count(unfolding.event(*event)));
    unfolding.traces.iter().map(last).collect()
}

#[test]
fn an_operand_that_never_matters_carries_no_real_dependency() {
    let through = |compute: &str, to: &str| real(&["ld.u32 %r1, [x];", compute, &format!("st.u64 [y], {to};")]);
    for compute in
        ["mul.lo.u32 %r2, %r1, 0;", "mul.hi.u32 %r2, 0, %r1;", "and.b32 %r2, %r1, 0;", "sub.u32 %r2, %r1, %r1;"]
    {
        assert_eq!(through(compute, "%r2"), [0], "{compute}");
    }
    for compute in ["mul.wide.u32 %rd2, %r1, 0;", "mul.wide.u32 %rd2, 0, %r1;", "mad.wide.u32 %rd2, %r1, 0, 5;"] {
        assert_eq!(through(compute, "%rd2"), [0], "{compute}");
    }
    assert_eq!(through("mul.wide.u32 %rd2, %r1, 1;", "%rd2"), [1]);
}

#[test]
fn a_real_branch_controls_what_lies_on_its_ways() {
    let test = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 bra L0;"];
    let with = |rest: &[&str]| real(&[&test[..], rest].concat());
    assert_eq!(with(&["L0:", "st.u32 [y], 1;"]), [0, 0]);
    assert_eq!(with(&["st.u32 [z], 1;", "L0:", "st.u32 [y], 1;"]), [0, 0]);
    assert_eq!(with(&["st.u32 [y], 1;", "bra L1;", "L0:", "st.u32 [y], 1;", "L1:"]), [0, 0]);
    assert_eq!(with(&["st.u32 [y], 1;", "bra L1;", "L0:", "st.u32 [y], 2;", "L1:"]), [1, 1]);
    assert_eq!(with(&["st.u32 [y], 1;", "bra L1;", "L0:", "st.weak.u32 [z], 1;", "L1:"]), [1, 1]);
    assert_eq!(with(&["mov.u32 %r2, 1;", "L0:", "st.u32 [y], %r2;"]), [1, 1]);
    assert_eq!(with(&["mov.u32 %r2, 1;", "L0:", "mov.u32 %r2, 3;", "st.u32 [y], %r2;"]), [0, 0]);
    // What need not come to the meeting point: an exit, an access to nobody knows where, a wait.
    assert_eq!(with(&["st.u32 [z], 1;", "exit;", "L0:", "st.u32 [y], 1;"]), [1, 1]);
    assert!(with(&["ld.u64 %rd1, [x];", "st.u32 [%rd1], 1;", "L0:", "st.u32 [y], 1;"]).contains(&1));
    assert!(with(&["bar.sync 0;", "L0:", "st.u32 [y], 1;"]).iter().all(|count| *count == 1));
}

#[test]
fn ways_are_alike_at_their_ends_in_what_they_did_not_set() {
    let known = ["mov.u32 %r3, 1;", "setp.eq.u32 %p2, 0, 0;"];
    let test = [&known[..], &["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 bra L0;"]].concat();
    let with = |one: &[&str], other: &[&str]| real(&[&test[..], one, &["bra L1;", "L0:"], other, &["L1:"]].concat());
    assert_eq!(with(&["st.u32 [z], 1;", "st.u32 [y], 1;"], &["st.u32 [y], 1;"]), [0, 0]);
    let set = ["mov.u32 %r2, 1;", "st.u32 [y], %r2;"];
    assert_eq!(with(&set, &set), [0, 0]);
    assert_eq!(with(&set, &["mov.u32 %r2, 2;", "st.u32 [y], %r2;"]), [1, 1]);
    assert_eq!(with(&["mov.u32 %r2, 2;", "mov.u32 %r2, 1;", "st.u32 [y], %r2;"], &set), [0, 0]);
    assert_eq!(
        with(
            &["mov.u32 %r3, 2;", "add.u32 %r2, %r3, 1;", "st.u32 [y], %r2;"],
            &["add.u32 %r2, %r3, 1;", "st.u32 [y], %r2;"]
        ),
        [1, 1]
    );
    // A guard that one of the ways has set.
    let guarded = ["@%p2 st.u32 [y], 1;"];
    assert_eq!(with(&guarded, &guarded), [0, 0]);
    assert_eq!(with(&["setp.eq.u32 %p2, 1, 1;", guarded[0]], &guarded), [1, 1]);
}

#[test]
fn guards_on_a_predicate_and_its_negation_are_the_ways_of_a_branch() {
    let test = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;"];
    let with = |rest: &[&str]| real(&[&test[..], rest].concat());
    assert_eq!(with(&["@%p1 st.u32 [y], 1;", "@!%p1 st.u32 [y], 1;"]), [0, 0]);
    assert_eq!(with(&["@%p1 st.u32 [y], 1;", "@!%p1 st.u32 [y], 2;"]), [1, 1]);
    let around = ["@!%p1 bra L0;", "st.u32 [y], 1;", "L0:", "@%p1 bra L1;", "st.u32 [y], 1;", "L1:"];
    assert_eq!(with(&around), [0, 0]);
    let set = ["@%p1 mov.u32 %r2, 1;", "@!%p1 mov.u32 %r2, 1;", "st.u32 [y], %r2;"];
    assert_eq!(with(&set), [0, 0]);
    // The predicate is another one behind what sets it: the last event of the second trace is the load.
    assert_eq!(with(&["@%p1 st.u32 [z], 1;", "@!%p1 setp.eq.u32 %p1, 0, 0;", "@!%p1 st.u32 [z], 1;"]), [1, 0]);
}

/// The locations of the writes that some trace left out, each with the number of reads that decided it.
fn omitted(code: &[&str], dependencies: Dependencies) -> Vec<(String, usize)> {
    let program = common::program(&ptx("x = 0; y = 0; z = 0; .global .u32 w[2]; P0:%rd1 = z;", code));
    let unfolding =
        unfold(&program, &UnfoldOptions { dependencies, ..UnfoldOptions::default() }).expect("an unfolding");
    let name = |write: &OmittedWrite| unfolding.locations[write.location.index()].name.to_string();
    // Once, though its place may be another for other threads.
    let omitted = unfolding.events.iter().filter_map(Event::omitted);
    let found: std::collections::BTreeSet<_> = omitted.map(|write| (name(write), write.decided_by.len())).collect();
    found.into_iter().collect()
}

/// Of code behind a test of what x holds, which may be 0 or 1, where somebody reads z.
fn omitted_behind(rest: &[&str]) -> Vec<String> {
    let (first, last) = (["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;"], ["st.u32 [x], 1;", "ld.u32 %r9, [z];"]);
    let code = [&first[..], rest, &last].concat();
    assert!(omitted(&code, Dependencies::Syntactic).is_empty());
    omitted(&code, Dependencies::Real).into_iter().map(|(name, reads)| format!("{name} {reads}")).collect()
}

#[test]
fn writes_that_are_not_made_are_noted() {
    let of = omitted_behind;
    assert_eq!(of(&["@%p1 st.u32 [z], 1;", "st.u32 [y], 1;"]), ["z 1"]);
    assert_eq!(of(&["@%p1 st.u32 [%rd1], 1;", "st.u32 [y], 1;"]), ["z 1"]);
    assert_eq!(of(&["@%p1 bra L0;", "st.u32 [z], 1;", "L0:", "st.u32 [y], 1;"]), ["z 1"]);
    assert_eq!(of(&["@%p1 st.u32 [z], 1;", "@!%p1 st.u32 [z], 1;", "st.u32 [y], 1;"]), [""; 0]);
    assert_eq!(of(&["atom.relaxed.gpu.cas.b32 %r2, [z], %r1, 1;", "st.u32 [y], 1;"]), ["z 1"]);
    assert_eq!(of(&["atom.relaxed.gpu.cas.b32 %r2, [z], 0, 1;", "st.u32 [y], 1;"]), [""; 0]);
}

#[test]
fn a_write_that_no_value_makes_is_not_left_out() {
    let dead = ["setp.gt.u32 %p2, %r1, 1;", "@%p2 st.u32 [z], 1;"];
    assert_eq!(omitted_behind(&dead), [""; 0]);
    assert_eq!(omitted_behind(&["setp.gt.u32 %p2, %r1, 0;", dead[1]]), ["z 1"]);
    // And one that nobody reads is missed by nobody.
    let code = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 st.u32 [z], 1;", "st.u32 [x], 1;"];
    assert!(omitted(&code, Dependencies::Real).is_empty());
}

#[test]
fn of_two_conditions_the_one_that_holds_alone_decides() {
    let loads = ["ld.u32 %r2, [y];", "setp.eq.u32 %p2, %r2, 0;", "st.u32 [y], 1;"];
    let with = |rest: &[&str]| omitted_behind(&[&loads[..], rest].concat());
    // Both, one and none of them: in the first case no read decides.
    let either = with(&["or.pred %p3, %p1, %p2;", "@!%p3 st.u32 [z], 1;"]);
    assert_eq!(either, ["z 1"]);
    let both = with(&["and.pred %p3, %p1, %p2;", "@!%p3 st.u32 [z], 1;"]);
    assert_eq!(both, ["z 2"]);
    let branches = with(&["@%p1 bra L0;", "@%p2 bra L0;", "st.u32 [z], 1;", "L0:"]);
    assert_eq!(branches, ["z 1"]);
}
