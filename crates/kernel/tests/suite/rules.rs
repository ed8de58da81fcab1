//! Rules about pairs of accesses, one at a time: each kernel is wrong by nothing but the rule, and right with it.

use fencepost_kernel::order::Why;
use fencepost_kernel::report::{Finding, Report};

use crate::values::{LAUNCH, answer, answer_to, proved};

fn races(report: &Report) -> Vec<Why> {
    let of = |finding: &Finding| if let Finding::Race { race, .. } = finding { Some(race.why) } else { None };
    report.findings.iter().filter_map(of).collect()
}

/// Thread 0 does the first, thread 32 the second.
fn pair(first: &str, second: &str) -> Report {
    answer(
        "",
        &format!(
            "setp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r1, 32;\nmov.u32 %r3, 0;\nmov.u16 %h1, 0;\n@%p1 bra A;\n@%p2 bra B;\n\
             bra END;\nA:\n{first}\nbra END;\nB:\n{second}\nEND:"
        ),
    )
}

#[test]
fn the_read_only_path_reads_what_nobody_writes() {
    let behind = |load: &str| answer("", &format!("st.global.u32 [%rd2], %r1;\nbar.sync 0;\n{load}.u32 %r3, [%rd2];"));
    assert_eq!(races(&behind("ld.global.nc")), [Why::ReadOnly]);
    assert!(proved(&behind("ld.global")));
    let before = |bar: &str| {
        answer(
            "",
            &format!(
                "ld.global.nc.u32 %r3, [%rd2];\n{bar}\nxor.b32 %r4, %r1, 32;\nmad.wide.u32 %rd3, %r4, 8, %rd1;\nst.global.u32 [%rd3], %r1;"
            ),
        )
    };
    // Whichever comes first in the run.
    assert_eq!(races(&before("")), [Why::ReadOnly, Why::ReadOnly]);
    assert!(proved(&before("bar.sync 0;")));
}

#[test]
fn an_access_to_some_bytes_does_not_stand_for_one_to_more() {
    let small = "st.global.u8 [%rd1+3], %h1;";
    assert_eq!(
        races(&pair("st.global.u32 [%rd1], %r1;\nst.global.u8 [%rd1], %h1;", "ld.global.u8 %h2, [%rd1+3];")).len(),
        1
    );
    assert_eq!(races(&pair("ld.global.u32 %r4, [%rd1];\nld.global.u8 %h2, [%rd1];", small)).len(), 1);
    assert!(proved(&pair("ld.global.u8 %h2, [%rd1];", small)));
}

#[test]
fn only_a_write_may_be_written_again() {
    // The buffer is zero: what is written is what was read.
    assert_eq!(races(&pair("ld.global.u32 %r4, [%rd1];", "st.global.u32 [%rd1], %r3;")).len(), 1);
    assert!(races(&pair("st.global.u32 [%rd1], %r3;", "st.global.u32 [%rd1], %r3;")).is_empty());
}

#[test]
fn a_write_of_the_same_value_comes_after_all_that_the_first_one_came_after() {
    let three = |last: &str| {
        let body = format!(
            "mov.u32 %r3, 5;\nshr.u32 %r4, %r1, 5;\nsetp.eq.u32 %p1, %r4, 1;\nsetp.eq.u32 %p2, %r4, 2;\nand.b32 %r5, %r1, 31;\n\
             setp.eq.u32 %p3, %r5, 0;\n@%p1 bra SECOND;\n@%p2 bra THIRD;\nld.global.u32 %r6, [%rd1];\nbar.arrive 1, 96;\n\
             bra END;\nSECOND:\nbar.sync 1, 96;\n@%p3 st.global.u32 [%rd1], %r3;\nbra END;\nTHIRD:\n{last}\nEND:"
        );
        answer_to(&LAUNCH.replace("[64]", "[96]"), "", &body)
    };
    let store = "@%p3 st.global.u32 [%rd1], %r3;";
    assert!(races(&three(&format!("bar.sync 1, 96;\n{store}"))).is_empty());
    assert_eq!(races(&three(&format!("{store}\nbar.arrive 1, 96;"))).len(), 1);
}

#[test]
fn the_same_value_through_two_proxies_is_a_race() {
    let copy = "mbarrier.init.shared::cta.b64 [m], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;\n\
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd1], 16, [m];\n\
                W:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [m], 0;\n@!%p4 bra W;";
    assert!(!races(&pair(copy, "st.shared.u32 [s], %r3;")).is_empty());
    assert!(proved(&pair(copy, "st.shared.u32 [s+16], %r3;")));
}

#[test]
fn a_proxy_fence_is_about_the_memory_that_it_names() {
    let copied = |space: &str| {
        answer(
            "",
            &format!(
                "mov.u32 %r3, s;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\ncp.async.ca.shared.global [%r3], [%rd1], 16;\n\
                 cp.async.wait_all;\nfence.proxy.async{space};\n\
                 cp.async.bulk.global.shared::cta.bulk_group [%rd1+512], [%r3], 16;\ncp.async.bulk.commit_group;\n\
                 cp.async.bulk.wait_group 0;\nEND:"
            ),
        )
    };
    assert!(proved(&copied(".shared::cta")) && proved(&copied("")));
    assert_eq!(races(&copied(".global")).len(), 1);
}

#[test]
fn a_fence_about_shared_cta_is_not_about_another_cta() {
    let launch = LAUNCH.replace("block = [64]", "grid = [2]\ncluster = [2]\nblock = [32]");
    let written = |space: &str| {
        let meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;";
        let body = format!(
            "mov.u32 %r3, s;\nmov.u32 %r4, %cluster_ctarank;\nor.b32 %r5, %r4, %r1;\nsetp.ne.u32 %p1, %r5, 0;\n\
             xor.b32 %r5, %r4, 1;\nor.b32 %r5, %r5, %r1;\nsetp.ne.u32 %p2, %r5, 0;\n{meet}\n@%p1 bra MEET;\n\
             mapa.shared::cluster.u32 %r6, %r3, 1;\nst.shared::cluster.u32 [%r6], %r1;\nfence.proxy.async.{space};\nMEET:\n\
             {meet}\n@%p2 bra END;\nfence.proxy.async.shared::cta;\n\
             cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16;\ncp.async.bulk.commit_group;\n\
             cp.async.bulk.wait_group 0;\nEND:"
        );
        answer_to(&launch, "", &body)
    };
    assert!(races(&written("shared::cluster")).is_empty());
    let report = written("shared::cta");
    let only =
        |finding: &Finding| matches!(finding, Finding::Race { only, .. } if only.contains(&"async-fence-remote"));
    assert!(report.findings.iter().any(only), "{report:?}");
}
