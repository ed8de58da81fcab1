//! Elements of tiles that are alike, one of them ([`Elements::OneOfAlike`]) and all: the same verdicts, outcomes, races, broken
//! rules and hangs, on every test of the corpus in which there are any.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fencepost_program::program::Condition;
use fencepost_program::unfold::{Elements, UnfoldOptions, unfold};
use fencepost_report::Report;
use fencepost_report::verdict::{Verdict, Why};
use fencepost_syntax::Source;
use fencepost_syntax::sorted::SharedSort as _;

use crate::judge::known::check_known;
use crate::load;
use crate::model::load::{LoadedModel, Models};
use crate::options::Options;
use crate::test::Test;
use crate::write::report::checked;

/// Events that go, up to which all elements are few enough to be looked at.
const MOST_LEFT_OUT: usize = 40;
/// Every so many tests in `cargo test`; `FENCEPOST_ALIKE=1` for all.
const EVERY: usize = 2;

fn tests(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
}

/// What a report says but for counts. The example of an element is of the one that stays, whichever it names.
fn said(report: &Report) -> Vec<String> {
    let outcomes: BTreeSet<String> = report.outcomes.iter().map(|outcome| outcome.values.to_string()).collect();
    let races: BTreeSet<String> =
        report.races.pairs.iter().map(|race| format!("{} {:?} {:?}", race.flag, race.first, race.second)).collect();
    vec![
        format!("{:?}", report.verdict),
        format!("{outcomes:?}"),
        format!("{:?} {races:#?}", report.races.answer),
        format!("{:?}", report.protocol.answer),
        format!("{:?}", report.termination.answer),
    ]
}

/// How many events go, if all can be looked at.
fn left_out(test: &Test, model: &LoadedModel) -> Option<usize> {
    let one = model.unfolding(Options::default().bound);
    let all = UnfoldOptions { elements: Elements::All, ..one };
    let count = |options: &UnfoldOptions| unfold(&test.program, options).ok().map(|unfolding| unfolding.events.len());
    let gone = count(&all)? - count(&one)?;
    (1..=MOST_LEFT_OUT).contains(&gone).then_some(gone)
}

/// The same without a question: no value matters, and more elements are alike.
fn unasked(test: &Test) -> Test {
    let mut program = test.program.clone();
    program.questions.iter_mut().for_each(|question| question.condition = Condition::True);
    program.shown.clear();
    test.with_program(program)
}

#[test]
fn elements_that_are_alike_say_the_same() {
    let model = Models::shipped("ptx").expect("shipped");
    let mut own = Models::shipped("ptx").expect("shipped");
    own.assume_nothing();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut files = Vec::new();
    for folder in ["async", "tcgen05", "wild", "algorithms", "races", "launch"] {
        tests(&corpus.join(folder), &mut files);
    }
    files.shared_sort();
    let every = std::env::var("FENCEPOST_ALIKE").ok().and_then(|every| every.parse().ok()).unwrap_or(EVERY);
    let (mut compared, mut racy) = (0, 0);
    for file in files.iter().step_by(every) {
        let text = std::fs::read_to_string(file).expect("a test");
        let (tests, _) = load(&Source::new(file.display().to_string(), text));
        let both = tests.iter().flat_map(|test| [test.clone(), unasked(test)]);
        for test in both.filter(|test| left_out(test, &model).is_some()) {
            let options = Options { budget: crate::Budget::new(None, Some(500 << 20)), ..Options::default() };
            let report =
                |model: &LoadedModel| checked(&test, model, &options, check_known(&test, model, &options)).report;
            let (one, all) = (report(&model), report(&own));
            let is_cut = |report: &Report| report.executions.is_none_or(|count| !count.complete);
            let is_open = |report: &Report| matches!(report.verdict, Verdict::Unknown(Why::Bound(_)));
            if is_cut(&all) || is_open(&all) {
                continue;
            }
            assert_eq!(said(&one), said(&all), "{}", file.display());
            compared += 1;
            racy += usize::from(!one.races.pairs.is_empty());
        }
    }
    assert!(compared * every > 120 && racy * every > 60, "{compared} compared, {racy} racy");
}
