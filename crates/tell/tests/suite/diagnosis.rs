//! What races lack, in words: each buggy skeleton of the corpus names its accesses, both proxies, the missing piece and the
//! section, and the piece was checked to make the race go away.

use std::path::{Path, PathBuf};

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::piece::Piece;
use fencepost_report::{Diagnosis, Report, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_tell::explain;
use fencepost_tell::output::{Row, table};

fn file(path: &Path) -> (Report, String, String) {
    let text = std::fs::read_to_string(path).expect("the file");
    told(&Source::new(path.to_str().expect("a path"), &text))
}

/// The report, its explanation and its paragraph.
fn told(source: &Source) -> (Report, String, String) {
    let (mut tests, _) = load(source);
    let (test, model) = (tests.remove(0), Models::shipped("ptx").expect("a model"));
    let checked = check(&test, &model, &Options::default());
    let used = checked.model.clone();
    let told = explain::explain(&test, used.as_deref().unwrap_or(&model), &checked);
    let comparison = fencepost_check::expect::expectation::Comparison::NothingExpected;
    let row = Row { report: &checked.report, comparison: &comparison, required: &[] };
    let shown = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    (checked.report, told, shown)
}

fn wild(name: &str) -> (Report, String, String) {
    file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wild").join(format!("{name}.litmus")))
}

fn diagnoses(report: &Report) -> Vec<&Diagnosis> {
    report.races.pairs.iter().map(|race| race.diagnosis.as_ref().expect("a diagnosis")).collect()
}

/// The test, the proxies of its first race, and what is missing in it.
const SKELETONS: &[(&str, [&str; 2], &[&str])] = &[
    ("w01-a1-cp-async-wgmma", ["generic proxy", "async proxy"], &["`fence.proxy.async.shared::cta` in P0"]),
    (
        "w01-a1-cp-async-arrives",
        ["generic proxy", "async proxy"],
        &[
            "`cp.async.wait_all; fence.proxy.async.shared::cta; mbarrier.arrive.shared::cta.b64 _, [full]` in P0 instead",
        ],
    ),
    (
        "e2-other-map-of-array",
        ["generic proxy", "tensormap proxy"],
        &["`fence.proxy.tensormap::generic.acquire.gpu [m+128], 128` in P1"],
    ),
    ("w02-a3-writers-fence", ["generic proxy", "async proxy"], &["`fence.proxy.async.shared::cta` in P0"]),
    ("w03-b2-stage-refill", ["generic proxy", "async proxy"], &["`fence.proxy.async.shared::cta` in P0"]),
    (
        "w04-b4-fence-after-barrier",
        ["async proxy", "generic proxy"],
        &["P1's `fence.proxy.async.shared::cta` (line 16) belongs before line 15"],
    ),
    (
        "w06-d1-wait-group-off-by-one",
        ["async proxy", "async proxy"],
        &["`cp.async.bulk.wait_group.read 0` in P0 instead"],
    ),
    ("w07-d2-groups-per-thread", ["async proxy", "generic proxy"], &["`bar.sync 0` in P0"]),
    (
        "w09-e1-map-of-earlier-kernel",
        ["generic proxy", "tensormap proxy"],
        &["`fence.proxy.tensormap::generic.acquire.gpu [map], 128` in P1"],
    ),
    (
        "w10-f1-remote-arrive-scope",
        ["generic proxy", "generic proxy"],
        &["`.acquire.cluster` on P0's", "`.release.cluster` on P1's"],
    ),
    ("w12-g3-look-back-in-place", ["generic proxy", "generic proxy"], &["`.release` on P0's", "`.acquire` on P1's"]),
    ("w15-h6-slot-freed-before-read", ["generic proxy", "generic proxy"], &["belongs after line 18"]),
    (
        "w16-i1-tensor-store-not-waited",
        ["tensor memory", "tensor memory"],
        &[
            "`tcgen05.wait::st.sync.aligned`",
            "`tcgen05.fence::before_thread_sync`",
            "`tcgen05.fence::after_thread_sync`",
        ],
    ),
    ("w20-m1-red-is-no-acquire", ["generic proxy", "generic proxy"], &["`atom` instead of P1's `red"]),
    ("tx1-completion-publishes-own-bytes", ["generic proxy", "generic proxy"], &["belongs after line 6"]),
    ("a7-wrong-fence-kind", ["generic proxy", "async proxy"], &["`fence.proxy.async.shared::cta` in P0"]),
    ("i4-arrive-instead-of-commit", ["async proxy", "async proxy"], &["`tcgen05.commit"]),
];

#[test]
fn every_skeleton_names_its_missing_piece() {
    for (name, proxies, pieces) in SKELETONS {
        let (report, _, shown) = wild(name);
        let all = diagnoses(&report);
        let first = all.first().unwrap_or_else(|| panic!("{name} has no race"));
        let proxy =
            |access: &fencepost_report::RacingAccess| access.proxy.map_or("none", fencepost_report::site::Proxy::name);
        assert_eq!([&first.first, &first.second].map(proxy), *proxies, "{name}");
        assert!(first.confirmed, "{name}: {first:?}");
        assert_eq!(first.missing.len(), pieces.len(), "{name}: {first:?}");
        for (missing, piece) in first.missing.iter().zip(*pieces) {
            assert!(missing.text.contains(piece), "{name}: {missing:?}");
            assert!(!missing.section.is_empty(), "{name}");
            assert!(shown.contains(&format!("missing: {} (PTX ISA {})", missing.text, missing.section)), "{shown}");
        }
    }
}

#[test]
fn every_race_in_the_wild_has_a_diagnosis() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wild");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut races, mut confirmed) = (0, 0);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|kind| kind == "litmus")) {
        let (report, ..) = file(path);
        for diagnosis in diagnoses(&report) {
            assert!(!diagnosis.why.is_empty() && !diagnosis.missing.is_empty(), "{path:?}: {diagnosis:?}");
            races += 1;
            confirmed += u32::from(diagnosis.confirmed);
        }
    }
    assert!(races > 60 && confirmed * 10 >= races * 9, "{confirmed} of {races}");
}

/// Also those that no small change cures: what kind of piece is missing, and the section.
#[test]
fn no_race_goes_without_a_missing_piece() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    for folder in ["races", "launch", "async/cluster", "async/wgmma"] {
        for entry in std::fs::read_dir(corpus.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "litmus") {
                let (report, ..) = file(&path);
                let whole = |diagnosis: &&Diagnosis| {
                    !diagnosis.missing.is_empty() && diagnosis.missing.iter().all(|missing| !missing.section.is_empty())
                };
                assert!(diagnoses(&report).iter().all(whole), "{path:?}: {:?}", diagnoses(&report));
            }
        }
    }
}

#[test]
fn a_fence_that_does_not_do_it_is_named() {
    let why = |name: &str| diagnoses(&wild(name).0).first().unwrap().why.clone();
    assert!(why("a7-wrong-fence-kind").contains("is about virtual aliases"), "{}", why("a7-wrong-fence-kind"));
    assert!(why("a5-narrow-fence").contains("is not about this access to global memory"), "{}", why("a5-narrow-fence"));
    let one = why("w02-a3-writers-fence-one-writer");
    assert!(one.contains("orders the accesses of P0, not those of P1"), "{one}");
    let late = why("w04-b4-fence-after-barrier");
    assert!(
        late.contains("`fence.proxy.async.shared::cta` (line 16) comes after P1's `bar.sync 0` (line 15)"),
        "{late}"
    );
}

/// The older shipped models know the same races: what is missing is what the whole model finds.
#[test]
fn older_models_tell_what_is_missing_too() {
    let text = "PTX t\n{ x=0; f=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.acquire.gpu r0, f ;\n \
                st.relaxed.gpu f, 1 | bne r0, 1, LC00 ;\n  | ld.weak r1, x ;\n  | LC00: ;\nexists (P1:r1 == 1)\n";
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let test = tests.remove(0);
    for model in ["ptx-6.0", "ptx-7.5", "ptx"] {
        let report = check(&test, &Models::shipped(model).unwrap(), &Options::default()).report;
        let [race] = report.races.pairs.as_slice() else { panic!("{model}: {:?}", report.races.pairs) };
        let diagnosis = race.diagnosis.as_ref().expect("a diagnosis");
        assert!(diagnosis.confirmed && diagnosis.why.contains("is relaxed"), "{model}: {diagnosis:?}");
    }
}

#[test]
fn a_story_tells_of_phases_and_copies() {
    let (_, story, shown) = wild("w03-b2-stage-refill");
    let told = format!("{shown}{story}");
    for said in [
        "starts the bulk copy",
        "the bulk copy completes at full: phase 0 is over, phase 1 begins: 1 of 1 arrivals pending, 0 bytes",
        "is true: empty is in phase 1, phase 0 is over",
        "(reads s, generic proxy)",
        "(asynchronously writes s, async proxy)",
        "with it this race is gone",
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
}

/// Repairs of several pieces, and of kinds that no single way has: test, the first race without others, what is missing.
const SEVERAL: &[(&str, &str, &[&str])] = &[
    (
        "async/mbarrier/bytes-not-expected",
        "announces none of the 16 bytes that are copied",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 16` in P0 instead of"],
    ),
    (
        "async/bulk/bulk-two-copies-half-expected",
        "announces 16 bytes, and 32 are copied",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 32` in P0 instead of"],
    ),
    ("launch/stream-two", "nothing orders P0's kernel before P1", &["`.launch 0 -> 1` in the declarations"]),
    ("launch/pdl-chain-no-wait-between", "P1 does not wait", &["`griddepcontrol.wait` in P1 before line 9"]),
    ("algorithms/15-multi-gpu/doorbell-no-fence", "orders nothing by itself", &["`fence.acq_rel.sys` in P0"]),
    (
        "algorithms/13-locks/dekker-acq-rel",
        "orders no write before a later read: only fence.sc orders such a pair",
        &["`fence.sc.gpu` in P0 instead of", "`fence.sc.gpu` in P1 instead of"],
    ),
    (
        "algorithms/13-locks/seqlock-weak-data",
        "is weak",
        &["`.relaxed.gpu` on P0's", "`.relaxed.gpu` on P0's", "`.relaxed.gpu` on P1's", "`.relaxed.gpu` on P1's"],
    ),
    (
        "async/cluster/relaxed-arrive-too-narrow",
        "is .cta, and the two threads share only a cluster",
        &["`.cluster` on P1's"],
    ),
];

#[test]
fn repairs_of_several_pieces_are_confirmed() {
    for (name, why, pieces) in SEVERAL {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{name}.litmus"));
        let (report, ..) = file(&path);
        let first = diagnoses(&report)[0];
        assert!(first.confirmed && first.why.contains(why), "{name}: {first:#?}");
        let missing: Vec<&str> = first.missing.iter().map(|missing| missing.text.as_str()).collect();
        assert_eq!(missing.len(), pieces.len(), "{name}: {missing:#?}");
        for (missing, piece) in missing.iter().zip(*pieces) {
            assert!(missing.starts_with(piece), "{name}: {missing:#?}");
        }
    }
}

fn text(text: &str) -> Report {
    let (mut tests, _) = load(&Source::new("t.litmus", text));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

/// A change that was tried and is no cure is not named, and no synchronisation makes a second deallocation right.
#[test]
fn what_does_not_help_is_not_named() {
    let freed = text(
        "PTX t\n{ .tmem .b32 tm[1] = 0; .shared .b32 slot = 0; }\n\
         P0@cta 0 {\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\nbar.sync 0;\n\
         ld.shared.b32 %t, [slot];\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\n}\n\
         P1@cta 0 {\nbar.sync 0;\nld.shared.b32 %t, [slot];\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\n}\n\
         forall (true)",
    );
    let found = diagnoses(&freed);
    assert_eq!(found.len(), 1);
    assert!(found[0].why.contains("both deallocate") && !found[0].confirmed, "{found:?}");
    assert!(found[0].missing.iter().all(|missing| missing.text.contains("has to go")), "{found:?}");
    // A ring whose slots are refilled without a wait: no other place of one instruction makes it right.
    let ring = text(
        "PTX t\n{ .shared .b32 buf = 0; .shared .mbarrier full = 1; }\n\
         P0@cta 0 {\nst.shared.u32 [buf], 1;\nmbarrier.arrive.shared::cta.b64 _, [full];\n\
         st.shared.u32 [buf], 2;\nmbarrier.arrive.shared::cta.b64 _, [full];\n}\n\
         P1@cta 0 {\nW: mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;\n@!%p bra W;\n\
         ld.shared.u32 %r1, [buf];\nV: mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 1;\n@!%p bra V;\n\
         ld.shared.u32 %r2, [buf];\n}\nforall (P1:%r2 = 2)",
    );
    assert!(!diagnoses(&ring).is_empty());
    for diagnosis in diagnoses(&ring) {
        let is_general = diagnosis.missing.iter().all(|missing| matches!(missing.what, Piece::OrderBetween { .. }));
        assert!(diagnosis.confirmed || is_general, "{diagnosis:?}");
        assert!(!diagnosis.why.is_empty());
    }
}

/// One word each: the count of an mbarrier, and the path of a load.
#[test]
fn a_count_and_a_read_only_load_are_what_is_named() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    for (name, missing, why) in [
        (
            "async/mbarrier/count-of-one-consumer",
            "an initial count of 2 for the mbarrier empty",
            "P1 and P2 arrive on empty, and a phase of empty is over without one of these arrivals",
        ),
        (
            "algorithms/05-cluster-exchange/cluster-count",
            "an initial count of 2 for the mbarrier empty in line 5",
            "P1 and P2 arrive on empty, and a phase of empty is over without one of these arrivals",
        ),
        (
            "launch/nc-behind-pdl-wait",
            "`ld.global.u32 %r1, [x]` in P1 instead of `ld.global.nc.u32 %r1, [x]` (line 10)",
            "is for memory that nothing writes while the kernel runs",
        ),
        (
            "proxies/Non-coherent-load-fenced",
            "`ld.global.u32 %r1, [x]` in P1 instead of `ld.global.nc.u32 %r1, [x]` (line 13)",
            "is for memory that nothing writes while the kernel runs",
        ),
    ] {
        let (report, ..) = file(&corpus.join(format!("{name}.litmus")));
        for diagnosis in diagnoses(&report) {
            assert!(diagnosis.confirmed && diagnosis.missing.len() == 1, "{name}: {diagnosis:?}");
            assert_eq!(diagnosis.missing[0].text, missing, "{name}");
            assert!(diagnosis.why.contains(why), "{name}: {}", diagnosis.why);
        }
        assert!(!report.races.pairs.is_empty(), "{name}");
    }
}

const TELLERS: &[(&str, &str, &[&str])] = &[
    (
        "tcgen05/commit-of-other-thread",
        "is about operations that P1 started, not about P0's tcgen05.mma of line 5",
        &[
            "P1's `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]` (line 12) belongs into P0 after line 5",
        ],
    ),
    (
        "async/cp-async/arrive-after-copies-only",
        "P1 waits at full, and P0 never arrives there when it is done",
        &["`mbarrier.arrive.shared::cta.b64 _, [full]` in P0", "an initial count of 2 for the mbarrier full"],
    ),
    (
        "algorithms/09-clc/clc-scheduler-early-arrival",
        "comes before the access that it should publish",
        &[
            "`fence.proxy.async.shared::cta` in P1",
            "P1's `mbarrier.arrive.shared::cta.b64 _, [empty]` (line 17) belongs after line 18",
        ],
    ),
    (
        "algorithms/02-tma-store/reduce-then-flag-no-poll",
        "P1 never reads flag, which P0 sets when it is done (line 10)",
        &["a loop around `ld.acquire.gpu.global.u32 %seen, [flag]; setp.eq.u32 %waited, %seen, 1` in P1"],
    ),
    (
        "algorithms/11-split-k/split-k-two-helpers-no-poll",
        "P0 never reads sem",
        &["a loop around `ld.acquire.gpu.global.u32 %seen, [sem]; setp.eq.u32 %waited, %seen, 2` in P0"],
    ),
    (
        "algorithms/12-look-back/look-back-three-tiles-no-poll",
        "P1 never reads s0",
        &["a loop around `ld.acquire.gpu.global.u32 %seen, [s0]; setp.eq.u32 %waited, %seen, 1` in P1"],
    ),
    (
        "algorithms/15-multi-gpu/peer-tma-no-poll",
        "P1 never reads flag",
        &["a loop around `ld.acquire.sys.global.u32 %seen, [flag]; setp.eq.u32 %waited, %seen, 1` in P1"],
    ),
    (
        "algorithms/02-tma-store/tma-store-two-rounds-no-first-barrier",
        "P0 does not take part in the barrier of line",
        &["`bar.sync 0` in P0 between lines 6 and 7"],
    ),
    (
        "algorithms/05-cluster-exchange/cluster-histogram-no-wait",
        "P0 does not take part in the barrier of line",
        &["`barrier.cluster.wait.acquire` in P0 between lines 9 and 10"],
    ),
    (
        "algorithms/06-multicast/multicast-no-wait",
        "nobody waits for the arrivals on empty, such as P2's in line 30",
        &[
            "a loop around `mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %waited, [empty], 0` in P0 between lines 6 and 7",
        ],
    ),
    (
        "algorithms/06-multicast/multicast-parity",
        "waits with the wrong parity: it tests the phase of another iteration",
        &["`mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [empty], 0` in P0 instead of"],
    ),
    (
        "algorithms/11-split-k/split-k-turnstile-no-poll",
        "P2 never reads turn, which P0 sets when it is done (line 6)",
        &["a loop around `ld.acquire.gpu.global.u32 %seen, [turn]; setp.eq.u32 %waited, %seen, 1` in P2"],
    ),
    (
        "algorithms/11-split-k/split-k-turnstile-no-barrier",
        "P3 does not take part in the barrier of line 27",
        &["`bar.sync 0` in P3 after line 24"],
    ),
    (
        "algorithms/03-cp-async/cp-async-wgmma-no-first-fence",
        "no fence leads from its generic proxy to the async proxy",
        &["`fence.proxy.async.shared::cta` in P0 between lines 9 and 10"],
    ),
    (
        "races/Race-atomics-of-two-proxies",
        "two atomic operations of different proxies are not atomic for each other (PTX ISA 8.7)",
        &["one proxy for both updates"],
    ),
];

/// A thread that speaks for another's operations, or whose operations speak for it; and what is no matter of order.
#[test]
fn who_has_to_tell_is_named() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    for (name, why, pieces) in TELLERS {
        let (report, ..) = file(&corpus.join(format!("{name}.litmus")));
        let first = diagnoses(&report)[0];
        assert!(first.why.contains(why), "{name}: {}", first.why);
        assert_eq!(first.confirmed, !name.starts_with("races/"), "{name}");
        let missing: Vec<&str> = first.missing.iter().map(|missing| missing.text.as_str()).collect();
        assert_eq!(missing.len(), pieces.len(), "{name}: {missing:#?}");
        for (missing, piece) in missing.iter().zip(*pieces) {
            assert!(missing.starts_with(piece), "{name}: {missing:#?}");
        }
    }
}

/// A ring of two stages, three tiles and two consumers without a proxy fence: nobody wants to load behind the next wait.
#[test]
fn a_ring_without_a_fence_lacks_the_fence() {
    let wait = |label: &str, at: &str, parity: usize| {
        format!("{label}: mbarrier.try_wait.parity.shared::cta.b64 %p, [{at}], {parity};\n@!%p bra {label};\n")
    };
    let mut ring = "PTX ring\n{ .version 9.0; ".to_owned();
    (0..3).for_each(|tile| ring += &format!(".global .b32 g{tile}[4] = {}; ", tile + 1));
    (0..2).for_each(|stage| {
        ring += &format!(".shared .b32 s{stage}[4] = 0; .shared .mbarrier full{stage} = 1; ");
        ring += &format!(".shared .mbarrier empty{stage} = 2; ");
    });
    ring += "}\nP0@cta 0 {\n";
    for tile in 0..3 {
        let stage = tile % 2;
        ring += &wait(&format!("E{tile}"), &format!("empty{stage}"), (tile / 2 + 1) % 2);
        ring += &format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [full{stage}], 16;\n");
        ring += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
        ring += &format!("[s{stage}], [g{tile}], 16, [full{stage}];\n");
    }
    ring += "}\n";
    for consumer in 1..3 {
        ring += &format!("P{consumer}@cta 0 {{\n");
        for tile in 0..3 {
            let stage = tile % 2;
            ring += &wait(&format!("F{tile}"), &format!("full{stage}"), tile / 2);
            ring += &format!("ld.shared.u32 %r{tile}, [s{stage}];\n");
            ring += &format!("mbarrier.arrive.shared::cta.b64 _, [empty{stage}];\n");
        }
        ring += "}\n";
    }
    let report = text(&(ring + "forall (P1:%r0 = 1 /\\ P2:%r0 = 1)\n"));
    assert_eq!(report.races.pairs.len(), 2, "{report:?}");
    for diagnosis in diagnoses(&report) {
        let missing: Vec<&str> = diagnosis.missing.iter().map(|missing| missing.text.as_str()).collect();
        assert!(diagnosis.confirmed && missing.len() == 1, "{missing:?}");
        assert!(missing[0].contains("`fence.proxy.async.shared::cta` in P"), "{missing:?}");
    }
}

/// One mistake each in a loop over phases of an mbarrier, and what is missing.
const PHASES: &[(&str, &str)] = &[
    (
        "ring-no-full-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [full], %ph` in P1 between lines 21 and 22",
    ),
    (
        "ring-no-full-phase",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [full], %phase` in P1 between lines 20 and 21, \
         with `mov.u32 %phase, 0` before the loop and `xor.b32 %phase, %phase, 1` in each round after line 24",
    ),
    (
        "ring-no-empty-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [empty], %ph` in P0 between lines 7 and 8",
    ),
    (
        "ring-no-empty-phase",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [empty], %phase` in P0 between lines 6 and 7, \
         with `mov.u32 %phase, 1` before the loop and `xor.b32 %phase, %phase, 1` in each round after line 8",
    ),
    ("ring-no-empty-arrive", "`mbarrier.arrive.shared::cta.b64 _, [empty]` in P1 between lines 27 and 28"),
    (
        "ring-no-expect",
        "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16` in P0 instead of `mbarrier.arrive.shared::cta.b64 _, [full]`",
    ),
    ("ring-no-arrive", "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16` in P0 between lines 10 and 11"),
    ("ring-full-count", "an initial count of 1 for the mbarrier full"),
    ("ring-no-fence", "`fence.proxy.async.shared::cta` in P1 between lines 26 and 27"),
    ("ring-no-flip", "`xor.b32 %ph, %ph, 1` in P1 between lines 28 and 29"),
    ("ring-producer-phase", "`mov.u32 %ph, 1` in P0 instead of `mov.u32 %ph, 0` (line 6)"),
    (
        "ring-constant-parity",
        "`mbarrier.try_wait.parity.shared::cta.b64 %p, [full], %ph` in P1 instead of \
         `mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0` (line 23)",
    ),
    (
        "stages-no-full-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [%f], %ph` in P1 between lines 41 and 42",
    ),
    (
        "stages-no-empty-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [%e], %ph` in P0 between lines 18 and 19",
    ),
    ("stages-no-empty-arrive", "`mbarrier.arrive.shared::cta.b64 _, [%e]` in P1 between lines 47 and 48"),
    (
        "stages-parity-per-round",
        "`shr.u32 %ph, %i, 1; and.b32 %ph, %ph, 1` in P1 instead of `and.b32 %ph, %i, 1` (line 40)",
    ),
    ("stages-producer-parity", "`xor.b32 %ph, %ph, 1` in P0 between lines 17 and 18"),
    (
        "copies-plain-arrive",
        "`cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full]` in P0 instead of `mbarrier.arrive.shared::cta.b64 _, [full]`",
    ),
    ("copies-no-full-arrive", "`cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full]` in P0 between lines 11 and 12"),
    (
        "tile-no-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [full], %ph` in P1 between lines 25 and 26",
    ),
    ("tile-no-flip", "`xor.b32 %ph, %ph, 1` in P1 between lines 32 and 33"),
    (
        "stores-no-empty-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [empty], %ph` in P0 between lines 8 and 9",
    ),
    ("chain-early-release", "P1's `mbarrier.arrive.shared::cta.b64 _, [es]` (line 26) belongs after line 27"),
    (
        "chain-no-empty-wait",
        "a loop around `mbarrier.try_wait.parity.shared::cta.b64 %waited, [es], %phase` in P0 between lines 8 and 9",
    ),
    ("chain-wrong-empty", "`mbarrier.arrive.shared::cta.b64 _, [et]` in P2 instead of"),
    ("ring-asked-once", "`@!%p bra FULL` in P1 between lines 23 and 24"),
    ("ring-bytes", "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16` in P0 instead of"),
    ("ring-consumer-rounds", "`setp.lt.u32 %q, %i, 3` in P1 instead of"),
    (
        "ring-copy-before-wait",
        "P0's `cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [full]` (line 8) belongs after line 11",
    ),
    ("slot-parity-halved", "`and.b32 %ph, %i, 1` in P0 instead of"),
    ("ring-wait-on-empty", "`mbarrier.try_wait.parity.shared::cta.b64 %p, [full], %ph` in P1 instead of"),
];

/// The same of several pieces, or of no mbarrier.
const ROUNDS: &[(&str, &[&str])] = &[
    ("groups-no-second-barrier", &["`bar.sync 0` in P0 between lines 20 and 21 and in P1 between lines 43 and 44"]),
    ("groups-no-wait", &["`cp.async.wait_group 1` in P0 between lines 17 and 18 and in P1 between lines 40 and 41"]),
    ("groups-wait-two", &["`cp.async.wait_group 1` in P0 instead of", "`cp.async.wait_group 1` in P1 instead of"]),
    ("drain-no-commit", &["`cp.async.bulk.commit_group` in P0 between lines 12 and 13"]),
    ("drain-no-wait", &["`cp.async.bulk.wait_group.read 0` in P0 between lines 8 and 9"]),
    ("tile-no-barrier", &["`bar.sync 0` in P0 between lines 15 and 16 and in P1 between lines 30 and 31"]),
    (
        "ring-fence-and-arrive-early",
        &[
            "P1's `fence.proxy.async.shared::cta` (line 25) belongs after line 27",
            "P1's `mbarrier.arrive.shared::cta.b64 _, [empty]` (line 26) belongs after line 27",
        ],
    ),
];

#[test]
fn a_loop_names_all_that_each_round_lacks() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/algorithms/16-phases");
    for (name, pieces) in ROUNDS {
        let (report, ..) = file(&corpus.join(format!("phases-{name}.litmus")));
        assert!(!report.races.pairs.is_empty(), "{name}");
        for found in diagnoses(&report) {
            assert!(found.confirmed && found.missing.len() == pieces.len(), "{name}: {found:#?}");
            let starts = found.missing.iter().zip(*pieces).all(|(missing, piece)| missing.text.starts_with(piece));
            assert!(starts, "{name}: {found:#?}");
        }
    }
}

/// Of races and of waits that never end alike, in every race of the test.
#[test]
fn a_loop_over_phases_names_what_each_round_lacks() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/algorithms/16-phases");
    for (name, piece) in PHASES {
        let (report, told, shown) = file(&corpus.join(format!("phases-{name}.litmus")));
        for found in diagnoses(&report) {
            assert!(found.confirmed && found.missing.len() == 1, "{name}: {found:#?}");
            assert!(found.missing[0].text.starts_with(piece), "{name}: {found:#?}");
        }
        if report.termination.answer == TerminationAnswer::MayHang {
            let [missing] = report.termination.missing.as_slice() else { panic!("{name}: {:?}", report.termination) };
            assert!(missing.text.starts_with(piece) && !report.termination.cause.is_empty(), "{name}: {missing:?}");
            assert!(!missing.section.is_empty(), "{name}");
        }
        if report.races.pairs.is_empty() {
            let said = format!(
                "missing: {} (PTX ISA 9.7.15.16); with it every fair execution ends",
                report.termination.missing[0].text
            );
            assert!(shown.contains(&said), "{name}: {shown}");
            assert!(told.contains("with it every fair execution ends"), "{name}: {told}");
        }
    }
}

/// Guesses are tried in three rounds first.
#[test]
fn many_rounds_are_told_from_few() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/algorithms/16-phases");
    let ring = std::fs::read_to_string(corpus.join("phases-ring-no-empty-arrive.litmus")).expect("the file");
    let report = text(&ring.replace("%i, 3;", "%i, 4;").replace("%sum = 3", "%sum = 4"));
    let missing: Vec<&str> = report.termination.missing.iter().map(|missing| missing.text.as_str()).collect();
    assert_eq!(missing, ["`mbarrier.arrive.shared::cta.b64 _, [empty]` in P1 between lines 27 and 28"]);
}

/// Two races of one message with too narrow a scope: what is missing stands there once, in the paragraph and nowhere else.
#[test]
fn races_with_one_cause_are_told_once() {
    let (report, story, shown) = told(&Source::new(
        "narrow.litmus",
        "PTX narrow\n{ data = 0; flag = 0; }\nP0@cta 0, gpu 0 {\n st.weak.u32 [data], 1;\n \
         st.release.cta.u32 [flag], 1;\n}\nP1@cta 1, gpu 0 {\nW:\n ld.acquire.cta.u32 %r1, [flag];\n \
         setp.eq.u32 %p1, %r1, 0;\n @%p1 bra W;\n ld.weak.u32 %r2, [data];\n}\n~exists (P1:%r2=0)\n",
    ));
    let pieces: Vec<_> = diagnoses(&report).into_iter().map(|diagnosis| &diagnosis.missing).collect();
    assert!(pieces.len() == 2 && pieces[0] == pieces[1], "{pieces:?}");
    assert_eq!(shown.matches("    missing: ").count(), pieces[0].len(), "{shown}");
    assert!(
        shown.contains("  both races have one cause:\n") && shown.contains("; with these they are gone\n"),
        "{shown}"
    );
    assert!(!story.contains("missing: "), "{story}");
}
