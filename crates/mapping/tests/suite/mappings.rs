//! Compiler mappings: the reductions of the bounded check change nothing, wrong mappings are found, right ones kept, and
//! what is found on event graphs is found in text.

use std::collections::BTreeSet;

use fencepost_check::{LoadedModel, Models, Options, load};
use fencepost_mapping::behaviour::behaviours;
use fencepost_mapping::bounded::{Checker, Counterexample, Lost, Reduction, Reductions, ScScopes, units};
use fencepost_mapping::given::{self, Answer};
use fencepost_mapping::graph::Placement;
use fencepost_mapping::label::{Kind, Label, Level, Order};
use fencepost_mapping::race::Guards;
use fencepost_mapping::scheme::{Device, Part, Profile, Row, Scheme, ScopeRule};
use fencepost_mapping::shape::{Operation, Renamings, Shape, shapes};
use fencepost_mapping::state::{Conclusion, State};
use fencepost_mapping::task::{NoTask, Schemes, Target, Task};
use fencepost_syntax::Source;

fn shipped(name: &str) -> LoadedModel {
    Models::shipped(name).expect("the model is shipped")
}

fn task(target: Target, scheme: Scheme) -> Task {
    let to = match target {
        Target::Ptx => "ptx-6.0",
        Target::X86 => "x86-tso",
        Target::Both => "cmm",
    };
    let schemes = Schemes { device: vec![scheme], host: vec![scheme] };
    Task::new(shipped("rc11-scoped"), (to, shipped(to)), &schemes, ScScopes::Any).expect("a mapping")
}

fn run(task: &Task, bound: usize, reductions: Reductions) -> Vec<Counterexample> {
    let mut checker = Checker::new(task.question(), reductions);
    units(bound, reductions).iter().flat_map(|unit| checker.unit(unit)).collect()
}

/// A behaviour with the names of threads and locations forgotten: the shape, what its reads read, the last writes.
type Nameless = (Shape, Vec<Option<usize>>, Vec<usize>);

/// Which behaviours have a counterexample, whatever the names of threads and locations. A fence at an end of a thread is
/// taken away: what is left must have a counterexample itself, which is what the reduction says.
fn canonical(found: &[Counterexample]) -> BTreeSet<Nameless> {
    let smallest = |one: &Counterexample| {
        let (shape, source, last) = without_end_fences(&one.shape, &one.behaviour.source, &one.behaviour.last);
        // The last writes, as the reads that one more reader of each location would do.
        let lasts: BTreeSet<usize> = last.into_iter().flatten().collect();
        let marks: Vec<Option<usize>> = (0..shape.count()).map(|at| lasts.contains(&at).then_some(at)).collect();
        let reads = shape.renamings(&source);
        let ends = shape.renamings(&marks);
        let both = reads
            .into_iter()
            .zip(ends)
            .map(|((shape, source), (_, marks))| (shape, source, marks.into_iter().flatten().collect::<Vec<usize>>()));
        both.min().expect("there is at least one order of the threads")
    };
    found.iter().map(smallest).collect()
}

fn without_end_fences(
    shape: &Shape,
    source: &[Option<usize>],
    last: &[Option<usize>],
) -> (Shape, Vec<Option<usize>>, Vec<Option<usize>>) {
    let mut kept: Vec<bool> = Vec::new();
    for thread in &shape.threads {
        let is_fence = |operation: &Operation| operation.kind == Kind::Fence;
        let first = thread.iter().take_while(|operation| is_fence(operation)).count();
        let behind = thread.iter().rev().take_while(|operation| is_fence(operation)).count();
        kept.extend((0..thread.len()).map(|at| at >= first && at + behind < thread.len()));
    }
    let place = |at: usize| kept[..at].iter().filter(|kept| **kept).count();
    let mut number = 0;
    let mut threads: Vec<Vec<Operation>> = Vec::new();
    for thread in &shape.threads {
        threads.push(thread.iter().enumerate().filter(|(at, _)| kept[number + at]).map(|(_, it)| *it).collect());
        number += thread.len();
    }
    threads.retain(|thread| !thread.is_empty());
    let source = source.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(write, _)| write.map(place)).collect();
    let last = last.iter().map(|write| write.map(place)).collect();
    (Shape { threads, locations: shape.locations }, source, last)
}

fn with_rows(mut task: Task, change: impl Fn(Profile) -> Profile) -> Task {
    task.profiles = task.profiles.into_iter().map(change).collect();
    task
}

/// Relaxed accesses that reach their CTA only: breaks coherence at three events.
fn narrowed(task: Task) -> Task {
    let narrow = |row: &mut Row| row.scope = ScopeRule::Narrow;
    with_rows(task, |profile| {
        let profile = profile.changed(Kind::Read, Order::Relaxed, narrow);
        profile.changed(Kind::Write, Order::Relaxed, narrow)
    })
}

/// Store-release and load-acquire that order nothing, and reads and writes that reach their CTA only: wrong in ways that
/// fences at the ends of threads, scopes and guards could hide.
fn weakened(task: Task) -> Task {
    const RELAXED: &[Part] = &[Part::Access(Order::Relaxed)];
    with_rows(narrowed(task), |profile| profile.changed(Kind::Write, Order::Release, |row| row.parts = RELAXED))
}

/// The same behaviours have counterexamples with the reductions and without any, of a right mapping (none) and of a wrong
/// one. No shape is left aside.
fn reductions_change_nothing(target: Target, scheme: Scheme) {
    let right = task(target, scheme);
    assert!(run(&right, 3, Reductions::ALL).is_empty());
    assert!(run(&right, 3, Reductions::NONE).is_empty());
    let wrong = narrowed(right);
    let (reduced, whole) = (run(&wrong, 3, Reductions::ALL), run(&wrong, 3, Reductions::NONE));
    assert_eq!(reduced.is_empty(), target == Target::X86, "x86 has no scopes to narrow");
    assert_eq!(canonical(&reduced), canonical(&whole));
}

#[test]
fn reductions_change_nothing_on_ptx_at_three_events() {
    reductions_change_nothing(Target::Ptx, Scheme::Leading);
}

#[test]
fn reductions_change_nothing_on_both_at_three_events() {
    reductions_change_nothing(Target::Both, Scheme::Trailing);
}

#[test]
fn reductions_change_nothing_on_x86_at_three_events() {
    reductions_change_nothing(Target::X86, Scheme::Trailing);
}

/// Each reduction by itself, beside all the others.
#[test]
fn each_reduction_changes_nothing_at_three_events() {
    for target in [Target::Ptx, Target::Both, Target::X86] {
        for wrong in [task(target, Scheme::Trailing), weakened(task(target, Scheme::Trailing))] {
            let reduced = canonical(&run(&wrong, 3, Reductions::ALL));
            for reduction in Reduction::ALL {
                let whole = run(&wrong, 3, Reductions::ALL.without(reduction));
                assert_eq!(reduced, canonical(&whole), "{target:?} {reduction:?}");
            }
        }
    }
}

/// Fewer than three accesses cannot go wrong, so at three events nothing with a fence at an end of a thread can. At four it
/// can: with the fences kept there are more counterexamples, and none without one that has no such fence.
#[test]
fn fences_at_the_ends_of_threads_change_nothing_at_four_events() {
    for (target, scheme) in [(Target::Ptx, Scheme::Leading), (Target::Both, Scheme::Trailing)] {
        let wrong = weakened(task(target, scheme));
        let reduced = run(&wrong, 4, Reductions::ALL);
        let whole = run(&wrong, 4, Reductions::ALL.without(Reduction::EndFences));
        assert!(whole.len() > reduced.len(), "{target:?}: none has such a fence");
        assert_eq!(canonical(&reduced), canonical(&whole), "{target:?}");
    }
}

#[test]
fn published_mappings_are_kept_at_four_events() {
    for target in [Target::Ptx, Target::X86, Target::Both] {
        for scheme in [Scheme::Leading, Scheme::Trailing] {
            let found = run(&task(target, scheme), 4, Reductions::ALL);
            let lost = found.iter().filter(|one| one.lost == Lost::Promised).count();
            // Fences before loads of the host and fences before stores of the device miss each other.
            let is_broken = target == Target::Both && scheme == Scheme::Leading;
            assert_eq!(lost > 0, is_broken, "{target:?} {scheme:?}");
            let thin_air = found.iter().any(|one| one.lost == Lost::ThinAir);
            assert_eq!(thin_air, target != Target::X86, "load buffering, {target:?}");
        }
    }
}

#[test]
fn wrong_mappings_are_found_and_confirmed_in_text() {
    const RELAXED: &[Part] = &[Part::Access(Order::Relaxed)];
    const RELEASE: &[Part] = &[Part::Access(Order::Release)];
    const ACQUIRE: &[Part] = &[Part::Access(Order::Acquire)];
    const MOVE: &[Part] = &[Part::Access(Order::NonAtomic)];
    let mutations: [(Target, Kind, Order, &'static [Part]); 4] = [
        (Target::Ptx, Kind::Write, Order::Release, RELAXED),
        (Target::Ptx, Kind::Read, Order::Acquire, RELAXED),
        (Target::Ptx, Kind::Write, Order::SeqCst, RELEASE),
        (Target::X86, Kind::Write, Order::SeqCst, MOVE),
    ];
    for (target, kind, order, parts) in mutations {
        let mut wrong = task(target, Scheme::Trailing);
        wrong = with_rows(wrong, |profile| profile.changed(kind, order, |row| row.parts = parts));
        if order == Order::SeqCst && target == Target::Ptx {
            wrong = with_rows(wrong, |profile| profile.changed(Kind::Read, Order::SeqCst, |row| row.parts = ACQUIRE));
        }
        let mut state = State::new(&wrong);
        state.add(&Default::default(), run(&wrong, 4, Reductions::ALL));
        assert_eq!(state.conclusion(1), Conclusion::Broken, "{kind:?} {order:?}");
        let first = state.minimal().into_iter().find(|one| one.lost == Lost::Promised).expect("one is minimal").clone();
        let judged = given::confirm(&first, "found", &wrong, &Options::default()).expect("the text is a test");
        assert_eq!(judged.answer.word(), "broken", "{}\n{:?}", first.c_text("found"), judged.compiled);
    }
}

#[test]
fn the_printed_figure_is_broken() {
    let found = run(&task(Target::Ptx, Scheme::Printed), 4, Reductions::ALL);
    assert!(found.iter().any(|one| one.lost == Lost::Promised));
}

#[test]
fn given_tests_are_kept_racy_or_broken() {
    let judge = |text: &str, target: Target, scheme: Scheme| -> Vec<&'static str> {
        let (tests, diagnostics) = load(&Source::new("test.litmus", text));
        assert!(tests.len() == 1, "{diagnostics:?}");
        let judged = given::judge(&tests[0], &task(target, scheme), &Options::default());
        for one in &judged {
            if let Answer::Unknown { why } = &one.answer {
                panic!("{why}\n{:?}", one.compiled);
            }
        }
        judged.iter().map(|one| one.answer.word()).collect()
    };
    let sb = "C sb\n{ x = 0; y = 0; }\n\
        P0 (atomic_int* x, atomic_int* y) { atomic_store(x, 1); int r0 = atomic_load(y); }\n\
        P1 (atomic_int* x, atomic_int* y) { atomic_store(y, 1); int r0 = atomic_load(x); }\n\
        ~exists (0:r0 = 0 /\\ 1:r0 = 0)\n";
    for target in [Target::Ptx, Target::X86] {
        assert_eq!(judge(sb, target, Scheme::Leading), ["kept"]);
        assert_eq!(judge(sb, target, Scheme::Trailing), ["kept"]);
    }
    assert_eq!(judge(sb, Target::Both, Scheme::Trailing), ["kept"; 4]);
    let lb = sb.replace(
        "atomic_store(x, 1); int r0 = atomic_load(y);",
        "int r0 = atomic_load_explicit(y, memory_order_relaxed); atomic_store_explicit(x, 1, memory_order_relaxed);",
    );
    let lb = lb.replace(
        "atomic_store(y, 1); int r0 = atomic_load(x);",
        "int r0 = atomic_load_explicit(x, memory_order_relaxed); atomic_store_explicit(y, 1, memory_order_relaxed);",
    );
    assert_eq!(judge(&lb, Target::Ptx, Scheme::Leading), ["kept but for thin air"]);
    assert_eq!(judge(&lb, Target::X86, Scheme::Trailing), ["kept"]);
    let racy = "C racy\n{ x = 0; }\nP0 (int* x) { *x = 1; }\nP1 (int* x) { int r0 = *x; }\nexists (1:r0 = 1)\n";
    assert_eq!(judge(racy, Target::Ptx, Scheme::Leading), ["racy"]);
}

/// Programs of three events go the way of text, with labels in turn: nothing that the graphs call kept is broken there.
#[test]
fn what_is_kept_on_graphs_is_kept_in_text() {
    let task = task(Target::Both, Scheme::Trailing);
    let mut turn = 0;
    for kinds in units(3, Reductions::ALL) {
        for shape in shapes(&kinds, Renamings::One) {
            let labels = shape.operations().map(|operation| {
                let orders = operation.kind.orders();
                turn += 1;
                Label::new(operation.kind, orders[turn % orders.len()], Level::System)
            });
            let labels = labels.collect();
            let threads = shape.threads.len();
            let profiles: Vec<usize> = (0..threads).map(|thread| (turn + thread) % task.profiles.len()).collect();
            let is_host = |profile: usize| task.profiles[profile].device == Device::X86;
            let placement =
                Placement(profiles.iter().map(|profile| if is_host(*profile) { None } else { Some(0) }).collect());
            let reads: Vec<bool> = shape.operations().map(|operation| operation.kind.reads()).collect();
            let guards = Guards { compares: vec![false; reads.len()], guarded: reads };
            let behaviour = behaviours(&shape).swap_remove(0);
            let one = Counterexample { shape, behaviour, labels, profiles, placement, guards, lost: Lost::Promised };
            let judged = given::confirm(&one, "kept", &task, &Options::default()).expect("the text is a test");
            let is_kept = matches!(judged.answer, Answer::Kept { .. } | Answer::KeptButThinAir { .. } | Answer::Racy);
            assert!(is_kept, "{:?}\n{}\n{:?}", judged.answer, one.c_text("kept"), judged.compiled);
        }
    }
}

#[test]
fn a_state_is_resumed_only_by_its_own_check() {
    let one = task(Target::X86, Scheme::Trailing);
    let mut state = State::new(&one);
    state.add(&Default::default(), Vec::new());
    let text = state.print();
    assert_eq!(State::resume(&text, &one).map(|state| state.done), Ok(1));
    assert!(State::resume(&text, &task(Target::X86, Scheme::Leading)).is_err());
    assert!(State::resume("{}", &one).is_err());
}

/// What is compiled can be read: variables of inner blocks, and such as are called like temporaries.
#[test]
fn compiled_names_are_names() {
    let text = "C names\n{ x = 0; }\nP0@cta 0, gpu 0 (atomic_int* x) {\n    int t1 = 7;\n    int a = 1;\n    \
                if (a == 1) { int a = atomic_load(x) + 5; atomic_store(x, a); }\n    int r = a + t1;\n}\n\
                exists (P0:r = 8 /\\ x = 5)\n";
    let (tests, diagnostics) = load(&Source::new("names.litmus".to_owned(), text.to_owned()));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    for (target, scheme) in [(Target::Ptx, Scheme::Leading), (Target::X86, Scheme::Trailing)] {
        let judged = given::judge(&tests[0], &task(target, scheme), &Options::default());
        assert!(judged.iter().all(|one| one.answer == Answer::Kept { outcomes: 1 }), "{judged:?}");
    }
}

#[test]
fn a_models_header_says_what_it_can_be_mapped_to_and_what_is_claimed_of_that() {
    let text = |name: &str| shipped(name).source.text.into_owned();
    let own =
        |name: &str, text: String| Models::from_source(name, Source::new(name, text), &mut |_| None).expect("a model");
    let new = |from: LoadedModel, to: LoadedModel, scheme: Scheme| {
        let schemes = Schemes { device: vec![scheme], host: vec![scheme] };
        Task::new(from, ("my/own.cat", to), &schemes, ScScopes::Any)
    };
    let c = || own("c.cat", text("rc11-scoped"));
    let both = new(c(), own("own.cat", text("cmm")), Scheme::Trailing).expect("a mapping");
    assert_eq!((both.target, both.title().as_str()), (Target::Both, "own"));
    assert_eq!(both.claimed_by(), Some("Theorem 6.1"));
    assert!(both.claim.variants().contains("thin-air=allowed"), "{:?}", both.claim.variants());
    let leading = new(c(), shipped("cmm"), Scheme::Leading).expect("a mapping");
    assert_eq!(leading.claimed_by(), None);
    let silent = own("c.cat", text("rc11-scoped").replace("// without-thin-air:", "// Without thin air:"));
    let whole = new(silent, shipped("ptx"), Scheme::Leading).expect("a mapping");
    assert_eq!((whole.target, whole.claim.variants()), (Target::Ptx, whole.source_model.variants()));
    assert_eq!(new(shipped("ptx"), shipped("ptx"), Scheme::Leading).err(), Some(NoTask::Source));
    assert_eq!(new(c(), shipped("sc"), Scheme::Leading).err(), Some(NoTask::Target));
    assert_eq!(new(c(), c(), Scheme::Leading).err(), Some(NoTask::Target));
}
