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
    // A write of some of the bytes is another one.
    assert_eq!(races(&pair("st.global.u32 [%rd1], %r3;", "st.global.u8 [%rd1], %h1;")).len(), 1);
}

#[test]
fn a_write_of_the_same_value_comes_after_all_that_the_first_one_came_after() {
    // The first warp reads, the second writes behind it, and the third writes the same when the second has: a relaxed arrival
    // tells it so, and orders nothing.
    let three = |order: [&str; 2]| {
        let [release, acquire] = order;
        let body = format!(
            "mov.u32 %r3, 5;\nmov.u32 %r7, m;\nshr.u32 %r4, %r1, 5;\nsetp.eq.u32 %p1, %r4, 1;\nsetp.eq.u32 %p2, %r4, 2;\n\
             setp.ne.u32 %p4, %r1, 0;\n@%p4 bra READY;\nmbarrier.init.shared::cta.b64 [%r7], 1;\nREADY:\nbar.sync 0;\n\
             and.b32 %r5, %r1, 31;\nsetp.ne.u32 %p3, %r5, 0;\n@%p1 bra SECOND;\n@%p2 bra THIRD;\nld.global.u32 %r6, [%rd1];\n\
             bar.arrive 1, 64;\nbra END;\nSECOND:\nbar.sync 1, 64;\n@%p3 bra END;\nst.global.u32 [%rd1], %r3;\n\
             mbarrier.arrive.{release}.cta.shared::cta.b64 _, [%r7];\nbra END;\nTHIRD:\n@%p3 bra END;\n\
             W:\nmbarrier.try_wait.parity.{acquire}.cta.shared::cta.b64 %p5, [%r7], 0;\n@!%p5 bra W;\n\
             st.global.u32 [%rd1], %r3;\nEND:"
        );
        answer_to(&LAUNCH.replace("[64]", "[96]"), "", &body)
    };
    assert!(races(&three(["release", "acquire"])).is_empty(), "{:?}", three(["release", "acquire"]));
    assert_eq!(races(&three(["relaxed", "relaxed"])).len(), 1);
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

/// A map that a bulk copy has written is released and acquired behind the end of the copy, which `bar.warp.sync` may not hand over
/// (reading warp-sync-async).
#[test]
fn a_copied_tensor_map_is_acquired_behind_the_end_of_the_copy() {
    let launch = LAUNCH.replace("[64]", "[32]");
    let replace = |field: &str, value: &str| format!("tensormap.replace.tile.{field}.shared::cta.b1024.{value};\n");
    let fields = [
        ("global_address", "b64 [%r3], %rd5"),
        ("rank", "b32 [%r3], 0"),
        ("box_dim", "b32 [%r3], 0, 16"),
        ("global_dim", "b32 [%r3], 0, 16"),
        ("element_stride", "b32 [%r3], 0, 1"),
        ("elemtype", "b32 [%r3], 2"),
        ("interleave_layout", "b32 [%r3], 0"),
        ("swizzle_mode", "b32 [%r3], 0"),
        ("fill_mode", "b32 [%r3], 0"),
    ];
    let made: String = fields.iter().map(|(field, value)| replace(field, value)).collect();
    let copied = |meet: &str| {
        let body = format!(
            "mov.u32 %r3, s;\nmov.u32 %r4, m;\nadd.u64 %rd5, %rd1, 1024;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r1, 1;\n\
             @%p1 bra MADE;\n{made}fence.proxy.async;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 128;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nMADE:\n{meet}\n@%p2 bra END;\n\
             fence.proxy.tensormap::generic.release.gpu;\nfence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n\
             mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 64;\n\
             cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3+1024], [%rd1, {{0}}], [%r4];\n\
             W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W;\nEND:"
        );
        answer_to(&launch, "", &body)
    };
    assert!(races(&copied("bar.sync 0;")).is_empty(), "{:?}", copied("bar.sync 0;"));
    let report = copied("bar.warp.sync -1;");
    let only = |finding: &Finding| matches!(finding, Finding::Race { only, .. } if *only == ["warp-sync-async"]);
    assert!(report.findings.iter().any(only), "{report:?}");
}

/// A load of tensor memory, and a product that reads the same columns and is told to be over: whoever overwrites them must know of
/// the end of the load too, which its thread has waited for before the product or only behind it.
#[test]
fn a_load_is_over_before_the_product_that_stands_for_it() {
    let kernel = |load: &str, late: &str| {
        format!(
            ".shared .align 1024 .b8 tile[16384];\n.shared .align 8 .b64 m2;\nmov.u32 %r3, tile;\nmov.u32 %r9, s;\nmov.u32 %r4, m;\n\
             mov.u32 %r5, m2;\nshr.u32 %r6, %r3, 4;\nand.b32 %r6, %r6, 16383;\ncvt.u64.u32 %rd3, %r6;\n\
             or.b64 %rd3, %rd3, 0x0000401000080000;\nmov.u32 %r7, 0x08040010;\nsetp.ge.u32 %p1, %r1, 32;\n\
             and.b32 %r2, %r1, 31;\nsetp.ne.u32 %p2, %r2, 0;\nsetp.ne.u32 %p3, %r1, 0;\n@%p3 bra READY;\n\
             mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r5], 1;\nREADY:\n\
             @!%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r9], 64;\nbar.sync 0;\n\
             ld.shared.u32 %r10, [%r9];\nadd.u32 %r12, %r10, 32;\n@%p1 bra SECOND;\n\
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r11}}, [%r10];\n{load}\n@%p2 bra ISSUED;\n\
             tcgen05.mma.cta_group::1.kind::f16 [%r12], [%r10], %rd3, %r7, 1;\n\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];\nISSUED:\n{late}\n@%p2 bra END;\n\
             mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r5];\nbra END;\nSECOND:\n@%p2 bra END;\n\
             W1:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;\n@!%p4 bra W1;\n\
             W2:\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p4, [%r5], 0;\n@!%p4 bra W2;\n\
             tcgen05.fence::after_thread_sync;\ntcgen05.cp.cta_group::1.128x256b [%r10], %rd3;\nEND:"
        )
    };
    let wait = "tcgen05.wait::ld.sync.aligned;";
    assert_eq!(races(&answer("", &kernel(wait, ""))), [], "{:?}", answer("", &kernel(wait, "")));
    assert!(!races(&answer("", &kernel("", wait))).is_empty(), "{:?}", answer("", &kernel("", wait)));
}

/// Thread 0 does something and reads the place with `cp.async`; thread 32 waits until the copy is over, which says nothing of what
/// thread 0 did to other bytes, nor of what thread 1 did.
fn through_a_copy(before: &str, copy: &str, behind: &str) -> Report {
    answer(
        "",
        &format!(
            "mov.u32 %r3, 0;\nmov.u16 %h1, 0;\nmov.u32 %r4, m;\nmov.u32 %r5, s;\nsetp.ne.u32 %p1, %r1, 0;\n\
             setp.ge.u32 %p2, %r1, 2;\nsetp.ne.u32 %p3, %r1, 32;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n\
             READY:\nbar.sync 0;\n@%p2 bra SECOND;\n{before}\n@%p1 bra END;\ncp.async.ca.shared.global [%r5], [%rd1], {copy};\n\
             cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r4];\nbra END;\nSECOND:\n@%p3 bra END;\n\
             W:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;\n@!%p4 bra W;\n{behind}\nEND:"
        ),
    )
}

#[test]
fn an_order_runs_through_a_copy_of_the_same_bytes() {
    let half = "@!%p1 st.global.u16 [%rd1+2], %h1;";
    let write = "st.global.u32 [%rd1], %r1;";
    assert!(races(&through_a_copy(half, "4", write)).is_empty(), "{:?}", through_a_copy(half, "4", write));
    // Half of the place is copied, and the rest is filled with zeros.
    assert_eq!(races(&through_a_copy(half, "4, 2", write)).len(), 1);
}

#[test]
fn an_order_through_a_copy_is_one_of_its_lane() {
    // A strong write competes with a strong read; the weak one behind it does not.
    let writes = "st.relaxed.gpu.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1], %r1;";
    let (both, own) = ("ld.relaxed.gpu.global.u32 %r6, [%rd1];", "@!%p1 ld.relaxed.gpu.global.u32 %r6, [%rd1];");
    assert!(races(&through_a_copy(own, "4", writes)).is_empty(), "{:?}", through_a_copy(own, "4", writes));
    assert_eq!(races(&through_a_copy(both, "4", writes)).len(), 1);
}

/// Elements of a vector are accesses of their own (8.2.4), and reductions compete element by element.
#[test]
fn strong_accesses_of_one_size_compete() {
    let write = "st.relaxed.gpu.global.u16 [%rd1], %h1;";
    assert!(races(&pair(write, "ld.relaxed.gpu.global.v2.u16 {%h2, %h3}, [%rd1];")).is_empty());
    assert_eq!(races(&pair(write, "ld.relaxed.gpu.global.u32 %r4, [%rd1];")), [Why::Sizes]);
    let reduce = |ty: &str| {
        format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{ty} [%rd1], [s], 16;\ncp.async.bulk.commit_group;\n\
             cp.async.bulk.wait_group 0;"
        )
    };
    assert!(races(&pair(&reduce("u32"), &reduce("s32"))).is_empty());
    assert_eq!(races(&pair(&reduce("u32"), &reduce("u64"))).len(), 1);
}
