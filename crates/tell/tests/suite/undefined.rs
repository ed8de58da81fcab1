//! Programs without a defined behaviour: every output says so, and nothing is claimed of what they do.

use fencepost_check::expect::expectation::Comparison;
use fencepost_check::{Models, Options, Report, Test, check, load};
use fencepost_syntax::Source;
use fencepost_tell::output::{Row, herd, json, junit, table, width};
use fencepost_tell::words::put_into_words;

fn test_of(threads: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", format!("C t\n{{ x = 0; }}\n{threads}\n")));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    tests.remove(0)
}

fn report(threads: &str) -> Report {
    let mut report = check(&test_of(threads), &Models::shipped("rc11-scoped").unwrap(), &Options::default()).report;
    put_into_words(&mut report);
    report
}

const RACE: &str = "P0 (int* x) { *x = 1; }\nP1 (int* x) { int r0 = *x; }";
const NONE: &str = "P0 (atomic_int* x) { *x = 1; }\nP1 (atomic_int* x) { int r0 = *x; }";

/// The question, whether it holds of a racy program and of one without a race, and how the first is told.
#[test]
fn what_no_execution_shows_is_possible_all_the_same() {
    let cases = [
        ("exists (1:r0 = 5)", "Holds", "Violated", "possible, though no execution of the model reaches it"),
        ("~exists (1:r0 = 5)", "Violated", "Holds", "not promised, though no execution of the model reaches it"),
        ("forall (1:r0 != 5)", "Violated", "Holds", "not promised, though it is true in every execution"),
        ("exists (1:r0 = 1)", "Holds", "Holds", "reachable"),
        ("forall (true)", "Holds", "Holds", "true in every execution"),
        ("exists (1:r0 = 5 /\\ 1:r0 = 6)", "Violated", "Violated", "not reachable"),
        ("exists (1:r0 > 5 /\\ ~(x = 1 \\/ 1:r0 > 4))", "Violated", "Violated", "not reachable"),
        ("~exists (1:r0 = 5 /\\ 1:r0 != 5)", "Holds", "Holds", "never reached"),
        ("forall (1:r0 = 0 \\/ 1:r0 != 0)", "Holds", "Holds", "true in every execution"),
        ("exists (1:r0 = 5 /\\ x = 6)", "Holds", "Violated", "possible, though"),
        ("exists (1:r0 > 5 /\\ 1:r0 < 7)", "Holds", "Violated", "possible, though"),
    ];
    for (question, racy, free, told) in cases {
        let undefined = report(&format!("{RACE}\n{question}"));
        assert_eq!(undefined.verdict.word(), racy, "{question}");
        assert_eq!(report(&format!("{NONE}\n{question}")).verdict.word(), free, "{question}");
        let row = Row { report: &undefined, comparison: &Comparison::NothingExpected, required: &[] };
        let text = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
        assert!(text.contains(told), "{text}");
        assert!(text.contains("(race: behaviour is undefined, every outcome is possible)"), "{text}");
        assert!(!text.contains("ends"), "nothing is promised of its end: {text}");
    }
}

#[test]
fn every_output_says_that_behaviour_is_undefined() {
    let test = test_of(&format!("{RACE}\n~exists (1:r0 = 5)"));
    let mut report = check(&test, &Models::shipped("rc11-scoped").unwrap(), &Options::default()).report;
    put_into_words(&mut report);
    let row = Row { report: &report, comparison: &Comparison::NothingExpected, required: &[] };
    let line = json::line(&row);
    assert!(line.contains("\"undefined\":{\"flags\":[\"data-race\"]"), "{line}");
    assert!(line.contains("\"undefined\":true"), "{line}");
    assert!(herd::log(&test, &report).contains("\nUndef\n"), "{}", herd::log(&test, &report));
    let junit = junit::document(&[junit::case(&row)]);
    let told = "t under rc11-scoped: Violated (race: behaviour is undefined, every outcome is possible)";
    assert!(junit.contains(told), "{junit}");
    let expected = Comparison::AsExpected;
    let passed = junit::document(&[junit::case(&Row { report: &report, comparison: &expected, required: &[] })]);
    assert!(passed.contains("<system-out>race: behaviour is undefined, every outcome is possible</system-out>"));
    let rows = table::table(&[row], width::Width::Unlimited, table::Colour::Plain);
    assert!(rows.contains("1 (undefined)") && rows.contains("every outcome is possible"), "{rows}");
}

/// The model's executions never end, and the program may: it may do anything.
#[test]
fn nothing_is_claimed_of_the_end_of_a_program_that_races_and_waits() {
    let threads = "P0 (int* x) { *x = 1; while (atomic_load(y) == 0) { } }\nP1 (int* x) { *x = 2; }\n~exists (x = 5)";
    let threads = threads.replace("(int* x)", "(int* x, atomic_int* y)");
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", format!("C t\n{{ x = 0; y = 0; }}\n{threads}\n")));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let report = check(&tests.remove(0), &Models::shipped("rc11-scoped").unwrap(), &Options::default()).report;
    assert_eq!(report.verdict.word(), "Violated");
    assert!(!report.termination.never_ends && report.termination.witness.is_none(), "{:?}", report.termination);
    assert_eq!(report.termination.answer, fencepost_report::TerminationAnswer::Unknown);
    let row = Row { report: &report, comparison: &Comparison::NothingExpected, required: &[] };
    let text = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    assert!(!text.contains("hang") && !text.contains("ends"), "{text}");
}
