//! Random programs: 2 to 4 threads, at most 3 locations, few memory events, so that the oracle can keep up. Half of them
//! are rings, the shape of most tests with a name; the others are steps at random.

use super::program::{Claim, Family, Name, Operand, Order, REGISTERS, Scope, Step, Test, Thread, Update};
use super::random::Random;

const SCOPES: [Scope; 5] = ["cta", "gpu", "gpu", "sys", "gpu"];
/// An RMW counts two.
const MOST_EVENTS: usize = 7;

/// What this program may contain: fixed first, so that programs differ in kind and not only in detail.
struct Taste {
    locations: usize,
    proxies: bool,
    barriers: bool,
    spins: bool,
    branches: bool,
    budget: usize,
    /// The only location of the next access.
    forced: Option<u8>,
}

pub(crate) fn test(random: &mut Random) -> Test {
    let family = if random.percent(25) { Family::X86 } else { Family::Ptx };
    let ptx = family == Family::Ptx;
    let mut taste = Taste {
        locations: 1 + random.below(3),
        proxies: ptx && random.percent(25),
        barriers: ptx && random.percent(18),
        spins: ptx && random.percent(15),
        branches: random.percent(25),
        budget: MOST_EVENTS - random.below(3),
        forced: None,
    };
    let count = [2, 2, 2, 3, 3, 4][random.below(6)];
    let mut threads = Vec::new();
    if random.percent(50) {
        let ring = count.min(3) as u8;
        taste.locations = 3;
        threads.extend((0..ring).map(|index| link(random, &mut taste, family, [index, (index + 1) % ring])));
    } else {
        for index in 0..count {
            let share = taste.budget.div_ceil(count - index).max(1);
            threads.push(thread(random, &mut taste, family, share));
        }
    }
    // A copy of a thread: interchangeable ones have code of their own in the engines.
    if random.percent(10) && threads.len() > 1 {
        let last = threads.len() - 1;
        threads[last] = threads[0].clone();
    }
    let mut test = Test { family, threads, condition: Vec::new() };
    for _ in 0..1 + random.below(3) {
        let claim = claim(random, &test);
        test.condition.extend(claim);
    }
    test
}

/// One thread of a ring: an access to one location, perhaps something between, an access to the next thread's. Most of
/// the tests with a name are such rings (store buffering, message passing, load buffering, 2+2W, …), and steps at random
/// rarely make one.
fn link(random: &mut Random, taste: &mut Taste, family: Family, locations: [u8; 2]) -> Thread {
    let (cta, gpu) = (random.pick(&[0, 0, 1]), random.pick(&[0, 0, 0, 1]));
    let mut thread = Thread { cta, gpu, code: Vec::new() };
    let mut next = 0;
    let mut instance = 0;
    for (index, location) in locations.into_iter().enumerate() {
        taste.forced = Some(location);
        let mut wants_access = index == 0 || random.percent(50);
        loop {
            let step = match family {
                Family::Ptx => ptx_step(random, taste, &mut next, &mut instance),
                Family::X86 => x86_step(random, taste, &mut next),
            };
            let elsewhere = step.name().is_some_and(|name| !matches!(name, Name::Plain(_)) && location != 0);
            if elsewhere || (wants_access && step.name().is_none()) {
                continue;
            }
            thread.code.push(step);
            if step.name().is_some() {
                break;
            }
            wants_access = true;
        }
    }
    taste.forced = None;
    thread
}

fn thread(random: &mut Random, taste: &mut Taste, family: Family, share: usize) -> Thread {
    let (cta, gpu) = (random.pick(&[0, 0, 1]), random.pick(&[0, 0, 0, 1]));
    let mut thread = Thread { cta, gpu, code: Vec::new() };
    let mut left = share;
    let mut next = 0;
    let mut instance = 0;
    while left > 0 && thread.code.len() < 6 {
        let step = match family {
            Family::Ptx => ptx_step(random, taste, &mut next, &mut instance),
            Family::X86 => x86_step(random, taste, &mut next),
        };
        if step.weight() > left {
            continue;
        }
        left -= step.weight();
        taste.budget -= step.weight().min(taste.budget);
        thread.code.push(step);
    }
    thread
}

/// A register for the next result; the last ones are used again.
fn fresh(next: &mut u8) -> u8 {
    let register = *next;
    *next = (*next + 1).min(REGISTERS - 1);
    register
}

/// Something loaded before, or a small number.
fn operand(random: &mut Random, next: u8) -> Operand {
    if next > 0 && random.percent(35) {
        Operand::Register(random.below(usize::from(next)) as u8)
    } else {
        Operand::Number(random.pick(&[0, 1, 1, 2]))
    }
}

fn plain(random: &mut Random, taste: &Taste) -> Name {
    Name::Plain(taste.forced.unwrap_or(random.below(taste.locations) as u8))
}

fn strength(random: &mut Random, orders: &[Order]) -> (Order, Scope) {
    (random.pick(orders), random.pick(&SCOPES))
}

fn ptx_step(random: &mut Random, taste: &Taste, next: &mut u8, instance: &mut u8) -> Step {
    match random.below(100) {
        0..32 => {
            let (order, scope) = strength(random, &["", "relaxed", "acquire"]);
            let names = [Name::Plain(0), Name::Alias, Name::Texture, Name::Surface, Name::Constant];
            let name = if taste.proxies && random.percent(40) { random.pick(&names) } else { plain(random, taste) };
            let order = if matches!(name, Name::Plain(_) | Name::Alias) { order } else { "" };
            Step::Load { order, scope, name, register: fresh(next) }
        }
        32..64 => {
            let (order, scope) = strength(random, &["", "relaxed", "release"]);
            let names = [Name::Plain(0), Name::Alias, Name::Surface];
            let name = if taste.proxies && random.percent(40) { random.pick(&names) } else { plain(random, taste) };
            let order = if name == Name::Surface { "" } else { order };
            Step::Store { order, scope, name, value: operand(random, *next) }
        }
        64..72 => {
            let (order, scope) = strength(random, &["relaxed", "acquire", "release", "acq_rel"]);
            let update = match random.below(3) {
                0 => Update::Add(operand(random, *next)),
                1 => Update::Exchange(operand(random, *next)),
                _ => Update::Swap(operand(random, *next), operand(random, *next)),
            };
            let name = if taste.proxies && random.percent(20) { Name::Alias } else { plain(random, taste) };
            Step::Atom { order, scope, name, register: fresh(next), update }
        }
        72..75 => {
            let (order, scope) = strength(random, &["relaxed", "release"]);
            Step::Red { order, scope, name: plain(random, taste), value: operand(random, *next) }
        }
        75..84 if taste.proxies => {
            Step::ProxyFence(random.pick(&["alias", "alias", "texture", "surface", "constant", "generic"]))
        }
        75..84 if taste.barriers => {
            *instance += 1;
            let kind = random.pick(&["sync", "sync", "arrive"]);
            Step::Barrier { kind, instance: *instance, id: random.pick(&[0, 0, 1]) }
        }
        84..94 if taste.spins => {
            let (order, scope) = strength(random, &["relaxed", "acquire"]);
            let name = plain(random, taste);
            Step::Spin { order, scope, name, register: fresh(next), value: random.pick(&[0, 1]) }
        }
        84..91 if taste.branches && *next > 0 => {
            let register = random.below(usize::from(*next)) as u8;
            Step::Unless { register, value: random.pick(&[0, 1]), count: 1 + random.below(2) as u8 }
        }
        91..94 if *next > 0 => {
            let from = random.below(usize::from(*next)) as u8;
            Step::Add { register: fresh(next), from, number: random.pick(&[0, 1]) }
        }
        _ => {
            let (order, scope) = strength(random, &["acq_rel", "sc", "sc"]);
            Step::Fence { order, scope }
        }
    }
}

fn x86_step(random: &mut Random, taste: &Taste, next: &mut u8) -> Step {
    let (order, scope) = ("", "");
    let name = plain(random, taste);
    match random.below(100) {
        0..38 => Step::Load { order, scope, name, register: fresh(next) },
        38..74 => Step::Store { order, scope, name, value: operand(random, *next) },
        74..86 => {
            let value = operand(random, *next);
            let update = if random.percent(50) { Update::Add(value) } else { Update::Exchange(value) };
            Step::Atom { order, scope, name, register: fresh(next), update }
        }
        86..92 if taste.branches && *next > 0 => {
            let register = random.below(usize::from(*next)) as u8;
            Step::Unless { register, value: random.pick(&[0, 1]), count: 1 }
        }
        _ => Step::Fence { order, scope },
    }
}

fn claim(random: &mut Random, test: &Test) -> Option<Claim> {
    if random.percent(35) {
        return Some(Claim::Memory(Name::Plain(random.below(2) as u8), random.pick(&[0, 1, 1, 2])));
    }
    let thread = random.below(test.threads.len());
    let loaded = |step: &Step| match step {
        Step::Load { register, .. } | Step::Atom { register, .. } | Step::Spin { register, .. } => Some(*register),
        _ => None,
    };
    let registers: Vec<u8> = test.threads[thread].code.iter().filter_map(loaded).collect();
    if registers.is_empty() {
        return None;
    }
    Some(Claim::Register(thread, random.pick(&registers), random.pick(&[0, 1, 1, 2])))
}
