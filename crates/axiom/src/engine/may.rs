//! Which values an event may have, before any search: sets of values propagated through expressions and same-location
//! writes to a fixed point, and tests on single reads (branch constraints, `filter`, parts of the condition) that a value
//! must pass. In the large litmus families this alone pins every read.

use fencepost_program::EventId;
use fencepost_program::expression::{Expression, Leaf};
pub(in crate::engine) use fencepost_program::may::{May, image};
use fencepost_program::may::{image_over, leaves_of};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_syntax::sorted::SharedSort as _;

use crate::base::location_of;

/// What still grows after this many rounds (a counter) may have any value.
const ROUNDS: usize = 8;

/// The only read an expression depends on, if it is one.
pub(in crate::engine) fn only_leaf(leaves: &mut Vec<Leaf>) -> Option<EventId> {
    leaves.shared_sort();
    leaves.dedup();
    match leaves.as_slice() {
        [Leaf::Read(event)] => Some(*event),
        _ => None,
    }
}

/// The may-values of some events of an unfolding.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct MayValues {
    /// By event of the unfolding; None for events that do not occur.
    values: Vec<Option<May>>,
    rounds: usize,
    /// What still grows after so many rounds may have any value.
    most: usize,
    growth: Growth,
}

/// What the writes to one location may have written: each value once, ascending. There is no bound on their number,
/// because a read may pass few of them.
#[derive(Clone, Debug, Default)]
struct Held {
    values: Vec<Value>,
    any: bool,
}

/// By location: every value that some write of any trace may write, ascending; None where they are not known. For models in
/// which no value comes out of thin air: it is then that of a chain of writes, each of which happens once, and those of a
/// counter are as many as there are writes.
pub fn written_values(unfolding: &Unfolding) -> Vec<Option<Vec<Value>>> {
    let events: Vec<EventId> = (0..unfolding.events.len() as u32).map(EventId).collect();
    let mut may = MayValues::default();
    may.reset(unfolding, &events, usize::MAX);
    let mut growth = std::mem::take(&mut may.growth);
    for _ in 0..growth.writes.len() {
        if !may.round(unfolding, &mut growth, &mut |_, _| true) {
            break;
        }
    }
    // What the last round wrote is held too.
    may.hold(unfolding, &mut growth, true);
    growth.held.into_iter().map(|held| (!held.any).then_some(held.values)).collect()
}

impl MayValues {
    /// Of the events given, which include the init writes. `passes` says whether a read may have a value.
    pub(in crate::engine) fn begin(
        &mut self,
        unfolding: &Unfolding,
        events: &[EventId],
        passes: &mut dyn FnMut(EventId, Value) -> bool,
    ) {
        self.reset(unfolding, events, ROUNDS);
        let mut growth = std::mem::take(&mut self.growth);
        while self.round(unfolding, &mut growth, passes) {}
        self.growth = growth;
    }

    /// Before the first round.
    fn reset(&mut self, unfolding: &Unfolding, events: &[EventId], most: usize) {
        (self.rounds, self.most) = (0, most);
        self.values.clear();
        self.values.resize(unfolding.events.len(), None);
        let growth = &mut self.growth;
        growth.reads.clear();
        growth.writes.clear();
        for &event in events {
            self.values[event.index()] = Some(May::none());
            match &unfolding.events[event.index()].kind {
                EventKind::Read { .. } => growth.reads.push(event),
                EventKind::Write { value, .. } => growth.writes.push(Written { event, leaves: leaves_of(value) }),
                EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => {}
            }
        }
        growth.moved.clear();
        growth.moved.resize(unfolding.events.len(), false);
        growth.stale.clear();
        growth.stale.resize(unfolding.locations.len(), false);
        // All are stale in the first round.
        growth.held.resize(unfolding.locations.len(), Held::default());
    }

    /// One write further in every chain; whether something changed. A write is computed again if a read it depends on has
    /// changed, and a read if a write of its location has.
    fn round(
        &mut self,
        unfolding: &Unfolding,
        growth: &mut Growth,
        passes: &mut dyn FnMut(EventId, Value) -> bool,
    ) -> bool {
        let mut changed = false;
        self.rounds += 1;
        let is_first = self.rounds == 1;
        growth.stale.fill(is_first);
        for Written { event, leaves, .. } in &growth.writes {
            let is_due = is_first || leaves.iter().any(|leaf| growth.moved[leaf_event(*leaf).index()]);
            if is_due && self.update_write(unfolding, *event, leaves) {
                changed = true;
                if let Some(location) = location_of(&unfolding.events[event.index()]) {
                    growth.stale[location.index()] = true;
                }
            }
        }
        self.hold(unfolding, growth, false);
        for &read in &growth.reads {
            let EventKind::Read { location, .. } = &unfolding.events[read.index()].kind else { continue };
            let moved = growth.stale[location.index()] && self.update_read(unfolding, read, &growth.held, passes);
            growth.moved[read.index()] = moved;
            changed |= moved;
        }
        changed
    }

    pub(in crate::engine) fn of(&self, event: EventId) -> &May {
        self.values.get(event.index()).and_then(Option::as_ref).unwrap_or(&May::Any)
    }

    /// By location: what its writes may have written. Every read of it picks from that.
    fn hold(&self, unfolding: &Unfolding, growth: &mut Growth, everywhere: bool) {
        let is_stale = |at: usize| everywhere || growth.stale[at];
        for (_, held) in growth.held.iter_mut().enumerate().filter(|(at, _)| is_stale(*at)) {
            held.values.clear();
            held.any = false;
        }
        for Written { event, .. } in &growth.writes {
            let Some(location) = location_of(&unfolding.events[event.index()]) else { continue };
            if !is_stale(location.index()) {
                continue;
            }
            match self.of(*event) {
                May::Any => growth.held[location.index()].any = true,
                May::Values(values) => growth.held[location.index()].values.extend_from_slice(values),
            }
        }
        for (_, held) in growth.held.iter_mut().enumerate().filter(|(at, _)| is_stale(*at)) {
            held.values.sort_unstable();
            held.values.dedup();
        }
    }

    /// The values of same-location writes that can reach the read.
    fn update_read(
        &mut self,
        unfolding: &Unfolding,
        read: EventId,
        held: &[Held],
        passes: &mut dyn FnMut(EventId, Value) -> bool,
    ) -> bool {
        let EventKind::Read { location, ty, .. } = &unfolding.events[read.index()].kind else { return false };
        let held = &held[location.index()];
        if held.any {
            return self.replace(read, May::Any);
        }
        let mut found = May::none();
        let values = held.values.iter().map(|value| ty.wrap(*value)).filter(|value| passes(read, *value));
        values.for_each(|value| found.insert(value));
        self.replace(read, found)
    }

    fn update_write(&mut self, unfolding: &Unfolding, write: EventId, leaves: &[Leaf]) -> bool {
        let EventKind::Write { value, ty, .. } = &unfolding.events[write.index()].kind else { return false };
        let image = match image_over(value, leaves, &|read| self.of(read)) {
            May::Any => May::Any,
            May::Values(values) => {
                let mut wrapped = May::none();
                values.iter().for_each(|value| wrapped.insert(ty.wrap(*value)));
                wrapped
            }
        };
        self.replace(write, image)
    }

    fn replace(&mut self, event: EventId, may: May) -> bool {
        let slot = &mut self.values[event.index()];
        let was_any = *slot == Some(May::Any);
        let changed = slot.as_ref() != Some(&may);
        // An event that was widened stays so: the sets only grow.
        let widened = changed && (self.rounds > self.most || was_any);
        *slot = Some(if widened { May::Any } else { may });
        changed && !(widened && was_any)
    }

    /// Every value the expression can have.
    pub(in crate::engine) fn image(&self, expression: &Expression) -> May {
        image(expression, &|read| self.of(read))
    }
}

/// A write and what its value depends on.
#[derive(Clone, Debug)]
struct Written {
    event: EventId,
    leaves: Vec<Leaf>,
}

/// What one round hands to the next.
#[derive(Clone, Debug, Default)]
struct Growth {
    reads: Vec<EventId>,
    writes: Vec<Written>,
    /// By event: a read that changed in the last round.
    moved: Vec<bool>,
    /// By location: a write of it changed in this round.
    stale: Vec<bool>,
    held: Vec<Held>,
}

fn leaf_event(leaf: Leaf) -> EventId {
    let (Leaf::Read(event) | Leaf::BarrierResult(event)) = leaf;
    event
}
