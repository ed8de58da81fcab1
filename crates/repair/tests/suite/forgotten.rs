//! A forgotten line by which others would go on: an announcement, a remote arrive, a commit, the branch of a loop. The test
//! hangs or races, and the line is named, in the thread and at the place where it belongs.

use std::path::Path;

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::{Report, TerminationAnswer};
use fencepost_syntax::Source;

fn report(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{name}.litmus"));
    let text = std::fs::read_to_string(&path).expect("the file");
    let (mut tests, _) = load(&Source::new(name, &text));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

/// The test, what is missing in it, and a part of the cause.
const HANGS: &[(&str, &str, &str)] = &[
    (
        "async/tensor/tensor-load-not-announced",
        "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [ready], 16` in P0 before line 5",
        "nobody announces the 16 bytes",
    ),
    (
        "async/bulk/bulk-second-round-not-announced",
        "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32` in P0 between lines 10 and 11",
        "nobody announces the 32 bytes",
    ),
    (
        "async/cluster/multicast-peer-not-announced",
        "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16` in P1 before line 13",
        "nobody announces the 16 bytes",
    ),
    (
        "async/cluster/remote-arrive-forgotten",
        "`mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%leader]` in P1 between lines 13 and 14",
        "P0 waits for a phase of done, and too few arrive there",
    ),
    (
        "tcgen05/commit-forgotten",
        "`tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]` in P1 after line 12",
        "nothing tells done when P1's `tcgen05.mma",
    ),
];

#[test]
fn a_wait_for_good_names_who_forgot_what() {
    for (name, piece, cause) in HANGS {
        let termination = report(name).termination;
        assert_eq!(termination.answer, TerminationAnswer::MayHang, "{name}");
        let missing: Vec<&str> = termination.missing.iter().map(|missing| missing.text.as_str()).collect();
        assert_eq!(missing, [*piece], "{name}");
        assert!(termination.cause.contains(cause), "{name}: {}", termination.cause);
    }
}

/// The test, and what is missing in its races.
const RACES: &[(&str, &[&str])] = &[
    (
        "algorithms/13-locks/publish-looked-at-once",
        &[
            "a loop around `ld.acquire.gpu.global.u32 %seen, [ready]` (line 9): `@!%p bra` back to it in P1 between lines 10 and 11",
        ],
    ),
    (
        "algorithms/13-locks/cas-lock-tried-once",
        &[
            "a loop around `atom.cas.acquire.gpu.global.b32 %o, [lock], 0, 1` (line 16): `@%p bra L` in P1 between lines 17 and 18",
        ],
    ),
    ("tcgen05/3-threads-pipelined-no-before", &["`tcgen05.fence::before_thread_sync` in P0 between lines 5 and 6"]),
    (
        "tcgen05/mma-two-threads-no-fences",
        &[
            "`tcgen05.fence::before_thread_sync` in P0 between lines 5 and 6",
            "`tcgen05.fence::after_thread_sync` in P1 between lines 9 and 10",
        ],
    ),
];

#[test]
fn a_race_names_who_forgot_what() {
    for (name, pieces) in RACES {
        let report = report(name);
        assert!(!report.races.pairs.is_empty(), "{name}");
        for race in &report.races.pairs {
            let diagnosis = race.diagnosis.as_ref().expect("a diagnosis");
            let missing: Vec<&str> = diagnosis.missing.iter().map(|missing| missing.text.as_str()).collect();
            assert_eq!(missing, *pieces, "{name}: {}", diagnosis.why);
            assert!(diagnosis.confirmed, "{name}: {}", diagnosis.why);
        }
    }
}

/// Barriers before the reduction cure the race beside it. They keep no CTA there until the reduction is done: what does is not
/// known for sure, and is told so.
#[test]
fn what_mends_a_race_is_no_cure_of_an_access_that_stays_too_late() {
    use fencepost_report::finding::FindingKind;
    for name in ["async/store/red-async-after-fence", "async/store/red-async-after-fence-9.1"] {
        let races = report(name).races.pairs;
        let of = |kind| races.iter().find(|race| race.kind == kind).and_then(|race| race.diagnosis.clone());
        assert!(of(FindingKind::DataRace).is_some_and(|found| found.confirmed), "{name}");
        let late = of(FindingKind::ExitBeforeAccess).unwrap_or_else(|| panic!("{name}: not told"));
        assert!(!late.confirmed && late.missing.iter().all(|missing| missing.edits.is_empty()), "{name}: {late:?}");
    }
    // With all bytes expected, the wait is one for the reductions too.
    let races = report("async/store/red-async-two-half-expected").races.pairs;
    let mut late = races.iter().filter(|race| race.kind == FindingKind::ExitBeforeAccess);
    assert!(late.all(|race| race.diagnosis.as_ref().is_some_and(|found| found.confirmed)), "{races:?}");
}
