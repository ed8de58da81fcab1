//! Programs in which threads wait: for a thread whose loop was cut, in failing iterations, for ever. None of that may
//! make an answer look clean.

#![allow(clippy::unwrap_used)]

use fencepost_check::options::{Deepening, EngineChoice, Options};
use fencepost_check::{Models, Test, check, load};
use fencepost_report::why::Why;
use fencepost_report::{RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::Source;

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("test.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

fn report(text: &str, engine: EngineChoice) -> Report {
    check(&test(text), &Models::shipped("ptx-7.5").unwrap(), &Options { engine, ..Options::default() }).report
}

fn by_each_engine(text: &str, expect: impl Fn(&Report)) {
    for engine in [EngineChoice::Enumerate, EngineChoice::Sat, EngineChoice::Auto] {
        expect(&report(text, engine));
    }
}

/// One thread per column of rows `a | b`.
fn two(initial: &str, places: [&str; 2], rows: &[[&str; 2]], question: &str) -> String {
    let rows: String = rows.iter().map(|[left, right]| format!("{left} | {right} ;\n")).collect();
    format!("PTX T\n{{ {initial} }}\nP0@{} | P1@{} ;\n{rows}{question}\n", places[0], places[1])
}

const APART: [&str; 2] = ["cta 0,gpu 0", "cta 1,gpu 0"];
const TOGETHER: [&str; 2] = ["cta 0,gpu 0", "cta 0,gpu 0"];

fn kind(report: &Report) -> Option<&str> {
    report.why.as_ref().map(|why| why.kind.as_str())
}

#[test]
fn a_thread_that_waits_for_what_lies_past_a_cut_loop_is_not_known_to_wait_for_ever() {
    let text = two(
        "n=0; x=0; y=0;",
        APART,
        &[
            ["K:", "L:"],
            ["atom.relaxed.gpu.global.add.u32 %r9,[n],1", "ld.acquire.gpu.u32 %r1,[y]"],
            ["setp.ne.u32 %p2,%r9,5", "setp.eq.u32 %p1,%r1,0"],
            ["@%p2 bra K", "@%p1 bra L"],
            ["st.release.gpu.u32 [y],1", "st.weak.u32 [x],1"],
        ],
        "forall (x=0)",
    );
    by_each_engine(&text, |report| {
        assert_eq!(kind(report), Some("bound"), "{} {:?}", report.engine, report.verdict);
        assert_ne!(report.termination.answer, TerminationAnswer::Terminates);
        assert_eq!(report.races.answer, RaceAnswer::Unknown);
    });
}

#[test]
fn a_barrier_beside_a_cut_loop_is_not_known_to_block() {
    let text = two(
        "n=6; q=0; x=0;",
        TOGETHER,
        &[
            ["ld.weak.u32 %r9,[n]", "bar.sync 0"],
            ["mov.u32 %r8,0", "st.weak.u32 [x],1"],
            ["K:", ""],
            ["add.u32 %r8,%r8,1", ""],
            ["red.relaxed.gpu.global.add.u32 [q],1", ""],
            ["setp.lt.u32 %p2,%r8,%r9", ""],
            ["@%p2 bra K", ""],
            ["bar.sync 0", ""],
        ],
        "forall (x=0)",
    );
    by_each_engine(&text, |report| assert_eq!(kind(report), Some("bound"), "{} {:?}", report.engine, report.verdict));
}

/// n is 1 for good, so that the loop never comes to a third round; both engines see it.
#[test]
fn a_cut_that_no_value_leads_to_is_no_doubt() {
    let text = two(
        "n=1; q=0; x=0;",
        APART,
        &[
            ["ld.weak.u32 %r9,[n]", "st.weak.u32 [x],1"],
            ["mov.u32 %r8,0", ""],
            ["K:", ""],
            ["add.u32 %r8,%r8,1", ""],
            ["red.relaxed.gpu.global.add.u32 [q],1", ""],
            ["setp.lt.u32 %p2,%r8,%r9", ""],
            ["@%p2 bra K", ""],
        ],
        "forall (q=1)",
    );
    by_each_engine(&text, |report| assert_eq!(report.verdict.word(), "Holds", "{} {:?}", report.engine, report.why));
}

#[test]
fn an_access_outside_every_location_is_called_that() {
    let text = two(
        ".global .u64 x[2]; .global .u64 i = 0; y=0;",
        APART,
        &[
            ["mov.u64 %rd1, x", "L:"],
            ["st.weak.u64 [%rd1+16], 3", "ld.acquire.gpu.u32 %r1, [y]"],
            ["st.release.gpu.u32 [y], 1", "setp.eq.u32 %p1, %r1, 0"],
            ["", "@%p1 bra L"],
            ["", "st.weak.u64 [i], 9"],
        ],
        "forall (i=0)",
    );
    by_each_engine(&text, |report| {
        assert_eq!(kind(report), Some("unsupported"), "{} {:?}", report.engine, report.verdict);
        let why = report.why.as_ref().unwrap();
        let told = "`st.weak.u64` at `x`+16 reaches byte 24 of `x`, which has 16";
        assert!(matches!(&why.why, Some(Why::Unsupported { what, .. }) if what == told), "{why:?}");
        assert_eq!(why.line, Some(5));
    });
}

/// A published pointer is null or the location: the access through it is never wild, and reads what was published.
#[test]
fn a_published_pointer_is_followed() {
    for (access, question) in [
        ("@!%p1 ld.weak.u64 %rd2, [%rd1]", "exists (P1:%rd1=x /\\ P1:%rd2=0)"),
        ("@!%p1 st.weak.u64 [%rd1], 2", "exists (P1:%rd1=x /\\ x=1)"),
    ] {
        let text = two(
            "x=0; y=0; P0:%rd1=x;",
            APART,
            &[
                ["st.weak.u64 [x], 1", "ld.acquire.gpu.u64 %rd1, [y]"],
                ["st.release.gpu.u64 [y], %rd1", "setp.eq.u64 %p1, %rd1, 0"],
                ["", access],
            ],
            question,
        );
        by_each_engine(&text, |report| {
            assert_eq!(report.verdict.word(), "Violated", "{access} {} {:?}", report.engine, report.why);
            assert_eq!(report.races.answer, RaceAnswer::None);
        });
    }
}

#[test]
fn a_race_in_a_failing_iteration_is_found() {
    let only_when_failing = two(
        "x=0; y=0; z=0;",
        APART,
        &[
            ["st.weak.u32 [z],1", "L:"],
            ["st.release.gpu.u32 [y],1", "ld.acquire.gpu.u32 %r1,[y]"],
            ["", "setp.eq.u32 %p1,%r1,0"],
            ["", "@%p1 ld.weak.u32 %r3,[z]"],
            ["", "@%p1 bra L"],
        ],
        "exists (P1:%r1=1)",
    );
    let every_time = two(
        "x=0; y=0;",
        APART,
        &[
            ["st.weak.u32 [x],1", "L:"],
            ["st.release.gpu.u32 [y],1", "ld.acquire.gpu.u32 %r1,[y]"],
            ["", "ld.weak.u32 %r2,[x]"],
            ["", "setp.eq.u32 %p1,%r1,0"],
            ["", "@%p1 bra L"],
        ],
        "forall (P1:%r2=1)",
    );
    for text in [only_when_failing, every_time] {
        by_each_engine(&text, |report| {
            assert_eq!(report.races.answer, RaceAnswer::Found, "{text}");
            assert_eq!(report.races.pairs.len(), 1);
            assert_eq!(report.verdict.word(), "Holds");
        });
    }
}

#[test]
fn a_spin_loop_that_publishes_has_no_race() {
    let text = two(
        "x=0; y=0;",
        APART,
        &[
            ["st.weak.u32 [x],1", "L:"],
            ["st.release.gpu.u32 [y],1", "ld.acquire.gpu.u32 %r1,[y]"],
            ["", "setp.eq.u32 %p1,%r1,0"],
            ["", "@%p1 bra L"],
            ["", "ld.weak.u32 %r2,[x]"],
        ],
        "forall (P1:%r2=1)",
    );
    by_each_engine(&text, |report| {
        assert_eq!((report.races.answer, report.verdict.word()), (RaceAnswer::None, "Holds"), "{}", report.engine);
    });
}

#[test]
fn a_race_before_a_thread_hangs_is_found() {
    let blocked = two(
        "x=0;",
        TOGETHER,
        &[["st.weak.u32 [x],1", "ld.weak.u32 %r1,[x]"], ["bar.sync 0, 96", "bar.sync 0, 96"]],
        "exists (P1:%r1=0)",
    );
    let for_ever =
        two("x=0;", APART, &[["st.weak.u32 [x],1", "st.weak.u32 [x],2"], ["L:", ""], ["bra L", ""]], "forall (x=2)");
    let spinning = two(
        "x=0; y=0;",
        APART,
        &[
            ["st.weak.u32 [x],1", "st.weak.u32 [x],2"],
            ["L:", ""],
            ["ld.relaxed.gpu.u32 %r1,[y]", ""],
            ["setp.eq.u32 %p1,%r1,0", ""],
            ["@%p1 bra L", ""],
        ],
        "exists (x=2)",
    );
    for text in [blocked, for_ever, spinning] {
        by_each_engine(&text, |report| assert_eq!(report.races.answer, RaceAnswer::Found, "{text}"));
    }
}

#[test]
fn under_a_filter_the_answer_says_so_and_of_nothing_it_says_nothing() {
    let racy = |filter: &str| {
        let rows = [
            ["st.weak.u32 [x],1", "ld.relaxed.gpu.u32 %r2,[y]"],
            ["st.relaxed.gpu.u32 [y],1", "setp.eq.u32 %p1,%r2,1"],
            ["", "@%p1 ld.weak.u32 %r1,[x]"],
        ];
        two("x=0; y=0;", APART, &rows, &format!("{filter}\nforall (P1:%r1=0)"))
    };
    by_each_engine(&racy("filter (P1:%r2=0)"), |report| {
        assert_eq!((report.races.answer, report.races.assuming), (RaceAnswer::None, true));
    });
    by_each_engine(&racy("filter (P1:%r2=7)"), |report| assert_eq!(report.races.answer, RaceAnswer::Unknown));
    by_each_engine(&racy(""), |report| {
        assert_eq!((report.races.answer, report.races.assuming), (RaceAnswer::Found, false));
    });
}

/// Three threads that add by compare-and-swap: two iterations leave it open, three do not.
#[test]
fn a_loop_that_was_cut_too_early_is_unrolled_further_unless_somebody_says_how_far() {
    let text = include_str!("../../../../corpus/loops/Retry-deepened.litmus");
    let report = |deepening, bound| {
        let options = Options { deepening, bound, ..Options::default() };
        check(&test(text), &Models::shipped("ptx").unwrap(), &options).report
    };
    let fixed = report(Deepening::Off, 2);
    assert_eq!((kind(&fixed), fixed.deepened), (Some("bound"), None));
    let deeper = report(Deepening::On, 2);
    assert_eq!((deeper.verdict.word(), deeper.deepened), ("Holds", Some(3)));
    let asked = report(Deepening::Off, 3);
    assert_eq!((asked.verdict.word(), asked.executions, asked.deepened), ("Holds", deeper.executions, None));
    let beyond = include_str!("../../../../corpus/loops/Retry-beyond.litmus");
    let options = Options { deepening: Deepening::On, ..Options::default() };
    let open = check(&test(beyond), &Models::shipped("ptx").unwrap(), &options).report;
    assert_eq!((kind(&open), open.deepened), (Some("bound"), None));
}

/// Nobody else waits at the barrier or accesses the memory: a failed round changes nothing. With a second thread in the CTA
/// that is not known, and with an own model neither.
#[test]
fn a_lock_that_is_told_of_in_memory_of_one_thread_is_followed() {
    let text = include_str!("../../../../corpus/loops/Spinlock-told-through-shared.litmus");
    by_each_engine(text, |report| {
        assert_eq!((report.verdict.word(), report.races.answer), ("Holds", RaceAnswer::None), "{:?}", report.why);
        assert_eq!(report.termination.answer, TerminationAnswer::Terminates);
    });
    let beside = text.replace("forall (count", "P2@cta 1, gpu 0 {\n  ld.shared.u32 %x, [told];\n}\nforall (count");
    by_each_engine(&beside, |report| assert_eq!(kind(report), Some("bound"), "{:?}", report.verdict));
    let held = text.replace("lock = 0", "lock = 1");
    by_each_engine(&held, |report| assert_eq!(report.termination.answer, TerminationAnswer::MayHang, "{report:?}"));
}
