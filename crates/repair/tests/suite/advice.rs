//! Advice that would mislead: each test was told something vague, something that stands there already, or the same once per
//! race. What is told now was checked, is the same for all races of one cause, and is the whole repair.

use std::path::Path;

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Report;
use fencepost_report::reason::{FenceRemark, Fencing, Reason};
use fencepost_syntax::Source;

fn report(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{name}.litmus"));
    let text = std::fs::read_to_string(&path).expect("the file");
    let (mut tests, _) = load(&Source::new(name, &text));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

/// The test, and all that it lacks.
const LACKS: &[(&str, &[&str])] = &[
    ("group-barrier-before-arrive", &["P2's `bar.sync 1, 64` (line 28) belongs after line 30"]),
    (
        "lock-of-three-weak-unlock",
        &[
            "`.release.gpu` on P0's `st.weak.global.u32 [lock], 0` (line 12), instead of `.weak`",
            "`.release.gpu` on P1's `st.weak.global.u32 [lock], 0` (line 22), instead of `.weak`",
            "`.release.gpu` on P2's `st.weak.global.u32 [lock], 0` (line 32), instead of `.weak`",
        ],
    ),
    (
        "looped-without-wait",
        &[
            "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [empty], %phase` in P0 between lines 6 and 7, with `mov.u32 %phase, 1` before the loop and `xor.b32 %phase, %phase, 1` in each round after line 8",
        ],
    ),
    ("parity-in-register", &["P1's `xor.b32 %par, %par, 1` (line 24) has to go"]),
    (
        "peterson-no-fence",
        &[
            "`.acquire` on P0's `ld.relaxed.gpu.global.u32 %r1, [flag1]` (line 8), instead of `.relaxed`",
            "`.release` on P0's `st.relaxed.gpu.global.u32 [flag0], 0` (line 18), instead of `.relaxed`",
            "`fence.sc.gpu` in P0 between lines 5 and 6",
            "`fence.sc.gpu` in P0 between lines 6 and 7",
            "`.acquire` on P1's `ld.relaxed.gpu.global.u32 %r1, [flag0]` (line 24), instead of `.relaxed`",
            "`.release` on P1's `st.relaxed.gpu.global.u32 [flag1], 0` (line 34), instead of `.relaxed`",
            "`fence.sc.gpu` in P1 between lines 21 and 22",
            "`fence.sc.gpu` in P1 between lines 22 and 23",
        ],
    ),
    ("ping-pong-no-first-arrive", &["`mbarrier.arrive.shared::cta.b64 _, [a]` in P1 between lines 24 and 25"]),
    (
        "relaxed-behind-fence",
        &["`.acquire` on P1's `ld.relaxed.gpu.global.u32 %r1, [flag]` (line 11), instead of `.relaxed`"],
    ),
    (
        "unrolled-without-wait",
        &["a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [full], 1` in P1 between lines 21 and 22"],
    ),
];

#[test]
fn all_races_of_one_cause_lack_the_same() {
    for (name, pieces) in LACKS {
        let report = report(&format!("advice/{name}"));
        let races = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
        for diagnosis in races.clone() {
            let missing: Vec<&str> = diagnosis.missing.iter().map(|missing| missing.text.as_str()).collect();
            assert_eq!(missing, *pieces, "{name}: {}", diagnosis.why);
            assert!(diagnosis.confirmed, "{name}: {}", diagnosis.why);
            assert!(diagnosis.missing.iter().all(|missing| !missing.section.is_empty()), "{name}");
        }
        if races.count() == 0 {
            let missing: Vec<&str> = report.termination.missing.iter().map(|missing| missing.text.as_str()).collect();
            assert_eq!(missing, *pieces, "{name}");
        }
    }
}

/// Compilers have no fence for textures: one that only the mixed-proxy model has is no advice for them.
#[test]
fn real_code_is_not_told_of_fences_that_do_not_exist() {
    for name in ["proxies/texture-as-compiled-after-store", "proxies/surface-as-compiled-then-load"] {
        let report = report(name);
        let diagnosis = report.races.pairs.first().and_then(|race| race.diagnosis.as_ref()).expect("a race");
        assert_eq!(diagnosis.missing, [], "{name}");
        let remark = Some(FenceRemark::KernelEndOnly);
        let is_told = |reason: &Reason| matches!(reason, Reason::Fencing(Fencing::NoProxyFence { remark: own, .. }) if *own == remark);
        assert!(diagnosis.reasons.iter().any(is_told), "{name}: {}", diagnosis.why);
    }
}

/// What no proposer knows for sure, or only something dear: the search for the whole test finds it.
const OF_WHOLE_TEST: &[(&str, &[&str])] = &[
    (
        "async/placement/window-store-remote",
        &["`st.shared::cluster.u32 [%ra], 1` in P0 instead of `st.shared::cta.u32 [%ra], 1` (line 6)"],
    ),
    (
        "async/bulk/consumers-parity",
        &[
            "`mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 1` in P1 instead of `mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0` (line 18)",
            "`mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 1` in P2 instead of `mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0` (line 28)",
        ],
    ),
    (
        "fences/burns-ptx",
        &[
            "`fence.sc.gpu` in P0 between lines 5 and 6",
            "`.acquire` on P0's `ld.relaxed.gpu.global.u32 %a, [f1]` (line 7), instead of `.relaxed`",
            "`.release` on P0's `st.relaxed.gpu.global.u32 [f0], 0` (line 13), instead of `.relaxed`",
            "`fence.sc.gpu` in P1 between lines 22 and 23",
            "`.acquire` on P1's `ld.relaxed.gpu.global.u32 %a, [f0]` (line 23), instead of `.relaxed`",
            "`.release` on P1's `st.relaxed.gpu.global.u32 [f1], 0` (line 29), instead of `.relaxed`",
        ],
    ),
];

#[test]
fn the_search_for_the_whole_test_finds_what_is_cheaper_or_not_known() {
    for (name, pieces) in OF_WHOLE_TEST {
        let report = report(name);
        let races = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
        let causes = report.questions.iter().filter_map(|answer| answer.cause.as_ref()).map(|cause| &cause.diagnosis);
        let confirmed = races.chain(causes).filter(|diagnosis| diagnosis.confirmed).map(|it| &it.missing);
        let mut all = confirmed.chain([&report.termination.missing]);
        let is_told = all.any(|missing| missing.iter().map(|piece| piece.text.as_str()).eq(pieces.iter().copied()));
        assert!(is_told, "{name}: {:?} {:?}", report.races.pairs, report.termination.missing);
    }
}

fn confirmed(text: &str) -> Vec<String> {
    let (mut tests, _) = load(&Source::new("test.litmus", text));
    let report = check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report;
    let races = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
    let causes = report.questions.iter().filter_map(|answer| answer.cause.as_ref()).map(|cause| &cause.diagnosis);
    let found = races.chain(causes).find(|diagnosis| diagnosis.confirmed).expect("something confirmed");
    found.missing.iter().map(|missing| missing.text.clone()).collect()
}

/// Each thread goes on whether it has the lock or not: to wait in one of them does not help.
#[test]
fn a_lock_that_two_threads_try_once_lacks_both_loops() {
    let thread = "    atom.cas.acquire.gpu.global.b32 %o, [lock], 0, 1;\n    setp.ne.u32 %p, %o, 0;\n    ld.global.u32 %r, [x];\n    \
                  add.u32 %r, %r, 1;\n    st.global.u32 [x], %r;\n    st.release.gpu.global.u32 [lock], 0;\n}\n";
    let text = format!(
        "PTX once\n{{ .global .u32 lock = 0; .global .u32 x = 0; }}\nP0@cta 0, gpu 0 {{\n{thread}P1@cta 1, gpu 0 {{\n{thread}forall (x = 2)\n"
    );
    let missing = confirmed(&text);
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing.iter().all(|it| it.starts_with("a loop around `atom.cas.acquire.gpu")), "{missing:?}");
}

/// Both look at a lock that nobody has and take it: no fence helps, one operation that looks and takes does.
#[test]
fn a_look_at_a_lock_and_the_store_that_takes_it_become_one_cas() {
    let thread = "    ld.relaxed.gpu.global.u32 %r0, [lock];\n    setp.ne.u32 %p, %r0, 0;\n    @%p bra E;\n    \
                  st.relaxed.gpu.global.u32 [lock], 1;\nE:\n}\n";
    let text = format!(
        "PTX look\n{{ .global .u32 lock = 0; }}\nP0@cta 0, gpu 0 {{\n{thread}P1@cta 1, gpu 0 {{\n{thread}~exists (P0:%r0 = 0 /\\ P1:%r0 = 0)\n"
    );
    let missing = confirmed(&text);
    let (changed, gone): (Vec<_>, Vec<_>) = missing.iter().partition(|it| it.contains("instead of"));
    assert_eq!((changed.len(), gone.len()), (2, 2), "{missing:?}");
    assert!(
        changed.iter().all(|it| it.starts_with("`atom.relaxed.gpu.global.cas.b32 %r0, [lock], 0, 1`")),
        "{missing:?}"
    );
    assert!(gone.iter().all(|it| it.ends_with("has to go")), "{missing:?}");
}

/// The CTA leaves while its peer reads its memory. Its thread arrived before, so that another barrier needs that wait too.
#[test]
fn a_thread_that_has_arrived_waits_before_it_arrives_again() {
    let missing = confirmed(
        "PTX leave\n{ .shared .u32 m = 0; .global .u32 f = 0; }\nP0@cta 0, cluster 0, gpu 0 {\nbarrier.cluster.arrive;\n\
         barrier.cluster.wait;\nmapa.shared::cluster.u32 %a, m, 1;\nld.shared::cluster.u32 %r, [%a];\n}\n\
         P1@cta 1, cluster 0, gpu 0 {\nbarrier.cluster.arrive;\nld.relaxed.gpu.u32 %r1, [f];\n}\n",
    );
    let ends: Vec<bool> = missing.iter().map(|it| it.contains("at the end of P0 and P1")).collect();
    assert_eq!(ends, [false, true], "{missing:?}");
    assert!(missing[0].starts_with("`barrier.cluster.wait` at the end of P1"), "{missing:?}");
}

/// `bar.warp.sync` may order the copies of its lanes or not: a barrier that does under every reading is told, and why.
#[test]
fn a_race_by_a_reading_of_the_warp_barrier_lacks_another_barrier() {
    for (name, piece) in [
        ("warp-sync-copy", "`bar.sync 0` in P0"),
        ("warp-sync-own-copy", "a loop around `mbarrier.try_wait.parity"),
        ("warp-sync-own-store", "`bar.sync 0` in P0"),
    ] {
        let report = report(&format!("async/warp/{name}"));
        let diagnosis = report.races.pairs[0].diagnosis.as_ref().expect("a diagnosis");
        assert!(diagnosis.confirmed && diagnosis.why.contains("warp-sync-async"), "{name}: {}", diagnosis.why);
        assert!(diagnosis.missing[0].text.starts_with(piece), "{name}: {:?}", diagnosis.missing);
    }
}
