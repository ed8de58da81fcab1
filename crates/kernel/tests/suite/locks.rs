//! Programs whose threads take locks and tickets: right ones, and what goes wrong with them.

use crate::edits::{Changes, edit_by};
use crate::patterns::{BAR, load, store};
use crate::program::{By, Item, Place, Program, Scope, place};
use crate::random::Random;

/// How a lock is taken and given back.
#[derive(Copy, Clone)]
struct How {
    exchange: bool,
    by: By,
    /// None: the operations order; else fences do, of this kind.
    fenced: Option<bool>,
    scope: Scope,
}

impl How {
    fn any(random: &mut Random) -> How {
        How {
            exchange: random.percent(30),
            by: random.pick(&[By::Store, By::Exchange, By::CompareAndSwap]),
            fenced: random.pick(&[None, None, Some(false), Some(true)]),
            scope: Scope::Gpu,
        }
    }

    fn section(self, at: &'static str, inside: &[Item]) -> Vec<Item> {
        let (orders, scope) = (self.fenced.is_none(), self.scope);
        let fence: Vec<Item> = self.fenced.iter().map(|sc| Item::Fence { sc: *sc, scope }).collect();
        let lock = Item::Lock { at, exchange: self.exchange, acquire: orders, scope };
        let unlock = Item::Unlock { at, by: self.by, release: orders, scope };
        [&[lock], &fence[..], inside, &fence[..], &[unlock]].concat()
    }
}

const COUNT: usize = 11;

fn pattern(number: usize, random: &mut Random) -> Program {
    let (how, same) = (How::any(random), How::any(random));
    let other = if random.percent(60) { how } else { same };
    let far = u32::from(random.percent(60));
    let (x, y) = (place("ga", 0), place("gb", 8));
    let add = [load(x), store(x)];
    let first = Item::IfZero { from: x, scope: None, to: y };
    let flag = |value| Item::FlagStore { at: "fh", value, release: true, scope: Scope::Gpu };
    let wait = Item::Await { at: "fh", value: 1, equal: false, acquire: true, scope: Scope::Gpu };
    let ticket = |to: Place| Item::Ticket { from: x, to };
    let threads: Vec<(u32, Vec<Item>)> = match number {
        0 => vec![(0, how.section("fg", &add)), (far, other.section("fg", &add))],
        1 => vec![(0, how.section("fg", &add)), (far, other.section("fg", &[load(x)])), (0, how.section("fg", &add))],
        // For the CTA.
        2 => vec![
            (0, how.section("fg", &[BAR, BAR])),
            (0, vec![BAR, load(x), store(x), BAR]),
            (1, other.section("fg", &add)),
        ],
        // Twice.
        3 => vec![
            (0, [how.section("fg", &add), other.section("fg", &[load(x)])].concat()),
            (far, other.section("fg", &add)),
        ],
        // One in the other.
        4 => vec![
            (0, how.section("fg", &other.section("fh", &add))),
            (far, how.section("fg", &other.section("fh", &add))),
        ],
        // One after the other.
        5 => vec![
            (0, [how.section("fg", &[store(x)]), other.section("fh", &[store(y)])].concat()),
            (far, [other.section("fh", &[load(y)]), how.section("fg", &[load(x)])].concat()),
        ],
        // What is protected decides.
        6 => vec![(0, how.section("fg", &[first, store(x)])), (far, other.section("fg", &[first, store(x)]))],
        // A flag beside the lock.
        7 => vec![
            (0, [how.section("fg", &add), vec![store(y), flag(1)]].concat()),
            (far, [vec![wait, load(y)], other.section("fg", &add)].concat()),
        ],
        // Tickets.
        8 => vec![(0, vec![ticket(y)]), (far, vec![ticket(y)])],
        9 => vec![(0, vec![ticket(y), flag(1)]), (far, vec![ticket(y)]), (0, vec![wait, ticket(place("gb", 0))])],
        // Before a barrier and behind it.
        _ => vec![
            (0, [how.section("fg", &add), vec![BAR]].concat()),
            (0, [vec![BAR], other.section("fg", &[load(x)])].concat()),
        ],
    };
    Program::new(threads)
}

/// The same item, a little wrong.
fn other(item: Item, random: &mut Random) -> Item {
    let pick_scope = |random: &mut Random| random.pick(&[Scope::Cta, Scope::Gpu]);
    match (item, random.below(4)) {
        (Item::Lock { at, exchange, acquire, .. }, 0) => {
            Item::Lock { at, exchange, acquire, scope: pick_scope(random) }
        }
        (Item::Lock { at, exchange, acquire, scope }, 1) => Item::Lock { at, exchange, acquire: !acquire, scope },
        (Item::Lock { exchange, acquire, scope, .. }, 2) => {
            Item::Lock { at: random.pick(&["fg", "fh"]), exchange, acquire, scope }
        }
        (Item::Lock { at, scope, .. }, _) => Item::Count { at, by: 1, atom: true, release: true, scope },
        (Item::Unlock { at, by, release, .. }, 0) => Item::Unlock { at, by, release, scope: pick_scope(random) },
        (Item::Unlock { at, by, release, scope }, 1) => Item::Unlock { at, by, release: !release, scope },
        (Item::Unlock { by, release, scope, .. }, 2) => {
            Item::Unlock { at: random.pick(&["fg", "fh"]), by, release, scope }
        }
        (Item::Unlock { at, release, scope, .. }, _) => Item::FlagStore { at, value: 2, release, scope },
        (Item::Fence { .. }, _) => Item::Fence { sc: random.percent(50), scope: pick_scope(random) },
        (Item::Load { from, .. }, 0) => Item::Load { from, scope: Some(pick_scope(random)) },
        (Item::Store { to, .. }, 0) => Item::Store { to, scope: Some(pick_scope(random)) },
        (other, _) => other,
    }
}

/// Something about locks, anywhere.
fn any(random: &mut Random) -> Item {
    let (at, scope) = (random.pick(&["fg", "fh"]), random.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu]));
    let data: Place = random.pick(&[place("ga", 0), place("gb", 8)]);
    match random.below(8) {
        0 => Item::Lock { at, exchange: random.percent(30), acquire: random.percent(60), scope },
        1 => Item::Unlock { at, by: By::Store, release: random.percent(60), scope },
        2 => Item::Fence { sc: random.percent(50), scope },
        3 => load(data),
        4 => store(data),
        5 => BAR,
        6 => Item::Await { at, value: 1, equal: false, acquire: true, scope },
        _ => Item::Ticket { from: data, to: data },
    }
}

const CHANGES: Changes = Changes { less: 2, moved: 2, more: 1, any, other };

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0x10c5);
    let mut program = pattern(random.below(COUNT), &mut random);
    let edits = random.pick(&[0, 1, 1, 1, 1, 1, 2, 2]);
    for _ in 0..edits {
        edit_by(&CHANGES, &mut program, &mut random);
    }
    program
}
