//! CTAs of a cluster that access each other's shared memory and end: what tells the owner that an access is over, and what
//! does not.

use crate::compare::compare;
use crate::program::{Item, Line, Place, Program, Remote, Scope, place};
use crate::random::Random;
use crate::sides::Readings;

const OUT: [Scope; 4] = [Scope::Cluster, Scope::Cluster, Scope::Gpu, Scope::Cta];

fn scope(random: &mut Random) -> Scope {
    random.pick(&OUT)
}

fn meet(relaxed: bool) -> [Item; 2] {
    [Item::ClusterArrive { relaxed }, Item::ClusterWait]
}

/// A weak access to the memory of CTA 0.
fn remote(what: Remote, at: Place) -> Item {
    Item::Remote { what, at, rank: 0, scope: None }
}

/// An access to the memory of CTA 0.
fn access(at: Place, random: &mut Random) -> Item {
    let what = random.pick(&[Remote::Load, Remote::Store, Remote::Red, Remote::Add, Remote::Exchange]);
    match random.below(8) {
        0 | 1 => remote(Remote::Load, at),
        2 => remote(Remote::Store, at),
        3 => Item::RemotePair { at: at.name, rank: 0, writes: random.percent(40) },
        _ => {
            let scope = random.pick(&[Scope::Cluster, Scope::Cluster, Scope::Gpu]);
            Item::Remote { what, at, rank: 0, scope: Some(scope) }
        }
    }
}

/// Something between the access and what tells of it.
fn between(random: &mut Random) -> Vec<Item> {
    match random.below(9) {
        0 => vec![Item::KeptStore { to: place("gb", 8) }],
        1 => vec![Item::KeptWait],
        2 => vec![Item::Fence { sc: random.percent(30), scope: scope(random) }],
        3 => vec![Item::Load { from: place("ga", 0), scope: None }],
        _ => Vec::new(),
    }
}

/// How a thread tells another of something: what it does, and what the other waits for.
fn signal(at: &'static str, to_owner: bool, random: &mut Random) -> (Item, Item) {
    let (release, how) = (random.percent(45), scope(random));
    let acquire = random.percent(40);
    let hears = if random.percent(85) { random.pick(&[Scope::Cluster, Scope::Gpu]) } else { Scope::Cta };
    let wait = |at| Item::Await { at, value: 1, equal: false, acquire, scope: hears };
    match random.below(if to_owner { 9 } else { 5 }) {
        0 | 1 => (Item::FlagStore { at, value: 1, release, scope: how }, wait(at)),
        2 => (Item::Count { at, by: 1, atom: random.percent(50), release, scope: how }, wait(at)),
        3 | 4 => (Item::KeptFlag { at, depends: random.percent(75), release, scope: how }, wait(at)),
        5 | 6 => {
            let what = random.pick(&[Remote::Store, Remote::Red, Remote::Add, Remote::Exchange]);
            (Item::FlagRemote { at: "fs", rank: 0, what, release, scope: how }, wait("fs"))
        }
        _ => (
            Item::Arrive { at: "ma", rank: Some(0), release, scope: how, expect: None, count: 1 },
            Item::Wait { at: "ma", parity: 0, acquire, scope: hears },
        ),
    }
}

/// What the owner puts into its memory, and where all have met.
fn prepared() -> Vec<Item> {
    let store = |to| Item::Store { to, scope: None };
    let flag = Item::FlagStore { at: "fs", value: 0, release: false, scope: Scope::Cta };
    let memory = [flag, store(place("sa", 0)), store(place("sa", 8)), store(place("sb", 0)), store(place("sb", 8))];
    let mbarriers = [Item::Init { at: "ma", count: 1 }, Item::FenceInit];
    [&memory[..], &mbarriers, &meet(false)].concat()
}

fn pattern(random: &mut Random) -> Program {
    let mut owner = prepared();
    let mut other = meet(false).to_vec();
    let mut third = meet(false).to_vec();
    let third_cta = random.pick(&[0, 1, 1, 2, 2]);
    other.push(access(place("sa", 0), random));
    other.extend(between(random));
    if random.percent(25) {
        other.push(access(place("sb", 0), random));
    }
    if random.percent(15) {
        owner.push(Item::FlagStore { at: "fs", value: 1, release: false, scope: Scope::Cluster });
        other.push(Item::AwaitRemote { at: "fs", rank: 0, acquire: random.percent(30), scope: Scope::Cluster });
    }
    let way = random.below(10);
    let has_third = way >= 6 || random.percent(20);
    match way {
        // The thread tells the owner.
        0..=3 => {
            let (tells, hears) = signal("fg", true, random);
            other.push(tells);
            owner.push(hears);
        }
        // All meet.
        4..=5 => {
            for items in [&mut owner, &mut other, &mut third] {
                items.extend(meet(random.percent(70)));
            }
        }
        // Over a third thread.
        6..=7 => {
            let (tells, hears) = signal("fh", false, random);
            other.push(tells);
            third.push(hears);
            third.extend(between(random));
            let (tells, hears) = signal("fg", true, random);
            third.push(tells);
            owner.push(hears);
        }
        // The third waits, and all meet.
        8 => {
            let (tells, hears) = signal("fh", false, random);
            other.push(tells);
            third.push(hears);
            for items in [&mut owner, &mut other, &mut third] {
                items.extend(meet(random.percent(80)));
            }
        }
        // A barrier of the CTA, and the third tells the owner.
        _ => {
            let bar = Item::Bar { id: 1, warps: Some(2), arrive: false };
            other.push(bar);
            third.push(bar);
            let (tells, hears) = signal("fg", true, random);
            third.push(tells);
            owner.push(hears);
        }
    }
    let third_cta = if way == 9 { 1 } else { third_cta };
    let mut threads = vec![(0, owner), (1, other)];
    if has_third {
        threads.push((third_cta, third));
    }
    Program::new(threads)
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0xe4d5);
    let mut program = pattern(&mut random);
    if random.percent(25) {
        let thread = random.below(program.threads.len());
        let lines = &mut program.threads[thread].lines;
        let at = random.below(lines.len());
        match random.below(3) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines.remove(at);
                let to = random.below(lines.len() + 1);
                lines.insert(to, line);
            }
            _ => {
                let item = access(place("sa", 8), &mut random);
                lines.insert(at, Line { id: 200, item });
            }
        }
    }
    program
}

/// The end of the owner, CTA 0, and of a thread of CTA 1 that accesses its memory; a third thread, and its CTA. The run and the
/// axioms say the same: whether the access is over.
fn over(owner: &[Item], other: &[Item], third: Option<(u32, &[Item])>) -> bool {
    let mut threads = vec![(0, [prepared(), owner.to_vec()].concat()), (1, [&meet(false), other].concat())];
    threads.extend(third.map(|(cta, items)| (cta, [&meet(false), items].concat())));
    let program = Program::new(threads);
    let compared = compare(&program, Readings::Weakest);
    let (kernel, model) = (&compared.kernel, &compared.model);
    let text = program.litmus().text;
    assert!(!compared.kinds.iter().any(|kind| kind.is_wrong()), "{:?}\n{kernel:?}\n{model:?}\n{text}", compared.kinds);
    assert!(model.is_clean() || model.ends_early(), "{model:?}\n{text}");
    assert_eq!((kernel.is_proved(), kernel.ends_early()), (model.is_clean(), model.ends_early()), "{kernel:?}\n{text}");
    kernel.is_proved()
}

const X: Place = Place { name: "sa", offset: 0 };
const CLUSTER: Scope = Scope::Cluster;

fn set(at: &'static str, release: bool, scope: Scope) -> Item {
    Item::FlagStore { at, value: 1, release, scope }
}

/// Waits relaxed.
fn sees(at: &'static str) -> Item {
    Item::Await { at, value: 1, equal: false, acquire: false, scope: CLUSTER }
}

fn fence(scope: Scope) -> Item {
    Item::Fence { sc: false, scope }
}

const EVERY: [Remote; 5] = [Remote::Load, Remote::Store, Remote::Red, Remote::Add, Remote::Exchange];

fn any(what: Remote) -> Item {
    let scope = (!matches!(what, Remote::Load | Remote::Store)).then_some(CLUSTER);
    Item::Remote { what, at: X, rank: 0, scope }
}

#[test]
fn a_write_that_the_owner_sees_is_over() {
    for what in [Remote::Store, Remote::Red, Remote::Add, Remote::Exchange] {
        let flag = Item::FlagRemote { at: "fs", rank: 0, what, release: false, scope: CLUSTER };
        assert!(over(&[sees("fs")], &[flag], None), "{what:?}");
        for writes in [false, true] {
            assert!(over(&[sees("fs"), Item::FlagWeak { at: "fs", writes }], &[flag], None), "{what:?}");
        }
        // Not what the thread has written before it, nor what it writes behind it.
        assert!(!over(&[sees("fs")], &[any(Remote::Store), flag], None), "{what:?}");
        assert!(!over(&[sees("fs")], &[flag, any(Remote::Store)], None), "{what:?}");
        // Its own CTA sees it.
        let third = [Item::AwaitRemote { at: "fs", rank: 0, acquire: false, scope: CLUSTER }];
        let meets = meet(true);
        let third = [&third[..], &meets].concat();
        assert!(!over(&meets, &[&[flag], &meets[..]].concat(), Some((1, &third))), "{what:?}");
        // Another CTA sees it, and goes on to meet the owner.
        let seen = over(&meets, &[&[flag], &meets[..]].concat(), Some((2, &third)));
        assert!(seen, "{what:?}");
    }
}

#[test]
fn a_load_whose_value_is_used_is_over() {
    let flag = |depends| Item::KeptFlag { at: "fg", depends, release: false, scope: CLUSTER };
    for what in [Remote::Load, Remote::Add, Remote::Exchange] {
        assert!(!over(&[sees("fg")], &[any(what), flag(false)], None), "{what:?}");
        let meets = meet(true);
        for used in [Item::KeptStore { to: place("gb", 8) }, Item::KeptWait] {
            assert!(over(&meets, &[&[any(what), used], &meets[..]].concat(), None), "{what:?} {used:?}");
        }
        assert!(!over(&meets, &[&[any(what)], &meets[..]].concat(), None), "{what:?}");
        // Before it is used.
        let late = [&meets[..1], &[any(what)], &meets[1..], &[Item::KeptStore { to: place("gb", 8) }]].concat();
        assert!(!over(&meets, &late, None), "{what:?}");
    }
    // What an atomic operation returns is not determined, and a flag with that value is in doubt.
    assert!(over(&[sees("fg")], &[any(Remote::Load), flag(true)], None));
    // Of two elements only one is used (8.2.4).
    let pair = Item::RemotePair { at: "sa", rank: 0, writes: false };
    assert!(!over(&[sees("fg")], &[pair, flag(true)], None));
}

#[test]
fn an_access_before_a_release_is_over_for_whoever_sees_it() {
    let arrive = |release, scope| Item::Arrive { at: "ma", rank: Some(0), release, scope, expect: None, count: 1 };
    let wait = Item::Wait { at: "ma", parity: 0, acquire: false, scope: CLUSTER };
    for what in EVERY {
        assert!(over(&[sees("fg")], &[any(what), set("fg", true, CLUSTER)], None), "{what:?}");
        assert!(over(&[sees("fg")], &[any(what), fence(CLUSTER), set("fg", false, CLUSTER)], None), "{what:?}");
        assert!(over(&[wait], &[any(what), arrive(true, CLUSTER)], None), "{what:?}");
        assert!(over(&[wait], &[any(what), fence(CLUSTER), arrive(false, CLUSTER)], None), "{what:?}");
        // Not a relaxed one, nor one that does not reach the owner.
        assert!(!over(&[sees("fg")], &[any(what), set("fg", false, CLUSTER)], None), "{what:?}");
        assert!(!over(&[sees("fg")], &[any(what), fence(Scope::Cta), set("fg", false, CLUSTER)], None), "{what:?}");
        assert!(!over(&[wait], &[any(what), arrive(false, CLUSTER)], None), "{what:?}");
        assert!(!over(&[wait], &[any(what), arrive(true, Scope::Cta)], None), "{what:?}");
    }
}

#[test]
fn a_third_cta_hands_on_what_it_has_seen() {
    let released = [any(Remote::Store), set("fh", true, CLUSTER)];
    for cta in [1, 2] {
        // What it does then depends on what it has seen: its loop is over.
        let relaxed = over(&[sees("fg")], &released, Some((cta, &[sees("fh"), set("fg", false, CLUSTER)])));
        // The first release must have reached out of the CTA.
        assert_eq!(relaxed, cta == 2);
        let acquire = Item::Await { at: "fh", value: 1, equal: false, acquire: true, scope: CLUSTER };
        assert!(over(&[sees("fg")], &released, Some((cta, &[acquire, set("fg", true, CLUSTER)]))));
    }
    // Nothing was released.
    let silent = [any(Remote::Store), set("fh", false, CLUSTER)];
    assert!(!over(&[sees("fg")], &silent, Some((2, &[sees("fh"), set("fg", true, CLUSTER)]))));
}

/// Each round of the loop uses what it has loaded, however long another thread takes.
#[test]
fn a_flag_of_the_owner_that_is_polled_is_read_before_what_follows() {
    let late = [Item::KeptWait, Item::Load { from: X, scope: None }, set("fs", false, CLUSTER)];
    let polls = Item::AwaitRemote { at: "fs", rank: 0, acquire: false, scope: CLUSTER };
    let meets = meet(true);
    assert!(over(&[&late[..], &[sees("fg")]].concat(), &[polls, set("fg", false, CLUSTER)], None));
    assert!(over(&[&late[..], &meets].concat(), &[&[polls], &meets[..]].concat(), None));
}

/// Who waits for a change of memory makes an access again: runs in which it does so were told that the first is never over.
#[test]
fn an_access_that_is_made_again_counts_once() {
    for seed in [494, 1037, 1782] {
        let compared = compare(&program(seed), Readings::Weakest);
        assert!(!compared.kinds.iter().any(|kind| kind.is_wrong()), "{seed}: {:?}", compared.kinds);
    }
}

#[test]
fn an_operation_on_an_mbarrier_is_over_behind_any_step() {
    let arrive = Item::Arrive { at: "ma", rank: Some(0), release: false, scope: CLUSTER, expect: None, count: 1 };
    let wait = Item::Wait { at: "ma", parity: 0, acquire: false, scope: CLUSTER };
    assert!(over(&[wait], &[arrive], None));
    let meets = meet(true);
    assert!(over(&meets, &[&[arrive], &meets[..]].concat(), None));
    // An addition computes from what it has read, and comes when that is there; a store comes when it likes.
    let count = Item::Count { at: "fg", by: 1, atom: false, release: false, scope: CLUSTER };
    assert!(over(&[sees("fg")], &[arrive, count], None));
    assert!(!over(&[sees("fg")], &[arrive, set("fg", false, CLUSTER)], None));
}
