//! Every second check that was made when this was recorded is still made: replays of witnesses, and confirmations of what was
//! not found by the other engine. A change that adds some records the higher numbers.

use fencepost_check::look::second_checks::SecondChecks;
use fencepost_check::options::Options;
use fencepost_check::{Models, check};

use crate::corpus;

/// Folder of the corpus, model, and what its tests took: replays and confirmations.
const RECORDED: [(&str, &str, u64, u64); 12] = [
    ("x86", "x86-tso", 11, 19),
    ("sb", "ptx", 18, 13),
    ("sb", "ptx-7.5", 18, 13),
    ("mp", "ptx", 143, 51),
    ("mp", "ptx-7.5", 143, 51),
    ("lb", "ptx-7.5", 61, 60),
    ("2+2w", "ptx", 9, 3),
    ("iriw", "ptx", 9, 4),
    ("coherence", "ptx", 20, 16),
    ("barriers", "ptx", 57, 50),
    ("c11", "rc11-scoped", 24, 32),
    ("persistency", "sbrp", 3494, 2334),
];

#[test]
fn no_second_check_is_left_out() {
    let mut found = Vec::new();
    for (folder, name, ..) in RECORDED {
        let model = Models::shipped(name).expect("shipped");
        let before = SecondChecks::so_far();
        let part = format!("/corpus/{folder}/");
        for test in corpus::tests().iter().filter(|test| test.source.name.contains(&part)) {
            check(test, &model, &Options::default());
        }
        let after = SecondChecks::so_far();
        found.push((folder, name, after.replays - before.replays, after.confirmations - before.confirmations));
    }
    let fewer = RECORDED.iter().zip(&found).any(|(was, is)| is.2 < was.2 || is.3 < was.3);
    assert!(!fewer, "fewer second checks than recorded: {found:?}");
    assert_eq!(RECORDED.as_slice(), found, "more second checks than recorded: record them");
}
