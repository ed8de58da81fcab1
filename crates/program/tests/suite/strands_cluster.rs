//! Strands that reach other CTAs, tensors behind their maps, and asynchronous stores of registers.

use crate::common;

use common::{ptx, strands, unfolded};
use fencepost_program::unfolding::{HazardKind, TraceEnd};

/// Two CTAs of one cluster; the code is that of the first.
fn pair(declarations: &str, code: &[&str]) -> String {
    format!(
        "PTX t\n{{ {declarations} x = 0; }}\nP0@cta 0, cluster 0, gpu 0 {{\n{}\n}}\nP1@cta 1, cluster 0, gpu 0 {{\nld.u32 %r1, [x];\n}}\n",
        code.join("\n")
    )
}

#[test]
fn a_multicast_writes_and_signals_each_cta_of_its_mask() {
    let code =
        ["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [b], 3;"];
    let text = pair(".global .b64 g[2] = 7; .shared .b64 s[2]; .shared .mbarrier b = 1;", &code);
    let found = strands(&unfolded(&text, 1));
    assert_eq!(found.iter().filter(|line| line.contains("read g")).count(), 2, "{found:#?}");
    let has = |start: &str, end: &str| found.iter().any(|line| line.starts_with(start) && line.ends_with(end));
    assert!(has("strand 0 write s@0[0] WEAK ASYNC SHARED BULK", "after 1"), "{found:#?}");
    assert!(has("strand 0 write s@1[0] WEAK ASYNC SHARED REMOTE BULK", "after 1"), "{found:#?}");
    assert!(has("strand 0 write b@0", "after 1 2 3 4 7") && has("strand 0 write b@1", "after 1 2 5 6 9"), "{found:#?}");
}

#[test]
fn a_mask_beyond_the_cluster_is_refused() {
    let code =
        ["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [b], 5;"];
    let text = pair(".global .b64 g[2] = 7; .shared .b64 s[2]; .shared .mbarrier b = 1;", &code);
    let program = common::program(&text);
    let options = fencepost_program::unfold::UnfoldOptions::default();
    assert!(fencepost_program::unfold::unfold(&program, &options).is_err());
}

#[test]
fn a_tensor_load_reads_its_map_through_its_own_proxy() {
    let code = ["cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [m, {0}], [b];"];
    let declarations =
        ".global .b32 g[4] = 7; .global .tensormap m = g; .shared .b32 s[4]; .shared .mbarrier b = 1; P0:%rd1 = g;";
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    let exits: Vec<_> = unfolding.traces.iter().filter(|trace| trace.end == TraceEnd::Exit).collect();
    assert_eq!(exits.len(), 1, "one tensor whose address anybody has");
    let found = strands(&unfolding);
    assert!(found[1].starts_with("strand 0 read m WEAK TMAP BULK"), "{found:#?}");
    assert!(found.iter().any(|line| line.starts_with("strand 0 read g[0] WEAK ASYNC BULK")), "{found:#?}");
    assert!(found.iter().any(|line| line.starts_with("strand 0 write b") && line.contains("COMPLETION")));
}

#[test]
fn a_group_after_a_tensor_load_tells_that_the_map_was_read() {
    let code = [
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [m, {0}], [b];",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group.read 0;",
    ];
    let declarations = ".global .b32 g[4] = 7; .global .tensormap m = g; .shared .b32 s[4]; .shared .mbarrier b = 1;";
    let found = strands(&unfolded(&ptx(declarations, &code), 1));
    assert_eq!(found.last().map(String::as_str), Some("main wait BULK completes 1"), "{found:#?}");
}

#[test]
fn replacing_the_address_of_a_map_changes_the_tensor() {
    let code = [
        "tensormap.replace.tile.global_address.global.b1024.b64 [m], %rd1;",
        "tensormap.replace.tile.rank.global.b1024.b32 [m], 1;",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [m, {0}], [s];",
    ];
    let declarations =
        ".global .b32 g[4]; .global .b32 h[4]; .global .tensormap m = g; .shared .b32 s[4]; P0:%rd1 = h;";
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    let exits = unfolding.traces.iter().filter(|trace| trace.end == TraceEnd::Exit).count();
    assert_eq!(exits, 2, "either tensor, as the map's value decides");
    assert_eq!(strands(&unfolding)[0], "main write m WEAK GEN");
}

#[test]
fn an_asynchronous_store_goes_to_the_other_cta_and_counts_its_bytes() {
    let code = ["st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [s@1], %r1, [b@1];"];
    let text = pair(".shared .b32 s; .shared .mbarrier b = 1; P0:%r1 = 4;", &code);
    assert_eq!(
        strands(&unfolded(&text, 1)),
        [
            "main issue ISSUE BULK",
            "strand 0 write s@1 WEAK GEN SHARED REMOTE BULK",
            "strand 0 read b@1 A NORET RLX CLUSTER GEN SHARED REMOTE MBAR COMPLETION BULK after 1",
            "strand 0 write b@1 A NORET REL CLUSTER GEN SHARED REMOTE MBAR COMPLETION BULK after 1 2",
        ]
    );
}

#[test]
fn an_asynchronous_release_has_no_mbarrier() {
    let code = ["st.async.release.gpu.global.u32 [x], %r1;", "red.async.release.sys.global.add.u32 [x], %r1;"];
    let found = strands(&unfolded(&ptx("x = 0; P0:%r1 = 4;", &code), 1));
    assert_eq!(
        found,
        [
            "main issue ISSUE BULK",
            "strand 0 write x REL GPU GEN BULK",
            "main issue ISSUE BULK",
            "strand 2 read x A NORET RLX SYS GEN BULK",
            "strand 2 write x A NORET REL SYS GEN BULK after 3",
        ]
    );
}

#[test]
fn a_request_to_cancel_is_granted_or_refused() {
    let code = [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [r], [b];",
        "ld.shared.v2.b64 {%rd1, %rd2}, [r];",
    ];
    let declarations = ".shared .b64 r[2]; .shared .mbarrier b = 1;";
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    assert_eq!(unfolding.traces.len(), 2);
    let found = strands(&unfolding);
    assert!(found.iter().any(|line| line.starts_with("strand 0 write r[0] WEAK ASYNC SHARED BULK")), "{found:#?}");
    assert!(unfolding.hazards.iter().all(|hazard| hazard.kind != HazardKind::MixedCtaGroup));
}

/// Where destinations and mbarriers may lie (PTX ISA 9.7.10.12, 9.7.15.7, 9.7.10.28.4.1, 9.7.10.28.5.3).
#[test]
fn operands_in_the_wrong_cta_are_hazards() {
    let declarations = ".global .b64 g[2] = 7; .global .tensormap t = g; .shared .b64 s[2]; .shared .b64 d[2]; \
                        .shared .mbarrier b = 1; P0:%own = d; P0:%far = d@1; P0:%near = b; P0:%off = b@1;";
    let hazards = |code: &str| -> Vec<HazardKind> {
        let unfolding = unfolded(&pair(declarations, &[code]), 1);
        unfolding.hazards.iter().map(|hazard| hazard.kind).collect()
    };
    let forms: [(&str, [&[HazardKind]; 4]); 9] = [
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [D], 1, [B];", [OK, WRONG, WRONG, OK]),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [D], 1, [B];",
            [WRONG, WRONG, WRONG, OK],
        ),
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [D], [s], 16, [B];",
            [WRONG, WRONG, DOUBT, OK],
        ),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 [D], [s], 16, [B];",
            [WRONG, WRONG, DOUBT, OK],
        ),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [D], [g], 16, [B];", [OK, DOUBT, WRONG, WRONG]),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [D], [g], 16, [B];",
            [OK, DOUBT, DOUBT, OK],
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [D], [t, {0}], [B];",
            [OK, WRONG, WRONG, WRONG],
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [D], [t, {0}], [B];",
            [OK, WRONG, WRONG, OK],
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [D], [t, {0}], [B];",
            [OK, OK, OK, OK],
        ),
    ];
    let places = [("%own", "%near"), ("%own", "%off"), ("%far", "%near"), ("%far", "%off")];
    for (form, expected) in forms {
        for ((destination, mbarrier), expected) in places.into_iter().zip(expected) {
            let code = form.replace("[D]", &format!("[{destination}]")).replace("[B]", &format!("[{mbarrier}]"));
            assert_eq!(hazards(&code), expected, "{code}");
        }
    }
}

const OK: &[HazardKind] = &[];
const WRONG: &[HazardKind] = &[HazardKind::Misplaced];
const DOUBT: &[HazardKind] = &[HazardKind::MbarrierElsewhere];
