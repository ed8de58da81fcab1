//! Rules about who executes what: registers of a warpgroup, columns of tensor memory, lanes that end early, the life of shared
//! memory. A kernel that breaks one is not proved.

use fencepost_kernel::order::Cap;
use fencepost_kernel::report::{Cause, Doubt, Finding, Protocol, Report, Rule};

use crate::undefined::breaks;
use crate::values::{LAUNCH, answer, answer_to, proved};

fn doubted(report: &Report, rule: Rule) -> bool {
    let is = |doubt: &Doubt| matches!(doubt, Doubt::Matching { rule: own, .. } if *own == rule);
    report.findings.is_empty() && report.doubts.iter().any(is)
}

fn hangs(report: &Report) -> bool {
    report.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. }))
}

/// The second half of each warp leaves the barrier out and ends.
fn leaving(work: &str, between: &str) -> Report {
    answer(
        "",
        &format!(
            "and.b32 %r2, %r1, 31;\nsetp.ge.u32 %p1, %r2, 16;\n@%p1 bra OUT;\n{between}\nbar.sync 0;\nret;\nOUT:\n{work}"
        ),
    )
}

#[test]
fn lanes_that_leave_out_a_barrier_have_ended_before_it() {
    // It may as well have ended at once.
    assert!(proved(&leaving("add.u32 %r3, %r2, 1;", "")), "{:?}", leaving("", ""));
    let report = leaving("st.global.u32 [%rd2], %r1;", "");
    assert!(doubted(&report, Rule::LanesEnd), "{report:?}");
    // The others know that it has.
    let meet = "bar.warp.sync -1;";
    let report = leaving(&format!("st.global.u32 [%rd2], %r1;\n{meet}"), meet);
    assert!(proved(&report), "{report:?}");
    // What all lanes do together is before they part.
    let body = "st.global.u32 [%rd2], %r1;\nand.b32 %r2, %r1, 31;\nsetp.ge.u32 %p1, %r2, 16;\n@%p1 bra END;\nbar.sync 0;\nEND:";
    assert!(proved(&answer("", body)));
}

/// That a relaxed wait has observed an arrival orders the two, and nothing that the other thread did before it.
#[test]
fn an_mbarrier_that_a_relaxed_wait_has_seen_may_end() {
    let ended = |arrive: &str, wait: &str| {
        answer(
            "",
            &format!(
                "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra MEET;\nmbarrier.init.shared.b64 [m], 1;\nMEET: bar.sync 0;\n\
                 setp.ne.u32 %p2, %r1, 32;\n@%p2 bra WAIT;\nmbarrier.arrive.{arrive}.cta.shared.b64 _, [m];\n\
                 WAIT: @%p1 bra END;\n{wait}mbarrier.inval.shared.b64 [m];\nEND:"
            ),
        )
    };
    let until =
        |order: &str| format!("L: mbarrier.try_wait.parity.{order}.cta.shared.b64 %p3, [m], 0;\n@!%p3 bra L;\n");
    assert!(proved(&ended("release", &until("acquire"))));
    let relaxed = ended("relaxed", &until("relaxed"));
    let open = |doubt: &Doubt| matches!(doubt, Doubt::Unobserved { cap: Cap::Mbarrier, .. });
    assert!(relaxed.findings.is_empty() && relaxed.doubts.iter().any(open), "{relaxed:?}");
    let races = |report: &Report| report.findings.iter().any(|own| matches!(own, Finding::Race { .. }));
    assert!(races(&ended("relaxed", "")), "nobody has seen it");
}

/// 256 threads; `%p1` is set in the warps that come.
fn of_warpgroups(body: &str) -> Report {
    let start = "shr.u32 %r2, %r1, 5;\n";
    answer_to(&LAUNCH.replace("[64]", "[256]"), "", &format!("{start}{body}"))
}

#[test]
fn a_warpgroup_changes_its_registers_together() {
    let limit = "setmaxnreg.dec.sync.aligned.u32 40;";
    assert!(proved(&of_warpgroups(limit)));
    let whole = of_warpgroups(&format!("setp.lt.u32 %p1, %r2, 4;\n@!%p1 bra END;\n{limit}\nEND:"));
    assert!(proved(&whole), "{whole:?}");
    for (which, missing) in [("setp.ne.u32 %p1, %r2, 3;", 1), ("setp.eq.u32 %p1, %r2, 7;", 3)] {
        let part = of_warpgroups(&format!("{which}\n@!%p1 bra END;\n{limit}\nEND:"));
        let is = |what: &Protocol| matches!(what, Protocol::RegistersOfPart { .. });
        assert!(breaks(&part, is), "{missing} {part:?}");
    }
    // One each for two parts of a warpgroup, with the same number or not.
    let parts = |other: &str| {
        let second = limit.replace("40", other);
        of_warpgroups(&format!(
            "and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra EVEN;\n{limit}\nbra END;\nEVEN:\n{second}\nEND:"
        ))
    };
    assert!(proved(&parts("40")), "{:?}", parts("40"));
    assert!(breaks(&parts("48"), |what| matches!(what, Protocol::RegistersOfPart { missing: 2 })));
    // A CTA of two warps has no whole warpgroup.
    assert!(breaks(&answer("", limit), |what| matches!(what, Protocol::RegistersOfPart { missing: 2 })));
    for count in [16, 36, 264] {
        let report = of_warpgroups(&limit.replace("40", &count.to_string()));
        assert!(matches!(report.findings[..], [Finding::BadOperand { .. }]), "{report:?}");
    }
}

#[test]
fn warps_synchronise_between_two_limits_of_registers() {
    let (down, up) = ("setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 80;");
    let report = of_warpgroups(&format!("{down}\n{up}"));
    assert!(breaks(&report, |what| matches!(what, Protocol::RegistersUnsynchronised)), "{report:?}");
    let report = of_warpgroups(&format!("{down}\nbar.sync 0;\n{up}"));
    assert!(proved(&report), "{report:?}");
    // The second changes nothing.
    let repeated = of_warpgroups(&format!("{down}\n{down}"));
    assert!(proved(&repeated), "{repeated:?}");
    assert!(repeated.assumptions.iter().any(|text| text.contains("setmaxnreg that leaves")), "{repeated:?}");
    assert!(report.assumptions.iter().any(|text| text.contains("setmaxnreg")), "{:?}", report.assumptions);
}

/// Two warps: `%p1` is set in the first, `%r9` is where addresses come, `%r10` the address of the first 32 columns.
fn with_columns(body: &str) -> Report {
    answer("", &format!("setp.lt.u32 %p1, %r1, 32;\nmov.u32 %r9, s;\n{body}"))
}

fn alloc(at: u32, count: u32) -> String {
    format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r9+{at}], {count};\n")
}

fn free(count: u32) -> String {
    format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, {count};\n")
}

const READ: &str = "bar.warp.sync -1;\nld.shared.u32 %r10, [%r9];\n";
/// Columns that a warp allocates and frees.
fn own(at: u32, count: u32) -> String {
    alloc(at, count) + &READ.replace("[%r9]", &format!("[%r9+{at}]")) + &free(count)
}

const GIVE_UP: &str = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";

/// What the first warp does, and the second.
fn two_warps(first: &str, second: &str) -> Report {
    with_columns(&format!("@!%p1 bra SECOND;\n{first}\nbra END;\nSECOND:\n{second}\nEND:"))
}

fn tensor_error(report: &Report) -> bool {
    breaks(report, |what| matches!(what, Protocol::TensorMemory(_)))
}

#[test]
fn columns_are_freed_before_the_kernel_ends() {
    let report = two_warps(&[&alloc(0, 32), READ, GIVE_UP, &free(32)].concat(), "");
    assert!(proved(&report), "{report:?}");
    let report = two_warps(&[&alloc(0, 32), READ].concat(), "");
    assert!(breaks(&report, |what| matches!(what, Protocol::ColumnsKept { count: 32, .. })), "{report:?}");
    for wrong in ["add.u32 %r10, %r10, 32;\n", ""] {
        let count = if wrong.is_empty() { 64 } else { 32 };
        let report = two_warps(&[&alloc(0, 32), READ, wrong, &free(count)].concat(), "");
        assert!(tensor_error(&report), "{report:?}");
    }
}

#[test]
fn allocations_do_not_grow_and_come_before_the_right_is_given_up() {
    let two = |first: u32, second: u32| own(0, first) + &own(4, second);
    assert!(proved(&two_warps(&two(64, 32), "")));
    assert!(tensor_error(&two_warps(&two(32, 64), "")));
    // Nothing orders them.
    assert!(tensor_error(&two_warps(&own(0, 64), &own(4, 32))));
    let after = two_warps(&format!("{}bar.sync 0;\n", own(0, 64)), &format!("bar.sync 0;\n{}", own(4, 32)));
    assert!(proved(&after), "{after:?}");
    assert!(tensor_error(&two_warps(&[GIVE_UP, &own(0, 32)].concat(), "")));
    // The other warp may be faster.
    assert!(tensor_error(&two_warps(&own(0, 32), GIVE_UP)));
    let after = two_warps(&format!("{}bar.sync 0;\n", own(0, 32)), &format!("bar.sync 0;\n{GIVE_UP}"));
    assert!(proved(&after), "{after:?}");
}

#[test]
fn one_kernel_has_one_cta_group() {
    let report = two_warps(&[&alloc(0, 32), READ, &GIVE_UP.replace("::1", "::2"), &free(32)].concat(), "");
    assert!(tensor_error(&report), "{report:?}");
}

#[test]
fn an_allocation_waits_for_columns() {
    // The first has its columns when the second asks, so that the second comes behind the first in every run.
    let first = format!("{}bar.sync 0;\nbar.warp.sync -1;\n{}", [&alloc(0, 512), READ].concat(), free(512));
    let report = two_warps(&first, &format!("bar.sync 0;\n{}", own(4, 512)));
    assert!(proved(&report), "{report:?}");
    // Nobody frees them.
    let report = two_warps(&[&alloc(0, 512), READ, "bar.sync 0;\n"].concat(), &format!("bar.sync 0;\n{}", own(4, 512)));
    assert!(hangs(&report), "{report:?}");
    // Who comes first is a matter of time.
    let report = two_warps(&own(0, 512), &own(4, 512));
    assert!(doubted(&report, Rule::Columns), "{report:?}");
    // The first is known to the second, which has room beside it, but not for two more.
    let first = format!("{}bar.sync 0;\nbar.warp.sync -1;\n{}", [&alloc(0, 256), READ].concat(), free(256));
    let two = format!("bar.sync 0;\n{}{}", alloc(4, 256), alloc(8, 256))
        + "bar.warp.sync -1;\nld.shared.u32 %r10, [%r9+4];\nld.shared.u32 %r11, [%r9+8];\n"
        + &free(256)
        + &free(256).replace("%r10", "%r11");
    let report = two_warps(&first, &two);
    assert!(doubted(&report, Rule::Columns), "{report:?}");
    // There is room for both.
    let report = two_warps(&own(0, 256), &own(4, 256));
    assert!(proved(&report), "{report:?}");
    // Each may have one of two, and wait for the other's.
    let twice = |at: u32| {
        let second = format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r9+{}], 256;\n", at + 8);
        let read =
            format!("bar.warp.sync -1;\nld.shared.u32 %r10, [%r9+{at}];\nld.shared.u32 %r11, [%r9+{}];\n", at + 8);
        alloc(at, 256) + &second + &read + &free(256) + &free(256).replace("%r10", "%r11")
    };
    let report = two_warps(&twice(0), &twice(16));
    assert!(doubted(&report, Rule::Columns), "{report:?}");
}

#[test]
fn only_addresses_depend_on_which_columns_are_given() {
    let decided = |body: &str| {
        let report = two_warps(&[&alloc(0, 32), READ, body, &free(32)].concat(), "");
        report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Decided { by: Cause::Columns, .. }))
    };
    assert!(decided("setp.eq.u32 %p2, %r10, 0;\n@!%p2 bra OVER;\nst.global.u32 [%rd2], %r1;\nOVER:\n"));
    assert!(decided("mul.wide.u32 %rd3, %r10, 4;\nadd.u64 %rd3, %rd3, %rd2;\nst.global.u32 [%rd3], %r1;\n"));
    assert!(!decided(
        "add.u32 %r11, %r10, 1;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r11];\ntcgen05.wait::ld.sync.aligned;\n"
    ));
    assert!(!decided("st.global.u32 [%rd2], %r10;\n"));
}

#[test]
fn the_size_of_shared_memory_on_the_gpu_is_not_the_launchs() {
    let decides = |register: &str| answer("", &format!("mov.u32 %r9, {register};\n{}", crate::values::BRANCH));
    assert!(!decides("%total_smem_size").doubts.is_empty());
    assert!(proved(&decides("%dynamic_smem_size")));
}

/// The first CTA accesses the second one's shared memory; the cluster meets, and ends.
fn remote(access: &str, arrive: &str) -> Report {
    let launch = LAUNCH.replace("block = [64]", "block = [32]\ngrid = [2]\ncluster = [2]");
    let body = format!(
        "mov.u32 %r3, s;\nmov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p1, %r5, 0;\nsetp.ne.u32 %p2, %r1, 0;\nor.pred %p3, %p1, %p2;\n\
         barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmapa.shared::cluster.u32 %r4, %r3, 1;\n@!%p3 {access}\n\
         barrier.cluster.arrive{arrive}.aligned;\nbarrier.cluster.wait.aligned;"
    );
    answer_to(&launch, "", &body)
}

const UNDER_GUARD: &str = "setp.ne.u32 %p4, %r6, 99;\n@%p4 st.global.u32 [%rd2], 1;";

#[test]
fn an_access_to_another_cta_is_complete_before_that_cta_ends() {
    let atomic =
        ["red.relaxed.cluster.shared::cluster.add.u32 [%r4], 1;", "atom.shared::cluster.add.u32 %r6, [%r4], 1;"];
    let plain = ["st.shared::cluster.u32 [%r4], %r1;", "ld.shared::cluster.u32 %r6, [%r4];"];
    for [writes, returns] in [atomic, plain] {
        let report = remote(writes, ".relaxed");
        assert!(breaks(&report, |what| matches!(what, Protocol::ExitBeforeAccess { owner: 1 })), "{writes} {report:?}");
        // So is what returns a value, unless something before the arrival depends on that.
        let report = remote(returns, ".relaxed");
        assert!(
            breaks(&report, |what| matches!(what, Protocol::ExitBeforeAccess { owner: 1 })),
            "{returns} {report:?}"
        );
        let used = |how: &str| remote(&format!("{returns}\n{how}"), ".relaxed");
        assert!(proved(&used("@!%p3 st.global.u32 [%rd2], %r6;")), "{:?}", used("@!%p3 st.global.u32 [%rd2], %r6;"));
        // Whether a shuffle depends on it is not followed.
        let report = used("shfl.sync.idx.b32 %r7, %r6, 3, 31, -1;\n@!%p3 st.global.u32 [%rd2], %r7;");
        assert!(doubted(&report, Rule::OwnerEnds), "{report:?}");
        // What a swap that fails would have written uses nothing; what stands under a guard may.
        for how in ["@!%p3 atom.relaxed.gpu.global.cas.b32 %r7, [%rd2], 9, %r6;", UNDER_GUARD] {
            assert!(doubted(&used(how), Rule::OwnerEnds), "{how} {:?}", used(how));
        }
        for access in [writes, returns] {
            assert!(proved(&remote(access, "")), "{access} {:?}", remote(access, ""));
            let fenced = format!("{access}\nfence.acq_rel.cluster;");
            assert!(proved(&remote(&fenced, ".relaxed")), "{access} {:?}", remote(&fenced, ".relaxed"));
            // A barrier of the CTA, or a fence of that scope, does not make it known in the cluster.
            for nearer in ["bar.sync 0;", "fence.acq_rel.cta;"] {
                assert!(!proved(&remote(&format!("{access}\n{nearer}"), ".relaxed")), "{access} {nearer}");
            }
        }
    }
}

/// Thread 0 has an mbarrier for one arrival, `%r4`; `%p1` is set for the other threads.
fn with_mbarrier(body: &str) -> Report {
    answer(
        "",
        &format!(
            "mov.u32 %r4, m;\nmov.u32 %r3, s;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\n\
             mbarrier.init.shared::cta.b64 [%r4], 1;\n{body}\nEND:"
        ),
    )
}

const ARRIVE: &str = "mbarrier.arrive.shared::cta.b64 _, [%r4];\n";

#[test]
fn somebody_waits_for_a_phase_before_the_next_arrival() {
    let wait = "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra W;\n";
    let report = with_mbarrier(&[ARRIVE, wait, ARRIVE].concat());
    assert!(proved(&report), "{report:?}");
    let report = with_mbarrier(&[ARRIVE, ARRIVE].concat());
    assert!(breaks(&report, |what| matches!(what, Protocol::MissingWait)), "{report:?}");
}

/// The producer issues its second copy behind a wait, and what the consumer has seen of that copy tells it so (8.10.4).
#[test]
fn an_asynchronous_arrival_comes_after_what_its_issue_has_waited_for() {
    let wait = |label: &str, at: &str, parity: u32| {
        format!("{label}:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [{at}], {parity};\n@!%p2 bra {label};\n")
    };
    let ring = |copy: &str, expect: &str, second: &str| {
        let consumed = |label: &str, parity: u32| {
            format!(
                "{expect}{}ld.shared.u32 %r5, [%r3];\n{FENCE}mbarrier.arrive.shared::cta.b64 _, [%r3+64];\n",
                wait(label, "%r4", parity)
            )
        };
        answer(
            "",
            &format!(
                "mov.u32 %r4, m;\nmov.u32 %r3, s;\nsetp.eq.u32 %p1, %r1, 32;\n@%p1 bra CONSUMER;\nsetp.ne.u32 %p1, %r1, 0;\n\
                 @%p1 bra OTHERS;\nmbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r3+64], 1;\n\
                 {FENCE}barrier.sync 0;\n{copy}{second}{copy}bra END;\n\
                 CONSUMER:\nbarrier.sync 0;\n{}{}bra END;\nOTHERS:\nbarrier.sync 0;\nEND:",
                consumed("A", 0),
                consumed("B", 1)
            ),
        )
    };
    let waits = wait("E", "%r3+64", 0);
    let copy = "cp.async.ca.shared.global [%r3], [%rd1], 16;\ncp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r4];\n";
    let report = ring(copy, "", &waits);
    assert!(proved(&report), "{report:?}");
    assert!(!proved(&ring(copy, "", "")));
    // The consumer expects the bytes, so that the copy itself is all that tells of the wait.
    let expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n";
    let report = ring(COPY, expect, &waits);
    assert!(proved(&report), "{report:?}");
    assert!(!proved(&ring(COPY, expect, "")));
}

const FENCE: &str = "fence.proxy.async.shared::cta;\n";

/// The expected count of a phase is 1 to 2^20 - 1 (9.7.15.16).
#[test]
fn the_last_expected_arrival_is_not_dropped() {
    let twice = |first: &str, second: &str| {
        let drop = |which: &str| format!("mbarrier.arrive{which}.shared::cta.b64 _, [%r4];\n");
        with_mbarrier(
            &[
                "mbarrier.inval.shared::cta.b64 [%r4];\nmbarrier.init.shared::cta.b64 [%r4], 2;\n",
                &drop(first),
                &drop(second),
            ]
            .concat(),
        )
    };
    assert!(proved(&twice("", "_drop")) && proved(&twice("_drop", "")));
    let report = twice("_drop", "_drop");
    assert!(breaks(&report, |what| matches!(what, Protocol::DropToZero)), "{report:?}");
    let report = with_mbarrier("mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%r4], 0;");
    assert!(breaks(&report, |what| matches!(what, Protocol::DropToZero)), "{report:?}");
}

const COPY: &str = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 16, [%r4];\n";

#[test]
fn bytes_that_nobody_expects_are_too_many() {
    assert!(proved(&with_mbarrier(COPY)));
    let expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 16;\n";
    let other = COPY.replace("[%r3]", "[%r3+16]");
    let report = with_mbarrier(&[expect, COPY, &other].concat());
    assert!(breaks(&report, |what| matches!(what, Protocol::ExcessBytes { bytes: 16, .. })), "{report:?}");
    // Copies of the thread arrive, which may be over before the bytes come: then these belong to the next phase.
    let arrives =
        "cp.async.ca.shared.global [%r3+64], [%rd1], 16;\ncp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r4];\n";
    for order in [[COPY, arrives], [arrives, COPY]] {
        let report = with_mbarrier(&order.concat());
        assert!(!proved(&report) && report.findings.is_empty(), "{report:?}");
    }
    assert!(doubted(&with_mbarrier(&[COPY, arrives].concat()), Rule::PhaseBytes));
}

/// corpus/async/cluster/exit-behind-commit and exit-beside-commit.
#[test]
fn a_commit_tells_of_what_its_thread_has_waited_for() {
    let launch = LAUNCH.replace("block = [64]", "block = [32]\ngrid = [2]\ncluster = [2]");
    let wait = "L: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p3, [%r3], 0;\n@!%p3 bra L;\n";
    let commit = "mov.u16 %h1, 2;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], %h1;\n";
    let told = |between: &str| {
        let body = format!(
            "{{ .shared .align 8 .b64 full;\n.shared .align 8 .b64 done;\nmov.u32 %r3, full;\nmov.u32 %r4, done;\nmov.u32 %r5, s;\n\
             mov.u32 %r6, %cluster_ctarank;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r6, 0;\n\
             @%p1 bra READY;\nst.shared.u32 [%r5], %r1;\nmbarrier.init.shared::cta.b64 [%r3], 1;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n\
             fence.mbarrier_init.release.cluster;\nREADY:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
             @%p1 bra END;\n@%p2 bra OWNER;\nmapa.shared::cluster.u32 %r7, %r5, 1;\nld.weak.shared::cluster.u32 %r8, [%r7];\n\
             st.weak.global.u32 [%rd1], %r8;\nmbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r3];\n{between}bra END;\n\
             OWNER: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra OWNER;\nEND:\n}}"
        );
        answer_to(&launch, "", &body)
    };
    let behind = told(&format!("{wait}{commit}"));
    assert!(behind.findings.is_empty(), "{behind:?}");
    let beside = told(&format!("{commit}{wait}"));
    assert!(breaks(&beside, |what| matches!(what, Protocol::ExitBeforeAccess { owner: 1 })), "{beside:?}");
}

#[test]
fn a_copy_that_outlives_its_cta_is_assumed_to_find_its_memory() {
    let assumes = |report: &Report| report.assumptions.iter().any(|text| text.contains("exit-with-bulk-stores"));
    let expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n";
    let wait = "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra W;\n";
    let waited = with_mbarrier(&[expect, COPY, wait].concat());
    assert!(proved(&waited) && !assumes(&waited), "{waited:?}");
    let left = with_mbarrier(&[expect, COPY].concat());
    assert!(proved(&left) && assumes(&left), "{left:?}");
    let store = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16;\ncp.async.bulk.commit_group;\n";
    let read = with_mbarrier(&[store, "cp.async.bulk.wait_group.read 0;\n"].concat());
    assert!(proved(&read) && !assumes(&read), "{read:?}");
    assert!(assumes(&with_mbarrier(store)));
}

#[test]
fn an_asynchronous_store_has_its_mbarrier_where_it_goes() {
    let launch = LAUNCH.replace("block = [64]", "block = [32]\ngrid = [2]\ncluster = [2]");
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let store = |to: u32, mbarrier: u32| {
        let body = format!(
            "mov.u32 %r3, s;\nmov.u32 %r4, m;\nmov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r5, 0;\n\
             @%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 4;\n\
             fence.mbarrier_init.release.cluster;\nREADY:\n{meet}mapa.shared::cluster.u32 %r6, %r3, {to};\n\
             mapa.shared::cluster.u32 %r7, %r4, {mbarrier};\nor.pred %p3, %p1, %p2;\n\
             @!%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r1, [%r7];\n{meet}"
        );
        answer_to(&launch, "", &body)
    };
    let misplaced = |report: &Report| report.findings.iter().any(|own| matches!(own, Finding::BadOperand { .. }));
    assert!(misplaced(&store(1, 0)) && misplaced(&store(0, 1)));
    assert!(!misplaced(&store(1, 1)) && !misplaced(&store(0, 0)));
}

#[test]
fn elect_sync_may_elect_any_lane() {
    let launch = LAUNCH.replace("[64]", "[32]");
    let elects = |between: &str| {
        let body = format!(
            "mov.u32 %r3, s;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [%r3], %r1;\n{between}\n\
             elect.sync %r5|%p2, -1;\n@%p2 ld.shared.u32 %r6, [%r3];"
        );
        answer_to(&launch, "", &body)
    };
    let report = elects("");
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::Race { .. })), "{report:?}");
    let report = elects("bar.warp.sync -1;");
    assert!(proved(&report) && !assumes_a_lane(&report), "{report:?}");
}

fn assumes_a_lane(report: &Report) -> bool {
    report.assumptions.iter().any(|text| text.contains("elect.sync"))
}

/// The first warp elects; thread 32 is the other one. Wrong only if a lane between the first and the last is elected.
fn lane_between(elected: &str, other: &str) -> [Report; 2] {
    ["", "bar.sync 0;"].map(|meet| {
        let body = format!(
            "mov.u32 %r3, s;\nmov.u32 %r4, m;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r5, %r5, %r3;\nsetp.lt.u32 %p1, %r1, 32;\n\
             setp.ne.u32 %p2, %r1, 0;\nsetp.ne.u32 %p3, %r1, 32;\n@%p2 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], 2;\n\
             READY:\nbar.sync 0;\n@!%p1 bra OTHER;\n{elected}\n{meet}\nbra END;\nOTHER:\n{meet}\n@%p3 bra END;\n{other}\nEND:"
        );
        answer("", &body)
    })
}

#[test]
fn a_lane_between_the_first_and_the_last_may_be_elected() {
    let races = |report: &Report| report.findings.iter().any(|finding| matches!(finding, Finding::Race { .. }));
    let elect = "elect.sync %r6|%p4, -1;\n";
    let wait = "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;\n@!%p5 bra W;\n";
    let two_arrive = "setp.eq.u32 %p5, %r1, 0;\nsetp.eq.u32 %p6, %r1, 31;\nor.pred %p5, %p5, %p6;\n\
                      @%p5 mbarrier.arrive.shared::cta.b64 _, [%r4];";
    let ways = [
        // Each lane has its own place.
        (format!("{elect}@%p4 st.shared.u32 [%r5], %r1;"), "ld.shared.u32 %r7, [%r3+20];".to_owned()),
        // The same in a branch, by a register that only the elected lane computes.
        (
            format!(
                "{elect}@!%p4 bra OVER;\nshl.b32 %r8, %r1, 2;\nadd.u32 %r8, %r8, %r3;\nst.shared.u32 [%r8], 1;\nOVER:"
            ),
            "ld.shared.u32 %r7, [%r3+20];".to_owned(),
        ),
        // Its number is handed to all.
        (
            format!("{elect}shl.b32 %r8, %r6, 2;\nadd.u32 %r8, %r8, %r3;\n@!%p2 st.shared.u32 [%r8], 1;"),
            "ld.shared.u32 %r7, [%r3+20];".to_owned(),
        ),
        // Its number decides what all do.
        (format!("{elect}setp.eq.u32 %p5, %r6, 5;\n@%p5 st.shared.u32 [%r3], %r1;"), String::new()),
        // Only lane 5 has something to do if it is elected: by its number, by what the elected lane leaves in the others.
        (
            format!("{elect}setp.eq.u32 %p5, %r1, 5;\nand.pred %p5, %p5, %p4;\n@%p5 st.shared.u32 [%r3], %r1;"),
            "ld.shared.u32 %r7, [%r3];".to_owned(),
        ),
        (
            format!(
                "mov.u32 %r8, %r1;\n{elect}@%p4 mov.u32 %r8, 40;\nsetp.lt.u32 %p5, %r8, 6;\nsetp.gt.u32 %p6, %r8, 4;\n\
                 and.pred %p5, %p5, %p6;\nsetp.eq.u32 %p6, %r1, 5;\n@%p6 not.pred %p5, %p5;\n@%p5 st.shared.u32 [%r3], %r1;"
            ),
            "ld.shared.u32 %r7, [%r3];".to_owned(),
        ),
        // It has an address in its own memory.
        (
            format!("st.local.u32 [own], %r5;\n{elect}@%p4 ld.local.u32 %r8, [own];\n@%p4 st.shared.u32 [%r8], 1;"),
            "ld.shared.u32 %r7, [%r3+20];".to_owned(),
        ),
        // Only the first and the last tell of what they did.
        (format!("{elect}@%p4 st.shared.u32 [%r3], 1;\n{two_arrive}"), format!("{wait}ld.shared.u32 %r7, [%r3];")),
        // Before the election: lane 5 has not met the others.
        (
            format!(
                "setp.eq.u32 %p5, %r1, 5;\n@!%p2 st.shared.u32 [%r3], %r1;\n@%p5 bra OVER;\nbar.warp.sync 0xffffffdf;\nOVER:\n\
                 {elect}@%p4 ld.shared.u32 %r7, [%r3];"
            ),
            String::new(),
        ),
        // Who is not elected, by a branch.
        (
            format!(
                "setp.eq.u32 %p5, %r1, 0;\nsetp.eq.u32 %p6, %r1, 31;\nor.pred %p5, %p5, %p6;\n{elect}@%p4 bra OVER;\n\
                 @%p5 st.shared.u32 [%r3], %r1;\nOVER:"
            ),
            String::new(),
        ),
        // Who is not elected.
        (
            format!(
                "{elect}setp.eq.u32 %p5, %r1, 0;\nsetp.eq.u32 %p6, %r1, 31;\nor.pred %p5, %p5, %p6;\n\
                     not.pred %p6, %p4;\nand.pred %p5, %p5, %p6;\n@%p5 st.shared.u32 [%r3], %r1;"
            ),
            String::new(),
        ),
    ];
    for (elected, other) in ways {
        let [report, _] = lane_between(&elected, &other);
        assert!(races(&report), "{elected}\n{report:?}");
    }
    // What differs is in memory: the place of lane 5 says whether it was elected.
    let told = format!("{elect}selp.u32 %r8, 1, 0, %p4;\nst.shared.u32 [%r5], %r8;");
    let asks =
        "ld.shared.u32 %r7, [%r3+20];\nsetp.eq.u32 %p5, %r7, 0;\n@%p5 bra END;\nst.global.u32 [%rd1+65536], %r1;";
    let [_, report] = lane_between(&told, asks);
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::OutOfBounds { .. })), "{report:?}");
    // All of it in order: lanes are alike, or every lane was tried.
    let copy = "@!%p4 bra OVER;\nadd.u32 %r8, %r3, 64;\nst.shared.u32 [%r8], 1;\nOVER:\nbar.warp.sync -1;";
    for (elected, other) in [
        (format!("{elect}{copy}"), "ld.shared.u32 %r7, [%r3+64];"),
        (format!("{elect}@%p4 st.shared.u32 [%r5], %r1;"), "ld.shared.u32 %r7, [%r3+20];"),
    ] {
        let [_, report] = lane_between(&elected, other);
        assert!(proved(&report) && !assumes_a_lane(&report), "{elected}\n{report:?}");
    }
}
