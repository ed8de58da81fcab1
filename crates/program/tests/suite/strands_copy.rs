//! Asynchronous copies as strands: which events, in which order, and what a wait or an mbarrier tells of (PTX ISA 9.7.10.28).

use crate::common;

use common::{ptx, strands, unfolded};
use fencepost_program::tag::Tag;

#[test]
fn cp_async_is_an_issue_a_read_and_a_write_that_a_wait_completes() {
    let code = [
        "cp.async.ca.shared.global [s], [g], 4;",
        "cp.async.commit_group;",
        "cp.async.wait_group 0;",
        "ld.shared.b32 %r1, [s];",
    ];
    let unfolding = unfolded(&ptx(".global .b32 g = 7; .shared .b32 s;", &code), 1);
    assert_eq!(
        strands(&unfolding),
        [
            "main issue ISSUE CP_ASYNC",
            "strand 0 read g WEAK GEN CP_ASYNC",
            "strand 0 write s WEAK GEN SHARED CP_ASYNC OWN_WINDOW after 1",
            "main wait CP_ASYNC completes 1 2",
            "main read s WEAK GEN SHARED OWN_WINDOW",
        ]
    );
}

#[test]
fn a_wait_leaves_the_newest_groups_and_wait_all_takes_what_is_in_no_group() {
    let code = [
        "cp.async.ca.shared.global [s], [g], 4;",
        "cp.async.commit_group;",
        "cp.async.ca.shared.global [t], [g], 4;",
        "cp.async.commit_group;",
        "cp.async.wait_group 1;",
        "cp.async.ca.shared.global [u], [g], 4;",
        "cp.async.wait_all;",
    ];
    let text = ptx(".global .b32 g = 7; .shared .b32 s; .shared .b32 t; .shared .b32 u;", &code);
    let found = strands(&unfolded(&text, 1));
    let waits: Vec<&str> = found.iter().map(String::as_str).filter(|line| line.contains("wait")).collect();
    assert_eq!(waits, ["main wait CP_ASYNC completes 1 2", "main wait CP_ASYNC completes 4 5 8 9"]);
}

#[test]
fn what_the_source_size_leaves_out_is_zero() {
    let code = ["cp.async.ca.shared.global [s], [g], 8, 4;", "cp.async.wait_all;"];
    let found = strands(&unfolded(&ptx(".global .b32 g[2] = 7; .shared .b32 s[2];", &code), 1));
    let writes: Vec<&str> = found.iter().map(String::as_str).filter(|line| line.contains("write")).collect();
    assert_eq!(
        writes,
        [
            "strand 0 write s[0] WEAK GEN SHARED CP_ASYNC OWN_WINDOW after 1",
            "strand 0 write s[1] WEAK GEN SHARED CP_ASYNC OWN_WINDOW",
        ]
    );
}

#[test]
fn a_bulk_load_completes_on_its_mbarrier() {
    let code = ["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];"];
    let unfolding = unfolded(&ptx(".global .b64 g[2] = 7; .shared .b64 s[2]; .shared .mbarrier b = 1;", &code), 1);
    assert_eq!(
        strands(&unfolding),
        [
            "main issue ISSUE BULK",
            "strand 0 read g[0] WEAK ASYNC BULK",
            "strand 0 read g[1] WEAK ASYNC BULK",
            "strand 0 write s[0] WEAK ASYNC SHARED BULK after 1",
            "strand 0 write s[1] WEAK ASYNC SHARED BULK after 2",
            "strand 0 read b A NORET RLX CLUSTER GEN SHARED MBAR COMPLETION BULK after 1 2 3 4",
            "strand 0 write b A NORET REL CLUSTER GEN SHARED MBAR COMPLETION BULK after 1 2 3 4 5",
        ]
    );
}

#[test]
fn a_bulk_store_completes_by_group_and_its_reads_before() {
    let code = [
        "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group.read 0;",
        "cp.async.bulk.wait_group 0;",
    ];
    let found = strands(&unfolded(&ptx(".global .b64 g[2]; .shared .b64 s[2];", &code), 1));
    let waits: Vec<&str> = found.iter().map(String::as_str).filter(|line| line.contains("wait")).collect();
    assert_eq!(waits, ["main wait BULK completes 1 2", "main wait BULK completes 1 2 3 4"]);
}

#[test]
fn an_asynchronous_arrive_comes_after_all_earlier_copies() {
    let code = ["cp.async.ca.shared.global [s], [g], 4;", "cp.async.mbarrier.arrive.noinc.shared.b64 [b];"];
    let declarations = ".global .b32 g = 7; .shared .b32 s; .shared .mbarrier b = 1;";
    assert_eq!(
        strands(&unfolded(&ptx(declarations, &code), 1))[3..],
        [
            "main issue ISSUE CP_ASYNC",
            "strand 3 read b A NORET RLX CLUSTER GEN SHARED MBAR COMPLETION CP_ASYNC OWN_WINDOW after 1 2",
            "strand 3 write b A NORET REL CLUSTER GEN SHARED MBAR COMPLETION CP_ASYNC OWN_WINDOW after 1 2 4",
        ]
    );
    let code = ["cp.async.mbarrier.arrive.shared.b64 [b];"];
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    let main = unfolding.events.iter().filter(|event| !event.is_init() && event.is_main() && event.has(Tag::Mbarrier));
    assert_eq!(main.count(), 2, "without .noinc the pending count goes up in program order");
}

#[test]
fn a_reduction_is_a_read_modify_write_of_the_async_proxy() {
    let code = ["cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [g], [s], 16;"];
    let found = strands(&unfolded(&ptx(".global .b64 g[2]; .shared .b64 s[2];", &code), 1));
    assert!(found.contains(&"strand 0 write g[0] A NORET RLX SYS ASYNC BULK after 1 3".to_string()), "{found:#?}");
}
