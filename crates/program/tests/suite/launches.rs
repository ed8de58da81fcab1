//! Kernels: their order, dependent launches, and what a host thread launches and waits for.

use crate::common;

use common::{attempt, program, tag_names, unfolded};
use fencepost_program::access::{awaited_by, launched_after, lets_start};
use fencepost_program::program::{Feature, Place};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::{EventId, KernelId};

fn test(declarations: &str, threads: &[(&str, &str)]) -> String {
    let blocks: String =
        threads.iter().enumerate().map(|(index, (place, code))| format!("P{index}@{place} {{\n{code}\n}}\n")).collect();
    format!("PTX t\n{{ x = 0; y = 0; {declarations} }}\n{blocks}")
}

fn kernel(number: u32) -> String {
    format!("cta {number}, gpu 0, kernel {number}")
}

fn pairs(found: &[(KernelId, KernelId)]) -> Vec<(u32, u32)> {
    found.iter().map(|(first, second)| (first.0, second.0)).collect()
}

/// The pairs of a relation, by the threads of its events.
fn related(unfolding: &Unfolding, relation: fn(&Unfolding, EventId, EventId) -> bool) -> Vec<(u32, u32)> {
    let ids = || (0..unfolding.events.len()).map(EventId::new);
    let thread = |id: EventId| unfolding.event(id).thread.map(|thread| thread.0);
    let all = ids().flat_map(|a| ids().map(move |b| (a, b))).filter(|(a, b)| relation(unfolding, *a, *b));
    let mut found: Vec<_> = all.filter_map(|(a, b)| thread(a).zip(thread(b))).collect();
    found.dedup();
    found
}

#[test]
fn streams_are_transitive_and_dependent_launches_are_not() {
    let code = "st.u32 [x], 1;";
    let kernels: Vec<String> = (0..4).map(kernel).collect();
    let threads: Vec<(&str, &str)> = kernels.iter().map(|place| (place.as_str(), code)).collect();
    let order = |declarations: &str| {
        let program = program(&test(declarations, &threads));
        (pairs(&program.kernel_order), pairs(&program.dependent_launches))
    };
    assert_eq!(order(".launch 0 -> 1; .launch 1 -> 2;"), (vec![(0, 1), (0, 2), (1, 2)], vec![]));
    assert_eq!(order(".launch 0 => 1; .launch 1 => 2;"), (vec![], vec![(0, 1), (1, 2)]));
    // 2 starts after 1 has started, and 1 after 0 has ended.
    assert_eq!(order(".launch 0 -> 1; .launch 1 => 2;"), (vec![(0, 1), (0, 2)], vec![(1, 2)]));
    // That 1 has ended does not say that 0 has.
    assert_eq!(order(".launch 0 => 1; .launch 1 -> 2;"), (vec![(1, 2)], vec![(0, 1)]));
    let long = order(".launch 0 => 1; .launch 1 -> 2; .launch 2 => 3;").0;
    assert_eq!(long, [(1, 2), (1, 3)]);
    assert_eq!(order(".launch 0 -> 1 => 2, 1 -> 3;"), order(".launch 0 -> 1; .launch 1 => 2; .launch 1 -> 3;"));
}

#[test]
fn streams_and_events_are_edges() {
    let code = "st.u32 [x], 1;";
    let kernels: Vec<String> = (0..4).map(kernel).collect();
    let threads: Vec<(&str, &str)> = kernels.iter().map(|place| (place.as_str(), code)).collect();
    let order = |declarations: &str| {
        let program = program(&test(declarations, &threads));
        (pairs(&program.kernel_order), pairs(&program.dependent_launches))
    };
    assert_eq!(order(".stream a: 0 => 1 -> 2;"), (vec![(0, 2), (1, 2)], vec![(0, 1)]), "after everything before it");
    assert_eq!(order(".stream a: 0 -> 1; .event e: 1 -> 2, 3;").0, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]);
    assert_eq!(order(".stream a: 0 -> 1; .event e: 0 -> 2;").0, [(0, 1), (0, 2)]);
    let (_, diagnostics) = attempt(&test(".stream a: 0 -> 1; .stream b: 1 -> 2;", &threads));
    assert_eq!(diagnostics[0].message, "kernel 1 is in two streams");
    let (_, diagnostics) = attempt(&test(".stream a: 0 -> 1; .event a: 1;", &threads));
    assert_eq!(diagnostics[0].message, "a second stream or event `a`");
}

#[test]
fn waits_for_kernels_that_may_not_end() {
    let ends = |declarations: &str, first: &str, second: &str| -> Vec<Vec<String>> {
        let unfolding = unfolded(&test(declarations, &[(&kernel(0), first), (&kernel(1), second)]), 1);
        let end = |trace: &fencepost_program::TraceId| {
            let text = format!("{:?}", unfolding.traces[trace.index()].end);
            text.split(' ').next().unwrap_or_default().to_owned()
        };
        unfolding.threads.iter().map(|thread| thread.traces.iter().map(end).collect()).collect()
    };
    let spin = "Q: ld.relaxed.gpu.u32 %r1, [x]; setp.eq.u32 %p, %r1, 0; @%p bra Q;";
    let wait = "griddepcontrol.wait; st.u32 [x], 1;";
    assert_eq!(ends(".launch 0 -> 1;", "st.u32 [y], 1;", wait)[1], ["Exit"], "kernel 0 always ends");
    assert_eq!(ends(".launch 0 -> 1;", spin, "st.u32 [x], 1;")[1], ["Exit", "NotStarted"]);
    assert_eq!(ends(".launch 0 => 1;", spin, wait)[1], ["Blocked", "Exit", "NotStarted"]);
}

#[test]
fn events_of_ordered_kernels() {
    let threads = [(kernel(0), "st.u32 [x], 1;"), (kernel(1), "ld.u32 %r1, [x];"), (kernel(2), "ld.u32 %r1, [x];")];
    let threads: Vec<(&str, &str)> = threads.iter().map(|(place, code)| (place.as_str(), *code)).collect();
    let text = test(".launch 0 -> 1;", &threads);
    assert_eq!(related(&unfolded(&text, 1), launched_after), [(0, 1)], "kernel 2 runs beside both");
    let found = program(&text);
    assert_eq!(found.threads[1].kernel, Some(KernelId(1)));
    assert!(found.features.iter().any(|feature| feature.node == Feature::Launch));
    let alone = program(&test("", &[("cta 0, gpu 0", "st.u32 [x], 1;")]));
    assert_eq!(alone.threads[0].kernel, None);
    assert!(alone.features.is_empty());
}

#[test]
fn dependent_launches_wait_where_they_say_so() {
    let first = "st.u32 [x], 1;\ngriddepcontrol.launch_dependents;";
    let second = "ld.u32 %r1, [y];\ngriddepcontrol.wait;\nld.u32 %r2, [x];";
    let unfolding = unfolded(&test(".launch 0 => 1;", &[(&kernel(0), first), (&kernel(1), second)]), 1);
    let is_mark = |event: &&fencepost_program::unfolding::Event| matches!(event.kind, EventKind::Issue);
    let marks: Vec<String> = unfolding.events.iter().filter(is_mark).map(|event| tag_names(event.tags)).collect();
    assert_eq!(marks, ["LAUNCH_DEPENDENTS TRIGGER", "EXIT", "GRID_WAIT", "EXIT"]);
    assert_eq!(related(&unfolding, launched_after), []);
    let count = |relation: fn(&Unfolding, EventId, EventId) -> bool| {
        let ids = || (0..unfolding.events.len()).map(EventId::new);
        ids().flat_map(|a| ids().map(move |b| (a, b))).filter(|(a, b)| relation(&unfolding, *a, *b)).count()
    };
    assert_eq!(count(awaited_by), 3, "the events of the first kernel, its end among them, and the one wait");
    assert_eq!(count(lets_start), 8, "the launch and the end, and every event of the second kernel, its end too");
}

#[test]
fn hosts_launch_and_wait() {
    let host = "st.relaxed.sys.u32 [x], 1;\nlaunch 0;\nsync 0;\nld.relaxed.sys.u32 %r1, [y];";
    let text = test("", &[(&kernel(0), "ld.u32 %r1, [x];"), ("host", host)]);
    let found = program(&text);
    assert_eq!((found.threads[1].place, found.threads[1].kernel), (Place::Host, None));
    let unfolding = unfolded(&text, 1);
    assert_eq!(related(&unfolding, launched_after), [(0, 1), (1, 0)]);
    let of = |thread: u32| {
        let events = unfolding.events.iter().enumerate();
        let own = events.filter(move |(_, event)| event.thread.is_some_and(|id| id.0 == thread));
        own.map(|(index, _)| EventId::new(index)).collect::<Vec<_>>()
    };
    let (device, host) = (of(0), of(1));
    assert!(launched_after(&unfolding, host[1], device[0]), "the launch comes before the kernel");
    assert!(launched_after(&unfolding, device[0], host[2]), "and the kernel before the wait");
    assert!(!launched_after(&unfolding, host[0], device[0]), "the rest is program order");
    assert!(!launched_after(&unfolding, host[2], device[0]));
}

/// What the order of a host's calls leaves of the order that is declared; None where the test is refused.
fn standing(declarations: &str, hosts: &[&str]) -> Option<Vec<(u32, u32)>> {
    let kernels: Vec<String> = (0..3).map(kernel).collect();
    let mut threads: Vec<(&str, &str)> = kernels.iter().map(|place| (place.as_str(), "ld.u32 %r1, [x];")).collect();
    threads.extend(hosts.iter().map(|code| ("host", *code)));
    let (program, _) = attempt(&test(declarations, &threads));
    let program = program.filter(|program| program.unsupported.is_empty())?;
    Some(pairs(&program.kernel_order))
}

#[test]
fn an_event_is_waited_for_behind_its_record() {
    let event = ".stream a: 0; .stream b: 1; .event e: 0 -> 1;";
    assert_eq!(standing(event, &[]), Some(vec![(0, 1)]), "launched by nobody: as declared");
    assert_eq!(standing(event, &["launch a; launch b;"]), Some(vec![(0, 1)]));
    assert_eq!(standing(event, &["launch b; launch a;"]), Some(vec![]), "recorded too late");
    assert_eq!(standing(event, &["launch b;"]), Some(vec![(0, 1)]), "kernel 0 was there before");
    assert_eq!(standing(event, &["launch a;"]), None, "who launches kernel 1?");
    assert_eq!(standing(event, &["launch a;", "launch b;"]), None);
    let branch = "ld.relaxed.sys.u32 %r0, [x]; setp.eq.u32 %p, %r0, 1;";
    let host = |code: &str| standing(event, &[&format!("{branch} {code}")]);
    assert_eq!(host("@%p launch 0; launch 1;"), None, "it may not be recorded");
    assert_eq!(host("launch 0; @%p launch 1;"), Some(vec![(0, 1)]));
    assert_eq!(host("@%p bra A; launch 0; exit; A: launch 1;"), Some(vec![]), "one of the two");
    assert_eq!(host("@%p bra A; launch 0; bra B; A: launch 0; B: launch 1;"), Some(vec![(0, 1)]));
    assert_eq!(host("@%p bra A; launch 0; A: launch 1;"), None);
    // What comes before the event in its stream is as good as the kernel it stands behind.
    let behind = ".stream a: 0 -> 1; .event e: 1 -> 2;";
    assert_eq!(standing(behind, &["launch a; launch 2;"]), Some(vec![(0, 1), (0, 2), (1, 2)]));
    assert_eq!(standing(behind, &["launch 0; launch 2; launch 1;"]), Some(vec![(0, 1)]));
    assert_eq!(standing(".launch 0 -> 1;", &["launch 1; launch 0;"]), Some(vec![(0, 1)]), "a graph has its own order");
}

#[test]
fn a_stream_has_the_order_of_the_calls() {
    let stream = ".stream a: 0 -> 1;";
    assert_eq!(standing(stream, &["launch 0; launch 1;"]), Some(vec![(0, 1)]));
    assert_eq!(standing(stream, &["launch 1; launch 0;"]), None);
    assert_eq!(standing(stream, &["launch 0;", "launch 1;"]), None);
    let branch = "ld.relaxed.sys.u32 %r0, [x]; setp.eq.u32 %p, %r0, 1;";
    let host = |code: &str| standing(stream, &[&format!("{branch} {code}")]);
    assert_eq!(host("@%p bra A; launch 0; exit; A: launch 1;"), Some(vec![]));
    assert_eq!(host("@%p launch 0; launch 1;"), None);
    assert_eq!(host("@%p bra A; launch a; exit; A: launch a;"), Some(vec![(0, 1)]));
    assert_eq!(host("@%p launch a; launch 0;"), None, "twice");
}

#[test]
fn faults() {
    let faults = |text: &str| -> Vec<String> {
        let (program, diagnostics) = attempt(text);
        assert!(program.is_none(), "{text}");
        diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
    };
    let store = "st.u32 [x], 1;";
    let both = [("cta 0, gpu 0, kernel 0", store), ("cta 0, gpu 0, kernel 1", store)];
    assert!(faults(&test("", &both))[0].contains("is in kernel 0 and in kernel 1"));
    let two = [(kernel(0), store), (kernel(1), store)];
    let two: Vec<(&str, &str)> = two.iter().map(|(place, code)| (place.as_str(), *code)).collect();
    assert_eq!(faults(&test(".launch 0 -> 2;", &two)), ["no thread is in kernel 2"]);
    assert!(faults(&test(".launch 0 -> 1; .launch 1 => 0;", &two))[0].contains("start after itself"));
    let host = |code: &str| faults(&test("", &[(&kernel(0), store), ("host", code)]));
    assert_eq!(host("st.relaxed.gpu.u32 [x], 1;"), ["a host thread has the scope `.sys` only"]);
    assert_eq!(host("st.u32 [x], 1; bar.sync 0;"), ["a host thread is in no CTA"]);
    assert_eq!(host("st.u32 [x], 1; griddepcontrol.wait;"), ["a host thread is in no grid"]);
    assert_eq!(host("st.u32 [x], 1; launch 3;"), ["no thread is in kernel 3"]);
    assert_eq!(host("st.u32 [x], 1; launch x;"), ["a kernel is a number"]);
    assert_eq!(host("launch 0; launch 0;"), ["kernel 0 is launched twice"]);
    assert_eq!(host("sync 0; launch 0;"), ["kernel 0 is waited for before it is launched"]);
    assert_eq!(host("L: launch 0; bra L;"), ["kernel 0 is launched in a loop"]);
    assert_eq!(
        faults(&test("", &[("cta 0, gpu 0", "st.u32 [x], 1; launch 0;")])),
        ["only a host thread launches kernels"]
    );
}
