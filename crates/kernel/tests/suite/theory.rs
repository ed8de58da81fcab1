//! Programs whose one run is clean and that are not right: each breaks a condition under which one run stands for all
//! (docs/kernels.md). Beside each, one that keeps it.

use crate::compare::{Compared, compare};
use crate::patterns::{BAR, arrive, arrive_expecting, bulk_load, init, load, store, wait};
use crate::program::{Item, Layout, Program, Scope, place};
use crate::sides::{self, Readings};

fn both(threads: Vec<Vec<Item>>) -> [Compared; 2] {
    let program = Program::new(threads.into_iter().map(|items| (0, items)).collect());
    [compare(&program, Readings::Weakest), compare(&program, Readings::Strongest)]
}

/// The run must not say that it is right; and the axioms say why.
fn not_proved(threads: Vec<Vec<Item>>) {
    for Compared { kernel, model, kinds } in both(threads) {
        assert!(!kernel.is_proved(), "{kernel:?} {model:?}");
        let wrong = !model.is_clean() || model.outcomes != Some(1);
        assert!(wrong && kinds.is_empty(), "{kinds:?} {kernel:?} {model:?}");
    }
}

fn proved(threads: Vec<Vec<Item>>) {
    for Compared { kernel, model, kinds } in both(threads) {
        assert!(kernel.is_proved() && model.is_clean() && kinds.is_empty(), "{kinds:?} {kernel:?} {model:?}");
    }
}

fn counted(arrive: bool) -> Item {
    Item::Bar { id: 1, warps: Some(2), arrive }
}

/// H1: what a ticket says decides whether there is a race.
#[test]
fn a_value_that_depends_on_the_schedule_must_not_decide() {
    let (ticket, x) = (Item::Ticket { from: place("ga", 0), to: place("sa", 0) }, place("sa", 0));
    let other = Item::Ticket { from: place("ga", 0), to: place("sb", 0) };
    not_proved(vec![vec![ticket], vec![store(x), other]]);
    proved(vec![vec![ticket, BAR], vec![BAR, store(x)]]);
}

/// H1: a strong read decides, and the write that it may see comes before it or behind it.
#[test]
fn a_strong_read_with_an_unordered_write_must_not_decide() {
    let x = place("ga", 0);
    let (write, read) = (
        Item::Store { to: x, scope: Some(Scope::Gpu) },
        Item::IfZero { from: x, scope: Some(Scope::Gpu), to: place("sa", 0) },
    );
    not_proved(vec![vec![write], vec![read]]);
    not_proved(vec![vec![read], vec![write]]);
    proved(vec![vec![write, BAR], vec![BAR, read]]);
}

/// H2: two arrivals and two meetings at one barrier, of which any two may meet.
#[test]
fn a_thread_must_know_that_the_last_generation_is_over() {
    let x = place("sa", 0);
    not_proved(vec![vec![store(x), counted(true)], vec![counted(true)], vec![counted(false), load(x), counted(false)]]);
    proved(
        vec![
            vec![store(x), counted(true)],
            vec![BAR, counted(true)],
            vec![counted(false), load(x), BAR, counted(false)],
        ]
        .into_iter()
        .enumerate()
        .map(|(at, mut items)| {
            if at == 0 {
                items.push(BAR);
            }
            items
        })
        .collect(),
    );
}

/// D1: an mbarrier that counts one arrival, and two that arrive.
#[test]
fn an_arrival_must_know_that_the_phase_before_is_over() {
    let x = place("sa", 0);
    not_proved(vec![
        vec![init("ma", 1), BAR, store(x), arrive("ma")],
        vec![BAR, arrive("ma")],
        vec![BAR, wait("ma", 0), load(x)],
    ]);
    proved(vec![
        vec![init("ma", 2), BAR, store(x), arrive("ma")],
        vec![BAR, arrive("ma")],
        vec![BAR, wait("ma", 0), load(x)],
    ]);
}

/// D1: behind a wait for the phase all depends on it, also through relaxed synchronisation; behind an operation on it nothing does.
#[test]
fn a_relaxed_way_from_a_wait_tells_that_a_phase_is_over() {
    let x = place("sa", 0);
    let relaxed = Item::Arrive { at: "mb", rank: None, release: false, scope: Scope::Cta, expect: None, count: 1 };
    let seen = Item::Wait { at: "mb", parity: 0, acquire: false, scope: Scope::Cta };
    let program = |count: u32, first: &[Item], last: &[Item]| {
        vec![
            [&[init("ma", 1), init("mb", count), BAR, store(x), arrive("ma")], first].concat(),
            vec![BAR, seen, arrive("ma")],
            [&[BAR, wait("ma", 0)], last, &[load(x)]].concat(),
        ]
    };
    not_proved(program(1, &[relaxed], &[]));
    proved(program(1, &[], &[relaxed]));
    proved(program(2, &[relaxed], &[relaxed]));
}

/// D2: the phase after the awaited one may be over before anybody looks.
#[test]
fn a_wait_must_not_be_overtaken() {
    let follower =
        |answer: &[Item]| [&[init("ma", 1), init("mb", 1), BAR, arrive("ma")], answer, &[arrive("ma")]].concat();
    not_proved(vec![follower(&[]), vec![BAR, wait("ma", 0), wait("ma", 1)]]);
    not_proved(vec![follower(&[wait("ma", 0)]), vec![BAR, wait("ma", 0), wait("ma", 1)]]);
    proved(vec![follower(&[wait("ma", 0), wait("mb", 0)]), vec![BAR, wait("ma", 0), arrive("mb"), wait("ma", 1)]]);
}

/// D2: a wait for the phase two ahead returns at the one before.
#[test]
fn a_wait_must_know_the_phase_before() {
    let x = place("sa", 0);
    let leader =
        vec![init("ma", 1), BAR, arrive("ma"), wait("ma", 0), arrive("ma"), wait("ma", 1), store(x), arrive("ma")];
    not_proved(vec![leader, vec![BAR, wait("ma", 0), wait("ma", 0), load(x)]]);
    let leader =
        vec![init("ma", 1), init("mb", 1), BAR, arrive("ma"), wait("mb", 0), store(x), arrive("ma"), wait("ma", 1)];
    proved(vec![leader, vec![BAR, wait("ma", 0), arrive("mb"), wait("ma", 1), load(x)]]);
}

/// C1: the phase may be over before the bytes are expected.
#[test]
fn bytes_must_be_expected_before_the_last_arrival() {
    let (expect, x) = (Item::Expect { at: "ma", bytes: 16 }, place("sa", 0));
    not_proved(vec![
        vec![init("ma", 1), BAR, expect, bulk_load()],
        vec![BAR, arrive("ma")],
        vec![BAR, wait("ma", 0), load(x)],
    ]);
    proved(vec![
        vec![init("ma", 2), BAR, expect, bulk_load(), arrive("ma")],
        vec![BAR, arrive("ma")],
        vec![BAR, wait("ma", 0), load(x)],
    ]);
    proved(vec![
        vec![init("ma", 2), BAR, arrive_expecting("ma", 16), bulk_load()],
        vec![BAR, arrive("ma")],
        vec![BAR, wait("ma", 0), load(x)],
    ]);
}

/// N: an arrival that must not complete the phase may be the last.
#[test]
fn an_arrival_that_must_not_complete_comes_before_another() {
    let only = Item::ArriveOnly { at: "ma" };
    not_proved(vec![vec![init("ma", 2), BAR, only], vec![BAR, arrive("ma")]]);
    proved(vec![vec![init("ma", 2), BAR, only, BAR], vec![BAR, BAR, arrive("ma")]]);
}

/// H5: a flag with two writers tells of one of them.
#[test]
fn a_flag_of_two_writers_tells_of_one() {
    let x = place("sa", 0);
    let set = Item::FlagSet { at: "fs", release: true, scope: Scope::Cta };
    let spin = Item::FlagSpin { at: "fs", acquire: true, scope: Scope::Cta };
    not_proved(vec![vec![store(x), set], vec![set], vec![spin, load(x)]]);
}

/// A flag in shared memory that nobody has initialised.
#[test]
fn a_flag_of_one_writer_is_no_race() {
    let x = place("sa", 0);
    let set = Item::FlagSet { at: "fs", release: true, scope: Scope::Cta };
    let spin = Item::FlagSpin { at: "fs", acquire: true, scope: Scope::Cta };
    for Compared { kernel, model, kinds } in both(vec![vec![store(x), set], vec![spin, load(x)]]) {
        assert!(kernel.is_clean() && model.is_clean() && kinds.is_empty(), "{kernel:?} {model:?}");
    }
}

fn report(threads: Vec<Vec<Item>>) -> fencepost_kernel::report::Report {
    let program = Program::new(threads.into_iter().map(|items| (0, items)).collect());
    let module = sides::module(&program.kernel(Layout::Warps).text);
    let launch = sides::launch(&program, Layout::Warps);
    let limits = fencepost_kernel::check::Limits::default();
    fencepost_kernel::check::check(&module, &module.entries[0], &launch, &limits)
}

/// D2: a run in which the wait comes late shows the hang.
#[test]
fn a_wait_that_comes_late_hangs() {
    let leader = vec![init("ma", 1), BAR, arrive("ma"), arrive("ma")];
    let found = report(vec![leader, vec![BAR, wait("ma", 0)]]);
    let hangs =
        |finding: &fencepost_kernel::report::Finding| matches!(finding, fencepost_kernel::report::Finding::Hang { .. });
    assert!(found.findings.iter().any(hangs), "{found:?}");
}

/// H5: flags that grow, counters, tickets; and what breaks each of them.
#[test]
fn waits_for_what_every_run_has_are_proved() {
    let (x, y) = (place("ga", 0), place("gb", 0));
    let set = |value| Item::FlagStore { at: "fg", value, release: true, scope: Scope::Gpu };
    let add = Item::Count { at: "fg", by: 1, atom: false, release: true, scope: Scope::Gpu };
    let until = |value| Item::Await { at: "fg", value, equal: false, acquire: true, scope: Scope::Gpu };
    let exactly = |value| Item::Await { at: "fg", value, equal: true, acquire: true, scope: Scope::Gpu };
    let last = |count, from| Item::Last { at: "fg", count, orders: true, scope: Scope::Gpu, from };
    proved(vec![vec![store(x), set(1)], vec![until(1), load(x)]]);
    proved(vec![vec![store(x), set(1), store(y), set(2)], vec![until(1), load(x), until(2), load(y)]]);
    // The value that is waited for may be gone.
    not_proved(vec![vec![store(x), set(1), set(2)], vec![exactly(1), load(x)]]);
    not_proved(vec![vec![store(x), set(1), set(0)], vec![until(1), load(x)]]);
    proved(vec![vec![store(x), add], vec![store(y), add], vec![until(2), load(x), load(y)]]);
    // One of the two is enough.
    not_proved(vec![vec![store(x), add], vec![store(y), add], vec![until(1), load(x)]]);
    // A store between the two may hide one, for ever.
    not_proved(vec![vec![set(1)], vec![add, until(2)]]);
    proved(vec![vec![store(x), last(2, y)], vec![store(y), last(2, x)]]);
    not_proved(vec![vec![store(x), last(1, y)], vec![store(y), last(1, x)]]);
}

/// What a whole check says is what its runs say.
#[test]
fn the_readings_of_a_race_are_named() {
    let out = [Item::BulkStore { to: "ga", from: "sa" }, Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }];
    let copy = [&[BAR, crate::patterns::FENCE], &out[..]].concat();
    let program = Program::new(vec![(0, vec![store(place("sa", 0)), BAR]), (0, copy)]);
    let module = sides::module(&program.kernel(Layout::Warps).text);
    let launch = sides::launch(&program, Layout::Warps);
    let limits = fencepost_kernel::check::Limits::default();
    let report = fencepost_kernel::check::check(&module, &module.entries[0], &launch, &limits);
    let readings: Vec<&[&str]> = (report.findings.iter())
        .filter_map(|finding| match finding {
            fencepost_kernel::report::Finding::Race { only, .. } => Some(&only[..]),
            _ => None,
        })
        .collect();
    assert_eq!(readings, [["async-fence"]], "{report:?}");
}
