//! Compare-and-swaps without locks, each as a kernel and as a litmus test; what unordered writes leave; what is kept only up
//! to a number.

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::decode;
use fencepost_kernel::launch::{Argument, BufferSpec, Contents, Launch};
use fencepost_kernel::order::Cap;
use fencepost_kernel::report::{Doubt, Finding, Report};
use fencepost_syntax::ptx;

use crate::atomics::{ask, swap, weak};
use crate::compare::compare;
use crate::patterns::{BAR, store};
use crate::program::{Ask, Item, Order, Program, Scope, Then, place};
use crate::sides::Readings;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Said {
    Proved,
    Race,
    /// A race in a run that tells of itself only, or in none that was tried.
    RaceInOneRun,
    Open,
}

/// What the kernel says, and whether the axioms find no race.
fn said(threads: Vec<Vec<Item>>) -> (Said, bool) {
    let program = Program::new(threads.into_iter().map(|items| (0, items)).collect());
    let compared = compare(&program, Readings::Weakest);
    assert!(compared.kinds.is_empty(), "{:?} {:?} {:?}", compared.kinds, compared.kernel, compared.model);
    let kernel = &compared.kernel;
    let said = match () {
        () if kernel.is_proved() => Said::Proved,
        () if kernel.races.is_empty() => Said::Open,
        () if kernel.is_sure() => Said::Race,
        () => Said::RaceInOneRun,
    };
    (said, compared.model.race_free == Some(true))
}

fn put(value: u32) -> Item {
    Item::FlagStore { at: "fg", value, release: false, scope: Scope::Gpu }
}

fn seen(value: u32) -> Item {
    ask("fg", Ask::Load, Order::Relaxed, Some((value, Then::StoreFlag("fg"))))
}

fn decides(value: u32) -> Item {
    ask("fg", Ask::Load, Order::Weak, Some((value, Then::Store(place("ga", 0)))))
}

/// It writes nothing (9.7.15.5), so that it conflicts with writes only.
#[test]
fn a_swap_that_fails_in_every_execution_is_a_read() {
    let fails = swap("fg", 7, 1);
    assert_eq!(said(vec![vec![fails], vec![weak("fg", false)]]), (Said::Proved, true));
    assert_eq!(said(vec![vec![fails], vec![weak("fg", true)]]), (Said::Race, false));
    // Other swaps that fail do not disturb it, nor do writes before it.
    assert_eq!(said(vec![vec![fails], vec![swap("fg", 7, 2)], vec![weak("fg", false)]]), (Said::Proved, true));
    let before = vec![put(7), put(3), BAR, fails];
    assert_eq!(said(vec![before, vec![BAR, weak("fg", false)]]), (Said::Proved, true));
}

#[test]
fn a_swap_that_fails_in_one_run_may_swap_in_another() {
    // In the first run the swap comes first, and finds 0.
    let swaps = vec![swap("fg", 7, 1)];
    let (answer, is_free) = said(vec![swaps.clone(), vec![put(7)], vec![weak("fh", false)]]);
    assert_eq!((answer, is_free), (Said::Proved, true));
    let (answer, is_free) = said(vec![swaps, vec![BAR, put(7), decides(1)], vec![BAR]]);
    assert!(answer != Said::Proved && !is_free, "{answer:?}");
    // A swap that another swap makes possible.
    let chain = |end: Item| vec![vec![swap("fg", 1, 2)], vec![swap("fg", 0, 1)], vec![end]];
    let (answer, is_free) = said(chain(weak("fg", false)));
    assert!(matches!(answer, Said::Race | Said::RaceInOneRun) && !is_free, "{answer:?}");
    // What it leaves is read behind a barrier.
    let left = vec![vec![swap("fg", 7, 1), BAR, decides(1)], vec![put(7), BAR, decides(1)]];
    let (answer, is_free) = said(left);
    assert!(answer != Said::Proved && !is_free, "{answer:?}");
}

/// Whoever observes what it wrote comes after all of it (8.9.5).
#[test]
fn a_swap_that_was_observed_comes_before_a_weak_write() {
    assert_eq!(said(vec![vec![swap("fg", 0, 1)], vec![seen(1)]]), (Said::Open, true));
    let chain = vec![vec![swap("fg", 0, 1)], vec![swap("fg", 1, 2)], vec![seen(2)]];
    assert_eq!(said(chain), (Said::Open, true));
    // One that it has not observed: the 1 is overwritten by a store.
    let overwritten = vec![vec![swap("fg", 0, 1), put(2)], vec![seen(2)]];
    assert_eq!(said(overwritten), (Said::RaceInOneRun, false));
}

#[test]
fn one_of_two_swaps_wins() {
    let wins =
        |value: u32| ask("fg", Ask::Swap { compare: 0, value }, Order::Relaxed, Some((0, Then::Store(place("ga", 0)))));
    assert_eq!(said(vec![vec![wins(1)], vec![wins(2)]]), (Said::Open, true));
    let (answer, is_free) = said(vec![vec![wins(1)], vec![wins(2)], vec![weak("fg", false)]]);
    assert!(matches!(answer, Said::Race | Said::RaceInOneRun) && !is_free, "{answer:?}");
    let loses = ask("fg", Ask::Swap { compare: 0, value: 3 }, Order::Relaxed, Some((1, Then::Store(place("ga", 0)))));
    let (answer, is_free) = said(vec![vec![wins(1)], vec![loses], vec![store(place("gb", 0))]]);
    assert!(answer != Said::Proved && !is_free, "{answer:?}");
}

/// Two strong stores do not race, and which of them comes last decides what is there behind a barrier.
#[test]
fn unordered_strong_stores_leave_either_value() {
    for value in [1, 2] {
        let threads = vec![vec![put(1), BAR, decides(value)], vec![put(2), BAR, decides(value)]];
        let (answer, is_free) = said(threads);
        assert!(answer != Said::Proved && !is_free, "{value}: {answer:?}");
    }
    // The same value, and additions, leave one value.
    let same = |value: u32| vec![vec![put(1), BAR, decides(value)], vec![put(1), BAR, weak("fg", false)]];
    assert_eq!(said(same(2)), (Said::Proved, true));
    let add = ask("fg", Ask::Add { by: 1 }, Order::Relaxed, None);
    let added = vec![vec![add, BAR, decides(1)], vec![add, BAR, decides(1)]];
    assert_eq!(said(added), (Said::Proved, true));
    // An addition keeps something of what came before it, and need not come before another one.
    let added = vec![vec![put(5), add, BAR, decides(6)], vec![add, BAR, decides(6)]];
    let (answer, is_free) = said(added);
    assert!(answer != Said::Proved && !is_free, "{answer:?}");
}

/// The second access of the first thread stands for the first one in what races, and not in what is read.
#[test]
fn a_strong_read_is_not_determined_by_a_later_access_of_its_thread() {
    let sees = ask("fg", Ask::Load, Order::Relaxed, Some((1, Then::Store(place("ga", 0)))));
    let load = ask("fg", Ask::Load, Order::Relaxed, None);
    for second in [load, put(3), ask("fg", Ask::Add { by: 1 }, Order::Relaxed, None), swap("fg", 7, 1)] {
        let (answer, is_free) = said(vec![vec![sees, second], vec![put(1), store(place("ga", 0))]]);
        assert!(answer != Said::Proved && !is_free, "{second:?}: {answer:?}");
    }
    // What comes before the write is determined.
    let before = vec![vec![sees, BAR, load], vec![BAR, put(1), store(place("ga", 0))]];
    assert_eq!(said(before), (Said::Proved, true));
}

fn report(body: &str, ctas: u32, threads: u32) -> Report {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n{body}\nret;\n}}\n"
    );
    let (tree, errors) = ptx::parse(&text);
    assert!(errors.is_empty(), "{errors:?}");
    let (module, _) = decode(&tree);
    let buffer = |name: &str| BufferSpec { name: name.to_owned(), bytes: 4096, contents: Contents::Zero };
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        buffers: ["x", "y"].map(buffer).to_vec(),
        arguments: (0..2).map(|buffer| Argument::Pointer { buffer, offset: 0 }).collect(),
        entry: "k".to_owned(),
        cluster: [1; 3],
        shared: 0,
        cooperative: false,
    };
    check(&module, &module.entries[0], &launch, &Limits::default())
}

/// The second CTA waits for all additions of the first, which it observes, and puts the counter back.
#[test]
fn more_accesses_than_are_kept_are_a_doubt_and_no_race() {
    let body = |count: u32| {
        format!(
            "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\nmov.u32 %r3, 0;\n\
             ADD: red.relaxed.gpu.global.add.u32 [%rd1], 1;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, {count};\n\
             @%p3 bra ADD;\nret;\n\
             WAIT: ld.relaxed.gpu.global.u32 %r4, [%rd1];\nsetp.lt.u32 %p4, %r4, {count};\n@%p4 bra WAIT;\n\
             st.weak.global.u32 [%rd1], 0;"
        )
    };
    let is_race = |report: &Report| report.findings.iter().any(|own| matches!(own, Finding::Race { .. }));
    let few = report(&body(200), 2, 32);
    assert!(!is_race(&few), "{:?}", few.findings);
    let many = report(&body(300), 2, 32);
    assert!(!is_race(&many), "{:?}", many.findings);
    let capped = |doubt: &Doubt| matches!(doubt, Doubt::Unobserved { cap: Cap::StandsFor(256), .. });
    assert!(many.doubts.iter().any(capped), "{:?}", many.doubts);
}

/// The last of many CTAs hears of all others: its operation is relaxed, and its fence acquires.
#[test]
fn the_last_of_a_hundred_hears_of_all_others() {
    let body = |fence: &str| {
        format!(
            "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd4, %rd2, %rd3;\nst.weak.global.u32 [%rd4], 1;\n\
             atom.release.gpu.global.add.u32 %r3, [%rd1], 1;\nsetp.ne.u32 %p2, %r3, 99;\n@%p2 ret;\n{fence}\
             mov.u32 %r4, 0;\nSUM: ld.weak.global.u32 %r5, [%rd2];\nadd.u64 %rd2, %rd2, 4;\nadd.u32 %r4, %r4, 1;\n\
             setp.lt.u32 %p3, %r4, 100;\n@%p3 bra SUM;"
        )
    };
    assert!(report(&body("fence.acq_rel.gpu;\n"), 100, 32).findings.is_empty());
    assert!(!report(&body(""), 100, 32).findings.is_empty());
}
