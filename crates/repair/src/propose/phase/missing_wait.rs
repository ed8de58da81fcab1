//! A wait of every round that is not there: the thread uses a buffer in a loop, others arrive on an mbarrier in theirs, and the
//! loop has no wait on it.

use fencepost_program::sections;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Arriving;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;

use crate::edit::{Alternate, Own, Placed};
use crate::edit::{Change, Edit};
use crate::propose::phase::idle_wait;
use crate::propose::wait::asks;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, position};
use crate::scene::loops::{self, Loop, innermost};
use crate::scene::mbarrier_uses::{Kind, Uses};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;
/// Places that are tried for one wait, and parities of one place.
const PLACES: usize = 2;

/// Where a parity comes from: lines before the wait, the operand, and a register of its own.
pub(crate) struct Source {
    pub(crate) before: String,
    pub(crate) operand: String,
    pub(crate) own: Option<Own>,
}

/// What a parity is for.
pub(crate) struct Wanted {
    pub(crate) stages: usize,
    pub(crate) before: Anchor,
    /// The thread fills a buffer when it has waited.
    pub(crate) fills: bool,
}

/// Waits before the accesses of the pair first, then before what another thread does with the same memory.
pub(crate) fn missing(scene: &Scene<'_>, loops: &[Loop], uses: &Uses, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut chances: Vec<(EventId, Loop, &str)> = Vec::new();
    for access in accesses(scene, pair) {
        let Some(thread) = scene.thread(access) else { continue };
        let statement = position(&scene.test.litmus, thread, scene.event(scene.at(access)).span);
        let Some(own) = statement.and_then(|at| innermost(loops, thread, at)) else { continue };
        chances.extend(unheard_of(scene, uses, access, own).into_iter().map(|name| (access, own, name)));
    }
    // What nobody waits for is seldom meant to be so, and who arrives seldom waits.
    let heard = |name: &str| uses.of(name, Kind::Wait).next().is_some();
    chances.shared_sort_by_key(|(_, own, name)| (heard(name), uses.has(name, Kind::Arrive, own.thread, Some(*own))));
    chances.into_iter().flat_map(|(access, own, name)| waits(scene, loops, uses, (access, own, name))).collect()
}

/// The wait at every place and with every parity that it may have.
fn waits(scene: &Scene<'_>, loops: &[Loop], uses: &Uses, (access, own, name): (EventId, Loop, &str)) -> Vec<Edit> {
    let mut found = Vec::new();
    let Some(operand) = uses.operand(scene, name, own.thread, Some(own)) else { return found };
    let at = scene.at(access);
    let reason = Arriving::NoWaitInLoop { thread: scene.named(at), mbarrier: name.to_owned() };
    let wait = format!("{} %waited, [{operand}]", asks(scene, told(scene, uses, name, at), at));
    // Who fills a buffer finds it free in the first round: a new mbarrier answers so for parity 1.
    let fills = scene.event(access).is_write();
    for place in places(scene, at, own) {
        for source in sources(scene, loops, own, &Wanted { stages: uses.stages(name), before: place, fills }) {
            let wait = format!("{wait}, {}", source.operand);
            let label = format!("WAIT{}", at.0);
            let placed = Placed::New { at: place, before: source.before, wait, label };
            let change = Change::Alternate(Alternate { place: placed, own: source.own });
            found.push(Edit::new(change, reason.clone(), SECTION, COST));
        }
    }
    found
}

/// The accesses of the race, and what other threads do with the memory, one each.
fn accesses(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<EventId> {
    let mut threads: SortedSet<Option<ThreadId>> = SortedSet::new();
    let mut found: Vec<EventId> = Vec::new();
    let location = scene.event(pair.0).location();
    let same = scene.execution.events.iter().copied().filter(|id| scene.event(*id).location() == location);
    for id in [pair.1, pair.0].into_iter().chain(same) {
        if scene.thread(id).is_some() && threads.insert(scene.thread(id)) {
            found.push(id);
        }
    }
    found
}

/// The mbarriers that somebody tells something and the loop does not wait on.
fn unheard_of<'u>(scene: &Scene<'_>, uses: &'u Uses, access: EventId, own: Loop) -> Vec<&'u str> {
    let mut names: Vec<&str> = uses.names().into_iter().collect();
    names.retain(|name| {
        let told = uses.of(name, Kind::Arrive).next().is_some() || uses.of(name, Kind::Complete).next().is_some();
        let near = scene.unfolding.locations.iter().filter(|it| it.name.split(['[', '@', '+']).next() == Some(name));
        let own_memory = near.into_iter().any(|it| it.owner.is_none_or(|owner| owner == scene.place(access)));
        told && own_memory && !uses.has(name, Kind::Wait, own.thread, Some(own))
    });
    names
}

/// Somebody who tells the mbarrier something: the furthest away.
fn told(scene: &Scene<'_>, uses: &Uses, name: &str, at: EventId) -> EventId {
    let threads: SortedSet<ThreadId> = uses.all.iter().filter(|own| own.name == name).map(|own| own.thread).collect();
    let events = scene.execution.events.iter().copied();
    let tells = events.filter(|id| scene.thread(*id).is_some_and(|own| threads.contains(&own)));
    tells.max_by_key(|id| scene.common(*id, at)).unwrap_or(at)
}

fn places(scene: &Scene<'_>, at: EventId, own: Loop) -> Vec<Anchor> {
    let inside = |place: &Anchor| {
        position(&scene.test.litmus, place.thread, place.span).is_some_and(|at| own.contains(place.thread, at))
    };
    idle_wait::places(scene, at).into_iter().filter(inside).take(PLACES).collect()
}

/// Parities that alternate with the phases: of a register that is there, of one of its own, of the number of the round
/// divided by the number of stages, and the other of a register that is there.
pub(crate) fn sources(scene: &Scene<'_>, loops: &[Loop], own: Loop, wanted: &Wanted) -> Vec<Source> {
    let litmus = &scene.test.litmus;
    let (stages, place) = (wanted.stages, wanted.before);
    let at = position(litmus, place.thread, place.span).unwrap_or(own.last);
    let known: Vec<String> = loops::parities(litmus, own)
        .into_iter()
        .filter(|parity| parity.from < at)
        .map(|parity| parity.register)
        .collect();
    let fresh = fresh(scene);
    let plain = |operand: &str, before: String| Source { before, operand: operand.to_owned(), own: None };
    let mut found: Vec<Source> = known.iter().map(|register| plain(register, String::new())).collect();
    if stages == 1 {
        let tail = loops::tail(litmus, own.thread, Some(own));
        for first in [u32::from(wanted.fills), u32::from(!wanted.fills)] {
            let head = loops::head(loops, own);
            let own = tail.map(|tail| Own { register: fresh.clone(), first, head, tail });
            found.extend(own.map(|own| Source { before: String::new(), operand: fresh.clone(), own: Some(own) }));
        }
    } else if let Some(counter) = loops::counter(litmus, own) {
        let lines = format!("{}and.b32 {fresh}, {fresh}, 1;\n", divided(&fresh, &counter, stages));
        found.push(plain(&fresh, lines.clone()));
        found.push(plain(&fresh, format!("{lines}xor.b32 {fresh}, {fresh}, 1;\n")));
    }
    found.extend(known.iter().map(|register| plain(&fresh, format!("xor.b32 {fresh}, {register}, 1;\n"))));
    found
}

/// How often the stages were gone through.
pub(crate) fn divided(to: &str, counter: &str, stages: usize) -> String {
    match stages.is_power_of_two() {
        true => format!("shr.u32 {to}, {counter}, {};\n", stages.trailing_zeros()),
        false => format!("div.u32 {to}, {counter}, {stages};\n"),
    }
}

/// A register that the test does not use.
fn fresh(scene: &Scene<'_>) -> String {
    let text = &scene.test.source.text;
    let mut names = (0..).map(|number| if number == 0 { "%phase".to_owned() } else { format!("%phase{number}") });
    names.find(|name| !text.contains(name.as_str())).unwrap_or_default()
}
