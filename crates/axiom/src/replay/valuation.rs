//! The values of a candidate, from its reads-from and barrier matching: whatever follows from the constants. What stays
//! unknown depends on itself (a value out of thin air).

use fencepost_program::EventId;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::ReductionOperation;
use fencepost_program::unfolding::{BarrierMatching, EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_syntax::sorted::SortedMap;

/// The known value of each memory event and of each barrier reduction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Valuation {
    accesses: SortedMap<EventId, Value>,
    results: SortedMap<EventId, Value>,
}

impl Valuation {
    /// Rounds over all events until nothing new is known. `barriers` is None while they are not matched yet.
    pub(crate) fn new(
        unfolding: &Unfolding,
        events: &[EventId],
        rf: &[(EventId, EventId)],
        barriers: Option<&BarrierMatching>,
    ) -> Valuation {
        let source: SortedMap<EventId, EventId> = rf.iter().map(|&(write, read)| (read, write)).collect();
        let mut known = Valuation::default();
        loop {
            let before = known.accesses.len() + known.results.len();
            for &event in events {
                if known.accesses.contains_key(&event) {
                    continue;
                }
                let value = match &unfolding.events[event.index()].kind {
                    EventKind::Read { ty, .. } => {
                        let written = source.get(&event).and_then(|write| known.accesses.get(write));
                        written.map(|value| ty.wrap(*value))
                    }
                    EventKind::Write { value, ty, .. } => known.evaluate(value).map(|value| ty.wrap(value)),
                    EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
                };
                if let Some(value) = value {
                    known.accesses.insert(event, value);
                }
            }
            for group in barriers.iter().flat_map(|barriers| &barriers.groups) {
                known.reduce(unfolding, group);
            }
            if known.accesses.len() + known.results.len() == before {
                return known;
            }
        }
    }

    /// `bar.red` (PTX ISA 9.7.15.1): every member gets the reduction of what all members contribute.
    fn reduce(&mut self, unfolding: &Unfolding, group: &[EventId]) {
        let mut operations = Vec::new();
        let mut contributions = Vec::new();
        for &member in group {
            if let EventKind::Barrier(barrier) = &unfolding.events[member.index()].kind
                && let Some((operation, predicate)) = &barrier.reduction
            {
                let Some(value) = self.evaluate(predicate) else { return };
                operations.push((member, *operation));
                contributions.push(value != Value(0));
            }
        }
        let set = contributions.iter().filter(|set| **set).count();
        for (member, operation) in operations {
            let result = match operation {
                ReductionOperation::PopCount => set as i128,
                ReductionOperation::And => i128::from(set == contributions.len()),
                ReductionOperation::Or => i128::from(set > 0),
            };
            self.results.insert(member, Value(result));
        }
    }

    pub(crate) fn evaluate(&self, expression: &Expression) -> Option<Value> {
        expression.evaluate(&mut |leaf| match leaf {
            Leaf::Read(event) => self.accesses.get(&event).copied(),
            Leaf::BarrierResult(event) => self.results.get(&event).copied(),
        })
    }

    pub(crate) fn of(&self, event: EventId) -> Option<Value> {
        self.accesses.get(&event).copied()
    }

    /// Whether every read and write has a value.
    pub(crate) fn is_complete(&self, unfolding: &Unfolding, events: &[EventId]) -> bool {
        events.iter().all(|event| match unfolding.events[event.index()].kind {
            EventKind::Read { .. } | EventKind::Write { .. } => self.accesses.contains_key(event),
            EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => true,
        })
    }
}
