//! Programs with atomic operations outside locks, weak accesses behind what they return, and vectors (8.2.4).

use crate::edits::{Changes, edit_by};
use crate::patterns::{BAR, load, store};
use crate::program::{Ask, Item, Order, Place, Program, Scope, Then, place};
use crate::random::Random;

const X: Place = Place { name: "ga", offset: 0 };
const Y: Place = Place { name: "gb", offset: 8 };

pub(crate) fn ask(at: &'static str, by: Ask, order: Order, then: Option<(u32, Then)>) -> Item {
    Item::Ask { at, by, order, scope: Scope::Gpu, then }
}

pub(crate) fn swap(at: &'static str, compare: u32, value: u32) -> Item {
    ask(at, Ask::Swap { compare, value }, Order::Relaxed, None)
}

/// A weak access to a flag.
pub(crate) fn weak(at: &'static str, writes: bool) -> Item {
    Item::FlagWeak { at, writes }
}

fn pick_order(random: &mut Random) -> Order {
    random.pick(&[Order::Relaxed, Order::Relaxed, Order::Acquire, Order::Release, Order::AcquireRelease])
}

fn pick_scope(random: &mut Random) -> Scope {
    random.pick(&[Scope::Gpu, Scope::Gpu, Scope::Gpu, Scope::Cta])
}

fn any_ask(random: &mut Random) -> Ask {
    let value = random.below(4) as u32;
    match random.below(7) {
        0..=2 => Ask::Swap { compare: random.below(4) as u32, value },
        3 => Ask::Exchange { value },
        4 => Ask::Add { by: random.below(3) as u32 },
        _ => Ask::Load,
    }
}

fn any_then(at: &'static str, random: &mut Random) -> Option<(u32, Then)> {
    let data = random.pick(&[X, Y]);
    let then = match random.below(8) {
        0 | 1 => Then::StoreFlag(at),
        2 => Then::LoadFlag(at),
        3 | 4 => Then::Store(data),
        5 => Then::Load(data),
        _ => return None,
    };
    Some((random.below(4) as u32, then))
}

/// A load has no release, a store no acquire.
fn allowed(by: Ask, order: Order) -> Order {
    match (by, order) {
        (Ask::Load, Order::Release | Order::AcquireRelease) => Order::Acquire,
        (_, order) => order,
    }
}

fn any_vector(random: &mut Random) -> Item {
    let writes = random.percent(50);
    let (parts, bits, offsets) = random.pick(&[(2, 64, &[0][..]), (4, 32, &[0]), (2, 32, &[0, 8])]);
    let order = match (random.below(4), writes) {
        (0 | 1, _) => Order::Weak,
        (2, _) => Order::Relaxed,
        (_, true) => Order::Release,
        (_, false) => Order::Acquire,
    };
    Item::Vector { at: place(X.name, random.pick(offsets)), parts, bits, order, scope: pick_scope(random), writes }
}

fn any(random: &mut Random) -> Item {
    let at = random.pick(&["fg", "fg", "fg", "fh"]);
    let data = random.pick(&[X, X, place("ga", 8), Y]);
    match random.below(16) {
        0..=6 => {
            let (by, order) = (any_ask(random), pick_order(random));
            let order = if by == Ask::Load && random.percent(25) { Order::Weak } else { allowed(by, order) };
            Item::Ask { at, by, order, scope: pick_scope(random), then: any_then(at, random) }
        }
        7 => weak(at, random.percent(50)),
        8 => Item::FlagStore { at, value: random.below(4) as u32, release: random.percent(40), scope: Scope::Gpu },
        9 => Item::Fence { sc: random.percent(20), scope: pick_scope(random) },
        10..=12 => any_vector(random),
        13 => load(data),
        14 => store(data),
        _ => Item::Load { from: data, scope: Some(pick_scope(random)) },
    }
}

const COUNT: usize = 16;

fn pattern(number: usize, random: &mut Random) -> Program {
    let far = u32::from(random.percent(50));
    let order = pick_order(random);
    let seen = |value: u32, then: Then| ask("fg", Ask::Load, Order::Relaxed, Some((value, then)));
    let add = |order: Order, then| ask("fg", Ask::Add { by: 1 }, order, then);
    let put = |value: u32| Item::FlagStore { at: "fg", value, release: false, scope: Scope::Gpu };
    let decides = ask("fg", Ask::Load, Order::Weak, Some((random.below(3) as u32 + 1, Then::Store(X))));
    let vector = |order, writes| Item::Vector { at: X, parts: 2, bits: 64, order, scope: Scope::Gpu, writes };
    let threads: Vec<(u32, Vec<Item>)> = match number {
        // A swap that always fails, beside a weak access.
        0 => vec![(0, vec![swap("fg", 7, 1)]), (far, vec![weak("fg", random.percent(30))])],
        1 => vec![(0, vec![swap("fg", 7, 1)]), (far, vec![swap("fg", 7, 2)]), (0, vec![weak("fg", false)])],
        // One that may be observed.
        2 => vec![(0, vec![swap("fg", 0, 1)]), (far, vec![seen(1, Then::StoreFlag("fg"))])],
        3 => {
            vec![(0, vec![swap("fg", 0, 1)]), (far, vec![swap("fg", 1, 2)]), (0, vec![seen(2, Then::StoreFlag("fg"))])]
        }
        // One of two wins.
        4 => {
            let wins = |value| ask("fg", Ask::Swap { compare: 0, value }, order, Some((0, Then::Store(X))));
            vec![(0, vec![wins(1)]), (far, vec![wins(2)])]
        }
        5 => vec![(0, vec![swap("fg", 0, 1)]), (far, vec![swap("fg", 0, 2)]), (0, vec![weak("fg", false)])],
        // Handed over.
        6 => {
            let give = ask("fg", Ask::Exchange { value: 1 }, Order::Release, None);
            let take = ask("fg", Ask::Load, Order::Acquire, Some((1, Then::Load(X))));
            vec![(0, vec![store(X), give]), (far, vec![take])]
        }
        7 => {
            let give = ask("fg", Ask::Swap { compare: 0, value: 1 }, Order::Release, None);
            let take = ask("fg", Ask::Swap { compare: 1, value: 2 }, Order::Acquire, Some((1, Then::Store(X))));
            vec![(0, vec![store(X), give]), (far, vec![take])]
        }
        8 => vec![
            (0, vec![store(X), add(Order::AcquireRelease, Some((1, Then::StoreFlag("fg"))))]),
            (far, vec![store(Y), add(Order::AcquireRelease, Some((1, Then::Load(X))))]),
        ],
        // Before a barrier and behind it.
        9 => vec![(0, vec![swap("fg", 0, 1), BAR]), (0, vec![BAR, weak("fg", true)])],
        10 => vec![(0, vec![put(1), BAR, decides]), (0, vec![put(2), BAR, decides])],
        11 => vec![(0, vec![add(order, None), BAR, decides]), (0, vec![add(order, None), BAR, decides])],
        12 => vec![
            (0, vec![put(3), BAR, swap("fg", 0, 1), BAR, decides]),
            (0, vec![BAR, weak("fg", false), BAR, decides]),
        ],
        // Vectors.
        13 => vec![(0, vec![vector(Order::Weak, true), BAR]), (0, vec![BAR, vector(Order::Weak, false)])],
        14 => vec![(0, vec![vector(Order::Relaxed, true)]), (far, vec![vector(Order::Relaxed, false)])],
        _ => {
            let give = ask("fg", Ask::Exchange { value: 1 }, Order::Release, None);
            let take = ask("fg", Ask::Add { by: 0 }, Order::Acquire, Some((1, Then::Load(place("ga", 8)))));
            vec![(0, vec![vector(Order::Weak, true), give]), (far, vec![take])]
        }
    };
    Program::new(threads)
}

/// Items in any order, with barriers that all threads of the CTA pass.
fn shuffled(random: &mut Random) -> Program {
    let count = 2 + random.below(2);
    let far = random.percent(40);
    let cta = |at: usize| u32::from(far && at + 1 == count);
    let mut threads: Vec<Vec<Item>> = vec![Vec::new(); count];
    for _ in 0..3 + random.below(5) {
        if random.percent(15) {
            threads.iter_mut().enumerate().filter(|(at, _)| cta(*at) == 0).for_each(|(_, items)| items.push(BAR));
        }
        threads[random.below(count)].push(any(random));
    }
    Program::new(threads.into_iter().enumerate().map(|(at, items)| (cta(at), items)).collect())
}

/// The same item, a little wrong.
fn other(item: Item, random: &mut Random) -> Item {
    match item {
        Item::Ask { at, by, order, scope, then } => match random.below(5) {
            0 => Item::Ask { at, by: any_ask(random), order: Order::Relaxed, scope, then },
            1 => Item::Ask { at, by, order: allowed(by, pick_order(random)), scope, then },
            2 => Item::Ask { at, by, order, scope: Scope::Cta, then },
            3 => Item::Ask { at, by, order, scope, then: any_then(at, random) },
            _ => Item::Ask { at: random.pick(&["fg", "fh"]), by, order, scope, then },
        },
        Item::Vector { .. } => any_vector(random),
        Item::FlagWeak { at, writes } => Item::FlagWeak { at, writes: !writes },
        _ => any(random),
    }
}

const CHANGES: Changes = Changes { less: 1, moved: 2, more: 3, any, other };

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0xa70);
    if random.percent(45) {
        return shuffled(&mut random);
    }
    let mut program = pattern(random.below(COUNT), &mut random);
    let edits = random.pick(&[0, 1, 1, 1, 2, 2]);
    for _ in 0..edits {
        edit_by(&CHANGES, &mut program, &mut random);
    }
    program
}
