//! Programs that synchronise through flags and counters in memory: right ones, and what goes wrong with them.

use crate::edits::{Changes, edit_by};
use crate::patterns::{BAR, load, store};
use crate::program::{ALL_FLAGS, Item, Place, Program, Scope, place};
use crate::random::Random;

fn fence(sc: bool, scope: Scope) -> Item {
    Item::Fence { sc, scope }
}

/// How one thread tells others: with a release, or behind a fence.
#[derive(Copy, Clone)]
struct How {
    fenced: Option<bool>,
    atom: bool,
    scope: Scope,
}

impl How {
    fn tells(self, item: Item) -> Vec<Item> {
        match self.fenced {
            None => vec![item],
            Some(sc) => vec![fence(sc, self.scope), item],
        }
    }

    fn hears(self, item: Item) -> Vec<Item> {
        match self.fenced {
            None => vec![item],
            Some(sc) => vec![item, fence(sc, self.scope)],
        }
    }

    fn set(self, at: &'static str, value: u32) -> Vec<Item> {
        self.tells(Item::FlagStore { at, value, release: self.fenced.is_none(), scope: self.scope })
    }

    fn count(self, at: &'static str, by: u32) -> Vec<Item> {
        self.tells(Item::Count { at, by, atom: self.atom, release: self.fenced.is_none(), scope: self.scope })
    }

    fn wait(self, at: &'static str, value: u32, equal: bool) -> Vec<Item> {
        self.hears(Item::Await { at, value, equal, acquire: self.fenced.is_none(), scope: self.scope })
    }

    fn grid(self, at: &'static str, rest_of: Option<u32>) -> Vec<Item> {
        let plain = self.fenced.is_none();
        let item = Item::GridSync { at, rest_of, release: plain, acquire: plain, scope: self.scope };
        self.hears(item).into_iter().fold(self.tells(item), |mut items, item| {
            if !items.contains(&item) {
                items.push(item);
            } else if let (Item::Fence { .. }, Some(_)) = (item, self.fenced) {
                items.push(item);
            }
            items
        })
    }
}

fn concat(parts: &[Vec<Item>]) -> Vec<Item> {
    parts.concat()
}

const COUNT: usize = 21;

fn pattern(number: usize, random: &mut Random) -> Program {
    let two = random.percent(50);
    let other = u32::from(two);
    let at = if two { "fg" } else { random.pick(&["fg", "fs"]) };
    let scope = if two { Scope::Gpu } else { random.pick(&[Scope::Cta, Scope::Gpu]) };
    let fenced = random.pick(&[None, None, Some(false), Some(true)]);
    let how = How { fenced, atom: random.percent(50), scope };
    let (x, y) = (place("ga", 0), place("gb", 8));
    let equal = random.percent(40);
    let second = if two { "fh" } else { random.pick(&["fh", "fs"]) };
    let second = if second == at { "fh" } else { second };
    let threads: Vec<(u32, Vec<Item>)> = match number {
        // One flag.
        0 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1)])),
            (other, concat(&[how.wait(at, 1, equal), vec![load(x)]])),
        ],
        // One flag, two that wait.
        1 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1)])),
            (other, concat(&[how.wait(at, 1, equal), vec![load(x)]])),
            (0, concat(&[how.wait(at, 1, equal), vec![load(x)]])),
        ],
        // A counter of two, and one that waits.
        2 => vec![
            (0, concat(&[vec![store(x)], how.count(at, 1)])),
            (0, concat(&[vec![store(y)], how.count(at, 1)])),
            (other, concat(&[how.wait(at, 2, equal), vec![load(x), load(y)]])),
        ],
        // A barrier of two.
        3 => vec![
            (0, concat(&[vec![store(x)], how.count(at, 1), how.wait(at, 2, false), vec![load(y)]])),
            (other, concat(&[vec![store(y)], how.count(at, 1), how.wait(at, 2, false), vec![load(x)]])),
        ],
        // The same twice.
        4 => vec![
            (
                0,
                concat(&[
                    vec![store(x)],
                    how.count(at, 1),
                    how.wait(at, 2, false),
                    vec![load(y)],
                    how.count(at, 1),
                    how.wait(at, 4, false),
                    vec![store(y)],
                ]),
            ),
            (other, concat(&[vec![store(y)], how.count(at, 1), how.wait(at, 2, false), how.count(at, 1)])),
        ],
        // A flag that grows.
        5 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1), vec![store(y)], how.set(at, 2)])),
            (other, concat(&[how.wait(at, 1, false), vec![load(x)], how.wait(at, 2, equal), vec![load(y)]])),
        ],
        // To and fro.
        6 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1), how.wait(second, 1, equal), vec![store(x)]])),
            (other, concat(&[how.wait(at, 1, equal), vec![load(x)], how.set(second, 1)])),
        ],
        // grid.sync.
        7 => vec![
            (0, concat(&[vec![store(x)], how.grid(at, Some(2)), vec![load(y)]])),
            (other, concat(&[vec![store(y)], how.grid(at, None), vec![load(x)]])),
        ],
        8 => vec![
            (0, concat(&[vec![store(x)], how.grid(at, Some(2)), how.grid(at, Some(2))])),
            (other, concat(&[how.grid(at, None), vec![load(x)], how.grid(at, None), vec![store(x)]])),
        ],
        // A barrier of the CTA behind the wait, or before the flag.
        9 => vec![
            (0, concat(&[vec![store(x), BAR], how.set(at, 1)])),
            (0, vec![store(y), BAR]),
            (1, concat(&[how.wait("fg", 1, equal), vec![BAR, load(x)]])),
            (1, vec![BAR, load(y)]),
        ],
        // fence.sc before the barrier.
        10 => {
            let set = Item::FlagStore { at: "fg", value: 1, release: false, scope: Scope::Gpu };
            let wait = Item::Await { at: "fg", value: 1, equal, acquire: false, scope: Scope::Gpu };
            let f = fence(true, Scope::Gpu);
            vec![(0, vec![store(x), f, BAR]), (0, vec![BAR, set]), (1, vec![wait, f, load(x)])]
        }
        // All threads of a CTA wait.
        11 | 12 => {
            let first_barrier = number == 11 || random.percent(50);
            let together = |reads| Item::Together {
                at: "fg",
                reads,
                first_barrier,
                acquire: how.fenced.is_none(),
                scope: Scope::Gpu,
            };
            let set = How { scope: Scope::Gpu, ..how }.set("fg", 1);
            let hears = |reads| {
                if how.fenced.is_some() {
                    vec![together(reads), fence(false, Scope::Gpu)]
                } else {
                    vec![together(reads)]
                }
            };
            vec![
                (0, concat(&[vec![store(x)], set])),
                (1, concat(&[hears(true), vec![load(x)]])),
                (1, concat(&[hears(false), vec![load(x)]])),
            ]
        }
        // A chain of three.
        13 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1)])),
            (other, concat(&[how.wait(at, 1, equal), how.set(second, 1)])),
            (0, concat(&[how.wait(second, 1, equal), vec![load(x)]])),
        ],
        // Two flags, one after the other.
        14 => vec![
            (0, concat(&[vec![store(x)], how.set(at, 1)])),
            (0, concat(&[vec![store(y)], how.set(second, 1)])),
            (other, concat(&[how.wait(at, 1, equal), how.wait(second, 1, equal), vec![load(x), load(y)]])),
        ],
        // The last of two or three reads what the others have written.
        15 | 16 => {
            let count = if number == 15 { 2 } else { 3 };
            let last = |from| vec![Item::Last { at, count, orders: how.fenced.is_none(), scope, from }];
            let ends = |from| match how.fenced {
                None => last(from),
                Some(sc) => concat(&[vec![fence(sc, scope)], last(from)]),
            };
            let mut threads =
                vec![(0, concat(&[vec![store(x)], ends(y)])), (other, concat(&[vec![store(y)], ends(x)]))];
            if count == 3 {
                threads.push((0, ends(x)));
            }
            threads
        }
        // Who has seen the flag or the counter accesses it weakly.
        17 | 18 => {
            let own = Item::FlagWeak { at, writes: random.percent(60) };
            let relaxed = How { fenced: random.pick(&[None, Some(false)]), ..how };
            let wait = Item::Await { at, value: number as u32 - 16, equal, acquire: false, scope };
            let mut threads = vec![(other, vec![wait, own]), (0, relaxed.count(at, 1))];
            if number == 18 {
                threads.push((other, vec![Item::Count { at, by: 1, atom: how.atom, release: false, scope }]));
            }
            threads
        }
        19 => {
            let count = random.pick(&[2, 2, 3]);
            let last = Item::Reset { at, count, orders: how.fenced.is_none(), scope };
            (0..count).map(|thread| (if thread == 0 { 0 } else { other }, vec![last])).collect()
        }
        // A counter that a flag follows.
        _ => vec![
            (0, concat(&[vec![store(x)], how.count(at, 1)])),
            (other, concat(&[how.count(at, 1)])),
            (0, concat(&[how.wait(at, 2, equal), how.set(second, 1)])),
            (other, concat(&[how.wait(second, 1, equal), vec![load(x)]])),
        ],
    };
    // Whoever asks for shared memory finds what was stored there.
    let uses = |name: &str, items: &[Item]| items.iter().any(|item| flag_of(*item) == Some(name));
    let shared = threads.iter().any(|(_, items)| uses("fs", items));
    let mut threads = threads;
    if shared && threads.iter().all(|(cta, _)| *cta == 0) {
        for (index, (_, items)) in threads.iter_mut().enumerate() {
            let start = [Item::FlagStore { at: "fs", value: 0, release: false, scope: Scope::Cta }, BAR];
            items.splice(0..0, if index == 0 { start.to_vec() } else { vec![BAR] });
        }
    }
    Program::new(threads)
}

fn flag_of(item: Item) -> Option<&'static str> {
    match item {
        Item::FlagStore { at, .. }
        | Item::Count { at, .. }
        | Item::Await { at, .. }
        | Item::GridSync { at, .. }
        | Item::Together { at, .. }
        | Item::Last { at, .. }
        | Item::FlagSet { at, .. }
        | Item::FlagWeak { at, .. }
        | Item::Reset { at, .. }
        | Item::FlagSpin { at, .. } => Some(at),
        _ => None,
    }
}

/// The same item, a little wrong.
fn other(item: Item, random: &mut Random) -> Item {
    let pick_scope = |random: &mut Random| random.pick(&[Scope::Cta, Scope::Gpu]);
    let near = |value: u32, random: &mut Random| random.pick(&[value + 1, value.saturating_sub(1), 0, 1, 2]);
    let flag = |random: &mut Random| random.pick(&ALL_FLAGS);
    match (item, random.below(5)) {
        (Item::FlagStore { at, value, release, .. }, 0) => {
            Item::FlagStore { at, value, release, scope: pick_scope(random) }
        }
        (Item::FlagStore { at, release, scope, value }, 1) => {
            Item::FlagStore { at, value: near(value, random), release, scope }
        }
        (Item::FlagStore { value, release, scope, .. }, 2) => {
            Item::FlagStore { at: flag(random), value, release, scope }
        }
        (Item::FlagStore { at, value, release, scope }, 3) => Item::FlagStore { at, value, release: !release, scope },
        (Item::FlagStore { at, value, release, scope }, _) => {
            Item::Count { at, by: value, atom: random.percent(50), release, scope }
        }
        (Item::Count { at, by, atom, release, .. }, 0) => {
            Item::Count { at, by, atom, release, scope: pick_scope(random) }
        }
        (Item::Count { at, by, atom, release, scope }, 1) => {
            Item::Count { at, by: near(by, random), atom, release, scope }
        }
        (Item::Count { at, by, atom, release, scope }, 2) => Item::Count { at, by, atom, release: !release, scope },
        (Item::Count { by, atom, release, scope, .. }, 3) => Item::Count { at: flag(random), by, atom, release, scope },
        (Item::Count { at, by, release, scope, .. }, _) => Item::FlagStore { at, value: by, release, scope },
        (Item::Await { at, value, equal, acquire, .. }, 0) => {
            Item::Await { at, value, equal, acquire, scope: pick_scope(random) }
        }
        (Item::Await { at, value, equal, acquire, scope }, 1) => {
            Item::Await { at, value: near(value, random), equal, acquire, scope }
        }
        (Item::Await { at, value, equal, acquire, scope }, 2) => {
            Item::Await { at, value, equal: !equal, acquire, scope }
        }
        (Item::Await { value, equal, acquire, scope, .. }, 3) => {
            Item::Await { at: flag(random), value, equal, acquire, scope }
        }
        (Item::Await { at, value, equal, acquire, scope }, _) => {
            Item::Await { at, value, equal, acquire: !acquire, scope }
        }
        (Item::GridSync { at, rest_of, release, acquire, .. }, 0) => {
            Item::GridSync { at, rest_of, release, acquire, scope: pick_scope(random) }
        }
        (Item::GridSync { at, rest_of, release, acquire, scope }, 1) => {
            Item::GridSync { at, rest_of, release: !release, acquire, scope }
        }
        (Item::GridSync { at, rest_of, release, acquire, scope }, 2) => {
            Item::GridSync { at, rest_of, release, acquire: !acquire, scope }
        }
        (Item::GridSync { at, rest_of, release, acquire, scope }, _) => {
            let rest_of = if rest_of.is_some() { random.pick(&[None, Some(1), Some(3)]) } else { Some(2) };
            Item::GridSync { at, rest_of, release, acquire, scope }
        }
        (Item::Together { at, reads, first_barrier, acquire, .. }, 0) => {
            Item::Together { at, reads, first_barrier, acquire, scope: pick_scope(random) }
        }
        (Item::Together { at, reads, first_barrier, acquire, scope }, 1) => {
            Item::Together { at, reads: !reads, first_barrier, acquire, scope }
        }
        (Item::Together { at, reads, first_barrier, acquire, scope }, 2) => {
            Item::Together { at, reads, first_barrier: !first_barrier, acquire, scope }
        }
        (Item::Together { at, reads, first_barrier, acquire, scope }, _) => {
            Item::Together { at, reads, first_barrier, acquire: !acquire, scope }
        }
        (Item::Last { at, count, orders, from, .. }, 0) => {
            Item::Last { at, count, orders, scope: pick_scope(random), from }
        }
        (Item::Last { at, count, orders, scope, from }, 1) => Item::Last { at, count, orders: !orders, scope, from },
        (Item::Last { at, count, orders, scope, from }, _) => {
            Item::Last { at, count: near(count, random), orders, scope, from }
        }
        (Item::FlagWeak { at, writes }, _) => Item::FlagWeak { at, writes: !writes },
        (Item::Reset { at, count, orders, .. }, 0) => Item::Reset { at, count, orders, scope: pick_scope(random) },
        (Item::Reset { at, count, orders, scope }, 1) => Item::Reset { at, count, orders: !orders, scope },
        (Item::Reset { at, count, orders, scope }, _) => Item::Reset { at, count: near(count, random), orders, scope },
        (Item::Fence { .. }, _) => Item::Fence { sc: random.percent(50), scope: pick_scope(random) },
        (Item::Load { from, .. }, 0) => Item::Load { from, scope: Some(pick_scope(random)) },
        (Item::Store { to, .. }, 0) => Item::Store { to, scope: Some(pick_scope(random)) },
        (other, _) => other,
    }
}

/// Something about flags, anywhere.
fn any(random: &mut Random) -> Item {
    let (at, scope) = (random.pick(&ALL_FLAGS), random.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu]));
    let data: Place = random.pick(&[place("ga", 0), place("gb", 8)]);
    match random.below(9) {
        8 => Item::FlagWeak { at, writes: random.percent(50) },
        0 => Item::FlagStore { at, value: random.below(3) as u32, release: random.percent(60), scope },
        1 => Item::Count { at, by: 1, atom: random.percent(50), release: random.percent(60), scope },
        2 => Item::Await { at, value: 1, equal: random.percent(40), acquire: random.percent(60), scope },
        3 => fence(random.percent(50), scope),
        4 => load(data),
        5 => store(data),
        6 => BAR,
        _ => Item::Ticket { from: data, to: data },
    }
}

const CHANGES: Changes = Changes { less: 2, moved: 1, more: 2, any, other };

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0xf1a9);
    let mut program = pattern(random.below(COUNT), &mut random);
    let edits = random.pick(&[0, 1, 1, 1, 1, 1, 2, 2]);
    for _ in 0..edits {
        edit_by(&CHANGES, &mut program, &mut random);
    }
    program
}
