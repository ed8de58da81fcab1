//! Loops that nothing ends, those that end late, and what a run does behind an error.

use fencepost_kernel::report::{Doubt, Finding, Protocol, Report, Waiting};
use fencepost_syntax::limits;

use crate::values::{answer, answer_to, proved};

fn stuck(report: &Report) -> Vec<Waiting> {
    let of = |finding: &Finding| match finding {
        Finding::Hang { stuck } => stuck.iter().map(|one| one.why.clone()).collect(),
        _ => Vec::new(),
    };
    report.findings.iter().flat_map(of).collect()
}

fn polls(report: &Report) -> bool {
    report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Polls { .. }))
}

#[test]
fn a_loop_that_comes_back_to_its_state_is_a_hang() {
    for body in [
        "X: bra X;",
        // A round of it has an inner loop, and two states.
        "mov.u32 %r3, 0;\nX: xor.b32 %r3, %r3, 1;\nmov.u32 %r4, 0;\nY: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 77;\n\
         @%p2 bra Y;\nsetp.eq.u32 %p1, %r3, 2;\n@!%p1 bra X;",
        // Of a value that nobody writes.
        "X: ld.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra X;",
        "X: ld.relaxed.gpu.global.u32 %r3, [%rd1];\nld.relaxed.gpu.global.u32 %r4, [%rd1+4];\nor.b32 %r3, %r3, %r4;\n\
         setp.eq.u32 %p1, %r3, 0;\n@%p1 bra X;",
        "X: atom.relaxed.gpu.global.cas.b32 %r3, [%rd1], 1, 2;\nsetp.ne.u32 %p1, %r3, 1;\n@%p1 bra X;",
        // All meet at a barrier in each round.
        "X: bar.sync 0;\nbra X;",
        "X: bar.sync 0;\nld.relaxed.gpu.global.u32 %r3, [%rd1];\nbar.sync 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra X;",
        // A round stores what is there already.
        "X: setp.ne.u32 %p2, %r1, 0;\n@%p2 bra Y;\nld.relaxed.gpu.global.u32 %r3, [%rd1];\nst.shared.u32 [s], %r3;\n\
         Y: bar.sync 0;\nld.shared.u32 %r4, [s];\nbar.sync 0;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra X;",
        // With something in local memory that stays what it is.
        "X: st.local.u32 [own], %r1;\nld.local.u32 %r3, [own];\nsetp.eq.u32 %p1, %r3, %r1;\n@%p1 bra X;",
    ] {
        let report = answer("", body);
        assert!(!stuck(&report).is_empty() && report.covered.warp_instructions < 10_000_000, "{body}\n{report:?}");
    }
}

#[test]
fn those_who_wait_for_an_endless_loop_are_told_with_it() {
    let report = answer("", "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra D;\nX: bra X;\nD: barrier.sync 0;");
    let found = stuck(&report);
    assert!(found.contains(&Waiting::Loop), "{report:?}");
    assert!(found.iter().any(|why| matches!(why, Waiting::Barrier { .. })), "{report:?}");
}

#[test]
fn a_loop_that_ends_is_no_hang() {
    let count = "mov.u32 %r3, 0;\nX: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 100000;\n@%p1 bra X;";
    assert!(proved(&answer("", count)));
    // Rounds are counted where no register shows it, behind another loop.
    let local = "mov.u32 %r3, 0;\nst.local.u32 [own], %r3;\nX: ld.local.u32 %r3, [own];\nadd.u32 %r3, %r3, 1;\n\
                 st.local.u32 [own], %r3;\nmov.u32 %r3, 0;\nY: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 9000;\n\
                 @%p1 bra Y;\nmov.u32 %r3, 0;\nld.local.u32 %r3, [own];\nsetp.lt.u32 %p1, %r3, 9;\n@%p1 bra X;";
    assert!(proved(&answer("", local)));
    // A warp goes round until another writes, long after.
    let late = "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra W;\nX: ld.relaxed.cta.shared.u32 %r3, [s];\n\
                ld.relaxed.cta.shared.u32 %r4, [s+4];\nsetp.eq.u32 %p1, %r3, %r4;\n@%p1 bra X;\nbra D;\n\
                W: mov.u32 %r3, 0;\nY: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 200000;\n@%p1 bra Y;\n\
                mov.u32 %r3, 1;\nst.relaxed.cta.shared.u32 [s], %r3;\nD:";
    let report =
        answer("", &format!("mov.u32 %r5, 0;\nst.relaxed.cta.shared.v2.u32 [s], {{%r5, %r5}};\nbar.sync 0;\n{late}"));
    assert!(report.findings.is_empty(), "{report:?}");
}

#[test]
fn a_loop_of_a_value_that_is_not_known_may_end() {
    for body in [
        "X: setp.eq.u32 %p1, %r9, 0;\n@%p1 bra X;",
        "mov.f32 %r3, 0f3F000000;\nX: ex2.approx.f32 %r4, %r3;\nsetp.ne.f32 %p1, %r4, 0f00000000;\n@%p1 bra X;",
    ] {
        let report = answer("", body);
        assert!(report.findings.is_empty() && polls(&report), "{body}\n{report:?}");
    }
    // All meet at barriers, a number of times.
    let rounds = "mov.u32 %r3, 0;\nX: bar.sync 0;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 1000;\n@%p1 bra X;";
    assert!(proved(&answer("", rounds)));
}

#[test]
fn a_wait_that_gives_up_is_no_hang() {
    let poll = |rounds: u32, ask: &str| {
        format!(
            "mov.u32 %r6, 0;\nX: {ask}\n@%p1 bra D;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, {rounds};\n@%p2 bra X;\nD:"
        )
    };
    let memory = "ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, 0;";
    for rounds in [2, 3, 5, 100] {
        let report = answer("", &poll(rounds, memory));
        assert!(report.findings.is_empty() && (rounds > 5 || report.doubts.is_empty()), "{rounds}\n{report:?}");
    }
    // So often nobody asks here.
    let report = answer("", &poll(1_000_000, memory));
    assert!(report.findings.is_empty() && polls(&report), "{report:?}");
    let start = "setp.ne.u32 %p3, %r1, 0;\n@%p3 bra B;\nmbarrier.init.shared.b64 [m], 1;\nB: bar.sync 0;\n";
    let wait = "mbarrier.try_wait.parity.shared.b64 %p1, [m], 0;";
    let report = answer("", &format!("{start}{}", poll(100, wait)));
    assert!(report.findings.is_empty() && polls(&report), "{report:?}");
    // Until a time has passed.
    let clock = "mov.u32 %r4, %clock;\nX: ld.relaxed.gpu.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra D;\n\
                 mov.u32 %r5, %clock;\nsub.u32 %r5, %r5, %r4;\nsetp.lt.u32 %p2, %r5, 100000000;\n@%p2 bra X;\nD:";
    let report = answer("", clock);
    assert!(report.findings.is_empty() && !report.doubts.is_empty(), "{report:?}");
    // Without a bound it is one, also behind a first question of its own and with longer and longer sleep.
    let peeled = "ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra D;\nmov.u32 %r4, 1;\n\
                  X: nanosleep.u32 %r4;\nshl.b32 %r4, %r4, 1;\nmin.u32 %r4, %r4, 256;\n\
                  ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra X;\nD:";
    assert!(!stuck(&answer("", peeled)).is_empty());
}

#[test]
fn a_run_ends_soon_behind_an_access_out_of_bounds() {
    let report = answer("", "X: st.global.u32 [%rd1+1048576], %r1;\nadd.u32 %r3, %r1, 1;\nbra X;");
    assert!(matches!(report.findings[..], [Finding::OutOfBounds { .. }]), "{report:?}");
    assert!(report.doubts.contains(&Doubt::Fault) && report.covered.warp_instructions < 3_000_000, "{report:?}");
}

/// An operation on what was an mbarrier sets no predicate: who waits for it goes round.
#[test]
fn a_run_ends_soon_behind_a_wait_for_what_is_no_mbarrier() {
    let report = answer(
        "",
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra D;\nmbarrier.init.shared.b64 [m], 1;\nmbarrier.inval.shared.b64 [m];\n\
         X: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0;\n@!%p1 bra X;\nD:",
    );
    let [Finding::Protocol { what: Protocol::NotAnMbarrier, .. }] = report.findings[..] else { panic!("{report:?}") };
    assert!(report.doubts.contains(&Doubt::Fault) && report.covered.warp_instructions < 3_000_000, "{report:?}");
}

/// Lane 0 goes round as long as it reads what the swap of lane 1 leaves: in runs that try this value, too.
#[test]
fn a_question_that_leads_back_to_itself_is_asked_a_few_times() {
    let before = limits::work();
    let report = answer(
        "",
        "setp.gt.u32 %p1, %r1, 1;\n@%p1 bra D;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra S;\n\
         X: ld.relaxed.gpu.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p2, %r3, 2;\n@%p2 bra X;\nbra D;\n\
         S: atom.relaxed.gpu.global.cas.b32 %r3, [%rd1], 0, 2;\nD:",
    );
    assert!(!proved(&report) && limits::work() - before < 100_000, "{} {report:?}", limits::work() - before);
}

/// CTA 0 writes, the other waits for a status and takes the value that it reads with it.
fn look_back(store: &str, load: &str) -> Report {
    let launch = "entry = \"e\"\ngrid = [2]\nblock = [1]\n[[buffer]]\nname = \"a\"\nbytes = 4096\n[[parameter]]\nbuffer = \"a\"\n";
    let body = format!(
        "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra X;\nmov.u32 %r3, 1;\nmov.u32 %r4, 7;\n{store}\nbra D;\n\
         X: {load}\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra X;\nst.global.u32 [%rd1+64], %r4;\nD:"
    );
    answer_to(launch, "", &body)
}

#[test]
fn elements_of_a_vector_may_come_from_two_writes() {
    let report = look_back(
        "st.relaxed.gpu.global.v2.u32 [%rd1], {%r3, %r4};",
        "ld.relaxed.gpu.global.v2.u32 {%r3, %r4}, [%rd1];",
    );
    let torn = |doubt: &Doubt| matches!(doubt, Doubt::Torn { pc, decides } if pc < decides);
    assert!(report.findings.is_empty() && report.doubts.iter().any(torn), "{report:?}");
    // One number that holds both comes whole.
    let whole = look_back(
        "mov.b64 %rd3, {%r3, %r4};\nst.relaxed.gpu.global.u64 [%rd1], %rd3;",
        "ld.relaxed.gpu.global.u64 %rd3, [%rd1];\nmov.b64 {%r3, %r4}, %rd3;",
    );
    assert!(whole.findings.is_empty() && !whole.doubts.iter().any(torn), "{whole:?}");
}

#[test]
fn a_run_that_a_limit_ends_tells_where_its_warps_stood() {
    // The upper lanes count for ever, the lower ones wait for them.
    let body = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra D;\nmov.u32 %r3, 0;\nX: add.u32 %r3, %r3, 1;\n\
                setp.ne.u32 %p2, %r3, 0;\n@%p2 bra X;\nD: barrier.sync 0;";
    let _limit = limits::enter_work(500);
    let report = answer("", body);
    assert!(report.doubts.iter().any(Doubt::ends_a_run), "{report:?}");
    let standing = |is_it: fn(&Waiting) -> bool| {
        let found = report.stopped_at.iter().filter(|one| is_it(&one.why));
        found.map(|one| one.lanes.count_ones()).sum::<u32>()
    };
    let waiting = standing(|why| matches!(why, Waiting::Barrier { .. }));
    assert_eq!((waiting, standing(|why| *why == Waiting::Nothing)), (8, 56), "{:?}", report.stopped_at);
}
