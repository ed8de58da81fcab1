//! The piece that an engineer would write, at the place where it belongs: of tests in which a larger, a stranger or a misplaced
//! one takes the race away too.

use std::path::Path;

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Report;
use fencepost_syntax::Source;

fn report(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{name}.litmus"));
    let text = std::fs::read_to_string(&path).expect("the file");
    let (mut tests, _) = load(&Source::new(name, &text));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

/// What is missing in a race, and a part of the cause.
type Told = (&'static [&'static str], &'static str);

/// The test, and what is told of each of its races.
const PIECES: &[(&str, &[Told])] = &[
    // A cluster barrier is for all threads of the cluster, not for the two of the race.
    (
        "async/cluster/three-ctas-no-barrier",
        &[(&[CLUSTER], "nothing synchronises P0 with the other threads"), (&[CLUSTER], "nothing synchronises P0")],
    ),
    // One barrier for all, behind all of the setup.
    (
        "async/mbarrier/init-unseen-by-two",
        &[(&[SETUP], "nothing synchronises P0 with the other threads"), (&[SETUP], "nothing synchronises P0")],
    ),
    // An mbarrier that nobody waits at, and need not.
    (
        "tcgen05/epilogue-arrive-for-commit",
        &[(&[COMMIT], "does not wait for P1's tcgen05.mma"), (&[COMMIT], "does not wait for P1's tcgen05.mma")],
    ),
    (
        "tcgen05/epilogue-no-after",
        &[(
            &["`tcgen05.fence::after_thread_sync` in P0 between lines 11 and 12"],
            "not ordered after its synchronisation",
        )],
    ),
    (
        "tcgen05/epilogue-early-dealloc",
        &[(&[DEALLOC], "before the columns are done with"), (&[DEALLOC], "before the columns are done with")],
    ),
    (
        "tcgen05/4-composed-no-wait",
        &[(
            &["%waited, [b], 0` in P0 between lines 6 and 7"],
            "P0 does not wait at b for what it has committed in line 6",
        )],
    ),
    // Neither of them is made to read the next round instead.
    (
        "async/bulk/consumers-arrive-early",
        &[
            (
                &[
                    "P1's `fence.proxy.async.shared::cta` (line 15) belongs after line 17",
                    "P1's `mbarrier.arrive.shared::cta.b64 _, [empty]` (line 16) belongs after line 17",
                ],
                "before the access that it should publish",
            ),
            (
                &[
                    "P2's `fence.proxy.async.shared::cta` (line 25) belongs after line 27",
                    "P2's `mbarrier.arrive.shared::cta.b64 _, [empty]` (line 26) belongs after line 27",
                ],
                "P2's line 25 comes before the access that it should publish",
            ),
        ],
    ),
    // The same mistake in two threads has the same name.
    (
        "async/bulk/consumers-parity",
        &[
            (&["[full], 1` in P1 instead of"], "(line 18) waits with the wrong parity"),
            (&["[full], 1` in P2 instead of"], "(line 28) waits with the wrong parity"),
        ],
    ),
    (
        "async/bulk/stores-last-wait-reads",
        &[(&["`cp.async.bulk.wait_group 0` in P0 instead of line 18"], "waits only until its copies have read")],
    ),
    ("barriers/Bar-both-arrive", &[(&["`bar.sync 3, 64` in P0 instead of `bar.arrive 3, 64`"], "only arrives")]),
    (
        "async/cluster/remote-store-completes",
        &[
            (&["`fence.acq_rel.cluster` in P1 between lines 11 and 12"], "nothing keeps P1's"),
            (&["`fence.acq_rel.cluster` in P1 between lines 11 and 12"], "CTA 0 from exiting"),
        ],
    ),
    (
        "algorithms/11-split-k/partials-counted-relaxed",
        &[
            (&["`.release` on P0's", "`.release` on P1's"], "is relaxed"),
            (&["`.release` on P0's", "`.release` on P1's"], "is relaxed"),
        ],
    ),
    (
        "async/mbarrier/announced-beside-arrival",
        &[(
            &[
                "`mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16` in P0 instead of",
                "an initial count of 2 for the mbarrier m",
            ],
            "may be over before",
        )],
    ),
    (
        "tcgen05/4-threads-st-left-commit",
        &[(&["arrive::one.shared::cluster.b64 [b]` in P0 instead of"], "signals only that the factors have been read")],
    ),
];

const CLUSTER: &str = "`barrier.cluster.arrive.release; barrier.cluster.wait.acquire` in P0 between lines 5 and 6, in P1 before \
                       line 10 and in P2 before line 15";
const SETUP: &str = "`bar.sync 0` in P0 between lines 7 and 8, in P1 before line 14 and in P2 before line 20";
const COMMIT: &str = "`tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]` in P1 instead of";
const DEALLOC: &str = "P0's `tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32` (line 10) belongs after line 17";

#[test]
fn the_piece_is_the_one_that_is_meant() {
    for (name, races) in PIECES {
        let report = report(name);
        let found: Vec<_> = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref()).collect();
        assert_eq!(found.len(), races.len(), "{name}: {found:#?}");
        for (diagnosis, (pieces, cause)) in found.into_iter().zip(*races) {
            let missing: Vec<&str> = diagnosis.missing.iter().map(|missing| missing.text.as_str()).collect();
            assert_eq!(missing.len(), pieces.len(), "{name}: {missing:#?}");
            assert!(missing.iter().zip(*pieces).all(|(text, piece)| text.contains(piece)), "{name}: {missing:#?}");
            assert!(diagnosis.why.contains(cause), "{name}: {}", diagnosis.why);
            assert!(diagnosis.confirmed && diagnosis.missing.iter().all(|it| !it.section.is_empty()), "{name}");
        }
    }
}

/// Threads that tell each other something asynchronously do synchronise, and a proxy is somebody's.
#[test]
fn the_cause_denies_nothing_that_is_there() {
    let told = report("multimem/mp-async");
    let why = told.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref()).map(|found| found.why.as_str());
    assert!(why.clone().count() > 0 && why.clone().all(|why| !why.contains("do not synchronise at all")), "{told:?}");
    let early = report("algorithms/01-tma-load/tma-load-arrive-before-read");
    let first = early.races.pairs[0].diagnosis.as_ref().expect("a diagnosis");
    assert!(
        first.why.contains("no fence leads from the generic proxy of P1's line 26 to the async proxy"),
        "{first:?}"
    );
}
