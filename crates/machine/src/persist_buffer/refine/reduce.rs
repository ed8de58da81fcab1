//! The reduced search: fewer transitions and states, and a violation whenever the full search has one.
//!
//! All of it rests on two facts. A smaller obstacle is a larger behaviour: what a buffer may do, it may still do if an entry or a
//! mask holds back less, and if it need not wait. And the monitor is monotone: it only adds order, so a run in which a persist
//! is known to be ordered after more breaks a promise if the same run does that knows less. [`applies`] says for which buffers
//! this is so: the artifact's merge rule, for one, looks at entries that are dropped here.
//!
//! 1. *Releases leave no entry.* A block-scoped release's entry only makes its own warp's persists wait, which promises nothing
//!    ([`Rule::ReleaseHoldsBack`], [`Rule::ReleaseBehindHit`] are off). For the same reason a device-scoped acquire does not make
//!    its warp wait ([`Rule::AcquireDelay`]) and so differs from one of the block in what it reads only. So the buffer that is
//!    explored does more than the paper's.
//! 2. *Ordering points leave the head at once.* As an entry at the head they hold back the later persists of their warps until
//!    they leave and nothing is in flight; having left, until nothing is in flight.
//! 3. *Everything in flight arrives together.* An arrival alone changes nothing but that sets get smaller, until the last one
//!    resets the masks. So the first flush of a persist that comes too early is the violation: it can arrive before the others.
//!    (Not if all that it overtakes is an older flush of its own line: the full search knows better.) Persists in flight are one
//!    persist for the monitor then, and their lines do not matter.
//! 4. *Between two ordering points persists have no order*: each may be evicted. They are sorted.
//! 5. *Ordering points without a persist between them are one*, and a warp's bit is dropped if no persist of the warp lies
//!    between it and the warp's next ordering point.
//! 6. *An acquire reads the most it can*, and a release that says no more than another, or than all readers know, is forgotten.
//!    Who released does not matter then: the releases of an SM are a set, of at most one per warp.

use super::monitor::{Persist, Persists, Source, Violation};
use super::state::{Sm, State, Step};
use super::{Acquires, Question, Timing, WARPS};
use crate::persist_buffer::buffer::{Kind, PersistBuffer, Point, Scope};
use crate::persist_buffer::rules::{Merge, Rule, Rules};
use crate::persist_buffer::warps::{Warp, Warps};

type Buffer = PersistBuffer<Persist>;

/// Rules that promise nothing: without them the buffer does more, and all of it is allowed.
const UNNEEDED: [Rule; 3] = [Rule::ReleaseHoldsBack, Rule::ReleaseBehindHit, Rule::AcquireDelay];

/// Whether the reduced search finds a violation if there is one: for the paper's merge rule, without limits, and with all the
/// rules that the points above rely on.
pub(super) fn applies(question: &Question) -> bool {
    let rules = question.rules;
    let is_unlimited = rules.capacity.is_none() && rules.window.is_none();
    let has_rules = Rule::ALL.into_iter().all(|rule| rules.has(rule) || UNNEEDED.contains(&rule));
    rules.merge == Merge::Paper && question.timing == Timing::Any && is_unlimited && has_rules
}

/// The rules of the buffer that is explored in place of one with these.
pub(super) fn relax(rules: Rules) -> Rules {
    UNNEEDED.into_iter().fold(rules, Rules::without)
}

pub(super) fn hardware_steps(sm: Sm, buffer: &Buffer, steps: &mut Vec<Step>) {
    let lines = buffer.entries().filter_map(|entry| entry.line());
    steps.extend(lines.filter(|line| buffer.can_evict(*line)).map(|line| Step::Evict(sm, line)));
    if !buffer.in_flight.is_empty() {
        steps.push(Step::AcknowledgeAll(sm));
    }
}

/// The newest flight has departed.
pub(super) fn depart(state: &mut State, sm: Sm) -> Result<(), Violation> {
    let State { buffers, monitor, .. } = state;
    let flights = &mut buffers[usize::from(sm.0)].in_flight;
    let Some(newest) = flights.last().map(|flight| flight.data) else { return Ok(()) };
    if monitor.is_early(newest) {
        return Err(Violation::Order);
    }
    let first = flights[0].data;
    if first != newest {
        monitor.unite(newest, first);
        flights.iter_mut().for_each(|flight| flight.data = first);
    }
    Ok(())
}

/// All that is in flight arrives.
pub(super) fn arrive(state: &mut State, sm: Sm) {
    let State { buffers, monitor, .. } = state;
    let buffer = &mut buffers[usize::from(sm.0)];
    while let Some(line) = buffer.in_flight.first().map(|flight| flight.line) {
        buffer.acknowledge(line).into_iter().for_each(|persist| monitor.forget(persist));
    }
}

/// The acquires that no other acquire of the warp surpasses.
pub(super) fn acquires(question: &Question, state: &State, warp: Warp, scope: Scope, steps: &mut Vec<Step>) {
    let known = state.monitor.before[usize::from(warp.0)];
    let news = |source: Source| state.monitor.content(source).without(known);
    let all = || question.sources(state, warp, scope).map(|source| (source, news(source)));
    let first = steps.len();
    for (at, (source, set)) in all().enumerate() {
        let surpasses =
            |(other, more): (usize, (Source, Persists))| more.1.includes(set) && (!set.includes(more.1) || other < at);
        if !set.is_empty() && !all().enumerate().any(surpasses) {
            steps.push(Step::Issue(warp, Point::Acquire(scope), source));
        }
    }
    if steps.len() == first && question.may_take_nothing(state, warp) {
        steps.push(Step::Issue(warp, Point::Acquire(scope), Source::Unrelated));
    }
}

/// A release is complete.
pub(super) fn release(question: &Question, state: &mut State, warp: Warp, scope: Scope) {
    state.is_released |= question.acquires == Acquires::Released;
    let set = state.monitor.to_release(warp);
    put(question, &mut state.monitor.released, warp, set);
    if scope == Scope::Device {
        put(question, &mut state.monitor.released_to_device, warp, set);
    }
}

/// Puts a release in the place of one that says no more, or in a free one.
fn put(question: &Question, releases: &mut [Option<Persists>; WARPS], warp: Warp, set: Persists) {
    let near = || question.all_warps().filter(|other| question.sm(*other) == question.sm(warp));
    let places = || near().map(|other| usize::from(other.0));
    let is_weaker = |place: &usize| releases[*place].is_some_and(|other| set.includes(other));
    let is_free = |place: &usize| releases[*place].is_none();
    let place = places().find(is_weaker).or_else(|| places().find(is_free));
    // The warp's last release says no more than this one; if it was forgotten, the others leave a place free.
    releases[place.expect("invariant: an SM has a release per warp at most")] = Some(set);
}

/// Points 1, 2 and 5.
pub(super) fn normalise(buffer: &mut Buffer) {
    buffer.entries.retain(|entry| entry.point() != Some(Point::Release(Scope::Block)));
    while buffer.entries.front().is_some_and(|entry| entry.point().is_some()) {
        buffer.drain();
    }
    for entry in &mut buffer.entries {
        if let Kind::Point(point) = &mut entry.kind {
            *point = match point {
                Point::OFence | Point::Acquire(_) => Point::OFence,
                Point::DFence | Point::Release(_) => Point::DFence,
            };
        }
    }
    buffer.drop_weaker_points(Warps::NONE);
    buffer.join_points();
}

/// Point 6.
pub(super) fn forget_releases(question: &Question, state: &mut State) {
    let knows = |state: &State, warp: Warp, set: Persists| state.monitor.before[usize::from(warp.0)].includes(set);
    for from in question.all_warps() {
        let at = usize::from(from.0);
        let mut readers = question.all_warps().filter(|warp| question.sm(*warp) == question.sm(from));
        let others = |state: &State, at: usize| (state.monitor.released[at], question.sm(Warp(at as u8)));
        if let Some(set) = state.monitor.released[at]
            && (readers.all(|warp| knows(state, warp, set)) || is_surpassed(state, at, others))
        {
            state.monitor.released[at] = None;
        }
        let mut readers = question.all_warps().filter(|warp| question.sm(*warp) != question.sm(from));
        let others = |state: &State, at: usize| (state.monitor.released_to_device[at], question.sm(Warp(at as u8)));
        if let Some(set) = state.monitor.released_to_device[at]
            && (readers.all(|warp| knows(state, warp, set)) || is_surpassed(state, at, others))
        {
            state.monitor.released_to_device[at] = None;
        }
    }
}

/// Whether another release of the SM says as much. Of two that say the same, the first stays.
fn is_surpassed(state: &State, at: usize, release: impl Fn(&State, usize) -> (Option<Persists>, Sm)) -> bool {
    let (Some(set), sm) = release(state, at) else { return false };
    (0..WARPS).filter(|other| *other != at).any(|other| match release(state, other) {
        (Some(more), same) => same == sm && more.includes(set) && (!set.includes(more) || other < at),
        (None, _) => false,
    })
}
