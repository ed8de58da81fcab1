//! Vectors and matrices of registers, parts of registers, bit fields, and instructions of a warp.

use crate::common;

use common::{alone, attempt, program, ptx, tags_of, unfolded};
use fencepost_program::program::Feature;

#[test]
fn a_vector_is_its_elements_in_no_order() {
    let text = ptx(
        ".global .u32 x[4] = 2;",
        &["st.global.v4.u32 [x], {1, %r9, 3, 4};", "ld.relaxed.gpu.v2.u32 {%r1, _}, [x+8];", "ld.u32 %r2, [x];"],
    )
    .replace(".global .u32 x", "P0:%r9 = 7; .global .u32 x");
    let found = alone(&text);
    assert_eq!(["x[0]", "x[1]", "x[2]", "x[3]", "%r1", "%r2"].map(|name| found[name]), [1, 7, 3, 4, 3, 1]);
    let unfolding = unfolded(&text, 1);
    assert_eq!(
        tags_of(&unfolding),
        ["W WEAK GEN", "W WEAK GEN", "W WEAK GEN", "W WEAK GEN", "R RLX GPU GEN", "R RLX GPU GEN", "R WEAK GEN"]
    );
    let events = &unfolding.traces[0].events;
    let ordered = |a: usize, b: usize| unfolding.is_po(events[a], events[b]);
    assert!(!ordered(0, 1) && !ordered(1, 3) && !ordered(4, 5));
    assert!(ordered(0, 4) && ordered(3, 4) && ordered(3, 5) && ordered(5, 6));
    assert!(unfolding.event(events[0]).extent.is_none(), "each element is an operation of its own");
    assert!(program(&text).features.iter().any(|feature| feature.node == Feature::Span));
}

#[test]
fn atomics_of_a_vector_are_one_per_element_in_no_order() {
    let code = [
        "st.global.u32 [d], 1;",
        "atom.acq_rel.gpu.global.v2.f32.add {%f1, %f2}, [x], {0f3F800000, 0f3F800000};",
        "ld.global.u32 %r1, [d];",
    ];
    let unfolding = unfolded(&ptx(".global .u32 d = 0; .global .f32 x[2] = 0;", &code), 1);
    let (read, write) = ("R A ACQ GPU GEN", "W A REL GPU GEN");
    assert_eq!(tags_of(&unfolding), ["W WEAK GEN", read, read, write, write, "R WEAK GEN"]);
    let events = &unfolding.traces[0].events;
    let ordered = |a: usize, b: usize| unfolding.is_po(events[a], events[b]);
    for element in 1..5 {
        assert!(ordered(0, element) && ordered(element, 5));
    }
    assert!(ordered(1, 3) && ordered(2, 4) && !ordered(1, 4) && !ordered(2, 3) && !ordered(1, 2) && !ordered(3, 4));
    // One element of two locations is read before it is written.
    let code = ["ld.global.u32 %r1, [y];", "atom.global.add.u64 %rd1, [y], 1;"];
    let parts = unfolded(&ptx(".global .u32 y[2] = 0;", &code), 1);
    let events = &parts.traces[0].events;
    assert_eq!(events.len(), 5);
    assert!(parts.is_po(events[1], events[4]) && parts.is_po(events[2], events[3]));
}

#[test]
fn a_vector_may_overwrite_its_address() {
    let code = ["mov.u64 %rd1, x;", "ld.global.v2.u64 {%rd1, %rd2}, [%rd1];"];
    let found = alone(&ptx(".global .u64 x[2] = 6;", &code));
    assert_eq!((found["%rd1"], found["%rd2"]), (6, 6));
}

#[test]
fn elements_of_a_vector_may_span_locations() {
    let code = ["st.v2.u32 [x], {0x01020304, 5};", "ld.u8 %r1, [x+1];", "ld.v4.u8 {%r2, %r3, %r4, %r5}, [x];"];
    let found = alone(&ptx(".global .u32 x[2];", &code));
    assert_eq!(["%r1", "%r2", "%r3", "%r4", "%r5"].map(|name| found[name]), [3, 4, 3, 2, 1]);
}

#[test]
fn a_vector_of_too_many_bits_is_an_error() {
    for (code, said) in [
        ("ld.v4.u32 {%r1, %r2}, [x];", "takes 4 elements, not 2"),
        ("ld.v8.u64 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [x];", "512 bits at once"),
        ("ld.u32 {%r1, %r2}, [x];", "takes 1 elements, not 2"),
    ] {
        let found = attempt(&ptx(".global .u32 x[16];", &[code])).1;
        assert!(found[0].message.contains(said), "{code}: {}", found[0].message);
    }
}

#[test]
fn matrices_are_rows_of_registers() {
    let code = [
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s+8], {%r1, 9};",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %r3, %r4, %r5}, [s];",
    ];
    let found = alone(&ptx("P0:%r1 = 3; .shared .b32 s[4];", &code));
    assert_eq!(["%r2", "%r3", "%r4", "%r5"].map(|name| found[name]), [0, 0, 3, 9]);
}

#[test]
fn hints_and_braces_change_nothing() {
    let code = ["ld.global.L2::cache_hint.u32 {%r1}, [x], %rd9;", "st.global.L1::no_allocate.b32 [ x + 0 ], { 4 };"];
    let found = alone(&ptx("P0:%rd9 = 0; .global .u32 x = 5;", &code));
    assert_eq!((found["%r1"], found["x"]), (5, 4));
}

#[test]
fn floating_point_is_moved_as_bits() {
    let code = ["mov.f32 %f1, 0f3F800000;", "st.f32 [x], %f1;", "ld.f32 %f2, [x];", "st.f64 [y], 0d4000000000000000;"];
    let found = alone(&ptx(".global .f32 x; .global .f64 y; .reg .f32 %f<3>;", &code));
    assert_eq!((found["%f2"], found["y"]), (0x3f80_0000, 0x4000_0000_0000_0000));
}

#[test]
fn registers_have_parts_and_fields() {
    let code = [
        "mov.b64 %rd1, {5, 6};",
        "mov.b64 {%r1, %r2}, %rd1;",
        "mov.b32 {%h1, _}, 0x20001;",
        "mov.b32 %r3, {1, 2, 3, 4};",
        "bfe.u32 %r4, 0xabcd, 4, 8;",
        "bfe.s32 %r5, 0xf0, 4, 4;",
        "bfi.b32 %r6, 0xf, 0, 4, 4;",
        "brev.b32 %r7, 1;",
        "clz.b32 %r8, 1;",
        "popc.b64 %r9, 0xff00000001;",
        "bfe.u32 %r10, -1, 0, 32;",
        "clz.b32 %r11, 0;",
    ];
    let found = alone(&ptx("", &code));
    let values = |names: &[&str]| names.iter().map(|name| found[*name]).collect::<Vec<_>>();
    assert_eq!(values(&["%rd1", "%r1", "%r2", "%h1", "%r3"]), [6 << 32 | 5, 5, 6, 1, 0x0403_0201]);
    assert_eq!(values(&["%r4", "%r5", "%r6", "%r7"]), [0xbc, -1, 0xf0, 1 << 31]);
    assert_eq!(values(&["%r8", "%r9", "%r10", "%r11"]), [31, 9, 0xffff_ffff, 32]);
}

#[test]
fn a_thread_is_alone_in_its_warp() {
    let code = [
        "elect.sync %r1|%p1, -1;",
        "shfl.sync.idx.b32 %r2|%p2, %r9, 3, 31, -1;",
        "shfl.sync.up.b32 %r3|%p3, %r9, 1, 0, -1;",
        "vote.sync.any.pred %p4, %p3, -1;",
        "vote.sync.all.pred %p5, !%p3, -1;",
        "vote.sync.ballot.b32 %r4, %p1, -1;",
        "activemask.b32 %r5;",
        "match.any.sync.b32 %r6, %r9, -1;",
        "redux.sync.add.u32 %r7, %r9, -1;",
    ];
    let found = alone(&ptx("P0:%r9 = 8;", &code));
    let values = |names: &[&str]| names.iter().map(|name| found[*name]).collect::<Vec<_>>();
    assert_eq!(values(&["%r1", "%p1", "%r2", "%p2", "%r3", "%p3"]), [0, 1, 8, 1, 8, 0]);
    assert_eq!(values(&["%p4", "%p5", "%r4", "%r5", "%r6", "%r7"]), [0, 1, 1, 1, 1, 8]);
}
