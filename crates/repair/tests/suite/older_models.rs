//! What a test lacks under an older model of PTX is what it lacks under the whole one, whether its races are looked at once or the
//! whole test is answered again.

use std::path::Path;

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Report;
use fencepost_syntax::Source;

fn report(name: &str, model: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{name}.litmus"));
    let text = std::fs::read_to_string(&path).expect("the file");
    let (mut tests, _) = load(&Source::new(name, &text));
    check(&tests.remove(0), &Models::shipped(model).expect("a model"), &Options::default()).report
}

/// What is missing in each race, in each broken promise and in the wait that never ends.
fn lacks(report: &Report) -> Vec<(bool, Vec<String>)> {
    let races = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
    let causes = report.questions.iter().filter_map(|answer| answer.cause.as_ref()).map(|cause| &cause.diagnosis);
    let texts = |missing: &[fencepost_report::Missing]| missing.iter().map(|piece| piece.text.clone()).collect();
    let mut found: Vec<(bool, Vec<String>)> =
        races.chain(causes).map(|diagnosis| (diagnosis.confirmed, texts(&diagnosis.missing))).collect();
    found.push((true, texts(&report.termination.missing)));
    found
}

#[test]
fn an_older_model_lacks_what_the_whole_one_lacks() {
    // A race, a broken promise without one, and a wait for good.
    for name in ["mp/MP+atom.gpu+acquire.gpu@ctas", "algorithms/13-locks/seqlock-no-reader-fence", "lb/LB+branch-loop"]
    {
        let whole = lacks(&report(name, "ptx"));
        assert!(whole.iter().any(|(confirmed, missing)| *confirmed && !missing.is_empty()), "{name}: {whole:?}");
        assert_eq!(lacks(&report(name, "ptx-7.5")), whole, "{name}");
    }
}
