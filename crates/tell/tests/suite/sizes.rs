//! Accesses of different sizes that overlap in part, values without a model, which races are listed and in which order, and
//! warnings that need no execution.

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::{RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_tell::output::{Row, table};

fn report(text: &str) -> Report {
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

fn paragraph(report: &Report) -> String {
    let row =
        Row { report, comparison: &fencepost_check::expect::expectation::Comparison::NothingExpected, required: &[] };
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

/// One mistake is one finding: that the two overlap in part makes no second race of them.
#[test]
fn a_race_of_different_sizes_is_told_once() {
    let flags = |found: &Report| found.races.pairs.iter().map(|race| race.flag.clone()).collect::<Vec<String>>();
    let found = report(&format!("{MIXED}exists (P1:%r1=1)\n"));
    assert_eq!(flags(&found), ["mixed-size-race"], "{:?}", found.races.pairs);
    let told = |found: &Report| found.races.pairs[0].diagnosis.as_ref().expect("a diagnosis").missing[0].text.clone();
    assert!(told(&found).contains("accesses of the same width"), "in each other's scope: {}", told(&found));
    // Weak accesses would race with one width too: they lack an order, which is put in and checked.
    let weak = "PTX t\n{ .global .b32 x[2] = 0; }\n\
                P0@cta 0, gpu 0 {\nst.global.b64 [x], 4294967297;\n}\n\
                P1@cta 0, gpu 0 {\nld.global.b32 %r1, [x];\n}\nexists (P1:%r1=1)\n";
    let found = report(weak);
    assert_eq!(flags(&found), ["mixed-size-race"]);
    assert!(told(&found).contains("bar.sync"), "{}", told(&found));
}

/// The race through which the outcome that is asked for came about, whatever lines it is in.
#[test]
fn the_cause_of_what_is_asked_is_the_first_race() {
    let text = |question: &str| {
        format!(
            "PTX t\n{{ .global .u32 x = 0; .global .u32 y = 0; .global .u32 z = 0; }}\n\
             P0@cta 0, gpu 0 {{\nst.global.u32 [x], 1;\nst.global.u32 [y], 1;\n}}\n\
             P1@cta 1, gpu 0 {{\nld.global.u32 %r1, [x];\nld.global.u32 %r2, [y];\nst.global.u32 [z], %r2;\n}}\n{question}\n"
        )
    };
    let first = |question: &str| report(&text(question)).races.pairs[0].location.clone().unwrap_or_default();
    assert_eq!(first("exists (P1:%r1=0)"), "x");
    assert_eq!(first("exists (P1:%r2=0)"), "y");
    assert_eq!(first("exists (z=1)"), "y", "by what was written on");
    assert_eq!(first("forall (true)"), "x", "by the text");
}

const PRODUCT: &str = "PTX t\n{ .shared .b64 a[2] = 1; .shared .b64 b[2] = 1; .tmem .b32 d[4] = 0; .shared .mbarrier m = 1; }\n\
    P0@cta 0, gpu 0 {\nmov.u32 %z, MASK;\nst.shared.u64 [a], 3;\n\
    tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, {%z, %z, %z, %z}, 0;\n\
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [m];\n\
    W: mbarrier.try_wait.parity.shared::cta.b64 %q, [m], 0;\n@!%q bra W;\n\
    tcgen05.fence::after_thread_sync;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [d];\n\
    tcgen05.wait::ld.sync.aligned;\n}\n";

#[test]
fn a_value_without_a_model_hides_no_race() {
    let found = report(&format!("{}forall (P0:%r1=8)\n", PRODUCT.replace("MASK", "1")));
    assert_eq!((found.verdict.word(), found.races.answer), ("Unknown", RaceAnswer::Found), "{found:?}");
    assert_eq!(found.termination.answer, TerminationAnswer::Terminates);
    assert_eq!(found.protocol.answer, fencepost_report::ProtocolAnswer::None);
    let question = &found.questions[0];
    assert!(question.why.as_ref().is_some_and(|why| why.message.contains("a value without a model")), "{question:?}");
    assert_eq!((question.positive, question.negative), (None, None), "nothing is counted of it");
    assert!(found.outcomes.iter().all(|outcome| outcome.values.0.is_empty()), "{:?}", found.outcomes);
    let told = &found.races.pairs[0].diagnosis.as_ref().expect("a diagnosis");
    assert!(!told.why.contains("that the test asks for"), "nothing is said of the question: {}", told.why);
    // An empty mask leaves no lane out.
    let known = report(&format!("{}forall (P0:%r1=8)\n", PRODUCT.replace("MASK", "0")));
    assert_eq!((known.verdict.word(), known.races.answer), ("Violated", RaceAnswer::Found), "{known:?}");
}
