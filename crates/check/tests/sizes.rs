//! Accesses of different sizes that overlap in part, and warnings that need no execution.

use fencepost_check::output::{Row, table};
use fencepost_check::report::{RaceAnswer, Report, TerminationAnswer};
use fencepost_check::{Models, Options, check, load};
use fencepost_syntax::Source;

fn report(text: &str) -> Report {
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

fn paragraph(report: &Report) -> String {
    let row = Row { report, comparison: &fencepost_check::expectation::Comparison::NothingExpected, required: &[] };
    table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain)
}

/// A race of different sizes, and two loads of one location, which the axioms order.
const MIXED: &str = "PTX t\n{ .global .b32 x[2] = 0; .global .b32 y = 0; }\n\
                P0@cta 0, gpu 0 {\nst.relaxed.gpu.global.b64 [x], 4294967297;\nst.relaxed.gpu.global.b32 [y], 1;\n}\n\
                P1@cta 0, gpu 0 {\nld.relaxed.gpu.global.b32 %r1, [x];\nld.relaxed.gpu.global.b32 %r2, [y];\n\
                ld.relaxed.gpu.global.b32 %r3, [y];\n}\n";

#[test]
fn a_race_of_different_sizes_leaves_what_does_not_rest_on_the_axioms() {
    let answers = [
        ("exists (P1:%r1=1)", "Holds"),
        ("forall (P1:%r1=0)", "Violated"),
        ("~exists (P1:%r1=2)", "Holds"),
        ("forall (P1:%r2=0 \\/ P1:%r2=1)", "Holds"),
        ("exists (P1:%r2=1 /\\ P1:%r3=2)", "Violated"),
        ("~exists (P1:%r2=1 /\\ P1:%r3=0)", "Unknown"),
    ];
    for (question, verdict) in answers {
        let found = report(&format!("{MIXED}{question}\n"));
        assert_eq!((found.verdict.word(), found.races.answer), (verdict, RaceAnswer::Found), "{question}: {found:?}");
        assert!(found.races.pairs.iter().any(|pair| pair.flag == "mixed-size-race"), "{question}");
        assert_eq!(found.termination.answer, TerminationAnswer::Unknown, "{question}");
    }
}

#[test]
fn a_race_of_different_sizes_leaves_no_answer_that_rests_on_the_axioms() {
    let found = report(&format!("{MIXED}~exists (P1:%r2=1 /\\ P1:%r3=0)\n"));
    assert_eq!((found.verdict.word(), found.races.answer), ("Unknown", RaceAnswer::Found), "{found:?}");
    let why = found.why.as_ref().expect("a reason");
    assert_eq!((why.kind.as_str(), why.line), ("mixed-size", Some(4)));
    assert!(why.message.contains("the axioms do not apply"), "{}", why.message);
    assert!(why.message.contains("overlapping atomics in each other's scope do not interleave"), "{}", why.message);
}

#[test]
fn ordered_accesses_of_different_sizes_are_as_good_as_others() {
    let text = "PTX t\n{ .global .b32 x[2] = 0; }\n\
                P0@cta 0, gpu 0 {\nst.global.b64 [x], 4294967297;\nbar.sync 0;\n}\n\
                P1@cta 0, gpu 0 {\nbar.sync 0;\nld.global.b32 %r1, [x+4];\n}\nforall (P1:%r1=1)\n";
    let found = report(text);
    assert_eq!((found.verdict.word(), found.races.answer), ("Holds", RaceAnswer::None), "{found:?}");
}

#[test]
fn what_lowering_notices_is_in_the_report() {
    let text = "PTX t\n{ .shared .b64 b; .global .b32 x; }\nP0@cta 0, gpu 0 {\n\
                mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [b], 0;\nst.global.b32 [x], 1;\n}\nexists (x=1)\n";
    let found = report(text);
    assert!(!found.warnings.is_empty(), "{found:?}");
    assert!(
        paragraph(&found).contains("  warning: line 4: ") && paragraph(&found).contains("acquire fence"),
        "{}",
        paragraph(&found)
    );
}
