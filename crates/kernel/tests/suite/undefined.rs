//! What the ISA leaves undefined, or leaves open: lanes of a warp that part at `.aligned` instructions, registers that nobody wrote,
//! states of mbarriers, lanes outside a mask. None of it is part of a proof.

use fencepost_kernel::report::{Cause, Doubt, Finding, Protocol, Report};

use crate::values::{BRANCH, LAUNCH, answer, answer_to, asked, decided, proved};

pub(crate) fn breaks(report: &Report, is: fn(&Protocol) -> bool) -> bool {
    report.findings.iter().any(|finding| matches!(finding, Finding::Protocol { what, .. } if is(what)))
}

fn diverges(report: &Report) -> bool {
    breaks(report, |what| matches!(what, Protocol::Diverged { .. }))
}

fn decided_by(report: &Report, cause: Cause) -> bool {
    report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Decided { by, .. } if *by == cause))
}

/// `%p1`: a lane of the first half of its warp.
const HALF: &str = "and.b32 %r2, %r1, 31;\nsetp.lt.u32 %p1, %r2, 16;\nmov.u32 %r3, s;\n";

/// Each half of a warp comes to the instruction on its own.
fn halves(instruction: &str) -> Report {
    answer("", &format!("{HALF}@%p1 bra FIRST;\n{instruction}\nbra END;\nFIRST:\n{instruction}\nEND:"))
}

#[test]
fn an_aligned_instruction_is_executed_by_the_whole_warp() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];";
    for instruction in [
        "bar.sync 0;",
        "barrier.sync.aligned 0;",
        "bar.arrive 1, 128;",
        "bar.red.popc.u32 %r4, 0, %p1;",
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;",
        "wgmma.fence.sync.aligned;",
        "setmaxnreg.dec.sync.aligned.u32 40;",
        load,
    ] {
        let report = halves(instruction);
        assert!(diverges(&report), "{instruction}\n{report:?}");
        // Those who do not come are at their end: only barriers do without them.
        let report = answer("", &format!("{HALF}@%p1 exit;\n{instruction}"));
        let is_barrier = instruction.starts_with("bar");
        assert!(!diverges(&report), "a lane outside {instruction}\n{report:?}");
        assert!(
            breaks(&report, |what| matches!(what, Protocol::Ended { .. })) != is_barrier,
            "{instruction}\n{report:?}"
        );
        // Both ways have met again.
        let report = answer("", &format!("{HALF}@%p1 bra OVER;\nst.global.u32 [%rd2], %r1;\nOVER:\n{instruction}"));
        assert!(!diverges(&report) && report.doubts.is_empty(), "{instruction}\n{report:?}");
    }
    // Without `.aligned`, lanes come one by one.
    assert!(proved(&halves("barrier.sync 0;")));
    assert!(proved(&halves("barrier.cluster.arrive;\nbarrier.cluster.wait;")));
}

#[test]
fn a_guard_is_a_branch_to_an_aligned_instruction() {
    let report = answer("", &format!("{HALF}@%p1 bar.sync 0;\nbar.sync 0;"));
    assert!(diverges(&report), "{report:?}");
    // In a loop that half of the warp leaves earlier.
    let body = |end: &str| {
        format!(
            "{HALF}mov.u32 %r5, 3;\n@%p1 mov.u32 %r5, 2;\nLOOP:\nbar.sync 0;\nsub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra LOOP;\n{end}"
        )
    };
    assert!(diverges(&answer("", &body("bar.sync 0;"))));
    assert!(proved(&answer("", &body(""))));
}

#[test]
fn operands_of_a_barrier_are_the_same_in_its_warp() {
    let report = answer("", &format!("{HALF}selp.u32 %r4, 1, 2, %p1;\nbar.sync %r4, 64;"));
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::BadOperand { .. })), "{report:?}");
    let clock = "mov.u32 %r8, %clock;\nand.b32 %r8, %r8, 0;\nadd.u32 %r8, %r8, 64;";
    assert!(decided(&answer("", &format!("{clock}\nbar.sync 1, %r8;"))));
    let counted =
        format!("{clock}\nmov.u32 %r4, m;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared::cta.b64 [%r4], %r8;");
    assert!(decided(&answer("", &counted)));
}

#[test]
fn reductions_and_other_barriers_do_not_meet() {
    let body = |first: &str, second: &str| {
        format!("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra FIRST;\n{second}\nbra END;\nFIRST:\n{first}\nEND:")
    };
    let mixed = answer("", &body("bar.sync 0;", "bar.red.popc.u32 %r4, 0, %p1;"));
    assert!(breaks(&mixed, |what| matches!(what, Protocol::BarrierMixed { id: 0 })), "{mixed:?}");
    assert!(proved(&answer("", &body("bar.red.popc.u32 %r4, 0, %p1;", "bar.red.popc.u32 %r4, 0, %p1;"))));
    let counts = answer("", &body("bar.sync 0, 64;", "bar.sync 0, 32;"));
    assert!(breaks(&counts, |what| matches!(what, Protocol::BarrierCount { .. })), "{counts:?}");
}

/// A product of a warpgroup; `%p2` says which warps take part, `%r6` is added to the descriptor.
fn product(before: &str) -> Report {
    let body = format!(
        ".reg .f32 %f<4>;\nmov.u32 %r3, s;\nshr.u32 %r12, %r1, 5;\nshr.u32 %r5, %r3, 4;\nand.b32 %r5, %r5, 16383;\nmov.u32 %r6, 0;\n\
         mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\nsetp.ne.u32 %p2, %r1, 4096;\n{before}\n\
         add.u32 %r5, %r5, %r6;\ncvt.u64.u32 %rd3, %r5;\nor.b64 %rd3, %rd3, 68719476736;\nor.b64 %rd3, %rd3, 524288;\n@!%p2 bra OVER;\n\
         wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd3, %rd3, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nOVER:\nst.global.u32 [%rd2], %r1;"
    );
    answer_to(&LAUNCH.replace("[64]", "[128]"), "", &body)
}

#[test]
fn four_warps_execute_a_wgmma_together() {
    assert!(proved(&product("")), "{:?}", product(""));
    let one = product("setp.ne.u32 %p2, %r12, 2;");
    assert!(breaks(&one, |what| matches!(what, Protocol::Warpgroup { missing: 1 })), "{one:?}");
    let others = product("setp.eq.u32 %p2, %r12, 2;");
    assert!(breaks(&others, |what| matches!(what, Protocol::Warpgroup { missing: 3 })), "{others:?}");
    let apart = product("setp.eq.u32 %p3, %r12, 2;\n@%p3 mov.u32 %r6, 8;");
    assert!(breaks(&apart, |what| matches!(what, Protocol::DifferentDescriptors)), "{apart:?}");
    let lanes = product("and.b32 %r7, %r1, 1;\nshl.b32 %r6, %r7, 3;");
    assert!(lanes.findings.iter().any(|finding| matches!(finding, Finding::BadOperand { .. })), "{lanes:?}");
}

#[test]
fn a_register_that_nobody_wrote_decides_nothing() {
    let ways = [
        "",
        "mov.u32 %r9, %r15;",
        "add.u32 %r9, %r15, 1;",
        "cvt.u64.u32 %rd3, %r15;\ncvt.u32.u64 %r9, %rd3;",
        "mov.b64 %rd3, {%r1, %r15};\nmov.b64 {%r8, %r9}, %rd3;",
        "st.local.u32 [own], %r15;\nld.local.u32 %r9, [own];",
        "st.global.u32 [%rd2], %r15;\nld.global.u32 %r9, [%rd2];",
        "shfl.sync.idx.b32 %r9, %r15, 3, 31, -1;",
        "setp.eq.u32 %p3, %r15, 0;\nselp.u32 %r9, 1, 2, %p3;",
        "mov.u32 %r9, 1;\nsetp.eq.u32 %p3, %r15, 0;\n@%p3 mov.u32 %r9, 2;",
        "mov.u32 %r9, 1;\nsetp.eq.u32 %p3, %r15, 1;\n@%p3 mov.u32 %r9, 2;",
        "mov.u32 %r9, 1;\n@%p7 bra OVER;\nmov.u32 %r9, 2;\nOVER:",
        "vote.sync.ballot.b32 %r9, %p7, -1;",
        "bar.red.popc.u32 %r9, 0, %p7;",
        "add.cc.u32 %r8, %r15, 1;\naddc.u32 %r9, %r1, 0;",
        "bfi.b32 %r9, %r15, %r1, 0, 8;",
    ];
    for way in ways {
        let report = answer("", &format!("{way}\n{BRANCH}"));
        assert!(decided_by(&report, Cause::Uninitialised) && report.findings.is_empty(), "{way}\n{report:?}");
    }
    for uses in [
        "ld.global.u32 %r9, [%rd15];",
        "bar.sync %r15;",
        "@%p7 bar.sync 0;",
        "shfl.sync.idx.b32 %r9, %r1, 3, 31, %r15;",
    ] {
        assert!(decided_by(&answer("", uses), Cause::Uninitialised), "{uses}");
    }
    // Nothing is decided.
    for harmless in ["st.global.u32 [%rd2], %r15;", "mov.b64 %rd3, {%r1, %r15};\nst.global.u64 [%rd2], %rd3;"] {
        assert!(proved(&answer("", harmless)), "{harmless}");
    }
}

#[test]
fn each_lane_writes_its_own_register() {
    let half = |after: &str| answer("", &format!("{HALF}@%p1 mov.u32 %r9, 5;\n{after}"));
    assert!(decided_by(&half(BRANCH), Cause::Uninitialised));
    assert!(proved(&half(&format!("@!%p1 exit;\n{BRANCH}"))));
    assert!(proved(&half(&format!("cvt.u64.u32 %rd3, %r9;\ncvt.u32.u64 %r9, %rd3;\n@!%p1 exit;\n{BRANCH}"))));
    // What is not selected does not matter, and all may have what one lane wrote.
    assert!(proved(&half(&format!("selp.u32 %r9, %r9, 3, %p1;\n{BRANCH}"))));
    assert!(proved(&half(&format!("shfl.sync.idx.b32 %r9, %r9, 3, 31, -1;\n{BRANCH}"))));
    assert!(decided_by(&half(&format!("shfl.sync.idx.b32 %r9, %r9, 20, 31, -1;\n{BRANCH}")), Cause::Uninitialised));
    // A value from elsewhere in some lanes says nothing about the others.
    let clock = format!("{HALF}@%p1 mov.u32 %r9, 5;\n@!%p1 mov.u32 %r9, %clock;\n@!%p1 exit;\n{BRANCH}");
    assert!(!decided_by(&answer("", &clock), Cause::Uninitialised));
}

#[test]
fn a_shuffle_from_a_lane_outside_its_mask_is_not_determined() {
    let from = |lane: u32| format!("{HALF}@!%p1 bra END;\nshfl.sync.idx.b32 %r9, %r1, {lane}, 31, 65535;\n{BRANCH}");
    assert!(proved(&answer("", &from(3))));
    let report = answer("", &from(20));
    assert!(decided_by(&report, Cause::Uninitialised), "{report:?}");
    // A lane at its end.
    let report = answer("", &format!("{HALF}@!%p1 exit;\nshfl.sync.idx.b32 %r9, %r1, 20, 31, -1;\n{BRANCH}"));
    assert!(decided_by(&report, Cause::Uninitialised), "{report:?}");
}

#[test]
fn what_is_written_under_a_guard_depends_on_it() {
    // Whether or not the guard holds in this run.
    for compare in ["setp.ge.u32 %p4, %r8, 0;", "setp.lt.u32 %p4, %r8, 0;"] {
        for way in [
            "@%p4 mov.u32 %r9, 1;",
            "@!%p4 mov.u32 %r9, 1;",
            "@%p4 bra OVER;\nmov.u32 %r9, 1;\nOVER:",
            "@!%p4 bra OVER;\nmov.u32 %r9, 1;\nOVER:",
            "@%p4 bra OTHER;\nmov.u32 %r9, 1;\nbra OVER;\nOTHER:\nmov.u32 %r9, 2;\nOVER:",
        ] {
            let body = |value: &str| format!("{value}\n{compare}\nmov.u32 %r9, 0;\n{way}\n{BRANCH}");
            let report = answer("", &body("mov.u32 %r8, %clock;"));
            assert!(decided_by(&report, Cause::Clock) && report.findings.is_empty(), "{compare} {way}\n{report:?}");
            assert!(proved(&answer("", &body("mov.u32 %r8, 5;"))), "{compare} {way}");
        }
    }
}

#[test]
fn a_carry_depends_on_what_was_added() {
    let body = |value: &str| format!("{value}\nadd.cc.u32 %r7, %r8, %r8;\naddc.u32 %r9, 0, 0;\n{BRANCH}");
    assert!(decided_by(&answer("", &body("mov.u32 %r8, %clock;")), Cause::Clock));
    assert!(proved(&answer("", &body("mov.u32 %r8, 5;"))));
}

/// Two lanes store a sum to one place: the same value or not.
#[test]
fn a_sum_that_replaces_its_operand_depends_on_it() {
    let body = |value: &str| {
        format!(
            "setp.gt.u32 %p1, %r1, 1;\n@%p1 exit;\ncvt.u16.u32 %h1, {value};\nmov.b16 %h2, 0x3c00;\nadd.f16 %h1, %h1, %h2;\n\
             st.global.b16 [%rd1], %h1;"
        )
    };
    assert!(proved(&answer("", &body("7"))));
    let report = answer("", &body("%r1"));
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::Race { .. })), "{report:?}");
}

/// Thread 0 arrives at one of two mbarriers, and does something with the state.
fn state(after: &str) -> Report {
    let body = format!(
        ".shared .align 8 .b64 m2[2];\nmov.u32 %r4, m2;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\n\
         mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r4+8], 1;\n\
         mbarrier.arrive.shared::cta.b64 %rd5, [%r4];\n{after}\nEND:"
    );
    answer("", &body)
}

#[test]
fn the_state_of_an_arrival_is_for_waits() {
    let wait = |at: &str, state: &str| {
        format!("WAIT:\nmbarrier.test_wait.shared::cta.b64 %p2, [{at}], {state};\n@!%p2 bra WAIT;")
    };
    assert!(proved(&state(&wait("%r4", "%rd5"))), "{:?}", state(&wait("%r4", "%rd5")));
    let stored = format!("st.local.u64 [own], %rd5;\nld.local.u64 %rd6, [own];\n{}", wait("%r4", "%rd6"));
    assert!(proved(&state(&stored)));
    let branch = "setp.eq.u64 %p3, %rd5, 0;\n@%p3 bra END;\nst.global.u32 [%rd2], %r1;";
    assert!(decided_by(&state(&format!("{}\n{branch}", wait("%r4", "%rd5"))), Cause::Token));
    let no_state = |what: &Protocol| matches!(what, Protocol::NotAState);
    assert!(breaks(&state(&wait("%r4+8", "%rd5")), no_state));
    assert!(breaks(&state(&format!("add.u64 %rd6, %rd5, 1;\n{}", wait("%r4", "%rd6"))), no_state));
    // Two phases later the state says nothing.
    let again = "mbarrier.arrive.shared::cta.b64 %rd6, [%r4];";
    assert!(breaks(&state(&format!("{again}\n{}", wait("%r4", "%rd5"))), no_state));
}

/// An early question, with `%p4` for its answer, and the wait.
const PEEK: &str = "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;";
const WAIT: &str = "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra AGAIN;";
const STORE: &str = "st.shared.u32 [%r5], %r1;";

#[test]
fn both_answers_of_an_early_question_lead_to_the_same() {
    let saves = [
        format!("{PEEK}\n@%p4 bra OVER;\n{WAIT}\nOVER:"),
        format!("{PEEK}\nselp.u32 %r7, 1, 0, %p4;\nsetp.ne.u32 %p5, %r7, 0;\n@%p5 bra OVER;\n{WAIT}\nOVER:"),
        format!("{PEEK}\n@!%p4 bra SLOW;\nOVER:\n{STORE}\nbra END;\nSLOW:\n{WAIT}\nbra OVER;"),
        format!("{PEEK}\n@%p4 bra FAST;\n{WAIT}\nbra OVER;\nFAST:\nmov.u32 %r7, 1;\nOVER:"),
        format!("{PEEK}\nst.shared.u32 [%r5+64], %r1;\n@%p4 bra OVER;\n{WAIT}\nOVER:"),
    ];
    for way in saves {
        assert!(proved(&asked(&way, STORE)), "{way}\n{:?}", asked(&way, STORE));
    }
    let differs = [
        // One of them stores, or fences, or stores elsewhere, or ends.
        format!("{PEEK}\n@%p4 st.shared.u32 [%r5+64], %r1;\n{WAIT}"),
        format!("{PEEK}\n@!%p4 st.shared.u32 [%r5+64], %r1;\n{WAIT}"),
        format!("{PEEK}\n@%p4 bra OVER;\n{WAIT}\nst.shared.u32 [%r5+64], %r1;\nOVER:"),
        format!("{PEEK}\n@%p4 bra OVER;\n{WAIT}\nfence.proxy.async;\nOVER:"),
        format!("{PEEK}\n@%p4 bra OVER;\nfence.acq_rel.cta;\n{WAIT}\nOVER:"),
        format!("{PEEK}\nselp.u32 %r7, 64, 128, %p4;\nadd.u32 %r7, %r7, %r5;\nst.shared.u32 [%r7], %r1;\n{WAIT}"),
        format!("{PEEK}\n@%p4 bra FAST;\n{WAIT}\nbra OVER;\nFAST:\nst.shared.u32 [%r5+64], %r1;\nOVER:"),
        format!("{PEEK}\n@%p4 bra END;\n{WAIT}"),
        // What they leave in a register decides.
        format!(
            "mov.u32 %r7, 0;\n{PEEK}\n@%p4 bra FAST;\n{WAIT}\nbra OVER;\nFAST:\nmov.u32 %r7, 1;\nOVER:\nsetp.eq.u32 %p5, %r7, 1;\n@%p5 bra END;"
        ),
        format!(
            "mov.u32 %r7, 0;\n{PEEK}\n@%p4 bra OVER;\n{WAIT}\nmov.u32 %r7, 1;\nOVER:\nsetp.eq.u32 %p5, %r7, 1;\n@%p5 bra END;"
        ),
        // The question orders less than the wait.
        format!("{}\n@%p4 bra OVER;\n{WAIT}\nOVER:", PEEK.replace("parity", "parity.relaxed.cta")),
        format!("{PEEK}\n@%p4 bra OVER;\n{}\nOVER:", WAIT.replace("parity", "parity.acquire.cluster")),
    ];
    for way in differs {
        let report = asked(&way, STORE);
        assert!(decided(&report), "{way}\n{report:?}");
    }
}

/// Thread 0 arrives twice; thread 32 asks for the second phase before it has waited for the first.
#[test]
fn an_early_question_is_about_the_phase_that_it_saves_a_wait_for() {
    let body = |early: &str, late: &str| {
        format!(
            "mov.u32 %r4, m;\nmov.u32 %r5, s;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r1, 32;\n@%p1 bra READY;\n\
             mbarrier.init.shared::cta.b64 [%r4], 2;\nREADY:\nbar.sync 0;\n@%p1 bra ASK;\n\
             mbarrier.arrive.shared::cta.b64 _, [%r4];\nW0:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W0;\n\
             mbarrier.arrive.shared::cta.b64 _, [%r4];\nbra END;\nASK:\n@%p2 bra END;\nmbarrier.arrive.shared::cta.b64 _, [%r4];\n{early}\n\
             W1:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W1;\nmbarrier.arrive.shared::cta.b64 _, [%r4];\n{late}\n\
             @%p4 bra OVER;\nW2:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 1;\n@!%p3 bra W2;\nOVER:\nst.shared.u32 [%r5], %r1;\nEND:"
        )
    };
    let peek = "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 1;";
    let report = answer("", &body("", peek));
    assert!(proved(&report), "{report:?}");
    let report = answer("", &body(peek, ""));
    assert!(!report.doubts.is_empty(), "{report:?}");
}

const PAIR: &str = "entry = \"e\"\ngrid = [2]\ncluster = [2]\nblock = [32]\n[[buffer]]\nname = \"a\"\nbytes = 65536\n[[parameter]]\nbuffer = \"a\"\n";
const MEET: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// What thread 0 of each CTA of a pair does, between meetings of the cluster: `%p1` is set for other threads, `%p3` in the second CTA.
fn of_pair(lines: &[&str]) -> Report {
    let mut body = format!(
        ".shared .align 8 .b64 m2[2];\n.shared .align 1024 .b8 tile[16384];\n.shared .align 4 .b32 slot;\nmov.u32 %r4, m2;\nmov.u32 %r3, tile;\n\
         setp.ne.u32 %p1, %r1, 0;\nmov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p3, %r5, 0;\nmov.u32 %r9, slot;\n\
         shr.u32 %r6, %r3, 4;\nand.b32 %r6, %r6, 16383;\ncvt.u64.u32 %rd3, %r6;\nor.b64 %rd3, %rd3, 0x0000400800080000;\n\
         @%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r4+8], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\n{MEET}"
    );
    lines.iter().for_each(|line| body.push_str(line));
    answer_to(PAIR, "", &body)
}

const ALLOC: &str =
    "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r9], 32;\nbar.sync 0;\nld.shared.u32 %r10, [%r9];\n";
const FREE: &str = "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r10, 32;\n";
/// The first CTA copies from the shared memory of both to the tensor memory of both, and tells both.
const COPY: &str = "@%p3 bra COPIED;\n@%p1 bra COPIED;\ntcgen05.cp.cta_group::2.128x256b [%r10], %rd3;\n\
    tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], 3;\nCOPIED:\n";
const TOLD: &str = "TOLD:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra TOLD;\n";

pub(crate) fn races(report: &Report) -> bool {
    report.findings.iter().any(|finding| matches!(finding, Finding::Race { .. }))
}

/// The tile of a descriptor lies in shared memory, behind the bytes of the system.
#[test]
fn a_descriptor_names_bytes_of_shared_memory() {
    for (address, is_there) in [(None, true), (Some(0), false), (Some(0x800), false), (Some(0x3fff), false)] {
        let change = address.map_or_else(String::new, |at| {
            format!("and.b64 %rd3, %rd3, 0xffffffffffffc000;\nor.b64 %rd3, %rd3, {at};\n")
        });
        let report = of_pair(&[ALLOC, &change, COPY, TOLD, FREE]);
        let is_outside = matches!(report.findings[..], [Finding::OutOfBounds { .. }, ..]);
        assert_eq!((proved(&report), is_outside), (is_there, !is_there), "{address:?}: {report:?}");
    }
}

#[test]
fn an_allocation_for_a_pair_of_ctas_is_one_of_both() {
    // Nothing else tells the first CTA that the second has its columns.
    let report = of_pair(&[ALLOC, COPY, TOLD, FREE]);
    assert!(proved(&report), "{report:?}");
    assert!(report.assumptions.iter().any(|text| text.contains("pair of CTAs")), "{report:?}");
    let report = of_pair(&[ALLOC, COPY, FREE]);
    assert!(races(&report), "{report:?}");
    // One of them comes alone.
    let alone = of_pair(&["@%p3 bra OVER;\n", &ALLOC.replace("bar.sync 0;", ""), "OVER:\n", MEET]);
    assert!(alone.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. })), "{alone:?}");
    // The other CTA may not have started.
    let early = format!(".shared .align 4 .b32 slot;\nmov.u32 %r9, slot;\n{ALLOC}{FREE}");
    let early = answer_to(PAIR, "", &early);
    assert!(breaks(&early, |what| matches!(what, Protocol::AccessBeforeStart { .. })), "{early:?}");
    let single = answer("", &ALLOC.replace("[%r9]", "[s]"));
    assert!(breaks(&single, |what| matches!(what, Protocol::TensorMemory(_))), "{single:?}");
}

#[test]
fn a_pair_of_ctas_comes_to_the_same_operations() {
    let alloc = |guard: &str, columns: u32| {
        format!("{guard} tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r9], {columns};\n")
    };
    let free =
        |guard: &str, columns: u32| format!("{guard} tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r10, {columns};\n");
    let told = |report: &Report| {
        breaks(report, |what| matches!(what, Protocol::TensorMemory(why) if why.contains("the other CTA of the pair")))
    };
    let load = "bar.sync 0;\nld.shared.u32 %r10, [%r9];\n";
    let same = of_pair(&[&alloc("@%p3", 32), &alloc("@!%p3", 32), load, &free("", 32)]);
    assert!(proved(&same) && !told(&same), "{same:?}");
    let other = of_pair(&[&alloc("@%p3", 64), &alloc("@!%p3", 32), load, &free("@%p3", 64), &free("@!%p3", 32)]);
    assert!(told(&other), "{other:?}");
}

/// A generic address does not make an instruction for the own CTA one for others.
#[test]
fn waits_are_for_mbarriers_of_the_own_cta() {
    let wait = |rank: u32| {
        let address = format!("cvt.u64.u32 %rd5, %r4;\ncvta.shared.u64 %rd5, %rd5;\nmapa.u64 %rd5, %rd5, {rank};\n");
        let arrive = "@%p1 bra OVER;\n@%p3 bra OVER;\nmbarrier.arrive.b64 %rd6, [%r11];\n";
        let arrive = arrive.replace("[%r11]", "[%rd5]").replace("%rd6", "_");
        let asks = "WAIT:\nmbarrier.try_wait.parity.b64 %p2, [%rd5], 0;\n@!%p2 bra WAIT;\nOVER:\n";
        of_pair(&[&address, &arrive, asks, MEET])
    };
    let own = wait(0);
    assert!(proved(&own), "{own:?}");
    let other = wait(1);
    let is_told = |finding: &Finding| matches!(finding, Finding::BadOperand { why, .. } if why.contains("own CTA"));
    assert!(other.findings.iter().any(is_told), "{other:?}");
}

/// The second CTA fills again what an operation of the first has read: a proxy fence in the first, then one in the second.
#[test]
fn proxy_fences_between_two_ctas_come_one_after_the_other() {
    let refill = "@!%p3 bra OVER;\n@%p1 bra OVER;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+8], 16384;\n\
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 16384, [%r4+8];\n\
        FULL:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4+8], 0;\n@!%p2 bra FULL;\nOVER:\n";
    let (first, second) = ("@!%p3 fence.proxy.async.shared::cluster;\n", "@%p3 fence.proxy.async.shared::cluster;\n");
    let right = of_pair(&[ALLOC, COPY, TOLD, first, MEET, second, refill, FREE]);
    assert!(!races(&right), "{right:?}");
    let at_once = of_pair(&[ALLOC, COPY, TOLD, first, second, MEET, refill, FREE]);
    assert!(races(&at_once), "{at_once:?}");
    assert!(races(&of_pair(&[ALLOC, COPY, TOLD, MEET, second, refill, FREE])));
    assert!(races(&of_pair(&[ALLOC, COPY, TOLD, second, MEET, first, MEET, refill, FREE])));
    assert!(races(&of_pair(&[ALLOC, COPY, TOLD, first, MEET, refill, FREE])));
    // The same for a store of the second CTA.
    let store = "@!%p3 bra OVER;\n@%p1 bra OVER;\nst.shared.u32 [%r3], %r1;\nOVER:\n";
    assert!(!races(&of_pair(&[ALLOC, COPY, TOLD, first, MEET, second, store, FREE])));
    assert!(races(&of_pair(&[ALLOC, COPY, TOLD, second, store, FREE])));
}

/// The first CTA of a cluster writes a tensor map, and the second uses it.
#[test]
fn fences_of_the_tensormap_proxy_include_each_other() {
    let map = |release: &str, acquire: &str| {
        of_pair(&[
            "@%p3 bra MADE;\n@%p1 bra MADE;\n",
            "add.u64 %rd5, %rd1, 1024;\ntensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd5;\n",
            "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 0;\ntensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0, 16;\n",
            "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 0, 16;\ntensormap.replace.tile.element_stride.global.b1024.b32 [%rd1], 0, 1;\n",
            "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 2;\ntensormap.replace.tile.interleave_layout.global.b1024.b32 [%rd1], 0;\n",
            "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 0;\ntensormap.replace.tile.fill_mode.global.b1024.b32 [%rd1], 0;\n",
            &format!("fence.proxy.tensormap::generic.release.{release};\nMADE:\n"),
            MEET,
            &format!(
                "@!%p3 bra OVER;\n@%p1 bra OVER;\nfence.proxy.tensormap::generic.acquire.{acquire} [%rd1], 128;\n"
            ),
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 64;\n",
            "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {0}], [%r4];\n",
            "FULL:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra FULL;\nOVER:\n",
        ])
    };
    // What is written behind the acquire is not acquired.
    let behind = of_pair(&[
        "@%p3 bra OVER;\n@%p1 bra OVER;\nfence.proxy.tensormap::generic.release.gpu;\n",
        "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\nadd.u64 %rd5, %rd1, 1024;\n",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd5;\ntensormap.replace.tile.rank.global.b1024.b32 [%rd1], 0;\n",
        "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0, 16;\ntensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 0, 16;\n",
        "tensormap.replace.tile.element_stride.global.b1024.b32 [%rd1], 0, 1;\ntensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 2;\n",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 64;\n",
        "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {0}], [%r4];\nOVER:\n",
    ]);
    assert!(races(&behind), "{behind:?}");
    for (release, acquire, ordered) in [
        ("gpu", "gpu", true),
        ("cluster", "cluster", true),
        ("cluster", "sys", true),
        ("cta", "gpu", false),
        ("gpu", "cta", false),
    ] {
        let report = map(release, acquire);
        assert!(races(&report) != ordered, "{release} {acquire}\n{report:?}");
        assert!(report.findings.iter().all(|finding| matches!(finding, Finding::Race { .. })), "{report:?}");
    }
}
