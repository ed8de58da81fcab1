//! Address, data and control dependencies: syntactic, through registers, whatever the values fold to.

mod common;

use common::{dartagnan, ptx, unfolded};
use fencepost_program::EventId;
use fencepost_program::unfolding::{Event, Unfolding};

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
fn a_guard_controls_its_instruction_only() {
    let code = ["ld.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 0;", "@%p1 st.u32 [y], 1;", "st.u32 [y], 2;"];
    let unfolding = unfolded(&ptx("x = 0; y = 0;", &code), 1);
    let events = longest(&unfolding);
    assert_eq!(events[1].1.control_deps, [events[0].0]);
    assert!(events[2].1.control_deps.is_empty());
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
