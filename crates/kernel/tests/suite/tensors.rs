//! Programs with tensor copies, `wgmma` and `tcgen05`, as kernels have them: the canonical patterns of 9.7.18.6.4 and rings of
//! stages between copies and products.

use crate::patterns::{BAR, FENCE, FENCE_SHARED, arrive, arrive_expecting, init, load, store, wait};
use crate::program::{Item, Program, Scope, place};
use crate::random::Random;

const A: &str = "ma";
const B: &str = "mb";
const BEFORE: Item = Item::TensorBefore;
const AFTER: Item = Item::TensorAfter;
const LOADED: Item = Item::TensorWait { load: true };
const STORED: Item = Item::TensorWait { load: false };

fn mma() -> Item {
    Item::Mma { to: "ta", from: ["sa", "sb"], wide: false }
}

fn fetch() -> Vec<Item> {
    vec![Item::TensorLoad { from: "ta" }, LOADED]
}

fn commit(at: &'static str) -> Item {
    Item::TensorCommit { at }
}

fn product() -> Vec<Item> {
    vec![Item::WgmmaFence, Item::Wgmma { from: "sa" }, Item::WgmmaCommit, Item::WgmmaWait { pending: 0 }]
}

/// A wait, mostly one that acquires.
fn seen(at: &'static str, parity: u32, random: &mut Random) -> Item {
    Item::Wait { at, parity, acquire: random.percent(60), scope: Scope::Cta }
}

/// An arrival, mostly one that releases.
fn told(at: &'static str, random: &mut Random) -> Item {
    Item::Arrive { at, rank: None, release: random.percent(60), scope: Scope::Cta, expect: None, count: 1 }
}

/// A copy into `sa`, with or without a tensor map.
fn copy(random: &mut Random) -> Item {
    random.pick(&[Item::TensorIn { to: "sa", at: A }, Item::BulkLoad { to: "sa", from: "ga", at: A }])
}

fn out(random: &mut Random) -> Vec<Item> {
    let first = random.pick(&[Item::TensorOut { from: "sa" }, Item::BulkStore { to: "ga", from: "sa" }]);
    vec![first, Item::BulkCommit, Item::BulkWait { pending: 0, reads: random.percent(30) }]
}

pub(crate) const COUNT: usize = 18;

pub(crate) fn pattern(number: usize, random: &mut Random) -> Program {
    let start = vec![init(A, 1), init(B, 1), BAR];
    let threads: Vec<Vec<Item>> = match number {
        // Two products in a pipeline, then a load.
        0 => vec![[vec![init(A, 1), mma(), mma(), commit(A), seen(A, 0, random), AFTER], fetch()].concat()],
        1 => {
            let first = random.pick(&[mma(), Item::TensorCopy { to: "ta", from: "sa" }]);
            vec![
                [start, vec![first, BEFORE, told(A, random)]].concat(),
                [vec![BAR, seen(A, 0, random), AFTER, mma(), commit(B), seen(B, 0, random), AFTER], fetch()].concat(),
            ]
        }
        2 => vec![[start, vec![mma(), commit(A)]].concat(), [vec![BAR, seen(A, 0, random), AFTER], fetch()].concat()],
        3 => vec![vec![Item::TensorStore { to: "ta" }, STORED, BEFORE, BAR], [vec![BAR, AFTER], fetch()].concat()],
        4 => vec![
            [start, vec![Item::TensorStore { to: "ta" }, STORED, BEFORE, BAR]].concat(),
            [vec![BAR, BAR, AFTER, mma(), commit(A), seen(A, 0, random), AFTER], fetch()].concat(),
        ],
        // The accumulator is read, handed back and used again.
        5 => vec![
            [start, vec![mma(), commit(A), seen(B, 0, random), AFTER, mma()]].concat(),
            [vec![BAR, seen(A, 0, random), AFTER], fetch(), vec![BEFORE, told(B, random)]].concat(),
        ],
        // Composed: one thread waits for the product and tells another.
        6 => vec![
            [start, vec![mma(), commit(A), seen(A, 0, random), AFTER, BEFORE, told(B, random)]].concat(),
            [vec![BAR, seen(B, 0, random), AFTER], fetch()].concat(),
        ],
        // Operands written by threads, and again behind the product.
        7 => vec![
            [vec![store(place("sa", 0)), FENCE_SHARED], start, vec![wait(A, 0), FENCE, store(place("sa", 0))]].concat(),
            vec![BAR, mma(), commit(A)],
        ],
        8 => vec![
            [start, vec![arrive_expecting(A, 16), copy(random), wait(B, 0), copy(random)]].concat(),
            vec![BAR, wait(A, 0), mma(), commit(B)],
        ],
        9 => vec![
            [vec![store(place("sa", 0)), FENCE_SHARED, BAR], product(), vec![BAR]].concat(),
            vec![BAR, BAR, store(place("sa", 8))],
        ],
        10 => vec![
            [start, vec![arrive_expecting(A, 16), copy(random), wait(B, 0), arrive_expecting(A, 16), copy(random)]]
                .concat(),
            [vec![BAR, wait(A, 0)], product(), vec![arrive(B), wait(A, 1)], product()].concat(),
        ],
        // Registers of products.
        11 => {
            let more = vec![Item::Wgmma { from: "sb" }, Item::WgmmaCommit, Item::WgmmaWait { pending: 1 }];
            let end = vec![Item::WgmmaWait { pending: 0 }, Item::WgmmaRead, Item::WgmmaWrite];
            vec![[product(), more, end, product(), vec![Item::WgmmaRead]].concat()]
        }
        12 => vec![
            [start, vec![arrive_expecting(A, 16), copy(random)]].concat(),
            [vec![BAR, wait(A, 0), load(place("sa", 0)), store(place("sa", 8)), FENCE_SHARED], out(random)].concat(),
        ],
        13 => vec![
            [vec![store(place("sa", 0)), FENCE, BAR], vec![BAR, load(place("ga", 0))]].concat(),
            [vec![BAR], out(random), vec![BAR]].concat(),
        ],
        14 => vec![
            [vec![store(place("ga", 0)), FENCE], start].concat(),
            [vec![BAR, arrive_expecting(A, 16), copy(random), wait(A, 0), load(place("sa", 0))]].concat(),
        ],
        // A copy to tensor memory between two products of two shapes.
        15 => {
            let wide = Item::Mma { to: "ta", from: ["sa", "sb"], wide: true };
            let copied = Item::TensorCopy { to: "ta", from: "sb" };
            vec![
                vec![
                    init(A, 1),
                    mma(),
                    commit(A),
                    seen(A, 0, random),
                    AFTER,
                    copied,
                    wide,
                    commit(A),
                    seen(A, 1, random),
                ],
                vec![store(place("ga", 0))],
            ]
        }
        // A relay that only hands on.
        16 => vec![
            [start, vec![Item::TensorStore { to: "ta" }, STORED, BEFORE, told(A, random)]].concat(),
            vec![BAR, seen(A, 0, random), told(B, random)],
            [vec![BAR, seen(B, 0, random), AFTER], fetch()].concat(),
        ],
        _ => {
            let sync = Item::WarpSync { mask: 3 };
            let first = random.pick(&[Item::TensorStore { to: "ta" }, Item::TensorLoad { from: "ta" }]);
            vec![
                [vec![init(A, 1), first, STORED, LOADED, BEFORE, sync, sync], vec![wait(A, 0), AFTER], fetch()]
                    .concat(),
                vec![sync, AFTER, mma(), commit(A), sync],
            ]
        }
    };
    Program::new(threads.into_iter().map(|items| (0, items)).collect())
}

/// Any item of these.
pub(crate) fn any(random: &mut Random) -> Item {
    let (tensor, shared, at) = (random.pick(&["ta", "ta", "tb"]), random.pick(&["sa", "sb"]), random.pick(&[A, B]));
    match random.below(17) {
        0 | 1 => Item::Mma { to: tensor, from: [shared, random.pick(&["sa", "sb"])], wide: random.percent(25) },
        2 => Item::TensorCopy { to: tensor, from: shared },
        3 => Item::TensorLoad { from: tensor },
        4 => Item::TensorStore { to: tensor },
        5 => LOADED,
        6 => STORED,
        7 | 8 => commit(at),
        9 => BEFORE,
        10 => AFTER,
        11 => Item::TensorIn { to: shared, at },
        12 => Item::TensorOut { from: shared },
        13 => Item::WgmmaFence,
        14 => Item::Wgmma { from: shared },
        15 => random.pick(&[Item::WgmmaRead, Item::WgmmaWrite]),
        _ => random.pick(&[Item::WgmmaCommit, Item::WgmmaWait { pending: 0 }, Item::WgmmaWait { pending: 1 }]),
    }
}
