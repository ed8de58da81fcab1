//! Matrix products and tensor memory as strands (PTX ISA 9.7.17, 9.7.18), and the hazards a thread shows on its own.

use crate::common;

use common::{ptx, strands, unfolded};
use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{HazardKind, TraceEnd};

const SHARED: &str = ".shared .b32 a[2] = 3; .shared .b32 b[2] = 5; ";

fn wgmma(scale: u32) -> String {
    format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r1, %r2}}, a, b, {scale}, 1, 1, 0, 0;")
}

fn hazards(code: &[&str]) -> Vec<HazardKind> {
    let unfolding = unfolded(&ptx(&format!("{SHARED} x = 0; P0:%r1 = 1; P0:%r2 = 1;"), code), 1);
    unfolding.hazards.iter().map(|hazard| hazard.kind).collect()
}

#[test]
fn a_product_reads_both_matrices_and_its_value_is_in_the_accumulator() {
    let code = [
        "wgmma.fence.sync.aligned;",
        &wgmma(0),
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ];
    let unfolding = unfolded(&ptx(&format!("{SHARED} P0:%r1 = 1; P0:%r2 = 1;"), &code), 1);
    assert_eq!(
        strands(&unfolding),
        [
            "main issue ISSUE WGMMA",
            "strand 0 read b[0] WEAK ASYNC SHARED WGMMA",
            "strand 0 read b[1] WEAK ASYNC SHARED WGMMA",
            "strand 0 read a[0] WEAK ASYNC SHARED WGMMA",
            "strand 0 read a[1] WEAK ASYNC SHARED WGMMA",
            "main wait WGMMA completes 1 2 3 4",
        ]
    );
    let value = |event| unfolding.locations[unfolding.event(event).location().expect("a read").index()].initial;
    let sum = unfolding.traces[0].registers[0].evaluate(&mut |leaf| match leaf {
        fencepost_program::expression::Leaf::Read(event) => Some(value(event)),
        fencepost_program::expression::Leaf::BarrierResult(_) => None,
    });
    assert_eq!(sum.map(|value| value.0), Some(60), "(3 + 3) * (5 + 5), without what was there");
}

#[test]
fn registers_of_a_product_in_flight_are_a_hazard_until_a_wait_covers_it() {
    let (fence, commit, wait) =
        ("wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
    let product = wgmma(1);
    assert_eq!(hazards(&[fence, &product, commit, wait, "st.u32 [x], %r1;"]), []);
    assert_eq!(hazards(&[fence, &product, commit, "st.u32 [x], %r1;", wait]), [HazardKind::RegisterInFlight]);
    let newest = "wgmma.wait_group.sync.aligned 1;";
    assert_eq!(hazards(&[fence, &product, commit, newest, "st.u32 [x], %r1;"]), [HazardKind::RegisterInFlight]);
    assert_eq!(hazards(&[&product, commit, wait]), [HazardKind::NoRegisterFence]);
    assert_eq!(hazards(&[fence, &product, &product, commit, wait]), [], "the same accumulator and shape");
    assert_eq!(hazards(&[fence, "mov.u32 %r1, 0;", &product, commit, wait]), [HazardKind::NoRegisterFence]);
    assert_eq!(hazards(&["mov.u32 %r1, 0;", fence, &product, commit, wait]), []);
}

const TENSOR: &str = ".shared .b32 a[2] = 3; .shared .b32 b[2] = 5; .tmem .b32 d[2]; .shared .mbarrier m = 1;";

#[test]
fn a_tensor_product_accumulates_in_tensor_memory_and_a_commit_speaks_for_it() {
    let code = [
        "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, 1;",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [m];",
    ];
    let unfolding = unfolded(&ptx(TENSOR, &code), 1);
    assert_eq!(
        strands(&unfolding),
        [
            "main issue ISSUE TCGEN05",
            "strand 0 read b[0] WEAK ASYNC SHARED TCGEN05",
            "strand 0 read b[1] WEAK ASYNC SHARED TCGEN05",
            "strand 0 read a[0] WEAK ASYNC SHARED TCGEN05",
            "strand 0 read a[1] WEAK ASYNC SHARED TCGEN05",
            "strand 0 read d[0] WEAK TMEM TCGEN05",
            "strand 0 write d[0] WEAK TMEM TCGEN05 after 1 2 3 4 5",
            "strand 0 read d[1] WEAK TMEM TCGEN05",
            "strand 0 write d[1] WEAK TMEM TCGEN05 after 1 2 3 4 7",
            "main issue ISSUE TCGEN05 T5_BEFORE",
            "strand 9 read m A NORET RLX CLUSTER GEN SHARED MBAR COMPLETION TCGEN05 after 1 2 3 4 5 6 7 8",
            "strand 9 write m A NORET REL CLUSTER GEN SHARED MBAR COMPLETION TCGEN05 after 1 2 3 4 5 6 7 8 10",
        ]
    );
    let tensor = unfolding.event(unfolding.traces[0].events[1]).strand.as_ref().and_then(|strand| strand.tensor);
    let tensor = tensor.expect("a tensor operation");
    assert_eq!((tensor.kind, tensor.group, tensor.accumulator.is_some()), (TensorKind::Mma, 1, true));
}

#[test]
fn without_input_the_accumulator_is_not_read_and_a_predicate_forks() {
    let code = ["tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, 0;"];
    let found = strands(&unfolded(&ptx(TENSOR, &code), 1));
    assert!(!found.iter().any(|line| line.contains("read d")), "{found:#?}");
    let code = [
        "ld.shared.u32 %r1, [a];",
        "setp.ne.u32 %p1, %r1, 0;",
        "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, %p1;",
    ];
    assert_eq!(unfolded(&ptx(TENSOR, &code), 1).traces.len(), 2);
}

#[test]
fn loads_and_stores_of_columns_complete_at_their_waits() {
    let code = [
        "tcgen05.st.sync.aligned.32x32b.x2.b32 [d], {%r1, %r2};",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r4}, [d];",
        "tcgen05.wait::ld.sync.aligned;",
        "tcgen05.wait::st.sync.aligned;",
    ];
    let declarations = ".tmem .b32 d[2]; P0:%r1 = 1; P0:%r2 = 2;";
    assert_eq!(
        strands(&unfolded(&ptx(declarations, &code), 1)),
        [
            "main issue ISSUE TCGEN05",
            "strand 0 write d[0] WEAK TMEM TCGEN05",
            "strand 0 write d[1] WEAK TMEM TCGEN05",
            "main issue ISSUE TCGEN05",
            "strand 3 read d[0] WEAK TMEM TCGEN05",
            "strand 3 read d[1] WEAK TMEM TCGEN05",
            "main wait TCGEN05 completes 4 5",
            "main wait TCGEN05 completes 1 2",
        ]
    );
}

#[test]
fn allocation_writes_the_columns_and_their_address() {
    let code = [
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 32;",
        "ld.shared.b32 %r1, [t];",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;",
    ];
    let declarations = ".shared .b32 t; .tmem .b32 d[2];";
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    assert_eq!(
        strands(&unfolding)[..3],
        ["main write d[0] WEAK TMEM", "main write d[1] WEAK TMEM", "main write t WEAK GEN SHARED OWN_WINDOW"]
    );
    let is_freed = |trace: &&fencepost_program::unfolding::Trace| trace.end == TraceEnd::Exit;
    assert!(unfolding.traces.iter().any(|trace| is_freed(&trace)));
    assert_eq!(unfolding.hazards, []);
    let kept = unfolded(&ptx(declarations, &code[..1]), 1);
    assert_eq!(kept.hazards.iter().map(|hazard| hazard.kind).collect::<Vec<_>>(), [HazardKind::NeverDeallocated]);
    let two = [code[0], "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [u], 32;"];
    let two = unfolded(&ptx(".shared .b32 t; .shared .b32 u; .tmem .b32 d[2]; .tmem .b32 e;", &two), 1);
    assert_eq!(strands(&two)[3..5], ["main write e WEAK TMEM", "main write u WEAK GEN SHARED OWN_WINDOW"]);
    let relinquish = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
    let late = unfolded(&ptx(declarations, &[relinquish, code[0], code[1], code[2]]), 1);
    assert!(late.hazards.iter().any(|hazard| hazard.kind == HazardKind::AllocAfterRelinquish));
    let mixed = [code[0], code[1], "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 32;"];
    let mixed = unfolded(&ptx(declarations, &mixed), 1);
    // And no peer deallocates with it.
    let expected = [HazardKind::MixedCtaGroup, HazardKind::UnpairedCollective];
    assert_eq!(mixed.hazards.iter().map(|hazard| hazard.kind).collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_done_with_tensor_memory_is_supported() {
    let code = [
        "tcgen05.st.sync.aligned.32x32b.x2.b32 [d], {%r1, %r1};",
        "tcgen05.cp.cta_group::1.128x256b [d], a;",
        "tcgen05.shift.cta_group::1.down [d];",
        "tcgen05.mma.cta_group::1.kind::f16 [d], [d], b, 0, 1;",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [d+1];",
    ];
    let text = ptx(&format!("{TENSOR} P0:%r1 = 1;"), &code);
    assert_eq!(common::program(&text).unsupported, []);
    let found = strands(&unfolded(&text, 1));
    assert!(found.contains(&"strand 3 write d[1] WEAK TMEM TCGEN05 after 5".to_string()), "{found:#?}");
    assert!(found.last().is_some_and(|line| line.contains("read d[1]")), "{found:#?}");
}

#[test]
fn tensor_fences_are_no_memory_fences() {
    let code = ["tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"];
    let unfolding = unfolded(&ptx("x = 0;", &[code[0], code[1], "ld.u32 %r1, [x];"]), 1);
    assert_eq!(strands(&unfolding)[..2], ["main fence F T5_BEFORE", "main fence F T5_AFTER"]);
    assert!(unfolding.events.iter().all(|event| !event.has(Tag::AcqRel)));
}
