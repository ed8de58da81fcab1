//! Programs that are right: ways to hand data over, as kernels have them.

use crate::program::{Cover, Item, Place, Program, Scope, place};
use crate::random::Random;

const A: &str = "ma";
const B: &str = "mb";

pub(crate) const BAR: Item = Item::Bar { id: 0, warps: None, arrive: false };

pub(crate) fn load(from: Place) -> Item {
    Item::Load { from, scope: None }
}

pub(crate) fn store(to: Place) -> Item {
    Item::Store { to, scope: None }
}

pub(crate) fn init(at: &'static str, count: u32) -> Item {
    Item::Init { at, count }
}

pub(crate) fn arrive(at: &'static str) -> Item {
    Item::Arrive { at, rank: None, release: true, scope: Scope::Cta, expect: None, count: 1 }
}

pub(crate) fn arrive_expecting(at: &'static str, bytes: u32) -> Item {
    Item::Arrive { at, rank: None, release: true, scope: Scope::Cta, expect: Some(bytes), count: 1 }
}

pub(crate) fn arrive_remotely(at: &'static str, rank: u32) -> Item {
    Item::Arrive { at, rank: Some(rank), release: true, scope: Scope::Cluster, expect: None, count: 1 }
}

pub(crate) fn wait(at: &'static str, parity: u32) -> Item {
    Item::Wait { at, parity, acquire: true, scope: Scope::Cta }
}

pub(crate) fn wait_cluster(at: &'static str, parity: u32) -> Item {
    Item::Wait { at, parity, acquire: true, scope: Scope::Cluster }
}

pub(crate) fn bulk_load() -> Item {
    Item::BulkLoad { to: "sa", from: "ga", at: A }
}

pub(crate) const FENCE: Item = Item::FenceAsync(Cover::Everything);
pub(crate) const FENCE_SHARED: Item = Item::FenceAsync(Cover::SharedCta);

fn meet(relaxed: bool) -> [Item; 2] {
    [Item::ClusterArrive { relaxed }, Item::ClusterWait]
}

/// A pattern, by its number.
pub(crate) const COUNT: usize = 56;

pub(crate) fn pattern(number: usize, random: &mut Random) -> Program {
    let any = [place("sa", 0), place("ga", 0), place("sa", 8), place("gb", 8)];
    let x = random.pick(&any);
    let threads: Vec<(u32, Vec<Item>)> = match number {
        // Barriers of a CTA.
        0 => vec![(0, vec![store(x), BAR, load(x), BAR]), (0, vec![BAR, load(x), BAR, store(x)])],
        1 => {
            let sync = |arrive| Item::Bar { id: 1, warps: Some(2), arrive };
            vec![(0, vec![store(x), sync(true)]), (0, vec![sync(false), load(x)])]
        }
        2 => {
            let sync = |id, arrive| Item::Bar { id, warps: Some(2), arrive };
            vec![
                (0, vec![store(x), sync(1, true), sync(2, false), store(x), sync(1, true)]),
                (0, vec![sync(1, false), load(x), sync(2, true), sync(1, false), load(x)]),
            ]
        }
        3 => vec![
            (0, vec![store(place("sa", 0)), BAR, load(place("sb", 0)), BAR, store(place("sb", 0))]),
            (0, vec![store(place("sb", 0)), BAR, load(place("sa", 0)), BAR, store(place("sa", 0))]),
        ],
        // Mbarriers.
        4 => vec![(0, vec![init(A, 1), BAR, store(x), arrive(A)]), (0, vec![BAR, wait(A, 0), load(x)])],
        5 => vec![
            (0, vec![init(A, 1), init(B, 1), BAR, store(x), arrive(A), wait(B, 0), store(x), arrive(A)]),
            (0, vec![BAR, wait(A, 0), load(x), arrive(B), wait(A, 1), load(x)]),
        ],
        6 => vec![
            (0, vec![init(A, 2), BAR, store(place("sa", 0)), arrive(A)]),
            (0, vec![BAR, store(place("sa", 8)), arrive(A)]),
            (0, vec![BAR, wait(A, 0), load(place("sa", 0)), load(place("sa", 8))]),
        ],
        7 => vec![
            (0, vec![init(A, 1), init(B, 1), BAR, store(x), arrive(A)]),
            (0, vec![BAR, wait(A, 0), arrive(B)]),
            (0, vec![BAR, wait(B, 0), load(x)]),
        ],
        8 => {
            let fence = Item::Fence { sc: random.percent(30), scope: Scope::Cta };
            let relaxed = Item::Arrive { at: A, rank: None, release: false, scope: Scope::Cta, expect: None, count: 1 };
            let asked = Item::Wait { at: A, parity: 0, acquire: false, scope: Scope::Cta };
            vec![(0, vec![init(A, 1), BAR, store(x), fence, relaxed]), (0, vec![BAR, asked, fence, load(x)])]
        }
        // Both threads meet at an mbarrier, twice.
        9 => vec![
            (0, vec![init(A, 2), BAR, store(x), arrive(A), wait(A, 0), arrive(A), wait(A, 1), load(x)]),
            (0, vec![BAR, arrive(A), wait(A, 0), load(x), arrive(A), wait(A, 1)]),
        ],
        // Bulk copies into shared memory.
        10 => vec![
            (0, vec![init(A, 1), BAR, arrive_expecting(A, 16), bulk_load()]),
            (0, vec![BAR, wait(A, 0), load(place("sa", 0)), load(place("sa", 8))]),
        ],
        11 => vec![
            (
                0,
                vec![
                    init(A, 1),
                    init(B, 1),
                    BAR,
                    arrive_expecting(A, 16),
                    bulk_load(),
                    wait(B, 0),
                    arrive_expecting(A, 16),
                    bulk_load(),
                ],
            ),
            (0, vec![BAR, wait(A, 0), load(place("sa", 0)), FENCE_SHARED, arrive(B), wait(A, 1), load(place("sa", 0))]),
        ],
        12 => vec![
            (0, vec![init(A, 1), BAR, Item::Expect { at: A, bytes: 16 }, bulk_load(), arrive(A)]),
            (0, vec![BAR, wait(A, 0), load(place("sa", 8))]),
        ],
        13 => {
            let second = Item::BulkLoad { to: "sb", from: "gb", at: A };
            vec![
                (0, vec![init(A, 1), BAR, arrive_expecting(A, 32), bulk_load(), second]),
                (0, vec![BAR, wait(A, 0), load(place("sa", 0)), load(place("sb", 0))]),
            ]
        }
        14 => vec![
            (
                0,
                vec![
                    init(A, 1),
                    store(place("sa", 0)),
                    FENCE,
                    BAR,
                    arrive_expecting(A, 16),
                    bulk_load(),
                    wait(A, 0),
                    load(place("sa", 0)),
                ],
            ),
            (0, vec![store(place("ga", 0)), FENCE, BAR]),
        ],
        // Bulk copies out of shared memory.
        15 => {
            let copy = Item::BulkStore { to: "ga", from: "sa" };
            let done = Item::BulkWait { pending: 0, reads: false };
            vec![
                (0, vec![store(place("sa", 0)), FENCE_SHARED, BAR, copy, Item::BulkCommit, done, BAR]),
                (0, vec![store(place("sa", 8)), FENCE_SHARED, BAR, BAR, load(place("ga", 8))]),
            ]
        }
        16 => {
            let copy = Item::BulkStore { to: "ga", from: "sa" };
            let read = Item::BulkWait { pending: 0, reads: true };
            vec![
                (0, vec![store(place("sa", 0)), FENCE_SHARED, copy, Item::BulkCommit, read, BAR]),
                (0, vec![BAR, store(place("sa", 0))]),
            ]
        }
        17 => {
            let first = Item::BulkStore { to: "ga", from: "sa" };
            let second = Item::BulkStore { to: "gb", from: "sb" };
            let older = Item::BulkWait { pending: 1, reads: random.percent(50) };
            vec![
                (
                    0,
                    vec![
                        store(place("sa", 0)),
                        store(place("sb", 0)),
                        FENCE,
                        first,
                        Item::BulkCommit,
                        second,
                        Item::BulkCommit,
                        older,
                        BAR,
                    ],
                ),
                (0, vec![BAR, store(place("sa", 0))]),
            ]
        }
        // A copy in, changed, and out again.
        18 => {
            let copy = Item::BulkStore { to: "gb", from: "sa" };
            let done = Item::BulkWait { pending: 0, reads: false };
            vec![
                (0, vec![init(A, 1), BAR, arrive_expecting(A, 16), bulk_load(), BAR, copy, Item::BulkCommit, done]),
                (0, vec![BAR, wait(A, 0), store(place("sa", 0)), FENCE_SHARED, BAR]),
            ]
        }
        // `cp.async`.
        19 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            let done =
                if random.percent(50) { Item::CopyWait { pending: None } } else { Item::CopyWait { pending: Some(0) } };
            vec![(0, vec![copy, Item::CopyCommit, done, BAR]), (0, vec![BAR, load(place("sa", 0))])]
        }
        20 => {
            let copy = |to, from| Item::Copy { to, from };
            let older = Item::CopyWait { pending: Some(1) };
            vec![
                (
                    0,
                    vec![
                        copy(place("sa", 0), place("ga", 0)),
                        Item::CopyCommit,
                        copy(place("sb", 0), place("gb", 0)),
                        Item::CopyCommit,
                        older,
                        load(place("sa", 0)),
                        BAR,
                    ],
                ),
                (0, vec![BAR, store(place("sa", 0)), load(place("gb", 0))]),
            ]
        }
        21 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            let told = Item::CopyArrive { at: A, no_increment: true };
            vec![(0, vec![init(A, 1), BAR, copy, told]), (0, vec![BAR, wait(A, 0), load(place("sa", 0))])]
        }
        22 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            let out = Item::BulkStore { to: "gb", from: "sa" };
            let done = Item::BulkWait { pending: 0, reads: false };
            vec![
                (0, vec![copy, Item::CopyWait { pending: None }, FENCE, BAR]),
                (0, vec![BAR, out, Item::BulkCommit, done, load(place("gb", 0))]),
            ]
        }
        // Clusters.
        23 => {
            let [here, over] = meet(false);
            let y = random.pick(&[place("ga", 0), place("gb", 8)]);
            vec![(0, vec![store(y), here, over, load(y)]), (1, vec![here, over, load(y)])]
        }
        24 => {
            let relaxed = random.percent(50);
            let ([here, over], y) = (meet(relaxed), place("ga", 0));
            let last = meet(true);
            vec![
                (0, vec![here, over, store(y), arrive_remotely(A, 1), last[0], last[1]]),
                (1, vec![init(A, 1), Item::FenceInit, here, over, wait_cluster(A, 0), load(y), last[0], last[1]]),
            ]
        }
        25 => {
            let ([here, over], last) = (meet(false), meet(true));
            let copy = Item::BulkPeer { to: "sb", from: "sa", at: A, rank: 1 };
            vec![
                (0, vec![store(place("sa", 0)), FENCE, here, over, copy, last[0], last[1]]),
                (
                    1,
                    vec![
                        init(A, 1),
                        here,
                        over,
                        arrive_expecting(A, 16),
                        wait_cluster(A, 0),
                        load(place("sb", 0)),
                        last[0],
                        last[1],
                    ],
                ),
            ]
        }
        26 => {
            let ([here, over], last) = (meet(false), meet(true));
            let copy = Item::Multicast { to: "sa", from: "ga", at: A, mask: 3 };
            let own = [init(A, 1), here, over, arrive_expecting(A, 16)];
            let rest = [wait(A, 0), load(place("sa", 0)), last[0], last[1]];
            let middle = meet(false);
            vec![
                (0, [&own[..], &middle[..], &[copy], &rest[..]].concat()),
                (1, [&own[..], &middle[..], &rest[..]].concat()),
            ]
        }
        27 => {
            let ([here, over], last) = (meet(false), meet(false));
            vec![
                (0, vec![here, over, Item::RemoteStore { to: place("sa", 0), rank: 1 }, last[0], last[1]]),
                (1, vec![here, over, last[0], last[1], load(place("sa", 0))]),
            ]
        }
        28 => {
            let ([here, over], last) = (meet(false), meet(true));
            let told = Item::StoreAsync { to: place("sa", 0), at: A, rank: 1 };
            vec![
                (0, vec![here, over, told, last[0], last[1]]),
                (
                    1,
                    vec![
                        init(A, 1),
                        here,
                        over,
                        arrive_expecting(A, 8),
                        wait(A, 0),
                        load(place("sa", 0)),
                        last[0],
                        last[1],
                    ],
                ),
            ]
        }
        // Proxy fences in one place or another: which of them are right is a reading.
        29..=41 => gated(number - 29, random),
        // The memory of an mbarrier is used again.
        42 => vec![
            (0, vec![init(A, 1), BAR, arrive_expecting(A, 16), bulk_load(), BAR, Item::Inval { at: A }, init(A, 2)]),
            (0, vec![BAR, wait(A, 0), load(place("sa", 0)), BAR]),
        ],
        43 => vec![
            (0, vec![init(A, 1), arrive_expecting(A, 16), bulk_load(), wait(A, 0), Item::Inval { at: A }]),
            (0, vec![load(place("sb", 0))]),
        ],
        44 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            let told = Item::CopyArrive { at: A, no_increment: true };
            vec![
                (0, vec![init(A, 2), BAR, copy, told, BAR, Item::Inval { at: A }]),
                (0, vec![BAR, arrive(A), wait(A, 0), BAR]),
            ]
        }
        // Lanes of a warp.
        45 => {
            let sync = Item::WarpSync { mask: 3 };
            vec![(0, vec![store(x), sync, load(x), sync]), (0, vec![sync, load(x), sync, store(x)])]
        }
        46 => {
            let sync = Item::WarpSync { mask: 3 };
            let out = [
                Item::BulkStore { to: "ga", from: "sa" },
                Item::BulkCommit,
                Item::BulkWait { pending: 0, reads: false },
            ];
            vec![
                (0, [vec![store(place("sa", 0)), FENCE_SHARED, sync], out.to_vec()].concat()),
                (0, vec![store(place("sa", 8)), FENCE_SHARED, sync]),
            ]
        }
        47 => {
            let sync = Item::WarpSync { mask: 3 };
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            vec![(0, vec![copy, Item::CopyWait { pending: None }, sync]), (0, vec![sync, load(place("sa", 0))])]
        }
        48 => {
            let add = [
                Item::BulkReduce { to: "ga", from: "sa" },
                Item::BulkCommit,
                Item::BulkWait { pending: 0, reads: false },
            ];
            vec![
                (0, [vec![store(place("sa", 0)), FENCE, BAR], add.to_vec(), vec![BAR]].concat()),
                (0, [vec![BAR], add.to_vec(), vec![BAR, load(place("ga", 0))]].concat()),
            ]
        }
        49 => {
            let ([here, over], last) = (meet(false), meet(true));
            let add = Item::RedAsync { to: place("sa", 0), at: A, rank: 1 };
            let red = Item::Red { to: place("sa", 0), scope: Scope::Cluster };
            vec![
                (0, vec![here, over, add, last[0], last[1]]),
                (
                    1,
                    vec![
                        init(A, 1),
                        here,
                        over,
                        arrive_expecting(A, 8),
                        red,
                        wait(A, 0),
                        load(place("sa", 0)),
                        last[0],
                        last[1],
                    ],
                ),
            ]
        }
        // Three rounds of a ring with one stage.
        50 => {
            let fill = [arrive_expecting(A, 16), bulk_load()];
            let take = |parity| [wait(A, parity), load(place("sa", 0)), FENCE_SHARED, arrive(B)];
            vec![
                (
                    0,
                    [
                        vec![init(A, 1), init(B, 1), BAR],
                        fill.to_vec(),
                        vec![wait(B, 0)],
                        fill.to_vec(),
                        vec![wait(B, 1)],
                        fill.to_vec(),
                    ]
                    .concat(),
                ),
                (0, [vec![BAR], take(0).to_vec(), take(1).to_vec(), take(0).to_vec()].concat()),
            ]
        }
        // Two consumers of one producer.
        51 => {
            let take = |parity| [wait(A, parity), load(place("sa", 0)), FENCE_SHARED, arrive(B)];
            let fill = [arrive_expecting(A, 16), bulk_load()];
            vec![
                (0, [vec![init(A, 1), init(B, 2), BAR], fill.to_vec(), vec![wait(B, 0)], fill.to_vec()].concat()),
                (0, [vec![BAR], take(0).to_vec(), vec![wait(A, 1), load(place("sa", 8))]].concat()),
                (0, [vec![BAR], take(0).to_vec()].concat()),
            ]
        }
        // A relaxed barrier between operations on one mbarrier or barrier: execution order is no causality order.
        52 => {
            let ([here, over], [late, done]) = (meet(false), meet(random.percent(70)));
            vec![
                (0, vec![init(A, 1), here, over, Item::Expect { at: A, bytes: 16 }, bulk_load(), late, done]),
                (0, vec![here, over, late, done, arrive(A)]),
                (0, vec![here, over, late, done, wait(A, 0), load(place("sa", 0))]),
            ]
        }
        53 => {
            let counted = |arrive| Item::Bar { id: 1, warps: Some(2), arrive };
            let [late, done] = meet(random.percent(70));
            vec![
                (0, vec![store(x), counted(true), late, done]),
                (0, vec![counted(false), load(x), late, done, counted(false), load(x)]),
                (0, vec![late, done, store(x), counted(true)]),
            ]
        }
        54 => {
            let ([here, over], [late, done]) = (meet(false), meet(random.percent(70)));
            vec![
                (0, vec![init(A, 1), here, over, store(x), arrive(A), late, done]),
                (0, vec![here, over, wait(A, 0), load(x), late, done, wait(A, 1), load(x)]),
                (0, vec![here, over, late, done, store(x), arrive(A)]),
            ]
        }
        // Counting, and flags.
        _ => {
            if random.percent(50) {
                let red = Item::Red { to: x, scope: Scope::Cta };
                vec![(0, vec![red, BAR]), (0, vec![red, BAR, load(x)])]
            } else {
                let (at, scope) = random.pick(&[("fg", Scope::Gpu), ("fs", Scope::Cta)]);
                vec![
                    (0, vec![store(x), Item::FlagSet { at, release: true, scope }]),
                    (0, vec![Item::FlagSpin { at, acquire: true, scope }, load(x)]),
                ]
            }
        }
    };
    Program::new(threads)
}

/// A fence, mostly, and mostly one that is about the memory in question.
fn maybe(likely: usize, random: &mut Random) -> Vec<Item> {
    let covers =
        [Cover::Everything, Cover::Everything, Cover::SharedCta, Cover::SharedCta, Cover::SharedCluster, Cover::Global];
    if random.percent(likely) { vec![Item::FenceAsync(random.pick(&covers))] } else { Vec::new() }
}

fn gated(number: usize, random: &mut Random) -> Vec<(u32, Vec<Item>)> {
    let (early, late) = (maybe(55, random), maybe(55, random));
    let out =
        |to, from| vec![Item::BulkStore { to, from }, Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }];
    let ([here, over], last) = (meet(false), meet(true));
    let start = vec![here, over];
    let peer = |to, rank| vec![Item::BulkPeer { to, from: "sa", at: A, rank }];
    match number {
        // From a generic write to a copy of another thread.
        0 | 1 => vec![
            (0, [vec![store(place("sa", 0))], early, vec![BAR]].concat()),
            (0, [vec![BAR], late, out("ga", "sa")].concat()),
        ],
        2 => vec![
            (0, [vec![init(A, 1), init(B, 1), BAR, store(place("sa", 0))], early, vec![arrive(A)]].concat()),
            (0, [vec![BAR, wait(A, 0)], late, vec![arrive(B)]].concat()),
            (0, [vec![BAR, wait(B, 0)], maybe(40, random), out("ga", "sa")].concat()),
        ],
        // Into the shared memory of another CTA, and out of there.
        3 => vec![
            (
                0,
                [
                    start.clone(),
                    vec![Item::RemoteStore { to: place("sa", 0), rank: 1 }],
                    early,
                    start.clone(),
                    last.to_vec(),
                ]
                .concat(),
            ),
            (1, [start.clone(), start.clone(), late, out("ga", "sa"), last.to_vec()].concat()),
        ],
        4 => vec![
            (0, [vec![store(place("sa", 0)), FENCE], start.clone(), peer("sb", 1), last.to_vec()].concat()),
            (
                1,
                [
                    vec![init(A, 1)],
                    start.clone(),
                    vec![arrive_expecting(A, 16), wait_cluster(A, 0)],
                    late,
                    out("gb", "sb"),
                    last.to_vec(),
                ]
                .concat(),
            ),
        ],
        // A refill by the peer of what a thread has read.
        5 | 6 => vec![
            (0, [start.clone(), late, peer("sb", 1), last.to_vec()].concat()),
            (
                1,
                [
                    vec![init(A, 1), load(place("sb", 0))],
                    early,
                    start.clone(),
                    vec![arrive_expecting(A, 16), wait_cluster(A, 0)],
                    last.to_vec(),
                ]
                .concat(),
            ),
        ],
        7 => vec![
            (0, [vec![store(place("ga", 0))], early, start.clone()].concat()),
            (
                1,
                [
                    vec![init(A, 1)],
                    start.clone(),
                    late,
                    vec![arrive_expecting(A, 16), bulk_load(), wait(A, 0), load(place("sa", 0))],
                ]
                .concat(),
            ),
        ],
        // `cp.async`, then a bulk copy.
        8 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            let told = Item::CopyArrive { at: A, no_increment: true };
            vec![
                (0, [vec![init(A, 1), BAR, copy, told], early].concat()),
                (0, [vec![BAR, wait(A, 0)], late, out("gb", "sa")].concat()),
            ]
        }
        9 => {
            let copy = Item::Copy { to: place("sa", 0), from: place("ga", 0) };
            vec![
                (0, [vec![copy, Item::CopyWait { pending: None }], early, vec![BAR]].concat()),
                (0, [vec![BAR], late, out("gb", "sa")].concat()),
            ]
        }
        // In and out again, without a generic access.
        10 => vec![
            (0, vec![init(A, 1), BAR, arrive_expecting(A, 16), bulk_load()]),
            (0, [vec![BAR, wait(A, 0)], late, out("gb", "sa")].concat()),
        ],
        // A multicast over what both have read.
        11 => {
            let copy = Item::Multicast { to: "sa", from: "ga", at: A, mask: 3 };
            let rest = vec![wait(A, 0), load(place("sa", 8)), last[0], last[1]];
            let own = |fence: Vec<Item>| {
                [vec![init(A, 1), load(place("sa", 0))], fence, vec![arrive_expecting(A, 16)], start.clone()].concat()
            };
            vec![
                (0, [own(early.clone()), maybe(30, random), vec![copy], rest.clone()].concat()),
                (1, [own(late), rest].concat()),
            ]
        }
        _ => {
            let fence = |random: &mut Random| Item::Fence {
                sc: false,
                scope: random.pick(&[Scope::Cta, Scope::Cluster, Scope::Gpu]),
            };
            let y = place("ga", 8);
            vec![
                (0, vec![store(y), fence(random), last[0], last[1]]),
                (1, vec![last[0], last[1], load(y)]),
                (0, vec![last[0], last[1], load(y)]),
            ]
        }
    }
}
