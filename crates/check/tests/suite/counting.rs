//! How many executions are counted: all of a small test, as many as are cheap of a large one, and the answer in any case.

#![allow(clippy::unwrap_used)]

use fencepost_check::options::{EngineChoice, MOST_COUNTED, Options, Outcomes};
use fencepost_check::{Models, Test, check, load};
use fencepost_report::{RaceAnswer, Report};
use fencepost_syntax::Source;

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("test.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

/// A ring of `size` threads that each write their own location and read the next.
fn store_buffering(size: usize, value: u32) -> String {
    let row = |cell: &dyn Fn(usize) -> String| (0..size).map(cell).collect::<Vec<_>>().join(" | ");
    let threads = row(&|thread| format!("P{thread}"));
    let writes = row(&|thread| format!("MOV [x{thread}],$1"));
    let reads = row(&|thread| format!("MOV EAX,[x{}]", (thread + 1) % size));
    let seen: Vec<_> = (0..size).map(|thread| format!("{thread}:EAX={value}")).collect();
    format!("X86 SB\n{{ }}\n{threads} ;\n{writes} ;\n{reads} ;\nexists ({})\n", seen.join(" /\\ "))
}

fn report(text: &str, model: &str, options: &Options) -> Report {
    check(&test(text), &Models::shipped(model).unwrap(), options).report
}

#[test]
fn a_large_test_is_answered_and_counted_up_to_the_cap() {
    let all = Options { outcomes: Outcomes::All, ..Options::default() };
    let text = store_buffering(14, 0);
    let capped = report(&text, "x86-tso", &Options::default());
    assert_eq!(capped.verdict.word(), "Holds");
    let count = capped.executions.unwrap();
    assert!(!count.complete && count.count > 0 && count.count <= MOST_COUNTED, "{count:?}");
    assert_eq!(capped.outcomes.iter().map(|outcome| outcome.executions).sum::<u64>(), count.count);
    let complete = report(&text, "x86-tso", &all);
    assert_eq!((complete.verdict.word(), complete.outcomes.len()), ("Holds", 1 << 14));
    assert!(complete.executions.is_some_and(|count| count.complete && count.count == 1 << 14));
}

/// The pairs of `writers` grow with their square, and so did time and memory.
#[test]
fn of_very_many_races_the_first_are_listed() {
    let writers = 60;
    let row = |cell: &dyn Fn(usize) -> String| (0..writers).map(cell).collect::<Vec<_>>().join(" | ");
    let threads = row(&|thread| format!("P{thread}@cta 0, gpu 0"));
    let text = format!("PTX W\n{{ }}\n{threads} ;\n{} ;\nexists (x = 1)\n", row(&|_| "st.weak x, 1".to_owned()));
    let many = report(&text, "ptx-7.5", &Options::default());
    assert_eq!((many.verdict.word(), many.races.answer), ("Holds", RaceAnswer::Found));
    assert_eq!((many.races.pairs.len(), many.races.more), (400, true));
}

/// Every node of the search looks at every pair of writes that is open, so of many writers fewer executions are counted after the
/// answer. Weak writes need no order, and those of one thread have one.
#[test]
fn of_many_writers_in_any_order_little_is_counted_after_the_answer() {
    let row = |writers: usize, cell: &dyn Fn(usize) -> String| (0..writers).map(cell).collect::<Vec<_>>().join(" | ");
    let text = |writers: usize, store: &str| {
        let threads = row(writers, &|thread| format!("P{thread}@cta {thread}, gpu 0"));
        let code = row(writers, &|thread| format!("{store} [x], {}", thread + 1));
        format!("PTX W\n{{ }}\n{threads} ;\n{code} ;\nexists (x = 1)\n")
    };
    let counted = |text: &str| {
        let report = report(text, "ptx-7.5", &Options::default());
        assert_eq!(report.verdict.word(), "Holds", "{text}");
        report.executions.map(|count| (count.count, count.complete)).unwrap()
    };
    let (few, is_complete) = counted(&text(16, "st.relaxed.gpu.u32"));
    assert!(few > 1 && !is_complete, "{few}");
    let (fewer, is_complete) = counted(&text(40, "st.relaxed.gpu.u32"));
    assert!(fewer < few && !is_complete, "{fewer} of 40, {few} of 16");
    // The witness counts too.
    assert_eq!(counted(&text(100, "st.relaxed.gpu.u32")), (1, false));
    assert_eq!(counted(&text(40, "st.weak.u32")), (1, true));
}

#[test]
fn the_same_check_is_cut_at_the_same_place() {
    let text = store_buffering(13, 0);
    let first = report(&text, "x86-tso", &Options::default());
    assert!(first.executions.is_some_and(|count| !count.complete));
    assert_eq!(first, report(&text, "x86-tso", &Options::default()));
}

#[test]
fn an_absence_is_decided_though_not_everything_is_counted() {
    let forbidden = report(&store_buffering(14, 2), "x86-tso", &Options::default());
    assert_eq!(forbidden.verdict.word(), "Violated");
    let sc = report(&store_buffering(14, 0), "sc", &Options::default());
    assert_eq!((sc.verdict.word(), sc.executions.map(|count| count.complete)), ("Violated", Some(false)));
}

#[test]
fn the_absence_of_races_is_decided_though_not_everything_is_counted() {
    let size = 14;
    let row = |cell: &dyn Fn(usize) -> String| (0..size).map(cell).collect::<Vec<_>>().join(" | ");
    let threads = row(&|thread| format!("P{thread}@cta {thread}, gpu 0"));
    let writes = row(&|thread| format!("st.relaxed.gpu.u32 [x{thread}], 1"));
    let reads = row(&|thread| format!("ld.relaxed.gpu.u32 %r0, [x{}]", (thread + 1) % size));
    let text = format!("PTX SB\n{{ }}\n{threads} ;\n{writes} ;\n{reads} ;\nexists (P0:%r0=1)\n");
    let capped = report(&text, "ptx-7.5", &Options::default());
    assert!(capped.executions.is_some_and(|count| !count.complete));
    assert_eq!((capped.verdict.word(), capped.races.answer), ("Holds", RaceAnswer::None));
    let racy = report(&text.replacen("st.relaxed.gpu.u32", "st.weak.u32", 1), "ptx-7.5", &Options::default());
    assert_eq!((racy.races.answer, racy.races.pairs.len()), (RaceAnswer::Found, 1));
}

#[test]
fn the_solver_counts_up_to_its_own_cap() {
    let options = Options { engine: EngineChoice::Sat, ..Options::default() };
    let capped = report(&store_buffering(8, 0), "x86-tso", &options);
    assert_eq!(capped.verdict.word(), "Holds");
    assert!(capped.executions.is_some_and(|count| !count.complete));
    let small = report(&store_buffering(3, 0), "x86-tso", &options);
    assert!(small.executions.is_some_and(|count| count.complete && count.count == 8), "{:?}", small.executions);
}

/// An array costs what is touched of it, and its other elements have their initial values.
#[test]
fn elements_that_nothing_touches_are_in_no_execution() {
    let text = |size: usize| {
        format!(
            "PTX array\n{{ .global .u32 a[{size}] = 7; .global .u32 f = 0; }}\n\
             P0@cta 0, gpu 0 {{\n st.relaxed.gpu.u32 [a+4], 1;\n st.release.gpu.u32 [f], 1;\n}}\n\
             P1@cta 1, gpu 0 {{\n ld.acquire.gpu.u32 %r1, [f];\n ld.relaxed.gpu.u32 %r2, [a+4];\n}}\n\
             exists (P1:%r1 = 1 /\\ P1:%r2 = 1 /\\ a[{}] = 7)\n",
            size - 1
        )
    };
    let all = Options { outcomes: Outcomes::All, ..Options::default() };
    let events = |report: &Report| report.questions[0].witness.as_ref().map(|witness| witness.events.len());
    let (small, large) = (report(&text(4), "ptx", &all), report(&text(4000), "ptx", &all));
    assert_eq!(small.verdict.word(), "Holds");
    assert_eq!((small.verdict.word(), events(&small)), (large.verdict.word(), events(&large)));
    assert_eq!(small.executions, large.executions);
    let wrong = text(4000).replace("a[3999] = 7", "a[3999] = 8");
    assert_eq!(report(&wrong, "ptx", &all).verdict.word(), "Violated");
}
