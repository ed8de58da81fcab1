//! What goes wrong with a program: a line too few, a line in the wrong place, something weaker or off by one.

use crate::patterns;
use crate::program::{Cover, FLAGS, GLOBALS, Item, Line, MBARRIERS, Program, SHARED, Scope, Thread, place};
use crate::random::Random;
use crate::tensors;

fn fresh(program: &Program) -> u32 {
    program.threads.iter().flat_map(|thread| thread.lines.iter().map(|line| line.id + 1)).max().unwrap_or(0)
}

/// A thread that has lines.
fn some_thread(program: &Program, random: &mut Random) -> usize {
    let with: Vec<usize> = (0..program.threads.len()).filter(|at| !program.threads[*at].lines.is_empty()).collect();
    if with.is_empty() { 0 } else { random.pick(&with) }
}

/// How often of ten a change takes a line away, moves one within its thread, or puts in a new one or one twice; else it changes
/// one.
pub(crate) struct Changes {
    pub(crate) less: usize,
    pub(crate) moved: usize,
    pub(crate) more: usize,
    pub(crate) any: fn(&mut Random) -> Item,
    pub(crate) other: fn(Item, &mut Random) -> Item,
}

/// One change of a kind of programs; in one of ten cases, one of any program.
pub(crate) fn edit_by(changes: &Changes, program: &mut Program, random: &mut Random) {
    if random.percent(10) {
        return edit(program, random);
    }
    let id = fresh(program);
    let thread = random.below(program.threads.len());
    let lines = &mut program.threads[thread].lines;
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len());
    let (moved, more) = (changes.less + changes.moved, changes.less + changes.moved + changes.more);
    match random.below(10) {
        chance if chance < changes.less => drop(lines.remove(at)),
        chance if chance < moved => {
            let line = lines.remove(at);
            let to = random.below(lines.len() + 1);
            lines.insert(to, line);
        }
        chance if chance < more => {
            let item = if random.percent(25) { lines[at].item } else { (changes.any)(random) };
            lines.insert(at, Line { id, item });
        }
        _ => lines[at].item = (changes.other)(lines[at].item, random),
    }
}

pub(crate) fn edit(program: &mut Program, random: &mut Random) {
    let id = fresh(program);
    let clusters = program.ctas() > 1;
    let has_tensors = program.has_tensors();
    let thread = some_thread(program, random);
    let other_thread = random.below(program.threads.len());
    let lines = &mut program.threads[thread].lines;
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len());
    match random.below(12) {
        10 | 11 => {
            let line = lines.remove(at);
            let to = &mut program.threads[other_thread].lines;
            let place = random.below(to.len() + 1);
            to.insert(place, line);
        }
        0..=2 => {
            lines.remove(at);
        }
        3..=5 => lines[at].item = other(lines[at].item, clusters, random),
        6 | 7 => {
            let line = lines.remove(at);
            let to = random.below(lines.len() + 1);
            lines.insert(to, line);
        }
        8 => {
            let line = Line { id, ..lines[at] };
            lines.insert(at, line);
        }
        _ => {
            let item = if has_tensors && random.percent(60) { tensors::any(random) } else { any(clusters, random) };
            lines.insert(at, Line { id, item });
        }
    }
}

/// The same kind of item, mostly weaker.
fn other(item: Item, clusters: bool, random: &mut Random) -> Item {
    let scopes: &[Scope] = if clusters { &[Scope::Cta, Scope::Cluster, Scope::Gpu] } else { &[Scope::Cta, Scope::Gpu] };
    let scope_of = |random: &mut Random| random.pick(scopes);
    let more_or_less =
        |count: u32, random: &mut Random| if random.percent(50) { count + 1 } else { count.saturating_sub(1).max(1) };
    match item {
        Item::Load { from, scope: None } => Item::Load { from, scope: Some(scope_of(random)) },
        Item::Load { from, scope: Some(_) } => Item::Load { from, scope: None },
        Item::Store { to, scope: None } => Item::Store { to, scope: Some(scope_of(random)) },
        Item::Store { to, scope: Some(_) } => Item::Store { to, scope: None },
        Item::Red { to, .. } => Item::Red { to, scope: scope_of(random) },
        Item::Bar { id, warps, arrive } => match random.below(3) {
            0 => Item::Bar { id: 3 - id.min(2), warps, arrive },
            1 => Item::Bar { id, warps: Some(warps.map_or(2, |warps| more_or_less(warps, random))), arrive },
            _ => Item::Bar { id, warps: warps.or(Some(2)), arrive: !arrive },
        },
        Item::ClusterArrive { relaxed } => Item::ClusterArrive { relaxed: !relaxed },
        Item::Init { at, count } => Item::Init { at, count: more_or_less(count, random) },
        Item::Arrive { at, rank, release, scope, expect, count } => match random.below(4) {
            0 => Item::Arrive { at, rank, release: !release, scope, expect, count },
            1 => Item::Arrive { at, rank, release, scope: scope_of(random), expect, count },
            2 => match expect {
                Some(bytes) => Item::Arrive {
                    at,
                    rank,
                    release,
                    scope,
                    expect: random.pick(&[Some(bytes + 16), Some(bytes / 2), None]),
                    count,
                },
                None if rank.is_none() => Item::Arrive { at, rank, release, scope, expect: Some(16), count },
                None => item,
            },
            _ if expect.is_none() => {
                Item::Arrive { at, rank, release, scope, expect, count: more_or_less(count, random) }
            }
            _ => Item::Arrive { at: random.pick(&MBARRIERS), rank, release, scope, expect, count },
        },
        Item::Expect { at, bytes } => Item::Expect { at, bytes: random.pick(&[bytes + 16, bytes / 2]) },
        Item::Wait { at, parity, acquire, scope } => match random.below(4) {
            0 => Item::Wait { at, parity: 1 - parity, acquire, scope },
            1 => Item::Wait { at, parity, acquire: !acquire, scope },
            2 => Item::Wait { at, parity, acquire, scope: scope_of(random) },
            _ => Item::Wait { at: random.pick(&MBARRIERS), parity, acquire, scope },
        },
        Item::CopyWait { .. } => Item::CopyWait { pending: random.pick(&[None, Some(0), Some(1), Some(2)]) },
        Item::CopyArrive { at, no_increment } => Item::CopyArrive { at, no_increment: !no_increment },
        Item::BulkLoad { at, .. } => Item::BulkLoad { to: random.pick(&SHARED), from: random.pick(&GLOBALS), at },
        Item::BulkStore { .. } => Item::BulkStore { to: random.pick(&GLOBALS), from: random.pick(&SHARED) },
        Item::Multicast { to, from, at, .. } => Item::Multicast { to, from, at, mask: random.pick(&[1, 2, 3]) },
        Item::BulkWait { pending, reads } => {
            if random.percent(50) {
                Item::BulkWait { pending, reads: !reads }
            } else {
                Item::BulkWait { pending: pending + 1, reads }
            }
        }
        Item::Mma { to, from: [a, b], wide } => match random.below(3) {
            0 => Item::Mma { to, from: [a, b], wide: !wide },
            1 => Item::Mma { to, from: [b, a], wide },
            _ => Item::Mma { to: random.pick(&["ta", "tb"]), from: [a, b], wide },
        },
        Item::TensorCommit { .. } => Item::TensorCommit { at: random.pick(&MBARRIERS) },
        Item::TensorWait { load } => Item::TensorWait { load: !load },
        Item::TensorLoad { from } => Item::TensorStore { to: from },
        Item::TensorStore { to } => Item::TensorLoad { from: to },
        Item::TensorBefore => Item::TensorAfter,
        Item::TensorAfter => Item::TensorBefore,
        Item::WgmmaWait { pending } => Item::WgmmaWait { pending: 1 - pending.min(1) },
        Item::Fence { sc, .. } => Item::Fence { sc, scope: scope_of(random) },
        Item::FenceAsync(_) => Item::FenceAsync(cover(clusters, random)),
        Item::FlagSet { at, release, scope } => {
            if random.percent(50) {
                Item::FlagSet { at, release: !release, scope }
            } else {
                Item::FlagSet { at, release, scope: scope_of(random) }
            }
        }
        Item::FlagSpin { at, acquire, scope } => {
            if random.percent(50) {
                Item::FlagSpin { at, acquire: !acquire, scope }
            } else {
                Item::FlagSpin { at, acquire, scope: scope_of(random) }
            }
        }
        other => other,
    }
}

fn cover(clusters: bool, random: &mut Random) -> Cover {
    if clusters {
        random.pick(&[Cover::Everything, Cover::SharedCta, Cover::SharedCluster, Cover::Global])
    } else {
        random.pick(&[Cover::Everything, Cover::SharedCta, Cover::Global])
    }
}

/// Any item at all.
pub(crate) fn any(clusters: bool, random: &mut Random) -> Item {
    let scopes: &[Scope] = if clusters { &[Scope::Cta, Scope::Cluster, Scope::Gpu] } else { &[Scope::Cta, Scope::Gpu] };
    let scope = random.pick(scopes);
    let strong = random.percent(25).then_some(scope);
    let at = random.pick(&MBARRIERS);
    let shared = place(random.pick(&SHARED), random.pick(&[0, 8]));
    let global = place(random.pick(&GLOBALS), random.pick(&[0, 8]));
    let data = if random.percent(60) { shared } else { global };
    let rank = random.below(2) as u32;
    match random.below(if clusters { 36 } else { 30 }) {
        0 if random.percent(40) => Item::IfZero { from: data, scope: strong, to: random.pick(&[shared, global]) },
        4 if random.percent(15) => Item::Ticket { from: data, to: random.pick(&[shared, global]) },
        12 if random.percent(20) => Item::Peek { at, parity: random.below(2) as u32 },
        0..=3 => Item::Load { from: data, scope: strong },
        4..=7 => Item::Store { to: data, scope: strong },
        8 => Item::Red { to: data, scope },
        9 | 10 => Item::Bar { id: random.pick(&[0, 1]), warps: random.pick(&[None, None, Some(2)]), arrive: false },
        11 => Item::Bar { id: 1, warps: Some(2), arrive: random.percent(50) },
        12 | 13 => patterns::wait(at, random.below(2) as u32),
        14 | 15 => patterns::arrive(at),
        16 => patterns::arrive_expecting(at, 16),
        17 if random.percent(20) => Item::Inval { at },
        17 => Item::Expect { at, bytes: 16 },
        18 => Item::Copy { to: shared, from: global },
        19 => Item::CopyCommit,
        20 => Item::CopyWait { pending: random.pick(&[None, Some(0), Some(1)]) },
        21 => Item::CopyArrive { at, no_increment: true },
        22 | 23 => Item::BulkLoad { to: shared.name, from: global.name, at },
        24 if random.percent(30) => Item::BulkReduce { to: global.name, from: shared.name },
        24 => Item::BulkStore { to: global.name, from: shared.name },
        25 => Item::BulkCommit,
        26 => Item::BulkWait { pending: random.below(2) as u32, reads: random.percent(40) },
        27 => Item::Fence { sc: random.percent(30), scope },
        28 => Item::FenceAsync(cover(clusters, random)),
        29 => {
            let flag = random.pick(&FLAGS);
            if random.percent(50) {
                Item::FlagSet { at: flag, release: random.percent(70), scope }
            } else {
                Item::FlagSpin { at: flag, acquire: random.percent(70), scope }
            }
        }
        30 => Item::RemoteLoad { from: shared, rank },
        31 => Item::RemoteStore { to: shared, rank },
        32 => patterns::arrive_remotely(at, rank),
        33 if random.percent(40) => Item::RedAsync { to: shared, at, rank },
        33 => Item::BulkPeer { to: shared.name, from: random.pick(&SHARED), at, rank },
        34 => Item::ClusterArrive { relaxed: random.percent(40) },
        _ => Item::ClusterWait,
    }
}

/// A program of items that have nothing to do with each other, but for a start that makes mbarriers.
fn shuffled(random: &mut Random) -> Program {
    let ctas = if random.percent(35) { 2 } else { 1 };
    let count = 2 + random.below(3);
    let mut threads: Vec<(u32, Vec<Item>)> =
        (0..count).map(|at| (if at == 0 { 0 } else { random.below(ctas) as u32 }, Vec::new())).collect();
    if !threads.iter().any(|(cta, _)| *cta as usize == ctas - 1) {
        threads[1].0 = ctas as u32 - 1;
    }
    let items = 4 + random.below(6);
    for _ in 0..items {
        let to = random.below(count);
        let item = any(ctas > 1, random);
        threads[to].1.push(item);
        // What is issued is mostly waited for.
        let follow: &[Item] = match item {
            Item::BulkStore { .. } | Item::BulkReduce { .. } => {
                &[Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }]
            }
            Item::Copy { .. } => &[Item::CopyCommit, Item::CopyWait { pending: Some(0) }],
            Item::ClusterArrive { .. } => &[Item::ClusterWait],
            _ => &[],
        };
        if random.percent(60) {
            threads[to].1.extend_from_slice(follow);
        }
    }
    let uses = threads.iter().any(|(_, items)| {
        items.iter().any(|item| {
            matches!(
                item,
                Item::Arrive { .. }
                    | Item::Wait { .. }
                    | Item::Expect { .. }
                    | Item::CopyArrive { .. }
                    | Item::BulkLoad { .. }
                    | Item::BulkPeer { .. }
            )
        })
    });
    if uses && random.percent(95) {
        let mut begun = vec![false; ctas];
        let counts = [1 + random.below(2) as u32, 1 + random.below(2) as u32];
        for (cta, items) in &mut threads {
            let mut start = Vec::new();
            if !std::mem::replace(&mut begun[*cta as usize], true) {
                start.extend([patterns::init("ma", counts[0]), patterns::init("mb", counts[1])]);
            }
            if ctas > 1 {
                start.extend([Item::ClusterArrive { relaxed: false }, Item::ClusterWait]);
            } else {
                start.push(patterns::BAR);
            }
            items.splice(0..0, start);
        }
    }
    Program::new(threads)
}

/// Two patterns side by side: each thread does its part of the one, then of the other.
fn joined(random: &mut Random) -> Program {
    let first = patterns::pattern(random.below(23), random);
    let second = patterns::pattern(random.below(23), random);
    let mut threads: Vec<(u32, Vec<Item>)> = Vec::new();
    for program in [&first, &second] {
        for (at, Thread { cta, lines }) in program.threads.iter().enumerate() {
            if threads.len() <= at {
                threads.push((*cta, Vec::new()));
            }
            threads[at].1.extend(lines.iter().map(|line| line.item));
        }
    }
    Program::new(threads)
}

/// Lanes of a warp that meet at `bar.warp.sync` and elsewhere, with copies before and behind: each event is one of some lane,
/// or of several, in one order.
fn lanes(random: &mut Random) -> Program {
    let count = 2 + random.below(2);
    let mut threads: Vec<Vec<Item>> = vec![Vec::new(); count];
    let mut mbarriers = vec!["mb", "ma"];
    let all = (1u32 << count) - 1;
    for _ in 0..4 + random.below(4) {
        let lane = random.below(count);
        let x = place("sa", random.pick(&[0, 8]));
        match random.below(13) {
            0..=2 => {
                let pair = if count == 3 { random.pick(&[3, 5, 6]) } else { 3 };
                let mask = if random.percent(70) { all } else { pair };
                let of = threads.iter_mut().enumerate().filter(|(at, _)| mask & (1 << at) != 0);
                of.for_each(|(_, items)| items.push(Item::WarpSync { mask }));
            }
            3 => threads.iter_mut().for_each(|items| items.push(patterns::BAR)),
            4 => {
                let relaxed = random.percent(30);
                let meet = [Item::ClusterArrive { relaxed }, Item::ClusterWait];
                threads.iter_mut().for_each(|items| items.extend(meet));
            }
            5 | 6 => {
                let Some(at) = mbarriers.pop() else { continue };
                threads[lane].push(patterns::arrive(at));
                threads[random.below(count)].push(patterns::wait(at, 0));
            }
            7 => {
                let Some(at) = mbarriers.pop() else { continue };
                let copy = Item::BulkLoad { to: "sa", from: "ga", at };
                threads[lane].extend([patterns::arrive_expecting(at, 16), copy]);
                threads[random.below(count)].push(patterns::wait(at, 0));
            }
            8 => threads[lane].extend([patterns::store(x), patterns::FENCE]),
            9 => threads[lane].push(patterns::load(x)),
            10 => {
                let wait = Item::CopyWait { pending: None };
                threads[lane].extend([Item::Copy { to: x, from: place("ga", 0) }, wait]);
            }
            11 => threads[lane].push(Item::FenceAsync(cover(false, random))),
            _ => {
                let done = Item::BulkWait { pending: 0, reads: random.percent(30) };
                threads[lane].extend([Item::BulkStore { to: "gb", from: "sa" }, Item::BulkCommit, done]);
            }
        }
    }
    if mbarriers.len() < 2 {
        threads.iter_mut().for_each(|items| items.insert(0, patterns::BAR));
        threads[0].splice(0..0, [patterns::init("ma", 1), patterns::init("mb", 1)]);
    }
    Program::new(threads.into_iter().map(|items| (0, items)).collect())
}

/// Items of all kinds behind each other, tensor ones among them.
fn shuffled_tensors(random: &mut Random) -> Program {
    let count = 1 + random.below(3);
    let mut threads: Vec<Vec<Item>> = vec![Vec::new(); count];
    for _ in 0..4 + random.below(5) {
        let item = if random.percent(65) { tensors::any(random) } else { any(false, random) };
        threads[random.below(count)].push(item);
    }
    threads.iter_mut().for_each(|items| items.insert(0, patterns::BAR));
    threads[0].splice(0..0, [patterns::init("ma", 1), patterns::init("mb", 1)]);
    Program::new(threads.into_iter().map(|items| (0, items)).collect())
}

/// The kinds of programs that seeds alternate between.
pub(crate) fn kind_of(seed: u64) -> &'static str {
    match seed % 8 {
        0 | 1 => "lanes",
        2..=4 => "tensors",
        _ => "threads",
    }
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let mut program = match random.below(20) {
        0..=15 if kind_of(seed) == "tensors" => tensors::pattern(random.below(tensors::COUNT), &mut random),
        _ if kind_of(seed) == "tensors" => shuffled_tensors(&mut random),
        _ if kind_of(seed) == "lanes" => lanes(&mut random),
        0..=11 => patterns::pattern(random.below(patterns::COUNT), &mut random),
        12..=14 => {
            let joined = joined(&mut random);
            if joined.size() > 18 { patterns::pattern(random.below(patterns::COUNT), &mut random) } else { joined }
        }
        _ => shuffled(&mut random),
    };
    let edits = random.pick(&[0, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    for _ in 0..edits {
        edit(&mut program, &mut random);
    }
    // With more warps than threads, a number of threads is not all of them.
    if program.has_tensors() {
        for line in program.threads.iter_mut().flat_map(|thread| &mut thread.lines) {
            if let Item::Bar { id, .. } = line.item {
                line.item = Item::Bar { id, warps: None, arrive: false };
            }
        }
    }
    program
}
